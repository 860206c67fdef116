/* Timers: see the header.
 *
 * The libevent timer is set again only when the first deadline has come nearer or it
 * has fired: most deadlines are moved back many times before they come, and an early
 * wake costs less than moving the timer each time. */
#include "net/timers.h"

#include "base/list.h"

#include <assert.h>

static void
wake(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    struct timers *t = ctx;
    t->armed_ms = UINT64_MAX; /* the work is timers_run()'s, at the end of the turn */
}

void
timers_init(struct timers *t, struct event_base *base)
{
    heap_init(&t->heap);
    t->armed_ms = UINT64_MAX;
    int result = event_assign(&t->event, base, -1, 0, wake, t);
    assert(result == 0);
}

void
timers_fini(struct timers *t)
{
    (void)event_del(&t->event);
    heap_fini(&t->heap);
}

void
timers_set(struct timers *t, struct timer *timer, uint64_t at_ms)
{
    if (heap_is_linked(&timer->node)) {
        if (timer->node.at == at_ms)
            return;
        heap_remove(&t->heap, &timer->node);
    }
    heap_insert(&t->heap, &timer->node, at_ms);
}

void
timers_clear(struct timers *t, struct timer *timer)
{
    heap_remove(&t->heap, &timer->node);
}

static void
arm(struct timers *t, uint64_t at_ms, uint64_t now_ms)
{
    uint64_t left_ms = at_ms > now_ms ? at_ms - now_ms : 1;
    struct timeval after = {
        .tv_sec = (time_t)(left_ms / 1000),
        .tv_usec = (suseconds_t)(left_ms % 1000 * 1000),
    };
    if (event_add(&t->event, &after) == 0)
        t->armed_ms = at_ms;
}

void
timers_run(struct timers *t, uint64_t now_ms)
{
    struct heap_node *first;
    while ((first = heap_first(&t->heap)) != NULL && first->at <= now_ms) {
        struct timer *timer = CONTAINER_OF(first, struct timer, node);
        heap_remove(&t->heap, first);
        timer->cb(timer); /* sets itself, if at all, later than now */
    }
    if (first != NULL && first->at < t->armed_ms)
        arm(t, first->at, now_ms);
}
