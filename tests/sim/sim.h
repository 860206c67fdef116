/* Simulator: whole nodes (log, state, broker) in one process, in virtual time.
 *
 * One seed is one run: the same seed gives the same events in the same order (the trace
 * digest proves it). Real code: raft/, src/queue, src/broker, src/server/replica.c.
 * Modelled: the disk (disk.c), the links between nodes (link.c), clients (client.c), an
 * operator who adds and removes nodes (operator.c) and what goes wrong: the seed's plan
 * (plan.h), carried out by nemesis.c. checker.c compares what clients were told with
 * what happened, oracle.c what the nodes do with the rules of Raft. Time is in
 * microseconds since the begin of the run. */
#ifndef HF_SIM_H
#define HF_SIM_H

#include "base/blob.h"
#include "broker/parcel.h"
#include "mutant.h"
#include "plan.h"
#include "raft/rlog_disk.h"
#include "server/replica.h"

#define SIM_NODES_MAX   5
#define SIM_CLIENTS_MAX 24
#define SIM_ELECTION_MS 300
#define SIM_SAVED_SECS  2 /* saved-session-timeout-secs */
/* A slow link (link.c): so late is what nodes know of each other's time. */
#define LATE_FRAME_US   250000

/* After the heal: when publishers stop, when subscribers leave, when it ends. */
#define SIM_STOP_US  5000000
#define SIM_LEAVE_US 11000000
#define SIM_QUIET_US 20000000

enum sim_mode {
    MODE_KILLS, /* process kills, one machine crash at a time: nothing confirmed with
                   durability 1 or 2 may be lost */
    MODE_CHAOS, /* any number of machine crashes: durability 2 may not be lost */
};

enum sim_detail {
    DETAIL_NONE,
    DETAIL_NODES,  /* what happens to nodes */
    DETAIL_ALL,    /* and to clients */
    DETAIL_FRAMES, /* and every frame between nodes */
};

struct sim_options {
    uint64_t seed;        /* of the plan */
    uint64_t world;       /* of all else */
    uint64_t nodes;       /* the first members */
    uint64_t duration_ms; /* until the faults end */
    enum sim_mode mode;
    bool has_members;            /* nodes come and go */
    const struct plan *plan;     /* NULL: the seed's own */
    const struct mutant *mutant; /* or NULL */
    enum sim_detail detail;
};

enum sim_event_type {
    EVENT_FRAME,   /* to a node from a node */
    EVENT_TURN,    /* a node's loop turns */
    EVENT_WRITTEN, /* a node's disk */
    EVENT_SYNCED,
    EVENT_SNAPSHOT, /* a node's disk, about snapshots */
    EVENT_LINK,     /* a link comes up or goes down */
    EVENT_REQUEST,  /* a parcel reaches a node */
    EVENT_PARCEL,   /* a parcel reaches a client */
    EVENT_HANGUP,   /* a client learns that its connection is gone */
    EVENT_CLIENT,   /* a client's own time */
    EVENT_FAULT,    /* number: of the plan; target and incarnation: of a trigger */
    EVENT_RESTART,
    EVENT_DIE, /* a node that had a fatal error */
    EVENT_OPERATOR,
    EVENT_CHECK,
    EVENT_HEAL,
    EVENT_END,
};

struct sim_event {
    uint64_t at_us;
    uint64_t order;
    enum sim_event_type type;
    uint32_t target;      /* node or client */
    uint32_t incarnation; /* of the node: events of a dead one are dropped */
    uint64_t number;
    bool is_late; /* it waited for a node that was stopped */
    void *object; /* owned by the event */
};

struct sim_frame {
    uint32_t from;
    uint32_t from_incarnation;
    uint8_t kind;
    struct blob *body;
};

struct sim_snapshot_event {
    enum rlog_snapshot_event event;
    struct rlog_snapshot_meta meta;
    uint64_t bytes;
    uint64_t generation;
};

/* What happened, for the summary: numbers alone, so that those of seeds can be added.
 */
struct sim_counts {
    uint64_t faults[FAULT_KIND_COUNT]; /* that were carried out */
    uint64_t triggered;                /* of these, by a trigger */
    uint64_t passed_over;              /* not possible or not allowed then */
    uint64_t virtual_ms, entries, events;
    uint64_t elections, reigns, freezes, snapshots, snapshots_refused, installs;
    uint64_t gates, torn, fatals, rejoins, members;
    uint64_t published[3], no_room;
    uint64_t settled, delivered, resumed, resumes_refused, reads, admin, redriven;
    uint64_t copies, copies_delivered;
};

struct sim_disk;     /* disk.c */
struct sim_conn;     /* conn.h */
struct sim_client;   /* client.h */
struct sim_nemesis;  /* nemesis.c */
struct sim_operator; /* operator.c */

/* One leadership, from when it serves. */
struct sim_reign {
    uint64_t began_us;
    uint64_t ended_us; /* 0: it goes on */
};

struct sim_node {
    struct sim *sim;
    uint32_t id;
    bool is_alive;
    bool is_member;  /* or on its way to be one, or not yet quite gone */
    bool is_crashed; /* down, or not yet recovered, after a machine crash */
    bool is_blank;   /* its data was set aside: gated without grace */
    bool is_joining; /* new, and not all is here yet: the same */
    bool is_failing; /* its next sync fails */
    bool is_dying;   /* fatal: nothing happens any more until it is killed */
    bool is_serving;
    uint32_t incarnation;
    uint32_t fatal_count; /* since it last kept up */
    uint64_t restart_us;  /* after a fatal error: how long it stays down, 0 = any */
    uint64_t started_us;
    uint64_t paused_until_us;
    uint64_t backlog_us;   /* until then it works on what came while it was stopped */
    int64_t clock_skew_ms; /* of the wall clock */
    uint64_t known_leader;
    uint64_t members_index; /* the last that it is known to have applied */
    uint64_t seen_applied;  /* oracle.c */
    uint64_t reign;         /* number of its present leadership, 0 = none */
    uint64_t turn_number;   /* of the TURN event that counts */
    uint64_t turn_at_us;    /* when that one is due */
    struct sim_disk *disk;
    struct replica *replica;
    struct list parcels; /* requests that have arrived (struct parcel.in_queue) */
    bool is_linked[SIM_NODES_MAX + 1];        /* our sending link to that node is up */
    uint64_t link_told_us[SIM_NODES_MAX + 1]; /* when the newest change of it is seen */
    bool sees[SIM_NODES_MAX + 1];             /* it was told so */
    uint64_t turns;
    uint64_t last_turn_us;
};

struct sim {
    struct sim_options options;
    uint64_t now_us;
    uint64_t random;
    uint64_t order;
    uint64_t trace; /* digest of all events */
    uint64_t event_count;
    struct sim_event *heap;
    size_t heap_count;
    size_t heap_capacity;
    uint32_t node_count; /* that there can be */
    struct sim_node nodes[SIM_NODES_MAX + 1];
    struct sim_nemesis *nemesis;
    struct sim_operator *operator;
    uint64_t link_free_us[SIM_NODES_MAX + 1][SIM_NODES_MAX + 1];
    bool is_healed;
    bool has_queue;
    uint64_t queue_batch;
    uint64_t queue_lead;
    uint32_t queue_node;
    uint64_t machine_crashes; /* and what is like one */
    uint64_t grace_ms;        /* of the restart gate, MODE_CHAOS */
    int64_t skew_least_ms;    /* of all wall clocks, ever */
    int64_t skew_most_ms;
    uint64_t served_us; /* the last time somebody did, or nobody could be expected to */
    bool has_restarted; /* a node has, or has installed a snapshot */
    bool is_busy;       /* this seed: many publishes */
    bool is_lazy;       /* this seed: hardly anything is of durability 2 */
    bool is_paced;      /* this seed: small write queues */
    bool is_stopping;   /* publishers and administrators are done */
    struct sim_client *clients;
    uint32_t client_count;
    struct sim_conn **conns; /* by number, from 1 */
    uint64_t conn_count;
    uint64_t conn_capacity;
    struct sim_reign *reigns; /* by number, from 1 */
    uint64_t reign_count;
    uint64_t reign_capacity;
    struct checker *checker;
    struct oracle *oracle;
    struct sim_counts counts;
};

/* world.c */
uint64_t sim_random(struct sim *s);
uint64_t sim_range(struct sim *s, uint64_t least, uint64_t most);
bool sim_chance(struct sim *s, uint32_t permille);
void sim_push(struct sim *s, uint64_t at_us, const struct sim_event *event);
/* A line of the trace: of a node, or (sim_say) of a client. */
void sim_log(struct sim *s, const char *format, ...) PRINTF_LIKE(2, 3);
void sim_say(struct sim *s, const char *format, ...) PRINTF_LIKE(2, 3);
/* Prints what is wrong with the seed and ends the process (exit status 3). */
void sim_violation(struct sim *s, const char *format, ...) PRINTF_LIKE(2, 3)
    __attribute__((noreturn));

struct sim_result {
    uint64_t trace;
    uint64_t events;
    struct sim_counts counts;
};
/* Runs one seed to its end in this process, which ran none before. */
void sim_run(const struct sim_options *options, struct sim_result *ret_result);

/* disk.c, snapshots in disk_snapshot.c */
struct sim_disk *sim_disk_new(struct sim *s, uint32_t node);
void sim_disk_format(struct sim_disk *d, const struct rlog_members *members);
struct rlog_disk *sim_disk_open(struct sim_disk *d); /* before each start */
/* The node died: what is on the disk now is what the next start finds. */
void sim_disk_stop(struct sim_disk *d, bool is_machine);
/* All data is moved aside; term and vote stay, or (is_new) do not. */
void sim_disk_wipe(struct sim_disk *d, bool is_new);
void sim_disk_event(struct sim_disk *d,
                    const struct sim_event *event,
                    struct rlog *rlog,
                    uint64_t now_ms);
void sim_disk_free(struct sim_disk *d);
void sim_disk_stall(struct sim_disk *d, uint64_t until_us);
void sim_disk_slow(struct sim_disk *d, uint64_t until_us, uint64_t sync_ms);
void sim_disk_fill(struct sim_disk *d, uint64_t until_us);
bool sim_disk_was_full(const struct sim_disk *d);     /* or is: some seconds ago */
bool sim_disk_is_disturbed(const struct sim_disk *d); /* by any of these, now */
/* For the oracle. The entry at index of the log as appended, or NULL. */
const struct rlog_entry *sim_disk_entry(const struct sim_disk *d, uint64_t index);
/* Whether everything up to index is stored as its kind wants it. */
bool sim_disk_claim(struct sim_disk *d, uint64_t index);
void
sim_disk_get_term(const struct sim_disk *d, uint64_t *ret_term, uint64_t *ret_vote);
uint64_t sim_disk_snapshot(const struct sim_disk *d); /* index of the newest, or 0 */
uint64_t sim_disk_last(const struct sim_disk *d);     /* index of the last entry */

/* link.c */
void sim_link_send(struct sim *s,
                   uint32_t from,
                   uint64_t to,
                   const struct rlog_frame *frame);
/* Makes is_linked true and false as nodes live. */
void sim_links_update(struct sim *s);

/* node.c */
uint64_t sim_node_now_ms(const struct sim *s);
void sim_node_start(struct sim *s, struct sim_node *n);
void sim_node_kill(struct sim *s, struct sim_node *n, bool is_machine);
/* A turn soon. */
void sim_node_wake(struct sim *s, struct sim_node *n);
void sim_node_event(struct sim *s, struct sim_node *n, struct sim_event *event);
/* Its disk or log gave up: kills it and starts it again later. */
void sim_node_die(struct sim *s, struct sim_node *n);
/* Its data is set aside: blank, and gated until it has caught up. */
void sim_node_set_aside(struct sim *s, struct sim_node *n);
void sim_node_set_clock(struct sim *s, struct sim_node *n, int64_t skew_ms);
struct sim_node *sim_leader(struct sim *s);  /* one that serves, or NULL */
struct queue *sim_queue(struct sim_node *n); /* the queue in its state, or NULL */

/* client.c */
void sim_clients_open(struct sim *s);
void sim_clients_close(struct sim *s);
void sim_client_event(struct sim *s, struct sim_event *event);

/* conn.c */
/* The node closed all connections without a word, or died: also those it relays. */
void sim_conns_hang_up(struct sim *s, const struct sim_node *n, bool is_dead);
/* A follower closes its relays when it follows another leader. */
void sim_conns_end_relays(struct sim *s, const struct sim_node *n);
/* Nothing passes on one of them any more; its ends learn it later. */
void sim_conns_cut_one(struct sim *s);
/* The node stops for so long. */
void sim_conns_paused(struct sim *s, const struct sim_node *n, uint64_t length_us);
/* A parcel leaves a node; takes it. */
void sim_conns_deliver(struct sim *s, struct sim_node *n, struct parcel *parcel);
/* A parcel arrives at a node: whether its connection is still there. */
bool sim_conns_admit(struct sim *s, const struct sim_node *n, const struct parcel *p);
void sim_conns_free(struct sim *s);

/* nemesis.c */
void sim_nemesis_open(struct sim *s);
void sim_nemesis_close(struct sim *s);
void sim_fault(struct sim *s, const struct sim_event *event);
/* Something happened that faults may wait for; peer may be 0. Not from inside a call
 * of a node's code alone: the fault comes as an event of its own. */
void sim_trigger(struct sim *s, enum trigger trigger, uint32_t it, uint32_t peer);
bool sim_is_cut(const struct sim *s, uint32_t from, uint32_t to);
/* LOSS, SLOW, TWICE, SHUFFLE: per mille now. */
uint32_t sim_weather(const struct sim *s, enum fault_kind kind);
void sim_heal(struct sim *s);

/* operator.c: one change of members at a time, never forgotten before it is done */
void sim_operator_open(struct sim *s);
void sim_operator_close(struct sim *s);
/* False: not possible now. */
bool sim_operator_ask(struct sim *s, enum fault_kind kind, const struct sim_node *n);
void sim_operator_event(struct sim *s);
bool sim_operator_is_idle(const struct sim *s);

#endif
