/* Reply: from an answered request to the JSON that its client reads.
 *
 * Not the frames that nobody asked for (delivery.c) and not the texts of failures
 * (reason.c). One object, no spaces, fields in the order of the manual's examples: the
 * context first, then what the shape says.
 *
 * Success of a publish or an ack is what this file mostly writes; lists and history are
 * long. Both reserve their room once and then only copy. */
#include "proto/reply.h"

#include "base/log.h"
#include "base/text.h"
#include "proto/delivery.h"
#include "proto/put.h"
#include "proto/reason.h"

#include <assert.h>

#define SUCCESS         "\"status\":\"Success.\""
/* Longest row of a list: id, five numbers, their commas and the end of the line. */
#define LIST_ROW_MAX    (UUID_TEXT_SIZE + 5 + 10 + 10 + 3 + 3 + DECIMAL_MAX + 2)
#define HISTORY_ROW_MAX (10 * (DECIMAL_MAX + 1) + 2)
#define USAGE_FIGURES   5

/* The brace and the context. */
static void
put_begin(const struct request *r, struct bytes *out)
{
    bytes_put_u8(out, '{');
    if (r->context_size == 0)
        return;
    bytes_put_text(out, "\"context\":");
    bytes_put(out, r->context, r->context_size);
    bytes_put_u8(out, ',');
}

/* ,"key":"id" or "key":"id", by what the caller adds around. */
static void
put_id_field(struct bytes *out,
             const char *before,
             const struct uuid *id,
             const char *behind)
{
    bytes_put_text(out, before);
    (void)put_id(bytes_extend(out, UUID_TEXT_SIZE), id);
    bytes_put_text(out, behind);
}

static void
put_number_field(struct bytes *out, const char *before, uint64_t value)
{
    bytes_put_text(out, before);
    bytes_put_decimal(out, value);
}

static void
put_failure(const struct request *r, struct bytes *out)
{
    struct bytes reason = {NULL, 0, 0};
    put_number_field(out, "\"status\":\"Failure.\",\"code\":", r->reply.code);
    bytes_put_text(out, ",\"reason\":\"");
    reason_put(r, &reason);
    json_escape(out, slice_of(reason.data, reason.size));
    bytes_fini(&reason);
    bytes_put_u8(out, '"');
}

static void
put_livestats(const uint64_t *live, struct bytes *out)
{
    bytes_put_text(out, SUCCESS ",\"csv\":\"");
    for (size_t i = 0; i < STATS_COLUMNS; i++) {
        if (i > 0)
            bytes_put_u8(out, ',');
        bytes_put_decimal(out, live[i]);
    }
    bytes_put_u8(out, '"');
}

static uint8_t *
put_column(uint8_t *at, uint64_t value)
{
    *at++ = ',';
    return put_decimal(at, value);
}

static void
put_list(const struct reply *reply, struct bytes *out)
{
    bytes_put_text(out, SUCCESS ",\"csv\":\"");
    bytes_reserve(out, (size_t)reply->row_count * LIST_ROW_MAX + 1);
    uint8_t *at = out->data + out->size;
    for (uint32_t i = 0; i < reply->row_count; i++) {
        const struct message_view *view = &reply->rows[i];
        at = put_id(at, &view->id);
        at = put_column(at, message_frame_size(view));
        at = put_column(at, view->delay_secs);
        at = put_column(at, view->durability);
        at = put_column(at, view->type);
        at = put_column(at, view->received_ms / 1000);
        at = PUT_LITERAL(at, "\\n");
    }
    *at++ = '"';
    out->size = (size_t)(at - out->data);
    assert(out->size <= out->capacity);
}

/* A message whose file was damaged: the file, when it is not too big (manual). */
static void
put_damaged(const struct message_view *view, struct bytes *out)
{
    put_id_field(out, "{\"id\":\"", &view->id, "\",\"damaged\":true");
    if (view->body != NULL) {
        bytes_put_text(out, ",\"file\":\"");
        struct slice file = blob_slice(view->body);
        base64_encode(file, bytes_extend(out, base64_encoded_size(file.size)));
        bytes_put_u8(out, '"');
    }
    bytes_put_u8(out, '}');
}

static void
put_message(const struct reply *reply, struct bytes *out)
{
    const struct message_view *view = &reply->rows[0];
    put_id_field(out, SUCCESS ",\"id\":\"", &view->id, "\",\"msg\":");
    if (view->is_damaged || view->body == NULL) {
        put_damaged(view, out);
    } else {
        struct message_text m = {
            .id = &view->id,
            .key = slice_of(view->body->data + view->body_size, view->key_size),
            .body = slice_of(view->body->data, view->body_size),
            .type = view->type,
            .received_secs = view->received_ms / 1000,
        };
        message_put(&m, out);
    }
    put_number_field(out, ",\"len\":", message_frame_size(view));
    put_number_field(out, ",\"delay\":", view->delay_secs);
    put_number_field(out, ",\"durability\":", view->durability);
}

static void
put_setting(struct bytes *out,
            const char *name,
            bool is_writable,
            uint64_t value,
            bool is_level)
{
    bytes_put_text(out, ",\"");
    bytes_put_text(out, name);
    bytes_put_text(out, is_writable ? "\":[\"w\"," : "\":[\"r\",");
    if (is_level && value <= LOG_DEBUG) {
        bytes_put_u8(out, '"');
        bytes_put_text(out, log_level_name((enum log_level)value));
        bytes_put_u8(out, '"');
    } else {
        bytes_put_decimal(out, value);
    }
    bytes_put_u8(out, ']');
}

static void
put_config(const struct reply *reply, struct bytes *out)
{
    bytes_put_text(out, SUCCESS);
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting_info *info = setting_info((enum setting_id)i);
        put_setting(out, info->name, info->is_writable, reply->config[i],
                    i == SETTING_LOG_LEVEL);
        if (i == SETTING_MAX_MESSAGES_MEMORY) /* the manual's place for it */
            put_setting(out, reason_setting_name(SETTING_COUNT), false,
                        reply->config[SETTING_COUNT], false);
    }
}

static void
put_stats(const struct reply *reply, struct bytes *out)
{
    bytes_put_text(out, SUCCESS ",\"csv\":\"");
    bytes_reserve(out, (size_t)reply->row_count * HISTORY_ROW_MAX + 1);
    uint8_t *at = out->data + out->size;
    for (uint32_t i = 0; i < reply->row_count; i++) {
        const struct history_view *row = &reply->history[i];
        at = put_decimal(at, row->at_secs);
        for (size_t c = 0; c < STATS_COLUMNS; c++)
            at = put_column(at, row->columns[c]);
        at = PUT_LITERAL(at, "\\n");
    }
    *at++ = '"';
    out->size = (size_t)(at - out->data);
    assert(out->size <= out->capacity);
}

static void
put_usage(const struct reply *reply, const struct reply_names *names, struct bytes *out)
{
    bytes_put_text(out, SUCCESS ",\"csv\":\"");
    for (uint32_t i = 0; i < reply->row_count; i++) {
        const struct history_view *row = &reply->history[i];
        bytes_put_decimal(out, row->at_secs);
        for (size_t c = 0; c < USAGE_FIGURES; c++) {
            bytes_put_u8(out, ',');
            bytes_put_decimal(out, row->columns[c]);
        }
        bytes_put_u8(out, ',');
        json_escape(out, slice_from_text(names->instance_type));
        bytes_put_u8(out, ',');
        json_escape(out, slice_from_text(names->region));
        bytes_put_text(out, row->has_ipv4 != 0 ? ",1\\n" : ",0\\n");
    }
    bytes_put_u8(out, '"');
}

static void
put_bulk(const struct reply *reply, struct bytes *out)
{
    put_number_field(out, SUCCESS ",\"count\":", reply->number);
    bytes_put_text(out, reply->has_more ? ",\"more\":true" : ",\"more\":false");
    if (!uuid_is_zero(&reply->id))
        put_id_field(out, ",\"last\":\"", &reply->id, "\"");
}

/* Rows of: time in ms (empty: not known), event, reason, session (empty: none). */
static void
put_story(const struct message_story *story, struct bytes *out)
{
    put_id_field(out, SUCCESS ",\"id\":\"", &story->id, "\"");
    bytes_printf(out, ",\"place\":\"%s\"", story->place);
    put_number_field(out, ",\"deliveries\":", story->deliveries);
    put_number_field(out, ",\"dropped\":", story->dropped);
    bytes_put_text(out, ",\"csv\":\"");
    for (uint32_t i = 0; i < story->count; i++) {
        const struct story_event *e = &story->events[i];
        if (e->at_ms != 0)
            bytes_put_decimal(out, e->at_ms);
        bytes_printf(out, ",%s,%s,", e->name, e->reason);
        if (e->session != 0)
            bytes_put_decimal(out, e->session);
        bytes_put_text(out, "\\n");
    }
    bytes_put_u8(out, '"');
}

void
reply_format(const struct request *request,
             const struct reply_names *names,
             struct bytes *out)
{
    const struct reply *reply = &request->reply;
    bytes_reserve(out, request->context_size + 128u);
    put_begin(request, out);
    if (reply->code != 0) {
        put_failure(request, out);
        bytes_put_u8(out, '}');
        return;
    }
    switch (reply->shape) {
    case REPLY_STATUS:
        bytes_put_text(out, SUCCESS);
        break;
    case REPLY_ID:
        put_id_field(out, "\"id\":\"", &reply->id, "\"," SUCCESS);
        break;
    case REPLY_SESSION:
        put_id_field(out, SUCCESS ",\"sessionid\":\"", &reply->id, "\"");
        break;
    case REPLY_SUBSCRIBERS:
        put_number_field(out, SUCCESS ",\"subscribers\":", reply->number);
        break;
    case REPLY_LOGOUT:
        bytes_put_text(out, "\"status\":\"Logout Success.\"");
        break;
    case REPLY_LIVESTATS:
        put_livestats(reply->live, out);
        break;
    case REPLY_LIST:
        put_list(reply, out);
        break;
    case REPLY_MESSAGE:
        put_message(reply, out);
        break;
    case REPLY_CONFIG:
        put_config(reply, out);
        break;
    case REPLY_STATS:
        put_stats(reply, out);
        break;
    case REPLY_USAGE:
        put_usage(reply, names, out);
        break;
    case REPLY_BULK:
        put_bulk(reply, out);
        break;
    case REPLY_STORY:
        put_story(reply->story, out);
        break;
    }
    bytes_put_u8(out, '}');
}
