/* JSON: the reader of one flat object.
 *
 * Not a tree builder: what a request needs is the raw text of a handful of members.
 * Nothing is decoded here but keys with escapes. Numbers are json_number.c's, the
 * writer is json_write.c.
 *
 * Who checks what: the top level is scanned here, because yajl gives no offsets of its
 * tokens and copies what it calls back. A nested object or array goes to yajl, which
 * finds where it ends and checks everything inside; it is told when to stop by the
 * callback that closes the first level. yajl 2.1 was compared with RFC 8259 (a table
 * and generated texts in tests/unit/base/test_json_*.c): it takes vertical tab and form
 * feed for white space, and nothing else that it should not. Those two bytes cannot
 * stand raw in a string either, so the nested text must not have them at all.
 *
 * Invariants: no recursion (yajl has none, its stack is on the heap, one byte a level);
 * members' values point into the text, keys into the text or into keys. */
#include "base/json.h"

#include "base/mem.h"
#include "base/text.h"

#include <assert.h>
#include <string.h>
#include <yajl/yajl_parse.h>

/* More than this is not kept from one text to the next. */
#define KEYS_KEPT_BYTES 4096

_Static_assert(JSON_MEMBERS_MAX <= 64, "escaped_keys has a bit for each");

struct value {
    struct slice raw;
    enum json_type type;
    bool has_escape; /* strings */
    bool is_too_deep;
};

/* One parse under way. */
struct scan {
    struct json_object *object;
    const uint8_t *at;
    const uint8_t *end;
    uint64_t escaped_keys; /* members whose key is still to be found in keys */
    bool is_too_deep;      /* or has too many members */
};

void
json_object_init(struct json_object *o)
{
    o->count = 0;
    o->keys = (struct bytes){NULL, 0, 0};
}

void
json_object_fini(struct json_object *o)
{
    bytes_fini(&o->keys);
    o->count = 0;
}

static inline void
skip_space(struct scan *s)
{
    while (s->at < s->end &&
           (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

/* Takes c when it is next. */
static inline bool
take(struct scan *s, uint8_t c)
{
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static inline bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static inline bool
is_hex(uint8_t c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool
take_hex4(struct scan *s)
{
    if (s->end - s->at < 4)
        return false;
    const uint8_t *p = s->at;
    s->at += 4;
    return is_hex(p[0]) && is_hex(p[1]) && is_hex(p[2]) && is_hex(p[3]);
}

/* The backslash is taken. */
static bool
take_escape(struct scan *s)
{
    if (s->at == s->end)
        return false;
    switch (*s->at++) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return true;
    case 'u':
        return take_hex4(s);
    default:
        return false;
    }
}

/* The opening quote is taken. */
static bool
take_string(struct scan *s, struct value *ret)
{
    const uint8_t *begin = s->at;
    bool has_escape = false;
    for (;;) {
        s->at += json_plain_size(slice_of(s->at, (size_t)(s->end - s->at)));
        if (take(s, '"'))
            break;
        if (!take(s, '\\') || !take_escape(s))
            return false; /* also the end, or a control character */
        has_escape = true;
    }
    ret->raw = slice_of(begin, (size_t)(s->at - 1 - begin));
    ret->type = JSON_STRING;
    ret->has_escape = has_escape;
    return true;
}

static bool
take_number(struct scan *s, struct value *ret)
{
    size_t size = json_number_size(slice_of(s->at, (size_t)(s->end - s->at)));
    ret->raw = slice_of(s->at, size);
    ret->type = JSON_NUMBER;
    s->at += size;
    return size != 0;
}

static bool
take_word(struct scan *s, const char *word, enum json_type type, struct value *ret)
{
    size_t size = strlen(word);
    if ((size_t)(s->end - s->at) < size || memcmp(s->at, word, size) != 0)
        return false;
    ret->raw = slice_of(s->at, size);
    ret->type = type;
    s->at += size;
    return true;
}

/* How deep yajl is, and was at most. */
struct depth {
    size_t now;
    size_t most;
};

static int
open_level_cb(void *context)
{
    struct depth *d = context;
    d->now++;
    if (d->now > d->most)
        d->most = d->now;
    return 1;
}

/* Stops yajl behind the bracket that closes the first level. */
static int
close_level_cb(void *context)
{
    struct depth *d = context;
    d->now--;
    return d->now != 0;
}

/* yajl does not look whether it got memory. */
static void *
alloc_cb(void *context, size_t size)
{
    (void)context;
    return mem_alloc(size);
}

static void *
realloc_cb(void *context, void *old, size_t size)
{
    (void)context;
    return mem_realloc(old, size);
}

static void
free_cb(void *context, void *p)
{
    (void)context;
    mem_free(p);
}

static bool
take_nested(struct scan *s, struct value *ret)
{
    /* No callbacks for strings and numbers: yajl then decodes and converts none. */
    static const yajl_callbacks callbacks = {
        .yajl_start_map = open_level_cb,
        .yajl_end_map = close_level_cb,
        .yajl_start_array = open_level_cb,
        .yajl_end_array = close_level_cb,
    };
    yajl_alloc_funcs memory = {alloc_cb, realloc_cb, free_cb, NULL};
    struct depth depth = {0, 0};
    yajl_handle yajl = yajl_alloc(&callbacks, &memory, &depth);
    yajl_config(yajl, yajl_dont_validate_strings, 1); /* the text is valid UTF-8 */
    yajl_status status = yajl_parse(yajl, s->at, (size_t)(s->end - s->at));
    size_t size = yajl_get_bytes_consumed(yajl);
    yajl_free(yajl);
    if (status != yajl_status_client_canceled)
        return false; /* malformed, or it ended before its last bracket */
    if (memchr(s->at, '\v', size) != NULL || memchr(s->at, '\f', size) != NULL)
        return false;
    ret->raw = slice_of(s->at, size);
    ret->type = *s->at == '{' ? JSON_OBJECT : JSON_ARRAY;
    ret->is_too_deep = depth.most + 1 > JSON_DEPTH_MAX;
    s->at += size;
    return true;
}

static bool
take_value(struct scan *s, struct value *ret)
{
    if (s->at == s->end)
        return false;
    switch (*s->at) {
    case '"':
        s->at++;
        return take_string(s, ret);
    case '{':
    case '[':
        return take_nested(s, ret);
    case 't':
        return take_word(s, "true", JSON_TRUE, ret);
    case 'f':
        return take_word(s, "false", JSON_FALSE, ret);
    case 'n':
        return take_word(s, "null", JSON_NULL, ret);
    default:
        return take_number(s, ret);
    }
}

/* Keeps a member, while there is room. A key with escapes goes into keys, whose memory
 * may still move: until then key.data is an offset, in nobody's sight. */
static void
keep(struct scan *s, const struct value *key, const struct value *value)
{
    struct json_object *o = s->object;
    s->is_too_deep = s->is_too_deep || value->is_too_deep;
    if (o->count == JSON_MEMBERS_MAX) {
        s->is_too_deep = true;
        return;
    }
    struct json_member *m = &o->members[o->count];
    m->key = key->raw;
    m->value = value->raw;
    m->type = value->type;
    if (key->has_escape) {
        size_t before = o->keys.size;
        json_unescape_loosely(key->raw, &o->keys);
        m->key.size = o->keys.size - before;
        s->escaped_keys |= (uint64_t)1 << o->count;
    }
    o->count++;
}

static bool
take_member(struct scan *s)
{
    struct value key = {0};
    struct value value = {0};
    if (!take(s, '"') || !take_string(s, &key))
        return false;
    skip_space(s);
    if (!take(s, ':'))
        return false;
    skip_space(s);
    if (!take_value(s, &value))
        return false;
    skip_space(s);
    keep(s, &key, &value);
    return true;
}

/* The opening bracket is taken. */
static bool
take_members(struct scan *s)
{
    skip_space(s);
    if (take(s, '}'))
        return true;
    for (;;) {
        if (!take_member(s))
            return false;
        if (take(s, '}'))
            return true;
        if (!take(s, ','))
            return false;
        skip_space(s);
    }
}

/* Now that keys does not move any more. */
static void
point_escaped_keys(struct scan *s)
{
    struct json_object *o = s->object;
    const uint8_t *at = o->keys.data;
    for (size_t i = 0; i < o->count && s->escaped_keys != 0; i++) {
        if ((s->escaped_keys >> i & 1) == 0)
            continue;
        o->members[i].key.data = at;
        at += o->members[i].key.size;
    }
}

static bool
has_duplicate(const struct json_object *o)
{
    for (size_t i = 1; i < o->count; i++)
        for (size_t j = 0; j < i; j++)
            if (slice_equal(o->members[i].key, o->members[j].key))
                return true;
    return false;
}

/* What the whole text is; the table is complete only for JSON_IS_OBJECT. */
static enum json_outcome
parse(struct scan *s)
{
    struct value other = {0};
    skip_space(s);
    bool is_object = take(s, '{');
    if (is_object ? !take_members(s) : !take_value(s, &other))
        return JSON_NOT_JSON;
    skip_space(s);
    if (s->at != s->end)
        return JSON_NOT_JSON;
    if (!is_object)
        return JSON_IS_OTHER;
    if (s->is_too_deep)
        return JSON_TOO_DEEP;
    point_escaped_keys(s);
    return has_duplicate(s->object) ? JSON_DUPLICATE : JSON_IS_OBJECT;
}

enum json_outcome
json_parse(struct json_object *o, struct slice text)
{
    o->count = 0;
    if (o->keys.capacity > KEYS_KEPT_BYTES)
        bytes_fini(&o->keys);
    bytes_clear(&o->keys);
    if (text.size == 0)
        return JSON_NOT_JSON;
    struct scan s = {.object = o, .at = text.data, .end = text.data + text.size};
    enum json_outcome outcome = parse(&s);
    if (outcome != JSON_IS_OBJECT)
        o->count = 0;
    return outcome;
}

const struct json_member *
json_find(const struct json_object *o, const char *key)
{
    struct slice name = slice_from_text(key);
    for (size_t i = 0; i < o->count; i++)
        if (slice_equal(o->members[i].key, name))
            return &o->members[i];
    return NULL;
}
