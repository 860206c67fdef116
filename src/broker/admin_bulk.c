/* Administrators: redrive and purge: one request is one record. */
#include "broker/admin_bulk.h"

#include "broker/broker.h"
#include "broker/effects.h"
#include "broker/inside.h"
#include "broker/operate.h"
#include "queue/sweep.h"

#define CODE_NO_MESSAGE 301
#define CODE_NO_LEVEL   419
#define CODE_DAMAGED    420
#define CODE_NO_ROOM    502

static unsigned
code_of(enum status st)
{
    switch (st) {
    case ST_OK:
        return 0;
    case ST_NOTFOUND:
        return CODE_NO_MESSAGE;
    case ST_CORRUPT:
        return CODE_DAMAGED;
    case ST_VERSION:
        return CODE_NO_LEVEL;
    case ST_FULL:
        return CODE_NO_ROOM;
    case ST_AGAIN:
    case ST_NOMEM:
    case ST_INVALID:
    case ST_RANGE:
    case ST_EXISTS:
    case ST_NOTLEADER:
    case ST_CLOSED:
    case ST_TIMEOUT:
    case ST_DENIED:
    case ST_CONFLICT:
    case ST_IO:
        break;
    }
    return 500;
}

static struct bulk
bulk_of(const struct broker *b, const struct admin_fields *fields)
{
    static const uint8_t places[] = {
        [BULK_WAITING] = SWEEP_WAITING,
        [BULK_ALL] = SWEEP_WAITING | SWEEP_HELD,
        [BULK_DLQ] = SWEEP_DEAD,
    };
    const struct admin_bulk *from = &fields->bulk;
    uint64_t older_ms = (uint64_t)1000 * from->older_secs;
    struct bulk bulk = {
        .is_redrive = fields->command == ADMIN_REDRIVE,
        .places = places[from->place],
        .reasons = from->reasons,
        .has_after = from->has_after,
        .after = from->after,
        .key = slice_of(from->key, from->key_size),
        .most = fields->count,
    };
    if (older_ms > 0) /* before 1: none died then */
        bulk.before_ms = older_ms < b->clock.time_ms ? b->clock.time_ms - older_ms : 1;
    return bulk;
}

static enum status
run(struct broker *b, struct client *c, struct request *r, uint64_t *ret_tag)
{
    struct part *part = c->part;
    struct bulk_result result;
    enum status st = ST_NOTFOUND;
    if (r->admin->bulk.is_one) {
        struct slice name = slice_from_text(part->queue->name);
        if (r->admin->has_id)
            st = broker_redrive(b, name, &r->admin->id, ret_tag);
        if (st == ST_OK) {
            r->reply.number = 1;
            r->reply.id = r->admin->id;
        }
        return st;
    }
    struct bulk bulk = bulk_of(b, r->admin);
    st = bulk_run(b, part, &bulk, r->admin->bulk.is_dry, &result);
    if (st != ST_OK)
        return st;
    r->reply.number = result.count;
    r->reply.has_more = result.has_more;
    r->reply.id = result.seen;
    *ret_tag = result.batch;
    return ST_OK;
}

void
admin_bulk(struct broker *b, struct client *c, struct request *r)
{
    uint64_t tag = 0;
    unsigned code = r->code != 0 ? r->code : code_of(run(b, c, r, &tag));
    if (code != 0)
        reply_refuse(b, c, r, code, batch_barrier(b));
    else
        reply_ok(b, c, r, REPLY_BULK, tag);
}
