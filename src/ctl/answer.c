/* Answer: see answer.h. */
#include "ctl/answer.h"

bool
answer_next(struct slice *rest, struct slice *ret_element)
{
    const uint8_t *at = rest->data;
    const uint8_t *end = slice_end(*rest);
    int depth = 0;
    bool is_text = false;
    at += at < end && (*at == '[' || *at == ',');
    while (at < end && *at == ' ') /* bound: the text */
        at++;
    const uint8_t *begin = at;
    for (; at < end; at++) {
        if (is_text && *at == '\\' && at + 1 < end) {
            at++; /* whatever it is, it does not end the text */
            continue;
        }
        if (is_text) {
            is_text = *at != '"';
            continue;
        }
        if (depth == 0 && (*at == ',' || *at == ']'))
            break;
        is_text = *at == '"';
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
    }
    *rest = slice_of(at, (size_t)(end - at));
    *ret_element = slice_of(begin, (size_t)(at - begin));
    return begin < at;
}

uint64_t
answer_u64(const struct json_object *o, const char *key)
{
    const struct json_member *m = json_find(o, key);
    int64_t value = 0;
    if (m == NULL || m->type != JSON_NUMBER || json_whole(m->value, &value) != ST_OK)
        return 0;
    return value > 0 ? (uint64_t)value : 0;
}

bool
answer_bool(const struct json_object *o, const char *key)
{
    const struct json_member *m = json_find(o, key);
    return m != NULL && m->type == JSON_TRUE;
}

struct slice
answer_text(const struct json_object *o, const char *key)
{
    const struct json_member *m = json_find(o, key);
    return m != NULL && m->type == JSON_STRING ? m->value : slice_of(NULL, 0);
}

struct slice
answer_array(const struct json_object *o, const char *key)
{
    const struct json_member *m = json_find(o, key);
    return m != NULL && m->type == JSON_ARRAY ? m->value : slice_of(NULL, 0);
}
