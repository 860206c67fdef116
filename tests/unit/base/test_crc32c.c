/* Tests of base/crc32c. */
#include "base/crc32c.h"

#include "suites.h"

/* Bit by bit, from the definition. */
static uint32_t
plain_crc32c(uint32_t crc, const uint8_t *p, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82f63b78u & (0 - (crc & 1)));
    }
    return ~crc;
}

static void
check_both(const void *data, size_t size, uint32_t expected)
{
    ck_assert_uint_eq(crc32c(0, data, size), expected);
    ck_assert_uint_eq(crc32c_portable(0, data, size), expected);
}

START_TEST(the_vectors_of_rfc_3720_come_out)
{
    uint8_t data[32];
    check_both("123456789", 9, 0xe3069283u);
    check_both("", 0, 0);
    memset(data, 0, 32);
    check_both(data, 32, 0x8a9136aau);
    memset(data, 0xff, 32);
    check_both(data, 32, 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        data[i] = (uint8_t)i;
    check_both(data, 32, 0x46dd794eu);
    for (int i = 0; i < 32; i++)
        data[i] = (uint8_t)(31 - i);
    check_both(data, 32, 0x113fdb5cu);
}
END_TEST

START_TEST(every_size_and_place_agrees_with_the_definition)
{
    static uint8_t data[8000];
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)random_next(&seed);
    for (size_t i = 0; i < 3000; i++) {
        size_t size = i < 800 ? i : random_below(&seed, sizeof(data) - 16);
        const uint8_t *p = data + i % 16;
        uint32_t crc = (uint32_t)random_next(&seed);
        uint32_t expected = plain_crc32c(crc, p, size);
        ck_assert_uint_eq(crc32c(crc, p, size), expected);
        ck_assert_uint_eq(crc32c_portable(crc, p, size), expected);
    }
}
END_TEST

START_TEST(parts_extend_to_the_whole)
{
    static uint8_t data[5000];
    uint64_t seed = 6;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)random_next(&seed);
    uint32_t whole = crc32c(0, data, sizeof(data));
    for (size_t cut = 0; cut <= sizeof(data); cut += 97)
        ck_assert_uint_eq(crc32c(crc32c(0, data, cut), data + cut, sizeof(data) - cut),
                          whole);
}
END_TEST

START_TEST(two_values_join_to_that_of_both_stretches)
{
    static uint8_t data[5000];
    uint64_t seed = 7;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)random_next(&seed);
    uint32_t whole = crc32c(0, data, sizeof(data));
    for (size_t cut = 0; cut <= sizeof(data); cut += 61)
        ck_assert_uint_eq(crc32c_join(crc32c(0, data, cut),
                                      crc32c(0, data + cut, sizeof(data) - cut),
                                      sizeof(data) - cut),
                          whole);
}
END_TEST

Suite *
suite_crc32c(void)
{
    const TTest *const tests[] = {
        the_vectors_of_rfc_3720_come_out,
        every_size_and_place_agrees_with_the_definition,
        parts_extend_to_the_whole,
        two_values_join_to_that_of_both_stretches,
    };
    return suite_of("crc32c", tests, COUNT_OF(tests));
}
