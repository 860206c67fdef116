/* Model: what a queue is made of: messages, sessions, and the queue around them.
 *
 * The structures are open to src/queue and to the leader's broker, which keeps its own
 * parts in them (sent_mark, was_sent, leader) and otherwise reads. Only the verbs
 * write. Include queue/state.h, which says what holds between these. */
#ifndef HF_QUEUE_MODEL_H
#define HF_QUEUE_MODEL_H

#include "base/blob.h"
#include "base/list.h"
#include "base/map.h"
#include "base/tree.h"
#include "queue/record.h"

struct history;
struct trail;

enum place {
    PLACE_NONE, /* not in the queue: not yet published, or gone */
    PLACE_WAITING,
    PLACE_HELD,
    PLACE_DEAD,
};

enum dead_reason {
    DEAD_NACK = 1,
    DEAD_MOVED = 2,
    DEAD_DAMAGED = 3,
};
#define DEAD_REASONS 4 /* with 0, which none has */

struct message {
    struct map_node in_by_id;
    struct tree_node in_ids; /* q->messages or q->dead */
    union {
        struct tree_node in_waiting; /* PLACE_WAITING */
        struct list_node in_held;    /* PLACE_HELD: session->held */
    };
    struct uuid id;
    uint64_t order;
    uint64_t ready_ms;
    uint64_t received_ms;
    union {
        uint64_t dead_ms; /* PLACE_DEAD: when */
        /* PLACE_HELD: ascending in session->held; one of durability 0 uses none up */
        uint64_t held_order;
    };
    struct queue *queue;
    struct session *holder; /* PLACE_HELD */
    uint64_t sent_mark;     /* leader: delivery number on its connection, 0: none */
    struct blob *body;      /* inside of a JSON string, then the key's bytes */
    struct trail *trail;    /* what became of it (queue/trail.h), or NULL */
    uint32_t body_size;     /* of the body alone: body->size - key_size */
    uint32_t delay_secs;    /* as it was given */
    uint32_t deliveries;    /* times given to a session */
    uint32_t body_crc;
    uint32_t image_mark; /* the last image that has it already */
    uint8_t key_size;
    uint8_t type;
    uint8_t durability;
    enum place place : 8;
    uint8_t dead_reason;
    bool is_damaged; /* its body is not what was published: for nobody */
    bool was_sent;   /* leader: its whole frame was handed to TLS for this holder */
};

struct session {
    struct map_node in_by_session; /* under id */
    struct map_node in_by_prev;    /* under prev_id, when has_prev and not forgotten */
    struct tree_node in_line;      /* q->line, by number */
    struct list held;              /* messages, in the order given */
    struct queue *queue;
    struct uuid id;
    struct uuid prev_id; /* the id that the last resume replaced */
    uint64_t number;     /* place in the line */
    uint64_t saved_ms;   /* is_saved: since when */
    uint64_t next_held;  /* held_order of the next durable message */
    uint32_t capacity;
    uint32_t held_count;
    bool has_prev;
    bool is_saved;
    bool has_received;      /* it was given a message once */
    bool is_prev_forgotten; /* leader: prev_id is not accepted (not replicated) */
    void *leader;           /* the broker's part, NULL on followers */
};

struct queue_counts {
    uint64_t messages; /* all, with the dead ones */
    uint64_t held;     /* by sessions that are connected or saved */
    uint64_t dead;
    uint64_t dead_for[DEAD_REASONS]; /* by dead_reason */
    uint64_t durable;                /* durability 1 and 2, dead ones too */
    uint64_t memory_bytes;           /* body + key + 256 each */
    uint64_t saved_sessions;
};

/* What this node decided as the leader, also what was taken back: for its metrics. */
struct queue_totals {
    uint64_t received;
    uint64_t received_bytes; /* bodies */
    uint64_t copy_received;  /* in copy mode, which keeps nothing */
    uint64_t copy_delivered;
    uint64_t delivered;   /* given to a session */
    uint64_t redelivered; /* of these, not for the first time */
    uint64_t acked;
    uint64_t nacked;
    uint64_t returned; /* given back by sessions that ended */
    uint64_t redriven;
    uint64_t deleted; /* by administrators */
    uint64_t dead_for[DEAD_REASONS];
};

struct queue {
    struct list_node in_state;
    struct map_node in_by_name;
    struct map_node in_by_number;
    uint32_t number; /* > 0, never used again */
    uint32_t pins;   /* the state, the journal, an image: the last one frees it */
    enum queue_tier tier;
    char name[64];
    uint64_t created_ms;
    uint64_t settings[SETTING_COUNT];
    struct login_secret logins[ROLE_COUNT];
    struct map by_id;
    struct map by_session; /* sessions by id */
    struct map by_prev;    /* and by the id before */
    struct tree messages;  /* waiting and held, by id */
    struct tree dead;      /* by id */
    struct tree waiting;   /* by (ready_ms, order) */
    struct tree line;      /* sessions by number */
    uint64_t next_order;   /* above every order ever used here */
    uint64_t next_session;
    struct queue_counts counts;
    struct queue_totals totals; /* leader's */
    struct history *stats;
    struct history *usage;
    uint32_t image_mark; /* the last image that it is in */
    bool is_deleted;     /* only in the journal still */
    void *leader;        /* the broker's part, NULL on followers */
};

struct slice message_body(const struct message *m);
struct slice message_key(const struct message *m);
static inline uint64_t
message_cost_bytes(const struct message *m)
{
    return (uint64_t)m->body->size + 256;
}

#endif
