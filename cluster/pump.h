/* Pump: moves bytes between a TLS session and the queues of a link, as far as it goes
 * without waiting and within a budget, so that one link cannot hold up the loop. */
#ifndef HF_CLUSTER_PUMP_H
#define HF_CLUSTER_PUMP_H

#include "cluster/intake.h"
#include "cluster/outq.h"
#include "cluster/tls.h"

#define PUMP_IN_BYTES      (256u << 10) /* of one link in one turn */
#define PUMP_OUT_BYTES     (1u << 20)
/* AES-GCM must change its key before 2^24.5 records (RFC 8446 section 5.5); a link may
 * live for months. */
#define PUMP_REKEY_RECORDS (4u << 20)

struct pump {
    uint32_t records; /* written under the present key */
    uint64_t sent_bytes;
    uint64_t received_bytes;
};

/* body is borrowed. False: stop; session and intake may be gone then. */
typedef bool pump_frame_cb(void *ctx, uint8_t kind, struct blob *body);

/* ST_OK: the queue is empty. ST_AGAIN: the rest must wait (*ret_is_blocked: for the
 * socket to become writable). Else what cluster_tls_write() says. */
enum status
pump_out(struct pump *p, SSL *ssl, struct outq *out, bool *ret_is_blocked) MUST_USE;

/* ST_OK: the budget is used up, or the callback said stop; in the first case more may
 * lie in OpenSSL's buffer without the socket being readable. ST_AGAIN: nothing more
 * now. ST_CLOSED, ST_INVALID: see cluster_tls_read(). ST_CORRUPT, ST_RANGE, ST_NOMEM:
 * what came was no frame, was above the limit, or found no memory. */
enum status pump_in(
    struct pump *p, SSL *ssl, struct intake *in, pump_frame_cb *cb, void *ctx) MUST_USE;

#endif
