/* Cluster: the links to the other nodes.
 *
 * Each node dials every other one and sends on the connection that it dialled; what it
 * accepts it only reads from. TLS 1.3 both ways with the cluster's own CA; the name in
 * the peer's certificate must be that of the node id it claims. Then a hello each way:
 * protocol version, cluster id, node id, where clients are served, the relay key. After
 * that, frames:
 *
 *   offset size
 *   0      4    size of the body in bytes, at most LIMIT_FRAME_BYTES
 *   4      1    kind: 1..31 raft (raft/wire.h), 32.. cluster's own, 64.. the user's
 *   5      3    zero
 *   8      4    CRC-32C of bytes 0..7 and the body
 *   12     ...  body
 *
 * Anything else closes the connection; garbage before the handshake costs no memory
 * beyond one TLS session, and there are at most 32 of those. Reconnects with jitter
 * (50 ms doubling to 1 s; at once after a loss and after a peer's own hello), names are
 * looked up again at each dial (libuv's pool), TCP_NODELAY, TCP_USER_TIMEOUT 5 s, and a
 * keepalive each 2 s: a peer silent for 10 s is dropped. What waits for a peer is
 * bounded (LIMIT_PEER_QUEUE_BYTES): beyond it, and while a peer is not connected,
 * frames to it are dropped whole (Raft resends).
 *
 * Certificates: SAN DNS:node-<id>.holdfast.internal and extended key usage serverAuth
 * and clientAuth are required, in our own too.
 *
 * Lives on one libuv loop, the core thread. Callbacks come from that loop only, never
 * inside a function below, and may call any function below, also cluster_close() and
 * cluster_set_members(). SIGPIPE is ignored from cluster_open() on (unless the process
 * has a handler of its own). */
#ifndef HF_CLUSTER_CLUSTER_H
#define HF_CLUSTER_CLUSTER_H

#include "raft/rlog.h"

#include <uv.h>

struct cluster;

#define CLUSTER_RELAY_KEY_BYTES 32
#define CLUSTER_FRAME_USER      64 /* first kind that is the user's */

/* What a node says of itself in its hello. */
#define CLUSTER_FEATURE_BLANK          1u /* made to join, and it has nothing yet */
#define CLUSTER_FEATURE_NEW            2u /* it has only what data init made */
#define CLUSTER_FEATURE_LOGINS         4u /* it takes known logins of others */
#define CLUSTER_FEATURE_AGREEMENT      8u /* it takes what others say they applied */
/* The highest level of records that it reads; a node that says none reads 1. */
#define CLUSTER_FEATURE_LEVEL(level)   ((uint64_t)(level) << 8)
/* What its data were restored from: two nodes that say something else do not talk. 0:
 * they were not restored, or it joined later. */
#define CLUSTER_FEATURE_ORIGIN(origin) ((uint64_t)(origin) << 32)
uint32_t cluster_feature_level(uint64_t features);

struct cluster_peer_info {
    uint64_t id;
    char client_address[128]; /* host:port of its client listener, "" not yet known */
    uint8_t relay_key[CLUSTER_RELAY_KEY_BYTES]; /* for relaying to it */
    bool is_connected;                          /* we can send to it */
    uint32_t version;                           /* of its protocol */
    uint64_t features;                          /* CLUSTER_FEATURE bits */
    uint64_t members_index; /* of the committed members that it knew at its hello */
    uint8_t refusal;        /* of our last try: enum frame_refusal */
};

struct cluster_callbacks {
    /* A frame of kind 1..31 or >= CLUSTER_FRAME_USER. body is borrowed, never NULL.
     * Anything but ST_OK closes the connection. */
    enum status (*frame_cb)(void *ctx, uint64_t peer, uint8_t kind, struct blob *body);
    /* A peer has said who it is (cluster_peer()), before any frame of it. May be NULL.
     */
    void (*met_cb)(void *ctx, uint64_t peer);
    /* We can send to peer. */
    void (*up_cb)(void *ctx, uint64_t peer);
    /* Once for each up_cb, but not for a peer that cluster_set_members() removed.
     * was_refused: the connection ended and a dial at once was refused, so its process
     * is gone (within about 1 ms of its death). false comes at most 50 ms after the
     * loss. */
    void (*down_cb)(void *ctx, uint64_t peer, bool was_refused);
    void *ctx;
};

struct cluster_options {
    uint64_t id;
    uint8_t cluster_id[16];
    const char *listen_address;  /* host:port, [v6]:port */
    const char *client_address;  /* told to the peers */
    const char *cluster_address; /* the same: where they may dial this node; or NULL */
    const char *ca_file;
    const char *cert_file;
    const char *key_file;
    uint64_t features;
    struct rlog_members members; /* whom to dial (not this node) */
};

/* Listens and begins to dial. Logs and returns the status of what failed: a port in use
 * (ST_EXISTS), a bad certificate or key (ST_INVALID); nothing is left then. */
enum status cluster_open(uv_loop_t *loop,
                         const struct cluster_options *options,
                         const struct cluster_callbacks *callbacks,
                         struct cluster **ret_cluster) MUST_USE;
/* Sends what is queued as far as it goes without waiting, then closes everything, the
 * listener first. closed_cb (may be NULL) when the loop is rid of it; no other callback
 * comes any more. */
void cluster_close(struct cluster *c, void (*closed_cb)(void *ctx), void *ctx);
/* The members from now on, with a vote or not; this node among them or not makes no
 * difference. Who is gone is cut off in both directions, who is new is dialled. Who has
 * a vote and says that it has nothing is refused: it does not know what it has voted
 * and stored. A node that is not a member, but knows members of a later entry than this
 * one does, is a guest: it may be the leader that has that entry for us. It is dialled,
 * and stays until this node knows as much. */
void cluster_set_members(struct cluster *c, const struct rlog_members *members);
/* What it says of itself from now on, on new connections: features, and the index of
 * the entry with the committed members that it knows. */
void cluster_set_features(struct cluster *c, uint64_t features);
void cluster_set_members_index(struct cluster *c, uint64_t index);
/* Reads the certificate files again; the old ones stay when the new ones are bad. */
enum status cluster_reload_certificates(struct cluster *c) MUST_USE;

/* Queues a frame of a kind that is handed on; it leaves at cluster_flush() or when the
 * loop next waits (a prepare and a check handle see to it). At most LIMIT_FRAME_BYTES
 * together (asserted). References of the payloads are taken; head is copied. */
void cluster_send(struct cluster *c, uint64_t peer, const struct rlog_frame *frame);
void
cluster_send_user(struct cluster *c, uint64_t peer, uint8_t kind, struct slice body);
void cluster_flush(struct cluster *c);

/* ST_NOTFOUND: not a member. */
enum status cluster_peer(const struct cluster *c,
                         uint64_t peer,
                         struct cluster_peer_info *ret_info) MUST_USE;
/* This node's own relay key: whoever relays to it signs with it. */
const uint8_t *cluster_relay_key(const struct cluster *c);
/* When this node's certificate ends, in seconds since 1970 (for the alarm). */
int64_t cluster_certificate_expires_s(const struct cluster *c);

#endif
