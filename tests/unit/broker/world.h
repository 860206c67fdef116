/* World: a leader's broker and one follower's state, with a log between them, for
 * tests.
 *
 * The log here is a list: a batch is submitted when it is taken and committed when the
 * test says so; only then does the follower apply it. world_check() runs all checks
 * and, when nothing is uncommitted, compares the digests of the two states. */
#ifndef HF_TESTS_BROKER_WORLD_H
#define HF_TESTS_BROKER_WORLD_H

#include "broker/broker.h"

#define WORLD_IN_FLIGHT 1024
#define WORLD_CONNS     64
#define WORLD_WALL_MS   1796083200000u /* 2026-12-01T00:00:00Z */

struct world_entry {
    struct blob *blob;
    uint64_t index;
    uint64_t number;
};

/* What the network would have sent of each connection's deliveries. */
struct world_conn {
    uint64_t frames;
    uint64_t bytes;
};

struct world {
    struct state *state; /* the leader's */
    struct state *other; /* a follower's: committed entries only */
    struct broker *b;
    uint64_t now_ms;
    uint64_t wall_ms;
    uint64_t stamp_at_ms; /* when the last committed entry was applied; 0 = none */
    uint64_t index;       /* of the last entry of the log */
    uint64_t seed;
    struct world_entry flights[WORLD_IN_FLIGHT];
    size_t flight_count;
    struct world_conn conns[WORLD_CONNS]; /* by id, modulo WORLD_CONNS */
};

void world_init(struct world *w, uint64_t seed);
void world_fini(struct world *w);
/* An EPOCH entry, committed at once, and the broker leads. */
void world_lead(struct world *w);
/* What is not committed is lost. */
void world_stop(struct world *w);
/* The other node is elected. */
void world_fail_over(struct world *w);
/* The same on purpose: the leader passes on what is in its memory only. */
void world_hand_over(struct world *w);
void world_tick(struct world *w, uint64_t ms);
/* Takes one batch and submits it; NULL when there is none. The entry stays ours. */
const struct world_entry *world_take(struct world *w, bool *ret_is_sync);
/* Commits the oldest submitted batch; false when there is none. */
bool world_commit_one(struct world *w);
/* Takes, submits and commits all. */
void world_commit(struct world *w);
/* NULL when all is as it should be. */
const char *world_check(struct world *w);

/* The next parcel that leaves, or NULL; the caller frees it. Deliveries are noted in
 * conns as handed to TLS. */
struct parcel *world_parcel(struct world *w, struct mail_chain *chain);
/* Takes all parcels and frees them; how many there were. */
size_t world_drain(struct world *w);

/* The queue "demo" with the standard settings, of which the caller may change some. */
void world_spec(struct queue_spec *spec, const char *name);
void world_create(struct world *w, const struct queue_spec *spec);
struct queue *world_queue(struct world *w);

/* Requests, zeroed but for what is given; NULL text or body where there is none. */
struct request *world_request(enum parcel_kind kind, uint64_t conn);
struct request *world_login(struct world *w, uint64_t conn, enum login_role role);
struct blob *world_body(const char *text, const char *key);
struct signal *world_signal(enum parcel_kind kind, uint64_t conn);
void world_send(struct world *w, struct request *r);
/* Sends a login, and answers its verification. */
void world_log_in(struct world *w, struct request *login, bool is_good);

#endif
