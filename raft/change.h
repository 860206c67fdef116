/* Change: the next step of a change of members (raft-notes 4 and 8).
 *
 * A node comes in as a stand-by, gets everything, and is made a voter only then; one
 * that is up loses its vote before it goes, so that it knows; and no step is taken from
 * which fewer than a majority of voters would be there that are up and have the present
 * members. What is wanted is asked again and again until it is done: the steps follow
 * from what is so, and nothing has to be remembered. Pure. */
#ifndef HF_RAFT_CHANGE_H
#define HF_RAFT_CHANGE_H

#include "raft/rlog.h"

#define RLOG_CHANGE_NEAR                                                               \
    256 /* entries: so near to the end a stand-by has caught up                        \
         */

enum rlog_change_wish {
    RLOG_WISH_STANDBY, /* a member without a vote, or with the one it has */
    RLOG_WISH_VOTER,
    RLOG_WISH_GONE,
};

enum rlog_change_state {
    RLOG_CHANGE_DONE,
    RLOG_CHANGE_STEP,       /* *ret_next is to be proposed */
    RLOG_CHANGE_BUSY,       /* the step before is not with all of them yet */
    RLOG_CHANGE_APART,      /* the node is not connected */
    RLOG_CHANGE_CATCHING,   /* it does not have nearly everything yet */
    RLOG_CHANGE_TOO_FEW,    /* too few of the voters that would be are up */
    RLOG_CHANGE_LEADS,      /* it leads: hand over first */
    RLOG_CHANGE_IMPOSSIBLE, /* no place, an address that another has, the last voter */
};

struct rlog_change {
    enum rlog_change_wish wish;
    uint64_t id;
    const char *address; /* NULL: that of the member; not for RLOG_WISH_GONE */
};

/* leader: the status of the one that leads. now: its newest members, of the entry with
 * index now_index. */
enum rlog_change_state rlog_change_next(const struct rlog_status *leader,
                                        const struct rlog_members *now,
                                        uint64_t now_index,
                                        const struct rlog_change *change,
                                        struct rlog_members *ret_next) MUST_USE;
const char *rlog_change_name(enum rlog_change_state state);

#endif
