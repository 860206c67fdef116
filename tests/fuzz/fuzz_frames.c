/* Fuzz target of proto/websocket and proto/deflate: a client's frames.
 *
 * The first byte says whether compression is agreed, the limit and how the input is
 * cut. Besides not crashing: every cut gives the same events, a text is UTF-8 and no
 * message is above the limit; and our own frame of it, turned into a client's, comes
 * back. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/websocket.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static struct ws_codec *codec;

struct outcome {
    uint32_t crc; /* of all events */
    uint32_t events;
    bool is_within;
};

/* The frame that we would send, masked and sent back. */
static void
check_echo(const struct ws_event *event)
{
    struct bytes out = {NULL, 0, 0};
    struct bytes in = {NULL, 0, 0};
    struct bytes message = {NULL, 0, 0};
    struct ws_decoder d;
    size_t used;
    bytes_put_slice(&message, event->payload);
    size_t at = ws_encode_begin(&out);
    bytes_put(&out, message.data, message.size);
    ws_encode_end_deflate(&out, at, event->opcode, codec,
                          (uint8_t)(9 + message.size % 7));
    uint8_t length = out.data[1];
    size_t head = length < 126 ? 2 : length == 126 ? 4 : 10;
    bytes_put(&in, out.data, head);
    in.data[1] |= 0x80;
    bytes_put(&in, "\0\0\0\0", 4);
    bytes_put(&in, out.data + head, out.size - head);
    ws_decoder_init(&d, true);
    struct ws_event back = ws_decode(&d, codec, in.data, in.size, 1 << 20, &used);
    require(back.kind == WS_EVENT_MESSAGE && back.opcode == event->opcode);
    require(used == in.size);
    require(slice_equal(back.payload, slice_of(message.data, message.size)));
    ws_decoder_fini(&d);
    bytes_fini(&out);
    bytes_fini(&in);
    bytes_fini(&message);
}

static void
add_event(struct outcome *o, const struct ws_event *event, size_t max_bytes)
{
    uint32_t head[3] = {(uint32_t)event->kind, (uint32_t)event->opcode,
                        event->close_code};
    o->events++;
    o->crc = crc32c(o->crc, head, sizeof(head));
    if (event->payload.size > 0)
        o->crc = crc32c(o->crc, event->payload.data, event->payload.size);
    if (event->kind != WS_EVENT_MESSAGE)
        return;
    require(event->payload.size <= max_bytes);
    require(event->opcode == WS_BINARY || utf8_is_valid(event->payload));
}

static struct outcome
decode(const uint8_t *data,
       size_t size,
       bool may_compress,
       size_t max_bytes,
       size_t piece,
       bool with_echo)
{
    struct outcome o = {0, 0, false};
    struct ws_decoder d;
    ws_decoder_init(&d, may_compress);
    for (size_t at = 0; at < size; at += piece) {
        size_t count = size - at < piece ? size - at : piece;
        uint8_t *copy = mem_alloc(count);
        memcpy(copy, data + at, count);
        struct ws_event event;
        size_t done = 0;
        do {
            size_t used = 0;
            event = ws_decode(&d, codec, copy + done, count - done, max_bytes, &used);
            require(used <= count - done);
            done += used;
            if (event.kind != WS_EVENT_NONE)
                add_event(&o, &event, max_bytes);
            if (event.kind == WS_EVENT_MESSAGE && with_echo)
                check_echo(&event);
        } while (event.kind != WS_EVENT_NONE);
        require(done == count);
        mem_free(copy);
    }
    o.is_within = ws_is_within_message(&d);
    ws_decoder_fini(&d);
    return o;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (codec == NULL)
        codec = ws_codec_new();
    bool may_compress = (data[0] & 1) != 0;
    size_t max_bytes = (data[0] & 2) != 0 ? 1024 : 65536;
    size_t piece = (size_t)(data[0] >> 2) + 1;
    struct outcome whole =
        decode(data + 1, size - 1, may_compress, max_bytes, size, true);
    struct outcome cut =
        decode(data + 1, size - 1, may_compress, max_bytes, piece, false);
    require(whole.crc == cut.crc && whole.events == cut.events);
    require(whole.is_within == cut.is_within);
    return 0;
}
