/* Link: one connection to or from another node, from connect or accept to its end.
 *
 *            dial                    accept
 *              │                        │
 *              v                        │
 *         CONNECTING ──(a knock ends)   │
 *              │                        │
 *              v                        v
 *         HANDSHAKE ◄───────────────────┘     TLS, both certificates
 *              │
 *              v
 *            HELLO      dialled: ours is sent, theirs awaited; accepted: theirs awaited
 *              │
 *              v
 *            OPEN       dialled: frames go out; accepted: frames come in
 *
 *   any of them ──► ENDING ──► CLOSED         ENDING: closed_cb comes from the loop
 *   any of them ──► CLOSED                    link_close() by the owner, no closed_cb
 *
 * It knows nothing of members, reconnecting or who replaces whom; that is the owner's.
 * Callbacks come only from the loop, never inside link_send() or link_flush(), and the
 * owner may call link_close() in any of them. The memory goes when libuv is rid of the
 * handles. One thread. */
#ifndef HF_CLUSTER_LINK_H
#define HF_CLUSTER_LINK_H

#include "cluster/frame.h"
#include "cluster/tls.h"
#include "cluster/uses.h"
#include "raft/rlog.h"

#include <uv.h>

#define LINK_SETUP_MS 5000 /* from connect or accept to the end of the hellos */

struct link;

struct link_end {
    enum status why;  /* ST_OK: a knock was answered */
    bool was_refused; /* nobody listens there: ECONNREFUSED on connect */
    bool was_cut;     /* EOF or reset by the other side */
    bool was_local;   /* out of descriptors or memory here: says nothing of the peer */
    enum frame_refusal refusal; /* what it told us instead of its hello */
    char text[TLS_WHY_MAX];     /* for the log */
};

struct link_callbacks {
    /* The other side's hello, its certificate already checked against its node id.
     * Anything but FRAME_REFUSE_NONE is told to it (by the accepting side) and ends
     * the link. */
    enum frame_refusal (*hello_cb)(void *ctx, const struct frame_hello *hello);
    void (*open_cb)(void *ctx);
    /* Accepted links only. body is borrowed. Anything but ST_OK ends the link. */
    enum status (*frame_cb)(void *ctx, uint8_t kind, struct blob *body);
    /* It ended by itself: the last callback, the pointer is dead afterwards. */
    void (*closed_cb)(void *ctx, const struct link_end *end);
};

struct link_options {
    uv_loop_t *loop;
    const struct tls *tls; /* used at the start only */
    struct uses *uses;
    struct slice hello; /* body of our own hello; borrowed as long as the link lives */
    uint64_t peer;      /* dialled: who must be there; accepted: 0 */
    bool is_knock;      /* only to see whether somebody listens */
    const struct link_callbacks *callbacks;
    void *ctx;
};

/* Dials. Failure: ret_end says why, there is no link and no callback comes. */
enum status link_dial(const struct link_options *options,
                      const struct sockaddr_storage *addr,
                      struct link_end *ret_end,
                      struct link **ret_link) MUST_USE;
/* Takes fd, also on failure (ST_NOMEM). */
enum status link_accept(const struct link_options *options,
                        int fd,
                        struct link **ret_link) MUST_USE;
void link_close(struct link *l); /* NULL is fine */

/* Dialled and open: queues the frame, whole, or drops it, whole, when the queue is full
 * (ST_AGAIN). It leaves with link_flush(). */
enum status link_send(struct link *l, const struct rlog_frame *frame) MUST_USE;
void link_flush(struct link *l);
/* Bytes that wait in the queue. */
size_t link_backlog(const struct link *l);

#endif
