/* Worker: what one network thread has. The loop that runs it is thread.c; connections,
 * relays and the rest work on it. Only what is marked is touched by other threads. */
#ifndef HF_NET_WORKER_H
#define HF_NET_WORKER_H

#include "base/list.h"
#include "base/map.h"
#include "net/admission.h"
#include "net/control.h"
#include "net/directory.h"
#include "net/replay.h"
#include "net/resolver.h"
#include "net/timers.h"
#include "net/tls.h"
#include "proto/request.h"
#include "proto/websocket.h"

#include <pthread.h>

#define WORKER_BUFFER_BYTES (64u << 10)

/* What all threads of a net share: constant after net_open(), or safe by itself. */
struct acceptor;
struct shared {
    uint64_t node;
    char default_queue[64];
    char *queue_domain;
    char *allowed_origins;
    uint8_t relay_key[32];
    char *instance_type;
    char *region;
    struct reply_names names;
    struct mailbox *core_box;
    void (*bell_cb)(void *ctx);
    void *bell_ctx;
    struct tls tls;
    struct directory directory;
    struct admission admission;
    struct replay replay;
    struct resolver *resolver;
    _Atomic uint64_t relay_counter; /* of the PROXY headers that we make */
    struct worker *workers;
    unsigned worker_count;
};

/* An accepted connection on its way: to its thread, or waiting for a leader. */
struct arrival {
    struct control control;
    struct list_node in_waiting;
    struct timer timer; /* LIMIT_RELAY_WAIT_MS from accept() */
    struct worker *worker;
    struct admission_entry *admission;
    uint64_t accepted_ms;
    int fd;
    struct sockaddr_storage from;
};

/* Where new connections go. */
struct route {
    struct net_target target;
    uint64_t generation; /* grows with each change */
    size_t address_count;
    struct socket_address addresses[CONTROL_ADDRESSES];
    uint64_t good_until_ms; /* addresses; numbers are good for ever */
    bool is_asking;         /* the resolver */
    struct list waiting;    /* arrivals */
    struct timer retry;
};

struct worker {
    struct shared *shared;
    unsigned index;
    pthread_t thread;
    struct event_base *base;

    /* Other threads put and ring. */
    int bell; /* eventfd */
    struct mailbox parcels;
    struct mailbox controls;

    struct event bell_event;
    struct timers timers;
    uint64_t now_ms; /* 0: not yet asked in this turn */

    struct map by_number; /* connections, by number */
    struct list conns;    /* all of them that are not dead */
    struct list relays;
    struct list ready; /* connections to be run again at the end of this turn */
    struct list dirty; /* connections with new output */
    struct list dead;  /* connections to be freed at the end of this turn */
    struct list dead_relays;
    struct mail_chain to_core;   /* put at the end of the turn */
    struct mail_chain *hand_out; /* acceptor only: arrivals for each thread */
    uint64_t next_conn;
    struct acceptor *acceptor; /* or NULL: not this thread */
    unsigned handshakes;       /* steps in this turn */
    bool is_stopping;
    bool is_draining;
    uint64_t drain_end_ms;
    uint64_t drain_ms;
    uint64_t drain_count; /* relays and connections when it began */
    struct timer drain_timer;

    uint8_t *buffer;    /* WORKER_BUFFER_BYTES: what was just read */
    struct bytes spare; /* an output buffer that nobody uses */
    struct request_parser *parser;
    struct ws_codec *codec;
    struct route route;

    struct net_counts counts; /* of this thread */
    struct {
        _Atomic uint64_t values[sizeof(struct net_counts) / sizeof(uint64_t)];
    } published; /* the same, as of the last turn: any thread reads */
};

/* Without locks: for one thread alone. NULL: no memory or descriptor. */
struct event_base *worker_make_base(void);
/* ST_NOMEM, ST_IO (no descriptor). Also makes the event base; no thread is started. */
enum status
worker_init(struct worker *w, struct shared *shared, unsigned index) MUST_USE;
/* Frees what is left, mail too. Connections and relays are gone already. */
void worker_fini(struct worker *w);

/* Monotonic ms, the same all through a turn. */
uint64_t worker_now_ms(struct worker *w);
/* To the core at the end of this turn; takes it. */
void worker_send(struct worker *w, struct parcel *parcel);
/* Any thread: gives a control to w (takes it), and wakes it. */
void worker_tell(struct worker *w, struct control *control);
void worker_ring(struct worker *w); /* any thread */
void worker_publish_counts(struct worker *w);

/* Ends an arrival: closes its socket, leaves the admission. NULL is fine. */
void arrival_free(struct arrival *a);

#endif
