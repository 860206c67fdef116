/* Connections of clients: from a client, through a relaying node or not, to the node
 * that serves it. Both directions keep their order. Either end may let go; the other
 * learns it later. */
#ifndef HF_SIM_CONN_H
#define HF_SIM_CONN_H

#include "sim.h"

struct sim_conn {
    uint64_t number; /* never used again */
    uint32_t client;
    uint32_t node;       /* that serves it */
    uint32_t relay;      /* that passes it on, 0 = none */
    uint64_t reign;      /* of node, when it began */
    bool is_client_open; /* the client has not let go, and does not know better */
    bool is_server_open; /* the node has not let go, and does not know better */
    bool is_stuck;       /* nothing passes any more */
    bool has_login;      /* a LOGIN was sent: the broker is owed a CLOSED */
    uint64_t up_free_us;
    uint64_t down_free_us;
    uint64_t signal_free_us;
    uint64_t emitted; /* deliveries that left the node */
    uint64_t emitted_bytes;
    uint64_t received; /* of these, by the client */
    uint64_t received_bytes;
    uint64_t reported; /* the node's socket took so many, it was told */
    uint64_t reported_bytes;
    uint64_t learned_us; /* when the broker was told of its end, 0 = not yet */
    uint64_t ended_us;   /* when the node ended it, 0 = it did not */
};

/* By a random node. NULL: refused. */
struct sim_conn *sim_conn_open(struct sim *s, uint32_t client);
struct sim_conn *sim_conn_find(const struct sim *s, uint64_t number); /* or NULL */
/* A request on its way up; takes it. */
void sim_conn_send(struct sim *s, struct sim_conn *c, struct parcel *parcel);
/* The client lets go. */
void sim_conn_drop(struct sim *s, struct sim_conn *c);
/* A parcel has arrived at the client. False: it had let go, or nothing passes. */
bool sim_conn_arrive(struct sim_conn *c, const struct parcel *parcel);

#endif
