/* Log fields: see log_fields.h.
 *
 * One pass: a key up to '=', then a value: quoted with \" \\ \uXXXX inside (which is
 * how JSON writes it, so it goes over as it is), or bare up to the next blank. */
#include "base/log_fields.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define NUMBER_DIGITS_MAX 15 /* what every reader of JSON keeps exactly */
#define REPLACEMENT       "\\ufffd"
#define CUT_MARK          "..."

struct field {
    struct slice key;
    struct slice value;
    bool is_quoted;
    bool is_cut; /* the value has no end */
};

static bool
is_blank(uint8_t c)
{
    return c <= ' ' || c == 0x7f;
}

static void
put(struct log_line *l, const void *text, size_t size)
{
    if (size > l->room - l->size) {
        l->is_cut = true;
        return;
    }
    memcpy(l->text + l->size, text, size);
    l->size += size;
}

static void
put_text(struct log_line *l, const char *text)
{
    put(l, text, strlen(text));
}

/* The size of the escape sequence that s begins with; 0: it is none. */
static size_t
escape_size(struct slice s)
{
    if (s.size < 2 || s.data[0] != '\\')
        return 0;
    if (s.data[1] != 'u')
        return strchr("\"\\/bfnrt", s.data[1]) != NULL && s.data[1] != '\0' ? 2 : 0;
    if (s.size < 6)
        return 0;
    for (size_t i = 2; i < 6; i++)
        if (strchr("0123456789abcdefABCDEF", s.data[i]) == NULL || s.data[i] == '\0')
            return 0;
    return 6;
}

static size_t
utf8_size(struct slice s)
{
    for (size_t size = 2; size <= 4 && size <= s.size; size++)
        if (utf8_is_valid(slice_of(s.data, size)))
            return size;
    return 0;
}

/* The character that s begins with, as it stands between quotes; its size. */
static size_t
put_character(struct log_line *l, struct slice s, bool is_escaped)
{
    char escape[8];
    uint8_t c = s.data[0];
    size_t size = is_escaped ? escape_size(s) : 0;
    if (size == 0 && c >= 0x80)
        size = utf8_size(s);
    if (size == 0 && c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
        size = 1;
    if (size > 0) {
        put(l, s.data, size);
        return size;
    }
    if (c >= 0x80)
        (void)snprintf(escape, sizeof escape, REPLACEMENT);
    else if (c == '"' || c == '\\')
        (void)snprintf(escape, sizeof escape, "\\%c", c);
    else
        (void)snprintf(escape, sizeof escape, "\\u%04x", c);
    put_text(l, escape);
    return 1;
}

static void
put_quoted(struct log_line *l, struct slice s, bool is_escaped, bool is_cut)
{
    put_text(l, "\"");
    while (s.size > 0) {
        size_t size = put_character(l, s, is_escaped);
        s = slice_of(s.data + size, s.size - size);
    }
    put_text(l, is_cut ? CUT_MARK "\"" : "\"");
}

/* As logfmt has it without quotes. */
static bool
is_word(struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        if (is_blank(s.data[i]) || s.data[i] >= 0x80 || strchr("\"\\=", s.data[i]))
            return false;
    return s.size > 0;
}

static bool
is_number(struct slice s)
{
    size_t digits = s.size - (s.size > 0 && s.data[0] == '-');
    return digits > 0 && digits <= NUMBER_DIGITS_MAX && json_number_size(s) == s.size;
}

static void
put_key(struct log_line *l, struct slice key)
{
    static const char *const taken[] = {"ts", "level", "node", "event"};
    if (key.size == 0)
        put_text(l, "_");
    for (size_t i = 0; i < key.size; i++) {
        char c = (char)key.data[i];
        bool is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
        put(l, is_good ? &c : "_", 1);
    }
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (slice_equal(key, slice_from_text(taken[i])))
            put_text(l, "_");
}

/* Whole, or not at all. is_escaped: the value was read from between quotes. */
static void
put_field(struct log_line *l, const struct field *f)
{
    size_t before = l->size;
    bool was_cut = l->is_cut;
    bool is_plain = !f->is_quoted && !f->is_cut;
    l->is_cut = false;
    put_text(l, l->format == LOG_JSON ? ",\"" : " ");
    put_key(l, f->key);
    put_text(l, l->format == LOG_JSON ? "\":" : "=");
    if (is_plain && (l->format == LOG_JSON ? is_number(f->value) : is_word(f->value)))
        put(l, f->value.data, f->value.size);
    else
        put_quoted(l, f->value, f->is_quoted, f->is_cut);
    if (l->is_cut)
        l->size = before;
    l->is_cut = l->is_cut || was_cut;
}

/* Up to the closing quote, which is taken too. */
static struct slice
take_quoted(struct slice *rest, bool *ret_is_cut)
{
    size_t i = 0;
    while (i < rest->size && rest->data[i] != '"') {
        size_t size = escape_size(slice_of(rest->data + i, rest->size - i));
        i += size > 0 ? size : 1;
    }
    struct slice value = slice_of(rest->data, i);
    *ret_is_cut = i == rest->size;
    i += i < rest->size;
    *rest = slice_of(rest->data + i, rest->size - i);
    return value;
}

static struct slice
take_until(struct slice *rest, bool (*is_end)(uint8_t c))
{
    size_t i = 0;
    while (i < rest->size && !is_end(rest->data[i]))
        i++;
    struct slice taken = slice_of(rest->data, i);
    *rest = slice_of(rest->data + i, rest->size - i);
    return taken;
}

static bool
ends_key(uint8_t c)
{
    return is_blank(c) || c == '=';
}

static void
skip(struct slice *rest, size_t count)
{
    *rest = slice_of(rest->data + count, rest->size - count);
}

void
log_fields_put(struct log_line *l, struct slice raw, bool is_cut)
{
    while (raw.size > 0) {
        struct field f = {.key = {NULL, 0}};
        if (is_blank(raw.data[0])) {
            skip(&raw, 1);
            continue;
        }
        f.key = take_until(&raw, ends_key);
        if (raw.size > 0 && raw.data[0] == '=') {
            skip(&raw, 1);
            f.is_quoted = raw.size > 0 && raw.data[0] == '"';
            if (f.is_quoted) {
                skip(&raw, 1);
                f.value = take_quoted(&raw, &f.is_cut);
            } else {
                f.value = take_until(&raw, is_blank);
            }
        }
        f.is_cut = f.is_cut || (is_cut && raw.size == 0);
        put_field(l, &f);
    }
    l->is_cut = l->is_cut || is_cut;
}

void
log_field_put(struct log_line *l, const char *key, const char *text)
{
    struct field f = {.key = slice_from_text(key), .value = slice_from_text(text)};
    put_field(l, &f);
}
