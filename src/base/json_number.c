/* JSON numbers: where they end, and exactly which whole number they are.
 *
 * Not floating point: 9007199254740993 must not become ...992, and 1e0 is as whole
 * as 1. So all is done on the text, in one pass, however long the text or the exponent
 * is. */
#include "base/json.h"

#include "base/text.h"

static inline bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Behind the digits at p. */
static const uint8_t *
skip_digits(const uint8_t *p, const uint8_t *end)
{
    while (p < end && is_digit(*p))
        p++;
    return p;
}

size_t
json_number_size(struct slice s)
{
    const uint8_t *p = s.data;
    const uint8_t *end = slice_end(s);
    if (p < end && *p == '-')
        p++;
    const uint8_t *digits = p;
    p = p < end && *p == '0' ? p + 1 : skip_digits(p, end);
    if (p == digits)
        return 0;
    if (p < end && *p == '.') {
        digits = ++p;
        p = skip_digits(p, end);
        if (p == digits)
            return 0;
    }
    if (p < end && (*p | 0x20) == 'e') {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        digits = p;
        p = skip_digits(p, end);
        if (p == digits)
            return 0;
    }
    return (size_t)(p - s.data);
}

/* Behind any size that a text can have, so that sums with counts of digits are safe. */
#define EXPONENT_MAX ((int64_t)1 << 50)

/* The exponent at p (behind the e, or the end), held within +-EXPONENT_MAX. */
static int64_t
read_exponent(const uint8_t *p, const uint8_t *end)
{
    bool is_negative = p < end && *p == '-';
    int64_t value = 0;
    for (; p < end; p++) {
        if (!is_digit(*p))
            continue; /* the sign */
        value = value * 10 + (*p - '0');
        if (value > EXPONENT_MAX)
            value = EXPONENT_MAX;
    }
    return is_negative ? -value : value;
}

/* A number as significant digits, without zeros at either end, times a power of ten:
 * value = digits * 10^exponent. */
struct decimal {
    uint64_t digits; /* right only while count <= DIGITS_MAX */
    int64_t count;   /* of the digits; 0 for zero */
    int64_t exponent;
    bool is_negative;
};

#define DIGITS_MAX 19 /* 10^19 - 1 fits in uint64 and is more than int64 has */

static struct decimal
read_decimal(struct slice text)
{
    struct decimal d = {.is_negative = text.data[0] == '-'};
    const uint8_t *end = text.data + text.size;
    const uint8_t *p = text.data + (d.is_negative ? 1 : 0);
    int64_t zeros = 0; /* behind the last digit that is none */
    int64_t behind_point = 0;
    bool is_fraction = false;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            is_fraction = true;
            continue;
        }
        behind_point += is_fraction;
        if (*p == '0') {
            zeros++;
            continue;
        }
        /* The zeros before it are significant now, unless they led. */
        int64_t more = d.count > 0 ? zeros + 1 : 1;
        d.count += more;
        zeros = 0;
        if (d.count <= DIGITS_MAX) {
            for (int64_t i = 0; i < more; i++)
                d.digits *= 10;
            d.digits += (uint64_t)(*p - '0');
        }
    }
    d.exponent = read_exponent(p < end ? p + 1 : end, end) - behind_point + zeros;
    return d;
}

enum status
json_whole(struct slice number_text, int64_t *ret_value)
{
    size_t size = number_text.size;
    if (size == 0 || json_number_size(number_text) != size)
        return ST_INVALID;
    struct decimal d = read_decimal(number_text);
    if (d.count == 0) {
        *ret_value = 0;
        return ST_OK;
    }
    if (d.exponent < 0)
        return ST_INVALID;
    if (d.count + d.exponent > DIGITS_MAX)
        return ST_RANGE;
    uint64_t value = d.digits;
    for (int64_t i = 0; i < d.exponent; i++)
        value *= 10;
    if (value > (uint64_t)INT64_MAX + (d.is_negative ? 1 : 0))
        return ST_RANGE;
    *ret_value = (int64_t)(d.is_negative ? 0 - value : value);
    return ST_OK;
}

enum status
json_plain_integer(struct slice number_text, int64_t *ret_value)
{
    for (size_t i = 0; i < number_text.size; i++)
        if (!is_digit(number_text.data[i]) && number_text.data[i] != '-')
            return ST_INVALID;
    return json_whole(number_text, ret_value);
}
