/* Replicated log: which members have room on their disks, and who would lead better.
 *
 * Every answer of a follower says whether its disk is full or slow. The leader looks at
 * its own disk at each call. Core thread. */
#ifndef HF_RAFT_ROOM_H
#define HF_RAFT_ROOM_H

#include "raft/rlog.h"

/* Leader: may the log grow? False when a voter is known to be full and those that are
 * connected and not full are no majority: then only what makes room should be
 * submitted. */
bool rlog_has_room(const struct rlog *r);

/* This node's own disk is full. */
bool rlog_is_full(const struct rlog *r);

/* Bytes of the entries that are kept, behind the snapshot too. */
uint64_t rlog_kept_bytes(const struct rlog *r);

/* How long it was at one write or sync when that was a second or more, lately; else 0.
 */
uint64_t rlog_slow_ms(const struct rlog *r);

/* Leader: its own disk is full or slow; a connected voter whose disk is neither and who
 * has all that is committed. 0: no reason to move, or nobody better: equals stay. */
uint64_t rlog_better_leader(const struct rlog *r);

#endif
