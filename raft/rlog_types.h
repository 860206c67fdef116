/* Plain types of the replicated log: entries, members, status. */
#ifndef HF_RAFT_RLOG_TYPES_H
#define HF_RAFT_RLOG_TYPES_H

#include "base/blob.h"

enum rlog_type {
    RLOG_COMMAND = 1, /* the payload is the user's */
    RLOG_BARRIER = 2, /* empty: a leader's first entry */
    RLOG_CHANGE = 3,  /* membership */
};

/* An entry and where its payload is: [offset, offset + size) of blob. Whoever keeps one
 * holds a reference of blob. */
struct rlog_entry {
    uint64_t index;
    uint64_t term;
    enum rlog_type type;
    bool is_sync;
    uint32_t crc;      /* CRC-32C of the payload */
    struct blob *blob; /* NULL when size is 0 */
    uint32_t offset;
    uint32_t size;
};

static inline struct slice
rlog_payload(const struct rlog_entry *e)
{
    return e->size == 0 ? slice_of("", 0)
                        : slice_of(e->blob->data + e->offset, e->size);
}

enum rlog_role {
    RLOG_FOLLOWER,
    RLOG_CANDIDATE,
    RLOG_LEADER,
    RLOG_STOPPED, /* after fatal_cb */
};

#define RLOG_MEMBERS_MAX 9
struct rlog_member {
    uint64_t id;
    bool is_voter;
    char address[128]; /* host:port of its cluster listener */
};

struct rlog_members {
    uint32_t count;
    struct rlog_member members[RLOG_MEMBERS_MAX];
};

/* How a disk does. */
struct rlog_disk_health {
    bool is_full; /* what is written comes out of a reserve, or soon will, or waits */
    /* How long the longest write or sync has taken that ended since the last look, or
     * that still runs. */
    uint64_t busy_ms;
};

struct rlog_peer_status {
    uint64_t id;
    bool is_voter;
    bool is_connected;
    bool is_full; /* leader: of its disk, as it says */
    bool is_slow;
    bool is_gated;        /* or it has not said yet that it is not */
    uint64_t match_index; /* leader: what it is known to have stored */
    uint64_t
        last_heard_ms; /* leader: when the newest round that it answered was sent */
};

struct rlog_status {
    enum rlog_role role;
    uint64_t id;
    uint64_t term;
    uint64_t leader; /* 0 = none known */
    uint64_t first_index;
    uint64_t last_index;
    uint64_t stored_index;
    uint64_t commit_index;
    uint64_t applied_index;
    uint64_t snapshot_index;
    uint64_t chain; /* digest over (index, term, payload crc) up to applied_index */
    bool is_gated;
    bool is_rejoining; /* gated, and without grace or relaxation */
    bool is_transferring;
    bool is_full;  /* its disk */
    bool is_slow;  /* so is, or was a while ago */
    bool has_room; /* leader: rlog_has_room() */
    /* Leader: when the newest round was sent that a majority (with itself) answered;
     * far ahead of any time when it is one alone. */
    uint64_t majority_heard_ms;
    uint32_t peer_count;
    struct rlog_peer_status peers[RLOG_MEMBERS_MAX];
};

/* "follower", "candidate", "leader", "stopped". */
const char *rlog_role_name(enum rlog_role role);
/* Entries that the peer is not known to have stored; 0 unless s is a leader's. */
uint64_t rlog_peer_lag(const struct rlog_status *s, const struct rlog_peer_status *p);

#endif
