/* Settling: see the header. An ack is as durable as its message was: synced for
 * durability 2, without a record for durability 0 (which rests on what such a message
 * itself rests on). */
#include "broker/settle.h"

#include "broker/client.h"
#include "broker/dispatch.h"
#include "broker/effects.h"
#include "broker/inside.h"
#include "broker/session.h"

#include <assert.h>

/* 0, or the lowest code: 301 comes before what the parser may have found (302). */
static unsigned
check(const struct client *c, const struct request *r, struct message **ret_message)
{
    if (r->code != 0 && r->code < 301)
        return r->code;
    struct message *m =
        r->settle.has_id ? queue_message(c->part->queue, &r->settle.id) : NULL;
    if (m == NULL || m->place != PLACE_HELD || m->holder != c->seat->session)
        return 301;
    if (r->code != 0)
        return r->code;
    if (!r->settle.is_ack && m->durability == 0)
        return 305;
    *ret_message = m;
    return 0;
}

static uint64_t
settle(struct broker *b, struct part *part, struct message *m, bool is_ack)
{
    struct queue_totals *totals = &part->queue->totals;
    totals->acked += is_ack;
    totals->nacked += !is_ack;
    totals->dead_for[DEAD_NACK] += !is_ack;
    if (m->durability == 0) {
        message_remove(b->state, m);
        return b->volatile_tag;
    }
    uint64_t stamp_ms = batch_begin(b, m->durability == 2);
    struct record_message fields = {.id = m->id};
    if (is_ack)
        message_remove(b->state, m);
    else
        message_to_dlq(b->state, m, DEAD_NACK, stamp_ms);
    batch_add_message(b, part, is_ack ? RECORD_ACK : RECORD_NACK, &fields);
    return batch_open_number(b);
}

void
settle_handle(struct broker *b, struct client *c, struct request *r)
{
    struct message *m = NULL;
    unsigned code = check(c, r, &m);
    if (code != 0) {
        reply_refuse(b, c, r, code, batch_read_tag(b));
        seat_update(b, c->seat);
        return;
    }
    seat_message_leaves(c->seat, m);
    uint64_t tag = settle(b, c->part, m, r->settle.is_ack);
    reply_id(b, c, r, &r->settle.id, tag);
    seat_update(b, c->seat);
    dispatch(b, c->part);
}

void
capacity_handle(struct broker *b, struct client *c, struct request *r)
{
    struct session *x = c->seat->session;
    if (r->capacity < 1 || r->capacity > session_most_capacity(x->queue)) {
        reply_refuse(b, c, r, 300, batch_read_tag(b));
        return;
    }
    batch_begin(b, false);
    session_set_capacity(b->state, x, r->capacity);
    struct record_session fields = {.session = x->number, .capacity = r->capacity};
    batch_add_session(b, c->part, RECORD_SESSION_CAPACITY, &fields);
    reply_ok(b, c, r, REPLY_STATUS, batch_open_number(b));
    seat_update(b, c->seat);
    dispatch(b, c->part);
}

void
logout_handle(struct broker *b, struct client *c, struct request *r)
{
    struct part *part = c->part;
    session_logout(b, c);
    r->reply.after = AFTER_LOGOUT;
    reply_ok(b, c, r, REPLY_LOGOUT, batch_open_number(b));
    client_free(b, c);
    dispatch(b, part);
}
