/* Timers: the deadlines of one network thread in a heap, with one libevent timer that
 * wakes the loop for the first of them.
 *
 * Callbacks run in timers_run() only, at the end of a turn, never inside of another
 * object's callback. One thread. */
#ifndef HF_NET_TIMERS_H
#define HF_NET_TIMERS_H

#include "base/heap.h"

#include <event2/event.h>
#include <event2/event_struct.h>

struct timer;
/* The timer is no longer set; it may be set again, and its object freed. */
typedef void timer_cb(struct timer *timer);

/* In its object. All zero but cb is a timer that is not set. */
struct timer {
    struct heap_node node;
    timer_cb *cb;
};

struct timers {
    struct heap heap;
    struct event event;
    uint64_t armed_ms; /* what the libevent timer is set for; UINT64_MAX = not set */
};

void timers_init(struct timers *t, struct event_base *base);
void timers_fini(struct timers *t); /* before the base is freed */
/* Monotonic ms. Replaces an earlier setting. */
void timers_set(struct timers *t, struct timer *timer, uint64_t at_ms);
void timers_clear(struct timers *t, struct timer *timer); /* not set: nothing */
static inline bool
timer_is_set(const struct timer *timer)
{
    return heap_is_linked(&timer->node);
}
/* Runs what is due, then sets the libevent timer for the next. */
void timers_run(struct timers *t, uint64_t now_ms);

#endif
