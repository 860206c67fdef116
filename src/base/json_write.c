/* JSON: the compact writer.
 *
 * Not a checker: that begins and ends match, and that raw text is JSON, is the caller's
 * business. The one thing it keeps is whether a comma is due, which is all that nesting
 * needs: a value has just ended (due), or a bracket has just opened (not due). */
#include "base/json.h"
#include "base/text.h"

#include <string.h>

void
json_write_begin(struct json_writer *w, struct bytes *out)
{
    *w = (struct json_writer){out, false};
}

static void
put_quoted(struct json_writer *w, struct slice utf8)
{
    bytes_put_u8(w->out, '"');
    json_escape(w->out, utf8);
    bytes_put_u8(w->out, '"');
}

/* What stands before a value: the comma and the key. */
static void
begin_value(struct json_writer *w, const char *key)
{
    if (w->need_comma)
        bytes_put_u8(w->out, ',');
    if (key != NULL) {
        put_quoted(w, slice_from_text(key));
        bytes_put_u8(w->out, ':');
    }
    w->need_comma = true;
}

static void
open_bracket(struct json_writer *w, const char *key, uint8_t bracket)
{
    begin_value(w, key);
    bytes_put_u8(w->out, bracket);
    w->need_comma = false;
}

static void
close_bracket(struct json_writer *w, uint8_t bracket)
{
    bytes_put_u8(w->out, bracket);
    w->need_comma = true;
}

void
json_object_begin(struct json_writer *w, const char *key)
{
    open_bracket(w, key, '{');
}

void
json_object_end(struct json_writer *w)
{
    close_bracket(w, '}');
}

void
json_array_begin(struct json_writer *w, const char *key)
{
    open_bracket(w, key, '[');
}

void
json_array_end(struct json_writer *w)
{
    close_bracket(w, ']');
}

void
json_put_text(struct json_writer *w, const char *key, struct slice utf8)
{
    begin_value(w, key);
    put_quoted(w, utf8);
}

void
json_put_string(struct json_writer *w, const char *key, const char *text)
{
    json_put_text(w, key, slice_from_text(text));
}

void
json_put_u64(struct json_writer *w, const char *key, uint64_t v)
{
    begin_value(w, key);
    bytes_put_decimal(w->out, v);
}

void
json_put_i64(struct json_writer *w, const char *key, int64_t v)
{
    begin_value(w, key);
    if (v < 0)
        bytes_put_u8(w->out, '-');
    bytes_put_decimal(w->out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void
json_put_bool(struct json_writer *w, const char *key, bool v)
{
    begin_value(w, key);
    bytes_put_text(w->out, v ? "true" : "false");
}

void
json_put_raw(struct json_writer *w, const char *key, struct slice raw)
{
    begin_value(w, key);
    bytes_put_slice(w->out, raw);
}
