/* Text: UTF-8, base64 and JSON strings, checked and converted without yajl.
 *
 * yajl accepts overlong forms and surrogates and cuts at NUL; so what a client sends is
 * checked here first. Pure; any thread. */
#ifndef HF_BASE_TEXT_H
#define HF_BASE_TEXT_H

#include "base/bytes.h"

/* Strict UTF-8 (RFC 3629: no overlongs, no surrogates, at most U+10FFFF). */
bool utf8_is_valid(struct slice s);
/* Streaming form, for a message in several frames: *state 0 to begin; false as soon as
 * the bytes so far cannot become valid. Valid as a whole when *state ends as 0. */
bool utf8_check(uint32_t *state, struct slice s);

/* RFC 4648 section 4 with padding, no white space, canonical trailing bits not
 * required. The empty text is valid. */
bool base64_is_valid(struct slice s);
size_t base64_encoded_size(size_t size_bytes);
/* out has room for base64_encoded_size(s.size) bytes. */
void base64_encode(struct slice s, uint8_t *out);
enum status base64_decode(struct slice s, struct bytes *out) MUST_USE; /* appends */

/* Appends s, valid UTF-8, as the inside of a JSON string (no quotes): ", \ and control
 * characters escaped, all else as it is. */
void json_escape(struct bytes *out, struct slice s);
/* How many bytes from the start of s are none of those. */
size_t json_plain_size(struct slice s);
/* The size of the JSON number that s begins with (it may go on with anything); 0 when
 * it begins with none. */
size_t json_number_size(struct slice s);
size_t json_escaped_size(struct slice s);
/* s is the inside of a JSON string as it came, already known to be well formed JSON.
 * ST_INVALID for a lone surrogate escape (\ud800 without its partner). */
enum status json_unescape(struct slice s, struct bytes *out) MUST_USE; /* appends */
/* The same, but a lone surrogate becomes three bytes that are not UTF-8: for comparing
 * keys, never for showing. */
void json_unescape_loosely(struct slice s, struct bytes *out);
/* The same check without output; also gives the unescaped size in bytes. */
enum status json_unescaped_size(struct slice s, size_t *ret_size_bytes) MUST_USE;

#endif
