/* State: what every node knows. Queues, logins, settings, messages, who holds what,
 * dead letters, sessions, history.
 *
 * Pure: no I/O, clock, thread or random. apply() of a committed entry is the same on
 * every node and cannot fail (out of memory stops the process; an entry that does not
 * fit the state is a bug or a fork, and stops it too).
 *
 * The leader applies its own entries when it proposes them, not when they commit: so it
 * decides on one state, not on a state and an overlay. What it would take back if it
 * lost its leadership is kept in the journal (queue/journal.h) until the entry is
 * committed. Followers have no journal.
 *
 * Durability-0 messages live in the same structures, on the leader only. Image and
 * digest never mention them; state_drop_volatile() takes them out. A leader that hands
 * over passes them on: as PUBLISH records of durability 0, each with the ASSIGN to its
 * holder. A follower keeps them until the next record of another kind: they are for the
 * node whose EPOCH that is, and for nobody else (state_inherit()).
 *
 * Invariants (state_check()):
 *  I1 A message is in exactly one place: waiting (delayed is waiting with ready in the
 *     future), held by one session of its queue, or dead.
 *  I2 Waiting messages are in q->waiting, ordered by (ready_ms, order). Held ones are
 * in their session's list in the order they were given. Waiting and held ones are in
 *     q->messages, dead ones in q->dead, both ordered by id.
 *  I3 Every message is in q->by_id. Every session is in q->line (by number), in
 *     q->by_session (by its id) and, if it has a previous id that was not forgotten, in
 *     q->by_prev.
 *  I4 The counters of a queue equal a count by walking.
 *  I5 A saved session has no connection; orders and session numbers are below the
 *     queue's next_order and next_session, positions in a session below its next_held.
 *
 * What is replicated and what is not: messages of durability 0 take orders too, on the
 * leader only, so q->next_order may be higher there. It only has to be above every
 * order in use; it is in the image, never in the digest, and a rollback leaves it as it
 * is. next_session, next_queue and next_held move by records only and are the same
 * everywhere. So is a session's previous id; that the leader no longer accepts it
 * (session_forget_prev) is its own, until the next EPOCH. */
#ifndef HF_QUEUE_STATE_H
#define HF_QUEUE_STATE_H

#include "queue/model.h"
#include "queue/verbs.h"

struct journal;
struct image;
struct message_chunk;

/* Messages are all of one size and come and go by the million: a free list over chunks
 * that are given back with the state. (Sanitizer builds allocate each one alone.) */
struct message_pool {
    struct message_chunk *chunks;
    struct map_node *free; /* messages, by in_by_id.next */
};

struct state {
    struct list queues; /* by number */
    struct map by_name;
    struct map by_number;
    struct message_pool pool;
    uint32_t queue_count;
    uint32_t level;             /* what may be written: queue/level.h */
    uint32_t next_queue;        /* number of the next queue */
    uint64_t directory_version; /* grows when queues, settings or logins change, also
                                   when a change is taken back; not replicated */
    uint64_t applied;      /* log index of the last entry applied (leader: proposed) */
    uint64_t stamp_ms;     /* stamp of that entry */
    uint16_t behind_secs;  /* how far it was behind the wall clocks (record.h) */
    uint64_t epoch_leader; /* node id of the last EPOCH, 0 = none yet */
    uint64_t epoch_floor_ms; /* stamp of the last entry before the last EPOCH */
    struct journal *journal; /* leader only, else NULL */
    struct image *image;     /* being taken, else NULL */
    uint32_t image_mark;
    bool has_passed_on; /* follower: it has messages of durability 0 */
    bool is_heir;       /* and the next EPOCH is this node's own */
    bool has_damaged;   /* a message with a damaged body came once: a leader looks */
};

struct state *state_new(void);
/* No image may be running. What a journal still holds is rolled back; the journal
 * itself is its owner's. NULL is fine. */
void state_free(struct state *s);
/* The same in steps, of one that is not applied to any more and has no journal: at most
 * so many messages; true: that was the last step and s is gone. */
bool state_take_apart(struct state *s, uint32_t messages) MUST_USE;

/* Applies all records of one entry: index is state->applied + 1 or higher (entries that
 * are not commands leave gaps). Aborts with a line on stderr when the entry cannot be
 * read or does not fit. */
void state_apply(struct state *s, uint64_t index, struct slice entry);
/* False: the entry before raised the level above what this program knows
 * (state->level). Nothing behind that is applied any more, and the node must stop. */
bool state_is_readable(const struct state *s);
/* One record, without moving applied or stamp_ms: for a leader that has no verb for it
 * (queues, logins, settings, history, EPOCH). stamp_ms is the entry's. */
void
state_apply_record(struct state *s, const struct record *record, uint64_t stamp_ms);
/* The next EPOCH applied is this node's own: what was passed on to it stays. */
void state_inherit(struct state *s);
/* The same for entries whose payload is not ours: only moves applied (an index that was
 * passed already, a leader's, changes nothing). */
void state_skip(struct state *s, uint64_t index);

/* Look-ups; NULL when there is none. */
struct queue *state_queue(const struct state *s, uint32_t number);
struct queue *state_queue_by_name(const struct state *s, struct slice name);
struct message *queue_message(const struct queue *q, const struct uuid *id);
struct session *queue_session(const struct queue *q, const struct uuid *id);
struct session *queue_session_by_number(const struct queue *q, uint64_t number);

/* A 64-bit mix over everything replicated, without what only the leader knows and
 * without applied, which says where and not what. Bodies count by size and CRC. Equal
 * states give equal digests on every machine. O(size), without reading bodies. */
uint64_t state_digest(const struct state *s);
/* Walks everything and checks I1..I5; NULL when all hold, else a constant text. */
const char *state_check(const struct state *s);

#endif
