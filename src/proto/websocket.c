/* WebSocket: reading a client's frames.
 *
 * Not the handshake (http.c), not compression (deflate.c), not writing (frame_write.c),
 * and no clock: message-timeout-secs is the caller's.
 *
 *            FIN=0 text, binary              continuation FIN=1
 *   BETWEEN ────────────────────► FRAGMENTS ────────────────────► BETWEEN + MESSAGE
 *     │ FIN=1 text, binary           │ continuation FIN=0
 *     └──► BETWEEN + MESSAGE         └──► FRAGMENTS
 *   Control frames come in either state and change nothing. A close frame or an error
 *   leads to OVER, where every byte is swallowed.
 *
 * A frame that is whole in the input is unmasked there and given out without a copy.
 * One that is not is gathered in pending; the fragments of a message in message. Both
 * grow with what has come, not with what a head announces, and are freed as soon as
 * nobody borrows them.
 *
 * Invariants: opcode is 0 exactly between messages, and then message is empty or lent;
 * pending never holds more than one frame; everything that a head can show to be wrong
 * is refused before the payload is waited for. */
#include "proto/websocket.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/deflate.h"
#include "proto/room.h"

#include <assert.h>
#include <string.h>

#define CLOSE_NONE      1005 /* no code in the close frame */
#define CLOSE_PROTOCOL  1002
#define CLOSE_NOT_UTF8  1007
#define CLOSE_TOO_BIG   1009
#define CLOSE_CANNOT    1011
#define HEAD_START      2
#define HEAD_MAX        14
#define MASK_BYTES      4
#define KEPT_IDLE_BYTES 4096 /* a larger empty buffer is freed */
#define PENDING_FIRST   64

/* How much longer than the message its packed form may be, for clients that pack badly:
 * an eighth (literals of nine bits) and some for block heads. */
#define PACKED_SLACK_BYTES(max) ((max) / 8 + 1024)

struct head {
    uint8_t opcode;
    bool is_final;
    bool is_packed; /* RSV1 */
    bool is_whole;  /* all of the head was there: what follows counts */
    uint8_t size;
    uint64_t length;
    uint8_t mask[MASK_BYTES];
};

/* What one ws_decode() call works with. */
struct input {
    struct ws_codec *codec;
    uint8_t *data;
    size_t size;
    size_t used;
    size_t max_bytes;
};

static bool
is_control(uint8_t opcode)
{
    return opcode >= WS_CLOSE;
}

void
ws_decoder_init(struct ws_decoder *d, bool may_compress)
{
    *d = (struct ws_decoder){.may_compress = may_compress};
}

void
ws_decoder_fini(struct ws_decoder *d)
{
    bytes_fini(&d->pending);
    bytes_fini(&d->message);
}

bool
ws_is_within_message(const struct ws_decoder *d)
{
    if (d->is_over)
        return false;
    return d->opcode != 0 || (d->pending.size > 0 && !d->drop_pending);
}

bool
ws_has_begun_message(const struct ws_decoder *d)
{
    bool is_frame_open = d->pending.size > 0 && !d->drop_pending;
    return !d->is_over && (d->opcode != 0 ||
                           (is_frame_open && !is_control(d->pending.data[0] & 0x0f)));
}

size_t
ws_decoder_memory_bytes(const struct ws_decoder *d)
{
    return d->pending.capacity + d->message.capacity;
}

static void
empty_buffer(struct bytes *b)
{
    if (b->capacity > KEPT_IDLE_BYTES)
        bytes_fini(b);
    else
        bytes_clear(b);
}

/* Takes back what the last event borrowed. */
static void
release(struct ws_decoder *d)
{
    if (d->drop_pending)
        empty_buffer(&d->pending);
    if (d->drop_message)
        empty_buffer(&d->message);
    d->drop_pending = d->drop_message = false;
}

static struct ws_event
no_event(void)
{
    return (struct ws_event){.kind = WS_EVENT_NONE};
}

/* Nothing more will be read: what was gathered goes with the next call. */
static void
end(struct ws_decoder *d)
{
    d->is_over = d->drop_pending = d->drop_message = true;
}

static struct ws_event
fail(struct ws_decoder *d, uint16_t close_code)
{
    end(d);
    return (struct ws_event){.kind = WS_EVENT_ERROR, .close_code = close_code};
}

/* Bytes of the head, from its first two. */
static size_t
head_size(const uint8_t *p)
{
    uint8_t length = p[1] & 0x7f;
    return HEAD_START + MASK_BYTES + (length < 126 ? 0u : length == 126 ? 2u : 8u);
}

/* What the first two bytes must not be (RFC 6455 section 5.2); the close code or 0. */
static uint16_t
check_start(const struct ws_decoder *d, const uint8_t *p)
{
    uint8_t opcode = p[0] & 0x0f;
    bool is_final = (p[0] & 0x80) != 0;
    bool is_packed = (p[0] & 0x40) != 0;
    bool begins = opcode == WS_TEXT || opcode == WS_BINARY;
    if ((p[0] & 0x30) != 0 || (p[1] & 0x80) == 0)
        return CLOSE_PROTOCOL;
    if (is_packed && !(d->may_compress && begins))
        return CLOSE_PROTOCOL;
    if ((opcode > WS_BINARY && opcode < WS_CLOSE) || opcode > WS_PONG)
        return CLOSE_PROTOCOL;
    if (is_control(opcode))
        return is_final && (p[1] & 0x7f) <= LIMIT_CONTROL_FRAME_BYTES ? 0
                                                                      : CLOSE_PROTOCOL;
    return begins == (d->opcode == 0) ? 0 : CLOSE_PROTOCOL;
}

/* A length that is not the shortest form, or has its top bit set, breaks the protocol;
 * one that makes the message too long needs no further byte. */
static uint16_t
check_length(const struct ws_decoder *d, const struct head *h, size_t max_bytes)
{
    if ((h->size == HEAD_START + MASK_BYTES + 2 && h->length < 126) ||
        (h->size == HEAD_MAX && (h->length <= 0xffff || h->length >> 63 != 0)))
        return CLOSE_PROTOCOL;
    if (is_control(h->opcode))
        return 0;
    bool is_packed = h->opcode == WS_CONTINUATION ? d->is_compressed : h->is_packed;
    uint64_t limit = max_bytes;
    if (is_packed)
        limit += PACKED_SLACK_BYTES(max_bytes);
    uint64_t have = h->opcode == WS_CONTINUATION ? d->message.size : 0;
    return have > limit || h->length > limit - have ? CLOSE_TOO_BIG : 0;
}

/* Reads what there is of a head and says what is wrong with it already. */
static uint16_t
read_head(const struct ws_decoder *d,
          const uint8_t *p,
          size_t size,
          size_t max_bytes,
          struct head *ret_head)
{
    struct head h = {.is_whole = false};
    uint16_t code = 0;
    if (size >= HEAD_START)
        code = check_start(d, p);
    if (code == 0 && size >= HEAD_START && size >= head_size(p)) {
        h.opcode = p[0] & 0x0f;
        h.is_final = (p[0] & 0x80) != 0;
        h.is_packed = (p[0] & 0x40) != 0;
        h.is_whole = true;
        h.size = (uint8_t)head_size(p);
        h.length = p[1] & 0x7f;
        if (h.length >= 126) {
            size_t count = h.length == 126 ? 2 : 8;
            h.length = 0;
            for (size_t i = 0; i < count; i++)
                h.length = h.length << 8 | p[HEAD_START + i];
        }
        memcpy(h.mask, p + h.size - MASK_BYTES, MASK_BYTES);
        code = check_length(d, &h, max_bytes);
    }
    *ret_head = h;
    return code;
}

typedef uint8_t lane __attribute__((vector_size(16)));

/* Sixteen bytes at a time: the mask's period divides that. */
static void
unmask(uint8_t *p, size_t size, const uint8_t mask[MASK_BYTES])
{
    lane m, v[4];
    for (size_t i = 0; i < sizeof(m); i += MASK_BYTES)
        memcpy((uint8_t *)&m + i, mask, MASK_BYTES);
    size_t at = 0;
    for (; size - at >= sizeof(v); at += sizeof(v)) {
        memcpy(v, p + at, sizeof(v));
        v[0] ^= m;
        v[1] ^= m;
        v[2] ^= m;
        v[3] ^= m;
        memcpy(p + at, v, sizeof(v));
    }
    for (; size - at >= sizeof(m); at += sizeof(m)) {
        memcpy(v, p + at, sizeof(m));
        v[0] ^= m;
        memcpy(p + at, v, sizeof(m));
    }
    for (; at < size; at++)
        p[at] ^= mask[at % MASK_BYTES];
}

/* Codes that a client may send (RFC 6455 section 7.4 and IANA's registry). */
static bool
is_close_code(uint16_t code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

static struct ws_event
close_event(struct ws_decoder *d, struct slice payload)
{
    uint16_t code = CLOSE_NONE;
    if (payload.size == 1)
        return fail(d, CLOSE_PROTOCOL);
    if (payload.size >= 2) {
        code = (uint16_t)(payload.data[0] << 8 | payload.data[1]);
        if (!is_close_code(code))
            return fail(d, CLOSE_PROTOCOL);
        if (!utf8_is_valid(slice_of(payload.data + 2, payload.size - 2)))
            return fail(d, CLOSE_NOT_UTF8);
    }
    end(d);
    return (struct ws_event){.kind = WS_EVENT_CLOSE,
                             .opcode = WS_CLOSE,
                             .payload = payload,
                             .close_code = code};
}

static struct ws_event
control_event(struct ws_decoder *d, uint8_t opcode, struct slice payload)
{
    if (opcode == WS_CLOSE)
        return close_event(d, payload);
    return (struct ws_event){
        .kind = opcode == WS_PING ? WS_EVENT_PING : WS_EVENT_PONG,
        .opcode = opcode == WS_PING ? WS_PING : WS_PONG,
        .payload = payload,
    };
}

/* A whole message in its wire form. is_checked: its UTF-8 was checked on the way. */
static struct ws_event
message_event(struct ws_decoder *d,
              struct input *in,
              uint8_t opcode,
              bool is_packed,
              struct slice payload)
{
    bool is_checked = opcode != WS_TEXT || (d->fragments > 0 && !is_packed);
    if (is_packed) {
        enum status status = ws_unpack(in->codec, payload, in->max_bytes, &payload);
        if (status != ST_OK)
            return fail(d, status == ST_RANGE ? CLOSE_TOO_BIG : CLOSE_CANNOT);
    }
    if (!is_checked && !utf8_is_valid(payload))
        return fail(d, CLOSE_NOT_UTF8);
    d->fragments = 0;
    return (struct ws_event){
        .kind = WS_EVENT_MESSAGE,
        .opcode = opcode == WS_TEXT ? WS_TEXT : WS_BINARY,
        .payload = payload,
    };
}

/* Puts a fragment behind the others. */
static bool
keep_fragment(struct ws_decoder *d, struct slice payload)
{
    size_t size = d->message.size + payload.size;
    size_t doubled = d->message.capacity * 2;
    if (size > d->message.capacity &&
        !room_try(&d->message, size > doubled ? size : doubled))
        return false;
    bytes_put_slice(&d->message, payload);
    return true;
}

/* One frame of a message in several. */
static struct ws_event
fragment_event(struct ws_decoder *d,
               struct input *in,
               const struct head *h,
               struct slice payload)
{
    if (h->opcode != WS_CONTINUATION) {
        d->opcode = h->opcode;
        d->is_compressed = h->is_packed;
        d->fragments = 0;
        d->utf8_state = 0;
    }
    if (++d->fragments > LIMIT_MESSAGE_FRAGMENTS)
        return fail(d, CLOSE_TOO_BIG);
    if (!keep_fragment(d, payload))
        return fail(d, CLOSE_CANNOT);
    bool is_plain_text = d->opcode == WS_TEXT && !d->is_compressed;
    if (is_plain_text && !utf8_check(&d->utf8_state, payload))
        return fail(d, CLOSE_NOT_UTF8);
    if (!h->is_final)
        return no_event();
    if (is_plain_text && d->utf8_state != 0)
        return fail(d, CLOSE_NOT_UTF8);
    uint8_t opcode = d->opcode;
    d->opcode = 0;
    d->drop_message = true;
    return message_event(d, in, opcode, d->is_compressed,
                         slice_of(d->message.data, d->message.size));
}

/* A whole frame, unmasked. NONE when it completes nothing. */
static struct ws_event
frame_event(struct ws_decoder *d,
            struct input *in,
            const struct head *h,
            uint8_t *frame)
{
    uint8_t *payload = frame + h->size;
    size_t size = (size_t)h->length;
    unmask(payload, size, h->mask);
    if (is_control(h->opcode))
        return control_event(d, h->opcode, slice_of(payload, size));
    if (h->is_final && h->opcode != WS_CONTINUATION)
        return message_event(d, in, h->opcode, h->is_packed, slice_of(payload, size));
    return fragment_event(d, in, h, slice_of(payload, size));
}

/* Moves input to pending until that has want bytes; the frame has at most frame bytes.
 * ST_AGAIN when the input ends before. */
static enum status
fill_pending(struct ws_decoder *d, struct input *in, size_t want, size_t frame)
{
    struct bytes *b = &d->pending;
    if (b->size >= want)
        return ST_OK;
    size_t left = in->size - in->used;
    size_t count = want - b->size < left ? want - b->size : left;
    size_t capacity = b->capacity * 2 < PENDING_FIRST ? PENDING_FIRST : b->capacity * 2;
    if (capacity > frame)
        capacity = frame;
    if (capacity < b->size + count)
        capacity = b->size + count;
    if (b->size + count > b->capacity && !room_try(b, capacity))
        return ST_NOMEM;
    bytes_put(b, in->data + in->used, count);
    in->used += count;
    return b->size >= want ? ST_OK : ST_AGAIN;
}

/* Goes on with the frame in pending (or begins one there). */
static struct ws_event
pending_event(struct ws_decoder *d, struct input *in)
{
    struct bytes *b = &d->pending;
    struct head h = {.is_whole = false};
    enum status status = fill_pending(d, in, HEAD_START, PENDING_FIRST);
    uint16_t code = read_head(d, b->data, b->size, in->max_bytes, &h);
    if (status == ST_OK && code == 0 && !h.is_whole) {
        status = fill_pending(d, in, head_size(b->data), PENDING_FIRST);
        code = read_head(d, b->data, b->size, in->max_bytes, &h);
    }
    if (status == ST_OK && code == 0) {
        assert(h.is_whole);
        size_t frame = h.size + (size_t)h.length;
        status = fill_pending(d, in, frame, frame);
    }
    if (code != 0)
        return fail(d, code);
    if (status == ST_NOMEM)
        return fail(d, CLOSE_CANNOT);
    if (status == ST_AGAIN)
        return no_event();
    d->drop_pending = true;
    return frame_event(d, in, &h, b->data);
}

/* The next frame, straight from the input when it is whole there. */
static struct ws_event
next_event(struct ws_decoder *d, struct input *in)
{
    uint8_t *at = in->data + in->used;
    size_t left = in->size - in->used;
    struct head h;
    if (d->pending.size > 0)
        return pending_event(d, in);
    uint16_t code = read_head(d, at, left, in->max_bytes, &h);
    if (code != 0)
        return fail(d, code);
    if (!h.is_whole || h.length > left - h.size)
        return pending_event(d, in);
    in->used += h.size + (size_t)h.length;
    return frame_event(d, in, &h, at);
}

struct ws_event
ws_decode(struct ws_decoder *d,
          struct ws_codec *codec,
          uint8_t *data,
          size_t size,
          size_t max_message_bytes,
          size_t *ret_used)
{
    struct input in = {
        .codec = codec, .data = data, .size = size, .max_bytes = max_message_bytes};
    struct ws_event event = no_event();
    release(d);
    while (!d->is_over && event.kind == WS_EVENT_NONE && in.used < size) {
        event = next_event(d, &in);
        if (event.kind == WS_EVENT_NONE)
            release(d); /* a fragment's frame is copied by now */
    }
    if (d->is_over && event.kind != WS_EVENT_CLOSE)
        in.used = size;
    *ret_used = in.used;
    return event;
}
