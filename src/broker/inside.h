/* Inside: the broker's own structures. For src/broker alone.
 *
 *   struct broker ─┬─ clients by id ── struct client ─┐ seat (a subscriber's)
 *                  │                                  │
 *                  └─ state ─ queue ── struct part    │
 *                                        │ room       │
 *                       session ──────── struct seat ─┘
 *
 * A part is what the leader knows of a queue beside its state, a seat what it knows of
 * a session. Both hang at the leader pointers of the state's objects and exist exactly
 * as long as this node leads and the object is there.
 *
 * Invariants (broker_check()):
 *  B1 A seat has a connection or its session is saved, never both, never neither.
 *  B2 part->room has exactly the seats that have room, part->saved the saved ones.
 *  B3 seat->next_emit is NULL or a held message; none behind it was handed to this
 *     connection yet, every one before it was, or was skipped.
 *  B4 part->delayed counts the waiting messages that are marked as delayed: those with
 *     ready_ms after the cluster time, once the ripening has caught up.
 *  B5 The counts of connections equal a count by walking. */
#ifndef HF_BROKER_INSIDE_H
#define HF_BROKER_INSIDE_H

#include "base/heap.h"
#include "broker/batch.h"
#include "broker/broker.h"
#include "broker/clock.h"

#define QUEUE_TYPE_COUNT 2
#define TAG_NONE         0 /* an effect that rests on nothing */
/* How much of one kind one turn does before the others have theirs. */
#define TURN_ASSIGNS     4096 /* and one more for each event */
#define TURN_RIPE        4096 /* delayed messages passed over, a queue */
#define TURN_RELEASE     4096 /* messages given back by sessions whose time is up */

#define MARK_DELAYED UINT64_MAX /* sent_mark of a message whose delay has not ended */

enum timer_kind {
    TIMER_DELAY, /* a part: the next delay ends */
    TIMER_SAVED, /* a part: the first saved session's time is up */
    TIMER_STATS, /* a part: the next statistics row */
    TIMER_USAGE, /* a part: the next usage row */
    TIMER_PUSH,  /* a connection: live statistics */
};
#define PART_TIMERS TIMER_PUSH /* the first ones are a part's */

struct timer {
    struct heap_node node; /* at: cluster time */
    enum timer_kind kind;
    void *owner;
};

struct part {
    struct queue *queue;
    struct list clients;          /* of this queue, in any phase */
    struct list copy_subscribers; /* logged in */
    struct tree room;             /* seats that have room, by number */
    struct tree saved;            /* seats, by (saved_ms, number) */
    struct list_node in_dirty;    /* linked: dispatch was cut short */
    struct timer timers[PART_TIMERS];
    uint64_t logged_in[QUEUE_TYPE_COUNT][ROLE_COUNT];
    uint64_t tasks; /* the sum of these */
    uint64_t delayed;
    bool is_ripening; /* passed over up to (ripe_ms, ripe_order), and not all */
    uint64_t ripe_ms;
    uint64_t ripe_order;
    uint64_t net_sent; /* since the last usage row */
    uint64_t net_received;
    uint64_t written;
    uint64_t trimmed_day[2]; /* stats, usage: the day of the last trim */
};

struct seat {
    struct session *session;
    struct part *part;
    struct client *client; /* NULL: saved */
    struct tree_node in_room;
    struct tree_node in_saved;
    struct message *next_emit; /* the next to hand to the connection, NULL = none */
    uint64_t assign_tag;       /* the batch of the last ASSIGN */
    bool is_replay;            /* those that were sent go again */
    bool is_resumed_here;      /* the id before is not accepted in this term */
};

/* A client is a connection, from its LOGIN on. */
enum client_phase {
    CLIENT_VERIFYING, /* the password is being checked */
    CLIENT_OPEN,      /* logged in; the reply may still be on its way */
    CLIENT_ENDING,    /* its last reply is made; CLOSED will come */
};

/* VERIFYING ──good──► OPEN ──a reply that ends it──► ENDING; any ──CLOSED──► (none) */
struct client {
    struct map_node in_clients;
    struct list_node in_part;
    struct list_node in_verify; /* linked: broker_take_verify() has not given it */
    struct list_node in_copy;
    uint64_t id;
    struct part *part;
    struct seat *seat;     /* a distribute subscriber's */
    struct request *login; /* VERIFYING */
    uint64_t last_tag;     /* effects leave in the order made: tags never fall */
    uint64_t delivered;    /* deliveries made so far */
    uint64_t charged;      /* their bytes */
    uint64_t sent;         /* of these, handed to TLS */
    uint64_t frames_sent;
    struct timer push;
    uint64_t push_ms;
    enum client_phase phase;
    enum queue_type type;
    enum login_role role;
};

struct broker {
    struct state *state;
    struct clock clock;
    struct batches batches;
    struct mail_chain out; /* may leave unless held */
    struct map clients;
    struct client *last_client; /* the last one looked up, or NULL */
    struct list verify;         /* connections whose password nobody checks yet */
    struct list dirty;          /* parts */
    struct heap timers;
    uint64_t committed_index;
    uint64_t volatile_tag; /* what messages of durability 0 rest on: mostly nothing */
    uint64_t config_version;
    uint64_t refusals[BROKER_CODE_END - BROKER_CODE_FIRST];
    uint32_t assigns_left; /* of this turn */
    uint8_t has_ipv4;
    bool is_leading;
    bool is_held;
    bool is_full; /* broker_set_room() */
};

static inline struct part *
part_of(const struct queue *q)
{
    return q->leader;
}

static inline struct seat *
seat_of(const struct session *x)
{
    return x->leader;
}

#endif
