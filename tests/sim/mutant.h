/* Mutants: faults built in on purpose, to show that the checker notices. Each breaks
 * one rule of the log (raft/guard.h has the switches), of the modelled disk, or of the
 * queue (mutant_wrap.c stands between the parts of the queue and changes what passes).
 */
#ifndef HF_SIM_MUTANT_H
#define HF_SIM_MUTANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is broken where the switches of the log do not reach. */
enum broken {
    BROKEN_NOTHING,
    BROKEN_SYNC,   /* disk: says synced when it has only written */
    BROKEN_VOTE,   /* disk: term and vote reach it late */
    BROKEN_R9,     /* disk: a log that does not join the snapshot is kept */
    BROKEN_R10,    /* disk: a sync that failed is passed over, what it lost is lost */
    BROKEN_TORN,   /* disk: a torn record is taken for whole */
    BROKEN_FROZEN, /* node: a leader that was stopped speaks at once */
    BROKEN_REJOIN, /* node: data that was set aside makes no strict gate */
    BROKEN_CHAIN,  /* node: the nodes alone may notice that their chains differ */
    BROKEN_FLAG,   /* broker: entries say written where they need synced */
    BROKEN_EARLY,  /* broker: replies leave before what they rest on is committed */
    BROKEN_READ,   /* broker: what an administrator reads rests on nothing */
    BROKEN_CLOCK,  /* broker: cluster time follows a jump of the wall clock */
    BROKEN_UNDO,   /* queue: changes of sessions are not taken back */
    BROKEN_TWICE,  /* queue: one record of an entry is applied twice */
    BROKEN_HOLD,   /* queue: a hold is dropped at failover */
    BROKEN_FLOOR,  /* queue: the epoch's floor for ids is ignored */
    BROKEN_EPOCH,  /* queue: the epoch saves no sessions */
    BROKEN_DELAY,  /* queue: a delay ends 300 ms early */
    BROKEN_NACK,   /* queue: what is nacked is not put into the DLQ */
    BROKEN_END,    /* queue: what an ended session held is gone, but for the first */
    BROKEN_IMAGE,  /* queue: an image lacks one message */
    BROKEN_BODY,   /* queue: an image has one wrong byte in a body */
};

struct mutant {
    const char *name;
    const char *what;
    uint64_t guards; /* 1 << enum rlog_guard: switched off */
    enum broken broken;
    /* For what is too rare at random: a directed plan, for all seeds of the world. */
    const char *plan;
    bool needs_members; /* only seeds where nodes come and go can show it */
    bool needs_chaos;   /* only MODE_CHAOS */
};

size_t mutant_count(void);
const struct mutant *mutant_at(size_t i);
const struct mutant *mutant_find(const char *name); /* or NULL */
/* Once, before the run; NULL: nothing is broken. */
void mutant_set(const struct mutant *mutant);
bool mutant_breaks(enum broken what);

#endif
