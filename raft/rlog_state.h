/* Parts of the replicated log's state: peers, transfers, the gate, the fast election.
 */
#ifndef HF_RAFT_RLOG_STATE_H
#define HF_RAFT_RLOG_STATE_H

#include "raft/wire.h"

/* A snapshot on its way to a peer. */
struct rlog_outgoing {
    bool is_active;
    bool is_answered; /* the peer said from where on */
    uint64_t term;    /* ours when it began */
    struct rlog_snapshot_meta meta;
    uint64_t next;  /* offset of the next chunk to send */
    uint64_t acked; /* the peer has written up to here */
    uint64_t progress_ms;
    uint64_t offered_ms;
};

struct rlog_peer {
    uint64_t id; /* 0: the row is free */
    bool is_connected;
    /* Leader: entries up to sent were given to the transport, up to want the library
     * believes so; acked is what the peer confirmed. */
    uint64_t sent;
    uint64_t want;
    uint64_t acked;
    bool has_told; /* in this term of ours, about its disk: */
    bool is_full;
    bool is_slow;
    bool must_rewind; /* what was sent may be lost: start where the library says */
    uint64_t sent_ms; /* last AppendEntries frame */
    uint64_t progress_ms;
    uint64_t commit_sent;
    uint64_t heard_ms; /* when the newest AppendEntries was sent that it answered */
    /* Gate. */
    bool has_position; /* since our start */
    bool is_open;      /* on this link it said that its gate is */
    struct rlog_position position;
    struct rlog_outgoing out;
};

struct rlog_incoming {
    bool is_active;
    bool is_finishing;
    uint64_t peer;
    uint64_t term;
    struct rlog_snapshot_meta meta;
    uint64_t received; /* given to the disk */
    uint64_t written;
};

struct rlog_gate {
    bool is_closed;
    bool is_strict;  /* only a leader's own-term commit opens it */
    uint64_t target; /* opens when committed and synced up to here; 0 = not known */
    uint64_t deadline_ms; /* grace; UINT64_MAX = none */
    uint64_t heard_ms;    /* of a leader */
    uint64_t told_ms;
    uint64_t told_index; /* what the peers know of us */
    uint64_t told_term;
};

struct rlog_fast {
    uint64_t until_ms; /* 0: not under way */
    uint64_t next_ms;
    uint32_t tries_left;
    uint64_t term;   /* when it began */
    uint64_t leader; /* that is gone */
};

enum rlog_handover {
    RLOG_HANDOVER_NONE,
    RLOG_HANDOVER_DRAINING, /* no submits until the target has everything */
    RLOG_HANDOVER_SENT,     /* TimeoutNow is on its way */
};

#endif
