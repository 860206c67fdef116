/* Bulk: redriving and purging many messages with one record.
 *
 * First it looks which ones fit, then the record and the moves: the same iteration over
 * the same messages, as followers will do it. The leader does its own bookkeeping for
 * each (delays, what a connection was sent), which is why it does not simply apply its
 * record. */
#include "broker/operate.h"

#include "broker/admin.h"
#include "broker/broker.h"
#include "broker/delay.h"
#include "broker/dispatch.h"
#include "broker/inside.h"
#include "broker/part.h"
#include "queue/level.h"
#include "queue/sweep.h"

#include <assert.h>
#include <string.h>

/* What was found, for the record. */
struct found {
    struct record_sweep fields; /* count is of the durable ones */
    bool is_sync;
};

static const struct message *
message_of(const struct tree_node *node)
{
    return CONTAINER_OF(node, struct message, in_ids);
}

static int
compare_id(const void *key, const struct tree_node *node)
{
    return uuid_compare(key, &message_of(node)->id);
}

static void
note_found(const struct message *m, struct found *found, struct bulk_result *result)
{
    if (result->count++ == 0)
        found->fields.first = m->id;
    found->fields.last = m->id;
    found->fields.count += m->durability > 0;
    found->is_sync = found->is_sync || m->durability == 2;
}

/* Fills in everything but order. */
static void
look(const struct queue *q,
     const struct bulk *bulk,
     struct found *found,
     struct bulk_result *result)
{
    const struct tree *ids = bulk->places == SWEEP_DEAD ? &q->dead : &q->messages;
    struct tree_node *node = bulk->has_after
                                 ? tree_lower(ids, &bulk->after, true, compare_id)
                                 : tree_first(ids);
    uint32_t most = bulk->most == 0 ? UINT32_MAX : bulk->most;
    uint32_t seen = 0;
    found->fields = (struct record_sweep){.places = bulk->places,
                                          .reasons = bulk->reasons,
                                          .is_redrive = bulk->is_redrive,
                                          .before_ms = bulk->before_ms,
                                          .key = bulk->key};
    if (bulk->has_last)
        result->last = bulk->last;
    else if (ids->count > 0)
        result->last = message_of(tree_last(ids))->id;
    for (; node != NULL; node = tree_next(node)) {
        const struct message *m = message_of(node);
        if (uuid_compare(&m->id, &result->last) > 0)
            return;
        if (seen++ == LIMIT_SWEEP_MESSAGES || result->count == most) {
            result->has_more = true;
            return;
        }
        result->seen = m->id;
        if (sweep_fits(&found->fields, m))
            note_found(m, found, result);
    }
}

/* Held ones too: who was handed it is told. */
static void
purge_one(struct broker *b, struct part *part, struct message *m)
{
    struct seat *seat = m->place == PLACE_HELD ? seat_of(m->holder) : NULL;
    bool is_durable = m->durability > 0;
    struct client *c = admin_who_knows(m);
    struct uuid id = m->id;
    delay_message_leaves(part, m);
    if (seat != NULL)
        seat_message_leaves(seat, m);
    message_remove(b->state, m);
    if (c != NULL)
        admin_notify(b, c, &id, false, is_durable ? batch_open_number(b) : TAG_NONE);
}

static void
update_seats(struct broker *b, struct part *part)
{
    struct tree_node *next = tree_first(&part->queue->line);
    while (next != NULL) { /* bound: the queue's sessions */
        struct session *x = CONTAINER_OF(next, struct session, in_line);
        next = tree_next(next);
        seat_update(b, seat_of(x));
    }
}

static void
move_all(struct broker *b,
         struct part *part,
         const struct record_sweep *fields,
         uint64_t stamp_ms)
{
    struct sweep sweep;
    struct message *m;
    uint64_t order = fields->order;
    sweep_begin(&sweep, part->queue, fields);
    while ((m = sweep_next(&sweep)) != NULL) { /* bound: LIMIT_SWEEP_MESSAGES */
        if (fields->is_redrive) {
            message_release(b->state, m, order++, stamp_ms);
            delay_message_waits(b, part, m);
        } else {
            purge_one(b, part, m);
        }
    }
    assert(!fields->is_redrive || order - fields->order == fields->count);
}

static void
decide(struct broker *b, struct part *part, struct found *found)
{
    struct record record;
    record.type = found->fields.is_redrive ? RECORD_REDRIVE_SOME : RECORD_PURGE;
    record.queue = part->queue->number;
    uint64_t stamp_ms = b->clock.time_ms;
    if (found->fields.count > 0)
        stamp_ms = batch_begin_now(b, found->is_sync);
    if (found->fields.is_redrive)
        found->fields.order = part->queue->next_order;
    record.sweep = found->fields;
    move_all(b, part, &found->fields, stamp_ms);
    if (found->fields.count > 0)
        batch_add(b, part, &record);
}

enum status
bulk_run(struct broker *b,
         struct part *part,
         const struct bulk *bulk,
         bool is_dry,
         struct bulk_result *ret_result)
{
    struct found found = {.is_sync = false};
    struct bulk_result result = {.count = 0};
    struct queue_totals *totals = &part->queue->totals;
    assert(!bulk->is_redrive || bulk->places == SWEEP_DEAD);
    if (b->state->level < HF_LEVEL_SWEEPS)
        return ST_VERSION;
    if (bulk->is_redrive && b->is_full && !is_dry)
        return ST_FULL;
    look(part->queue, bulk, &found, &result);
    if (!is_dry && result.count > 0) {
        decide(b, part, &found);
        if (bulk->is_redrive)
            totals->redriven += result.count;
        else
            totals->deleted += result.count;
        if ((bulk->places & SWEEP_HELD) != 0)
            update_seats(b, part);
    }
    result.batch = batch_barrier(b);
    dispatch(b, part);
    *ret_result = result;
    return ST_OK;
}

enum status
broker_bulk(struct broker *b,
            struct slice name,
            const struct bulk *bulk,
            bool is_dry,
            struct bulk_result *ret_result)
{
    struct queue *q = NULL;
    enum status st = part_led_queue(b, name, &q);
    return st == ST_OK ? bulk_run(b, part_of(q), bulk, is_dry, ret_result) : st;
}
