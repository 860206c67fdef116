/* Sessions: see the header. Times in records are stamps, so what takes its time from
 * one begins a batch of this turn (batch_begin_now): messages that are given back go
 * behind all that were published before, and a time limit is not shortened. */
#include "broker/session.h"

#include "base/mem.h"
#include "broker/inside.h"
#include "broker/timer.h"
#include "queue/level.h"

#include <assert.h>

static struct seat *
seat_new(struct part *part, struct session *x)
{
    assert(x->leader == NULL && x->queue == part->queue);
    struct seat *seat = mem_calloc(1, sizeof *seat);
    seat->session = x;
    seat->part = part;
    x->leader = seat;
    return seat;
}

void
seat_new_saved(struct part *part, struct session *x)
{
    assert(x->is_saved); /* the EPOCH record saved or ended every session */
    struct seat *seat = seat_new(part, x);
    tree_insert(&part->saved, &seat->in_saved);
}

/* A start value may be above what a session can hold. */
uint64_t
session_most_capacity(const struct queue *q)
{
    uint64_t most = q->settings[SETTING_MAX_SUBSCRIBER_CAPACITY];
    return most < LIMIT_CAPACITY ? most : LIMIT_CAPACITY;
}

void
session_begin(struct broker *b, struct client *c, uint32_t capacity)
{
    struct part *part = c->part;
    batch_begin(b, false);
    struct record_session fields = {
        .session = part->queue->next_session,
        .id = clock_session_id(&b->clock),
        .capacity = capacity,
    };
    struct session *x =
        session_open(b->state, part->queue, fields.session, &fields.id, capacity);
    batch_add_session(b, part, RECORD_SESSION_OPEN, &fields);
    struct seat *seat = seat_new(part, x);
    seat->client = c;
    seat->assign_tag = batch_open_number(b);
    c->seat = seat;
}

uint64_t
session_deadline_ms(const struct session *x)
{
    return x->saved_ms + 1000 * x->queue->settings[SETTING_SAVED_SESSION_TIMEOUT_SECS];
}

void
sessions_schedule(struct broker *b, struct part *part)
{
    struct tree_node *first = tree_first(&part->saved);
    if (first == NULL) {
        timer_cancel(b, &part->timers[TIMER_SAVED]);
        return;
    }
    const struct session *x = CONTAINER_OF(first, struct seat, in_saved)->session;
    timer_set(b, &part->timers[TIMER_SAVED], session_deadline_ms(x));
}

struct seat *
session_find_saved(struct broker *b, struct part *part, const struct uuid *id)
{
    struct session *x = queue_session(part->queue, id);
    if (x == NULL || !x->is_saved || session_deadline_ms(x) <= b->clock.time_ms)
        return NULL;
    struct seat *seat = seat_of(x);
    /* The id before the last resume: only when its new id may have been lost. */
    if (uuid_compare(&x->id, id) != 0 && seat->is_resumed_here)
        return NULL;
    return seat;
}

void
session_continue(struct broker *b,
                 struct client *c,
                 struct seat *seat,
                 uint32_t capacity,
                 bool is_replay)
{
    struct session *x = seat->session;
    assert(seat->client == NULL && x->is_saved);
    tree_remove(&seat->part->saved, &seat->in_saved);
    sessions_schedule(b, seat->part);
    batch_begin(b, false);
    struct record_session fields = {
        .session = x->number,
        .id = clock_session_id(&b->clock),
        .capacity = capacity > 0 ? capacity : x->capacity,
    };
    session_resume(b->state, x, &fields.id, fields.capacity);
    batch_add_session(b, seat->part, RECORD_SESSION_RESUME, &fields);
    seat->assign_tag = batch_open_number(b);
    seat->is_resumed_here = true;
    seat->is_replay = is_replay;
    seat->client = c;
    c->seat = seat;
    struct list_node *first = list_first(&x->held);
    seat->next_emit =
        first == NULL ? NULL : CONTAINER_OF(first, struct message, in_held);
    LIST_FOREACH (node, &x->held)
        CONTAINER_OF(node, struct message, in_held)->sent_mark = 0;
}

/* Out of the line of those with room, and away from its connection. */
static void
seat_leave(struct seat *seat)
{
    if (tree_is_linked(&seat->in_room))
        tree_remove(&seat->part->room, &seat->in_room);
    seat->next_emit = NULL;
    seat->is_replay = false;
    if (seat->client != NULL)
        seat->client->seat = NULL;
    seat->client = NULL;
}

static bool
holds_volatile(const struct session *x)
{
    LIST_FOREACH (node, &x->held) {
        if (CONTAINER_OF(node, struct message, in_held)->durability == 0)
            return true;
    }
    return false;
}

/* Its time among the waiting ones is the stamp, so nothing of it is delayed. Messages
 * of durability 0 rest on nothing, but here a delivery to this session may still be on
 * its way, and nobody else is to acknowledge one before that: they wait for the record.
 */
static void
seat_end(struct broker *b, struct seat *seat, enum record_type type)
{
    struct session *x = seat->session;
    struct part *part = seat->part;
    assert(!tree_is_linked(&seat->in_room) && !tree_is_linked(&seat->in_saved));
    uint64_t stamp_ms = batch_begin_now(b, false);
    struct record_session fields = {
        .session = x->number,
        .order = part->queue->next_order,
    };
    if (holds_volatile(x))
        b->volatile_tag = batch_open_number(b);
    x->leader = NULL;
    mem_free(seat);
    part->queue->totals.returned += x->held_count;
    if (type == RECORD_SESSION_CLOSE)
        session_close(b->state, x, fields.order, stamp_ms);
    else
        session_end(b->state, x, fields.order, stamp_ms);
    batch_add_session(b, part, type, &fields);
}

void
session_finish(struct broker *b, struct seat *seat)
{
    struct part *part = seat->part;
    bool is_known = b->state->level >= HF_LEVEL_TRAILS;
    if (tree_is_linked(&seat->in_saved))
        tree_remove(&part->saved, &seat->in_saved);
    seat_leave(seat);
    seat_end(b, seat, is_known ? RECORD_SESSION_CLOSE : RECORD_SESSION_END);
    sessions_schedule(b, part);
}

void
session_logout(struct broker *b, struct client *c)
{
    struct seat *seat = c->seat;
    seat_leave(seat);
    seat_end(b, seat, RECORD_SESSION_END);
}

/* Which of its messages the subscriber has whole. */
static void
note_sent(const struct session *x, uint64_t frames_sent)
{
    LIST_FOREACH (node, &x->held) {
        struct message *m = CONTAINER_OF(node, struct message, in_held);
        if (m->sent_mark != 0 && m->sent_mark <= frames_sent)
            m->was_sent = true;
    }
}

void
session_drop(struct broker *b, struct client *c)
{
    struct seat *seat = c->seat;
    struct session *x = seat->session;
    struct part *part = seat->part;
    const struct queue *q = part->queue;
    note_sent(x, c->frames_sent);
    seat_leave(seat);
    bool has_room = q->counts.saved_sessions < q->settings[SETTING_MAX_TASKS];
    if (x->held_count == 0 && !(x->has_received && has_room)) {
        seat_end(b, seat, RECORD_SESSION_END);
        return;
    }
    uint64_t stamp_ms = batch_begin_now(b, false);
    session_save(b->state, x, stamp_ms);
    struct record_session fields = {.session = x->number};
    batch_add_session(b, part, RECORD_SESSION_SAVE, &fields);
    tree_insert(&part->saved, &seat->in_saved);
    sessions_schedule(b, part);
}

void
sessions_expire(struct broker *b, struct part *part)
{
    struct tree_node *first;
    int64_t left = TURN_RELEASE;
    while (left > 0 && (first = tree_first(&part->saved)) != NULL) {
        struct seat *seat = CONTAINER_OF(first, struct seat, in_saved);
        if (session_deadline_ms(seat->session) > b->clock.time_ms)
            break;
        left -= 1 + (int64_t)seat->session->held_count;
        tree_remove(&part->saved, first);
        seat_end(b, seat, RECORD_SESSION_END);
    }
    sessions_schedule(b, part);
}
