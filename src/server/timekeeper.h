/* Timekeeper: what this node knows of the time.
 *
 * Two clocks: the wall, which is the middle one of the connected members' clocks, so
 * that one that is wrong moves nothing; and cluster time (docs/decisions.md 20), which
 * the leader tells and which goes on here by the monotonic clock. The time of a newer
 * term replaces that of an older one, also when another follower tells it.
 *
 * A frame of kind TIMEKEEPER_FRAME, to each peer once a second and when it connects:
 *
 *   offset size
 *   0      1    version, 1
 *   1      1    1: the sender leads, else 0
 *   2      6    zero
 *   8      8    the sender's wall clock, UNIX time in ms
 *   16     8    cluster time in ms; 0: the sender does not know it
 *   24     8    term of the leader whose time that is
 *
 * What a node reads after it was stopped for a while may have waited as long: the wall
 * clock in it is late, and with it the middle. For how much is the doubt, until the
 * next frame of that peer.
 *
 * Times of peers are below 2^48. Pure; core thread. */
#ifndef HF_SERVER_TIMEKEEPER_H
#define HF_SERVER_TIMEKEEPER_H

#include "base/bytes.h"
#include "base/status.h"
#include "raft/rlog_types.h"

#define TIMEKEEPER_FRAME       66 /* one of the cluster's user kinds; 64, 65: control */
#define TIMEKEEPER_FRAME_BYTES 32
#define TIMEKEEPER_EVERY_MS    1000
#define TIMEKEEPER_GAP_MS      150 /* a running node does something more often */
#define TIMEKEEPER_BACKLOG_MS  500 /* so long after a gap, old frames may be read */
/* state->behind_secs of this or more says nothing of how much. */
#define TIMEKEEPER_BEHIND_MOST 0xffff

struct timekeeper {
    struct {
        uint64_t id;
        uint64_t wall_ms; /* 0: not heard yet */
        uint64_t at_ms;   /* monotonic: when it was */
        uint64_t doubt_ms;
    } peers[RLOG_MEMBERS_MAX];
    uint32_t count;
    uint64_t seen_ms;      /* monotonic: when this node did something last */
    uint64_t gap_ms;       /* for how long it had not, the last time */
    uint64_t gap_ended_ms; /* and when it did again; 0: never */
    uint64_t known_ms;     /* cluster time, 0: not known */
    uint64_t known_at_ms;  /* monotonic: when it was that */
    uint64_t known_term;   /* of the leader whose time it is */
    bool is_sure;          /* by that leader's word, not only by other followers' */
    uint64_t log_term; /* newest term of another leader that an entry was applied of */
    uint64_t sent_ms;  /* monotonic: when the peers were told last */
};

void timekeeper_up(struct timekeeper *t, uint64_t peer);
void timekeeper_down(struct timekeeper *t, uint64_t peer);
/* This node runs: at each turn, and before what comes in is heard. */
void timekeeper_seen(struct timekeeper *t, uint64_t now_ms);
/* A frame's body; ST_INVALID: not one of ours. */
enum status timekeeper_hear(struct timekeeper *t,
                            uint64_t peer,
                            struct slice body,
                            uint64_t now_ms) MUST_USE;
void timekeeper_put(uint8_t out[TIMEKEEPER_FRAME_BYTES],
                    uint64_t wall_ms,
                    uint64_t cluster_ms,
                    uint64_t term,
                    bool is_leading);
/* Cluster time is cluster_ms now: the word of this node as the leader of term. */
void timekeeper_note(struct timekeeper *t,
                     uint64_t term,
                     uint64_t cluster_ms,
                     uint64_t now_ms);
/* The middle of own_ms and what is known of the peers; of an even number the lower:
 * late rather than early. */
uint64_t
timekeeper_wall_ms(const struct timekeeper *t, uint64_t own_ms, uint64_t now_ms);
/* By how much the wall may be late. */
uint64_t timekeeper_doubt_ms(const struct timekeeper *t);
/* An entry of that term's leader, another node, was applied. */
void timekeeper_applied(struct timekeeper *t, uint64_t term);
/* Cluster time for a new leader, never less than stamp_ms, the log's last stamp: what
 * is known, and if nothing is, by the wall clocks, less the behind_secs that cluster
 * time was behind them when that stamp was made (so that a delay that began while it
 * was behind does not end early). What is known of an older term than the log's is not
 * trusted to be later than that. No stamp: the wall. */
uint64_t timekeeper_cluster_ms(const struct timekeeper *t,
                               uint64_t stamp_ms,
                               uint16_t behind_secs,
                               uint64_t wall_ms,
                               uint64_t now_ms);

#endif
