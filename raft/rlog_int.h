/* Inside the replicated log: its structure, and what its files offer each other.
 *
 *   rlog.c          open, close, time, status
 *   rlog_step.c     one event in, the update carried out in order; apply
 *   rlog_receive.c  frames to events, with the guards of the input
 *   rlog_send.c     messages to frames: the cursor of each peer
 *   rlog_submit.c   entries of our own: commands, barrier, change; hand-over
 *   rlog_store.c    marks: written, synced, stored; when to sync
 *   rlog_elect.c    timeouts and the fast election
 *   rlog_room.c     who has room, who would lead better
 *   rlog_gate.c     the restart gate
 *   rlog_snapshot.c local and incoming snapshots; rlog_offer.c: outgoing ones
 *
 * A call of the public interface notes the time, makes events, and ends in
 * rlog_settle(), which alone calls the user back (but for send_cb and fatal_cb). */
#ifndef HF_RAFT_RLOG_INT_H
#define HF_RAFT_RLOG_INT_H

#include "base/limits.h"
#include "raft/entries.h"
#include "raft/guard.h"
#include "raft/members.h"
#include "raft/rlog_chain.h"
#include "raft/rlog_disk.h"
#include "raft/rlog_state.h"

#include <raft.h>

_Static_assert(RAFT_VERSION_NUMBER == 2201, "raft-notes are about 0.22.1");

#ifndef RLOG_INFLIGHT_ENTRIES /* the simulator has less of everything */
/* Unacknowledged entries per peer in the library. */
#define RLOG_INFLIGHT_ENTRIES    128
#define RLOG_PEER_WINDOW_BYTES   (8u << 20) /* sent to a peer, not yet acknowledged */
#define RLOG_UNCOMMITTED_ENTRIES 4096       /* raft-notes 7: the scan is linear */
#define RLOG_UNCOMMITTED_BYTES   (64u << 20)
#define RLOG_APPLY_ENTRIES       4096       /* at most so many in one call */
#define RLOG_APPLY_BYTES         (1u << 20) /* a turn stays far below E */
#endif
/* Kept behind a snapshot at least: more than that, so that a peer's match is never
 * below our first entry (G4). */
#define RLOG_TRAILING_ENTRIES (2 * RLOG_INFLIGHT_ENTRIES)
#define RLOG_TRAILING_MAX     32768 /* of what fits in LIMIT_TRAILING_BYTES */
#define RLOG_SNAPSHOT_WINDOW  (4u * LIMIT_SNAPSHOT_CHUNK)
#define RLOG_PEERS_MAX        16
#define RLOG_TIMEOUT_PAUSE_MS 5 /* G8 */

struct rlog {
    struct rlog_options options;
    struct rlog_callbacks callbacks;
    struct rlog_disk *disk;
    struct raft raft;
    uint64_t now_ms;
    uint64_t clock_offset_ms; /* Raft's time is now_ms + this */
    uint64_t random;
    bool is_opening;
    bool is_started; /* raft is initialised */
    bool is_stopped;
    bool is_settling;
    enum status open_status;

    /* The log. */
    struct rlog_entries log;
    uint64_t position; /* records appended */
    uint64_t written_position;
    uint64_t synced_position;
    uint64_t asked_position; /* a sync up to here was asked for */
    uint64_t sync_at_ms;     /* background sync is due; UINT64_MAX = none */
    uint64_t stored;         /* reported to the library */
    uint64_t synced;
    uint64_t commit; /* never goes back, unlike the library's (G5) */
    uint64_t applied;
    uint64_t chain;
    uint64_t chain_from;          /* the oldest index that chains may have */
    uint64_t chains[RLOG_CHAINS]; /* of the newest indexes, at index % RLOG_CHAINS */
    struct rlog_snapshot_meta snapshot; /* index 0 = none */
    struct rlog_members members;        /* latest applied */
    uint64_t members_index;
    bool has_more_to_apply;

    /* Told by role_cb. */
    enum rlog_role told_role;
    uint64_t told_term;
    uint64_t told_leader;

    uint64_t leader_stamp_ms; /* of the leader's newest AppendEntries, sent back */
    uint64_t leader_heard_ms;
    uint64_t fired_ms; /* last TIMEOUT */
    /* The disk, as it was when it was last looked at. */
    uint64_t looked_ms;
    uint64_t ill_since_ms; /* full or slow; 0 = it is not */
    uint64_t slow_until_ms;
    uint64_t slow_ms;
    bool is_full;
    struct rlog_peer peers[RLOG_PEERS_MAX];
    struct rlog_gate gate;
    struct rlog_fast fast;
    enum rlog_handover handover;
    uint64_t handover_target;
    uint64_t handover_until_ms;

    /* Snapshots. */
    bool is_taking; /* a local one is begun */
    bool is_taking_finished;
    struct rlog_snapshot_meta taking;
    bool is_installing;
    bool is_restoring; /* installed on the disk; the user's state is not yet */
    struct raft_configuration install_configuration;
    struct rlog_incoming incoming;
    int64_t
        credit_bytes;   /* of snapshots that may be sent now; less than 0: overdrawn */
    uint64_t credit_ms; /* when it was reckoned */

    /* Scratch. */
    struct rlog_entry *in_entries;   /* RLOG_WIRE_ENTRIES_MAX */
    struct raft_entry *raft_entries; /* the same number */
    struct rlog_entry *send_entries; /* RLOG_INFLIGHT_ENTRIES */
    struct bytes head;
};

/* Where an event's entries come from, for carrying out its update. */
struct rlog_source {
    const struct raft_entry *raft_entries; /* the array that the event had */
    const struct rlog_entry *entries;      /* in the same order */
    bool is_stale;                         /* the message was of an older term (G1) */
    bool is_submit;
    uint64_t rejecting; /* the peer whose rejection this is, or 0 */
};

#include "raft/rlog_parts.h"

#endif
