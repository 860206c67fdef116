/* Fuzz target of proto/request and proto/reply: what clients send, and what is
 * answered.
 *
 *   0  u8   bits 0 and 1: the role (3: a login); bit 2: a copy queue; bit 3: a binary
 *           frame; bit 4: the answer is a failure
 *   1  ...  the message
 *
 * Besides not crashing: a parser that has read all before says the same as a new one; a
 * role makes its own requests only; what is taken is in the manual's range, texts are
 * UTF-8 and a body is what was sent; an answer and a delivery are JSON objects, and a
 * delivery has the size that was computed. */
#include "base/text.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define LOGIN       3
#define NUMBER_MOST 416

static struct request_parser *parser;
static struct json_object table;

/* What the input stands for. */
struct said {
    struct speaker speaker;
    bool is_login;
    bool is_text;
    struct slice payload;
};

static void
require_object(struct bytes *text)
{
    struct slice s = slice_of(text->data, text->size);
    require(utf8_is_valid(s));
    require(json_parse(&table, s) == JSON_IS_OBJECT);
    bytes_clear(text);
}

static bool
is_same(const void *a, const void *b, size_t size)
{
    return size == 0 || memcmp(a, b, size) == 0;
}

static bool
is_same_publish(const struct publish_fields *a, const struct publish_fields *b)
{
    if ((a->body == NULL) != (b->body == NULL))
        return false;
    if (a->body != NULL && !slice_equal(blob_slice(a->body), blob_slice(b->body)))
        return false;
    return a->key_size == b->key_size && a->type == b->type &&
           a->durability == b->durability && a->delay_secs == b->delay_secs;
}

static bool
is_same_login(const struct login_fields *a, const struct login_fields *b)
{
    return a->queue == b->queue && a->type == b->type && a->role == b->role &&
           a->username_size == b->username_size &&
           a->password_size == b->password_size &&
           is_same(a->username, b->username, a->username_size) &&
           is_same(a->password, b->password, a->password_size) &&
           a->has_capacity == b->has_capacity && a->capacity == b->capacity &&
           a->has_session == b->has_session && a->has_session_id == b->has_session_id &&
           uuid_compare(&a->session, &b->session) == 0 && a->replay == b->replay &&
           is_same_publish(&a->publish, &b->publish);
}

static bool
is_same_admin(const struct admin_fields *a, const struct admin_fields *b)
{
    if (a->settings.count != b->settings.count)
        return false;
    for (uint32_t i = 0; i < a->settings.count; i++)
        if (a->settings.items[i].id != b->settings.items[i].id ||
            a->settings.items[i].value != b->settings.items[i].value)
            return false;
    return a->command == b->command && a->has_subscribe == b->has_subscribe &&
           a->subscribe_secs == b->subscribe_secs && a->flag == b->flag &&
           a->has_date == b->has_date && a->day == b->day &&
           a->is_before == b->is_before && a->is_open == b->is_open &&
           a->has_id == b->has_id && uuid_compare(&a->id, &b->id) == 0 &&
           a->count == b->count && is_same_publish(&a->publish, &b->publish);
}

static bool
is_same_request(const struct request *a, const struct request *b)
{
    if (a->parcel.kind != b->parcel.kind || a->code != b->code || a->ends != b->ends ||
        a->context_size != b->context_size ||
        !is_same(a->context, b->context, a->context_size) ||
        a->reply.number != b->reply.number || a->reply.setting != b->reply.setting)
        return false;
    if (a->parcel.kind == PARCEL_PUBLISH)
        return is_same_publish(&a->publish, &b->publish);
    if (a->parcel.kind == PARCEL_LOGIN)
        return is_same_login(a->login, b->login);
    if (a->parcel.kind == PARCEL_ADMIN)
        return is_same_admin(a->admin, b->admin);
    if (a->parcel.kind == PARCEL_SETTLE)
        return a->settle.has_id == b->settle.has_id &&
               a->settle.is_ack == b->settle.is_ack &&
               uuid_compare(&a->settle.id, &b->settle.id) == 0;
    return a->parcel.kind != PARCEL_CAPACITY || a->capacity == b->capacity;
}

static void
check_delivery(const struct publish_fields *f)
{
    struct bytes out = {NULL, 0, 0};
    struct delivery d = {.has_id = true,
                         .body = f->body,
                         .body_size = f->body->size - f->key_size,
                         .key_size = f->key_size,
                         .type = f->type,
                         .received_ms = 1794233033000};
    struct message_view view = {.received_ms = d.received_ms,
                                .body_size = d.body_size,
                                .key_size = d.key_size,
                                .type = d.type};
    delivery_format(&d, &out);
    require(out.size == message_frame_size(&view));
    require_object(&out);
    bytes_fini(&out);
}

/* The body of a message that is no JSON object, against what was sent. */
static void
check_plain(const struct said *m, struct slice body, uint8_t type)
{
    struct bytes out = {NULL, 0, 0};
    require(type == (m->is_text ? 1 : 2));
    if (m->is_text)
        require(json_unescape(body, &out) == ST_OK);
    else
        require(base64_decode(body, &out) == ST_OK);
    require(slice_equal(slice_of(out.data, out.size), m->payload));
    bytes_fini(&out);
}

static void
check_publish(const struct said *m, const struct publish_fields *f)
{
    if (f->body == NULL)
        return;
    require(f->body->size >= f->key_size && f->key_size <= LIMIT_KEY_BYTES);
    require(f->type == 1 || f->type == 2);
    require(f->durability <= 2 && f->delay_secs <= LIMIT_DELAY_SECS);
    struct slice body = slice_of(f->body->data, f->body->size - f->key_size);
    if (f->type == 2)
        require(base64_is_valid(body));
    if (m->is_text && json_parse(&table, m->payload) == JSON_IS_OBJECT) {
        const struct json_member *sent = json_find(&table, "body");
        require(sent != NULL && sent->type == JSON_STRING);
        require(f->type == 2 || slice_equal(sent->value, body));
    } else {
        check_plain(m, body, f->type);
    }
    check_delivery(f);
}

static void
check_login(const struct said *m, const struct request *r)
{
    const struct login_fields *f = r->login;
    require(r->ends == (r->code != 0) && f->queue == 1);
    require(f->username_size <= LIMIT_USERNAME_BYTES);
    require(f->password_size <= LIMIT_PASSWORD_BYTES);
    require(utf8_is_valid(slice_of(f->username, f->username_size)));
    require(utf8_is_valid(slice_of(f->password, f->password_size)));
    if (r->code != 0)
        return;
    require(f->username_size > 0 && f->password_size > 0);
    require(f->role < ROLE_COUNT && f->type <= QUEUE_COPY);
    require(!f->has_session_id || f->has_session);
    require(!f->has_capacity || (f->capacity >= 1 && f->capacity <= LIMIT_CAPACITY));
    require(f->role != ROLE_ADMIN || f->type == QUEUE_DISTRIBUTE);
    require(f->publish.body == NULL || f->role == ROLE_PUBLISHER);
    check_publish(m, &f->publish);
}

static void
check_settings(const struct record_settings_set *set)
{
    require(set->count <= SETTING_COUNT);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct setting_info *info = setting_info(set->items[i].id);
        require(info->is_writable && set->items[i].value >= info->least &&
                set->items[i].value <= info->most);
        for (uint32_t j = 0; j < i; j++)
            require(set->items[j].id != set->items[i].id);
    }
}

static void
check_admin(const struct said *m, const struct request *r)
{
    const struct admin_fields *f = r->admin;
    require(f->command <= ADMIN_SETCFG);
    check_settings(&f->settings);
    require((f->publish.body != NULL) == (f->command == ADMIN_ADDMSG && r->code == 0));
    check_publish(m, &f->publish);
    if (r->code != 0)
        return;
    require(f->subscribe_secs == 0 ||
            (f->subscribe_secs >= 30 && f->subscribe_secs <= 900));
    if (f->command == ADMIN_GETMSGS || f->command == ADMIN_GETDLQMSGS) {
        require(f->count >= 1 && f->count <= LIMIT_LIST_COUNT);
        require(f->is_open != f->has_id);
    }
    if (f->command == ADMIN_GETSTATS || f->command == ADMIN_GETUSAGE)
        require(f->has_date && f->day < 8030 * UINT64_C(366));
    if (f->command == ADMIN_SETCFG)
        require(f->settings.count > 0);
}

/* A role makes its own requests, and refusals. */
static bool
is_of_role(const struct said *m, enum parcel_kind kind)
{
    if (m->is_login)
        return kind == PARCEL_LOGIN;
    if (kind == PARCEL_REFUSED)
        return true;
    if (m->speaker.role == ROLE_PUBLISHER)
        return kind == PARCEL_PUBLISH;
    if (m->speaker.role == ROLE_ADMIN)
        return kind == PARCEL_ADMIN;
    return m->speaker.type == QUEUE_DISTRIBUTE &&
           (kind == PARCEL_SETTLE || kind == PARCEL_CAPACITY || kind == PARCEL_LOGOUT);
}

static void
check_request(const struct said *m, const struct request *r)
{
    require(r->code == 0 || (r->code >= 100 && r->code <= NUMBER_MOST));
    require(is_of_role(m, r->parcel.kind) && r->parcel.conn == 1);
    require(utf8_is_valid(slice_of(r->context, r->context_size)));
    if (r->parcel.kind == PARCEL_PUBLISH) {
        const struct publish_fields *f = &r->publish;
        require((r->code == 0) == (f->body != NULL));
        require(m->speaker.type == QUEUE_DISTRIBUTE || r->code != 0 ||
                (f->delay_secs == 0 && f->key_size == 0));
        check_publish(m, f);
    } else if (r->parcel.kind == PARCEL_LOGIN) {
        check_login(m, r);
    } else if (r->parcel.kind == PARCEL_ADMIN) {
        check_admin(m, r);
    } else if (r->parcel.kind == PARCEL_CAPACITY && r->code == 0) {
        require(r->capacity >= 1 && r->capacity <= LIMIT_CAPACITY);
    } else if (r->parcel.kind == PARCEL_REFUSED) {
        require(r->code != 0);
    }
}

static struct request *
parse(struct request_parser *p, const struct said *m)
{
    struct request *r = m->is_login
                            ? request_parse_login(p, 1, 1, m->is_text, m->payload)
                            : request_parse(p, &m->speaker, m->is_text, m->payload);
    require(r != NULL);
    return r;
}

static void
check_reply(struct request *r, bool is_failure)
{
    static const struct reply_names names = {"self-hosted", "local"};
    struct bytes out = {NULL, 0, 0};
    if (r->code != 0)
        r->reply.code = r->code;
    else if (is_failure)
        r->reply.code = 301;
    r->reply.shape = REPLY_ID;
    reply_format(r, &names, &out);
    require_object(&out);
    bytes_fini(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (parser == NULL) {
        parser = request_parser_new();
        json_object_init(&table);
    }
    struct said m = {
        .speaker = {.conn = 1,
                    .role = (enum login_role)(data[0] & 3),
                    .type = (data[0] & 4) != 0 ? QUEUE_COPY : QUEUE_DISTRIBUTE},
        .is_login = (data[0] & 3) == LOGIN,
        .is_text = (data[0] & 8) == 0,
        .payload = slice_of(data + 1, size - 1),
    };
    if (m.is_text && !utf8_is_valid(m.payload))
        return 0;
    struct request_parser *fresh = request_parser_new();
    struct request *r = parse(parser, &m);
    struct request *again = parse(fresh, &m);
    require(is_same_request(r, again));
    check_request(&m, r);
    check_reply(r, (data[0] & 16) != 0);
    parcel_free(&r->parcel);
    parcel_free(&again->parcel);
    request_parser_free(fresh);
    return 0;
}
