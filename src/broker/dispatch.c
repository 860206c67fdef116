/* Dispatch: see the header. seat->next_emit is where the emission stands: everything
 * behind it in the held list is still to be emitted, and a seat that has something to
 * emit has no room for more. */
#include "broker/dispatch.h"

#include "base/mem.h"
#include "broker/delay.h"
#include "broker/effects.h"
#include "broker/inside.h"

#include <assert.h>

#define DELIVERY_EXTRA_BYTES 128

struct delivery *
delivery_new(const struct client *c, struct blob *body, uint8_t key_size)
{
    struct delivery *d = mem_alloc(sizeof *d);
    *d = (struct delivery){
        .parcel.conn = c->id,
        .parcel.kind = PARCEL_DELIVERY,
        .body = blob_get(body),
        .body_size = body->size - key_size,
        .key_size = key_size,
        .charge_bytes = body->size + DELIVERY_EXTRA_BYTES,
    };
    return d;
}

void
client_deliver(struct broker *b, struct client *c, struct delivery *d, uint64_t tag)
{
    c->delivered++;
    c->charged += d->charge_bytes;
    effect_post(b, c, &d->parcel, tag);
}

static uint64_t
unsent_bytes(const struct client *c)
{
    return c->charged > c->sent ? c->charged - c->sent : 0;
}

static bool
may_emit(const struct client *c)
{
    uint64_t unsent = unsent_bytes(c);
    uint64_t most = c->part->queue->settings[SETTING_MAX_WRITE_QUEUE_BYTES];
    return c->phase == CLIENT_OPEN && (unsent == 0 || unsent < most / 2);
}

/* A durable message rests on its ASSIGN, one of durability 0 on its id alone. */
static void
emit(struct broker *b, struct seat *seat, struct message *m)
{
    struct client *c = seat->client;
    struct delivery *d = delivery_new(c, m->body, m->key_size);
    d->id = m->id;
    d->has_id = true;
    d->type = m->type;
    d->received_ms = m->received_ms;
    client_deliver(b, c, d, m->durability > 0 ? seat->assign_tag : b->volatile_tag);
    m->sent_mark = c->delivered;
}

static struct message *
next_held(const struct seat *seat, const struct message *m)
{
    struct list_node *next = m->in_held.next;
    if (next == &seat->session->held.head)
        return NULL;
    return CONTAINER_OF(next, struct message, in_held);
}

static void
emit_all(struct broker *b, struct seat *seat)
{
    while (seat->next_emit != NULL && may_emit(seat->client)) {
        struct message *m = seat->next_emit;
        seat->next_emit = next_held(seat, m);
        if (seat->is_replay || !m->was_sent)
            emit(b, seat, m);
    }
    if (seat->next_emit == NULL)
        seat->is_replay = false;
}

bool
seat_has_room(const struct seat *seat)
{
    const struct session *x = seat->session;
    return seat->client != NULL && seat->next_emit == NULL &&
           x->held_count < x->capacity && may_emit(seat->client);
}

void
seat_update(struct broker *b, struct seat *seat)
{
    if (seat->client != NULL)
        emit_all(b, seat);
    bool has_room = seat_has_room(seat);
    if (has_room == tree_is_linked(&seat->in_room))
        return;
    if (has_room)
        tree_insert(&seat->part->room, &seat->in_room);
    else
        tree_remove(&seat->part->room, &seat->in_room);
}

void
seat_message_leaves(struct seat *seat, struct message *m)
{
    assert(m->holder == seat->session);
    if (seat->next_emit == m)
        seat->next_emit = next_held(seat, m);
}

static void
assign(struct broker *b, struct part *part, struct message *m, struct seat *seat)
{
    struct session *x = seat->session;
    delay_message_leaves(part, m);
    if (m->durability > 0) {
        uint64_t stamp_ms = batch_begin(b, false);
        message_assign(b->state, m, x, stamp_ms);
        struct record_message fields = {.id = m->id, .session = x->number};
        batch_add_message(b, part, RECORD_ASSIGN, &fields);
        seat->assign_tag = batch_open_number(b);
    } else {
        message_assign(b->state, m, x, b->clock.time_ms);
        if (!x->has_received) {
            batch_begin(b, false);
            session_received(b->state, x);
            struct record_session fields = {.session = x->number};
            batch_add_session(b, part, RECORD_SESSION_RECEIVED, &fields);
        }
    }
    part->queue->totals.delivered++;
    part->queue->totals.redelivered += m->deliveries > 1;
    assert(seat->next_emit == NULL); /* it had room */
    seat->next_emit = m;
    seat_update(b, seat);
}

void
dispatch(struct broker *b, struct part *part)
{
    struct tree_node *waiting;
    struct tree_node *room;
    while ((waiting = tree_first(&part->queue->waiting)) != NULL &&
           (room = tree_first(&part->room)) != NULL) {
        struct message *m = CONTAINER_OF(waiting, struct message, in_waiting);
        if (m->ready_ms > b->clock.time_ms)
            return;
        if (b->assigns_left == 0) {
            if (!list_is_linked(&part->in_dirty))
                list_push_back(&b->dirty, &part->in_dirty);
            return;
        }
        b->assigns_left--;
        assign(b, part, m, CONTAINER_OF(room, struct seat, in_room));
    }
}

void
dispatch_dirty(struct broker *b)
{
    struct list_node *node;
    while (b->assigns_left > 0 && (node = list_pop_front(&b->dirty)) != NULL)
        dispatch(b, CONTAINER_OF(node, struct part, in_dirty));
}

void
client_progress(struct broker *b, struct client *c, const struct signal *signal)
{
    if (signal->bytes_sent > c->sent)
        c->sent = signal->bytes_sent;
    if (signal->frames_sent > c->frames_sent)
        c->frames_sent = signal->frames_sent;
    if (c->seat == NULL)
        return;
    seat_update(b, c->seat);
    dispatch(b, c->part);
}
