/* Outgoing frames: puts heads, checksums and payloads of frames into a queue. */
#ifndef HF_CLUSTER_OUTFRAME_H
#define HF_CLUSTER_OUTFRAME_H

#include "cluster/outq.h"
#include "raft/rlog.h"

/* Bytes of the body. */
size_t outframe_size(const struct rlog_frame *frame);
/* The whole frame or nothing (ST_AGAIN: the queue is full). Its body must not be above
 * LIMIT_FRAME_BYTES (asserted). Payloads are kept by reference. */
enum status outframe_put(struct outq *q, const struct rlog_frame *frame) MUST_USE;
/* A small frame of cluster's own, whatever the queue holds already. */
void outframe_put_own(struct outq *q, uint8_t kind, struct slice body);

#endif
