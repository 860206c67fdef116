/* Verbs of messages. Each is one move from one place to another:
 *
 *   1. a running image that has not seen the message yet takes its old form;
 *   2. the journal notes the old spot (durable messages only);
 *   3. the message moves;
 *   4. one that is gone is freed, unless the journal may still bring it back.
 *
 * Messages of durability 0 skip 1 and 2: no other node knows them. The end of a session
 * is here too: it is mostly the release of what the session held. */
#include "queue/state.h"

#include "base/limits.h"
#include "base/mem.h"
#include "queue/image.h"
#include "queue/journal_notes.h"
#include "queue/level.h"
#include "queue/place.h"
#include "queue/trail.h"

#include <assert.h>

static uint64_t
holder_number(const struct message *m)
{
    return m->place == PLACE_HELD ? m->holder->number : 0;
}

static void
move(struct state *s,
     struct message *m,
     const struct message_spot *to,
     const struct trail_event *event)
{
    if (s->image != NULL)
        image_touch(s->image, m);
    if (event != NULL)
        trail_add(s, m, event);
    struct note *note = m->durability > 0 ? journal_note(s, NOTE_MESSAGE) : NULL;
    if (note != NULL) {
        note->message.message = m;
        note->message.old = message_spot(m);
        note->message.is_gone = to->place == PLACE_NONE;
    }
    place_message(m, to);
    if (to->place == PLACE_NONE && note == NULL)
        message_free(s, m);
}

struct message *
queue_publish(struct state *s,
              struct queue *q,
              const struct record_publish *fields,
              struct blob *body_and_key,
              uint8_t key_size)
{
    assert(key_size <= LIMIT_KEY_BYTES && body_and_key->size >= key_size);
    assert(queue_message(q, &fields->id) == NULL && "this id is in the queue already");
    struct message *m = message_new(s);
    m->queue = q;
    m->id = fields->id;
    m->received_ms = fields->received_ms;
    m->delay_secs = fields->delay_secs;
    m->type = fields->type;
    m->durability = fields->durability;
    m->body = body_and_key;
    m->body_size = body_and_key->size - key_size;
    m->key_size = key_size;
    m->body_crc = fields->body_crc;
    m->image_mark = s->image_mark; /* a running image leaves it out */
    struct message_spot spot = {
        .place = PLACE_WAITING,
        .order = fields->order,
        .ready_ms = fields->received_ms + (uint64_t)1000 * fields->delay_secs,
    };
    move(s, m, &spot, NULL);
    return m;
}

/* A durable message uses up a position in its holder's list. One of durability 0 shares
 * the next one's, so that positions are the same on every node. */
void
message_assign(struct state *s, struct message *m, struct session *to, uint64_t now_ms)
{
    assert(m->place == PLACE_WAITING && "only a waiting message can be assigned");
    assert(m->queue == to->queue && to->held_count < LIMIT_CAPACITY);
    struct message_spot spot = message_spot(m);
    spot.place = PLACE_HELD;
    spot.holder = to;
    spot.since = to->next_held;
    spot.deliveries++;
    if (m->durability > 0) {
        session_received(s, to);
        to->next_held++;
    }
    struct trail_event event = {now_ms, to->number, TRAIL_HELD};
    move(s, m, &spot, m->trail != NULL ? &event : NULL);
}

static void
release(struct state *s,
        struct message *m,
        uint64_t order,
        uint64_t now_ms,
        enum trail_kind kind)
{
    bool is_new = m->place == PLACE_DEAD && s->level >= HF_LEVEL_SWEEPS;
    struct message_spot spot = {
        .place = PLACE_WAITING,
        .order = order,
        .ready_ms = now_ms,
        .deliveries = is_new ? 0 : m->deliveries,
    };
    struct trail_event event = {now_ms, holder_number(m), (uint8_t)kind};
    move(s, m, &spot, &event);
}

void
message_release(struct state *s, struct message *m, uint64_t order, uint64_t now_ms)
{
    assert(m->place == PLACE_HELD || m->place == PLACE_DEAD);
    release(s, m, order, now_ms,
            m->place == PLACE_DEAD ? TRAIL_REDRIVEN : TRAIL_RELEASED);
}

void
message_remove(struct state *s, struct message *m)
{
    assert(m->place != PLACE_NONE && "this message is gone already");
    struct message_spot spot = message_spot(m);
    spot.place = PLACE_NONE;
    spot.holder = NULL;
    move(s, m, &spot, NULL);
}

void
message_to_dlq(struct state *s,
               struct message *m,
               enum dead_reason reason,
               uint64_t now_ms)
{
    assert(m->place == PLACE_WAITING || m->place == PLACE_HELD);
    assert(m->durability > 0 && "one of durability 0 cannot go to the DLQ");
    static const uint8_t kinds[DEAD_REASONS] = {
        [DEAD_NACK] = TRAIL_NACKED,
        [DEAD_MOVED] = TRAIL_MOVED,
        [DEAD_DAMAGED] = TRAIL_DAMAGED,
    };
    if (m->is_damaged)
        reason = DEAD_DAMAGED;
    struct message_spot spot = {
        .place = PLACE_DEAD,
        .order = m->order,
        .ready_ms = m->ready_ms,
        .deliveries = m->deliveries,
        .since = now_ms,
        .dead_reason = (uint8_t)reason,
    };
    struct trail_event event = {now_ms, holder_number(m), kinds[reason]};
    move(s, m, &spot, &event);
}

/* How and when a session ends. */
struct ending {
    uint64_t now_ms;
    enum trail_kind kind;
};

/* Durable ones first, in the order held: their orders must not depend on messages that
 * only the leader has. Returns the next order. */
static uint64_t
release_held(struct state *s,
             struct session *x,
             bool is_durable,
             uint64_t order,
             const struct ending *ending)
{
    LIST_FOREACH_SAFE (node, &x->held) {
        struct message *m = CONTAINER_OF(node, struct message, in_held);
        if ((m->durability > 0) == is_durable)
            release(s, m, order++, ending->now_ms, ending->kind);
    }
    return order;
}

static void
end_as(struct state *s,
       struct session *x,
       uint64_t first_order,
       const struct ending *ending)
{
    uint64_t order = release_held(s, x, true, first_order, ending);
    release_held(s, x, false, order, ending);
    unplace_session(x);
    struct note *note = journal_note(s, NOTE_SESSION_GONE);
    if (note != NULL)
        note->session.session = x;
    else
        mem_free(x);
}

void
session_end(struct state *s, struct session *x, uint64_t first_order, uint64_t now_ms)
{
    struct ending ending = {now_ms, x->is_saved ? TRAIL_EXPIRED : TRAIL_ENDED};
    end_as(s, x, first_order, &ending);
}

void
session_close(struct state *s, struct session *x, uint64_t first_order, uint64_t now_ms)
{
    struct ending ending = {now_ms, TRAIL_CLOSED};
    end_as(s, x, first_order, &ending);
}

void
queue_drop_volatile(struct state *s, struct queue *q)
{
    uint64_t left = q->counts.messages - q->counts.durable;
    struct tree_node *next = left > 0 ? tree_first(&q->messages) : NULL;
    while (next != NULL && left > 0) {
        struct message *m = CONTAINER_OF(next, struct message, in_ids);
        next = tree_next(next);
        if (m->durability > 0)
            continue;
        message_remove(s, m);
        left--;
    }
    assert(q->counts.messages == q->counts.durable);
}

void
state_drop_volatile(struct state *s)
{
    LIST_FOREACH (node, &s->queues)
        queue_drop_volatile(s, CONTAINER_OF(node, struct queue, in_state));
}

struct slice
message_body(const struct message *m)
{
    return slice_of(m->body->data, m->body_size);
}

struct slice
message_key(const struct message *m)
{
    return slice_of(m->body->data + m->body_size, m->key_size);
}
