/* Replica: one node's part in one Raft group: its log, its state, its broker.
 *
 * The glue that the server and the simulator share: it feeds committed entries to the
 * state, makes the leader's decisions into entries, and decides when this node may
 * serve. No socket, thread, clock or file of its own: time, frames and parcels come in,
 * frames (by the log's callbacks) and parcels go out.
 *
 *            leader elected        entry of its own term applied      EPOCH applied
 * FOLLOWING ───────────────► CLAIMING ──────────────────► CLAIMED ──────────────►
 * LEADING ▲                          │ EPOCH submitted when everything submitted    │
 *     │                          │ before is applied                            │
 *     └──────── leadership lost ◄┴──────────────────────────────────────────────┤
 *                                ▲                                              │
 *                                └──────────── a submit was refused ◄───────────┘
 *
 * Invariants:
 *  P1 The broker leads only in LEADING: this term's EPOCH entry is applied.
 *  P2 Outside LEADING state->applied is what the log has applied; in LEADING the state
 *     is ahead by exactly the batches that are submitted or open.
 *  P3 While frozen no parcel leaves: two turns were more than E/2 apart, or a majority
 *     was last heard more than E ago. It ends when a batch made after that is
 * committed. P4 An image is begun only when nothing is submitted or open (state ==
 * committed). */
#ifndef HF_SERVER_REPLICA_H
#define HF_SERVER_REPLICA_H

#include "broker/broker.h"
#include "raft/rlog.h"

struct replica;

struct replica_callbacks {
    void (*send_cb)(void *ctx, uint64_t peer, const struct rlog_frame *frame);
    /* is_serving or the known leader (0 = none) changed. */
    void (*route_cb)(void *ctx, bool is_serving, uint64_t leader);
    void (*fatal_cb)(void *ctx, enum status why, const char *what);
    /* While it opens: so much of the snapshot is loaded. May be NULL. */
    void (*progress_cb)(void *ctx, uint64_t done_bytes, uint64_t total_bytes);
    /* Something worth a line in the log: "leader.elected", "term=7". */
    void (*event_cb)(void *ctx, const char *event, const char *fields);
    void *ctx;
};

struct replica_options {
    struct rlog_options rlog;
    struct broker_options broker;
    uint64_t
        snapshot_bytes; /* least log size that asks for a snapshot; default 64 MiB */
};

/* now_ms monotonic, own_wall_ms UNIX time by this node's clock. disk stays the
 * caller's.
 */
enum status replica_open(const struct replica_options *options,
                         struct rlog_disk *disk,
                         const struct replica_callbacks *callbacks,
                         uint64_t now_ms,
                         uint64_t own_wall_ms,
                         struct replica **ret_replica) MUST_USE;
void replica_close(struct replica *r); /* NULL is fine */

/* Leader: hand over to target (0 = the best), with the messages of durability 0. What
 * rlog_transfer() says. Takes no requests until it is done or has failed. */
enum status
replica_transfer(struct replica *r, uint64_t target, uint64_t now_ms) MUST_USE;
/* Under way: no event may reach the broker. */
bool replica_is_handing_over(const struct replica *r);

/* What cluster.h's callbacks say. Frames: the log's, TIMEKEEPER_FRAME, and
 * AGREEMENT_FRAME (to be sent only to who takes it). */
void replica_peer_up(struct replica *r, uint64_t peer, uint64_t now_ms);
void
replica_peer_down(struct replica *r, uint64_t peer, bool was_refused, uint64_t now_ms);
enum status replica_receive(struct replica *r,
                            uint64_t peer,
                            uint8_t kind,
                            struct blob *body,
                            uint64_t now_ms) MUST_USE;

/* Moves time on; the begin of a turn. */
void replica_tick(struct replica *r, uint64_t now_ms, uint64_t own_wall_ms);
/* May requests be handed in now? No while too much waits for the log, an image is about
 * to begin, or leadership is handed over. */
bool replica_takes_requests(const struct replica *r);
void replica_handle(struct replica *r, struct parcel *parcel); /* takes it */
/* The end of a turn: open decisions become entries, the image goes on. */
void replica_end_turn(struct replica *r, uint64_t now_ms);
/* What may leave now. now_ms is read anew: a process that was stopped in between must
 * not speak (P3). */
void replica_take_parcels(struct replica *r, uint64_t now_ms, struct mail_chain *out);
/* Absolute ms at which the next turn must come at the latest. */
uint64_t replica_deadline(const struct replica *r);

struct replica_status {
    struct rlog_status log;
    bool is_serving;
    bool is_frozen;
    uint64_t digest_index;
    uint64_t images_total;      /* snapshots taken */
    uint64_t images_failed;     /* begun, and not stored: there was no room */
    uint64_t image_bytes;       /* of the one that is being taken, so far; 0: none is */
    uint64_t restores_total;    /* of others, installed since the node has started */
    uint64_t differences_total; /* peers found to have applied something else */
};
void replica_get_status(const struct replica *r, struct replica_status *ret_status);
/* Up to which a majority is known to have applied the same as this node; 0: none is. */
uint64_t replica_agreed_index(const struct replica *r);

/* A snapshot at that index or later is taken as soon as it can be, whatever the size of
 * the log. It is forgotten when one fails (images_failed). */
void replica_want_image(struct replica *r, uint64_t index);

/* Borrowed; the state changes its address when a snapshot is installed. */
struct rlog *replica_rlog(struct replica *r);
struct state *replica_state(struct replica *r);
struct broker *replica_broker(struct replica *r);
/* Has batch number (of broker_create_queue and the like) been committed, in the present
 * leadership? ST_AGAIN not yet, ST_CLOSED the leadership ended meanwhile. */
enum status replica_batch_status(const struct replica *r,
                                 uint64_t lead_count,
                                 uint64_t batch) MUST_USE;
uint64_t replica_lead_count(const struct replica *r); /* how often it began to lead */

#endif
