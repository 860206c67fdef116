/* Switches that take single rules out, to prove that the tests and the simulator
 * notice. They exist only in builds with -DHF_TEST_GUARDS; elsewhere every rule is
 * always kept and this file is nothing but names.
 *
 * R1..R10 are the ordering rules of raft-notes section 3, G1..G12 the guards of section
 * 5.1; the comment with that name stands where the rule is kept. */
#ifndef HF_RAFT_GUARD_H
#define HF_RAFT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

enum rlog_guard {
    RLOG_GUARD_G1,         /* results to older terms are made harmless */
    RLOG_GUARD_G2,         /* own barrier at the start of a term; no change before it */
    RLOG_GUARD_G3,         /* a received change comes first in its message */
    RLOG_GUARD_G4,         /* rejections below the match index are not passed on */
    RLOG_GUARD_G5,         /* the commit index does not move back; no cut below it */
    RLOG_GUARD_G6,         /* no entries from below the first one of our log */
    RLOG_GUARD_G8,         /* a timeout in the past does not spin */
    RLOG_GUARD_G9,         /* a change is submitted alone */
    RLOG_GUARD_G10,        /* a pre-vote refusal carries our term */
    RLOG_GUARD_G11,        /* vote results only to a candidate */
    RLOG_GUARD_G12,        /* one snapshot transfer to a peer at a time */
    RLOG_GUARD_R1,         /* vote not synced: mutant */
    RLOG_GUARD_R2,         /* ack before write: mutant */
    RLOG_GUARD_R3,         /* ack before sync: mutant */
    RLOG_GUARD_R4,         /* completions of replaced entries count: mutant */
    RLOG_GUARD_R5,         /* messages bound late: mutant */
    RLOG_GUARD_R6,         /* a message that is too long is cut short: mutant */
    RLOG_GUARD_R7,         /* apply before commit: mutant */
    RLOG_GUARD_R8,         /* a local snapshot overtaken by an install is fed: mutant */
    RLOG_GUARD_GATE,       /* no restart gate */
    RLOG_GUARD_GATE_TERM,  /* any leader's commit opens the gate */
    RLOG_GUARD_GATE_BUMP,  /* no term+1 after a machine crash */
    RLOG_GUARD_GATE_RELAX, /* a gated node never votes, whatever it has seen */
    RLOG_GUARD_GATE_STRICT, /* a rejoining node has grace and relaxation: mutant */
    RLOG_GUARD_LOST_TAIL,   /* a leader does not notice that a peer lost its tail */
    RLOG_GUARD_AHEAD,       /* nor a node that its snapshot is ahead of the leader */
    RLOG_GUARD_CHAIN,       /* a node's chain takes in what was not applied: mutant */
    RLOG_GUARD_EPOCH,       /* src/server/replica.c: waits for an entry of its term */
    RLOG_GUARD_STAND_BY,    /* a node without a vote by its own log does not vote */
    RLOG_GUARD_DEMOTED,     /* who loses its vote may be the only one that knows */
    RLOG_GUARD_COUNT,
};

#ifdef HF_TEST_GUARDS
/* A mask of 1 << enum rlog_guard: these rules are not kept from now on, in the whole
 * process. Tests only. */
void rlog_test_switch_off(uint64_t mask);
bool rlog_guard_is_on(enum rlog_guard guard);
#else
static inline bool
rlog_guard_is_on(enum rlog_guard guard)
{
    (void)guard;
    return true;
}
#endif

#endif
