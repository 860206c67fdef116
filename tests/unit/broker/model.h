/* Model: many random clients of one broker, who believe what they are told and
 * complain.
 *
 * What a client may rely on: replies in the order of its requests; a confirmed message
 * of durability 1 or 2 is there until an ack, a delete or a DLQ delete was asked for
 * it; one whose ack was confirmed is gone and never comes again; a message is delivered
 * to subscribers only. All of it over changes of leader at any moment. */
#ifndef HF_TESTS_BROKER_MODEL_H
#define HF_TESTS_BROKER_MODEL_H

#include "base/map.h"
#include "tests/unit/broker/world.h"

#define MODEL_CLIENTS  20
#define MODEL_GOT      16
#define MODEL_SESSIONS 32
#define MODEL_MESSAGES 200000

struct model_message {
    struct map_node in_by_id;
    struct uuid id;
    uint8_t durability;
    bool is_confirmed; /* its publish was */
    bool is_asked;     /* something that takes it away was asked for */
    bool is_acked;     /* an ack was confirmed */
};

struct model_client {
    uint64_t conn; /* 0 = not connected */
    enum login_role role;
    enum queue_type type;
    uint64_t asked;    /* requests sent */
    uint64_t answered; /* replies got */
    bool is_open;      /* its login was confirmed */
    bool is_done;      /* it asks for nothing more */
    struct uuid got[MODEL_GOT];
    size_t got_count;
};

struct model {
    struct world world;
    uint64_t random;
    uint64_t next_conn;
    struct model_client clients[MODEL_CLIENTS];
    struct uuid sessions[MODEL_SESSIONS];
    size_t session_count;
    struct map by_id;
    struct model_message *messages;
    size_t message_count;
    uint64_t delivered;
    uint64_t acked;
    uint64_t resumed;
    uint64_t terms;
    bool is_held;
};

void model_init(struct model *m, uint64_t seed);
void model_fini(struct model *m);
/* A number below limit. */
uint64_t model_random(struct model *m, uint64_t limit);
/* One random event (model_events.c). */
void model_event(struct model *m);
/* Takes what leaves and compares it with what the clients may expect. */
void model_receive(struct model *m);
/* All is committed: compares the state with what was confirmed. */
void model_settle(struct model *m);
/* A request of the client, numbered in its context. */
struct request *
model_request(struct model *m, struct model_client *client, enum parcel_kind kind);
/* The message of this id, a new one if need be. */
struct model_message *model_message(struct model *m, const struct uuid *id);
void model_forget_clients(struct model *m);

#endif
