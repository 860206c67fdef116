/* Tests of base/log_fields: whatever comes in, what goes out is well formed. */
#include "base/log_fields.h"

#include "base/json.h"
#include "base/text.h"

#include "suites.h"

static char text[4096];

static const char *
put(enum log_format format, const char *raw, size_t size, bool is_cut)
{
    struct log_line l = {.text = text, .room = sizeof(text) - 1, .format = format};
    log_fields_put(&l, slice_of(raw, size), is_cut);
    text[l.size] = '\0';
    return text;
}

static const char *
logfmt(const char *raw)
{
    return put(LOG_LOGFMT, raw, strlen(raw), false);
}

static const char *
json(const char *raw)
{
    return put(LOG_JSON, raw, strlen(raw), false);
}

START_TEST(words_and_quoted_values_go_through_as_they_are)
{
    ck_assert_str_eq(logfmt("term=7 peer=\"a b\" x=-1"), " term=7 peer=\"a b\" x=-1");
    ck_assert_str_eq(logfmt("a=\"say \\\"hi\\\" \\u0001\\\\\""),
                     " a=\"say \\\"hi\\\" \\u0001\\\\\"");
    ck_assert_str_eq(logfmt(""), "");
    ck_assert_str_eq(logfmt("  \t "), "");
}
END_TEST

START_TEST(json_has_numbers_where_every_reader_keeps_them)
{
    ck_assert_str_eq(json("term=7 x=-1 y=1.5 z=\"7\""),
                     ",\"term\":7,\"x\":-1,\"y\":1.5,\"z\":\"7\"");
    ck_assert_str_eq(json("n=123456789012345 m=1234567890123456"),
                     ",\"n\":123456789012345,\"m\":\"1234567890123456\"");
    ck_assert_str_eq(json("a=01 b=1. c=- d=0x1 e=NaN"),
                     ",\"a\":\"01\",\"b\":\"1.\",\"c\":\"-\",\"d\":\"0x1\",\"e\":"
                     "\"NaN\"");
    ck_assert_str_eq(json("a=\"b \\\"c\\\"\" d=e"),
                     ",\"a\":\"b \\\"c\\\"\",\"d\":\"e\"");
}
END_TEST

START_TEST(careless_values_are_quoted)
{
    ck_assert_str_eq(logfmt("a=b=c"), " a=\"b=c\"");
    ck_assert_str_eq(logfmt("a=say\"hi"), " a=\"say\\\"hi\"");
    ck_assert_str_eq(logfmt("a=c:\\x"), " a=\"c:\\\\x\"");
    ck_assert_str_eq(logfmt("a b=1"), " a=\"\" b=1");
    ck_assert_str_eq(logfmt("a="), " a=\"\"");
    ck_assert_str_eq(logfmt("=1"), " _=1");
    ck_assert_str_eq(json("we<ird k\xc3\xa9y=1"), ",\"we_ird\":\"\",\"k__y\":1");
}
END_TEST

START_TEST(the_head_of_a_line_cannot_be_forged)
{
    ck_assert_str_eq(logfmt("x=1\nts=2 level=error node=3 event=a.b"),
                     " x=1 ts_=2 level_=error node_=3 event_=a.b");
    ck_assert_str_eq(json("event=a.b"), ",\"event_\":\"a.b\"");
}
END_TEST

START_TEST(what_is_not_text_is_escaped)
{
    ck_assert_str_eq(logfmt("a=\"\x01\x7f\xff\xc3\xa9\""),
                     " a=\"\\u0001\\u007f\\ufffd\xc3\xa9\"");
    ck_assert_str_eq(logfmt("a=\"\\x \\u12\""), " a=\"\\\\x \\\\u12\"");
    ck_assert_str_eq(put(LOG_JSON, "a=\"b\0c\"", 7, false), ",\"a\":\"b\\u0000c\"");
}
END_TEST

START_TEST(a_cut_value_is_closed_and_marked)
{
    const char *raw = "a=1 b=\"c d";
    ck_assert_str_eq(put(LOG_LOGFMT, raw, strlen(raw), true), " a=1 b=\"c d...\"");
    ck_assert_str_eq(put(LOG_JSON, raw, strlen(raw), true),
                     ",\"a\":1,\"b\":\"c d...\"");
    ck_assert_str_eq(put(LOG_LOGFMT, "a=1 b=cd", 8, true), " a=1 b=\"cd...\"");
    ck_assert_str_eq(put(LOG_LOGFMT, "b=\"c\\", 5, true), " b=\"c\\\\...\"");
}
END_TEST

START_TEST(a_field_without_room_is_left_out_whole)
{
    struct log_line l = {.text = text, .room = 10, .format = LOG_JSON};
    log_fields_put(&l, LITERAL("a=1 b=22222222222 c=3"), false);
    ck_assert(l.is_cut);
    ck_assert_slice_eq(slice_of(text, l.size), LITERAL(",\"a\":1"));
}
END_TEST

/* Any bytes: the line is an object, and valid UTF-8. */
START_TEST(any_bytes_become_json)
{
    uint64_t seed = 7;
    struct json_object object;
    json_object_init(&object);
    for (int round = 0; round < 3000; round++) {
        static const char alphabet[] = "ab=\"\\ u0{}\n\x01\xff\xc3\xa9";
        char raw[60];
        size_t size = random_below(&seed, sizeof(raw));
        for (size_t i = 0; i < size; i++)
            raw[i] = alphabet[random_below(&seed, sizeof(alphabet))];
        struct log_line l = {.text = text, .room = sizeof(text), .format = LOG_JSON};
        memcpy(text, "{\"x\":0", 6);
        l.size = 6;
        log_fields_put(&l, slice_of(raw, size), round % 2 == 0);
        text[l.size++] = '}';
        struct slice line = slice_of(text, l.size);
        ck_assert(utf8_is_valid(line));
        enum json_outcome outcome = json_parse(&object, line);
        ck_assert_msg(outcome == JSON_IS_OBJECT || outcome == JSON_DUPLICATE, "%.*s",
                      (int)l.size, text);
    }
    json_object_fini(&object);
}
END_TEST

Suite *
suite_log_fields(void)
{
    const TTest *const tests[] = {
        words_and_quoted_values_go_through_as_they_are,
        json_has_numbers_where_every_reader_keeps_them,
        careless_values_are_quoted,
        the_head_of_a_line_cannot_be_forged,
        what_is_not_text_is_escaped,
        a_cut_value_is_closed_and_marked,
        a_field_without_room_is_left_out_whole,
        any_bytes_become_json,
    };
    return suite_of("log_fields", tests, COUNT_OF(tests));
}
