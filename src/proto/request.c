/* Request: the parser of each network thread, and the readers of single fields.
 *
 * Not the requests themselves: request_login.c, request_publish.c,
 * request_subscriber.c, request_admin.c. */
#include "proto/request.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/fields.h"

#include <string.h>

/* More than this is not kept from one request to the next. */
#define SCRATCH_KEPT_BYTES (256u << 10)

struct request_parser *
request_parser_new(void)
{
    struct request_parser *p = mem_calloc(1, sizeof(*p));
    json_object_init(&p->object);
    return p;
}

void
request_parser_free(struct request_parser *p)
{
    if (p == NULL)
        return;
    json_object_fini(&p->object);
    bytes_fini(&p->scratch);
    mem_free(p);
}

bool
field_whole(const struct json_member *m,
            int64_t least,
            int64_t most,
            uint32_t *ret_value)
{
    int64_t value;
    if (m == NULL || m->type != JSON_NUMBER || json_whole(m->value, &value) != ST_OK ||
        value < least || value > most)
        return false;
    *ret_value = (uint32_t)value;
    return true;
}

bool
field_bool(const struct json_member *m, bool *ret_value)
{
    if (m == NULL || (m->type != JSON_TRUE && m->type != JSON_FALSE))
        return false;
    *ret_value = m->type == JSON_TRUE;
    return true;
}

bool
field_text(struct request_parser *p,
           const struct json_member *m,
           size_t max_bytes,
           struct slice *ret_text)
{
    size_t size;
    if (m == NULL || m->type != JSON_STRING ||
        json_unescaped_size(m->value, &size) != ST_OK || size > max_bytes)
        return false;
    if (size == m->value.size) { /* every escape is longer than what it stands for */
        *ret_text = m->value;
        return true;
    }
    bytes_clear(&p->scratch);
    if (json_unescape(m->value, &p->scratch) != ST_OK)
        return false;
    *ret_text = slice_of(p->scratch.data, p->scratch.size);
    return true;
}

bool
field_id(struct request_parser *p, const struct json_member *m, struct uuid *ret_id)
{
    struct slice text;
    return field_text(p, m, UUID_TEXT_SIZE, &text) && uuid_parse(text, ret_id) == ST_OK;
}

struct slice
field_context(const struct json_member *m, uint16_t *code)
{
    size_t size;
    if (m == NULL)
        return slice_of(NULL, 0);
    if (m->type == JSON_NUMBER && m->value.size <= LIMIT_CONTEXT_BYTES)
        return m->value;
    if (m->type == JSON_STRING && json_unescaped_size(m->value, &size) == ST_OK &&
        size <= LIMIT_CONTEXT_BYTES)
        return slice_of(m->value.data - 1, m->value.size + 2); /* with its quotes */
    code_add(code, CODE_CONTEXT);
    return slice_of(NULL, 0);
}

struct request *
request_refused(uint64_t conn, struct slice context, uint16_t code, bool ends)
{
    struct request *r = request_new(PARCEL_REFUSED, conn, context);
    if (r == NULL)
        return NULL;
    r->code = code;
    r->ends = ends;
    return r;
}

struct request *
request_parse(struct request_parser *p,
              const struct speaker *speaker,
              bool is_text,
              struct slice payload)
{
    if (p->scratch.capacity > SCRATCH_KEPT_BYTES)
        bytes_fini(&p->scratch);
    switch (speaker->role) {
    case ROLE_PUBLISHER:
        return request_parse_publish(p, speaker, is_text, payload);
    case ROLE_SUBSCRIBER:
        return request_parse_subscriber(p, speaker, is_text, payload);
    case ROLE_ADMIN:
        return request_parse_admin(p, speaker, is_text, payload);
    case ROLE_COUNT:
        break;
    }
    return request_refused(speaker->conn, slice_of(NULL, 0), CODE_JSON, true);
}
