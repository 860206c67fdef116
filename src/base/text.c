/* Text: UTF-8, base64 and the insides of JSON strings.
 *
 * Not a JSON parser (json.c) and not a converter of character sets.
 *
 * Bodies are long and mostly plain, so each function runs over what needs no work 16
 * bytes at a time and looks closely only at the rest. The compiler's vector types do
 * that on every processor without intrinsics. */
#include "base/text.h"

#include <assert.h>
#include <string.h>

typedef uint8_t lane __attribute__((vector_size(16)));
typedef uint64_t lane_words __attribute__((vector_size(16)));

static inline lane
load_lane(const uint8_t *p)
{
    lane v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline bool
is_ascii_lane(lane v)
{
    lane_words w = (lane_words)v;
    return ((w[0] | w[1]) & 0x8080808080808080u) == 0;
}

/* Where the ASCII text at p ends, at most end. */
static const uint8_t *
skip_ascii(const uint8_t *p, const uint8_t *end)
{
    for (; end - p >= 64; p += 64)
        if (!is_ascii_lane(load_lane(p) | load_lane(p + 16) | load_lane(p + 32) |
                           load_lane(p + 48)))
            break;
    for (; end - p >= 16 && is_ascii_lane(load_lane(p)); p += 16)
        ;
    while (p < end && *p < 0x80)
        p++;
    return p;
}

/* The state between two bytes: 0 between characters, else how many more bytes the
 * character needs, with the range of the next one. Only the first byte behind the lead
 * has a range of its own (RFC 3629 section 4). */
static inline uint32_t
expect(uint32_t count, uint32_t least, uint32_t most)
{
    return count << 16 | least << 8 | most;
}

/* 0 for a byte that begins no character; c is not ASCII. */
static uint32_t
expect_after_lead(uint8_t c)
{
    if (c < 0xc2 || c > 0xf4)
        return 0;
    if (c < 0xe0)
        return expect(1, 0x80, 0xbf);
    if (c < 0xf0) /* e0 would be overlong below a0; ed above 9f is a surrogate */
        return expect(2, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf);
    return expect(3, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf);
}

bool
utf8_check(uint32_t *state, struct slice s)
{
    const uint8_t *p = s.data;
    const uint8_t *end = slice_end(s);
    uint32_t st = *state;
    while (p < end) {
        if (st == 0) {
            if (*p < 0x80) {
                p = skip_ascii(p, end);
                continue;
            }
            st = expect_after_lead(*p++);
            if (st == 0)
                return false;
            continue;
        }
        if (*p < (st >> 8 & 255) || *p > (st & 255))
            return false;
        p++;
        st = st >> 16 == 1 ? 0 : expect((st >> 16) - 1, 0x80, 0xbf);
    }
    *state = st;
    return true;
}

static inline bool
is_tail(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

/* The size of the whole character at p, not ASCII, or 0; four bytes may be read. */
static inline size_t
whole_character(const uint8_t *p)
{
    uint8_t c = p[0];
    if (c < 0xe0)
        return c >= 0xc2 && is_tail(p[1]) ? 2 : 0;
    if (c < 0xf0) {
        bool ok = is_tail(p[1]) && is_tail(p[2]) && (c != 0xe0 || p[1] >= 0xa0) &&
                  (c != 0xed || p[1] <= 0x9f);
        return ok ? 3 : 0;
    }
    bool ok = c <= 0xf4 && is_tail(p[1]) && is_tail(p[2]) && is_tail(p[3]) &&
              (c != 0xf0 || p[1] >= 0x90) && (c != 0xf4 || p[1] <= 0x8f);
    return ok ? 4 : 0;
}

bool
utf8_is_valid(struct slice s)
{
    const uint8_t *p = s.data;
    const uint8_t *end = slice_end(s);
    while (end - p >= 4) {
        if (*p < 0x80) {
            p = skip_ascii(p, end);
            continue;
        }
        size_t size = whole_character(p);
        if (size == 0)
            return false;
        p += size;
    }
    uint32_t state = 0;
    return utf8_check(&state, slice_of(p, (size_t)(end - p))) && state == 0;
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* clang-format off */
/* Each digit's value plus one; 0 for what is no digit. */
static const uint8_t base64_values[256] = {
    ['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7, ['H'] = 8,
    ['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15,
    ['P'] = 16, ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22,
    ['W'] = 23, ['X'] = 24, ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29,
    ['d'] = 30, ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36,
    ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42, ['q'] = 43,
    ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48, ['w'] = 49, ['x'] = 50,
    ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56, ['4'] = 57,
    ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};
/* clang-format on */

/* 0 to 63, or a number with higher bits for what is no digit. */
static inline uint32_t
base64_value(uint8_t c)
{
    return base64_values[c] - 1u;
}

/* How many bytes the text gives, by its padding; false when the size is wrong. */
static bool
base64_decoded_size(struct slice s, size_t *ret_size)
{
    if (s.size % 4 != 0)
        return false;
    size_t size = s.size / 4 * 3;
    if (s.size > 0 && s.data[s.size - 1] == '=')
        size -= s.data[s.size - 2] == '=' ? 2 : 1;
    *ret_size = size;
    return true;
}

bool
base64_is_valid(struct slice s)
{
    size_t size;
    if (!base64_decoded_size(s, &size))
        return false;
    size_t digits = size / 3 * 4 + (size % 3 == 0 ? 0 : size % 3 + 1);
    uint32_t all = 0;
    for (size_t i = 0; i < digits; i++)
        all |= base64_value(s.data[i]);
    return all < 64;
}

size_t
base64_encoded_size(size_t size_bytes)
{
    return (size_bytes + 2) / 3 * 4;
}

void
base64_encode(struct slice s, uint8_t *out)
{
    const char *digits = base64_digits;
    const uint8_t *p = s.data;
    for (size_t left = s.size; left > 0; out += 4) {
        size_t count = left < 3 ? left : 3;
        uint32_t v = (uint32_t)p[0] << 16;
        if (count > 1)
            v |= (uint32_t)p[1] << 8;
        if (count > 2)
            v |= p[2];
        out[0] = (uint8_t)digits[v >> 18];
        out[1] = (uint8_t)digits[v >> 12 & 63];
        out[2] = count > 1 ? (uint8_t)digits[v >> 6 & 63] : '=';
        out[3] = count > 2 ? (uint8_t)digits[v & 63] : '=';
        p += count;
        left -= count;
    }
}

enum status
base64_decode(struct slice s, struct bytes *out)
{
    size_t size;
    size_t before = out->size;
    if (!base64_decoded_size(s, &size))
        return ST_INVALID;
    uint8_t *to = bytes_extend(out, size);
    const uint8_t *p = s.data;
    uint32_t all = 0;
    for (; size >= 3; size -= 3, p += 4) {
        uint32_t a = base64_value(p[0]), b = base64_value(p[1]);
        uint32_t c = base64_value(p[2]), d = base64_value(p[3]);
        all |= a | b | c | d;
        *to++ = (uint8_t)(a << 2 | b >> 4);
        *to++ = (uint8_t)(b << 4 | c >> 2);
        *to++ = (uint8_t)(c << 6 | d);
    }
    if (size > 0) { /* two or three digits and their padding */
        uint32_t a = base64_value(p[0]), b = base64_value(p[1]);
        uint32_t c = size == 2 ? base64_value(p[2]) : 0;
        all |= a | b | c;
        *to++ = (uint8_t)(a << 2 | b >> 4);
        if (size == 2)
            *to = (uint8_t)(b << 4 | c >> 2);
    }
    if (all < 64)
        return ST_OK;
    out->size = before;
    return ST_INVALID;
}

static inline bool
is_special(uint8_t c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

/* Comparing lanes sets all bits of each byte that fits. */
static inline lane_words
special_of(lane v)
{
    return (lane_words)((v < 0x20) | (v == '"') | (v == '\\'));
}

static inline bool
is_plain_64(const uint8_t *p)
{
    lane_words w = special_of(load_lane(p)) | special_of(load_lane(p + 16)) |
                   special_of(load_lane(p + 32)) | special_of(load_lane(p + 48));
    return (w[0] | w[1]) == 0;
}

/* The index of the first special byte of 16, or 16. */
static inline size_t
first_special(lane v)
{
    lane_words w = special_of(v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (w[0] != 0)
        return (size_t)__builtin_ctzll(w[0]) / 8;
    return w[1] != 0 ? 8 + (size_t)__builtin_ctzll(w[1]) / 8 : 16;
#else
    if (w[0] != 0)
        return (size_t)__builtin_clzll(w[0]) / 8;
    return w[1] != 0 ? 8 + (size_t)__builtin_clzll(w[1]) / 8 : 16;
#endif
}

size_t
json_plain_size(struct slice s)
{
    const uint8_t *p = s.data;
    const uint8_t *end = slice_end(s);
    while (end - p >= 64 && is_plain_64(p)) /* most of a body */
        p += 64;
    while (end - p >= 16) {
        size_t plain = first_special(load_lane(p));
        p += plain;
        if (plain < 16)
            return (size_t)(p - s.data);
    }
    while (p < end && !is_special(*p))
        p++;
    return (size_t)(p - s.data);
}

/* The letter behind the backslash in the short form, or 0. */
static char
short_escape(uint8_t c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

void
json_escape(struct bytes *out, struct slice s)
{
    bytes_reserve(out, s.size);
    while (s.size > 0) {
        size_t plain = json_plain_size(s);
        bytes_put(out, s.data, plain);
        s = slice_of(s.data + plain, s.size - plain);
        if (s.size == 0)
            break;
        char letter = short_escape(*s.data);
        if (letter != 0) {
            uint8_t *at = bytes_extend(out, 2);
            at[0] = '\\';
            at[1] = (uint8_t)letter;
        } else {
            bytes_printf(out, "\\u%04x", *s.data);
        }
        s = slice_of(s.data + 1, s.size - 1);
    }
}

size_t
json_escaped_size(struct slice s)
{
    size_t size = s.size;
    while (s.size > 0) {
        size_t plain = json_plain_size(s);
        s = slice_of(s.data + plain, s.size - plain);
        if (s.size == 0)
            break;
        size += short_escape(*s.data) != 0 ? 1 : 5;
        s = slice_of(s.data + 1, s.size - 1);
    }
    return size;
}

/* The four hex digits at p, well formed. */
static uint32_t
hex4(const uint8_t *p)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++)
        v = v << 4 | (uint32_t)(p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
    return v;
}

/* One escape at p (a backslash): its code point, surrogates joined, and its size in the
 * text. A lone surrogate comes out as itself. */
static uint32_t
read_escape(const uint8_t *p, const uint8_t *end, size_t *ret_size)
{
    static const uint8_t letters[] = "bfnrt";
    static const uint8_t values[] = "\b\f\n\r\t";
    assert(end - p >= 2);
    *ret_size = 2;
    if (p[1] != 'u') {
        for (int i = 0; i < 5; i++)
            if (p[1] == letters[i])
                return values[i];
        return p[1]; /* quote, backslash, slash */
    }
    assert(end - p >= 6);
    *ret_size = 6;
    uint32_t code = hex4(p + 2);
    if (code < 0xd800 || code > 0xdbff || end - p < 12 || p[6] != '\\' || p[7] != 'u')
        return code;
    uint32_t low = hex4(p + 8);
    if (low < 0xdc00 || low > 0xdfff)
        return code;
    *ret_size = 12;
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

/* The code in UTF-8, surrogates too, in 1 to 4 bytes. */
static size_t
put_code(uint8_t *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (uint8_t)(0xc0 | code >> 6);
        to[1] = (uint8_t)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (uint8_t)(0xe0 | code >> 12);
        to[1] = (uint8_t)(0x80 | (code >> 6 & 63));
        to[2] = (uint8_t)(0x80 | (code & 63));
        return 3;
    }
    to[0] = (uint8_t)(0xf0 | code >> 18);
    to[1] = (uint8_t)(0x80 | (code >> 12 & 63));
    to[2] = (uint8_t)(0x80 | (code >> 6 & 63));
    to[3] = (uint8_t)(0x80 | (code & 63));
    return 4;
}

static size_t
plain_until_escape(const uint8_t *p, const uint8_t *end)
{
    size_t left = (size_t)(end - p);
    const uint8_t *escape = left == 0 ? NULL : memchr(p, '\\', left);
    return escape == NULL ? left : (size_t)(escape - p);
}

/* Unescapes into to (or only counts, to NULL). True when no surrogate was alone. */
static bool
unescape(struct slice s, uint8_t *to, size_t *ret_size)
{
    const uint8_t *p = s.data;
    const uint8_t *end = slice_end(s);
    size_t size = 0;
    bool is_sound = true;
    while (p < end) {
        size_t plain = plain_until_escape(p, end);
        if (to != NULL)
            memcpy(to + size, p, plain);
        size += plain;
        p += plain;
        if (p == end)
            break;
        size_t escape_size;
        uint8_t code_bytes[4];
        uint32_t code = read_escape(p, end, &escape_size);
        is_sound = is_sound && (code < 0xd800 || code > 0xdfff);
        size += put_code(to == NULL ? code_bytes : to + size, code);
        p += escape_size;
    }
    *ret_size = size;
    return is_sound;
}

/* No escape gives more bytes than it has, so s.size bytes are room enough. */
static bool
append_unescaped(struct slice s, struct bytes *out)
{
    size_t size;
    bytes_reserve(out, s.size + 4);
    bool is_sound = unescape(s, out->data + out->size, &size);
    out->size += size;
    return is_sound;
}

void
json_unescape_loosely(struct slice s, struct bytes *out)
{
    (void)append_unescaped(s, out);
}

enum status
json_unescape(struct slice s, struct bytes *out)
{
    size_t before = out->size;
    if (append_unescaped(s, out))
        return ST_OK;
    out->size = before;
    return ST_INVALID;
}

enum status
json_unescaped_size(struct slice s, size_t *ret_size_bytes)
{
    size_t size;
    if (!unescape(s, NULL, &size))
        return ST_INVALID;
    *ret_size_bytes = size;
    return ST_OK;
}
