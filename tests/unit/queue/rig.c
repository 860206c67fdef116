/* Rig: see rig.h. */
#include "rig.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "queue/level.h"
#include "queue/sweep.h"

#include <check.h>
#include <string.h>

#define START_MS 1800000000000u

uint64_t
rig_random(struct rig *rig, uint64_t below)
{
    uint64_t z = rig->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

void
rig_init(struct rig *rig, uint64_t seed)
{
    memset(rig, 0, sizeof *rig);
    rig->random = seed;
    rig->now_ms = START_MS;
    rig->a = state_new();
    rig->b = state_new();
    rig->journal = journal_new();
    rig->a->journal = rig->journal;
}

void
rig_fini(struct rig *rig)
{
    state_free(rig->a);
    state_free(rig->b);
    journal_free(rig->journal);
    for (int i = 0; i < RIG_IN_FLIGHT_MAX; i++)
        bytes_fini(&rig->in_flight[i].bytes);
    bytes_fini(&rig->entry);
}

void
rig_begin(struct rig *rig)
{
    ck_assert(!rig->has_turn);
    rig->now_ms += rig_random(rig, 50);
    bytes_clear(&rig->entry);
    entry_begin(&rig->entry, rig->now_ms);
    rig->has_turn = true;
}

void
rig_end(struct rig *rig)
{
    ck_assert(rig->has_turn && rig->in_flight_count < RIG_IN_FLIGHT_MAX);
    rig->index += 1 + rig_random(rig, 2);
    journal_mark(rig->a, rig->index, rig->now_ms);
    struct bytes *kept = &rig->in_flight[rig->in_flight_count].bytes;
    bytes_clear(kept);
    bytes_put(kept, rig->entry.data, rig->entry.size);
    rig->in_flight[rig->in_flight_count++].index = rig->index;
    rig->has_turn = false;
}

void
rig_log(struct rig *rig, const struct record *record)
{
    ck_assert(rig->has_turn);
    entry_add(&rig->entry, record);
}

void
rig_do(struct rig *rig, const struct record *record)
{
    rig_log(rig, record);
    state_apply_record(rig->a, record, rig->now_ms);
}

void
rig_commit(struct rig *rig, uint32_t count)
{
    ck_assert(count <= rig->in_flight_count);
    if (count == 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct slice entry =
            slice_of(rig->in_flight[i].bytes.data, rig->in_flight[i].bytes.size);
        state_apply(rig->b, rig->in_flight[i].index, entry);
    }
    journal_commit(rig->a, rig->in_flight[count - 1].index);
    for (uint32_t i = 0; i < count; i++)
        bytes_fini(&rig->in_flight[i].bytes);
    rig->in_flight_count -= count;
    memmove(&rig->in_flight[0], &rig->in_flight[count],
            rig->in_flight_count * sizeof rig->in_flight[0]);
    memset(&rig->in_flight[rig->in_flight_count], 0, count * sizeof rig->in_flight[0]);
}

void
rig_rollback(struct rig *rig)
{
    state_drop_volatile(rig->a);
    journal_rollback(rig->a);
    ck_assert(journal_is_empty(rig->journal));
    rig->in_flight_count = 0;
    rig->has_turn = false;
    rig->index = rig->b->applied;
    ck_assert_uint_eq(rig->a->applied, rig->b->applied);
    ck_assert_uint_eq(rig->a->stamp_ms, rig->b->stamp_ms);
}

struct uuid
rig_id(struct rig *rig)
{
    uint64_t n = rig->next_id++;
    return uuid7_make(rig->now_ms, (uint16_t)(n & 0xfff), n);
}

static struct login_secret
sample_login(const char *name)
{
    struct login_secret login = {.n = 16384, .r = 8, .p = 1};
    login.username_size = (uint8_t)strlen(name);
    memcpy(login.username, name, login.username_size);
    memset(login.salt, 0x5a, sizeof login.salt);
    memset(login.hash, 0xa5, sizeof login.hash);
    return login;
}

struct queue *
rig_queue(struct rig *rig, const char *name, uint64_t max_tasks)
{
    struct record record = {.type = RECORD_QUEUE_CREATE, .queue = rig->a->next_queue};
    record.create.name = slice_from_text(name);
    settings_defaults(TIER_STANDARD, (uint64_t)1 << 30, record.create.settings);
    record.create.settings[SETTING_MAX_TASKS] = max_tasks;
    for (int i = 0; i < ROLE_COUNT; i++)
        record.create.logins[i] = sample_login("somebody");
    rig_do(rig, &record);
    return state_queue_by_name(rig->a, slice_from_text(name));
}

struct message *
rig_publish(struct rig *rig, struct queue *q, uint8_t durability, const char *body)
{
    struct record record = {.type = RECORD_PUBLISH, .queue = q->number};
    struct record_publish *publish = &record.publish;
    publish->id = rig_id(rig);
    publish->order = q->next_order;
    publish->received_ms = rig->now_ms;
    publish->delay_secs =
        rig_random(rig, 4) == 0 ? (uint32_t)rig_random(rig, 172801) : 0;
    publish->type = 1;
    publish->durability = durability;
    publish->key = slice_from_text(rig_random(rig, 3) == 0 ? "order-1234" : "");
    publish->body = slice_from_text(body);
    publish->body_crc = crc32c(0, publish->body.data, publish->body.size);
    if (durability > 0)
        rig_log(rig, &record);
    struct bytes joined = {0};
    bytes_put_slice(&joined, publish->body);
    bytes_put_slice(&joined, publish->key);
    struct blob *blob = blob_copy(slice_of(joined.data, joined.size));
    bytes_fini(&joined);
    return queue_publish(rig->a, q, publish, blob, (uint8_t)publish->key.size);
}

struct session *
rig_session(struct rig *rig, struct queue *q, uint32_t capacity)
{
    struct record record = {.type = RECORD_SESSION_OPEN, .queue = q->number};
    record.session.session = q->next_session;
    record.session.id = rig_id(rig);
    record.session.capacity = capacity;
    rig_log(rig, &record);
    return session_open(rig->a, q, record.session.session, &record.session.id,
                        capacity);
}

void
rig_assign(struct rig *rig, struct message *m, struct session *x)
{
    struct record record = {.type = RECORD_ASSIGN, .queue = x->queue->number};
    record.message.id = m->id;
    record.message.session = x->number;
    if (m->durability > 0) {
        rig_log(rig, &record);
    } else if (!x->has_received) {
        struct record received = {.type = RECORD_SESSION_RECEIVED,
                                  .queue = x->queue->number};
        received.session.session = x->number;
        rig_log(rig, &received);
        session_received(rig->a, x);
    }
    message_assign(rig->a, m, x, rig->now_ms);
}

static void
fill_sample(struct record *record)
{
    record->session.session = 3;
    memset(&record->session.id, 0x11, sizeof record->session.id);
    record->session.capacity = 7;
    record->session.order = 99;
}

static void
fill_sample_publish(struct record_publish *publish)
{
    publish->id = uuid7_make(1796000000123u, 5, 77);
    publish->order = 42;
    publish->received_ms = 1796000000123u;
    publish->delay_secs = 60;
    publish->type = 1;
    publish->durability = 2;
    publish->key = slice_from_text("k-1");
    publish->body = slice_from_text("Hello");
    publish->body_crc = crc32c(0, "Hello", 5);
}

static void
fill_sample_sweep(struct record *record)
{
    struct record_sweep *sweep = &record->sweep;
    sweep->first = uuid7_make(1796000000123u, 5, 77);
    sweep->last = uuid7_make(1796000000999u, 5, 77);
    sweep->count = 12;
    sweep->places = SWEEP_DEAD;
    sweep->reasons = 1u << DEAD_NACK | 1u << DEAD_MOVED;
    sweep->before_ms = 1796000007777u;
    sweep->key = slice_from_text("k-1");
    if (record->type == RECORD_REDRIVE_SOME) {
        sweep->is_redrive = true;
        sweep->order = 4711;
    }
}

struct record
rig_sample(enum record_type type)
{
    struct record record;
    memset(&record, 0, sizeof record);
    record.type = type;
    bool is_of_queue =
        type != RECORD_NOOP && type != RECORD_EPOCH && type != RECORD_LEVEL;
    record.queue = is_of_queue ? 9 : 0;
    if (type == RECORD_EPOCH) {
        record.leader = 3;
    } else if (type == RECORD_LEVEL) {
        record.level = HF_LEVEL_NOW;
    } else if (type == RECORD_QUEUE_CREATE) {
        record.create.name = slice_from_text("orders");
        record.create.tier = TIER_DEV;
        settings_defaults(TIER_DEV, (uint64_t)1 << 30, record.create.settings);
        for (int i = 0; i < ROLE_COUNT; i++)
            record.create.logins[i] = sample_login(i == 0 ? "p" : "someone-else");
    } else if (type == RECORD_LOGIN_SET) {
        record.login.role = ROLE_ADMIN;
        record.login.login = sample_login("admin");
    } else if (type == RECORD_SETTINGS_SET) {
        record.settings.count = 2;
        record.settings.items[0].id = SETTING_MAX_WS_MSG_LEN;
        record.settings.items[0].value = 1024;
        record.settings.items[1].id = SETTING_STATS_RETENTION_YRS;
        record.settings.items[1].value = 10;
    } else if (type == RECORD_PUBLISH) {
        fill_sample_publish(&record.publish);
    } else if ((type >= RECORD_SESSION_OPEN && type <= RECORD_SESSION_RECEIVED) ||
               type == RECORD_SESSION_CLOSE) {
        fill_sample(&record);
    } else if (type == RECORD_REDRIVE_SOME || type == RECORD_PURGE) {
        fill_sample_sweep(&record);
    } else if (type == RECORD_STATS_ROW) {
        record.stats.at_secs = 1796000000;
        for (int i = 0; i < STATS_COLUMNS; i++)
            record.stats.columns[i] = (uint64_t)i << (i * 7);
    } else if (type == RECORD_USAGE_ROW) {
        record.usage.at_secs = 1796000000;
        record.usage.columns[USAGE_COLUMNS - 1] = UINT64_MAX;
        record.usage.has_ipv4 = 1;
    } else if (type == RECORD_HISTORY_TRIM) {
        record.before_day = 20000;
        record.trim_usage = 1;
    } else if (type != RECORD_NOOP && type != RECORD_QUEUE_DELETE) {
        record.message.id = uuid7_make(1796000000123u, 5, 77);
        record.message.session = type == RECORD_ASSIGN ? 3 : 0;
        record.message.order =
            type == RECORD_RELEASE || type == RECORD_REDRIVE ? 1234567 : 0;
    }
    return record;
}
