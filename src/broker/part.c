/* Parts: see the header. */
#include "broker/part.h"

#include "base/mem.h"
#include "broker/delay.h"
#include "broker/inside.h"
#include "broker/session.h"
#include "broker/stats.h"
#include "broker/timer.h"

#include <assert.h>

static int
compare_room(const struct tree_node *a, const struct tree_node *b)
{
    uint64_t x = CONTAINER_OF(a, struct seat, in_room)->session->number;
    uint64_t y = CONTAINER_OF(b, struct seat, in_room)->session->number;
    return (x > y) - (x < y);
}

static int
compare_saved(const struct tree_node *a, const struct tree_node *b)
{
    const struct session *x = CONTAINER_OF(a, struct seat, in_saved)->session;
    const struct session *y = CONTAINER_OF(b, struct seat, in_saved)->session;
    if (x->saved_ms != y->saved_ms)
        return x->saved_ms < y->saved_ms ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Marks of an earlier term are worth nothing. */
static void
clear_held_marks(struct session *x)
{
    LIST_FOREACH (node, &x->held) {
        struct message *m = CONTAINER_OF(node, struct message, in_held);
        m->sent_mark = 0;
        m->was_sent = false;
    }
}

struct part *
part_new(struct broker *b, struct queue *q)
{
    assert(q->leader == NULL);
    struct part *part = mem_calloc(1, sizeof *part);
    part->queue = q;
    q->leader = part;
    list_init(&part->clients);
    list_init(&part->copy_subscribers);
    tree_init(&part->room, compare_room);
    tree_init(&part->saved, compare_saved);
    for (unsigned kind = 0; kind < PART_TIMERS; kind++) {
        part->timers[kind].kind = (enum timer_kind)kind;
        part->timers[kind].owner = part;
    }
    for (struct tree_node *n = tree_first(&q->line); n != NULL; n = tree_next(n)) {
        struct session *x = CONTAINER_OF(n, struct session, in_line);
        clear_held_marks(x);
        seat_new_saved(part, x);
    }
    delays_begin(b, part);
    sessions_schedule(b, part);
    stats_begin(b, part);
    return part;
}

void
part_free(struct broker *b, struct part *part)
{
    struct queue *q = part->queue;
    assert(list_is_empty(&part->clients) && list_is_empty(&part->copy_subscribers));
    delays_end(b, part);
    for (struct tree_node *n = tree_first(&q->line); n != NULL; n = tree_next(n)) {
        struct session *x = CONTAINER_OF(n, struct session, in_line);
        mem_free(x->leader);
        x->leader = NULL;
    }
    for (unsigned kind = 0; kind < PART_TIMERS; kind++)
        timer_cancel(b, &part->timers[kind]);
    if (list_is_linked(&part->in_dirty))
        list_remove(&part->in_dirty);
    q->leader = NULL;
    mem_free(part);
}

enum status
part_led_queue(const struct broker *b, struct slice name, struct queue **ret_queue)
{
    struct queue *q = b->is_leading ? state_queue_by_name(b->state, name) : NULL;
    if (q == NULL)
        return b->is_leading ? ST_NOTFOUND : ST_NOTLEADER;
    *ret_queue = q;
    return ST_OK;
}
