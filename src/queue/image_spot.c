/* Spots: see the header. */
#include "queue/image_spot.h"

#include "base/limits.h"

static int
compare_waiting(const void *key, const struct tree_node *node)
{
    const struct message_spot *spot = key;
    const struct message *m = CONTAINER_OF(node, struct message, in_waiting);
    int c = (spot->ready_ms > m->ready_ms) - (spot->ready_ms < m->ready_ms);
    return c != 0 ? c : (spot->order > m->order) - (spot->order < m->order);
}

/* Most come in waiting order: then one comparison is enough. */
static bool
waiting_is_free(const struct queue *q, const struct message_spot *spot)
{
    const struct tree_node *last = tree_last(&q->waiting);
    return last == NULL || compare_waiting(spot, last) > 0 ||
           tree_find(&q->waiting, spot, compare_waiting) == NULL;
}

static bool
held_is_free(const struct session *x, const struct message_spot *spot)
{
    if (spot->since == 0 || spot->since >= x->next_held ||
        x->held_count >= LIMIT_CAPACITY)
        return false;
    const struct list_node *node = x->held.head.prev;
    while (node != &x->held.head &&
           CONTAINER_OF(node, struct message, in_held)->held_order > spot->since)
        node = node->prev;
    return node == &x->held.head ||
           CONTAINER_OF(node, struct message, in_held)->held_order < spot->since;
}

bool
image_spot_is_good(const struct queue *q,
                   uint8_t place,
                   uint64_t holder,
                   struct message_spot *spot)
{
    spot->place = (enum place)place;
    if (spot->order >= q->next_order)
        return false;
    if (spot->place != PLACE_HELD && holder != 0)
        return false;
    if (spot->place != PLACE_DEAD && spot->dead_reason != 0)
        return false;
    if (spot->place == PLACE_WAITING)
        return spot->since == 0 && waiting_is_free(q, spot);
    if (spot->place == PLACE_HELD) {
        spot->holder = queue_session_by_number(q, holder);
        return spot->holder != NULL && held_is_free(spot->holder, spot);
    }
    return spot->since < RECORD_TIME_LIMIT && spot->dead_reason >= DEAD_NACK &&
           spot->dead_reason <= DEAD_DAMAGED;
}
