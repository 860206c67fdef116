/* Bytes: the growing buffer and the cursor that reads it back.
 *
 * Not a string builder with formats of its own and not a parser of any one format: the
 * formats are where their byte tables are.
 *
 * Invariants: size <= capacity; data is NULL exactly when capacity is 0; once a reader
 * is bad through a short read it stands at its end, so nothing behind is read. */
#include "base/bytes.h"

#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CAPACITY_FIRST 64
#define VARINT_MAX     10

struct slice
slice_from_text(const char *text)
{
    return slice_of(text, strlen(text));
}

bool
slice_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

void
bytes_fini(struct bytes *b)
{
    mem_free(b->data);
    *b = (struct bytes){NULL, 0, 0};
}

void
bytes_clear(struct bytes *b)
{
    b->size = 0;
}

/* Out of line: the way that is seldom gone. */
static void __attribute__((noinline)) grow(struct bytes *b, size_t more)
{
    assert(more <= SIZE_MAX / 2 - b->size);
    size_t capacity = b->capacity < CAPACITY_FIRST ? CAPACITY_FIRST : b->capacity * 2;
    if (capacity < b->size + more)
        capacity = b->size + more;
    b->data = mem_realloc(b->data, capacity);
    b->capacity = capacity;
}

void
bytes_reserve(struct bytes *b, size_t more)
{
    if (more > b->capacity - b->size)
        grow(b, more);
}

uint8_t *
bytes_extend(struct bytes *b, size_t count)
{
    bytes_reserve(b, count == 0 ? 1 : count); /* never NULL, even for nothing */
    uint8_t *at = b->data + b->size;
    b->size += count;
    return at;
}

void
bytes_put(struct bytes *b, const void *data, size_t size)
{
    if (size != 0)
        memcpy(bytes_extend(b, size), data, size);
}

void
bytes_put_slice(struct bytes *b, struct slice s)
{
    bytes_put(b, s.data, s.size);
}

void
bytes_put_text(struct bytes *b, const char *text)
{
    bytes_put(b, text, strlen(text));
}

void
bytes_printf(struct bytes *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    bytes_reserve(b, CAPACITY_FIRST);
    size_t room = b->capacity - b->size;
    int length = vsnprintf((char *)b->data + b->size, room, format, args);
    va_end(args);
    assert(length >= 0);
    if ((size_t)length >= room) {
        bytes_reserve(b, (size_t)length + 1);
        length =
            vsnprintf((char *)b->data + b->size, (size_t)length + 1, format, again);
    }
    va_end(again);
    b->size += (size_t)length;
}

void
bytes_put_u8(struct bytes *b, uint8_t v)
{
    *bytes_extend(b, 1) = v;
}

void
bytes_put_u16(struct bytes *b, uint16_t v)
{
    put_u16(bytes_extend(b, 2), v);
}

void
bytes_put_u32(struct bytes *b, uint32_t v)
{
    put_u32(bytes_extend(b, 4), v);
}

void
bytes_put_u64(struct bytes *b, uint64_t v)
{
    put_u64(bytes_extend(b, 8), v);
}

void
bytes_put_u16be(struct bytes *b, uint16_t v)
{
    put_u16(bytes_extend(b, 2), __builtin_bswap16(v));
}

void
bytes_put_u32be(struct bytes *b, uint32_t v)
{
    put_u32(bytes_extend(b, 4), __builtin_bswap32(v));
}

void
bytes_put_u64be(struct bytes *b, uint64_t v)
{
    put_u64(bytes_extend(b, 8), __builtin_bswap64(v));
}

void
bytes_put_varint(struct bytes *b, uint64_t v)
{
    bytes_reserve(b, VARINT_MAX);
    while (v >= 128) {
        b->data[b->size++] = (uint8_t)(v | 128);
        v >>= 7;
    }
    b->data[b->size++] = (uint8_t)v;
}

void
bytes_put_block(struct bytes *b, struct slice s)
{
    assert(s.size <= UINT32_MAX);
    bytes_put_u32(b, (uint32_t)s.size);
    bytes_put_slice(b, s);
}

void
bytes_put_decimal(struct bytes *b, uint64_t v)
{
    uint8_t digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (uint8_t)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    bytes_put(b, digits + at, sizeof(digits) - at);
}

struct reader
reader_of(struct slice s)
{
    /* An end that is no NULL arithmetic, also for an empty slice. */
    static const uint8_t nothing;
    const uint8_t *data = s.data == NULL ? &nothing : s.data;
    return (struct reader){data, data + s.size, false};
}

size_t
reader_left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

/* The next size bytes, or NULL, and then bad. */
static const uint8_t *
advance(struct reader *r, size_t size)
{
    if (r->bad || size > reader_left(r)) {
        r->bad = true;
        r->at = r->end;
        return NULL;
    }
    const uint8_t *at = r->at;
    r->at += size;
    return at;
}

uint8_t
read_u8(struct reader *r)
{
    const uint8_t *at = advance(r, 1);
    return at == NULL ? 0 : *at;
}

uint16_t
read_u16(struct reader *r)
{
    const uint8_t *at = advance(r, 2);
    return at == NULL ? 0 : get_u16(at);
}

uint32_t
read_u32(struct reader *r)
{
    const uint8_t *at = advance(r, 4);
    return at == NULL ? 0 : get_u32(at);
}

uint64_t
read_u64(struct reader *r)
{
    const uint8_t *at = advance(r, 8);
    return at == NULL ? 0 : get_u64(at);
}

uint64_t
read_varint(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_MAX; i++) {
        const uint8_t *at = advance(r, 1);
        if (at == NULL)
            return 0;
        value |= (uint64_t)(*at & 127) << (7 * i);
        if (*at >= 128)
            continue;
        /* A last byte of zero says nothing; the tenth has room for one bit. */
        if ((*at == 0 && i > 0) || (i == VARINT_MAX - 1 && *at > 1))
            break;
        return value;
    }
    r->bad = true;
    r->at = r->end;
    return 0;
}

struct slice
read_slice(struct reader *r, size_t size)
{
    const uint8_t *at = advance(r, size);
    return at == NULL ? slice_of(r->end, 0) : slice_of(at, size);
}

struct slice
read_block(struct reader *r, size_t max)
{
    size_t size = read_u32(r);
    if (size > max)
        r->bad = true; /* and read_slice() goes to the end */
    return read_slice(r, size);
}

void
read_copy(struct reader *r, void *out, size_t size)
{
    if (size == 0)
        return;
    const uint8_t *at = advance(r, size);
    if (at == NULL)
        memset(out, 0, size);
    else
        memcpy(out, at, size);
}

bool
reader_done(const struct reader *r)
{
    return !r->bad && r->at == r->end;
}
