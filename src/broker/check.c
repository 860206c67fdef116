/* Check: walks everything the broker keeps and compares it with what it should be. For
 * tests: O(everything). See the invariants in inside.h. */
#include "broker/broker.h"

#include "broker/dispatch.h"
#include "broker/inside.h"
#include "broker/session.h"

#include <string.h>

static const char *
check_delayed(const struct broker *b, const struct part *part)
{
    uint64_t marked = 0;
    struct tree_node *n = tree_first(&part->queue->waiting);
    for (; n != NULL; n = tree_next(n)) {
        const struct message *m = CONTAINER_OF(n, struct message, in_waiting);
        bool is_marked = m->sent_mark == MARK_DELAYED;
        if (!is_marked && m->sent_mark != 0)
            return "a waiting message has a delivery's mark";
        if (m->ready_ms > b->clock.time_ms && !is_marked)
            return "a delayed message has no mark";
        if (m->ready_ms <= b->clock.time_ms && is_marked && !part->is_ripening)
            return "a message whose delay ended is marked";
        marked += is_marked;
    }
    if (marked != part->delayed)
        return "the count of delayed messages is wrong";
    if (marked > 0 && !heap_is_linked(&part->timers[TIMER_DELAY].node))
        return "messages are delayed and no timer runs";
    return NULL;
}

/* B3: behind next_emit nothing was handed over. */
static const char *
check_emission(const struct seat *seat)
{
    bool is_behind = false;
    uint64_t last_mark = 0;
    LIST_FOREACH (node, &seat->session->held) {
        const struct message *m = CONTAINER_OF(node, struct message, in_held);
        is_behind = is_behind || m == seat->next_emit;
        if (is_behind && m->sent_mark != 0)
            return "a message was handed over out of its turn";
        if (!is_behind && m->sent_mark == 0 && !m->was_sent && seat->client != NULL)
            return "a message was passed over";
        if (m->sent_mark != 0 && m->sent_mark <= last_mark)
            return "delivery numbers do not grow";
        if (m->sent_mark != 0)
            last_mark = m->sent_mark;
    }
    if (seat->client != NULL && last_mark > seat->client->delivered)
        return "a delivery number was not given out";
    return is_behind || seat->next_emit == NULL ? NULL : "next_emit is not held";
}

static const char *
check_seat(const struct part *part, const struct session *x)
{
    const struct seat *seat = seat_of(x);
    if (seat == NULL || seat->session != x || seat->part != part)
        return "a session has no seat of its own";
    if ((seat->client == NULL) != x->is_saved)
        return "a saved session has a connection, or the other way round";
    if (seat->client != NULL && seat->client->seat != seat)
        return "a seat's connection sits elsewhere";
    if (tree_is_linked(&seat->in_room) != seat_has_room(seat))
        return "the line of seats with room is wrong";
    if (tree_is_linked(&seat->in_saved) != x->is_saved)
        return "the order of saved sessions is wrong";
    return check_emission(seat);
}

static const char *
check_clients(const struct part *part)
{
    uint64_t logged_in[QUEUE_TYPE_COUNT][ROLE_COUNT] = {{0}};
    uint64_t tasks = 0;
    uint64_t copies = 0;
    LIST_FOREACH (node, &part->clients) {
        const struct client *c = CONTAINER_OF(node, struct client, in_part);
        bool is_subscriber = c->role == ROLE_SUBSCRIBER && c->phase != CLIENT_VERIFYING;
        if (c->part != part)
            return "a connection is in another queue's list";
        if ((c->phase == CLIENT_VERIFYING) != (c->login != NULL))
            return "a login's request is kept too long or not long enough";
        if ((c->seat != NULL) != (is_subscriber && c->type == QUEUE_DISTRIBUTE))
            return "a connection has a seat, or has none, against its role";
        if (list_is_linked(&c->in_copy) != (is_subscriber && c->type == QUEUE_COPY))
            return "the list of copy subscribers is wrong";
        if (heap_is_linked(&c->push.node) != (c->push_ms > 0))
            return "a subscription has no timer, or a timer no subscription";
        copies += list_is_linked(&c->in_copy);
        if (c->phase == CLIENT_VERIFYING)
            continue;
        logged_in[c->type][c->role]++;
        tasks++;
    }
    LIST_FOREACH (node, &part->copy_subscribers)
        copies--;
    if (copies != 0)
        return "the list of copy subscribers has strangers";
    if (tasks != part->tasks ||
        memcmp(logged_in, part->logged_in, sizeof logged_in) != 0)
        return "the counts of connections are wrong";
    return NULL;
}

/* Nobody waits for what is there. */
static const char *
check_idle(const struct broker *b, const struct part *part)
{
    const struct tree_node *n = tree_first(&part->queue->waiting);
    if (n == NULL || part->room.count == 0 || list_is_linked(&part->in_dirty))
        return NULL;
    if (CONTAINER_OF(n, struct message, in_waiting)->ready_ms > b->clock.time_ms)
        return NULL;
    return "a message waits although a subscriber has room";
}

static const char *
check_part(const struct broker *b, const struct part *part)
{
    const char *fault = check_delayed(b, part);
    uint64_t saved = 0;
    struct tree_node *n = tree_first(&part->queue->line);
    for (; n != NULL && fault == NULL; n = tree_next(n)) {
        const struct session *x = CONTAINER_OF(n, struct session, in_line);
        saved += x->is_saved;
        fault = check_seat(part, x);
    }
    if (fault == NULL && (!tree_check(&part->room) || !tree_check(&part->saved)))
        fault = "a tree of seats is damaged";
    if (fault == NULL && saved != part->saved.count)
        fault = "the order of saved sessions has strangers";
    if (fault == NULL && saved > 0 && !heap_is_linked(&part->timers[TIMER_SAVED].node))
        fault = "sessions are saved and no timer runs";
    if (fault == NULL)
        fault = check_clients(part);
    return fault != NULL ? fault : check_idle(b, part);
}

const char *
broker_check(const struct broker *b)
{
    const struct batches *s = &b->batches;
    const char *fault = NULL;
    uint64_t conns = 0;
    if (!(s->first <= s->to_submit && s->to_submit <= s->to_take &&
          s->to_take <= s->open))
        return "the batches are out of order";
    if (b->is_leading != (b->state->journal != NULL))
        return "a journal without a leader, or a leader without";
    LIST_FOREACH (node, &b->state->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        if ((part_of(q) != NULL) != b->is_leading)
            return "a queue has a leader's part, or has none, against the role";
        if (!b->is_leading)
            continue;
        fault = check_part(b, part_of(q));
        if (fault != NULL)
            return fault;
        LIST_FOREACH (of_part, &part_of(q)->clients)
            conns++;
    }
    return conns == b->clients.count ? NULL : "a connection is in no queue";
}
