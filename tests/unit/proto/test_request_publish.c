/* Tests of proto/request_publish: the three forms of a message and their fields. */
#include "parse.h"

#define ROLE ROLE_PUBLISHER
#define TYPE QUEUE_DISTRIBUTE

/* "type durability delay body|key" of a publish, or its code. */
static const char *
publish_as(enum queue_type type, bool is_text, struct slice payload)
{
    static char text[300];
    struct request *r = parse_bytes(ROLE, type, is_text, payload);
    ck_assert_int_eq(r->parcel.kind, PARCEL_PUBLISH);
    ck_assert(!r->ends);
    if (r->code != 0) {
        ck_assert_ptr_null(r->publish.body);
        snprintf(text, sizeof(text), "%u", r->code);
    } else {
        const struct blob *b = r->publish.body;
        int body = (int)(b->size - r->publish.key_size);
        snprintf(text, sizeof(text), "%u %u %u %.*s|%.*s", r->publish.type,
                 r->publish.durability, r->publish.delay_secs, body,
                 (const char *)b->data, r->publish.key_size,
                 (const char *)b->data + body);
    }
    parse_free(r);
    return text;
}

static const char *
publish(const char *text)
{
    return publish_as(TYPE, true, slice_from_text(text));
}

START_TEST(an_object_has_fields_with_defaults)
{
    ck_assert_str_eq(publish("{\"body\":\"hello\"}"), "1 1 0 hello|");
    ck_assert_str_eq(publish("{\"body\":\"Order 1234 is ready\",\"delay\":60,"
                             "\"durability\":2,\"publisherkey\":\"order-1234\"}"),
                     "1 2 60 Order 1234 is ready|order-1234");
    ck_assert_str_eq(publish(" \t{ \"type\" : 2 ,\n\"body\" : \"aGVsbG8=\" } \r\n"),
                     "2 1 0 aGVsbG8=|");
    ck_assert_str_eq(publish("{\"body\":\"\"}"), "1 1 0 |");
    ck_assert_str_eq(publish("{\"body\":\"\",\"type\":2}"), "2 1 0 |");
    ck_assert_str_eq(publish("{\"\\u0062ody\":\"x\",\"unknown\":[{}],\"Body\":1}"),
                     "1 1 0 x|");
}
END_TEST

START_TEST(a_body_stays_in_wire_form)
{
    ck_assert_str_eq(
        publish("{\"body\":\"a\\\"\\\\\\/\\u00e9\\n\\ud83d\\ude00 \xc3\xa9\"}"),
        "1 1 0 a\\\"\\\\\\/\\u00e9\\n\\ud83d\\ude00 \xc3\xa9|");
    ck_assert_str_eq(publish("{\"body\":\"\\u0000\"}"), "1 1 0 \\u0000|");
    ck_assert_str_eq(publish("{\"body\":\"{\\\"a\\\":1}\"}"), "1 1 0 {\\\"a\\\":1}|");
}
END_TEST

START_TEST(bad_bodies_are_200_and_none_is_206)
{
    static const struct code_case cases[] = {
        {"{\"body\":5}", "200"},
        {"{\"body\":null}", "200"},
        {"{\"body\":true}", "200"},
        {"{\"body\":[\"x\"]}", "200"},
        {"{\"body\":{\"a\":1}}", "200"},
        {"{\"body\":\"\\ud800\"}", "200"},
        {"{\"body\":\"a\\udc00b\"}", "200"},
        {"{\"body\":\"\\ud800\\u0041\"}", "200"},
        {"{\"body\":\"\\ud800\",\"type\":2}", "200"},
        {"{}", "206"},
        {"{\"bdy\":\"x\"}", "206"},
        {"{\"Body\":\"x\"}", "206"},
        {"{\"delay\":1}", "206"},
        {"{\"delay\":-1}", "203"},
        {"{\"type\":3}", "201"},
        {"{\"context\":null}", "101"},
    };
    CHECK_CODES(cases, ROLE, TYPE);
}
END_TEST

START_TEST(types_are_whole_numbers_1_and_2)
{
    static const char *const bad[] = {"0",    "3",    "-1",  "1.5",  "\"1\"",
                                      "null", "true", "[1]", "1e30", "{}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(publish(fill("{\"body\":\"aGVsbG8=\",\"type\":%s}", bad[i])),
                         "201");
    ck_assert_str_eq(publish("{\"body\":\"AA==\",\"type\":2.0}"), "2 1 0 AA==|");
    ck_assert_str_eq(publish("{\"body\":\"AA==\",\"type\":10e-1}"), "1 1 0 AA==|");
}
END_TEST

START_TEST(base64_is_checked_unescaped_and_stored_so)
{
    static const char *const bad[] = {
        "not base64!", "!!!!",    "aGVs*G8=",         "\xc3\xa9",  "=",          "====",
        "a",           "aGVsbG8", "aGVsbG8=aGVsbG8=", "aGVs bG8=", "aGVs\\nbG8="};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(publish(fill("{\"body\":\"%s\",\"type\":2}", bad[i])), "202");
    ck_assert_str_eq(publish("{\"body\":\"aGVs\\/A==\",\"type\":2}"),
                     "2 1 0 aGVs/A==|");
    ck_assert_str_eq(publish("{\"type\":2,\"body\":\"\\u0041\\u0041==\"}"),
                     "2 1 0 AA==|");
    ck_assert_str_eq(publish("{\"body\":\"\\/+8=\",\"type\":2,"
                             "\"publisherkey\":\"a\\/b\"}"),
                     "2 1 0 /+8=|a/b");
}
END_TEST

START_TEST(delays_are_from_0_to_two_days)
{
    static const char *const bad[] = {
        "172801", "-1",   "1e9", "1.5", "\"1\"", "\"\"",
        "null",   "true", "[1]", "{}",  "1e999", "18446744073709551616"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(publish(fill("{\"body\":\"x\",\"delay\":%s}", bad[i])), "203");
    ck_assert_str_eq(publish("{\"body\":\"x\",\"delay\":172800}"), "1 1 172800 x|");
    ck_assert_str_eq(publish("{\"body\":\"x\",\"delay\":1.728e5}"), "1 1 172800 x|");
    ck_assert_str_eq(publish("{\"body\":\"x\",\"delay\":0}"), "1 1 0 x|");
    ck_assert_str_eq(publish("{\"body\":\"x\",\"delay\":-0}"), "1 1 0 x|");
}
END_TEST

START_TEST(durabilities_are_0_1_and_2)
{
    static const char *const bad[] = {"3",    "-1",    "1.5", "\"1\"",
                                      "null", "false", "[]",  "256"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(publish(fill("{\"body\":\"x\",\"durability\":%s}", bad[i])),
                         "204");
    ck_assert_str_eq(publish("{\"body\":\"x\",\"durability\":0}"), "1 0 0 x|");
    ck_assert_str_eq(publish("{\"body\":\"x\",\"durability\":2}"), "1 2 0 x|");
}
END_TEST

START_TEST(keys_are_1_to_128_of_their_characters)
{
    static const char *const bad[] = {
        "\"\"",       "\"a b\"",     "\"a,b\"",    "\"\xc3\xa9\"", "\"a\\nb\"",
        "\"a\\\"b\"", "\"a\\\\b\"",  "7",          "null",         "true",
        "[\"a\"]",    "\"\\u0000\"", "\"\\ud800\""};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(publish(fill("{\"body\":\"x\",\"publisherkey\":%s}", bad[i])),
                         "205");
    ck_assert_str_eq(publish("{\"body\":\"x\",\"publisherkey\":\"AZaz09-_.:/+=\"}"),
                     "1 1 0 x|AZaz09-_.:/+=");
    ck_assert_str_eq(publish("{\"body\":\"x\",\"publisherkey\":\"\\u0061\\/\"}"),
                     "1 1 0 x|a/");
    char *key = repeat("k", 129);
    ck_assert_str_eq(publish(fill("{\"body\":\"x\",\"publisherkey\":\"%s\"}", key)),
                     "205");
    key[128] = 0;
    struct request *r =
        parse_text(ROLE, TYPE, fill("{\"body\":\"x\",\"publisherkey\":\"%s\"}", key));
    ck_assert_uint_eq(r->code, 0);
    ck_assert_uint_eq(r->publish.key_size, 128);
    ck_assert_uint_eq(r->publish.body->size, 129);
    parse_free(r);
    mem_free(key);
}
END_TEST

START_TEST(every_character_of_a_key_is_judged)
{
    for (unsigned c = 1; c < 256; c++) {
        char key[2] = {(char)c, 0};
        bool is_good = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789-_.:/+=",
                              (int)c) != NULL;
        if (c >= 0x80 || c < 0x20 || c == '"' || c == '\\')
            continue; /* not alone in a JSON text */
        const char *got =
            publish(fill("{\"body\":\"x\",\"publisherkey\":\"%s\"}", key));
        ck_assert_str_eq(got, is_good ? fill("1 1 0 x|%s", key) : "205");
    }
}
END_TEST

START_TEST(of_several_bad_fields_the_lowest_code_counts)
{
    static const struct code_case cases[] = {
        {"{\"body\":5,\"type\":9}", "200"},
        {"{\"type\":9,\"body\":5}", "200"},
        {"{\"durability\":9,\"delay\":-1,\"body\":\"x\"}", "203"},
        {"{\"publisherkey\":\"\",\"durability\":9}", "204"},
        {"{\"body\":\"!\",\"type\":2,\"delay\":-1}", "202"},
        {"{\"body\":\"x\",\"delay\":-1,\"context\":true}", "101"},
        {"{\"body\":5,\"context\":[]}", "101"},
    };
    CHECK_CODES(cases, ROLE, TYPE);
}
END_TEST

START_TEST(duplicate_keys_and_deep_nesting_are_100_and_the_connection_stays)
{
    char *open = repeat("[", 40);
    char *close = repeat("]", 40);
    struct bytes text = {NULL, 0, 0};
    bytes_printf(&text, "{\"body\":\"x\",\"a\":%s%s}", open, close);
    ck_assert_str_eq(parse_code(ROLE, TYPE, text_of(&text)), "100");
    ck_assert_str_eq(parse_code(ROLE, TYPE, "{\"body\":\"x\",\"body\":\"y\"}"), "100");
    ck_assert_str_eq(parse_code(ROLE, TYPE, "{\"body\":\"x\",\"\\u0062ody\":1}"),
                     "100");
    bytes_clear(&text);
    bytes_put_text(&text, "{\"body\":\"x\"");
    for (int i = 1; i < JSON_MEMBERS_MAX; i++)
        bytes_printf(&text, ",\"f%d\":%d", i, i);
    bytes_put_text(&text, "}");
    ck_assert_str_eq(publish(text_of(&text)), "1 1 0 x|");
    text.size--;
    bytes_put_text(&text, ",\"more\":1}");
    ck_assert_str_eq(parse_code(ROLE, TYPE, text_of(&text)), "100");
    bytes_fini(&text);
    mem_free(open);
    mem_free(close);
}
END_TEST

START_TEST(text_that_is_no_object_is_the_message)
{
    static const char *const texts[] = {
        "Hello",        "two words",  "[1,2,3]", "[{}]", "42",        "-1.5e3",
        "null",         "true",       "",        " ",    "{not json", "body=1",
        "\xe6\x97\xa5", "{'body':1}", "01",      "NaN",  "{",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        ck_assert_str_eq(publish(texts[i]), fill("1 1 0 %s|", texts[i]));
    ck_assert_str_eq(publish("\"text\""), "1 1 0 \\\"text\\\"|");
    ck_assert_str_eq(publish("{\"body\":\"x\",}"), "1 1 0 {\\\"body\\\":\\\"x\\\",}|");
    ck_assert_str_eq(publish("{\"body\":\"x\"} y"),
                     "1 1 0 {\\\"body\\\":\\\"x\\\"} y|");
    ck_assert_str_eq(publish("a\nb\x01\x7f\t"), "1 1 0 a\\nb\\u0001\x7f\\t|");
    ck_assert_str_eq(publish_as(TYPE, true, LITERAL("a\0b")), "1 1 0 a\\u0000b|");
    /* Deep, but no object. */
    char *open = repeat("[", 40);
    ck_assert_str_eq(publish(open), fill("1 1 0 %s|", open));
    mem_free(open);
}
END_TEST

START_TEST(a_text_of_controls_grows_six_times)
{
    char *text = repeat("\x01", 1048576);
    struct request *r = parse_text(ROLE, TYPE, text);
    ck_assert_uint_eq(r->code, 0);
    ck_assert_uint_eq(r->publish.body->size, 6u * 1048576);
    ck_assert_mem_eq(r->publish.body->data + 6u * 1048575, "\\u0001", 6);
    parse_free(r);
    ck_assert_str_eq(publish("\"next\""), "1 1 0 \\\"next\\\"|");
    mem_free(text);
}
END_TEST

START_TEST(a_binary_frame_becomes_base64)
{
    ck_assert_str_eq(publish_as(TYPE, false, LITERAL("hello")), "2 1 0 aGVsbG8=|");
    ck_assert_str_eq(publish_as(TYPE, false, LITERAL("\0\1\2\377\376")),
                     "2 1 0 AAEC//4=|");
    ck_assert_str_eq(publish_as(TYPE, false, LITERAL("")), "2 1 0 |");
    ck_assert_str_eq(publish_as(QUEUE_COPY, false, LITERAL("{}")), "2 1 0 e30=|");
}
END_TEST

START_TEST(a_copy_queue_refuses_options_whatever_their_value)
{
    static const struct code_case cases[] = {
        {"{\"body\":\"x\"}", "0"},
        {"{\"body\":\"x\",\"type\":1}", "0"},
        {"{\"body\":\"x\",\"delay\":0}", "207"},
        {"{\"body\":\"x\",\"delay\":-1}", "207"},
        {"{\"body\":\"x\",\"delay\":null}", "207"},
        {"{\"body\":\"x\",\"durability\":1}", "208"},
        {"{\"body\":\"x\",\"durability\":\"a\"}", "208"},
        {"{\"body\":\"x\",\"publisherkey\":\"k\"}", "209"},
        {"{\"body\":\"x\",\"publisherkey\":\"\"}", "209"},
        {"{\"body\":\"x\",\"publisherkey\":1,\"durability\":1,\"delay\":1}", "207"},
        {"{\"delay\":1}", "206"},
        {"{\"body\":1,\"delay\":1}", "200"},
        {"{\"body\":\"x\",\"type\":3}", "201"},
        {"{\"body\":\"!!\",\"type\":2}", "202"},
        {"{}", "206"},
        {"{\"body\":\"x\",\"context\":true}", "101"},
    };
    CHECK_CODES(cases, ROLE, QUEUE_COPY);
    ck_assert_str_eq(publish_as(QUEUE_COPY, true, LITERAL("Hello")), "1 1 0 Hello|");
}
END_TEST

static const char *
context_of(const char *context)
{
    static char text[2000];
    struct request *r =
        parse_text(ROLE, TYPE, fill("{\"body\":\"x\",\"context\":%s}", context));
    snprintf(text, sizeof(text), "%.*s", r->context_size, (const char *)r->context);
    ck_assert(r->code == (r->context_size > 0 ? 0 : 101));
    parse_free(r);
    return text;
}

START_TEST(contexts_are_copied_as_they_came)
{
    static const char *const good[] = {
        "7",
        "0",
        "-1",
        "1.5",
        "-0.25",
        "1.50",
        "1E+2",
        "-0",
        "1e999",
        "12345678901234567890123",
        "\"a\"",
        "\"\"",
        "\"7\"",
        "\"null\"",
        "\"quote \\\" \\\\ \\/ / \\t\\u00e9\xc3\xa9\"",
        "\"\\u0000\"",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++)
        ck_assert_str_eq(context_of(good[i]), good[i]);
}
END_TEST

START_TEST(other_contexts_are_101_and_not_echoed)
{
    static const char *const bad[] = {"true", "false", "null",        "[]",
                                      "[1]",  "{}",    "\"\\ud800\"", "{\"a\":1}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(context_of(bad[i]), "");
}
END_TEST

START_TEST(contexts_have_at_most_256_bytes)
{
    char *text = repeat("c", 256);
    ck_assert_uint_eq(strlen(context_of(fill("\"%s\"", text))), 258);
    ck_assert_str_eq(context_of(fill("\"%sc\"", text)), "");
    ck_assert_str_eq(context_of(fill("\"%s\xc3\xa9\"", text + 1)), "");
    ck_assert_uint_eq(strlen(context_of(fill("\"%s\xc3\xa9\"", text + 2))), 258);
    mem_free(text);
    text = repeat("\\u0041", 256);
    ck_assert_uint_eq(strlen(context_of(fill("\"%s\"", text))), 6 * 256 + 2);
    ck_assert_str_eq(context_of(fill("\"%sc\"", text)), "");
    mem_free(text);
    text = repeat("9", 256);
    ck_assert_str_eq(context_of(text), text);
    ck_assert_str_eq(context_of(fill("%s9", text)), "");
    mem_free(text);
}
END_TEST

START_TEST(a_refused_publish_keeps_its_context)
{
    struct request *r =
        parse_text(ROLE, TYPE, "{\"body\":\"x\",\"delay\":-1,\"context\":9}");
    ck_assert_uint_eq(r->code, 203);
    ck_assert_slice_eq(slice_of(r->context, r->context_size), LITERAL("9"));
    parse_free(r);
}
END_TEST

Suite *
suite_request_publish(void)
{
    const TTest *const tests[] = {
        an_object_has_fields_with_defaults,
        a_body_stays_in_wire_form,
        bad_bodies_are_200_and_none_is_206,
        types_are_whole_numbers_1_and_2,
        base64_is_checked_unescaped_and_stored_so,
        delays_are_from_0_to_two_days,
        durabilities_are_0_1_and_2,
        keys_are_1_to_128_of_their_characters,
        every_character_of_a_key_is_judged,
        of_several_bad_fields_the_lowest_code_counts,
        duplicate_keys_and_deep_nesting_are_100_and_the_connection_stays,
        text_that_is_no_object_is_the_message,
        a_text_of_controls_grows_six_times,
        a_binary_frame_becomes_base64,
        a_copy_queue_refuses_options_whatever_their_value,
        contexts_are_copied_as_they_came,
        other_contexts_are_101_and_not_echoed,
        contexts_have_at_most_256_bytes,
        a_refused_publish_keeps_its_context,
    };
    return suite_of("request_publish", tests, COUNT_OF(tests));
}
