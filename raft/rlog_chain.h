/* Replicated log: the chain, which says whether two nodes applied the same.
 *
 * A digest over index, term, type and payload checksum of every entry that was applied,
 * in order. Two nodes whose chains are equal at one index applied the same up to it;
 * two that differ at one differ at every later one. The newest are kept, so that what a
 * peer says of an index that is a little behind can be compared. Core thread. */
#ifndef HF_RAFT_CHAIN_H
#define HF_RAFT_CHAIN_H

#include "raft/rlog.h"

#define RLOG_CHAINS 4096 /* indexes whose chain is kept */

/* False: the entry is not applied yet, or was too long ago. */
bool rlog_chain_at(const struct rlog *r, uint64_t index, uint64_t *ret_chain);
uint64_t rlog_applied(const struct rlog *r);

#endif
