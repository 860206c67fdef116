/* Scenarios for the guards: each says whether the rule was kept. The test runs it with
 * the rule, and once more without it in a child, where it must show. */
#ifndef HF_TESTS_RAFT_SCENARIO_H
#define HF_TESTS_RAFT_SCENARIO_H

#include "tests/unit/raft/rig.h"

typedef bool scenario_cb(void);

/* True with the rule; false, or the end of the process, without it. */
void scenario_check(scenario_cb *scenario, enum rlog_guard guard);

/* One node of three; the others are made of hand-made frames. What it sends is kept. */
struct lone {
    struct rig *rig;
    struct rig_node *n;
    struct blob *sent[32]; /* newest of each kind (entries: to node 2) */
    unsigned sent_count[32];
    uint32_t entry_bytes; /* of the commands in lone_append() */
};

void lone_start(struct lone *l);
void lone_end(struct lone *l);
/* A follower of node 2 in term, with entries up to last (all of term, written). */
void lone_follow(struct lone *l, uint64_t term, uint64_t last);
/* AppendEntries from peer: count commands (or, at change_at, a change) behind prev. */
void lone_append(struct lone *l,
                 uint64_t peer,
                 uint64_t term,
                 uint64_t prev,
                 uint64_t prev_term,
                 uint32_t count,
                 uint64_t commit,
                 uint64_t change_at);
void lone_result(
    struct lone *l, uint64_t peer, uint64_t term, uint64_t rejected, uint64_t last);
/* Makes it leader with the votes of node 2; its term. */
uint64_t lone_lead(struct lone *l);

#endif
