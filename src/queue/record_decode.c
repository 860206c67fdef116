/* Records, decoding: entries come from disks and peers, so nothing here asserts on
 * them.
 *
 * A record is refused whole when it is short, long, or holds a value that no leader
 * writes. Bounds on times and numbers keep the arithmetic of apply() from overflowing.
 * Whether a record fits the state is not asked here. */
#include "queue/record.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "queue/sweep.h"

#include <string.h>

enum status
entry_open(struct entry_reader *r, struct slice entry)
{
    struct reader in = reader_of(entry);
    uint8_t sync = read_u8(&in);
    uint8_t version = read_u8(&in);
    uint16_t behind_secs = read_u16(&in);
    uint32_t count = read_u32(&in);
    uint64_t stamp_ms = read_u64(&in);
    if (in.bad)
        return ST_CORRUPT;
    if (version != RECORD_VERSION)
        return ST_VERSION;
    if (sync > 1 || stamp_ms >= RECORD_TIME_LIMIT)
        return ST_CORRUPT;
    *r = (struct entry_reader){.reader = in,
                               .stamp_ms = stamp_ms,
                               .left = count,
                               .behind_secs = behind_secs,
                               .is_sync = sync == 1};
    return ST_OK;
}

/* Reads a number below limit; more sets the reader bad. */
static uint64_t
read_below(struct reader *r, uint64_t limit)
{
    uint64_t v = read_u64(r);
    if (v >= limit)
        r->bad = true;
    return v;
}

static void
read_id(struct reader *r, struct uuid *id)
{
    read_copy(r, id->b, UUID_SIZE);
}

void
login_secret_decode(struct reader *r, struct login_secret *ret_login)
{
    memset(ret_login, 0, sizeof *ret_login);
    ret_login->username_size = read_u8(r);
    if (ret_login->username_size > LIMIT_USERNAME_BYTES) {
        ret_login->username_size = 0;
        r->bad = true;
        return;
    }
    read_copy(r, ret_login->username, ret_login->username_size);
    read_copy(r, ret_login->salt, LOGIN_SALT_BYTES);
    read_copy(r, ret_login->hash, LOGIN_HASH_BYTES);
    ret_login->n = read_u32(r);
    ret_login->r = read_u16(r);
    ret_login->p = read_u16(r);
}

static enum status
get_create(struct reader *r, struct record_queue_create *create)
{
    uint8_t tier = read_u8(r);
    uint8_t name_size = read_u8(r);
    uint16_t settings = read_u16(r);
    create->name = read_slice(r, name_size);
    if (r->bad || tier > TIER_DEV || name_size == 0 ||
        name_size > LIMIT_QUEUE_NAME_BYTES ||
        memchr(create->name.data, 0, create->name.size) != NULL)
        return ST_CORRUPT;
    if (settings != SETTING_COUNT)
        return ST_VERSION;
    create->tier = (enum queue_tier)tier;
    for (int i = 0; i < SETTING_COUNT; i++)
        create->settings[i] = read_u64(r);
    for (int i = 0; i < ROLE_COUNT; i++)
        login_secret_decode(r, &create->logins[i]);
    return ST_OK;
}

static void
get_login(struct reader *r, struct record_login_set *set)
{
    uint8_t role = read_u8(r);
    if (role >= ROLE_COUNT)
        r->bad = true;
    set->role = (enum login_role)role;
    login_secret_decode(r, &set->login);
}

static enum status
get_settings(struct reader *r, struct record_settings_set *set)
{
    uint8_t count = read_u8(r);
    if (count > SETTING_COUNT)
        return ST_CORRUPT;
    set->count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t id = read_u8(r);
        if (id >= SETTING_COUNT)
            return r->bad ? ST_CORRUPT : ST_VERSION;
        set->items[i].id = (enum setting_id)id;
        set->items[i].value = read_u64(r);
    }
    return ST_OK;
}

static void
get_publish(struct reader *r, const uint8_t *fields, struct record_publish *publish)
{
    read_id(r, &publish->id);
    publish->order = read_below(r, RECORD_NUMBER_LIMIT);
    publish->received_ms = read_below(r, RECORD_TIME_LIMIT);
    publish->delay_secs = read_u32(r);
    publish->type = read_u8(r);
    publish->durability = read_u8(r);
    uint8_t key_size = read_u8(r);
    uint8_t zero = read_u8(r);
    uint32_t body_size = read_u32(r);
    publish->body_crc = read_u32(r);
    size_t head_size = (size_t)(r->at - fields);
    uint32_t head_crc = read_u32(r);
    publish->key = read_slice(r, key_size);
    publish->body = read_slice(r, body_size);
    if (r->bad || key_size > LIMIT_KEY_BYTES || zero != 0 ||
        publish->delay_secs > LIMIT_DELAY_SECS || publish->type < 1 ||
        publish->type > 2 || publish->durability > 2) {
        r->bad = true;
        return;
    }
    uint32_t crc = crc32c(0, fields, head_size);
    if (crc32c(crc, publish->key.data, publish->key.size) != head_crc)
        r->bad = true;
}

static void
get_session(struct reader *r, enum record_type type, struct record_session *session)
{
    session->session = read_below(r, RECORD_NUMBER_LIMIT);
    if (type == RECORD_SESSION_OPEN || type == RECORD_SESSION_RESUME)
        read_id(r, &session->id);
    if (type == RECORD_SESSION_OPEN || type == RECORD_SESSION_RESUME ||
        type == RECORD_SESSION_CAPACITY) {
        session->capacity = read_u32(r);
        if (session->capacity == 0 || session->capacity > LIMIT_CAPACITY)
            r->bad = true;
    }
    if (type == RECORD_SESSION_END || type == RECORD_SESSION_CLOSE)
        session->order = read_below(r, RECORD_NUMBER_LIMIT);
}

static void
get_message(struct reader *r, enum record_type type, struct record_message *message)
{
    read_id(r, &message->id);
    if (type == RECORD_ASSIGN)
        message->session = read_below(r, RECORD_NUMBER_LIMIT);
    if (type == RECORD_RELEASE || type == RECORD_REDRIVE)
        message->order = read_below(r, RECORD_NUMBER_LIMIT);
}

static bool
sweep_is_good(const struct record_sweep *sweep)
{
    bool is_dead = sweep->places == SWEEP_DEAD;
    bool is_alive =
        sweep->places != 0 && (sweep->places & ~(SWEEP_WAITING | SWEEP_HELD)) == 0;
    if (!is_dead && (!is_alive || sweep->is_redrive))
        return false;
    if (!is_dead && (sweep->reasons != 0 || sweep->before_ms != 0))
        return false;
    return sweep->count > 0 && sweep->count <= LIMIT_SWEEP_MESSAGES &&
           sweep->reasons < 1u << DEAD_REASONS && sweep->key.size <= LIMIT_KEY_BYTES &&
           uuid_compare(&sweep->first, &sweep->last) <= 0;
}

static void
get_sweep(struct reader *r, enum record_type type, struct record_sweep *sweep)
{
    sweep->is_redrive = type == RECORD_REDRIVE_SOME;
    read_id(r, &sweep->first);
    read_id(r, &sweep->last);
    sweep->count = read_u32(r);
    sweep->places = read_u8(r);
    sweep->reasons = read_u8(r);
    uint8_t key_size = read_u8(r);
    sweep->before_ms = read_below(r, RECORD_TIME_LIMIT);
    sweep->order = sweep->is_redrive ? read_below(r, RECORD_NUMBER_LIMIT) : 0;
    sweep->key = read_slice(r, key_size);
    if (!sweep_is_good(sweep))
        r->bad = true;
}

/* The time of a row is in seconds; its limit keeps the arithmetic on days small. */
static uint64_t
get_row(struct reader *r, uint64_t *columns, int count)
{
    uint64_t at_secs = read_below(r, RECORD_TIME_LIMIT);
    for (int i = 0; i < count; i++)
        columns[i] = read_u64(r);
    return at_secs;
}

/* 0 or 1. */
static uint8_t
get_flag(struct reader *r)
{
    uint8_t v = read_u8(r);
    if (v > 1)
        r->bad = true;
    return v;
}

static enum status
get_fields(struct reader *r, const uint8_t *fields, struct record *record)
{
    switch (record->type) {
    case RECORD_NOOP:
    case RECORD_QUEUE_DELETE:
        return ST_OK;
    case RECORD_EPOCH:
        record->leader = read_u64(r);
        return ST_OK;
    case RECORD_LEVEL:
        record->level = read_u32(r);
        return record->level == 0 ? ST_CORRUPT : ST_OK;
    case RECORD_QUEUE_CREATE:
        if (record->queue == UINT32_MAX) /* the next one needs a number too */
            return ST_CORRUPT;
        return get_create(r, &record->create);
    case RECORD_LOGIN_SET:
        get_login(r, &record->login);
        return ST_OK;
    case RECORD_SETTINGS_SET:
        return get_settings(r, &record->settings);
    case RECORD_PUBLISH:
        get_publish(r, fields, &record->publish);
        return ST_OK;
    case RECORD_ASSIGN:
    case RECORD_ACK:
    case RECORD_NACK:
    case RECORD_DELETE:
    case RECORD_MOVE_TO_DLQ:
    case RECORD_DLQ_DELETE:
    case RECORD_RELEASE:
    case RECORD_REDRIVE:
        get_message(r, record->type, &record->message);
        return ST_OK;
    case RECORD_SESSION_OPEN:
    case RECORD_SESSION_RESUME:
    case RECORD_SESSION_CAPACITY:
    case RECORD_SESSION_SAVE:
    case RECORD_SESSION_END:
    case RECORD_SESSION_RECEIVED:
    case RECORD_SESSION_CLOSE:
        get_session(r, record->type, &record->session);
        return ST_OK;
    case RECORD_REDRIVE_SOME:
    case RECORD_PURGE:
        get_sweep(r, record->type, &record->sweep);
        return ST_OK;
    case RECORD_STATS_ROW:
        record->stats.at_secs = get_row(r, record->stats.columns, STATS_COLUMNS);
        return ST_OK;
    case RECORD_USAGE_ROW:
        record->usage.at_secs = get_row(r, record->usage.columns, USAGE_COLUMNS);
        record->usage.has_ipv4 = get_flag(r);
        return ST_OK;
    case RECORD_HISTORY_TRIM:
        record->before_day = read_below(r, RECORD_TIME_LIMIT);
        record->trim_usage = get_flag(r);
        return ST_OK;
    case RECORD_TYPE_COUNT:
        break;
    }
    return ST_VERSION;
}

enum status
entry_next(struct entry_reader *r, struct record *ret_record)
{
    if (r->reader.bad)
        return ST_CORRUPT;
    if (r->left == 0)
        return reader_done(&r->reader) ? ST_NOTFOUND : ST_CORRUPT;
    uint8_t type = read_u8(&r->reader);
    uint32_t size = read_u32(&r->reader);
    struct slice fields = read_slice(&r->reader, size);
    if (r->reader.bad)
        return ST_CORRUPT;
    if (type == 0 || type >= RECORD_TYPE_COUNT)
        return ST_VERSION;
    struct record record;
    struct reader in = reader_of(fields);
    record.type = (enum record_type)type;
    record.queue = read_u32(&in);
    bool needs_queue =
        type != RECORD_NOOP && type != RECORD_EPOCH && type != RECORD_LEVEL;
    if (in.bad || (record.queue != 0) != needs_queue)
        return ST_CORRUPT;
    enum status status = get_fields(&in, fields.data, &record);
    if (status != ST_OK)
        return status;
    if (!reader_done(&in))
        return ST_CORRUPT;
    r->left--;
    *ret_record = record;
    return ST_OK;
}
