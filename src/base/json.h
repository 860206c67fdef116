/* JSON: a strict reader, with yajl for what is nested, and a compact writer.
 *
 * The reader gives the members of one top-level object (or says that the text is some
 * other value) as a flat table: raw text of each value as it was written, so that
 * numbers can be copied character for character and bodies stay in wire form. Nested
 * values are checked and given whole as raw text. No tree is built and nothing
 * recurses. Pure. */
#ifndef HF_BASE_JSON_H
#define HF_BASE_JSON_H

#include "base/bytes.h"

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_OBJECT,
    JSON_ARRAY,
};

#define JSON_MEMBERS_MAX 64 /* members of one object that are kept */
#define JSON_DEPTH_MAX   32 /* nesting: the object itself is 1 */

struct json_member {
    struct slice key;   /* unescaped; borrowed from the text or the table's own buffer;
                         * a lone surrogate is three bytes that are not UTF-8 */
    struct slice value; /* raw text: a string without its quotes, still escaped */
    enum json_type type;
};

/* About 3 KiB: keep one per thread and reuse it. */
struct json_object {
    struct json_member members[JSON_MEMBERS_MAX];
    size_t count;
    struct bytes keys; /* storage of unescaped keys that had escapes */
};

/* The first that fits, in the order NOT_JSON, IS_OTHER, TOO_DEEP, DUPLICATE, IS_OBJECT:
 * the whole text is always checked, so what is no JSON is never anything else. */
enum json_outcome {
    JSON_IS_OBJECT, /* the table is filled; it is empty for all others */
    JSON_IS_OTHER,  /* well formed JSON of any depth, but no object */
    JSON_NOT_JSON,  /* not RFC 8259 */
    JSON_DUPLICATE, /* an object in which a key stands twice (at the top level) */
    JSON_TOO_DEEP,  /* more than JSON_DEPTH_MAX levels, or more than 64 members */
};

void json_object_init(struct json_object *o);
void json_object_fini(struct json_object *o);
/* text must be valid UTF-8 (utf8_is_valid) and outlive the table. White space around
 * the value is allowed, anything else behind it is JSON_NOT_JSON. A lone surrogate
 * escape in a string is well formed here; json_unescape() refuses it. Keys are compared
 * unescaped. */
enum json_outcome json_parse(struct json_object *o, struct slice text);
/* NULL when there is no such member. */
const struct json_member *json_find(const struct json_object *o, const char *key);

/* A whole number written in any way (1, 1.0, 1e0, 10e-1, -0): exact, within int64;
 * ST_INVALID for fractions and what is no number, ST_RANGE for what does not fit. */
enum status json_whole(struct slice number_text, int64_t *ret_value) MUST_USE;
/* Only plain integers: -?(0|[1-9][0-9]*); else ST_INVALID. */
enum status json_plain_integer(struct slice number_text, int64_t *ret_value) MUST_USE;

/* The writer: commas and quotes are its work. Strings are escaped (json_escape). */
struct json_writer {
    struct bytes *out; /* borrowed */
    bool need_comma;
};

void json_write_begin(struct json_writer *w, struct bytes *out);
void json_object_begin(struct json_writer *w, const char *key); /* key NULL in arrays */
void json_object_end(struct json_writer *w);
void json_array_begin(struct json_writer *w, const char *key);
void json_array_end(struct json_writer *w);
void json_put_text(struct json_writer *w, const char *key, struct slice utf8);
void json_put_string(struct json_writer *w, const char *key, const char *text);
void json_put_u64(struct json_writer *w, const char *key, uint64_t v);
void json_put_i64(struct json_writer *w, const char *key, int64_t v);
void json_put_bool(struct json_writer *w, const char *key, bool v);
/* raw: JSON text that goes out as it is. */
void json_put_raw(struct json_writer *w, const char *key, struct slice raw);

#endif
