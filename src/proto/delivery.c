/* Delivery: the frames that a client gets without asking: messages, notices, pushes.
 *
 * Not the answers to requests (reply.c). A message is written once for each delivery,
 * so its size is computed first, the room made in one step, and everything copied. */
#include "proto/delivery.h"

#include "proto/put.h"
#include "proto/reply.h"

#include <assert.h>

#define ID_FIELD   "\"id\":\""
#define KEY_FIELD  "\"publisherkey\":\""
#define TYPE_FIELD "\"type\":"
#define BODY_FIELD ",\"body\":\""
#define DATE_FIELD "\",\"recdat\":"
#define NEXT       "\","

/* Everything but id, key, body and the digits of the date. */
#define FIXED_BYTES                                                                    \
    (LITERAL_SIZE("{" TYPE_FIELD) + 1 + LITERAL_SIZE(BODY_FIELD) +                     \
     LITERAL_SIZE(DATE_FIELD) + LITERAL_SIZE("}"))
#define ID_BYTES        (LITERAL_SIZE(ID_FIELD NEXT) + UUID_TEXT_SIZE)
#define KEY_BYTES(size) ((size) == 0 ? 0 : LITERAL_SIZE(KEY_FIELD NEXT) + (size))

size_t
message_text_size(const struct message_text *m)
{
    return FIXED_BYTES + (m->id == NULL ? 0 : ID_BYTES) + KEY_BYTES(m->key.size) +
           m->body.size + decimal_size(m->received_secs);
}

void
message_put(const struct message_text *m, struct bytes *out)
{
    size_t size = message_text_size(m);
    uint8_t *at = bytes_extend(out, size);
    uint8_t *end = at + size;
    at = PUT_LITERAL(at, "{");
    if (m->id != NULL) {
        at = PUT_LITERAL(at, ID_FIELD);
        at = put_id(at, m->id);
        at = PUT_LITERAL(at, NEXT);
    }
    if (m->key.size > 0) {
        at = PUT_LITERAL(at, KEY_FIELD);
        at = put_data(at, m->key.data, m->key.size);
        at = PUT_LITERAL(at, NEXT);
    }
    at = PUT_LITERAL(at, TYPE_FIELD);
    *at++ = (uint8_t)('0' + m->type);
    at = PUT_LITERAL(at, BODY_FIELD);
    at = put_data(at, m->body.data, m->body.size);
    at = PUT_LITERAL(at, DATE_FIELD);
    at = put_decimal(at, m->received_secs);
    at = PUT_LITERAL(at, "}");
    assert(at == end && m->type < 10);
}

void
delivery_format(const struct delivery *delivery, struct bytes *out)
{
    const uint8_t *body = delivery->body->data;
    struct message_text m = {
        .id = delivery->has_id ? &delivery->id : NULL,
        .key = slice_of(body + delivery->body_size, delivery->key_size),
        .body = slice_of(body, delivery->body_size),
        .type = delivery->type,
        .received_secs = delivery->received_ms / 1000,
    };
    message_put(&m, out);
}

uint32_t
message_frame_size(const struct message_view *view)
{
    return (uint32_t)(FIXED_BYTES + ID_BYTES + KEY_BYTES((size_t)view->key_size) +
                      view->body_size + decimal_size(view->received_ms / 1000));
}

void
notice_format(const struct notice *notice, struct bytes *out)
{
    char id[UUID_TEXT_SIZE];
    uuid_format(&notice->id, id);
    bytes_put_text(out, notice->is_moved ? "{\"movedtodlq\":true,\"id\":\""
                                         : "{\"deleted\":true,\"id\":\"");
    bytes_put(out, id, sizeof(id));
    bytes_put_text(out, "\"}");
}

void
push_format(const struct push *push, struct bytes *out)
{
    bytes_put_text(out, "{\"cmd\":\"getlivestats\",\"csv\":\"");
    for (size_t i = 0; i < STATS_COLUMNS; i++) {
        if (i > 0)
            bytes_put_u8(out, ',');
        bytes_put_decimal(out, push->live[i]);
    }
    bytes_put_text(out, "\"}");
}
