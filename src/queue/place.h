/* Places: putting messages, sessions and queues where they belong, and nothing else.
 *
 * Lists, trees, maps and counters change here only. No journal and no image: the verbs,
 * the rollback and the image loader all stand on this, each with its own reasons. For
 * src/queue alone; others use queue/state.h. */
#ifndef HF_QUEUE_PLACE_H
#define HF_QUEUE_PLACE_H

#include "queue/state.h"

/* All that a move changes. Reading the spot of a message and placing it there again
 * gives the same state. */
struct message_spot {
    uint64_t order;
    uint64_t ready_ms;
    uint64_t since; /* dead_ms or held_order, by place */
    struct session *holder;
    uint32_t deliveries;
    enum place place;
    uint8_t dead_reason;
};

/* What the verbs change in a session that stays. */
struct session_fields {
    struct uuid id;
    struct uuid prev_id;
    uint64_t saved_ms;
    uint32_t capacity;
    bool has_prev;
    bool is_saved;
    bool has_received;
};

/* Pool. A new message is zeroed; to free it, it must be in PLACE_NONE (its body is
 * put). */
struct message *message_new(struct state *s) __attribute__((returns_nonnull));
void message_free(struct state *s, struct message *m);
void message_pool_fini(struct message_pool *pool);

struct message_spot message_spot(const struct message *m);
/* From its place to another one, or to and from PLACE_NONE. A held message goes where
 * its held_order belongs, which is the back unless something is taken back. */
void place_message(struct message *m, const struct message_spot *to);

struct session_fields session_fields(const struct session *x);
/* A session that is in no queue yet or no longer. */
void place_session(struct session *x);
/* It must hold nothing. */
void unplace_session(struct session *x);
/* Changes the fields of a placed session. When its ids change, the previous one
 * counts as not forgotten. */
void session_set_fields(struct session *x, const struct session_fields *fields);
/* The previous id is accepted (again), or not. */
void session_link_prev(struct session *x);
void session_unlink_prev(struct session *x);

/* A new queue with no pins, in no state. */
struct queue *queue_new(uint32_t number) __attribute__((returns_nonnull));
/* Into the state (a pin) and out of it (which gives the pin to the caller). */
void place_queue(struct state *s, struct queue *q);
void unplace_queue(struct state *s, struct queue *q);
/* Takes a pin back; the last one frees the queue and everything in it. */
void queue_unpin(struct state *s, struct queue *q);

#endif
