/* Fuzz target of proto/deflate: packed messages of clients.
 *
 *   0  u8   which limit
 *   1  u8   bytes of a fragment, less one
 *   2  ...  the packed message as it is on the wire, without its last four bytes
 *
 * Besides not crashing: the outcome is what zlib alone makes of the bytes, given one by
 * one; no message is above the limit and no more memory is held than the limit and
 * zlib's window; the same message in fragments gives the same through websocket.c; and
 * what was unpacked comes back when it is packed. */
#include "base/mem.h"
#include "proto/deflate.h"
#include "proto/websocket.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <zlib.h>

#define STREAM_BYTES (48u << 10) /* zlib's state and window */
#define AT_BLOCK_END 128
#define PACK_MOST    4096 /* larger ones take long */
#define FINAL        0x80
#define PACKED       0x40

/* That of a network thread: it has seen every message before. */
static struct ws_codec *codec;

static const size_t limits[] = {0, 1, 100, 1024, 4095, 4096, 16384, 65536};

/* One more byte of the message; what is there counts against max. */
static int
inflate_byte(z_stream *z, uint8_t byte, size_t max_bytes, struct bytes *out)
{
    int result;
    z->next_in = &byte;
    z->avail_in = 1;
    do { /* each turn gives output or takes the byte */
        uint8_t piece[512];
        z->next_out = piece;
        z->avail_out = sizeof piece;
        result = inflate(z, Z_NO_FLUSH);
        bytes_put(out, piece, sizeof piece - z->avail_out);
    } while (result == Z_OK && z->avail_out == 0 && out->size <= max_bytes);
    return result;
}

/* What the wire's bytes and their tail are by zlib alone. */
static enum status
inflate_slowly(struct slice packed, size_t max_bytes, struct bytes *out)
{
    static const uint8_t tail[] = {0, 0, 0xff, 0xff};
    z_stream z = {0};
    enum status status = ST_OK;
    bool ended = false;
    require(inflateInit2(&z, -15) == Z_OK);
    for (size_t i = 0; i < packed.size + sizeof tail && status == ST_OK; i++) {
        if (i == packed.size && (ended || packed.size == 0))
            break;
        uint8_t byte = i < packed.size ? packed.data[i] : tail[i - packed.size];
        int result = inflate_byte(&z, byte, max_bytes, out);
        ended = result == Z_STREAM_END;
        if (out->size > max_bytes)
            status = ST_RANGE;
        else if (ended)
            require(inflateReset(&z) == Z_OK);
        else if (result != Z_OK && result != Z_BUF_ERROR)
            status = ST_CORRUPT;
    }
    if (status == ST_OK && packed.size > 0 && !ended &&
        (z.data_type & AT_BLOCK_END) == 0)
        status = ST_CORRUPT;
    inflateEnd(&z);
    return status;
}

static void
check_limit(struct slice packed, size_t max_bytes, enum status expected, size_t size)
{
    struct slice message = {NULL, 0};
    require(ws_unpack(codec, packed, max_bytes, &message) == expected);
    if (expected == ST_OK)
        require(message.size == size && size <= max_bytes);
}

/* What a new codec holds afterwards, and that it gives all of it back. */
static void
check_memory(struct slice packed, size_t max_bytes, enum status expected)
{
    struct slice message = {NULL, 0};
    size_t before = allocated_bytes();
    struct ws_codec *fresh = ws_codec_new();
    require(ws_unpack(fresh, packed, max_bytes, &message) == expected);
    require(allocated_bytes() <= before + max_bytes + STREAM_BYTES);
    ws_codec_free(fresh);
    require(allocated_bytes() <= before);
}

/* Packs it as the server would, and reads that. */
static void
check_pack(struct slice message, uint8_t window_bits)
{
    struct slice packed, back;
    if (!ws_pack(codec, window_bits, message, &packed))
        return;
    require(packed.size < message.size);
    require(ws_unpack(codec, packed, message.size, &back) == ST_OK);
    require(slice_equal(back, message));
}

static void
put_frame(struct bytes *out, uint8_t start, struct slice payload)
{
    static const uint8_t mask[] = {0x5a, 0, 0xff, 1};
    bytes_put_u8(out, start);
    if (payload.size < 126) {
        bytes_put_u8(out, (uint8_t)(0x80 | payload.size));
    } else if (payload.size <= 0xffff) {
        bytes_put_u8(out, 0x80 | 126);
        bytes_put_u16be(out, (uint16_t)payload.size);
    } else {
        bytes_put_u8(out, 0x80 | 127);
        bytes_put_u64be(out, payload.size);
    }
    bytes_put(out, mask, sizeof mask);
    for (size_t i = 0; i < payload.size; i++)
        bytes_put_u8(out, payload.data[i] ^ mask[i % sizeof mask]);
}

static void
put_fragments(struct bytes *out, struct slice packed, size_t fragment)
{
    uint8_t start = PACKED | WS_BINARY;
    for (; packed.size > fragment; start = WS_CONTINUATION) {
        put_frame(out, start, slice_of(packed.data, fragment));
        packed = slice_of(packed.data + fragment, packed.size - fragment);
    }
    put_frame(out, FINAL | start, packed);
}

/* The message in frames: the packed form has a limit of its own, an eighth above. */
static void
check_frames(struct slice packed,
             size_t fragment,
             size_t max_bytes,
             enum status expected,
             struct slice message)
{
    struct bytes in = {0};
    struct ws_decoder d;
    size_t used = 0;
    put_fragments(&in, packed, fragment);
    ws_decoder_init(&d, true);
    struct ws_event event = ws_decode(&d, codec, in.data, in.size, max_bytes, &used);
    if (packed.size > max_bytes + max_bytes / 8 + 1024)
        expected = ST_RANGE;
    if (expected == ST_OK) {
        require(event.kind == WS_EVENT_MESSAGE && event.opcode == WS_BINARY);
        require(used == in.size && slice_equal(event.payload, message));
    } else {
        require(event.kind == WS_EVENT_ERROR);
        require(event.close_code == (expected == ST_RANGE ? 1009 : 1011));
    }
    require(ws_decoder_memory_bytes(&d) <= 4 * in.size + 64);
    ws_decoder_fini(&d);
    bytes_fini(&in);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (codec == NULL)
        codec = ws_codec_new();
    size_t max_bytes = limits[data[0] % (sizeof limits / sizeof limits[0])];
    uint8_t *copy = mem_alloc(size - 2); /* exact, for the address sanitizer */
    memcpy(copy, data + 2, size - 2);
    struct slice packed = slice_of(copy, size - 2);
    struct bytes out = {0};
    enum status expected = inflate_slowly(packed, max_bytes, &out);
    struct slice message = slice_of(out.data, out.size);
    check_limit(packed, max_bytes, expected, out.size);
    check_memory(packed, max_bytes, expected);
    if (expected == ST_OK && out.size > 0) {
        check_limit(packed, out.size, ST_OK, out.size);
        check_limit(packed, out.size - 1, ST_RANGE, 0);
        if (out.size <= PACK_MOST)
            check_pack(message, (uint8_t)(9 + size % 7));
    }
    check_frames(packed, (size_t)data[1] + 1, max_bytes, expected, message);
    bytes_fini(&out);
    mem_free(copy);
    return 0;
}
