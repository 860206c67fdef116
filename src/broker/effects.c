/* Effects: see the header. */
#include "broker/effects.h"

#include "base/mem.h"
#include "broker/inside.h"

#include <assert.h>

void
effect_post(struct broker *b, struct client *c, struct parcel *parcel, uint64_t tag)
{
    assert(tag <= b->batches.open);
    if (c != NULL) {
        assert(parcel->conn == c->id);
        if (tag < c->last_tag)
            tag = c->last_tag;
        c->last_tag = tag;
    }
    struct mail_chain *chain = &b->out;
    if (tag >= b->batches.first)
        chain = &batch_flight(&b->batches, tag)->effects;
    mail_chain_add(chain, &parcel->mail);
}

void
effect_close(struct broker *b, struct client *c, uint64_t tag)
{
    struct parcel *parcel = mem_calloc(1, sizeof *parcel);
    parcel->conn = c->id;
    parcel->kind = PARCEL_CLOSE;
    effect_post(b, c, parcel, tag);
}

void
reply_ok(struct broker *b,
         struct client *c,
         struct request *r,
         enum reply_shape shape,
         uint64_t tag)
{
    assert(r->reply.code == 0);
    r->reply.shape = shape;
    effect_post(b, c, &r->parcel, tag);
}

void
reply_id(struct broker *b,
         struct client *c,
         struct request *r,
         const struct uuid *id,
         uint64_t tag)
{
    r->reply.id = *id;
    reply_ok(b, c, r, REPLY_ID, tag);
}

void
reply_refuse(
    struct broker *b, struct client *c, struct request *r, unsigned code, uint64_t tag)
{
    assert(code >= BROKER_CODE_FIRST && code < BROKER_CODE_END);
    b->refusals[code - BROKER_CODE_FIRST]++;
    r->reply.code = (uint16_t)code;
    if (r->ends) {
        r->reply.after = AFTER_CLOSE;
        if (c != NULL)
            c->phase = CLIENT_ENDING;
    }
    effect_post(b, c, &r->parcel, tag);
}

void
broker_hold(struct broker *b, bool is_held)
{
    b->is_held = is_held;
}

void
broker_take_parcels(struct broker *b, struct mail_chain *out)
{
    if (!b->is_held)
        parcel_chain_move(out, &b->out);
}
