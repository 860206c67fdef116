/* Control stream: many bytes to a client of the control socket, behind its answer.
 *
 * One piece is made at a time, on a thread of libuv's pool, when the one before has
 * been taken by the socket: so there are never more than two pieces in memory, whoever
 * reads however slowly. */
#ifndef HF_SERVER_CONTROL_STREAM_H
#define HF_SERVER_CONTROL_STREAM_H

#include "base/bytes.h"

#include <uv.h>

#define CONTROL_STREAM_STUCK_MS 30000 /* nothing was taken for so long: it is ended */

struct control_stream;

struct control_stream_source {
    uint64_t total_bytes;
    /* Appends the next bytes, none at the end. On a thread of the pool, one call at a
     * time. */
    enum status (*fill_cb)(void *ctx, struct bytes *out);
    void (*free_cb)(void *ctx); /* once, on the loop's thread */
    void *ctx;
};

struct control_stream *control_stream_new(uv_loop_t *loop,
                                          const struct control_stream_source *source);
/* At any time, also before it was started: nothing more is written, done_cb is not
 * called. NULL is fine. */
void control_stream_free(struct control_stream *s);
uint64_t control_stream_bytes(const struct control_stream *s);
/* done_cb, once: ST_OK when all was written; s is gone then. The pipe is its owner's,
 * who frees the stream before he closes it. */
void control_stream_start(struct control_stream *s,
                          uv_stream_t *pipe,
                          void (*done_cb)(void *ctx, enum status st),
                          void *ctx);
/* It was started, and for too long nothing was taken. Asked once a turn. */
bool control_stream_is_stuck(struct control_stream *s, uint64_t now_ms);

#endif
