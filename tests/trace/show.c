/* Show: see show.h. */
#include "tests/trace/show.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
show_init(struct show *show, struct bytes *out)
{
    show->messages.count = show->sessions.count = 0;
    show->messages.prefix = '#';
    show->sessions.prefix = 'S';
    show->out = out;
}

const char *
name_of(struct names *names, const struct uuid *id)
{
    static char texts[4][24];
    static unsigned next;
    size_t i = 0;
    while (i < names->count && uuid_compare(&names->ids[i], id) != 0)
        i++;
    if (i == names->count) {
        assert(names->count < NAMES_MAX);
        names->ids[names->count++] = *id;
    }
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%c%zu", names->prefix, i + 1);
    return text;
}

bool
name_find(const struct names *names, const char *name, struct uuid *ret_id)
{
    if (name[0] != names->prefix)
        return false;
    size_t number = strtoul(name + 1, NULL, 10);
    if (number < 1 || number > names->count)
        return false;
    *ret_id = names->ids[number - 1];
    return true;
}

static void
put_text(struct bytes *out, struct slice text)
{
    if (text.size <= 24)
        bytes_put_slice(out, text);
    else
        bytes_printf(out, "(%zu bytes)", text.size);
}

static void
put_columns(struct bytes *out, const uint64_t *columns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        bytes_printf(out, "%s%" PRIu64, i == 0 ? "" : ",", columns[i]);
}

static void
show_publish(struct show *show, const struct record_publish *publish)
{
    struct bytes *out = show->out;
    bytes_printf(out, "publish %s", name_of(&show->messages, &publish->id));
    bytes_printf(out, " durability=%u body=", publish->durability);
    put_text(out, publish->body);
    if (publish->key.size > 0) {
        bytes_put_text(out, " key=");
        put_text(out, publish->key);
    }
    if (publish->delay_secs > 0)
        bytes_printf(out, " delay=%" PRIu32, publish->delay_secs);
}

static void
show_settings(struct bytes *out, const struct record_settings_set *set)
{
    bytes_put_text(out, "settings");
    for (uint32_t i = 0; i < set->count; i++)
        bytes_printf(out, " %s=%" PRIu64, setting_info(set->items[i].id)->name,
                     set->items[i].value);
}

static const char *
record_name(enum record_type type)
{
    static const char *const names[RECORD_TYPE_COUNT] = {
        [RECORD_NOOP] = "noop",
        [RECORD_EPOCH] = "epoch",
        [RECORD_QUEUE_CREATE] = "queue-create",
        [RECORD_QUEUE_DELETE] = "queue-delete",
        [RECORD_LOGIN_SET] = "login-set",
        [RECORD_SETTINGS_SET] = "settings-set",
        [RECORD_PUBLISH] = "publish",
        [RECORD_ASSIGN] = "assign",
        [RECORD_ACK] = "ack",
        [RECORD_NACK] = "nack",
        [RECORD_DELETE] = "delete",
        [RECORD_MOVE_TO_DLQ] = "move-to-dlq",
        [RECORD_DLQ_DELETE] = "dlq-delete",
        [RECORD_SESSION_OPEN] = "session-open",
        [RECORD_SESSION_RESUME] = "session-resume",
        [RECORD_SESSION_CAPACITY] = "session-capacity",
        [RECORD_SESSION_SAVE] = "session-save",
        [RECORD_SESSION_END] = "session-end",
        [RECORD_SESSION_RECEIVED] = "session-received",
        [RECORD_STATS_ROW] = "stats-row",
        [RECORD_USAGE_ROW] = "usage-row",
        [RECORD_RELEASE] = "release",
        [RECORD_REDRIVE] = "redrive",
        [RECORD_HISTORY_TRIM] = "history-trim",
        [RECORD_LEVEL] = "level",
        [RECORD_REDRIVE_SOME] = "redrive-some",
        [RECORD_PURGE] = "purge",
        [RECORD_SESSION_CLOSE] = "session-close",
    };
    return names[type];
}

static void
show_session(struct show *show, const struct record *record)
{
    const struct record_session *fields = &record->session;
    bytes_printf(show->out, "%s", record_name(record->type));
    bytes_printf(show->out, " number=%" PRIu64, fields->session);
    if (record->type == RECORD_SESSION_OPEN || record->type == RECORD_SESSION_RESUME)
        bytes_printf(show->out, " id=%s capacity=%" PRIu32,
                     name_of(&show->sessions, &fields->id), fields->capacity);
    if (record->type == RECORD_SESSION_CAPACITY)
        bytes_printf(show->out, " capacity=%" PRIu32, fields->capacity);
}

static void
show_sweep(struct show *show, const struct record *record)
{
    const struct record_sweep *sweep = &record->sweep;
    bytes_printf(show->out, "%s count=%" PRIu32, record_name(record->type),
                 sweep->count);
    bytes_printf(show->out, " from=%s", name_of(&show->messages, &sweep->first));
    bytes_printf(show->out, " to=%s", name_of(&show->messages, &sweep->last));
}

static void
show_record(struct show *show, const struct record *record)
{
    struct bytes *out = show->out;
    enum record_type type = record->type;
    bytes_put_text(out, ">   ");
    if (type == RECORD_PUBLISH) {
        show_publish(show, &record->publish);
    } else if (type == RECORD_SETTINGS_SET) {
        show_settings(out, &record->settings);
    } else if ((type >= RECORD_SESSION_OPEN && type <= RECORD_SESSION_RECEIVED) ||
               type == RECORD_SESSION_CLOSE) {
        show_session(show, record);
    } else if ((type >= RECORD_ASSIGN && type <= RECORD_DLQ_DELETE) ||
               type == RECORD_RELEASE || type == RECORD_REDRIVE) {
        bytes_printf(out, "%s %s", record_name(type),
                     name_of(&show->messages, &record->message.id));
        if (type == RECORD_ASSIGN)
            bytes_printf(out, " to=%" PRIu64, record->message.session);
    } else if (type == RECORD_STATS_ROW) {
        bytes_printf(out, "stats-row at=%" PRIu64 " ", record->stats.at_secs);
        put_columns(out, record->stats.columns, STATS_COLUMNS);
    } else if (type == RECORD_USAGE_ROW) {
        bytes_printf(out, "usage-row at=%" PRIu64 " ", record->usage.at_secs);
        put_columns(out, record->usage.columns, USAGE_COLUMNS);
    } else if (type == RECORD_HISTORY_TRIM) {
        bytes_printf(out, "history-trim before=%" PRIu64, record->before_day);
    } else if (type == RECORD_REDRIVE_SOME || type == RECORD_PURGE) {
        show_sweep(show, record);
    } else if (type == RECORD_LEVEL) {
        bytes_printf(out, "level %" PRIu32, record->level);
    } else {
        bytes_put_text(out, record_name(type));
    }
    bytes_put_text(out, "\n");
}

void
show_entry(struct show *show, struct slice entry)
{
    struct entry_reader reader;
    struct record record;
    enum status status = entry_open(&reader, entry);
    assert(status == ST_OK);
    bytes_printf(show->out, "> entry %s\n", reader.is_sync ? "synced" : "written");
    while ((status = entry_next(&reader, &record)) == ST_OK)
        show_record(show, &record);
    assert(status == ST_NOTFOUND);
}

static void
show_list(struct show *show, const struct reply *reply)
{
    bytes_put_text(show->out, "list");
    for (uint32_t i = 0; i < reply->row_count; i++)
        bytes_printf(show->out, " %s", name_of(&show->messages, &reply->rows[i].id));
}

static void
show_message(struct show *show, const struct reply *reply)
{
    const struct message_view *view = &reply->rows[0];
    bytes_printf(show->out, "message %s", name_of(&show->messages, &view->id));
    bytes_printf(show->out, " durability=%u body=", view->durability);
    put_text(show->out, slice_of(view->body->data, view->body_size));
}

static void
show_history(struct bytes *out, const struct reply *reply, uint32_t columns)
{
    bytes_put_text(out, "rows");
    for (uint32_t i = 0; i < reply->row_count; i++) {
        bytes_printf(out, " %" PRIu64 ":", reply->history[i].at_secs);
        put_columns(out, reply->history[i].columns, columns);
    }
}

static void
show_story(struct bytes *out, const struct message_story *story)
{
    bytes_printf(out, "%s deliveries=%" PRIu32, story->place, story->deliveries);
    for (uint32_t i = 0; i < story->count; i++) {
        const struct story_event *e = &story->events[i];
        bytes_printf(out, " %s", e->name);
        if (e->reason[0] != '\0')
            bytes_printf(out, ":%s", e->reason);
        if (e->session != 0)
            bytes_printf(out, "/%" PRIu64, e->session);
    }
}

static void
show_success(struct show *show, const struct reply *reply)
{
    struct bytes *out = show->out;
    switch (reply->shape) {
    case REPLY_STATUS:
        bytes_put_text(out, "ok");
        break;
    case REPLY_ID:
        bytes_printf(out, "id=%s", name_of(&show->messages, &reply->id));
        break;
    case REPLY_SESSION:
        bytes_printf(out, "session=%s", name_of(&show->sessions, &reply->id));
        break;
    case REPLY_SUBSCRIBERS:
        bytes_printf(out, "subscribers=%" PRIu64, reply->number);
        break;
    case REPLY_LOGOUT:
        bytes_put_text(out, "logout");
        break;
    case REPLY_LIVESTATS:
        bytes_put_text(out, "live ");
        put_columns(out, reply->live, STATS_COLUMNS);
        break;
    case REPLY_LIST:
        show_list(show, reply);
        break;
    case REPLY_MESSAGE:
        show_message(show, reply);
        break;
    case REPLY_CONFIG:
        bytes_printf(out, "config memory-used=%" PRIu64, reply->config[SETTING_COUNT]);
        break;
    case REPLY_STATS:
        show_history(out, reply, STATS_COLUMNS);
        break;
    case REPLY_USAGE:
        show_history(out, reply, USAGE_COLUMNS);
        break;
    case REPLY_BULK:
        bytes_printf(out, "count=%" PRIu64 " %s", reply->number,
                     reply->has_more ? "more" : "all");
        break;
    case REPLY_STORY:
        show_story(out, reply->story);
        break;
    }
}

static void
show_reply(struct show *show, const struct request *r)
{
    struct bytes *out = show->out;
    bytes_printf(out, "> reply %" PRIu64 " ", r->parcel.conn);
    if (r->reply.code != 0)
        bytes_printf(out, "refused %u", r->reply.code);
    else
        show_success(show, &r->reply);
    if (r->reply.after == AFTER_CLOSE)
        bytes_put_text(out, ", close");
    bytes_put_text(out, "\n");
}

static void
show_delivery(struct show *show, const struct delivery *d)
{
    struct bytes *out = show->out;
    bytes_printf(out, "> deliver %" PRIu64 " ", d->parcel.conn);
    if (d->has_id)
        bytes_printf(out, "%s ", name_of(&show->messages, &d->id));
    bytes_put_text(out, "body=");
    put_text(out, slice_of(d->body->data, d->body_size));
    if (d->key_size > 0) {
        bytes_put_text(out, " key=");
        put_text(out, slice_of(d->body->data + d->body_size, d->key_size));
    }
    bytes_put_text(out, "\n");
}

void
show_parcel(struct show *show, const struct parcel *parcel)
{
    struct bytes *out = show->out;
    if (parcel->kind <= PARCEL_REFUSED) {
        show_reply(show, (const struct request *)(const void *)parcel);
    } else if (parcel->kind == PARCEL_DELIVERY) {
        show_delivery(show, (const struct delivery *)(const void *)parcel);
    } else if (parcel->kind == PARCEL_NOTICE) {
        const struct notice *notice = (const struct notice *)(const void *)parcel;
        bytes_printf(out, "> notice %" PRIu64 " %s %s\n", parcel->conn,
                     notice->is_moved ? "moved" : "deleted",
                     name_of(&show->messages, &notice->id));
    } else if (parcel->kind == PARCEL_PUSH) {
        const struct push *push = (const struct push *)(const void *)parcel;
        bytes_printf(out, "> push %" PRIu64 " ", parcel->conn);
        put_columns(out, push->live, STATS_COLUMNS);
        bytes_put_text(out, "\n");
    } else {
        bytes_printf(out, "> close %" PRIu64 "\n", parcel->conn);
    }
}
