/* Places of messages and sessions. Invariants I1 to I4 of queue/state.h are made here.
 *
 *             publish             assign
 *    NONE ---------------> WAITING <----> HELD
 *     ^                     |  ^   release  |
 *     |  remove (any)  move |  | redrive    | nack, move
 *     +---------------      v  |            v
 *                          DEAD <-----------+
 *
 * Any move is legal for place_message(), because a rollback walks the arrows backwards;
 * the verbs (message.c) assert which ones are. */
#include "queue/place.h"

#include <assert.h>
#include <string.h>

struct message_spot
message_spot(const struct message *m)
{
    struct message_spot spot = {
        .order = m->order,
        .ready_ms = m->ready_ms,
        .deliveries = m->deliveries,
        .place = m->place,
    };
    if (m->place == PLACE_HELD) {
        spot.since = m->held_order;
        spot.holder = m->holder;
    }
    if (m->place == PLACE_DEAD) {
        spot.since = m->dead_ms;
        spot.dead_reason = m->dead_reason;
    }
    return spot;
}

static void
count_message(struct queue *q, const struct message *m)
{
    q->counts.messages++;
    q->counts.durable += m->durability > 0;
    q->counts.memory_bytes += message_cost_bytes(m);
}

static void
uncount_message(struct queue *q, const struct message *m)
{
    q->counts.messages--;
    q->counts.durable -= m->durability > 0;
    q->counts.memory_bytes -= message_cost_bytes(m);
}

static void
unlink_from_place(struct queue *q, struct message *m)
{
    switch (m->place) {
    case PLACE_NONE:
        break;
    case PLACE_WAITING:
        tree_remove(&q->waiting, &m->in_waiting);
        break;
    case PLACE_HELD:
        list_remove(&m->in_held);
        m->holder->held_count--;
        q->counts.held--;
        break;
    case PLACE_DEAD:
        q->counts.dead--;
        q->counts.dead_for[m->dead_reason % DEAD_REASONS]--;
        break;
    }
}

/* At the back, or in front of those that were given later: the search ends at once
 * except when an acknowledged message comes back in a rollback. */
static void
link_held(struct queue *q, struct message *m)
{
    struct list_node *after = m->holder->held.head.prev;
    while (after != &m->holder->held.head &&
           CONTAINER_OF(after, struct message, in_held)->held_order > m->held_order)
        after = after->prev;
    list_insert_before(after->next, &m->in_held);
    m->holder->held_count++;
    q->counts.held++;
}

static void
link_to_place(struct queue *q, struct message *m)
{
    switch (m->place) {
    case PLACE_NONE:
        break;
    case PLACE_WAITING:
        m->in_waiting = (struct tree_node){0};
        tree_insert(&q->waiting, &m->in_waiting);
        break;
    case PLACE_HELD:
        link_held(q, m);
        break;
    case PLACE_DEAD:
        q->counts.dead++;
        q->counts.dead_for[m->dead_reason % DEAD_REASONS]++;
        break;
    }
}

/* The tree by id that a place belongs to. */
static struct tree *
ids_of(struct queue *q, enum place place)
{
    if (place == PLACE_NONE)
        return NULL;
    return place == PLACE_DEAD ? &q->dead : &q->messages;
}

static void
move_ids(struct queue *q, struct message *m, enum place to)
{
    struct tree *old_ids = ids_of(q, m->place);
    struct tree *new_ids = ids_of(q, to);
    if (old_ids == new_ids)
        return;
    if (old_ids != NULL)
        tree_remove(old_ids, &m->in_ids);
    else
        map_insert(&q->by_id, &m->in_by_id, map_hash(m->id.b, UUID_SIZE));
    if (new_ids != NULL)
        tree_insert(new_ids, &m->in_ids);
    else
        map_remove(&q->by_id, &m->in_by_id);
    if (old_ids == NULL)
        count_message(q, m);
    if (new_ids == NULL)
        uncount_message(q, m);
}

void
place_message(struct message *m, const struct message_spot *to)
{
    struct queue *q = m->queue;
    assert((to->place == PLACE_HELD) == (to->holder != NULL));
    unlink_from_place(q, m);
    move_ids(q, m, to->place);
    m->order = to->order;
    m->ready_ms = to->ready_ms;
    m->deliveries = to->deliveries;
    m->holder = to->holder;
    m->held_order = to->since; /* and dead_ms: the same word */
    m->dead_reason = to->dead_reason;
    m->place = to->place;
    m->sent_mark = 0;
    m->was_sent = false;
    link_to_place(q, m);
    if (q->next_order <= m->order)
        q->next_order = m->order + 1;
}

struct session_fields
session_fields(const struct session *x)
{
    return (struct session_fields){
        .id = x->id,
        .prev_id = x->prev_id,
        .saved_ms = x->saved_ms,
        .capacity = x->capacity,
        .has_prev = x->has_prev,
        .is_saved = x->is_saved,
        .has_received = x->has_received,
    };
}

void
session_link_prev(struct session *x)
{
    assert(x->has_prev);
    map_insert(&x->queue->by_prev, &x->in_by_prev, map_hash(x->prev_id.b, UUID_SIZE));
    x->is_prev_forgotten = false;
}

void
session_unlink_prev(struct session *x)
{
    assert(x->has_prev && !x->is_prev_forgotten);
    map_remove(&x->queue->by_prev, &x->in_by_prev);
    x->is_prev_forgotten = true;
}

static void
link_ids(struct session *x)
{
    map_insert(&x->queue->by_session, &x->in_by_session, map_hash(x->id.b, UUID_SIZE));
    x->is_prev_forgotten = false;
    if (x->has_prev)
        session_link_prev(x);
}

static void
unlink_ids(struct session *x)
{
    map_remove(&x->queue->by_session, &x->in_by_session);
    if (x->has_prev && !x->is_prev_forgotten)
        map_remove(&x->queue->by_prev, &x->in_by_prev);
}

static bool
has_same_ids(const struct session *x, const struct session_fields *fields)
{
    return uuid_compare(&x->id, &fields->id) == 0 && x->has_prev == fields->has_prev &&
           uuid_compare(&x->prev_id, &fields->prev_id) == 0;
}

void
session_set_fields(struct session *x, const struct session_fields *fields)
{
    bool is_same = has_same_ids(x, fields);
    if (!is_same)
        unlink_ids(x);
    x->queue->counts.saved_sessions -= x->is_saved;
    x->id = fields->id;
    x->prev_id = fields->prev_id;
    x->saved_ms = fields->saved_ms;
    x->capacity = fields->capacity;
    x->has_prev = fields->has_prev;
    x->is_saved = fields->is_saved;
    x->has_received = fields->has_received;
    x->queue->counts.saved_sessions += x->is_saved;
    if (!is_same)
        link_ids(x);
}

void
place_session(struct session *x)
{
    tree_insert(&x->queue->line, &x->in_line);
    x->queue->counts.saved_sessions += x->is_saved;
    link_ids(x);
}

void
unplace_session(struct session *x)
{
    assert(x->held_count == 0 && list_is_empty(&x->held));
    tree_remove(&x->queue->line, &x->in_line);
    x->queue->counts.saved_sessions -= x->is_saved;
    unlink_ids(x);
}
