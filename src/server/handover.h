/* Handover: leadership that moves on purpose.
 *
 *        begin               all of it is submitted            another node leads
 *  NONE ───────► PASSING_ON ────────────────────────► MOVING ─────────────────────►
 * NONE ▲               │ refused                           │ did not come about
 *    └───────────────┴───────────────────────────────────┘ the broker keeps what it has
 *
 * Invariant: in PASSING_ON and MOVING no event reaches the broker. What it passes on
 * (broker_pass_on()) is what it was when it was proposed, and nothing is said about it
 * after that by this leader. */
#ifndef HF_SERVER_HANDOVER_H
#define HF_SERVER_HANDOVER_H

#include "broker/broker.h"
#include "raft/rlog.h"

enum handover_step {
    HANDOVER_NONE,
    HANDOVER_PASSING_ON,
    HANDOVER_MOVING,
};

struct handover {
    enum handover_step step;
    uint64_t target; /* 0 = the best */
};

/* For a leader that serves. What rlog_transfer() says; ret_left_behind: messages of
 * durability 0 that are too many to be passed on. */
enum status handover_begin(struct handover *h,
                           struct rlog *rlog,
                           struct broker *b,
                           uint64_t target,
                           uint64_t *ret_left_behind) MUST_USE;
/* The end of a turn. is_submitted: nothing that was decided waits for the log. */
void handover_go_on(struct handover *h,
                    struct rlog *rlog,
                    struct broker *b,
                    bool is_submitted,
                    uint64_t now_ms);

#endif
