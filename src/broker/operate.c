/* Operating: what the node's operator decides about queues, logins, settings and dead
 * letters (holdfastctl, by the control socket). Each is a record like any other; the
 * caller waits for the batch it was given. */
#include "broker/operate.h"

#include "base/mem.h"
#include "broker/admin.h"
#include "broker/broker.h"
#include "broker/client.h"
#include "broker/delay.h"
#include "broker/dispatch.h"
#include "broker/effects.h"
#include "broker/inside.h"
#include "broker/part.h"
#include "broker/session.h"
#include "queue/level.h"

#include <assert.h>
#include <string.h>

static bool
is_name_char(uint8_t c, bool is_end)
{
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    return is_plain || (c == '-' && !is_end);
}

static bool
is_queue_name(struct slice name)
{
    if (name.size < 1 || name.size > LIMIT_QUEUE_NAME_BYTES)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        if (!is_name_char(name.data[i], i == 0 || i == name.size - 1))
            return false;
    }
    return true;
}

/* Applies and adds a record about queues; returns its batch. */
static uint64_t
decide(struct broker *b, const struct record *record)
{
    uint64_t stamp_ms = batch_begin(b, true);
    state_apply_record(b->state, record, stamp_ms);
    batch_add(b, NULL, record);
    batch_set_config(b);
    return batch_open_number(b);
}

uint32_t
broker_level(const struct broker *b)
{
    return b->state->level;
}

bool
broker_is_new_cluster(const struct broker *b)
{
    return b->state->next_queue == 1;
}

enum status
broker_raise_level(struct broker *b, uint32_t level, uint64_t *ret_batch)
{
    if (!b->is_leading)
        return ST_NOTLEADER;
    if (level > HF_LEVEL_NOW)
        return ST_RANGE;
    if (level <= b->state->level)
        return ST_EXISTS;
    struct record record;
    record.type = RECORD_LEVEL;
    record.queue = 0;
    record.level = level;
    *ret_batch = decide(b, &record);
    return ST_OK;
}

enum status
broker_create_queue(struct broker *b,
                    const struct queue_spec *spec,
                    uint64_t *ret_batch)
{
    struct state *s = b->state;
    if (!b->is_leading)
        return ST_NOTLEADER;
    if (!is_queue_name(spec->name))
        return ST_INVALID;
    if (state_queue_by_name(s, spec->name) != NULL)
        return ST_EXISTS;
    if (s->queue_count >= LIMIT_QUEUES)
        return ST_RANGE;
    if (b->is_full)
        return ST_FULL;
    struct record record;
    record.type = RECORD_QUEUE_CREATE;
    record.queue = s->next_queue;
    record.create.name = spec->name;
    record.create.tier = spec->tier;
    memcpy(record.create.settings, spec->settings, sizeof spec->settings);
    memcpy(record.create.logins, spec->logins, sizeof spec->logins);
    batch_begin_now(b, true); /* created_ms is the stamp */
    *ret_batch = decide(b, &record);
    part_new(b, state_queue(s, record.queue));
    return ST_OK;
}

enum status
broker_delete_queue(struct broker *b, struct slice name, uint64_t *ret_batch)
{
    struct queue *q = NULL;
    enum status st = part_led_queue(b, name, &q);
    if (st != ST_OK)
        return st;
    struct part *part = part_of(q);
    struct record record;
    record.type = RECORD_QUEUE_DELETE;
    record.queue = q->number;
    batch_begin(b, true);
    uint64_t number = batch_open_number(b);
    LIST_FOREACH_SAFE (node, &part->clients) {
        struct client *c = CONTAINER_OF(node, struct client, in_part);
        effect_close(b, c, number);
        c->seat = NULL;
        client_free(b, c);
    }
    part_free(b, part);
    *ret_batch = decide(b, &record);
    assert(*ret_batch == number);
    return ST_OK;
}

enum status
broker_set_login(struct broker *b,
                 struct slice name,
                 const struct record_login_set *set,
                 uint64_t *ret_batch)
{
    struct queue *q = NULL;
    enum status st = part_led_queue(b, name, &q);
    if (st != ST_OK)
        return st;
    struct record record;
    record.type = RECORD_LOGIN_SET;
    record.queue = q->number;
    record.login = *set;
    *ret_batch = decide(b, &record);
    return ST_OK;
}

enum status
broker_set_settings(struct broker *b,
                    struct slice name,
                    const struct record_settings_set *set,
                    uint64_t *ret_batch)
{
    struct queue *q = NULL;
    enum status st = part_led_queue(b, name, &q);
    if (st != ST_OK)
        return st;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct setting_info *info = setting_info(set->items[i].id);
        if (set->items[i].value < info->least || set->items[i].value > info->most)
            return ST_RANGE;
    }
    struct record record;
    record.type = RECORD_SETTINGS_SET;
    record.queue = q->number;
    record.settings = *set;
    *ret_batch = decide(b, &record);
    admin_settings_changed(b, part_of(q));
    return ST_OK;
}

enum status
broker_end_session(struct broker *b,
                   struct slice name,
                   uint64_t number,
                   uint64_t *ret_batch)
{
    struct queue *q = NULL;
    enum status st = part_led_queue(b, name, &q);
    struct session *x = st == ST_OK ? queue_session_by_number(q, number) : NULL;
    if (x == NULL)
        return st == ST_OK ? ST_NOTFOUND : st;
    struct client *c = seat_of(x)->client;
    session_finish(b, seat_of(x));
    *ret_batch = batch_open_number(b);
    if (c != NULL) {
        effect_close(b, c, *ret_batch);
        client_free(b, c);
    }
    dispatch(b, part_of(q));
    return ST_OK;
}

uint32_t
broker_close_role(struct broker *b,
                  struct slice name,
                  enum login_role role,
                  uint64_t batch)
{
    struct queue *q = NULL;
    uint32_t count = 0;
    if (part_led_queue(b, name, &q) != ST_OK)
        return 0;
    LIST_FOREACH (node, &part_of(q)->clients) {
        struct client *c = CONTAINER_OF(node, struct client, in_part);
        if (c->role != role || c->phase != CLIENT_OPEN)
            continue;
        effect_close(b, c, batch);
        c->phase = CLIENT_ENDING;
        if (c->seat != NULL)
            seat_update(b, c->seat); /* it gets nothing more */
        count++;
    }
    return count;
}

bool
broker_session_is_live(const struct session *x)
{
    return x->leader != NULL && seat_of(x)->client != NULL;
}

uint64_t
broker_logged_in(const struct queue *q, enum login_role role)
{
    const struct part *part = part_of(q);
    return part == NULL ? 0
                        : part->logged_in[QUEUE_DISTRIBUTE][role] +
                              part->logged_in[QUEUE_COPY][role];
}

enum status
broker_redrive(struct broker *b,
               struct slice name,
               const struct uuid *id,
               uint64_t *ret_batch)
{
    struct queue *q = NULL;
    enum status st = part_led_queue(b, name, &q);
    if (st != ST_OK)
        return st;
    struct message *m = queue_message(q, id);
    if (m == NULL || m->place != PLACE_DEAD)
        return ST_NOTFOUND;
    if (m->is_damaged)
        return ST_CORRUPT;
    if (b->is_full)
        return ST_FULL;
    struct part *part = part_of(q);
    uint64_t stamp_ms = batch_begin_now(b, m->durability == 2);
    struct record_message fields = {.id = m->id, .order = q->next_order};
    message_release(b->state, m, fields.order, stamp_ms);
    q->totals.redriven++;
    batch_add_message(b, part, RECORD_REDRIVE, &fields);
    *ret_batch = batch_open_number(b);
    delay_message_waits(b, part, m);
    dispatch(b, part);
    return ST_OK;
}
