/* Handover: see the header. */
#include "server/handover.h"

#include <assert.h>

enum status
handover_begin(struct handover *h,
               struct rlog *rlog,
               struct broker *b,
               uint64_t target,
               uint64_t *ret_left_behind)
{
    if (h->step != HANDOVER_NONE)
        return ST_AGAIN;
    enum status st = rlog_can_transfer(rlog, target);
    if (st != ST_OK)
        return st;
    h->step = HANDOVER_PASSING_ON;
    h->target = target;
    *ret_left_behind = broker_pass_on(b);
    return ST_OK;
}

static void
stay(struct handover *h, struct broker *b)
{
    h->step = HANDOVER_NONE;
    broker_keep(b);
}

void
handover_go_on(struct handover *h,
               struct rlog *rlog,
               struct broker *b,
               bool is_submitted,
               uint64_t now_ms)
{
    struct rlog_status status;
    assert(broker_is_leading(b));
    if (h->step == HANDOVER_PASSING_ON && is_submitted) {
        if (rlog_transfer(rlog, h->target, now_ms) == ST_OK)
            h->step = HANDOVER_MOVING;
        else
            stay(h, b);
        return;
    }
    if (h->step != HANDOVER_MOVING)
        return;
    rlog_get_status(rlog, &status);
    if (!status.is_transferring)
        stay(h, b);
}
