/* Broker: what only the leader knows, and all that it decides.
 *
 * Events come in with the time, records and parcels go out; no I/O, clock, thread or
 * random source of its own. The broker works on the replicated state of src/queue: it
 * applies each decision at once (verbs, with the journal on) and encodes the same
 * decision as a record into the open batch. A batch becomes one log entry.
 *
 *   open batch ──broker_take_batch()──► submitted ──broker_committed()──► its effects
 *
 * Every effect (reply, delivery, notice) carries the number of the last batch it rests
 * on and leaves when that batch is committed; on one connection effects leave in the
 * order they were made. An effect that rests on nothing uncommitted, on a connection
 * where nothing waits, leaves at once. While held (broker_hold) nothing leaves at all.
 *
 *            broker_lead()                      broker_stop_leading()
 *  FOLLOWING ─────────────► LEADING ─────────────────────────────────► FOLLOWING
 *
 * Following, the broker has no connections and refuses everything by closing. Core
 * thread only. */
#ifndef HF_BROKER_BROKER_H
#define HF_BROKER_BROKER_H

#include "broker/parcel.h"

struct broker;

struct broker_options {
    uint64_t seed; /* for ids (74 and 62 random bits): from the OS */
    uint64_t machine_memory_bytes;
    uint8_t has_ipv4; /* usage rows: 1 if the queues have an IPv4 address */
    /* Random bytes for ids, keyed by the caller; called on the core thread. NULL:
     * numbers from seed, the same each time (tests, the simulator). */
    void (*random_cb)(void *ctx, void *out, size_t size);
    void *random_ctx;
};

/* state is borrowed and must outlive the broker; broker_set_state replaces it while
 * following (a snapshot was installed). */
struct broker *broker_new(struct state *state, const struct broker_options *options);
void broker_free(struct broker *b);
void broker_set_state(struct broker *b, struct state *state);

/* --- Leadership --- */

/* This term's EPOCH entry is applied. Sets state->journal. Cluster time goes on from
 * time_ms (at least the state's stamp) at monotonic now_ms. */
void broker_lead(struct broker *b, uint64_t now_ms, uint64_t time_ms);
/* Leadership is lost, or a submit was refused: all connections and effects are dropped
 * without a word (the network threads close them), volatile messages go, the journal is
 * rolled back and freed. The state is that of the last committed batch. */
void broker_stop_leading(struct broker *b);
bool broker_is_leading(const struct broker *b);

/* A planned hand-over: proposes the messages of durability 0, oldest first, as records
 * that the next leader keeps (queue/state.h). From here until broker_stop_leading() or
 * broker_keep() no event may come in. Gives how many stay behind, because they go
 * beyond LIMIT_PASS_ON_BYTES. */
uint64_t broker_pass_on(struct broker *b);
/* The hand-over did not happen: the messages are this leader's still, and what is said
 * about them from now on rests on a record that makes the others forget them. */
void broker_keep(struct broker *b);

/* --- Events --- */

/* Moves time on: delays that end, sessions whose time is up, live-statistics pushes,
 * statistics and usage rows, a clock record when ids run ahead. Call at the begin of
 * each turn, and at broker_deadline(). */
void broker_tick(struct broker *b, uint64_t now_ms, uint64_t wall_ms);
/* Is there room for what a log grows by? If not, messages of durability 1 and 2 are
 * refused with 502, and queues and redrives; what makes room, and durability 0, go on.
 */
void broker_set_room(struct broker *b, bool has_room);
/* Monotonic ms of the next thing to do; UINT64_MAX when there is none. */
uint64_t broker_deadline(const struct broker *b);
/* A request or signal from a network thread; takes it. */
void broker_handle(struct broker *b, struct parcel *parcel);
/* The answer to broker_take_verify(). */
void broker_verified(struct broker *b, uint64_t conn, bool is_good);
/* The other answer: too many wait for one. The client may come again (503). */
void broker_not_verified(struct broker *b, uint64_t conn);

/* Decisions of the node itself or its operator (control socket). */
struct queue_spec {
    struct slice name;
    enum queue_tier tier;
    struct login_secret logins[ROLE_COUNT];
    uint64_t settings[SETTING_COUNT];
};
/* ST_NOTLEADER, ST_EXISTS, ST_INVALID (name: 1 to 63 of a-z 0-9 -, not at the ends),
 * ST_RANGE (too many queues), ST_FULL (no room). ret_batch: committed when
 * broker_committed reaches it. */
enum status broker_create_queue(struct broker *b,
                                const struct queue_spec *spec,
                                uint64_t *ret_batch) MUST_USE;
/* Its connections are closed. ST_NOTFOUND, ST_NOTLEADER. */
enum status
broker_delete_queue(struct broker *b, struct slice name, uint64_t *ret_batch) MUST_USE;
/* The same for a login, for settings (read-only ones too; ST_RANGE: a value outside its
 * range) and for a dead letter that goes back among the waiting ones with its id
 * (ST_NOTFOUND: no such queue, or no such message in its DLQ; ST_CORRUPT: its body is
 * damaged; ST_FULL: no room). */
enum status broker_set_login(struct broker *b,
                             struct slice name,
                             const struct record_login_set *set,
                             uint64_t *ret_batch) MUST_USE;
enum status broker_set_settings(struct broker *b,
                                struct slice name,
                                const struct record_settings_set *set,
                                uint64_t *ret_batch) MUST_USE;
enum status broker_redrive(struct broker *b,
                           struct slice name,
                           const struct uuid *id,
                           uint64_t *ret_batch) MUST_USE;
/* The cluster's level (queue/level.h), which is never lowered. Who asks has made sure
 * that the program of every member knows it. ST_EXISTS: it is that or above already;
 * ST_RANGE: above HF_LEVEL_NOW; ST_NOTLEADER. */
enum status
broker_raise_level(struct broker *b, uint32_t level, uint64_t *ret_batch) MUST_USE;
/* What was decided, perhaps not committed yet. On a follower: what is applied. */
uint32_t broker_level(const struct broker *b);
/* A cluster in which no queue was ever made: there is nothing that an older program
 * would have to read, and the level may be raised without asking an operator. */
bool broker_is_new_cluster(const struct broker *b);
/* Bytes on the sockets of a queue's clients since the last call, for usage rows. */
void
broker_add_usage(struct broker *b, uint32_t queue, uint64_t sent, uint64_t received);
/* A batch that is committed only if this node still leads now: for reads and for a
 * leader that was frozen. 0 when not leading. */
uint64_t broker_barrier(struct broker *b);

/* --- Batches --- */

struct batch {
    uint64_t number;    /* grows by one each */
    struct blob *entry; /* the encoded entry; the caller owns the reference */
    bool is_sync;
};

/* Closes the open batch and gives it, oldest first: false when there is none. A turn
 * whose records are first written-only and then synced gives two (an entry that must be
 * synced never delays those decided before it). The open batch closes by itself at
 * LIMIT_ENTRY_CLOSE_BYTES; one of acks alone may stay open for a little
 * (broker/batch.h). */
bool broker_take_batch(struct broker *b, uint64_t now_ms, struct batch *ret_batch);
/* The caller submitted batch number as log entry index. In order. */
void broker_submitted(struct broker *b, uint64_t number, uint64_t index);
/* Log entry index is committed, a batch's or not (barriers, membership: the leader
 * calls this, not state_skip()): effects leave, state->applied moves. May come before
 * the broker_submitted() of that index, from inside the submit. */
void broker_committed(struct broker *b, uint64_t index);
/* All that was decided is submitted: what the state holds is the entry at
 * state->applied, and an image may begin. */
bool broker_is_settled(const struct broker *b);
/* The highest batch number that is committed. Numbers go on over terms, and those that
 * a lost term dropped are passed over: ask only about batches of the present term. */
uint64_t broker_committed_batch(const struct broker *b);
/* Bytes in batches that were not yet taken: the caller stops handing in requests above
 * LIMIT_ENTRY_BYTES. */
size_t broker_open_bytes(const struct broker *b);

/* --- Effects --- */

/* Nothing leaves while held; broker_committed goes on counting. */
void broker_hold(struct broker *b, bool is_held);
/* All parcels that may leave now, in order; the caller owns them. */
void broker_take_parcels(struct broker *b, struct mail_chain *out);

/* A password to verify: scrypt is the caller's work, on another thread. The pointers
 * are valid until broker_verified() or the next broker_handle() of that connection's
 * close. */
struct verify {
    uint64_t conn;
    uint32_t queue;
    enum login_role role;
    const struct login_secret *secret; /* of the queue's role, always there */
    const uint8_t *source;             /* LOGIN_SOURCE_BYTES */
    struct slice username;
    struct slice password;
};
bool broker_take_verify(struct broker *b, struct verify *ret_verify);
/* That connection still waits for broker_verified(): else its check is worth nothing.
 */
bool broker_is_verifying(struct broker *b, uint64_t conn);

/* --- To look at --- */

struct queue_live {
    uint64_t columns[STATS_COLUMNS]; /* as getlivestats */
    uint64_t copy_publishers;
    uint64_t copy_subscribers;
};
void broker_queue_live(const struct broker *b,
                       const struct queue *q,
                       struct queue_live *ret_live);
uint64_t broker_cluster_time_ms(const struct broker *b);
/* How many requests were refused with a code, since the broker was made. */
#define BROKER_CODE_FIRST 100
#define BROKER_CODE_END   600
uint64_t broker_refusals(const struct broker *b, unsigned code);
/* Moves when queues, logins or settings have changed for good, before the replies that
 * tell so are given by broker_take_parcels(), and when a term begins or ends: the
 * caller compares, and gives the network threads the new limits first. */
uint64_t broker_config_version(const struct broker *b);

/* Walks everything: the broker's own invariants (room tree, line, counts, cursors);
 * NULL when all hold. */
const char *broker_check(const struct broker *b);

#endif
