/* UUID: the 16-byte ids of messages and sessions (RFC 9562, version 7).
 *
 * Pure: time, counter and random bits come from the caller. Byte order is network
 * order, so memcmp() order is time order. */
#ifndef HF_BASE_UUID_H
#define HF_BASE_UUID_H

#include "base/bytes.h"

#define UUID_SIZE      16
#define UUID_TEXT_SIZE 36

struct uuid {
    uint8_t b[UUID_SIZE];
};

/* unix_ms: 48 bits used. rand_a: 12 bits (a counter within the millisecond, for
 * messages). rand_b: 62 bits. */
struct uuid uuid7_make(uint64_t unix_ms, uint16_t rand_a, uint64_t rand_b);
uint64_t uuid7_ms(const struct uuid *id);
/* Writes 36 lower-case characters, no NUL. */
void uuid_format(const struct uuid *id, char out[UUID_TEXT_SIZE]);
/* Exactly 36 characters, lower or upper case hex, any version; else ST_INVALID. */
enum status uuid_parse(struct slice text, struct uuid *ret_id) MUST_USE;
int uuid_compare(const struct uuid *a, const struct uuid *b);
bool uuid_is_zero(const struct uuid *id);

#endif
