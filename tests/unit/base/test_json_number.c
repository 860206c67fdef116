/* Tests of base/json: exact whole numbers. */
#include "base/json.h"
#include "base/text.h"

#include "suites.h"

struct whole_case {
    const char *text;
    enum status status;
    int64_t value;
};

static const struct whole_case whole_cases[] = {
    {"0", ST_OK, 0},
    {"-0", ST_OK, 0},
    {"0.0", ST_OK, 0},
    {"-0.000e5", ST_OK, 0},
    {"0e999999999999999999999999", ST_OK, 0},
    {"0e-999999999999999999999999", ST_OK, 0},
    {"1", ST_OK, 1},
    {"-1", ST_OK, -1},
    {"1.0", ST_OK, 1},
    {"1e0", ST_OK, 1},
    {"10e-1", ST_OK, 1},
    {"1000e-3", ST_OK, 1},
    {"1E+2", ST_OK, 100},
    {"1.5e1", ST_OK, 15},
    {"0.001e3", ST_OK, 1},
    {"0.00100e5", ST_OK, 100},
    {"100.00", ST_OK, 100},
    {"12.3400e2", ST_OK, 1234},
    {"1020304050", ST_OK, 1020304050},
    {"100200.30040e4", ST_OK, 1002003004},
    {"1e18", ST_OK, 1000000000000000000},
    {"9007199254740993", ST_OK, 9007199254740993},
    {"9223372036854775807", ST_OK, INT64_MAX},
    {"9223372036854775807.000", ST_OK, INT64_MAX},
    {"0.9223372036854775807e19", ST_OK, INT64_MAX},
    {"-9223372036854775808", ST_OK, INT64_MIN},
    {"-9223372036854775808e0", ST_OK, INT64_MIN},
    {"92233720368547758070e-1", ST_OK, INT64_MAX},
    {"1000000000000000000000000000000e-30", ST_OK, 1},
    {"9223372036854775808", ST_RANGE, 0},
    {"-9223372036854775809", ST_RANGE, 0},
    {"9999999999999999999", ST_RANGE, 0},
    {"18446744073709551616", ST_RANGE, 0},
    {"18446744073709551617", ST_RANGE, 0},
    {"36893488147419103233", ST_RANGE, 0},
    {"1e19", ST_RANGE, 0},
    {"-1e19", ST_RANGE, 0},
    {"1e999999999999", ST_RANGE, 0},
    {"1e99999999999999999999999999999999999", ST_RANGE, 0},
    {"1e18446744073709551616", ST_RANGE, 0}, /* 2^64 */
    {"1e18446744073709551617", ST_RANGE, 0},
    {"10e-18446744073709551617", ST_INVALID, 0},
    {"123456789012345678901234567890", ST_RANGE, 0},
    {"0.5", ST_INVALID, 0},
    {"1.5", ST_INVALID, 0},
    {"-1.0000000000000000000000000000001", ST_INVALID, 0},
    {"1e-1", ST_INVALID, 0},
    {"15e-1", ST_INVALID, 0},
    {"1e-999999999999", ST_INVALID, 0},
    {"1e-99999999999999999999999999999999999", ST_INVALID, 0},
    {"9223372036854775807.5", ST_INVALID, 0},
    {"", ST_INVALID, 0},
    {"-", ST_INVALID, 0},
    {"01", ST_INVALID, 0},
    {"1.", ST_INVALID, 0},
    {".5", ST_INVALID, 0},
    {"1e", ST_INVALID, 0},
    {"1x", ST_INVALID, 0},
    {" 1", ST_INVALID, 0},
    {"+1", ST_INVALID, 0},
    {"true", ST_INVALID, 0},
};

START_TEST(whole_numbers_are_exact)
{
    const struct whole_case *c = &whole_cases[_i];
    int64_t value = 77;
    ck_assert_msg(json_whole(slice_from_text(c->text), &value) == c->status, "%s",
                  c->text);
    ck_assert_int_eq(value, c->status == ST_OK ? c->value : 77);
}
END_TEST

static void
check_ok(struct bytes *b, int64_t expected)
{
    int64_t value = 77;
    ck_assert_msg(json_whole(bytes_slice(b), &value) == ST_OK, "%.*s", (int)b->size,
                  (const char *)b->data);
    ck_assert_int_eq(value, expected);
    bytes_clear(b);
}

START_TEST(any_way_to_write_a_number_gives_it)
{
    struct bytes b = {0};
    uint64_t seed = 11;
    for (int i = 0; i < 20000; i++) {
        int64_t value = (int64_t)random_next(&seed) >> random_below(&seed, 64);
        if (value == 0)
            value = 1;
        uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
        int zeros = 1 + (int)random_below(&seed, 30);
        /* More zeros behind than the value has, taken away by the exponent. */
        bytes_printf(&b, "%lld%0*de-%d", (long long)value, zeros, 0, zeros);
        check_ok(&b, value);
        /* All digits behind the point, with zeros before them. */
        char digits[24];
        int count = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)size);
        bytes_printf(&b, "%s0.%0*d%sE+%d", value < 0 ? "-" : "", zeros, 0, digits,
                     zeros + count);
        check_ok(&b, value);
        /* The point in the middle. */
        int cut = 1 + (int)random_below(&seed, (size_t)count);
        if (cut < count) {
            bytes_printf(&b, "%s%.*s.%se%d", value < 0 ? "-" : "", cut, digits,
                         digits + cut, count - cut);
            check_ok(&b, value);
        }
    }
    bytes_fini(&b);
}
END_TEST

START_TEST(long_numbers_take_no_long_time)
{
    struct bytes b = {0};
    int64_t value = 77;
    bytes_put_text(&b, "1");
    memset(bytes_extend(&b, 1000000), '0', 1000000);
    ck_assert_int_eq(json_whole(bytes_slice(&b), &value), ST_RANGE);
    bytes_put_text(&b, "e-1000000");
    ck_assert_int_eq(json_whole(bytes_slice(&b), &value), ST_OK);
    ck_assert_int_eq(value, 1);
    bytes_clear(&b);
    bytes_put_text(&b, "0.");
    memset(bytes_extend(&b, 1000000), '0', 1000000);
    bytes_put_text(&b, "42e1000002");
    ck_assert_int_eq(json_whole(bytes_slice(&b), &value), ST_OK);
    ck_assert_int_eq(value, 42);
    bytes_clear(&b);
    memset(bytes_extend(&b, 1000000), '9', 1000000);
    ck_assert_int_eq(json_whole(bytes_slice(&b), &value), ST_RANGE);
    ck_assert_int_eq(value, 42);
    bytes_fini(&b);
}
END_TEST

static void
check_plain(const char *text, enum status status, int64_t expected)
{
    int64_t value = 77;
    ck_assert_msg(json_plain_integer(slice_from_text(text), &value) == status, "%s",
                  text);
    ck_assert_int_eq(value, status == ST_OK ? expected : 77);
}

START_TEST(plain_integers_have_digits_only)
{
    check_plain("0", ST_OK, 0);
    check_plain("-0", ST_OK, 0);
    check_plain("10", ST_OK, 10);
    check_plain("-172800", ST_OK, -172800);
    check_plain("9223372036854775807", ST_OK, INT64_MAX);
    check_plain("-9223372036854775808", ST_OK, INT64_MIN);
    check_plain("9223372036854775808", ST_RANGE, 0);
    check_plain("99999999999999999999999", ST_RANGE, 0);
    check_plain("1.0", ST_INVALID, 0);
    check_plain("1e0", ST_INVALID, 0);
    check_plain("01", ST_INVALID, 0);
    check_plain("-", ST_INVALID, 0);
    check_plain("--1", ST_INVALID, 0);
    check_plain("1-", ST_INVALID, 0);
    check_plain("", ST_INVALID, 0);
    check_plain("+1", ST_INVALID, 0);
}
END_TEST

START_TEST(a_number_ends_where_it_cannot_go_on)
{
    ck_assert_uint_eq(json_number_size(LITERAL("12,3")), 2);
    ck_assert_uint_eq(json_number_size(LITERAL("01")), 1);
    ck_assert_uint_eq(json_number_size(LITERAL("-1.5e+3}")), 7);
    ck_assert_uint_eq(json_number_size(LITERAL("1.}")), 0);
    ck_assert_uint_eq(json_number_size(LITERAL("x")), 0);
    ck_assert_uint_eq(json_number_size(LITERAL("")), 0);
}
END_TEST

Suite *
suite_json_number(void)
{
    const TTest *const tests[] = {
        any_way_to_write_a_number_gives_it,
        long_numbers_take_no_long_time,
        plain_integers_have_digits_only,
        a_number_ends_where_it_cannot_go_on,
    };
    Suite *suite = suite_of("json number", tests, COUNT_OF(tests));
    TCase *table = tcase_create("json number table");
    tcase_add_loop_test(table, whole_numbers_are_exact, 0, (int)COUNT_OF(whole_cases));
    suite_add_tcase(suite, table);
    return suite;
}
