/* Transcript: see transcript.h. */
#include "transcript.h"

#include "proto/websocket.h"
#include "suites.h"

#define SHOWN_BYTES 40

static struct bytes text;

static void
add_payload(const char *name, struct slice payload)
{
    bytes_printf(&text, "%s%s:", text.size == 0 ? "" : " ", name);
    bool is_shown = payload.size <= SHOWN_BYTES;
    for (size_t i = 0; i < payload.size && is_shown; i++)
        is_shown = payload.data[i] >= 0x20 && payload.data[i] < 0x7f;
    if (is_shown)
        bytes_put_slice(&text, payload);
    else
        bytes_printf(&text, "%zu", payload.size);
}

static void
add_event(const struct ws_event *event)
{
    switch (event->kind) {
    case WS_EVENT_NONE:
        break;
    case WS_EVENT_MESSAGE:
        add_payload(event->opcode == WS_TEXT ? "text" : "binary", event->payload);
        break;
    case WS_EVENT_PING:
        add_payload("ping", event->payload);
        break;
    case WS_EVENT_PONG:
        add_payload("pong", event->payload);
        break;
    case WS_EVENT_CLOSE:
        bytes_printf(&text, "%sclose:%u", text.size == 0 ? "" : " ", event->close_code);
        break;
    case WS_EVENT_ERROR:
        bytes_printf(&text, "%serror:%u", text.size == 0 ? "" : " ", event->close_code);
        break;
    }
}

/* Feeds one piece from memory of its own, which is freed behind it. */
static void
feed(struct ws_decoder *d, struct ws_codec *codec, struct slice piece, size_t max_bytes)
{
    uint8_t *copy = mem_alloc(piece.size);
    if (piece.size > 0)
        memcpy(copy, piece.data, piece.size);
    size_t at = 0;
    for (;;) {
        size_t used = SIZE_MAX;
        struct ws_event event =
            ws_decode(d, codec, copy + at, piece.size - at, max_bytes, &used);
        ck_assert_uint_le(used, piece.size - at);
        at += used;
        add_event(&event);
        if (event.kind == WS_EVENT_NONE)
            break;
    }
    ck_assert_uint_eq(at, piece.size);
    mem_free(copy);
}

const char *
transcript(struct slice input, struct transcript_options options)
{
    struct ws_decoder d;
    struct ws_codec *codec = ws_codec_new();
    size_t max = options.max_bytes == 0 ? 65536 : options.max_bytes;
    size_t at = 0;
    bytes_clear(&text);
    ws_decoder_init(&d, options.may_compress);
    while (at < input.size) {
        size_t piece = input.size;
        if (at == 0 && options.first > 0)
            piece = options.first;
        else if (options.piece > 0)
            piece = options.piece;
        if (piece > input.size - at)
            piece = input.size - at;
        feed(&d, codec, slice_of(input.data + at, piece), max);
        at += piece;
    }
    if (ws_is_within_message(&d))
        bytes_printf(&text, "%s| within", text.size == 0 ? "" : " ");
    else
        ck_assert_uint_le(ws_decoder_memory_bytes(&d), 2 * 4096);
    ws_decoder_fini(&d);
    ck_assert_uint_eq(ws_decoder_memory_bytes(&d), 0);
    ws_codec_free(codec);
    return text_of(&text);
}
