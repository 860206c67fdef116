/* Pulse: see pulse.h. */
#include "cluster/pulse.h"

#define FROZEN_MS 3000 /* no tick for so long: we stood still ourselves */

void
pulse_init(struct pulse *p, bool is_dialler, uint64_t now_ms)
{
    *p = (struct pulse){.heard_ms = now_ms,
                        .called_ms = now_ms,
                        .ticked_ms = now_ms,
                        .is_dialler = is_dialler};
}

enum pulse_verdict
pulse_tick(struct pulse *p, struct pulse_backlog backlog, uint64_t now_ms)
{
    bool was_frozen = now_ms - p->ticked_ms > FROZEN_MS;
    bool is_under_way =
        p->is_dialler && backlog.queued_bytes + backlog.unacknowledged_bytes > 0;
    bool is_stuck = backlog.queued_bytes > 0 && !p->is_moving;

    if (was_frozen || (is_under_way && !is_stuck))
        p->heard_ms = now_ms;
    p->ticked_ms = now_ms;
    p->is_moving = false;
    if (now_ms - p->heard_ms >= PULSE_DEAD_MS)
        return PULSE_DEAD;
    if (p->is_dialler && now_ms - p->called_ms >= PULSE_CALL_MS) {
        p->called_ms = now_ms;
        return PULSE_CALL;
    }
    return PULSE_FINE;
}
