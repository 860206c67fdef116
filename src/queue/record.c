/* Records, encoding: what the leader writes into an entry.
 *
 * The leader made every value itself, so bounds are asserted here and checked in
 * record_decode.c. A record's size is filled in behind its fields. The byte tables are
 * in man/holdfast-files.5; a change here is a new RECORD_VERSION. */
#include "queue/record.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "queue/level.h"

#include <assert.h>
#include <string.h>

void
entry_begin(struct bytes *out, uint64_t stamp_ms)
{
    assert(out->size == 0);
    assert(stamp_ms < RECORD_TIME_LIMIT);
    bytes_put_u8(out, 0);
    bytes_put_u8(out, RECORD_VERSION);
    bytes_put_u16(out, 0);
    bytes_put_u32(out, 0);
    bytes_put_u64(out, stamp_ms);
    assert(out->size == RECORD_HEADER_BYTES);
}

void
entry_set_sync(struct bytes *out)
{
    assert(out->size >= RECORD_HEADER_BYTES);
    out->data[0] = 1;
}

void
entry_set_behind(struct bytes *out, uint16_t behind_secs)
{
    assert(out->size >= RECORD_HEADER_BYTES);
    put_u16(out->data + 2, behind_secs);
}

uint32_t
entry_count(const struct bytes *entry)
{
    assert(entry->size >= RECORD_HEADER_BYTES);
    return get_u32(entry->data + 4);
}

void
login_secret_encode(struct bytes *out, const struct login_secret *login)
{
    assert(login->username_size <= LIMIT_USERNAME_BYTES);
    bytes_put_u8(out, login->username_size);
    bytes_put(out, login->username, login->username_size);
    bytes_put(out, login->salt, LOGIN_SALT_BYTES);
    bytes_put(out, login->hash, LOGIN_HASH_BYTES);
    bytes_put_u32(out, login->n);
    bytes_put_u16(out, login->r);
    bytes_put_u16(out, login->p);
}

static void
put_create(struct bytes *out, const struct record_queue_create *create)
{
    assert(create->name.size > 0 && create->name.size <= LIMIT_QUEUE_NAME_BYTES);
    bytes_put_u8(out, (uint8_t)create->tier);
    bytes_put_u8(out, (uint8_t)create->name.size);
    bytes_put_u16(out, SETTING_COUNT);
    bytes_put_slice(out, create->name);
    for (int i = 0; i < SETTING_COUNT; i++)
        bytes_put_u64(out, create->settings[i]);
    for (int i = 0; i < ROLE_COUNT; i++)
        login_secret_encode(out, &create->logins[i]);
}

static void
put_settings(struct bytes *out, const struct record_settings_set *set)
{
    assert(set->count <= SETTING_COUNT);
    bytes_put_u8(out, (uint8_t)set->count);
    for (uint32_t i = 0; i < set->count; i++) {
        bytes_put_u8(out, (uint8_t)set->items[i].id);
        bytes_put_u64(out, set->items[i].value);
    }
}

/* The head's checksum covers the record from its queue number to body_crc, and the key:
 * all but the body. */
static void
put_publish(struct bytes *out, size_t fields_at, const struct record_publish *publish)
{
    assert(publish->key.size <= LIMIT_KEY_BYTES &&
           publish->body.size < LIMIT_ENTRY_BYTES);
    assert(publish->durability <= 2);
    assert(record_publish_is_whole(publish));
    bytes_put(out, publish->id.b, UUID_SIZE);
    bytes_put_u64(out, publish->order);
    bytes_put_u64(out, publish->received_ms);
    bytes_put_u32(out, publish->delay_secs);
    bytes_put_u8(out, publish->type);
    bytes_put_u8(out, publish->durability);
    bytes_put_u8(out, (uint8_t)publish->key.size);
    bytes_put_u8(out, 0);
    bytes_put_u32(out, (uint32_t)publish->body.size);
    bytes_put_u32(out, publish->body_crc);
    uint32_t head_crc = crc32c(0, out->data + fields_at, out->size - fields_at);
    bytes_put_u32(out, crc32c(head_crc, publish->key.data, publish->key.size));
    bytes_put_slice(out, publish->key);
    bytes_put_slice(out, publish->body);
}

static void
put_session(struct bytes *out,
            enum record_type type,
            const struct record_session *session)
{
    bytes_put_u64(out, session->session);
    if (type == RECORD_SESSION_OPEN || type == RECORD_SESSION_RESUME)
        bytes_put(out, session->id.b, UUID_SIZE);
    if (type == RECORD_SESSION_OPEN || type == RECORD_SESSION_RESUME ||
        type == RECORD_SESSION_CAPACITY)
        bytes_put_u32(out, session->capacity);
    if (type == RECORD_SESSION_END || type == RECORD_SESSION_CLOSE)
        bytes_put_u64(out, session->order);
}

static void
put_message(struct bytes *out,
            enum record_type type,
            const struct record_message *message)
{
    bytes_put(out, message->id.b, UUID_SIZE);
    if (type == RECORD_ASSIGN)
        bytes_put_u64(out, message->session);
    if (type == RECORD_RELEASE || type == RECORD_REDRIVE)
        bytes_put_u64(out, message->order);
}

static void
put_sweep(struct bytes *out, enum record_type type, const struct record_sweep *sweep)
{
    assert(sweep->count > 0 && sweep->count <= LIMIT_SWEEP_MESSAGES);
    assert(sweep->is_redrive == (type == RECORD_REDRIVE_SOME));
    assert(sweep->key.size <= LIMIT_KEY_BYTES);
    bytes_put(out, sweep->first.b, UUID_SIZE);
    bytes_put(out, sweep->last.b, UUID_SIZE);
    bytes_put_u32(out, sweep->count);
    bytes_put_u8(out, sweep->places);
    bytes_put_u8(out, sweep->reasons);
    bytes_put_u8(out, (uint8_t)sweep->key.size);
    bytes_put_u64(out, sweep->before_ms);
    if (type == RECORD_REDRIVE_SOME)
        bytes_put_u64(out, sweep->order);
    bytes_put_slice(out, sweep->key);
}

static void
put_row(struct bytes *out, uint64_t at_secs, const uint64_t *columns, int count)
{
    bytes_put_u64(out, at_secs);
    for (int i = 0; i < count; i++)
        bytes_put_u64(out, columns[i]);
}

static void
put_fields(struct bytes *out, size_t fields_at, const struct record *record)
{
    switch (record->type) {
    case RECORD_NOOP:
    case RECORD_QUEUE_DELETE:
        break;
    case RECORD_EPOCH:
        bytes_put_u64(out, record->leader);
        break;
    case RECORD_LEVEL:
        assert(record->level >= HF_LEVEL_FIRST);
        bytes_put_u32(out, record->level);
        break;
    case RECORD_QUEUE_CREATE:
        put_create(out, &record->create);
        break;
    case RECORD_LOGIN_SET:
        bytes_put_u8(out, (uint8_t)record->login.role);
        login_secret_encode(out, &record->login.login);
        break;
    case RECORD_SETTINGS_SET:
        put_settings(out, &record->settings);
        break;
    case RECORD_PUBLISH:
        put_publish(out, fields_at, &record->publish);
        break;
    case RECORD_ASSIGN:
    case RECORD_ACK:
    case RECORD_NACK:
    case RECORD_DELETE:
    case RECORD_MOVE_TO_DLQ:
    case RECORD_DLQ_DELETE:
    case RECORD_RELEASE:
    case RECORD_REDRIVE:
        put_message(out, record->type, &record->message);
        break;
    case RECORD_SESSION_OPEN:
    case RECORD_SESSION_RESUME:
    case RECORD_SESSION_CAPACITY:
    case RECORD_SESSION_SAVE:
    case RECORD_SESSION_END:
    case RECORD_SESSION_RECEIVED:
    case RECORD_SESSION_CLOSE:
        put_session(out, record->type, &record->session);
        break;
    case RECORD_REDRIVE_SOME:
    case RECORD_PURGE:
        put_sweep(out, record->type, &record->sweep);
        break;
    case RECORD_STATS_ROW:
        put_row(out, record->stats.at_secs, record->stats.columns, STATS_COLUMNS);
        break;
    case RECORD_USAGE_ROW:
        put_row(out, record->usage.at_secs, record->usage.columns, USAGE_COLUMNS);
        bytes_put_u8(out, record->usage.has_ipv4);
        break;
    case RECORD_HISTORY_TRIM:
        bytes_put_u64(out, record->before_day);
        bytes_put_u8(out, record->trim_usage);
        break;
    case RECORD_TYPE_COUNT:
        assert(record->type != RECORD_TYPE_COUNT);
    }
}

void
entry_add(struct bytes *out, const struct record *record)
{
    assert(out->size >= RECORD_HEADER_BYTES);
    bytes_put_u8(out, (uint8_t)record->type);
    size_t size_at = out->size;
    bytes_put_u32(out, 0);
    size_t fields_at = out->size;
    bytes_put_u32(out, record->queue);
    put_fields(out, fields_at, record);
    put_u32(out->data + size_at, (uint32_t)(out->size - fields_at));
    put_u32(out->data + 4, entry_count(out) + 1);
}

bool
record_publish_is_whole(const struct record_publish *publish)
{
    return publish->body_crc == crc32c(0, publish->body.data, publish->body.size);
}
