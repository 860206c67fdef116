/* Connection: what the files of a connection, and those that give it work, call of each
 * other. All on the thread of c->worker. Any of these may drop the connection: look at
 * c->state (CONN_DEAD) before going on. */
#ifndef HF_NET_CONN_STEPS_H
#define HF_NET_CONN_STEPS_H

#include "net/conn.h"

/* --- conn_upgrade.c --- */

void conn_sniff(struct conn *c);
void conn_handshake(struct conn *c);
/* Bytes in UPGRADE. Returns how many of them the request took; the state says whether
 * the rest is WebSocket. */
size_t conn_take_upgrade(struct conn *c, const uint8_t *data, size_t size);

/* --- conn_read.c --- */

void conn_read(struct conn *c);
/* For those of the worker's ready list: ends a stall if enough has drained, then what
 * was read but not decoded, what TLS holds, and the socket. */
void conn_resume(struct conn *c);
/* FLUSH, LINGER. */
void conn_discard(struct conn *c);

/* --- conn_write.c --- */

/* Room for a frame's head; append the payload to c->out, then conn_frame_end(). */
size_t conn_frame_begin(struct conn *c);
/* delivery_bytes: what a delivery is charged; 0 = the frame is none. May drop the
 * connection (a client that reads too slowly). */
void conn_frame_end(struct conn *c, size_t begin, uint32_t delivery_bytes);
/* A small frame. */
void conn_put_control(struct conn *c, enum ws_opcode opcode, struct slice payload);
/* A close frame, then FLUSH. code 1005: without a code. */
void conn_close_with(struct conn *c, uint16_t code, enum conn_close count);
/* Hands what there is to TLS; goes on to LINGER when FLUSH is done. */
void conn_flush(struct conn *c);

/* --- conn_state.c --- */

void conn_set_state(struct conn *c, enum conn_state state);
/* FLUSH: what is in the output, then end of stream; nothing more is taken. */
void conn_finish(struct conn *c, enum conn_close count);
/* DEAD at once; tells the core. cause for the log. */
void conn_drop(struct conn *c, const char *cause);
/* Tells the core that nothing more will be sent; once. */
void conn_report_closed(struct conn *c);
void conn_want_read(struct conn *c, bool wants);
void conn_want_write(struct conn *c, bool wants);
void conn_mark_ready(struct conn *c);
void conn_mark_dirty(struct conn *c);
/* Sets the timer for the nearest deadline, unless it goes off before that anyway. */
void conn_set_deadline(struct conn *c);
enum conn_due conn_what_is_due(const struct conn *c, uint64_t now_ms);
/* More than its share is unanswered, unsent, or to be sent: not to be read from. */
bool conn_is_over(const struct conn *c);
/* Enough of it has gone to read again. */
bool conn_is_drained(const struct conn *c);
/* Counts bytes on the socket, since the last call, for the node and the queue. */
void conn_account(struct conn *c);

/* Data from this connection still counts. */
static inline bool
conn_is_reading(const struct conn *c)
{
    return c->state >= CONN_UPGRADE && c->state <= CONN_OPEN && !c->has_ended;
}

static inline size_t
conn_unsent_bytes(const struct conn *c)
{
    return c->out.size - c->out_at;
}

static inline size_t
conn_max_unsent_bytes(const struct conn *c)
{
    return limit_load(&c->queue->max_write_queue_bytes);
}

#endif
