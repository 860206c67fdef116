/* Tests of base/text: the insides of JSON strings. */
#include "base/text.h"

#include "suites.h"

static void
check_escape(struct slice plain, struct slice escaped)
{
    struct bytes b = {0};
    json_escape(&b, plain);
    ck_assert_slice_eq(bytes_slice(&b), escaped);
    ck_assert_uint_eq(json_escaped_size(plain), escaped.size);
    bytes_clear(&b);
    ck_assert_int_eq(json_unescape(escaped, &b), ST_OK);
    ck_assert_slice_eq(bytes_slice(&b), plain);
    bytes_fini(&b);
}

START_TEST(only_what_must_be_is_escaped)
{
    check_escape(LITERAL(""), LITERAL(""));
    check_escape(LITERAL("plain / \x7f \xc3\xa9"), LITERAL("plain / \x7f \xc3\xa9"));
    check_escape(LITERAL("\"\\"), LITERAL("\\\"\\\\"));
    check_escape(LITERAL("\b\f\n\r\t"), LITERAL("\\b\\f\\n\\r\\t"));
    check_escape(LITERAL("\0\x01\x1f"), LITERAL("\\u0000\\u0001\\u001f"));
    check_escape(LITERAL("0123456789abcdef\"0123456789abcdef"),
                 LITERAL("0123456789abcdef\\\"0123456789abcdef"));
}
END_TEST

START_TEST(any_bytes_come_back_from_escaping)
{
    uint64_t seed = 10;
    for (size_t i = 0; i < 5000; i++) {
        uint8_t plain[100];
        struct bytes escaped = {0};
        struct bytes again = {0};
        struct slice s = slice_of(plain, i % sizeof(plain));
        for (size_t k = 0; k < s.size; k++)
            plain[k] = random_below(&seed, 4) == 0 ? (uint8_t)random_below(&seed, 96)
                                                   : (uint8_t)random_next(&seed);
        json_escape(&escaped, s);
        ck_assert_uint_eq(escaped.size, json_escaped_size(s));
        ck_assert_int_eq(json_unescape(bytes_slice(&escaped), &again), ST_OK);
        ck_assert(slice_equal(bytes_slice(&again), s));
        bytes_fini(&escaped);
        bytes_fini(&again);
    }
}
END_TEST

START_TEST(plain_runs_end_at_each_special_byte)
{
    for (size_t at = 0; at < 50; at++) {
        for (unsigned c = 0; c < 256; c++) {
            uint8_t text[50];
            memset(text, 'x', sizeof(text));
            text[at] = (uint8_t)c;
            bool is_special = c < 0x20 || c == '"' || c == '\\';
            ck_assert_uint_eq(json_plain_size(slice_of(text, sizeof(text))),
                              is_special ? at : sizeof(text));
            ck_assert_uint_eq(json_plain_size(slice_of(text, at)), at);
        }
    }
}
END_TEST

static void
check_unescape(const char *escaped, struct slice plain)
{
    struct bytes b = {0};
    size_t size = 999;
    struct slice s = slice_from_text(escaped);
    ck_assert_int_eq(json_unescape(s, &b), ST_OK);
    ck_assert_slice_eq(bytes_slice(&b), plain);
    ck_assert_int_eq(json_unescaped_size(s, &size), ST_OK);
    ck_assert_uint_eq(size, plain.size);
    bytes_fini(&b);
}

START_TEST(every_escape_is_understood)
{
    check_unescape("\\\"\\\\\\/\\b\\f\\n\\r\\t", LITERAL("\"\\/\b\f\n\r\t"));
    check_unescape("a\\u0000b", LITERAL("a\0b"));
    check_unescape("\\u0041\\u00e9\\u00E9", LITERAL("A\xc3\xa9\xc3\xa9"));
    check_unescape("\\u07ff\\u0800", LITERAL("\xdf\xbf\xe0\xa0\x80"));
    check_unescape("\\ud7ff\\ue000\\uFFFF",
                   LITERAL("\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"));
    check_unescape("\\uD83D\\uDE00", LITERAL("\xf0\x9f\x98\x80"));
    check_unescape("\\ud800\\udc00\\uDBFF\\uDFFF",
                   LITERAL("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
    check_unescape("\\\\ud800", LITERAL("\\ud800"));
}
END_TEST

START_TEST(a_lone_surrogate_is_refused)
{
    static const char *const bad[] = {
        "\\ud800",
        "x\\ud800y",
        "\\udc00",
        "\\udfff\\ud800",
        "\\ud800\\ud800",
        "\\ud800\\u0041",
        "\\ud800\\n",
        "\\ud800udc00",
        "\\ud83d\\ud83d\\ude00",
        "\\ud83d\\ude00\\ude00",
        "\\uDBFF",
        "\\ud800\\\\udc00",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct bytes b = {0};
        size_t size = 999;
        bytes_put_text(&b, "kept");
        ck_assert_int_eq(json_unescape(slice_from_text(bad[i]), &b), ST_INVALID);
        ck_assert_slice_eq(bytes_slice(&b), LITERAL("kept"));
        ck_assert_int_eq(json_unescaped_size(slice_from_text(bad[i]), &size),
                         ST_INVALID);
        ck_assert_uint_eq(size, 999);
        bytes_fini(&b);
    }
}
END_TEST

START_TEST(loosely_a_lone_surrogate_is_three_bytes)
{
    struct bytes b = {0};
    json_unescape_loosely(LITERAL("a\\ud800b"), &b);
    ck_assert_slice_eq(bytes_slice(&b), LITERAL("a\xed\xa0\x80"
                                                "b"));
    ck_assert(!utf8_is_valid(bytes_slice(&b)));
    bytes_fini(&b);
}
END_TEST

Suite *
suite_text_json(void)
{
    const TTest *const tests[] = {
        only_what_must_be_is_escaped,        any_bytes_come_back_from_escaping,
        plain_runs_end_at_each_special_byte, every_escape_is_understood,
        a_lone_surrogate_is_refused,         loosely_a_lone_surrogate_is_three_bytes,
    };
    return suite_of("text json", tests, COUNT_OF(tests));
}
