/* Timers: see the header. A timer set while timers fire is at least a millisecond
 * ahead, so that a turn ends. */
#include "broker/timer.h"

#include "broker/inside.h"

void
timer_set(struct broker *b, struct timer *timer, uint64_t at_ms)
{
    if (at_ms <= b->clock.time_ms)
        at_ms = b->clock.time_ms + 1;
    if (heap_is_linked(&timer->node)) {
        if (timer->node.at == at_ms)
            return;
        heap_remove(&b->timers, &timer->node);
    }
    heap_insert(&b->timers, &timer->node, at_ms);
}

void
timer_cancel(struct broker *b, struct timer *timer)
{
    heap_remove(&b->timers, &timer->node);
}

struct timer *
timer_pop(struct broker *b)
{
    struct heap_node *node = heap_first(&b->timers);
    if (node == NULL || node->at > b->clock.time_ms)
        return NULL;
    heap_remove(&b->timers, node);
    return CONTAINER_OF(node, struct timer, node);
}
