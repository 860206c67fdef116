/* Bytes: a growing buffer to write formats into, and a cursor to read them.
 *
 * All integers are little-endian unless the name says be (network order). The reader
 * never reads past its end: the first short read sets bad, and every read after that
 * gives zero, so a decoder checks once, at the end. */
#ifndef HF_BASE_BYTES_H
#define HF_BASE_BYTES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A borrowed run of bytes; who lends it says for how long. */
struct slice {
    const uint8_t *data;
    size_t size;
};

static inline struct slice
slice_of(const void *data, size_t size)
{
    return (struct slice){(const uint8_t *)data, size};
}

/* Behind the last byte. An empty slice may be {NULL, 0}, and NULL + 0 is undefined. */
static inline const uint8_t *
slice_end(struct slice s)
{
    return s.size == 0 ? s.data : s.data + s.size;
}

struct slice slice_from_text(const char *text); /* without the final NUL */
bool slice_equal(struct slice a, struct slice b);

/* A growing buffer. All zero is a valid empty one. Growing aborts when memory is out
 * (mem_alloc); callers bound what they append. */
struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

void bytes_fini(struct bytes *b);                 /* frees, and leaves an empty one */
void bytes_clear(struct bytes *b);                /* size 0, keeps the memory */
void bytes_reserve(struct bytes *b, size_t more); /* room for more bytes behind size */
uint8_t *bytes_extend(struct bytes *b, size_t count); /* count uninitialised bytes */
void bytes_put(struct bytes *b, const void *data, size_t size);
void bytes_put_slice(struct bytes *b, struct slice s);
void bytes_put_text(struct bytes *b, const char *text);
void bytes_printf(struct bytes *b, const char *format, ...) PRINTF_LIKE(2, 3);
void bytes_put_u8(struct bytes *b, uint8_t v);
void bytes_put_u16(struct bytes *b, uint16_t v);
void bytes_put_u32(struct bytes *b, uint32_t v);
void bytes_put_u64(struct bytes *b, uint64_t v);
void bytes_put_u16be(struct bytes *b, uint16_t v);
void bytes_put_u32be(struct bytes *b, uint32_t v);
void bytes_put_u64be(struct bytes *b, uint64_t v);
/* LEB128, at most ten bytes. */
void bytes_put_varint(struct bytes *b, uint64_t v);
/* u32 length, then the bytes. */
void bytes_put_block(struct bytes *b, struct slice s);
/* Decimal digits, no sign, no padding. */
void bytes_put_decimal(struct bytes *b, uint64_t v);

/* Fixed places inside a buffer; compilers make one load or store of each. */
static inline void
put_u16(uint8_t *at, uint16_t v)
{
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

static inline void
put_u32(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
    at[2] = (uint8_t)(v >> 16);
    at[3] = (uint8_t)(v >> 24);
}

static inline void
put_u64(uint8_t *at, uint64_t v)
{
    put_u32(at, (uint32_t)v);
    put_u32(at + 4, (uint32_t)(v >> 32));
}

static inline uint16_t
get_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t
get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

static inline uint64_t
get_u64(const uint8_t *at)
{
    return get_u32(at) | (uint64_t)get_u32(at + 4) << 32;
}

struct reader {
    const uint8_t *at;
    const uint8_t *end;
    bool bad; /* something was read that was not there, or was out of range */
};

struct reader reader_of(struct slice s);
size_t reader_left(const struct reader *r);
uint8_t read_u8(struct reader *r);
uint16_t read_u16(struct reader *r);
uint32_t read_u32(struct reader *r);
uint64_t read_u64(struct reader *r);
/* Bad too when it is longer than it need be: a value has one encoding. */
uint64_t read_varint(struct reader *r);
/* The next size bytes, borrowed from what the reader reads; empty when bad. */
struct slice read_slice(struct reader *r, size_t size);
/* u32 length and the bytes; bad when the length is above max. */
struct slice read_block(struct reader *r, size_t max);
/* Exactly size bytes into out (zeroed when bad). */
void read_copy(struct reader *r, void *out, size_t size);
/* True when nothing was bad and everything was read. */
bool reader_done(const struct reader *r);

#endif
