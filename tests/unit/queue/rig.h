/* Rig: a pretended leader and follower around real entries.
 *
 * State a decides: verbs run on it at once, with a journal, and the record of each goes
 * into the entry of the turn. State b gets the bytes of committed entries and nothing
 * else. Everything comes from a seed. */
#ifndef HF_TESTS_QUEUE_RIG_H
#define HF_TESTS_QUEUE_RIG_H

#include "queue/journal.h"
#include "queue/state.h"

#define RIG_IN_FLIGHT_MAX 8

struct rig {
    struct state *a;
    struct state *b;
    struct journal *journal;
    struct bytes entry; /* of this turn */
    bool has_turn;
    struct {
        uint64_t index;
        struct bytes bytes;
    } in_flight[RIG_IN_FLIGHT_MAX];
    uint32_t in_flight_count;
    uint64_t random;
    uint64_t index;  /* of the last entry proposed */
    uint64_t now_ms; /* cluster time */
    uint64_t next_id;
};

void rig_init(struct rig *rig, uint64_t seed);
void rig_fini(struct rig *rig);
uint64_t rig_random(struct rig *rig, uint64_t below);

/* One entry: begin, actions, end. */
void rig_begin(struct rig *rig);
void rig_end(struct rig *rig);
/* Writes the record of a verb that was called, or calls it as well. */
void rig_log(struct rig *rig, const struct record *record);
void rig_do(struct rig *rig, const struct record *record);
/* Commits the oldest count entries: a forgets, b applies. */
void rig_commit(struct rig *rig, uint32_t count);
/* a loses its leadership: back to what is committed. */
void rig_rollback(struct rig *rig);

/* Ready-made things; ids grow. */
struct uuid rig_id(struct rig *rig);
struct queue *rig_queue(struct rig *rig, const char *name, uint64_t max_tasks);
struct message *
rig_publish(struct rig *rig, struct queue *q, uint8_t durability, const char *body);
struct session *rig_session(struct rig *rig, struct queue *q, uint32_t capacity);
void rig_assign(struct rig *rig, struct message *m, struct session *x);

/* One random action on a; now and then it finds nothing to do. */
void rig_act(struct rig *rig);

/* A record of its own type with plausible fields, for encoding alone. Slices borrow
 * constant text. */
struct record rig_sample(enum record_type type);

#endif
