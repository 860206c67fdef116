/* Subscriber: ack, nack, capacity, logout (manual, "Subscribers").
 *
 * The first of logout, ack and capacity is the request, whatever else stands in the
 * object (PROTOCOL-NOTES 22). */
#include "proto/fields.h"

static struct request *
parse_logout(const struct speaker *speaker,
             const struct json_member *logout,
             struct slice context,
             uint16_t code)
{
    struct request *r = request_new(PARCEL_LOGOUT, speaker->conn, context);
    if (r == NULL)
        return NULL;
    if (logout->type != JSON_TRUE)
        code_add(&code, CODE_LOGOUT);
    r->code = code;
    return r;
}

static struct request *
parse_settle(struct request_parser *p,
             const struct speaker *speaker,
             const struct json_member *ack,
             struct slice context,
             uint16_t code)
{
    uint32_t value = 0;
    struct request *r = request_new(PARCEL_SETTLE, speaker->conn, context);
    if (r == NULL)
        return NULL;
    r->settle.has_id = field_id(p, json_find(&p->object, "id"), &r->settle.id);
    if (!field_whole(ack, 0, 1, &value))
        code_add(&code, CODE_ACK);
    r->settle.is_ack = value == 1;
    r->code = code;
    return r;
}

static struct request *
parse_capacity(const struct speaker *speaker,
               const struct json_member *capacity,
               struct slice context,
               uint16_t code)
{
    struct request *r = request_new(PARCEL_CAPACITY, speaker->conn, context);
    if (r == NULL)
        return NULL;
    if (!field_whole(capacity, 1, LIMIT_CAPACITY, &r->capacity))
        code_add(&code, CODE_CAPACITY);
    r->code = code;
    return r;
}

/* p->object is empty for JSON that is no object. */
static struct request *
parse_request(struct request_parser *p, const struct speaker *speaker)
{
    uint16_t code = 0;
    const struct json_member *m;
    struct slice context = field_context(json_find(&p->object, "context"), &code);
    if (speaker->type == QUEUE_COPY) {
        code_add(&code, CODE_COPY_SUBSCRIBER);
        return request_refused(speaker->conn, context, code, false);
    }
    if ((m = json_find(&p->object, "logout")) != NULL)
        return parse_logout(speaker, m, context, code);
    if ((m = json_find(&p->object, "ack")) != NULL)
        return parse_settle(p, speaker, m, context, code);
    if ((m = json_find(&p->object, "capacity")) != NULL)
        return parse_capacity(speaker, m, context, code);
    code_add(&code, CODE_NOT_EXPECTED);
    return request_refused(speaker->conn, context, code, false);
}

struct request *
request_parse_subscriber(struct request_parser *p,
                         const struct speaker *speaker,
                         bool is_text,
                         struct slice payload)
{
    enum json_outcome outcome =
        is_text ? json_parse(&p->object, payload) : JSON_NOT_JSON;
    switch (outcome) {
    case JSON_IS_OBJECT:
    case JSON_IS_OTHER:
        return parse_request(p, speaker);
    case JSON_NOT_JSON:
    case JSON_DUPLICATE:
    case JSON_TOO_DEEP:
        break;
    }
    return request_refused(speaker->conn, slice_of(NULL, 0), CODE_JSON, true);
}
