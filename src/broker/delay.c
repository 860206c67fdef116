/* Delays: see the header. All marked messages that are due lie behind the cluster time
 * of the turn before (or behind the place where ripening was cut short), so each is
 * passed over once. */
#include "broker/delay.h"

#include "broker/inside.h"
#include "broker/timer.h"

#include <assert.h>

struct place_key {
    uint64_t ready_ms;
    uint64_t order;
};

static int
compare_place(const void *key, const struct tree_node *node)
{
    const struct place_key *place = key;
    const struct message *m = CONTAINER_OF(node, struct message, in_waiting);
    if (place->ready_ms != m->ready_ms)
        return place->ready_ms < m->ready_ms ? -1 : 1;
    return (place->order > m->order) - (place->order < m->order);
}

static struct message *
first_waiting_after(const struct queue *q, uint64_t ready_ms, uint64_t order)
{
    struct place_key key = {ready_ms, order};
    struct tree_node *node = tree_lower(&q->waiting, &key, true, compare_place);
    return node == NULL ? NULL : CONTAINER_OF(node, struct message, in_waiting);
}

static struct message *
next_waiting(const struct message *m)
{
    struct tree_node *node = tree_next(&m->in_waiting);
    return node == NULL ? NULL : CONTAINER_OF(node, struct message, in_waiting);
}

/* The first message whose delay has not ended. */
static void
schedule(struct broker *b, struct part *part)
{
    const struct message *m =
        part->delayed == 0
            ? NULL
            : first_waiting_after(part->queue, b->clock.time_ms, UINT64_MAX);
    if (part->is_ripening)
        timer_set(b, &part->timers[TIMER_DELAY], b->clock.time_ms);
    else if (m != NULL)
        timer_set(b, &part->timers[TIMER_DELAY], m->ready_ms);
    else
        timer_cancel(b, &part->timers[TIMER_DELAY]);
}

void
delay_message_waits(struct broker *b, struct part *part, struct message *m)
{
    assert(m->place == PLACE_WAITING && m->sent_mark == 0);
    if (m->ready_ms <= b->clock.time_ms)
        return;
    m->sent_mark = MARK_DELAYED;
    part->delayed++;
    struct timer *timer = &part->timers[TIMER_DELAY];
    if (!heap_is_linked(&timer->node) || timer->node.at > m->ready_ms)
        timer_set(b, timer, m->ready_ms);
}

void
delay_message_leaves(struct part *part, struct message *m)
{
    if (m->place != PLACE_WAITING || m->sent_mark != MARK_DELAYED)
        return;
    assert(part->delayed > 0);
    m->sent_mark = 0;
    part->delayed--;
}

void
delays_ripen(struct broker *b, struct part *part)
{
    if (!part->is_ripening) {
        part->ripe_ms = b->clock.before_ms;
        part->ripe_order = UINT64_MAX;
    }
    part->is_ripening = false;
    struct message *m =
        first_waiting_after(part->queue, part->ripe_ms, part->ripe_order);
    for (unsigned left = TURN_RIPE; m != NULL && m->ready_ms <= b->clock.time_ms;
         left--) {
        if (left == 0) {
            part->is_ripening = true;
            break;
        }
        delay_message_leaves(part, m);
        part->ripe_ms = m->ready_ms;
        part->ripe_order = m->order;
        m = next_waiting(m);
    }
    schedule(b, part);
}

void
delays_begin(struct broker *b, struct part *part)
{
    struct queue *q = part->queue;
    struct message *m = first_waiting_after(q, b->clock.time_ms, UINT64_MAX);
    for (; m != NULL; m = next_waiting(m)) {
        m->sent_mark = 0;
        delay_message_waits(b, part, m);
    }
}

/* Messages stay when the term ends; their marks must not. */
void
delays_end(struct broker *b, struct part *part)
{
    uint64_t from_ms = part->is_ripening ? part->ripe_ms : b->clock.time_ms;
    uint64_t from_order = part->is_ripening ? part->ripe_order : UINT64_MAX;
    struct message *m = first_waiting_after(part->queue, from_ms, from_order);
    for (; m != NULL && part->delayed > 0; m = next_waiting(m))
        delay_message_leaves(part, m);
    assert(part->delayed == 0);
}
