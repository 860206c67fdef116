/* Peer: another member and our way to it: finding, dialling, redialling, sending.
 *
 *                  retry time, its hello, loss of its connection to us
 *         WAITING ─────────────────────────────────────────► LOOKING   (names only)
 *            ▲                                                  │
 *            │   all addresses failed                           v
 *            ├──────────────────────────────────────────── DIALLING
 *            │                                                  │ both hellos
 *            │   the link ended                                 v
 *            └──────(at once, no wait, DIALLING)◄────────────  UP
 *
 * Fast failover: when a peer's process dies, its kernel closes the sockets. So at the
 * end of a link we dial the same address again at once. Refused: the process is gone,
 * and down_cb says so within about a millisecond. Answered, or silent for
 * PEER_VERDICT_MS: down_cb without was_refused. A loss is reported exactly once, before
 * the next up_cb. When instead the peer's connection to us ends while ours seems well,
 * a knock (connect and close) finds out the same.
 *
 * Dialling without waiting is rationed (PEER_RUSHES a second); otherwise the wait is
 * 50 ms doubling to 1 s, a quarter of it random. Callbacks come from the loop only. */
#ifndef HF_CLUSTER_PEER_H
#define HF_CLUSTER_PEER_H

#include "cluster/cluster.h"
#include "cluster/link.h"
#include "cluster/refusals.h"

#define PEER_WAIT_MIN_MS 50
#define PEER_WAIT_MAX_MS 1000
#define PEER_VERDICT_MS  50
#define PEER_RUSHES      4

struct peer;

struct peer_callbacks {
    /* See link.h; the node id is already that of the peer. */
    enum frame_refusal (*hello_cb)(void *ctx, const struct frame_hello *hello);
    void (*up_cb)(void *ctx, uint64_t peer);
    void (*down_cb)(void *ctx, uint64_t peer, bool was_refused);
};

struct peer_options {
    uv_loop_t *loop;
    const struct tls *tls;
    struct uses *uses;
    struct slice hello;
    struct refusals *refusals;
    const struct peer_callbacks *callbacks;
    void *ctx;
};

/* Begins to dial from the loop's next turn. */
struct peer *peer_new(const struct peer_options *options,
                      const struct rlog_member *member)
    __attribute__((returns_nonnull));
/* No callback comes any more; the memory goes when libuv is rid of it. */
void peer_close(struct peer *p);
/* Another address: leaves the old one (down_cb follows from the loop if it was up). */
void peer_set_address(struct peer *p, const char *address);

uint64_t peer_id(const struct peer *p);
const struct cluster_peer_info *peer_info(const struct peer *p);
/* Takes over what its hello says, by whichever connection it came. */
void peer_learn(struct peer *p, const struct frame_hello *hello);
/* It dialled us: it lives, so dial it now if we were waiting. */
void peer_heard(struct peer *p);
/* Its connection to us ended: perhaps its process is gone. */
void peer_lost_inbound(struct peer *p);

/* Queues a frame when the peer is up and there is room; else it is dropped whole. */
void peer_send(struct peer *p, const struct rlog_frame *frame);
void peer_flush(struct peer *p);

#endif
