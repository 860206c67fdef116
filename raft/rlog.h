/* Replicated log: the driver around the Raft library of one node, one group.
 *
 * It owns a struct raft and feeds it events; keeps the order rules and guards of the
 * library's contract; holds the newest entries in a bounded cache; and says when an
 * entry counts as stored: written (is_sync false) or written and synced (is_sync true,
 * barriers, membership changes). Entries are opaque bytes. It has no clock, socket,
 * file or thread of its own: time comes in, the disk is struct rlog_disk (the real one
 * is raft/disk.h, the simulator has another), frames to peers go out by a callback.
 *
 * One thread: the core. Callbacks run inside the calls below and must not call back
 * into the same rlog, except where said. Any error of the disk is the end: fatal_cb. */
#ifndef HF_RAFT_RLOG_H
#define HF_RAFT_RLOG_H

#include "raft/rlog_types.h"

struct rlog;
struct rlog_disk; /* raft/rlog_disk.h */

/* A frame to a peer: kind and head are ours, the payloads of entries (n may be 0)
 * follow head in order. The receiver borrows it during the call and takes references
 * for what it keeps. */
struct rlog_frame {
    uint8_t kind; /* enum rlog_frame_kind, raft/wire.h: 1..31 */
    struct slice head;
    const struct rlog_entry *entries;
    uint32_t count;
};

struct rlog_callbacks {
    /* To a peer, in order; may drop (never reorder, never shorten). */
    void (*send_cb)(void *ctx, uint64_t peer, const struct rlog_frame *frame);
    /* A committed entry, each index once, in order, also barriers and changes. On the
     * leader after it is stored by a majority. May call rlog_submit(). */
    void (*apply_cb)(void *ctx, const struct rlog_entry *entry);
    /* Role, term or known leader (0 = none) changed. Becoming leader: the log may take
     * submits from now on. May call rlog_submit(). */
    void (*role_cb)(void *ctx, enum rlog_role role, uint64_t term, uint64_t leader);
    /* The state is to be replaced by this snapshot (rlog_snapshot_read), also at
     * start-up. ST_AGAIN: later; nothing is applied until rlog_restored(). */
    enum status (*restore_cb)(void *ctx, uint64_t index, uint64_t term);
    /* The end: what failed. The caller stops the process (or the simulated node).
     * ST_CONFLICT: what was committed here contradicts the leader's log. ST_CORRUPT:
     * what the disk has is damaged. */
    void (*fatal_cb)(void *ctx, enum status why, const char *what);
    void *ctx;
};

struct rlog_options {
    uint64_t id;
    uint64_t election_ms;  /* E; default 1000 */
    uint64_t heartbeat_ms; /* default 100 */
    uint64_t sync_ms;      /* background sync of written-only entries: default 50 */
    uint64_t grace_ms;     /* restart gate: default 30000 */
    uint64_t seed;         /* for election timeouts */
    bool is_crashed;       /* the machine crashed since the last clean stop: gated */
    /* The log was set aside: gated without grace or relaxation. The log may be empty
     * although there is a term. */
    bool is_rejoining;
};

/* Starts on what disk found (raft/rlog_disk.h: term, vote, snapshot, log). Calls
 * restore_cb when there is a snapshot, with *ret_rlog set already; no other callback
 * before the first rlog_tick, which is due at once. now_ms: monotonic. On failure
 * nothing is kept and *ret_rlog is NULL. The Raft library's heap is set (to one that
 * aborts when memory is out), once in the process. */
enum status rlog_open(const struct rlog_options *options,
                      struct rlog_disk *disk,
                      const struct rlog_callbacks *callbacks,
                      uint64_t now_ms,
                      struct rlog **ret_rlog) MUST_USE;
void rlog_close(struct rlog *r); /* NULL is fine; does not close disk */

/* Time. rlog_deadline: the next time at which rlog_tick must be called (absolute ms,
 * at least now). */
void rlog_tick(struct rlog *r, uint64_t now_ms);
uint64_t rlog_deadline(const struct rlog *r);
uint64_t rlog_now_ms(const struct rlog *r); /* that the last call gave: now */

/* A frame from an authenticated peer; blob is borrowed (references are taken for
 * entries that are kept). Malformed: ST_INVALID, nothing happened, close the peer. */
enum status rlog_receive(struct rlog *r,
                         uint64_t peer,
                         uint8_t kind,
                         struct blob *frame,
                         uint64_t now_ms) MUST_USE;
/* The link to a peer came up or went down. was_refused: its address refused or reset
 * us, so its process is gone (fast election when it was the leader). */
void rlog_peer_up(struct rlog *r, uint64_t peer, uint64_t now_ms);
void rlog_peer_down(struct rlog *r, uint64_t peer, bool was_refused, uint64_t now_ms);

/* Leader: appends one command entry (takes the reference of payload, also on failure).
 * ret_index: its index. ST_NOTLEADER: not leader, or handing over. ST_AGAIN: the window
 * of uncommitted entries is full; try after the next commit. */
enum status rlog_submit(struct rlog *r,
                        struct blob *payload,
                        bool is_sync,
                        uint64_t *ret_index) MUST_USE;

/* Disk completions, from the disk implementation, on the core thread: everything up to
 * stream position is written / synced (raft/rlog_disk.h explains positions). */
void rlog_on_written(struct rlog *r, uint64_t position, uint64_t now_ms);
void rlog_on_synced(struct rlog *r, uint64_t position, uint64_t now_ms);

/* Leader: asks all members for an answer now. status.majority_heard_ms >= now_ms says
 * that a majority still followed this leader after this call. */
void rlog_round(struct rlog *r, uint64_t now_ms);
/* Leader: proposes new members, which may differ from the present ones by one voter, or
 * in stand-bys. ST_AGAIN: nothing of this term is committed yet, or a change is under
 * way. ST_INVALID: not a legal step. */
enum status rlog_change_members(struct rlog *r,
                                const struct rlog_members *members,
                                uint64_t *ret_index) MUST_USE;

/* Leader: hand over to target (0 = the best). Blocks submits (ST_NOTLEADER) until it is
 * done or one election timeout has passed. ST_NOTFOUND: no such voter is up. */
enum status rlog_transfer(struct rlog *r, uint64_t target, uint64_t now_ms) MUST_USE;
/* What it would say now: ST_OK, ST_NOTLEADER, ST_AGAIN (one is under way) or
 * ST_NOTFOUND. */
enum status rlog_can_transfer(struct rlog *r, uint64_t target) MUST_USE;

/* Local snapshots. The user takes an image of its state at exactly the last applied
 * entry: begin gives the index; write pieces (takes the blob); finish or cancel. Only
 * one at a time; ST_AGAIN while one is installed, another runs, or the last applied
 * entry is not stored here yet; ST_EXISTS: there is one at this index. The log is
 * trimmed when the disk says that it is durable. */
bool rlog_snapshot_is_running(const struct rlog *r); /* begun, not yet stored or gone */
enum status rlog_snapshot_begin(struct rlog *r, uint64_t *ret_index) MUST_USE;
void rlog_snapshot_write(struct rlog *r, struct blob *piece);
void rlog_snapshot_finish(struct rlog *r);
void rlog_snapshot_cancel(struct rlog *r);
/* How many piece bytes wait for the disk: the user paces itself by it. */
uint64_t rlog_snapshot_backlog_bytes(const struct rlog *r);
uint64_t rlog_log_bytes(const struct rlog *r); /* since it, with the records' heads */
/* What restore_cb was asked for is done, or has failed. */
void rlog_restored(struct rlog *r, enum status st, uint64_t now_ms);
uint64_t rlog_snapshot_bytes(const struct rlog *r); /* the size of the image */
/* From restore_cb on: at most max bytes of it at offset; size 0: the end. */
enum status rlog_snapshot_read(struct rlog *r,
                               uint64_t offset,
                               size_t max,
                               struct blob **ret_piece) MUST_USE;

void rlog_get_status(const struct rlog *r, struct rlog_status *ret_status);
/* The latest committed configuration. */
void rlog_get_members(const struct rlog *r, struct rlog_members *ret_members);

#endif
