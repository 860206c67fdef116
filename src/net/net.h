/* Network: the clients' side of a node, on N threads with a libevent loop each.
 *
 * A thread owns its connections: accept, TLS, HTTP upgrade, WebSocket, requests to the
 * core, parcels from the core, back-pressure, close. On a node that does not lead the
 * same threads relay bytes to the leader without looking at them. All calls are for the
 * core thread, none blocks. See src/net/README.md for the states of a connection. */
#ifndef HF_NET_NET_H
#define HF_NET_NET_H

#include "base/mailbox.h"
#include "broker/parcel.h"
#include "proto/reply.h"

struct net;

/* What of a queue's settings the network threads need. */
struct net_queue {
    uint32_t number;
    char name[64];
    uint32_t max_message_bytes;  /* max-ws-msg-len */
    uint32_t login_timeout_secs; /* no-reply-timeout-secs */
    uint32_t max_write_queue_bytes;
    uint32_t message_timeout_secs;
    uint32_t max_connections; /* max-tasks, logged in; 0 = no limit here */
};

enum net_route {
    NET_WAIT,  /* no leader known: new connections wait up to LIMIT_RELAY_WAIT_MS */
    NET_SERVE, /* this node leads and is ready */
    NET_RELAY, /* to the leader */
};

struct net_target {
    enum net_route route;
    uint64_t leader;       /* NET_RELAY: node id */
    char address[128];     /* its client listener, host:port */
    uint8_t relay_key[32]; /* its key */
};

struct net_options {
    uint64_t node;
    const char *const *listen_addresses; /* "127.0.0.1:9443", "[::1]:9443" */
    size_t listen_count;
    const char *cert_file;
    const char *key_file;
    const char *default_queue;   /* "" = none */
    const char *queue_domain;    /* "" = first label of any host */
    const char *allowed_origins; /* "" = all; else a list with spaces */
    uint32_t threads;            /* at least 1 */
    const uint8_t *relay_key; /* ours, 32 bytes: PROXY headers made with it are good */
    struct reply_names names;
    struct mailbox *core_box;   /* parcels for the core */
    void (*bell_cb)(void *ctx); /* from any network thread: core_box was empty */
    void *bell_ctx;
};

/* Where a port is 0 in listen_addresses, net_port() tells which one it became.
 *
 * Listens and starts the threads, route NET_WAIT. Logs and returns what failed
 * (ST_EXISTS: a port in use, ST_INVALID: certificate and key); nothing is left then. */
enum status net_open(const struct net_options *options, struct net **ret_net) MUST_USE;
/* Closes everything at once, joins the threads; the core is told nothing more, and what
 * is in core_box is its owner's to free. NULL is fine. */
void net_close(struct net *n);
/* The port of listen_addresses[index]; 0: there is none. */
uint16_t net_port(const struct net *n, size_t index);

/* Replaces the directory of queues (host name to number, limits) for new connections,
 * and the limits of those that are open, at once: when the call returns no thread reads
 * an old value. */
void net_set_queue(struct net *n, const struct net_queue *queue);
void net_remove_queue(struct net *n, uint32_t number);
/* Another route: served clients are closed without a reply when it is no longer
 * NET_SERVE; relays are closed when the leader differs. */
void net_set_route(struct net *n, const struct net_target *target);
/* Gives a parcel to the thread of its connection (takes it; a connection that is gone
 * frees it). It is seen after net_flush(). */
void net_send(struct net *n, struct parcel *parcel);
void net_flush(struct net *n);
/* Reads the certificate files again; the old ones stay when the new ones are bad. */
enum status net_reload_certificates(struct net *n) MUST_USE;
/* When the certificate in use ends, UNIX time. */
uint64_t net_certificate_expires_secs(const struct net *n);
/* Stops accepting; closes relays and clients spread over drain_ms. */
void net_drain(struct net *n, uint64_t drain_ms);

/* Sums over the threads, as of their last turn. */
struct net_counts {
    uint64_t open_clients; /* served ones in any state */
    uint64_t open_relays;
    uint64_t pending_logins; /* not logged in, those that wait for a leader too */
    uint64_t accepted_total;
    uint64_t received_bytes_total; /* on sockets */
    uint64_t sent_bytes_total;
    uint64_t dropped_slow_total;
    /* Close frames: 1000 (logged out), 1002, 1007, 1008, 1009, 1011; none from us; the
     * client's own, answered. */
    uint64_t closes_total[8];
};
void net_get_counts(const struct net *n, struct net_counts *ret_counts);
/* Bytes on the sockets of a queue's clients, TLS included, since this net was opened
 * and this node knows the queue: for usage rows. ST_NOTFOUND: no such queue. */
enum status net_get_traffic(struct net *n,
                            uint32_t queue,
                            uint64_t *ret_sent,
                            uint64_t *ret_received) MUST_USE;

#endif
