/* The mutants: see the header. */
#include "mutant.h"

#include "raft/guard.h"

#include <string.h>

#define GUARD(name) (UINT64_C(1) << RLOG_GUARD_##name)

static const struct mutant mutants[] = {
    /* The ordering rules of the log (raft-notes 3). R5 and R6 are not here: what waits
     * is only a range of indexes of a log that a leader does not change, and what was
     * left out is refused and sent again, so that breaking them costs time alone;
     * tests/unit/raft/test_rules.c has a directed test for each. */
    {.name = "r1", .what = "term and vote are not written", .guards = GUARD(R1)},
    {.name = "vote",
     .what = "term and vote reach the disk late",
     .broken = BROKEN_VOTE},
    {.name = "r2", .what = "an entry counts before it is written", .guards = GUARD(R2)},
    {.name = "r3", .what = "an entry counts before it is synced", .guards = GUARD(R3)},
    {.name = "r4",
     .what = "completions of replaced entries count",
     .guards = GUARD(R4)},
    {.name = "r7",
     .what = "entries are applied before the commit",
     .guards = GUARD(R7)},
    {.name = "r8",
     .what = "a snapshot that an install overtook is fed",
     .guards = GUARD(R8)},
    {.name = "r9",
     .what = "a log that does not join its snapshot is kept",
     .broken = BROKEN_R9},
    {.name = "r10", .what = "a sync that failed is passed over", .broken = BROKEN_R10},
    /* The guards against the library's defects (5.1). Not here: G5, where the library
     * itself notices nearly always; and G8 (it spins), G11 (it reads a union's other
     * member) and G12 (it sends too much), of which nothing can be seen in a whole
     * cluster. tests/unit/raft/test_guards.c has a directed test for each. */
    {.name = "g1", .what = "answers to older terms as they are", .guards = GUARD(G1)},
    {.name = "g2",
     .what = "no barrier of a leader's own; changes before it",
     .guards = GUARD(G2)},
    {.name = "g3",
     .what = "a change in the middle of a message",
     .guards = GUARD(G3),
     .needs_members = true},
    {.name = "g4", .what = "rejections below the match index", .guards = GUARD(G4)},
    {.name = "g6",
     .what = "entries from below the log",
     .guards = GUARD(G6),
     .plan = "900 twice - 4000 1000, 1000 grow -",
     .needs_members = true},
    {.name = "g9",
     .what = "a change is submitted with others",
     .guards = GUARD(G9),
     .needs_members = true},
    {.name = "g10",
     .what = "a pre-vote refusal echoes the candidate's term",
     .guards = GUARD(G10),
     .plan = "1500 mark leader, 1500 isolate m0 3000, 1500/elected mute it 500, "
             "1500/elected*2 mute it 15000, 1500/elected*2 kill it 15000"},
    /* The restart gate (6). */
    {.name = "gate", .what = "no restart gate", .guards = GUARD(GATE)},
    {.name = "term",
     .what = "the commit of any term opens the gate",
     .guards = GUARD(GATE_TERM)},
    {.name = "bump",
     .what = "no higher term after a machine crash, and nobody notices",
     .guards = GUARD(GATE_BUMP) | GUARD(LOST_TAIL)},
    {.name = "relax",
     .what = "a gated node never votes, whatever it has seen",
     .guards = GUARD(GATE_RELAX),
     .needs_chaos = true},
    {.name = "strict",
     .what = "a node whose data was set aside has grace and relaxation",
     .guards = GUARD(GATE_STRICT)},
    {.name = "ahead",
     .what = "a snapshot ahead of the leader's log is no conflict",
     .guards = GUARD(AHEAD),
     .needs_chaos = true},
    {.name = "rejoin",
     .what = "a node whose data was set aside is not gated",
     .broken = BROKEN_REJOIN},
    {.name = "chain",
     .what = "a node has applied something else than the others",
     .guards = GUARD(CHAIN),
     .broken = BROKEN_CHAIN},
    /* The disk. */
    {.name = "sync",
     .what = "synced is said when it is written",
     .broken = BROKEN_SYNC},
    /* The node. */
    {.name = "frozen",
     .what = "a leader that was stopped speaks at once",
     .broken = BROKEN_FROZEN},
    {.name = "epoch",
     .what = "a leader does not wait for an entry of its term",
     .guards = GUARD(EPOCH)},
    /* The queue. */
    {.name = "flag",
     .what = "entries of durability 2 are not synced",
     .broken = BROKEN_FLAG},
    {.name = "early",
     .what = "replies leave before the commit",
     .broken = BROKEN_EARLY},
    {.name = "read",
     .what = "an administrator's read rests on nothing",
     .broken = BROKEN_READ},
    {.name = "clock",
     .what = "cluster time follows a jump of the wall clock",
     .broken = BROKEN_CLOCK},
    {.name = "undo",
     .what = "changes of sessions are not taken back",
     .broken = BROKEN_UNDO},
    {.name = "twice", .what = "a record is applied twice", .broken = BROKEN_TWICE},
    {.name = "hold", .what = "a hold is dropped at failover", .broken = BROKEN_HOLD},
    {.name = "floor",
     .what = "ids of a new leader begin where the clock is",
     .broken = BROKEN_FLOOR},
    {.name = "save", .what = "an epoch saves no sessions", .broken = BROKEN_EPOCH},
    {.name = "delay", .what = "a delay ends 300 ms early", .broken = BROKEN_DELAY},
    {.name = "nack", .what = "what is nacked is gone", .broken = BROKEN_NACK},
    {.name = "end",
     .what = "the first message of a session that ends is gone",
     .broken = BROKEN_END},
    {.name = "image", .what = "a snapshot lacks one message", .broken = BROKEN_IMAGE},
    {.name = "body",
     .what = "a snapshot has a wrong byte in a body",
     .broken = BROKEN_BODY},
};

static enum broken broken; /* a process runs one world */

size_t
mutant_count(void)
{
    return sizeof mutants / sizeof mutants[0];
}

const struct mutant *
mutant_at(size_t i)
{
    return &mutants[i];
}

const struct mutant *
mutant_find(const char *name)
{
    for (size_t i = 0; i < mutant_count(); i++)
        if (strcmp(mutants[i].name, name) == 0)
            return &mutants[i];
    return NULL;
}

void
mutant_set(const struct mutant *mutant)
{
    broken = mutant == NULL ? BROKEN_NOTHING : mutant->broken;
    rlog_test_switch_off(mutant == NULL ? 0 : mutant->guards);
}

bool
mutant_breaks(enum broken what)
{
    return broken == what;
}
