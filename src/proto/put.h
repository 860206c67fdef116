/* Put: writing text at a place whose room was reserved before. Private to reply.c and
 * delivery.c, which reserve once and then only copy. */
#ifndef HF_PROTO_PUT_H
#define HF_PROTO_PUT_H

#include "base/uuid.h"

#include <string.h>

#define DECIMAL_MAX 20 /* digits of a uint64 */

/* A string literal, without its NUL. */
#define PUT_LITERAL(at, literal)                                                       \
    ((uint8_t *)memcpy((at), literal, sizeof(literal) - 1) + sizeof(literal) - 1)
#define LITERAL_SIZE(literal) (sizeof(literal) - 1)

static inline uint8_t *
put_data(uint8_t *at, const void *data, size_t size)
{
    if (size > 0)
        memcpy(at, data, size);
    return at + size;
}

static inline uint8_t *
put_id(uint8_t *at, const struct uuid *id)
{
    uuid_format(id, (char *)at);
    return at + UUID_TEXT_SIZE;
}

static inline size_t
decimal_size(uint64_t v)
{
    size_t size = 1;
    for (; v >= 10; v /= 10)
        size++;
    return size;
}

static inline uint8_t *
put_decimal(uint8_t *at, uint64_t v)
{
    uint8_t *end = at + decimal_size(v);
    uint8_t *p = end;
    do {
        *--p = (uint8_t)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    return end;
}

#endif
