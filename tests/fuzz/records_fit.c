/* Fit: see records_fit.h. One function a kind of record. */
#include "tests/fuzz/records_fit.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "queue/level.h"
#include "queue/sweep.h"

#include <string.h>

#define IDS 16

/* Queue numbers from here on are taken as they come. */
#define NUMBER_KEPT UINT32_C(0xfffffff0)

void
fit_bend_id(struct uuid *id)
{
    uint8_t last = id->b[UUID_SIZE - 1] % IDS;
    memset(id, 0, sizeof *id);
    id->b[UUID_SIZE - 1] = last;
}

/* As it is when it is above all orders in use, else the next one. False: there is none
 * left that a record can say. */
static bool
bend_order(const struct queue *q, uint64_t *order)
{
    if (*order < q->next_order)
        *order = q->next_order;
    return *order < RECORD_NUMBER_LIMIT;
}

static struct queue *
pick_queue(const struct state *s, uint32_t number)
{
    if (s->queue_count == 0)
        return NULL;
    struct list_node *node = list_first(&s->queues);
    for (uint32_t steps = number % s->queue_count; steps > 0; steps--)
        node = node->next;
    return CONTAINER_OF(node, struct queue, in_state);
}

static struct session *
pick_session(const struct queue *q, uint64_t number)
{
    if (q->line.count == 0)
        return NULL;
    struct tree_node *node = tree_first(&q->line);
    for (uint64_t steps = number % q->line.count; steps > 0; steps--)
        node = tree_next(node);
    return CONTAINER_OF(node, struct session, in_line);
}

static bool
fit_create(const struct state *s, struct record *record)
{
    if (record->queue < NUMBER_KEPT || record->queue < s->next_queue)
        record->queue = s->next_queue;
    return record->queue != UINT32_MAX && s->queue_count < LIMIT_QUEUES &&
           state_queue_by_name(s, record->create.name) == NULL;
}

static bool
fit_publish(const struct queue *q, struct record_publish *publish)
{
    fit_bend_id(&publish->id);
    publish->body_crc = crc32c(0, publish->body.data, publish->body.size);
    return bend_order(q, &publish->order) && queue_message(q, &publish->id) == NULL;
}

/* Whether a record of this type may meet a message in this place. */
static bool
place_fits(enum record_type type, enum place place)
{
    if (type == RECORD_ASSIGN)
        return place == PLACE_WAITING;
    if (type == RECORD_DELETE || type == RECORD_MOVE_TO_DLQ)
        return place != PLACE_DEAD;
    if (type == RECORD_DLQ_DELETE || type == RECORD_REDRIVE)
        return place == PLACE_DEAD;
    return place == PLACE_HELD; /* ack, nack, release */
}

static bool
fit_message(const struct queue *q, enum record_type type, struct record_message *fields)
{
    fit_bend_id(&fields->id);
    const struct message *m = queue_message(q, &fields->id);
    if (m == NULL || !place_fits(type, m->place))
        return false;
    if (m->durability == 0 && type != RECORD_ASSIGN)
        return false; /* passed on: gone before any other record is applied */
    if (type == RECORD_RELEASE || type == RECORD_REDRIVE)
        return bend_order(q, &fields->order);
    if (type != RECORD_ASSIGN)
        return true;
    const struct session *x = pick_session(q, fields->session);
    if (x == NULL || x->held_count >= LIMIT_CAPACITY)
        return false;
    fields->session = x->number;
    return true;
}

static bool
fit_session(const struct queue *q, enum record_type type, struct record_session *fields)
{
    if (type == RECORD_SESSION_OPEN || type == RECORD_SESSION_RESUME) {
        fit_bend_id(&fields->id);
        if (queue_session(q, &fields->id) != NULL)
            return false;
    }
    if (type == RECORD_SESSION_OPEN) {
        if (fields->session < q->next_session)
            fields->session = q->next_session;
        return fields->session < RECORD_NUMBER_LIMIT;
    }
    const struct session *x = pick_session(q, fields->session);
    if (x == NULL || (type == RECORD_SESSION_RESUME && !x->is_saved))
        return false;
    fields->session = x->number;
    return (type != RECORD_SESSION_END && type != RECORD_SESSION_CLOSE) ||
           bend_order(q, &fields->order);
}

/* So many as there are. */
static bool
fit_sweep(const struct queue *q, struct record_sweep *fields)
{
    struct sweep sweep;
    const struct message *m;
    uint32_t count = 0;
    sweep_begin(&sweep, q, fields);
    while ((m = sweep_next(&sweep)) != NULL)
        count += m->durability > 0;
    fields->count = count;
    return count > 0 && (!fields->is_redrive || bend_order(q, &fields->order));
}

/* Rows come in time order. */
static bool
fit_row(struct fit *fit, uint64_t *at_secs)
{
    if (*at_secs < fit->row_secs)
        *at_secs = fit->row_secs + *at_secs % 100000;
    if (*at_secs >= RECORD_TIME_LIMIT)
        return false;
    fit->row_secs = *at_secs;
    return true;
}

static bool
fit_in_queue(struct fit *fit, const struct queue *q, struct record *record)
{
    switch (record->type) {
    case RECORD_PUBLISH:
        return fit_publish(q, &record->publish);
    case RECORD_ASSIGN:
    case RECORD_ACK:
    case RECORD_NACK:
    case RECORD_DELETE:
    case RECORD_MOVE_TO_DLQ:
    case RECORD_DLQ_DELETE:
    case RECORD_RELEASE:
    case RECORD_REDRIVE:
        return fit_message(q, record->type, &record->message);
    case RECORD_SESSION_OPEN:
    case RECORD_SESSION_RESUME:
    case RECORD_SESSION_CAPACITY:
    case RECORD_SESSION_SAVE:
    case RECORD_SESSION_END:
    case RECORD_SESSION_RECEIVED:
    case RECORD_SESSION_CLOSE:
        return fit_session(q, record->type, &record->session);
    case RECORD_REDRIVE_SOME:
    case RECORD_PURGE:
        return fit_sweep(q, &record->sweep);
    case RECORD_STATS_ROW:
        return fit_row(fit, &record->stats.at_secs);
    case RECORD_USAGE_ROW:
        return fit_row(fit, &record->usage.at_secs);
    case RECORD_NOOP:
    case RECORD_EPOCH:
    case RECORD_LEVEL:
    case RECORD_QUEUE_CREATE:
    case RECORD_QUEUE_DELETE:
    case RECORD_LOGIN_SET:
    case RECORD_SETTINGS_SET:
    case RECORD_HISTORY_TRIM:
    case RECORD_TYPE_COUNT:
        break;
    }
    return true;
}

bool
fit_record(struct fit *fit, struct record *record)
{
    if (record->type == RECORD_NOOP || record->type == RECORD_EPOCH)
        return true;
    if (record->type == RECORD_LEVEL) {
        record->level = HF_LEVEL_FIRST + record->level % HF_LEVEL_NOW;
        return true;
    }
    if (record->type == RECORD_QUEUE_CREATE)
        return fit_create(fit->state, record);
    const struct queue *q = pick_queue(fit->state, record->queue);
    if (q == NULL)
        return false;
    record->queue = q->number;
    return fit_in_queue(fit, q, record);
}
