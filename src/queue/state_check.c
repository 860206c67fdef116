/* The check of the invariants I1 to I5 (queue/state.h), for tests, the simulation and a
 * doubting operator. It walks everything and trusts no counter. */
#include "queue/state.h"

#include <string.h>

/* Fails the check with the text of the condition that does not hold. */
#define HOLDS(condition)                                                               \
    do {                                                                               \
        if (!(condition))                                                              \
            return #condition;                                                         \
    } while (0)

struct walk {
    const struct queue *queue;
    struct queue_counts counts;
    uint64_t waiting;
    uint64_t prevs;
};

static const char *
check_message(struct walk *walk, const struct message *m, bool is_dead)
{
    const struct queue *q = walk->queue;
    HOLDS(m->queue == q);
    HOLDS((m->place == PLACE_DEAD) == is_dead);
    HOLDS(m->place != PLACE_NONE);
    HOLDS(queue_message(q, &m->id) == m);
    HOLDS((m->place == PLACE_HELD) == (m->holder != NULL));
    HOLDS(m->body->size == m->body_size + m->key_size);
    HOLDS(m->order < q->next_order);
    HOLDS(m->durability <= 2 && (m->type == 1 || m->type == 2));
    HOLDS(!is_dead || m->durability > 0);
    if (m->place == PLACE_HELD) {
        HOLDS(m->holder->queue == q);
        HOLDS(queue_session_by_number(q, m->holder->number) == m->holder);
        HOLDS(list_is_linked(&m->in_held));
    }
    walk->counts.messages++;
    walk->counts.held += m->place == PLACE_HELD;
    walk->counts.dead += is_dead;
    walk->counts.dead_for[m->dead_reason % DEAD_REASONS] += is_dead;
    walk->counts.durable += m->durability > 0;
    walk->counts.memory_bytes += message_cost_bytes(m);
    walk->waiting += m->place == PLACE_WAITING;
    return NULL;
}

static const char *
check_messages(struct walk *walk, const struct tree *ids, bool is_dead)
{
    HOLDS(tree_check(ids));
    for (struct tree_node *n = tree_first(ids); n != NULL; n = tree_next(n)) {
        const char *fault =
            check_message(walk, CONTAINER_OF(n, struct message, in_ids), is_dead);
        if (fault != NULL)
            return fault;
    }
    return NULL;
}

/* Strictly ascending among the durable ones; those of durability 0 may share. */
static const char *
check_held(const struct session *x, uint64_t *held)
{
    uint64_t last = 0;
    uint64_t last_durable = 0;
    uint32_t count = 0;
    LIST_FOREACH (node, &x->held) {
        const struct message *m = CONTAINER_OF(node, struct message, in_held);
        HOLDS(m->place == PLACE_HELD && m->holder == x);
        HOLDS(m->held_order >= last && m->held_order > 0);
        HOLDS(m->durability == 0 || m->held_order > last_durable);
        HOLDS(m->held_order < x->next_held + (m->durability == 0));
        last = m->held_order;
        last_durable = m->durability > 0 ? m->held_order : last_durable;
        count++;
    }
    HOLDS(count == x->held_count);
    *held += count;
    return NULL;
}

static const char *
check_sessions(struct walk *walk)
{
    const struct queue *q = walk->queue;
    uint64_t held = 0;
    HOLDS(tree_check(&q->line));
    for (struct tree_node *n = tree_first(&q->line); n != NULL; n = tree_next(n)) {
        const struct session *x = CONTAINER_OF(n, struct session, in_line);
        HOLDS(x->queue == q && x->number < q->next_session);
        HOLDS(queue_session(q, &x->id) == x);
        if (x->has_prev && !x->is_prev_forgotten) {
            HOLDS(queue_session(q, &x->prev_id) == x);
            walk->prevs++;
        }
        HOLDS(x->capacity > 0);
        walk->counts.saved_sessions += x->is_saved;
        const char *fault = check_held(x, &held);
        if (fault != NULL)
            return fault;
    }
    HOLDS(held == walk->counts.held);
    HOLDS(q->by_session.count == q->line.count);
    HOLDS(q->by_prev.count == walk->prevs);
    return NULL;
}

static const char *
check_waiting(const struct walk *walk)
{
    const struct tree *waiting = &walk->queue->waiting;
    HOLDS(tree_check(waiting));
    HOLDS(waiting->count == walk->waiting);
    for (struct tree_node *n = tree_first(waiting); n != NULL; n = tree_next(n)) {
        const struct message *m = CONTAINER_OF(n, struct message, in_waiting);
        HOLDS(m->place == PLACE_WAITING && m->queue == walk->queue);
    }
    return NULL;
}

static const char *
check_counts(const struct walk *walk)
{
    const struct queue *q = walk->queue;
    HOLDS(q->counts.messages == walk->counts.messages);
    HOLDS(q->counts.held == walk->counts.held);
    HOLDS(q->counts.dead == walk->counts.dead);
    for (int i = 0; i < DEAD_REASONS; i++)
        HOLDS(q->counts.dead_for[i] == walk->counts.dead_for[i]);
    HOLDS(q->counts.durable == walk->counts.durable);
    HOLDS(q->counts.memory_bytes == walk->counts.memory_bytes);
    HOLDS(q->counts.saved_sessions == walk->counts.saved_sessions);
    HOLDS(q->by_id.count == walk->counts.messages);
    return NULL;
}

static const char *
check_queue(const struct state *s, const struct queue *q)
{
    struct walk walk = {.queue = q};
    HOLDS(q->number > 0 && q->number < s->next_queue);
    HOLDS(!q->is_deleted && q->pins > 0);
    HOLDS(state_queue(s, q->number) == q);
    HOLDS(state_queue_by_name(s, slice_from_text(q->name)) == q);
    const char *fault = check_messages(&walk, &q->messages, false);
    if (fault == NULL)
        fault = check_messages(&walk, &q->dead, true);
    if (fault == NULL)
        fault = check_waiting(&walk);
    if (fault == NULL)
        fault = check_sessions(&walk);
    if (fault == NULL)
        fault = check_counts(&walk);
    return fault;
}

const char *
state_check(const struct state *s)
{
    uint32_t count = 0;
    uint32_t last = 0;
    LIST_FOREACH (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        HOLDS(q->number > last);
        last = q->number;
        count++;
        const char *fault = check_queue(s, q);
        if (fault != NULL)
            return fault;
    }
    HOLDS(count == s->queue_count && count == s->by_name.count);
    HOLDS(count == s->by_number.count);
    return NULL;
}
