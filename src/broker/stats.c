/* Statistics: see the header. */
#include "broker/stats.h"

#include "base/mem.h"
#include "broker/inside.h"
#include "broker/timer.h"
#include "queue/history.h"

#include <assert.h>
#include <string.h>

#define USAGE_HELD   4   /* the column that is not a sum */
#define DAYS_OF_YEAR 366 /* rows are kept rather a little longer */
#define ROWS_FIRST   64
#define MISSED_MS    10000 /* a row that should have been made within this is made */

void
part_live(const struct part *part, uint64_t columns[STATS_COLUMNS])
{
    const struct queue_counts *counts = &part->queue->counts;
    const uint64_t *logged_in = part->logged_in[QUEUE_DISTRIBUTE];
    columns[0] = counts->messages;
    columns[1] = logged_in[ROLE_PUBLISHER];
    columns[2] = logged_in[ROLE_SUBSCRIBER];
    columns[3] = counts->saved_sessions;
    columns[4] = logged_in[ROLE_ADMIN];
    columns[5] = counts->held;
    columns[6] = counts->dead;
    columns[7] = part->delayed;
    columns[8] = counts->durable;
}

static uint64_t
period_secs(const struct part *part, enum setting_id id)
{
    uint64_t secs = part->queue->settings[id];
    return secs > 0 ? secs : 1;
}

static void
schedule(struct broker *b, struct part *part, enum timer_kind kind, enum setting_id id)
{
    uint64_t period_ms = 1000 * period_secs(part, id);
    uint64_t next = b->clock.time_ms / period_ms + 1;
    timer_set(b, &part->timers[kind], next * period_ms);
}

void
stats_schedule(struct broker *b, struct part *part)
{
    schedule(b, part, TIMER_STATS, SETTING_STATS_FREQUENCY_SECS);
    schedule(b, part, TIMER_USAGE, SETTING_USAGE_FREQUENCY_SECS);
}

static bool
is_missing(const struct broker *b,
           const struct part *part,
           const struct history *rows,
           enum setting_id id)
{
    uint64_t period_ms = 1000 * period_secs(part, id);
    uint64_t last_ms = 1000 * history_last_secs(rows);
    if (last_ms < part->queue->created_ms)
        last_ms = part->queue->created_ms;
    return b->clock.time_ms % period_ms < MISSED_MS &&
           last_ms / period_ms < b->clock.time_ms / period_ms;
}

void
stats_begin(struct broker *b, struct part *part)
{
    const struct queue *q = part->queue;
    stats_schedule(b, part);
    if (is_missing(b, part, q->stats, SETTING_STATS_FREQUENCY_SECS))
        timer_set(b, &part->timers[TIMER_STATS], b->clock.time_ms);
    if (is_missing(b, part, q->usage, SETTING_USAGE_FREQUENCY_SECS))
        timer_set(b, &part->timers[TIMER_USAGE], b->clock.time_ms);
}

/* The last multiple of the period. */
static uint64_t
row_time(struct broker *b, const struct part *part, enum setting_id id)
{
    uint64_t period = period_secs(part, id);
    return b->clock.time_ms / 1000 / period * period;
}

static void
add(struct broker *b, struct part *part, const struct record *record)
{
    uint64_t stamp_ms = batch_begin_now(b, false);
    state_apply_record(b->state, record, stamp_ms);
    batch_add(b, part, record);
}

/* Once a day: days that are older than the retention go, if there can be any. */
static void
trim(struct broker *b, struct part *part, bool is_usage)
{
    const struct queue *q = part->queue;
    uint64_t today = b->clock.time_ms / STATS_DAY_MS;
    uint64_t years = q->settings[is_usage ? SETTING_USAGE_RETENTION_YRS
                                          : SETTING_STATS_RETENTION_YRS];
    uint64_t kept_days = years * DAYS_OF_YEAR;
    uint64_t first_day = q->created_ms / STATS_DAY_MS;
    if (part->trimmed_day[is_usage] == today || today <= first_day + kept_days)
        return;
    part->trimmed_day[is_usage] = today;
    struct record record;
    record.type = RECORD_HISTORY_TRIM;
    record.queue = q->number;
    record.before_day = today - kept_days;
    record.trim_usage = is_usage;
    add(b, part, &record);
}

void
stats_row(struct broker *b, struct part *part)
{
    struct record record;
    record.type = RECORD_STATS_ROW;
    record.queue = part->queue->number;
    record.stats.at_secs = row_time(b, part, SETTING_STATS_FREQUENCY_SECS);
    part_live(part, record.stats.columns);
    add(b, part, &record);
    trim(b, part, false);
    schedule(b, part, TIMER_STATS, SETTING_STATS_FREQUENCY_SECS);
}

void
usage_row(struct broker *b, struct part *part)
{
    struct record record;
    record.type = RECORD_USAGE_ROW;
    record.queue = part->queue->number;
    record.usage = (struct record_usage_row){
        .at_secs = row_time(b, part, SETTING_USAGE_FREQUENCY_SECS),
        .columns = {part->net_sent, part->net_received, part->written, 0,
                    part->queue->counts.memory_bytes},
        .has_ipv4 = b->has_ipv4,
    };
    part->net_sent = part->net_received = part->written = 0;
    add(b, part, &record);
    trim(b, part, true);
    schedule(b, part, TIMER_USAGE, SETTING_USAGE_FREQUENCY_SECS);
}

void
broker_add_usage(struct broker *b, uint32_t queue, uint64_t sent, uint64_t received)
{
    const struct queue *q = b->is_leading ? state_queue(b->state, queue) : NULL;
    if (q == NULL)
        return;
    part_of(q)->net_sent += sent;
    part_of(q)->net_received += received;
}

void
broker_queue_live(const struct broker *b,
                  const struct queue *q,
                  struct queue_live *ret_live)
{
    struct part nobody = {.queue = (struct queue *)(uintptr_t)q};
    const struct part *part = b->is_leading ? part_of(q) : &nobody;
    part_live(part, ret_live->columns);
    ret_live->copy_publishers = part->logged_in[QUEUE_COPY][ROLE_PUBLISHER];
    ret_live->copy_subscribers = part->logged_in[QUEUE_COPY][ROLE_SUBSCRIBER];
}

uint64_t
broker_refusals(const struct broker *b, unsigned code)
{
    assert(code >= BROKER_CODE_FIRST && code < BROKER_CODE_END);
    return b->refusals[code - BROKER_CODE_FIRST];
}

struct collector {
    struct history_view *rows;
    uint32_t count;
    uint32_t capacity;
    uint32_t columns;
    bool is_failed;
};

static void
collect_row(void *ctx, const struct history_row *row)
{
    struct collector *to = ctx;
    if (to->is_failed)
        return;
    if (to->count == to->capacity) {
        uint32_t capacity = to->capacity == 0 ? ROWS_FIRST : to->capacity * 2;
        void *rows = mem_try_realloc(to->rows, capacity * sizeof *to->rows);
        if (rows == NULL) {
            to->is_failed = true;
            return;
        }
        to->rows = rows;
        to->capacity = capacity;
    }
    struct history_view *view = &to->rows[to->count++];
    *view = (struct history_view){.at_secs = row->at_secs};
    for (uint32_t i = 0; i < to->columns; i++)
        view->columns[i] = row->columns[i];
    if (to->columns == USAGE_COLUMNS)
        view->has_ipv4 = (uint8_t)row->columns[USAGE_COLUMNS];
}

enum status
stats_read(const struct part *part,
           bool is_usage,
           uint64_t day,
           struct history_view **ret_rows,
           uint32_t *ret_count)
{
    const struct queue *q = part->queue;
    struct collector to = {.columns = is_usage ? USAGE_COLUMNS : STATS_COLUMNS};
    history_day(is_usage ? q->usage : q->stats, day, collect_row, &to);
    if (to.is_failed) {
        mem_free(to.rows);
        return ST_NOMEM;
    }
    *ret_rows = to.rows;
    *ret_count = to.count;
    return ST_OK;
}

struct history_view
stats_summary(const struct history_view *rows, uint32_t count, bool is_usage)
{
    assert(count > 0);
    struct history_view sum = {.has_ipv4 = rows[count - 1].has_ipv4};
    for (uint32_t row = 0; row < count; row++) {
        for (uint32_t i = 0; i < STATS_COLUMNS; i++)
            sum.columns[i] += rows[row].columns[i];
    }
    for (uint32_t i = 0; i < STATS_COLUMNS; i++) {
        if (!is_usage || i == USAGE_HELD)
            sum.columns[i] = (sum.columns[i] + count / 2) / count;
    }
    return sum;
}
