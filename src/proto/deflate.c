/* Deflate: zlib's raw streams, one set per network thread.
 *
 * Not frames (websocket.c). Without context takeover every message begins with an empty
 * window, so a thread's connections can share its streams, and an idle connection needs
 * none. A stream is made when it is first used and reset for each message.
 *
 * A message on the wire is a raw deflate stream that ends with an empty stored block
 * whose last four bytes, 00 00 ff ff, are left out (RFC 7692 section 7.2.1); unpacking
 * puts them back. */
#include "proto/deflate.h"

#include "base/mem.h"
#include "proto/room.h"
#include "proto/websocket.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

#define WINDOW_BITS_LEAST 9
#define WINDOW_BITS_MOST  15
#define PACK_LEVEL        1
#define PACK_MEM_LEVEL    8
#define TAIL_BYTES        4
#define UNPACK_FIRST      4096 /* bytes tried first for the unpacked message */
/* zlib's sign, in data_type, that it stands between two blocks. */
#define AT_BLOCK_END      128

static const uint8_t tail[TAIL_BYTES] = {0x00, 0x00, 0xff, 0xff};

struct ws_codec {
    z_stream unpack;
    z_stream pack[WINDOW_BITS_MOST + 1]; /* by window bits */
    bool has_unpack;
    bool has_pack[WINDOW_BITS_MOST + 1];
    struct bytes unpacked;
    struct bytes packed;
};

static void *
zlib_alloc(void *ctx, unsigned count, unsigned size)
{
    (void)ctx;
    return mem_try_calloc(count, size);
}

static void
zlib_free(void *ctx, void *p)
{
    (void)ctx;
    mem_free(p);
}

struct ws_codec *
ws_codec_new(void)
{
    return mem_calloc(1, sizeof(struct ws_codec));
}

void
ws_codec_free(struct ws_codec *c)
{
    if (c == NULL)
        return;
    if (c->has_unpack)
        (void)inflateEnd(&c->unpack);
    for (int bits = WINDOW_BITS_LEAST; bits <= WINDOW_BITS_MOST; bits++)
        if (c->has_pack[bits])
            (void)deflateEnd(&c->pack[bits]);
    bytes_fini(&c->unpacked);
    bytes_fini(&c->packed);
    mem_free(c);
}

/* The unpacking stream, fresh; NULL when out of memory. */
static z_stream *
begin_unpack(struct ws_codec *c)
{
    z_stream *z = &c->unpack;
    if (c->has_unpack)
        return inflateReset(z) == Z_OK ? z : NULL;
    *z = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free};
    if (inflateInit2(z, -WINDOW_BITS_MOST) != Z_OK)
        return NULL;
    c->has_unpack = true;
    return z;
}

/* More room for unpacked bytes: twice what there is, at most limit. */
static bool
more_room(struct ws_codec *c, z_stream *z, size_t limit)
{
    struct bytes *out = &c->unpacked;
    size_t capacity = out->size < UNPACK_FIRST / 2 ? UNPACK_FIRST : out->size * 2;
    if (capacity < out->capacity)
        capacity = out->capacity;
    if (capacity > limit)
        capacity = limit;
    if (!room_try(out, capacity))
        return false;
    z->next_out = out->data + out->size;
    z->avail_out = (uInt)(capacity - out->size);
    return true;
}

/* Unpacks all of in behind what is there. limit is one byte more than is allowed.
 * *ended: the stream's last block (BFINAL) was the end of in. */
static enum status
unpack_part(struct ws_codec *c, z_stream *z, struct slice in, size_t limit, bool *ended)
{
    z->next_in = (Bytef *)(uintptr_t)in.data;
    z->avail_in = (uInt)in.size;
    *ended = false;
    for (;;) { /* each turn fills the room or uses up the input, or ends a stream */
        if (!more_room(c, z, limit))
            return ST_NOMEM;
        int result = inflate(z, Z_SYNC_FLUSH);
        c->unpacked.size = (size_t)(z->next_out - c->unpacked.data);
        if (c->unpacked.size >= limit)
            return ST_RANGE;
        if (result == Z_MEM_ERROR)
            return ST_NOMEM;
        if (result == Z_STREAM_END) {
            /* A block with BFINAL: another stream may follow (section 7.2.3.4). */
            *ended = z->avail_in == 0;
            if (*ended)
                return ST_OK;
            if (inflateReset(z) != Z_OK)
                return ST_CORRUPT;
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            return ST_CORRUPT;
        } else if (z->avail_out > 0) {
            return z->avail_in == 0 ? ST_OK : ST_CORRUPT;
        }
    }
}

enum status
ws_unpack(struct ws_codec *c,
          struct slice packed,
          size_t max_bytes,
          struct slice *ret_message)
{
    if (packed.size > UINT_MAX / 2 || max_bytes > UINT_MAX / 2)
        return ST_RANGE;
    bytes_clear(&c->unpacked);
    if (packed.size == 0) { /* some clients send the empty message so */
        *ret_message = slice_of(c->unpacked.data, 0);
        return ST_OK;
    }
    z_stream *z = begin_unpack(c);
    if (z == NULL)
        return ST_NOMEM;
    bool ended;
    enum status status = unpack_part(c, z, packed, max_bytes + 1, &ended);
    if (status == ST_OK && !ended)
        status = unpack_part(c, z, slice_of(tail, TAIL_BYTES), max_bytes + 1, &ended);
    if (status == ST_OK && !ended && (z->data_type & AT_BLOCK_END) == 0)
        status = ST_CORRUPT;
    if (status == ST_OK)
        *ret_message = slice_of(c->unpacked.data, c->unpacked.size);
    return status;
}

static z_stream *
begin_pack(struct ws_codec *c, uint8_t bits)
{
    z_stream *z = &c->pack[bits];
    if (c->has_pack[bits])
        return deflateReset(z) == Z_OK ? z : NULL;
    *z = (z_stream){.zalloc = zlib_alloc, .zfree = zlib_free};
    if (deflateInit2(z, PACK_LEVEL, Z_DEFLATED, -bits, PACK_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    c->has_pack[bits] = true;
    return z;
}

bool
ws_pack(struct ws_codec *c,
        uint8_t window_bits,
        struct slice message,
        struct slice *ret_packed)
{
    assert(window_bits >= WINDOW_BITS_LEAST && window_bits <= WINDOW_BITS_MOST);
    if (message.size == 0 || message.size > UINT_MAX / 2)
        return false;
    /* Without its tail it must be shorter than the message: more room is not needed. */
    size_t room = message.size - 1 + TAIL_BYTES;
    z_stream *z = begin_pack(c, window_bits);
    if (z == NULL || !room_try(&c->packed, room))
        return false;
    z->next_in = (Bytef *)(uintptr_t)message.data;
    z->avail_in = (uInt)message.size;
    z->next_out = c->packed.data;
    z->avail_out = (uInt)room;
    int result = deflate(z, Z_SYNC_FLUSH);
    /* A full buffer may mean that there is more to come. */
    if (result != Z_OK || z->avail_in > 0 || z->avail_out == 0)
        return false;
    size_t size = (size_t)(z->next_out - c->packed.data);
    if (size <= TAIL_BYTES ||
        memcmp(c->packed.data + size - TAIL_BYTES, tail, TAIL_BYTES) != 0)
        return false;
    *ret_packed = slice_of(c->packed.data, size - TAIL_BYTES);
    return true;
}
