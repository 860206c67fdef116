/* Drain: closes what a thread has, spread over a time, so that clients do not all come
 * back to the other nodes in one moment. */
#ifndef HF_NET_DRAIN_H
#define HF_NET_DRAIN_H

#include "net/worker.h"

void drain_init(struct worker *w);
/* Accepts no more, and ends the last connection drain_ms from now (0: all at once). */
void drain_begin(struct worker *w, uint64_t drain_ms);

#endif
