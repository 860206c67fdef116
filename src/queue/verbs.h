/* Verbs: the changes a message and a session can go through.
 *
 * apply() uses them for records; the broker calls them itself (with the object in hand,
 * no second look-up) and encodes the record beside. Each is journalled when there is a
 * journal and tells a running image first. now_ms is the stamp. Include queue/state.h.
 */
#ifndef HF_QUEUE_VERBS_H
#define HF_QUEUE_VERBS_H

#include "queue/model.h"

struct state;

/* Makes a message and puts it among the waiting ones. body_and_key: body bytes, then
 * key_size bytes of key; the reference is taken. fields->key and body are not read;
 * fields->body_crc must be right. */
struct message *queue_publish(struct state *s,
                              struct queue *q,
                              const struct record_publish *fields,
                              struct blob *body_and_key,
                              uint8_t key_size);
/* To the back of what the session holds. A durable one also makes it has_received; for
 * one of durability 0 the leader calls session_received() with its record. */
void
message_assign(struct state *s, struct message *m, struct session *to, uint64_t now_ms);
/* A held or a dead one: back among the waiting ones with a new order and ready time.
 * From level 2 on, the deliveries of a dead one count from zero again. */
void
message_release(struct state *s, struct message *m, uint64_t order, uint64_t now_ms);
/* Ack, delete, DLQ delete: gone. */
void message_remove(struct state *s, struct message *m);
/* A damaged one is dead as that, whatever the reason. */
void message_to_dlq(struct state *s,
                    struct message *m,
                    enum dead_reason reason,
                    uint64_t now_ms);
struct session *session_open(struct state *s,
                             struct queue *q,
                             uint64_t number,
                             const struct uuid *id,
                             uint32_t capacity);
/* Saved no longer; the old id becomes prev_id. */
void session_resume(struct state *s,
                    struct session *x,
                    const struct uuid *id,
                    uint32_t capacity);
void session_forget_prev(struct session *x); /* leader's own, not replicated: after a
                                                resume under the same leader the old id
                                                is no longer accepted by the broker */
void session_set_capacity(struct state *s, struct session *x, uint32_t capacity);
void session_save(struct state *s, struct session *x, uint64_t now_ms);
/* Releases what it holds, ready at now_ms, and removes the session. Durable messages
 * get first_order, first_order + 1, ... in the order held, as on every node; those of
 * durability 0, which only the leader knows, get the orders after all of these. */
void
session_end(struct state *s, struct session *x, uint64_t first_order, uint64_t now_ms);
/* The same, decided by an operator. */
void session_close(struct state *s,
                   struct session *x,
                   uint64_t first_order,
                   uint64_t now_ms);
void session_received(struct state *s, struct session *x);

/* Leader: takes out all messages of durability 0 (no record, no journal). Their
 * sessions' counts follow. Broker parts (leader pointers) are the caller's. */
void state_drop_volatile(struct state *s);
void queue_drop_volatile(struct state *s, struct queue *q);

#endif
