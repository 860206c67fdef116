/* Agreement: whether this node has applied the same entries as its peers.
 *
 * Each node tells the others, once a second and when they connect, the chain of its log
 * (raft/rlog_chain.h) at what it applied last, and how far it knows that a majority of
 * the voters has the same. Whoever has applied that index compares. The states cannot
 * be compared so: what a state is worth as a digest takes a walk through all of it.
 *
 * Nothing of this can happen while Raft, the disks and the memory work: a difference is
 * an error in one of them, and it never ends by itself. Who is wrong, the majority
 * says, be it the leader:
 *
 *   a peer differs at d, and a majority agrees with that peer up to d or further:
 *       this node is OUTVOTED; what it has goes, and all comes from the others
 *   the leader differs for AGREEMENT_UNCLEAR_MS, and nobody has such a majority:
 *       UNCLEAR; a follower ends, and an operator decides
 *   anything else: it goes on, and says so
 *
 * A frame of kind AGREEMENT_FRAME, to peers whose hello says that they take it:
 *
 *   offset size
 *   0      1    version, 1
 *   1      7    zero
 *   8      8    index that the sender applied last, below 2^62
 *   16     8    its chain there
 *   24     8    up to which a majority of the voters has the sender's chain; 0: none
 *
 * Pure; core thread. */
#ifndef HF_SERVER_AGREEMENT_H
#define HF_SERVER_AGREEMENT_H

#include "base/bytes.h"
#include "base/status.h"
#include "raft/rlog.h"

#define AGREEMENT_FRAME       68 /* one of the cluster's user kinds; 67: known logins */
#define AGREEMENT_FRAME_BYTES 32
#define AGREEMENT_EVERY_MS    1000
#define AGREEMENT_UNCLEAR_MS  10000

enum agreement_verdict {
    AGREEMENT_GOES_ON,
    AGREEMENT_OUTVOTED,
    AGREEMENT_UNCLEAR,
};

struct agreement_peer {
    uint64_t id;
    uint64_t index; /* what it said last and could not be compared yet; 0: nothing */
    uint64_t chain;
    uint64_t same_index;     /* the highest at which it had the same; 0: none */
    uint64_t differs_index;  /* the first one found at which it had not; 0: none */
    uint64_t differs_at_ms;  /* when that was found */
    uint64_t majority_index; /* as it says */
    bool is_unsaid;          /* the log was not told of it yet */
};

struct agreement {
    struct agreement_peer peers[RLOG_MEMBERS_MAX];
    uint32_t count;
    uint64_t sent_ms; /* when the peers were told last */
    uint64_t differences_total;
};

void agreement_up(struct agreement *a, uint64_t peer);
void agreement_down(struct agreement *a, uint64_t peer);
/* A frame's body; ST_INVALID: not one of ours. */
enum status
agreement_hear(struct agreement *a, uint64_t peer, struct slice body) MUST_USE;
void agreement_put(const struct agreement *a,
                   const struct rlog *log,
                   uint8_t out[AGREEMENT_FRAME_BYTES]);
/* Compares what can be compared by now. */
void agreement_compare(struct agreement *a, const struct rlog *log, uint64_t now_ms);
/* A peer whose difference is new, once each; false: none. */
bool agreement_take_news(struct agreement *a, struct agreement_peer *ret_peer);
enum agreement_verdict
agreement_verdict(const struct agreement *a, const struct rlog *log, uint64_t now_ms);
/* Up to which a majority of the voters has this node's chain; 0: none is known to. */
uint64_t agreement_majority_index(const struct agreement *a, const struct rlog *log);

#endif
