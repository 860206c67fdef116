/* UUID: making, printing and reading ids (RFC 9562 sections 4 and 5.7).
 *
 * Not a source of ids: clock, counter and random bits are the caller's, so that the
 * simulation gives the same ids for the same seed. */
#include "base/uuid.h"

#include <assert.h>
#include <string.h>

struct uuid
uuid7_make(uint64_t unix_ms, uint16_t rand_a, uint64_t rand_b)
{
    struct uuid id;
    for (int i = 0; i < 6; i++)
        id.b[i] = (uint8_t)(unix_ms >> (40 - 8 * i));
    id.b[6] = (uint8_t)(0x70 | ((rand_a >> 8) & 0x0f));
    id.b[7] = (uint8_t)rand_a;
    id.b[8] = (uint8_t)(0x80 | ((rand_b >> 56) & 0x3f));
    for (int i = 9; i < UUID_SIZE; i++)
        id.b[i] = (uint8_t)(rand_b >> (8 * (15 - i)));
    return id;
}

uint64_t
uuid7_ms(const struct uuid *id)
{
    uint64_t ms = 0;
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | id->b[i];
    return ms;
}

/* Where byte i's first digit stands: dashes are behind bytes 3, 5, 7 and 9. */
static const uint8_t digit_at[UUID_SIZE] = {0,  2,  4,  6,  9,  11, 14, 16,
                                            19, 21, 24, 26, 28, 30, 32, 34};

void
uuid_format(const struct uuid *id, char out[UUID_TEXT_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < UUID_SIZE; i++) {
        out[digit_at[i]] = digits[id->b[i] >> 4];
        out[digit_at[i] + 1] = digits[id->b[i] & 15];
    }
    out[8] = out[13] = out[18] = out[23] = '-';
}

/* clang-format off */
/* Each digit's value plus one; 0 for what is no digit. */
static const uint8_t hex_values[256] = {
    ['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8,
    ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15,
    ['f'] = 16, ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};
/* clang-format on */

/* 0 to 15, or above that for what is no hex digit. */
static inline unsigned
hex_value(uint8_t c)
{
    return hex_values[c] - 1u;
}

enum status
uuid_parse(struct slice text, struct uuid *ret_id)
{
    struct uuid id;
    unsigned all = 0;
    if (text.size != UUID_TEXT_SIZE || text.data[8] != '-' || text.data[13] != '-' ||
        text.data[18] != '-' || text.data[23] != '-')
        return ST_INVALID;
    for (int i = 0; i < UUID_SIZE; i++) {
        unsigned high = hex_value(text.data[digit_at[i]]);
        unsigned low = hex_value(text.data[digit_at[i] + 1]);
        all |= high | low;
        id.b[i] = (uint8_t)(high << 4 | low);
    }
    if (all > 15)
        return ST_INVALID;
    *ret_id = id;
    return ST_OK;
}

int
uuid_compare(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a->b, b->b, UUID_SIZE);
}

bool
uuid_is_zero(const struct uuid *id)
{
    static const struct uuid zero;
    return uuid_compare(id, &zero) == 0;
}
