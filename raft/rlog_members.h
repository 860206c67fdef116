/* Members of a log beyond the committed ones (rlog_get_members), and what a new node
 * is. Like raft/rlog.h: the core thread. */
#ifndef HF_RAFT_RLOG_MEMBERS_H
#define HF_RAFT_RLOG_MEMBERS_H

#include "raft/rlog.h"

/* The latest configuration, committed or not: whom to keep links to. Returns the index
 * of its entry; 0: a node that joins has none yet. */
uint64_t rlog_newest_members(const struct rlog *r, struct rlog_members *ret_members);
/* Another number whenever that is another one. */
uint64_t rlog_members_stamp(const struct rlog *r);

/* The index of the entry that holds the committed ones; 0: not yet known. */
uint64_t rlog_members_committed(const struct rlog *r);

/* The newest configuration of what was found at open, committed or not. ST_NOTFOUND:
 * there is none. */
enum status rlog_found_members(const struct rlog_disk *disk,
                               struct rlog_members *ret_members) MUST_USE;

/* Has it only what data init made: entry 1, in the first term? */
bool rlog_is_new(const struct rlog *r);
/* The cluster has more than a new node, so it may be a voter that lost its disk: from
 * now on it is gated as one that rejoins. False: it is not new any more. */
bool rlog_distrust(struct rlog *r);

#endif
