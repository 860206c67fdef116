/* Publishing: see the header.
 *
 * A durable message rests on its own record. One of durability 0 has none; but its id
 * may not be seen while it is further ahead of the last committed stamp than a new
 * leader's floor (LIMIT_ID_AHEAD_MS), so when nothing else moves the log a clock record
 * is put in, early enough that nobody waits for it, and waited for when it is late. */
#include "broker/publish.h"

#include "base/crc32c.h"
#include "broker/copy.h"
#include "broker/delay.h"
#include "broker/dispatch.h"
#include "broker/effects.h"
#include "broker/inside.h"

#include <assert.h>

#define ID_MARGIN_MS    200
#define CLOCK_AFTER_MS  (LIMIT_ID_AHEAD_MS / 2)
#define COST_EXTRA      256 /* as message_cost_bytes() */
/* An entry takes it behind others; only a setting beyond its range lets more come here.
 */
#define BODY_MOST_BYTES (LIMIT_ENTRY_BYTES - LIMIT_ENTRY_CLOSE_BYTES - 4096)

unsigned
publish_check(const struct broker *b,
              const struct part *part,
              enum queue_type type,
              const struct publish_fields *fields)
{
    assert(fields->body != NULL);
    const struct queue *q = part->queue;
    if (type == QUEUE_COPY)
        return 0;
    if (q->counts.messages >= q->settings[SETTING_MAX_MESSAGES])
        return 210;
    uint64_t cost = (uint64_t)fields->body->size + COST_EXTRA;
    if (q->counts.memory_bytes + cost > q->settings[SETTING_MAX_MESSAGES_MEMORY])
        return 211;
    if (fields->body->size > BODY_MOST_BYTES)
        return 211;
    return b->is_full && fields->durability > 0 ? 502 : 0;
}

static void
add_record(struct broker *b, struct part *part, const struct record_publish *fields)
{
    struct record record;
    record.type = RECORD_PUBLISH;
    record.queue = part->queue->number;
    record.publish = *fields;
    batch_add(b, part, &record);
}

/* What the id of a message of durability 0 rests on. */
static uint64_t
tag_of_id(struct broker *b, const struct uuid *id)
{
    uint64_t committed_ms = b->batches.committed_ms;
    if (uuid7_ms(id) > committed_ms + LIMIT_ID_AHEAD_MS - ID_MARGIN_MS)
        b->volatile_tag = batch_barrier(b);
    else if (b->clock.time_ms > committed_ms + CLOCK_AFTER_MS && batch_is_idle(b))
        batch_barrier(b);
    return b->volatile_tag;
}

struct uuid
publish_message(struct broker *b,
                struct part *part,
                struct publish_fields *fields,
                uint64_t *ret_tag)
{
    struct queue *q = part->queue;
    struct blob *body = fields->body;
    fields->body = NULL;
    uint32_t body_size = body->size - fields->key_size;
    struct record_publish publish = {
        .id = clock_message_id(&b->clock),
        .order = q->next_order,
        .received_ms = b->clock.time_ms,
        .delay_secs = fields->delay_secs,
        .type = fields->type,
        .durability = fields->durability,
        .key = slice_of(body->data + body_size, fields->key_size),
        .body = slice_of(body->data, body_size),
        .body_crc = crc32c(0, body->data, body_size),
    };
    q->totals.received++;
    q->totals.received_bytes += body_size;
    struct message *m;
    if (fields->durability > 0) {
        batch_begin(b, fields->durability == 2);
        m = queue_publish(b->state, q, &publish, body, fields->key_size);
        add_record(b, part, &publish);
        *ret_tag = batch_open_number(b);
    } else {
        m = queue_publish(b->state, q, &publish, body, fields->key_size);
        *ret_tag = tag_of_id(b, &publish.id);
    }
    delay_message_waits(b, part, m);
    return publish.id;
}

void
publish_accept(struct broker *b,
               struct client *c,
               struct request *r,
               struct publish_fields *fields)
{
    if (c->type == QUEUE_COPY) {
        r->reply.number = copy_publish(b, c->part, fields);
        reply_ok(b, c, r, REPLY_SUBSCRIBERS, TAG_NONE);
        return;
    }
    uint64_t tag;
    struct uuid id = publish_message(b, c->part, fields, &tag);
    reply_id(b, c, r, &id, tag);
    dispatch(b, c->part);
}

void
publish_handle(struct broker *b, struct client *c, struct request *r)
{
    unsigned code = publish_check(b, c->part, c->type, &r->publish);
    if (code != 0) {
        reply_refuse(b, c, r, code, batch_read_tag(b));
        return;
    }
    publish_accept(b, c, r, &r->publish);
}
