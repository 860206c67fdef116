/* Publish: the three forms of a message (manual, "Publish a message", "Binary
 * messages", "Plain text"), and its fields in a login and an addmsg.
 *
 * The most frequent request of all: one pass over the members, one copy of the body. A
 * body in JSON stays in wire form, the inside of its string as it came; plain text and
 * binary frames are brought into that form here, once. */
#include "base/text.h"
#include "proto/fields.h"
#include "proto/room.h"

#include <string.h>

#define TYPE_TEXT          1
#define TYPE_BINARY        2
#define DURABILITY_MOST    2
#define DURABILITY_DEFAULT 1
/* json_escape() reserves this much for one escape. */
#define ESCAPE_ROOM        64

struct members {
    const struct json_member *body;
    const struct json_member *type;
    const struct json_member *delay;
    const struct json_member *durability;
    const struct json_member *key;
    const struct json_member *context;
};

static bool
is_key(const struct json_member *m, const char *name)
{
    return memcmp(m->key.data, name, m->key.size) == 0;
}

static struct members
find_members(const struct json_object *o)
{
    struct members found = {0};
    for (size_t i = 0; i < o->count; i++) {
        const struct json_member *m = &o->members[i];
        switch (m->key.size) {
        case 4:
            if (is_key(m, "body"))
                found.body = m;
            else if (is_key(m, "type"))
                found.type = m;
            break;
        case 5:
            if (is_key(m, "delay"))
                found.delay = m;
            break;
        case 7:
            if (is_key(m, "context"))
                found.context = m;
            break;
        case 10:
            if (is_key(m, "durability"))
                found.durability = m;
            break;
        case 12:
            if (is_key(m, "publisherkey"))
                found.key = m;
            break;
        default:
            break;
        }
    }
    return found;
}

static bool
is_key_char(uint8_t c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    return c != 0 && strchr("-_.:/+=", c) != NULL;
}

static bool
is_good_key(struct slice key)
{
    for (size_t i = 0; i < key.size; i++)
        if (!is_key_char(key.data[i]))
            return false;
    return key.size > 0;
}

/* Body and key in one blob; false when out of memory. */
static bool
make_body(struct publish_fields *f, struct slice body, struct slice key)
{
    f->body = blob_try_new(body.size + key.size);
    if (f->body == NULL)
        return false;
    if (body.size > 0)
        memcpy(f->body->data, body.data, body.size);
    if (key.size > 0)
        memcpy(f->body->data + body.size, key.data, key.size);
    f->key_size = (uint8_t)key.size;
    return true;
}

/* Base64 has no character that JSON must escape, but a client may escape what it likes
 * ("\/"); the body is stored without. *body: in wire form; false: out of memory. */
static bool
read_base64(struct request_parser *p, struct slice *body, uint16_t *code)
{
    if (body->size > 0 && memchr(body->data, '\\', body->size) != NULL) {
        bytes_clear(&p->scratch);
        if (!room_try(&p->scratch, body->size + ESCAPE_ROOM))
            return false;
        if (json_unescape(*body, &p->scratch) != ST_OK)
            code_add(code, CODE_BODY);
        *body = slice_of(p->scratch.data, p->scratch.size);
    }
    if (!base64_is_valid(*body))
        code_add(code, CODE_BASE64);
    return true;
}

static bool
read_body(struct request_parser *p,
          const struct json_member *m,
          uint8_t type,
          struct slice *ret_body,
          uint16_t *code)
{
    size_t size;
    if (m == NULL) {
        code_add(code, CODE_NO_BODY);
        return true;
    }
    if (m->type != JSON_STRING || json_unescaped_size(m->value, &size) != ST_OK) {
        code_add(code, CODE_BODY);
        return true;
    }
    *ret_body = m->value;
    return type != TYPE_BINARY || read_base64(p, ret_body, code);
}

/* The fields that only a distribute queue has. key: borrowed, empty when not given. */
static void
read_options(const struct members *m,
             enum queue_type type,
             struct publish_fields *f,
             uint16_t *code)
{
    uint32_t durability = DURABILITY_DEFAULT;
    if (type == QUEUE_COPY) {
        if (m->delay != NULL)
            code_add(code, CODE_COPY_DELAY);
        if (m->durability != NULL)
            code_add(code, CODE_COPY_DURABILITY);
        if (m->key != NULL)
            code_add(code, CODE_COPY_KEY);
    } else {
        if (m->delay != NULL &&
            !field_whole(m->delay, 0, LIMIT_DELAY_SECS, &f->delay_secs))
            code_add(code, CODE_DELAY);
        if (m->durability != NULL &&
            !field_whole(m->durability, 0, DURABILITY_MOST, &durability))
            code_add(code, CODE_DURABILITY);
    }
    f->durability = (uint8_t)durability;
}

static bool
read_fields(struct request_parser *p,
            const struct members *m,
            enum queue_type type,
            struct publish_fields *out,
            uint16_t *code)
{
    struct publish_fields f = {0};
    struct slice body = slice_of(NULL, 0);
    struct slice text = slice_of(NULL, 0);
    uint8_t key[LIMIT_KEY_BYTES];
    uint32_t message_type = TYPE_TEXT;
    if (m->type != NULL && !field_whole(m->type, TYPE_TEXT, TYPE_BINARY, &message_type))
        code_add(code, CODE_TYPE);
    f.type = (uint8_t)message_type;
    read_options(m, type, &f, code);
    if (m->key != NULL && type == QUEUE_DISTRIBUTE) {
        if (!field_text(p, m->key, sizeof(key), &text) || !is_good_key(text))
            code_add(code, CODE_KEY);
        else /* it may lie in scratch, which the body needs */
            text = slice_of(memcpy(key, text.data, text.size), text.size);
    }
    if (!read_body(p, m->body, f.type, &body, code))
        return false;
    if (*code == 0 && !make_body(&f, body, text))
        return false;
    *out = f;
    return true;
}

bool
publish_read(struct request_parser *p,
             enum queue_type type,
             struct publish_fields *out,
             uint16_t *code)
{
    struct members m = find_members(&p->object);
    return read_fields(p, &m, type, out, code);
}

static struct request *
publish_request(const struct speaker *speaker,
                struct slice context,
                const struct publish_fields *fields,
                uint16_t code)
{
    struct request *r = request_new(PARCEL_PUBLISH, speaker->conn, context);
    if (r == NULL) {
        blob_put(fields->body);
        return NULL;
    }
    r->publish = *fields;
    r->code = code;
    return r;
}

static struct publish_fields
default_fields(uint8_t type)
{
    return (struct publish_fields){.type = type, .durability = DURABILITY_DEFAULT};
}

static struct request *
parse_binary(const struct speaker *speaker, struct slice payload)
{
    struct publish_fields f = default_fields(TYPE_BINARY);
    f.body = blob_try_new(base64_encoded_size(payload.size));
    if (f.body == NULL)
        return NULL;
    base64_encode(payload, f.body->data);
    return publish_request(speaker, slice_of(NULL, 0), &f, 0);
}

static struct request *
parse_plain(struct request_parser *p, const struct speaker *speaker, struct slice text)
{
    struct publish_fields f = default_fields(TYPE_TEXT);
    if (json_plain_size(text) < text.size) {
        bytes_clear(&p->scratch);
        if (!room_try(&p->scratch, json_escaped_size(text) + ESCAPE_ROOM))
            return NULL;
        json_escape(&p->scratch, text);
        text = slice_of(p->scratch.data, p->scratch.size);
    }
    if (!make_body(&f, text, slice_of(NULL, 0)))
        return NULL;
    return publish_request(speaker, slice_of(NULL, 0), &f, 0);
}

static struct request *
parse_object(struct request_parser *p, const struct speaker *speaker)
{
    struct members m = find_members(&p->object);
    struct publish_fields f = {0};
    uint16_t code = 0;
    struct slice context = field_context(m.context, &code);
    if (!read_fields(p, &m, speaker->type, &f, &code))
        return NULL;
    return publish_request(speaker, context, &f, code);
}

struct request *
request_parse_publish(struct request_parser *p,
                      const struct speaker *speaker,
                      bool is_text,
                      struct slice payload)
{
    if (!is_text)
        return parse_binary(speaker, payload);
    switch (json_parse(&p->object, payload)) {
    case JSON_IS_OBJECT:
        return parse_object(p, speaker);
    case JSON_IS_OTHER:
    case JSON_NOT_JSON:
        return parse_plain(p, speaker, payload);
    case JSON_DUPLICATE:
    case JSON_TOO_DEEP:
        break;
    }
    return request_refused(speaker->conn, slice_of(NULL, 0), CODE_JSON, false);
}
