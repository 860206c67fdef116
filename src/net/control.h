/* Controls: what the core thread, the acceptor and the resolver tell a network thread,
 * beside the parcels. Each is one allocation; the thread that takes it frees it. */
#ifndef HF_NET_CONTROL_H
#define HF_NET_CONTROL_H

#include "base/mailbox.h"
#include "net/net.h"
#include "net/socket.h"

#define CONTROL_ADDRESSES 8

enum control_kind {
    CONTROL_ARRIVAL,  /* struct arrival: a connection was accepted for this thread */
    CONTROL_ROUTE,    /* struct control_route */
    CONTROL_RESOLVED, /* struct control_resolved */
    CONTROL_LIMITS,   /* a time limit changed: set the deadlines again */
    CONTROL_DRAIN,    /* struct control_drain */
    CONTROL_STOP,     /* close everything and end */
};

struct control {
    struct mail mail; /* first: a mail is a control */
    enum control_kind kind;
};

struct control_route {
    struct control control;
    struct net_target target;
};

/* The addresses of a leader's host name; count 0 = none were found. */
struct control_resolved {
    struct control control;
    uint64_t generation; /* of the route that asked */
    size_t count;
    struct socket_address addresses[CONTROL_ADDRESSES];
};

struct control_drain {
    struct control control;
    uint64_t drain_ms;
};

#endif
