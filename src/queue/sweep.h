/* Sweeps: one record about many messages.
 *
 * The record says which by a rule: all between two ids that are in a place and, of dead
 * ones, died for a reason, before a time, with a publisher key. So it stays small, and
 * every node finds the same ones, since it stands where the leader stood. How many it
 * has to find is in the record too: a node that finds others stops. Messages of
 * durability 0 are not swept by records: the leader takes them out by itself. */
#ifndef HF_QUEUE_SWEEP_H
#define HF_QUEUE_SWEEP_H

#include "queue/state.h"

#define SWEEP_WAITING (1u << PLACE_WAITING)
#define SWEEP_HELD    (1u << PLACE_HELD)
#define SWEEP_DEAD    (1u << PLACE_DEAD)

struct sweep {
    const struct record_sweep *fields;
    struct tree_node *next;
};

/* fields are borrowed until the end. Those before first are not looked at. */
void sweep_begin(struct sweep *sweep,
                 const struct queue *q,
                 const struct record_sweep *fields);
/* The next message up to last that fits, by id, or NULL; whatever its durability. The
 * caller may move or remove it. */
struct message *sweep_next(struct sweep *sweep);
bool sweep_fits(const struct record_sweep *fields, const struct message *m);

/* Applies the record: dead letters go back among the waiting ones, in the order of
 * their ids. Those that are damaged stay. */
void queue_redrive_some(struct state *s,
                        struct queue *q,
                        const struct record_sweep *fields,
                        uint64_t now_ms);
void queue_purge(struct state *s, struct queue *q, const struct record_sweep *fields);

#endif
