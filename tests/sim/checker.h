/* Checker: what clients were told, compared with what happens.
 *
 * It works in order of virtual time and judges a parcel at the moment it leaves its
 * node for a client that still listens: what has left is a promise. In MODE_KILLS
 * everything counts that has durability 1 or 2. In MODE_CHAOS a machine crash may undo
 * what was only written: there a message counts when its durability is 2, and what a
 * session holds does not count. The checks are those of the drills:
 *
 *  no-loss, no-phantom, published-once, body-intact, no-redelivery, settled-once,
 *  hold-kept, one-holder, capacity, replay-complete, resume-works, id-order,
 * fresh-reads, d0-not-rejected, not-early, order (of replies); and of the nodes: their
 * invariants, one history, one state, counters that equal a count. */
#ifndef HF_SIM_CHECKER_H
#define HF_SIM_CHECKER_H

#include "sim.h"

struct op;
struct checker;

enum gone {
    GONE_NOT,
    GONE_ACK,
    GONE_NACK,
    GONE_DELETED,
    GONE_MOVED,
};

/* A message that a client published, or tried to. */
struct known {
    struct map_node in_ids; /* has_id */
    struct list holdings;   /* sessions that have it, by what their clients know */
    uint64_t key;
    struct uuid id;
    struct uuid floor; /* ids told before it was sent are not above this */
    uint64_t sent_us;
    uint64_t told_us; /* its publish was confirmed, 0 = not */
    uint64_t reign;   /* in which it was */
    uint64_t gone_us; /* a settle of any kind was confirmed */
    uint64_t dlq_deleted_us;
    uint64_t last_chain; /* to whom it was sent last, when, and on which connection */
    uint64_t last_us;
    uint64_t last_conn;
    uint32_t delay_secs;
    uint32_t tries;       /* settles of any kind, sent and not refused */
    uint32_t dead_tries;  /* of these, into the DLQ */
    uint32_t admin_tries; /* of these, by administrators */
    uint32_t dlq_tries;   /* deletes from the DLQ */
    uint8_t durability;
    enum gone gone : 8;
    bool has_id;
    bool is_fuzzy;        /* a redrive of it has an outcome that nobody knows (yet) */
    uint64_t redriven_us; /* it was dead, and this is when its return was known; or 0 */
    bool is_seen;         /* in the walk over a state */
    bool is_refused;      /* there was no room for it */
};

/* A session, as its client sees it, through all its resumes. */
struct chain {
    struct list held;
    uint32_t held_count;
    uint32_t bound;  /* it holds no more than so many */
    uint32_t most;   /* its highest capacity ever */
    uint32_t doubts; /* resumes without a reply since the last with one */
    uint64_t number;
    struct uuid id;
    struct uuid next_id; /* told, not received yet */
    uint64_t doubt_reign;
    uint64_t conn;     /* the last one on which it was logged in */
    bool is_known;     /* the client has its id */
    bool has_received; /* something durable */
};

struct holding {
    struct list_node in_chain;
    struct list_node in_message;
    struct known *message;
    struct chain *chain;
    uint64_t reign;
    uint64_t stolen_us;   /* since when somebody else has it, 0 = nobody */
    uint64_t replay_conn; /* it must come again on that connection, 0 = none */
};

struct checker *checker_new(void);
void checker_free(struct checker *k);

/* --- Clients --- */

struct known *checker_publish(struct checker *k,
                              struct sim *s,
                              uint8_t durability,
                              uint32_t delay_secs);
void checker_fill(const struct known *m, struct publish_fields *fields);
struct known *checker_known(struct checker *k, uint64_t key);
/* One to try something with, or NULL. */
struct known *checker_pick(struct checker *k, struct sim *s, bool is_dead);
/* A redrive of it was committed. */
void checker_redriven(struct sim *s, struct known *m);
/* The op is about to be sent. */
void checker_try(struct checker *k, const struct op *op);
/* No reply will come. */
void checker_unknown(struct checker *k, struct sim_client *c, const struct op *op);
/* A parcel leaves for a client that listens. */
void checker_emitted(struct checker *k,
                     struct sim *s,
                     const struct sim_conn *conn,
                     const struct parcel *parcel);

/* checker_hold.c: sessions and what they hold */
struct chain *
checker_new_chain(struct checker *k, const struct uuid *id, uint32_t capacity);
void checker_end_chain(struct checker *k,
                       struct sim_client *c); /* without one: nothing */
void checker_logged_in(struct chain *chain);  /* the reply has arrived */
void checker_set_capacity(const struct sim *s, struct chain *chain, uint32_t capacity);
struct holding *checker_holding(const struct chain *chain, const struct known *m);
bool checker_is_held(const struct holding *h, const struct sim_conn *conn);
void checker_let_go(struct holding *h);
void checker_hold(struct checker *k, struct sim_client *c, struct known *m);
/* A message has arrived; NULL when the client does not hold it. */
struct known *checker_got(struct checker *k,
                          struct sim *s,
                          struct sim_client *c,
                          const struct delivery *d);
void checker_noticed(struct checker *k, struct sim_client *c, const struct notice *n);
/* A request of the session that was sent then was carried out: it held what it held. */
void checker_prove(struct sim *s, const struct chain *chain, uint64_t sent_us);
void checker_resumed(struct checker *k,
                     struct sim *s,
                     const struct sim_conn *conn,
                     const struct op *op,
                     const struct uuid *id);
void checker_not_resumed(struct checker *k,
                         struct sim *s,
                         const struct sim_conn *conn,
                         const struct op *op);
/* A reply to something later leaves: what had to be replayed was. */
void checker_replayed(struct sim *s, const struct sim_conn *conn);

/* checker_told.c: what replies say */
void checker_told(struct checker *k,
                  struct sim *s,
                  const struct sim_conn *conn,
                  const struct request *r);

/* checker.c, for these */
bool checker_is_sure(const struct sim *s, const struct known *m);
/* m has that id: once and for all. */
void
checker_bind(struct checker *k, struct sim *s, struct known *m, const struct uuid *id);
struct known *checker_by_id(const struct checker *k, const struct uuid *id);
void checker_body(struct sim *s,
                  const struct known *m,
                  const struct blob *body,
                  uint32_t body_size,
                  uint8_t type);
struct known *
checker_by_body(struct checker *k, struct sim *s, const struct blob *body);
void checker_publish_told(struct checker *k,
                          struct sim *s,
                          struct known *m,
                          const struct sim_conn *conn,
                          const struct uuid *id);
struct checker_config {
    uint32_t value; /* the setting that was confirmed, 0 = none yet */
    uint32_t open;  /* others whose reply was not seen, and may not come */
};
struct checker_config *checker_config(struct checker *k);
uint64_t checker_next_chain(struct checker *k); /* a number */

/* --- The log: oracle.c --- */

struct oracle;
struct oracle *oracle_new(void);
void oracle_free(struct oracle *o);
/* The node is deleted; one of that name is another. */
void oracle_forget(struct oracle *o, const struct sim_node *n);
/* A frame leaves a node, whatever becomes of it. */
void oracle_sent(struct oracle *o,
                 struct sim *s,
                 const struct sim_node *n,
                 uint64_t to,
                 const struct rlog_frame *frame);
/* What it has applied since the last time. */
void oracle_applied(struct oracle *o,
                    struct sim *s,
                    struct sim_node *n,
                    const struct rlog_status *log);
void oracle_elected(const struct oracle *o, struct sim *s, const struct sim_node *n);
uint64_t oracle_entries(const struct oracle *o); /* committed so far */

/* --- Nodes: checker_state.c --- */

struct histories; /* what was applied at each index */
struct histories *histories_new(void);
void histories_free(struct histories *h);
struct histories *checker_histories(struct checker *k);
void checker_node(struct checker *k, struct sim *s, struct sim_node *n);
/* The same, of all nodes; and again later. */
void checker_look(struct checker *k, struct sim *s);
/* Its state is exactly what is committed: compared with others at that index. */
void checker_digest(struct checker *k, struct sim *s, struct sim_node *n);
/* Where a majority is well and connected there is a leader before long. */
void checker_service(struct sim *s);
/* Nothing is on its way: all nodes have applied the same, nothing is open. */
bool checker_is_quiet(struct sim *s);
void checker_finish(struct checker *k, struct sim *s);
/* How many messages clients tried to publish: keys 1 to this. */
uint64_t checker_count(const struct checker *k);

#endif
