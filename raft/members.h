/* Members: the payload of a membership entry, and the Raft library's own structure.
 *
 * The bytes are the Raft library's encoding of a configuration (format 1), because the
 * library reads it from the entry. Our decoder is strict and comes first: the library's
 * reads past the end of what is malformed (raft-notes 5.2). Pure. */
#ifndef HF_RAFT_MEMBERS_H
#define HF_RAFT_MEMBERS_H

#include "raft/rlog.h"

#include <raft.h>

/* 1 to RLOG_MEMBERS_MAX members, ids not 0 and ascending, addresses not empty and
 * distinct; else ST_INVALID. */
enum status rlog_members_check(const struct rlog_members *m) MUST_USE;
void rlog_members_sort(struct rlog_members *m);
/* Appends the encoding. m must be right (asserted). */
void rlog_members_encode(const struct rlog_members *m, struct bytes *out);
/* Exactly one encoding; ST_INVALID for anything else. */
enum status rlog_members_decode(struct slice s,
                                struct rlog_members *ret_members) MUST_USE;
/* NULL when it is not there. */
const struct rlog_member *rlog_members_find(const struct rlog_members *m, uint64_t id);
uint32_t rlog_members_voters(const struct rlog_members *m); /* how many vote */
bool rlog_members_is_sole_voter(const struct rlog_members *m, uint64_t id);
/* Are the others a majority of the voters without that one? */
bool rlog_members_can_spare(const struct rlog_members *m, uint64_t id);
bool rlog_members_equal(const struct rlog_members *a, const struct rlog_members *b);

/* For the library; to be closed with raft_configuration_close() or given away. */
void rlog_members_to_raft(const struct rlog_members *m,
                          struct raft_configuration *ret_configuration);

#endif
