/* Fuzz target of proto/request and proto/reply: what clients send, and what is
 * answered.
 *
 * The first byte: bits 0 and 1 the role (3: a login), bit 2 a copy queue, bit 3 a
 * binary frame, bit 4 the answer is a failure. Besides not crashing: an answer and a
 * delivery are JSON objects, and a delivery has the size that was computed. */
#include "base/text.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static struct request_parser *parser;
static struct json_object table;

static void
require_object(struct bytes *text)
{
    struct slice s = slice_of(text->data, text->size);
    require(utf8_is_valid(s));
    require(json_parse(&table, s) == JSON_IS_OBJECT);
    bytes_clear(text);
}

static void
check_body(const struct publish_fields *f)
{
    struct bytes out = {NULL, 0, 0};
    if (f->body == NULL)
        return;
    require(f->body->size >= f->key_size && f->key_size <= LIMIT_KEY_BYTES);
    require(f->type == 1 || f->type == 2);
    require(f->durability <= 2 && f->delay_secs <= LIMIT_DELAY_SECS);
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
    if (f->type == 2)
        require(base64_is_valid(slice_of(f->body->data, d.body_size)));
    bytes_fini(&out);
}

static void
check_request(const struct request *r)
{
    require(r->code == 0 || (r->code >= 100 && r->code <= 416));
    if (r->parcel.kind == PARCEL_PUBLISH) {
        require((r->code == 0) == (r->publish.body != NULL));
        check_body(&r->publish);
    } else if (r->parcel.kind == PARCEL_LOGIN) {
        require(r->ends == (r->code != 0));
        require(r->login->username_size <= LIMIT_USERNAME_BYTES);
        require(r->login->password_size <= LIMIT_PASSWORD_BYTES);
        check_body(&r->login->publish);
    } else if (r->parcel.kind == PARCEL_ADMIN) {
        require(r->admin->settings.count <= SETTING_COUNT);
        check_body(&r->admin->publish);
    } else if (r->parcel.kind == PARCEL_CAPACITY && r->code == 0) {
        require(r->capacity >= 1 && r->capacity <= LIMIT_CAPACITY);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct reply_names names = {"self-hosted", "local"};
    if (size == 0)
        return 0;
    if (parser == NULL) {
        parser = request_parser_new();
        json_object_init(&table);
    }
    struct slice payload = slice_of(data + 1, size - 1);
    bool is_text = (data[0] & 8) == 0;
    if (is_text && !utf8_is_valid(payload))
        return 0;
    struct speaker speaker = {.conn = 1,
                              .role = (enum login_role)(data[0] & 3),
                              .type =
                                  (data[0] & 4) != 0 ? QUEUE_COPY : QUEUE_DISTRIBUTE};
    struct request *r = (data[0] & 3) == 3
                            ? request_parse_login(parser, 1, 1, is_text, payload)
                            : request_parse(parser, &speaker, is_text, payload);
    require(r != NULL);
    check_request(r);
    if (r->code != 0)
        r->reply.code = r->code;
    else if ((data[0] & 16) != 0)
        r->reply.code = 301;
    r->reply.shape = REPLY_ID;
    struct bytes out = {NULL, 0, 0};
    reply_format(r, &names, &out);
    require_object(&out);
    bytes_fini(&out);
    parcel_free(&r->parcel);
    return 0;
}
