/* WebSocket: writing the server's frames: whole, final, not masked (RFC 6455 section
 * 5.1). Reading is websocket.c's. */
#include "proto/deflate.h"
#include "proto/websocket.h"

#include <assert.h>
#include <string.h>

#define FINAL     0x80
#define PACKED    0x40 /* RSV1 */
#define HEAD_ROOM 4    /* right for 126 to 65535 bytes of payload */
#define HEAD_MOST 10
#define NO_CODE   1005 /* stands for a close frame without one */

static size_t
head_size(size_t payload_size)
{
    return payload_size < 126 ? 2 : payload_size <= 0xffff ? 4 : HEAD_MOST;
}

static void
write_head(uint8_t *at, uint8_t first, size_t payload_size)
{
    at[0] = first;
    if (payload_size < 126) {
        at[1] = (uint8_t)payload_size;
        return;
    }
    size_t count = payload_size <= 0xffff ? 2 : 8;
    at[1] = count == 2 ? 126 : 127;
    for (size_t i = 0; i < count; i++)
        at[2 + i] = (uint8_t)((uint64_t)payload_size >> 8 * (count - 1 - i));
}

static void
put_frame(struct bytes *out, uint8_t first, struct slice payload)
{
    size_t head = head_size(payload.size);
    uint8_t *at = bytes_extend(out, head + payload.size);
    write_head(at, first, payload.size);
    if (payload.size > 0)
        memcpy(at + head, payload.data, payload.size);
}

void
ws_encode(struct bytes *out, enum ws_opcode opcode, struct slice payload)
{
    put_frame(out, (uint8_t)(FINAL | opcode), payload);
}

size_t
ws_encode_begin(struct bytes *out)
{
    size_t begin = out->size;
    (void)bytes_extend(out, HEAD_ROOM);
    return begin;
}

void
ws_encode_end(struct bytes *out, size_t begin, enum ws_opcode opcode)
{
    assert(out->size >= begin + HEAD_ROOM);
    size_t size = out->size - begin - HEAD_ROOM;
    size_t head = head_size(size);
    if (head != HEAD_ROOM) {
        bytes_reserve(out, HEAD_MOST);
        memmove(out->data + begin + head, out->data + begin + HEAD_ROOM, size);
        out->size = begin + head + size;
    }
    write_head(out->data + begin, (uint8_t)(FINAL | opcode), size);
}

void
ws_encode_end_deflate(struct bytes *out,
                      size_t begin,
                      enum ws_opcode opcode,
                      struct ws_codec *codec,
                      uint8_t window_bits)
{
    assert(out->size >= begin + HEAD_ROOM);
    struct slice payload =
        slice_of(out->data + begin + HEAD_ROOM, out->size - begin - HEAD_ROOM);
    struct slice packed;
    if (payload.size < WS_PACK_LEAST ||
        !ws_pack(codec, window_bits, payload, &packed)) {
        ws_encode_end(out, begin, opcode);
        return;
    }
    out->size = begin;
    put_frame(out, (uint8_t)(FINAL | PACKED | opcode), packed);
}

void
ws_encode_close(struct bytes *out, uint16_t code)
{
    uint8_t payload[2] = {(uint8_t)(code >> 8), (uint8_t)code};
    ws_encode(out, WS_CLOSE, slice_of(payload, code == NO_CODE ? 0 : sizeof(payload)));
}
