/* WebSocket frames (RFC 6455) with permessage-deflate (RFC 7692), server side.
 *
 * The decoder works in place on what was read and keeps only what is not whole yet.
 * Every violation gives the close code of the manual: 1002 protocol, 1007 not UTF-8,
 * 1009 too big (also: inflates to more), 1011 cannot be unpacked. Pure: no clock (the
 * caller watches message-timeout-secs with ws_is_within_message). */
#ifndef HF_PROTO_WEBSOCKET_H
#define HF_PROTO_WEBSOCKET_H

#include "base/bytes.h"
#include "base/limits.h"

enum ws_opcode {
    WS_CONTINUATION = 0,
    WS_TEXT = 1,
    WS_BINARY = 2,
    WS_CLOSE = 8,
    WS_PING = 9,
    WS_PONG = 10,
};

/* Deflate and inflate streams: one set per network thread, shared by its connections
 * (no context takeover). Made when first used. */
struct ws_codec;
struct ws_codec *ws_codec_new(void);
void ws_codec_free(struct ws_codec *c);

#define WS_PACK_LEAST 256

struct ws_decoder {
    struct bytes pending; /* a frame's head or payload that is not whole yet */
    struct bytes message; /* fragments so far */
    uint8_t opcode;       /* of the message in fragments; 0 = none */
    bool is_compressed;   /* the message in fragments */
    bool may_compress;    /* agreed in the handshake */
    bool drop_pending;    /* the event that was given last borrowed it: free it next */
    bool drop_message;
    bool is_over; /* after a close or an error: the rest is swallowed */
    uint32_t fragments;
    uint32_t utf8_state;
};

struct ws_event {
    enum {
        WS_EVENT_NONE,    /* need more bytes */
        WS_EVENT_MESSAGE, /* opcode WS_TEXT (valid UTF-8) or WS_BINARY, payload */
        WS_EVENT_PING,    /* payload */
        WS_EVENT_PONG,
        WS_EVENT_CLOSE, /* close_code (1005 when there was none) */
        WS_EVENT_ERROR, /* close_code to answer with */
    } kind;
    enum ws_opcode opcode;
    struct slice payload; /* valid until the next ws_decode of any connection of the
                             thread, and until the input changes */
    uint16_t close_code;
};

void ws_decoder_init(struct ws_decoder *d, bool may_compress);
void ws_decoder_fini(struct ws_decoder *d);
/* Takes bytes from data (which it may unmask in place), gives the next event.
 * ret_used: bytes taken; call again with the rest (even when nothing is left: buffers
 * that the event borrowed are freed then) until WS_EVENT_NONE, which has taken all.
 * After WS_EVENT_CLOSE and WS_EVENT_ERROR whatever comes is swallowed.
 * max_message_bytes: max-ws-msg-len at this moment. Out of memory is an error with
 * 1011. */
struct ws_event ws_decode(struct ws_decoder *d,
                          struct ws_codec *codec,
                          uint8_t *data,
                          size_t size,
                          size_t max_message_bytes,
                          size_t *ret_used);
/* A message has begun and is not whole: message-timeout-secs counts. */
bool ws_is_within_message(const struct ws_decoder *d);
/* The first byte of a text or binary message has come, and the message is not whole. */
bool ws_has_begun_message(const struct ws_decoder *d);
size_t ws_decoder_memory_bytes(const struct ws_decoder *d);

/* Appends a whole server frame. */
void ws_encode(struct bytes *out, enum ws_opcode opcode, struct slice payload);
/* The same in two steps: room for the head in front of a payload that is appended after
 * begin; end fills it in (and moves the payload when the head has another size: below
 * 126 bytes and above 65535). */
size_t ws_encode_begin(struct bytes *out);
void ws_encode_end(struct bytes *out, size_t begin, enum ws_opcode opcode);
/* Like ws_encode_end, compressed when that makes it smaller (window_bits 9..15);
 * payloads of less than WS_PACK_LEAST bytes are not tried. */
void ws_encode_end_deflate(struct bytes *out,
                           size_t begin,
                           enum ws_opcode opcode,
                           struct ws_codec *codec,
                           uint8_t window_bits);
/* 1005: a close frame without a code, for one that had none. */
void ws_encode_close(struct bytes *out, uint16_t code);

#endif
