/* Deflate: whole messages packed and unpacked for permessage-deflate (RFC 7692 section
 * 7.2), always without context takeover. Private to websocket.c; struct ws_codec is
 * made and freed by the functions in websocket.h. */
#ifndef HF_PROTO_DEFLATE_H
#define HF_PROTO_DEFLATE_H

#include "base/bytes.h"

struct ws_codec;

/* The message that packed was made of, borrowed from the codec until its next
 * unpacking. ST_RANGE: it has more than max bytes (not more than one of them was
 * unpacked); ST_CORRUPT: no deflate, or cut short; ST_NOMEM. */
enum status ws_unpack(struct ws_codec *c,
                      struct slice packed,
                      size_t max_bytes,
                      struct slice *ret_message) MUST_USE;
/* True when packing makes message smaller: ret_packed is borrowed from the codec until
 * its next packing. False also when memory is out. window_bits 9..15. */
bool ws_pack(struct ws_codec *c,
             uint8_t window_bits,
             struct slice message,
             struct slice *ret_packed) MUST_USE;

#endif
