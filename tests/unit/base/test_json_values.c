/* Tests of base/json: which texts are JSON, in the manner of JSONTestSuite. The values
 * stand at the top level (our scanner) and nested (yajl). */
#include "base/json.h"

#include "suites.h"

struct json_case {
    const char *text;
    size_t size;
};

#define CASE(text)                                                                     \
    {                                                                                  \
        text, sizeof(text) - 1                                                         \
    }

static const struct json_case good_values[] = {
    CASE("null"),
    CASE("true"),
    CASE("false"),
    CASE("0"),
    CASE("-0"),
    CASE("1"),
    CASE("-1"),
    CASE("10"),
    CASE("1234567890"),
    CASE("0.5"),
    CASE("-0.0"),
    CASE("0e1"),
    CASE("0e+1"),
    CASE("0E-1"),
    CASE("1e5"),
    CASE("1E5"),
    CASE("1.5e+05"),
    CASE("1e00"),
    CASE("1e999999"),
    CASE("1e-999999"),
    CASE("123456789012345678901234567890"),
    CASE("-0.00000000000000000000000000000000000000000000000000001"),
    CASE("\"\""),
    CASE("\"a\""),
    CASE("\" \""),
    CASE("\"\x7f\""),
    CASE("\"\xc3\xa9\""),
    CASE("\"\xe2\x80\xa8\xe2\x80\xa9\""),
    CASE("\"\xf4\x8f\xbf\xbf\""),
    CASE("\"\xef\xbb\xbf\""),
    CASE("\"/*c*/\""),
    CASE("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    CASE("\"\\u0000\""),
    CASE("\"\\u12aF\""),
    CASE("\"\\uD83D\\uDE00\""),
    CASE("\"\\ud800\""),
    CASE("\"\\udc00x\""),
    CASE("\"\\ud800\\ud800\""),
    CASE("\"\\\\u123\""),
    CASE("\"]}\""),
    CASE("[]"),
    CASE("[ ]"),
    CASE("[1]"),
    CASE("[1,2]"),
    CASE("[\t1\n,\r2 ]"),
    CASE("[[]]"),
    CASE("[[],[]]"),
    CASE("{}"),
    CASE("{ }"),
    CASE("{\"a\":1}"),
    CASE("{\"\":0}"),
    CASE("{\"a\":1,\"a\":2}"),
    CASE("{\"a\\u0000b\":1}"),
    CASE("{\"a\" : [ { } ] , \"b\" : null }"),
    CASE("[{\"a\":[{\"b\":[\"]\"]}]}]"),
    CASE("[\"\\\"]\"]"),
    CASE("[\"\\\\\"]"),
};

static const struct json_case bad_values[] = {
    CASE("-"),
    CASE("+1"),
    CASE("--1"),
    CASE("01"),
    CASE("-01"),
    CASE("00"),
    CASE("-00"),
    CASE("1."),
    CASE("-1."),
    CASE(".5"),
    CASE("-.5"),
    CASE("0."),
    CASE("0.e1"),
    CASE("1.e5"),
    CASE("1e"),
    CASE("1e+"),
    CASE("1e-"),
    CASE("1eE2"),
    CASE("1e1.5"),
    CASE("1.2.3"),
    CASE("1+2"),
    CASE("1-2"),
    CASE("0x1"),
    CASE("1a"),
    CASE("1 2"),
    CASE("- 1"),
    CASE("1\0"),
    CASE("NaN"),
    CASE("nan"),
    CASE("-NaN"),
    CASE("Infinity"),
    CASE("-Infinity"),
    CASE("inf"),
    CASE("True"),
    CASE("tru"),
    CASE("truee"),
    CASE("nul"),
    CASE("nulll"),
    CASE("fals"),
    CASE("\0"),
    CASE("a"),
    CASE("'a'"),
    CASE("`a`"),
    CASE("\"a"),
    CASE("a\""),
    CASE("\""),
    CASE("\"\\\""),
    CASE("\"\\x41\""),
    CASE("\"\\a\""),
    CASE("\"\\'\""),
    CASE("\"\\v\""),
    CASE("\"\\0\""),
    CASE("\"\\\0\""),
    CASE("\"\\U0041\""),
    CASE("\"\\ \""),
    CASE("\"\\\n\""),
    CASE("\"\\\xc3\xa9\""),
    CASE("\"\\u\""),
    CASE("\"\\u1\""),
    CASE("\"\\u12\""),
    CASE("\"\\u123\""),
    CASE("\"\\u123g\""),
    CASE("\"\\u12 4\""),
    CASE("\"\\u-123\""),
    CASE("\"\\u+123\""),
    CASE("\"\\u\\u12\""),
    CASE("\"\\ud800\\u\""),
    CASE("\"\\ud800\\u12\""),
    CASE("\"\\uD800\\x\""),
    CASE("\"a\nb\""),
    CASE("\"a\tb\""),
    CASE("\"a\rb\""),
    CASE("\"a\0b\""),
    CASE("\"\x01\""),
    CASE("\"\x1f\""),
    CASE("\"a\vb\""),
    CASE("\"a\fb\""),
    CASE("\"a\" \"b\""),
    CASE("\"a\"b"),
    CASE("[1"),
    CASE("["),
    CASE("]"),
    CASE("[1,"),
    CASE("[1,]"),
    CASE("[,1]"),
    CASE("[,]"),
    CASE("[1,,2]"),
    CASE("[1 2]"),
    CASE("[1:2]"),
    CASE("[:]"),
    CASE("[1}"),
    CASE("[1]]"),
    CASE("[[]"),
    CASE("[]]"),
    CASE("[\"a\""),
    CASE("[\"a"),
    CASE("[\"\\"),
    CASE("[1\v]"),
    CASE("[\f1]"),
    CASE("[1\xc2\xa0]"),
    CASE("[\xe2\x80\xa8"
         "1]"),
    CASE("[\xef\xbb\xbf"
         "1]"),
    CASE("[\0]"),
    CASE("[1\0]"),
    CASE("[1]\0"),
    CASE("[*]"),
    CASE("[1]x"),
    CASE("[/]"),
    CASE("[/**/1]"),
    CASE("[1//\n]"),
    CASE("[#\n]"),
    CASE("/**/1"),
    CASE("1//"),
    CASE("#1"),
    CASE("{"),
    CASE("}"),
    CASE("{,}"),
    CASE("{\"a\"}"),
    CASE("{\"a\":}"),
    CASE("{:1}"),
    CASE("{\"a\" 1}"),
    CASE("{\"a\"::1}"),
    CASE("{\"a\":1"),
    CASE("{\"a\":1,"),
    CASE("{\"a\":1,}"),
    CASE("{\"a\":1,,}"),
    CASE("{,\"a\":1}"),
    CASE("{\"a\":1 \"b\":2}"),
    CASE("{\"a\":1,\"b\"}"),
    CASE("{\"a\":1,\"b\":}"),
    CASE("{\"a\":1,,\"b\":2}"),
    CASE("{a:1}"),
    CASE("{'a':1}"),
    CASE("{1:1}"),
    CASE("{null:1}"),
    CASE("{[]:1}"),
    CASE("{\"a\":1]"),
    CASE("{\"a\":1}}"),
    CASE("{\"a\":1}#"),
    CASE("{\"a\":1}/**/"),
    CASE("{\"a\":1}//"),
    CASE("{\"a\":1}{}"),
    CASE("{\"a\\x\":1}"),
    CASE("{\"a\n\":1}"),
    CASE("{\"a\":\v1}"),
    CASE("{\"a\"\f:1}"),
    CASE("{\"a\":/**/1}"),
    CASE("{\"a\":1;\"b\":2}"),
    CASE("{\"a\":01}"),
    CASE("{\"a\",1}"),
    CASE("{\"a\":\"b\"\"c\"}"),
    CASE("{\"a"),
    CASE("{\"a\\"),
    CASE("true false"),
    CASE("[1,\n1\n,1"),
    CASE("[nul"),
    CASE("[fals]"),
    CASE("[+1]"),
    CASE("[1e1000000000,]"),
    CASE("<null>"),
    CASE("u2060"),
    CASE("[u0041]"),
};

/* Exactly text's bytes on the heap, so that address sanitizer sees each step beyond. */
static enum json_outcome
parse_exactly(struct json_object *o, struct slice text, uint8_t **ret_memory)
{
    uint8_t *memory = malloc(text.size == 0 ? 1 : text.size);
    memcpy(memory, text.data, text.size);
    *ret_memory = memory;
    return json_parse(o, slice_of(memory, text.size));
}

/* Parses before, value, after, joined. */
static enum json_outcome
outcome_in(const char *before, const struct json_case *c, const char *after)
{
    static struct json_object o;
    struct bytes b = {0};
    uint8_t *memory;
    json_object_init(&o);
    bytes_put_text(&b, before);
    bytes_put(&b, c->text, c->size);
    bytes_put_text(&b, after);
    enum json_outcome outcome = parse_exactly(&o, bytes_slice(&b), &memory);
    if (outcome == JSON_IS_OBJECT && strcmp(before, "{\"k\":") == 0) {
        ck_assert_uint_eq(o.count, 1);
        bool is_string = o.members[0].type == JSON_STRING;
        size_t cut = is_string ? 1 : 0;
        ck_assert_slice_eq(o.members[0].value,
                           slice_of(c->text + cut, c->size - 2 * cut));
    }
    json_object_fini(&o);
    free(memory);
    bytes_fini(&b);
    return outcome;
}

#define check_outcome(before, c, after, expected)                                      \
    ck_assert_msg(outcome_in(before, c, after) == (expected), "%s%.*s%s", before,      \
                  (int)(c)->size, (c)->text, after)

START_TEST(good_values_are_taken_everywhere)
{
    const struct json_case *c = &good_values[_i];
    enum json_outcome whole = c->text[0] != '{' ? JSON_IS_OTHER : JSON_IS_OBJECT;
    if (strcmp(c->text, "{\"a\":1,\"a\":2}") == 0)
        whole = JSON_DUPLICATE;
    check_outcome("", c, "", whole);
    check_outcome(" \t\r\n", c, " \t\r\n", whole);
    check_outcome("{\"k\":", c, "}", JSON_IS_OBJECT);
    check_outcome("{ \"j\" : 1 , \"k\" : ", c, " , \"l\" : 2 } \n", JSON_IS_OBJECT);
    check_outcome("[", c, "]", JSON_IS_OTHER);
    check_outcome("{\"k\":[", c, "]}", JSON_IS_OBJECT);
    check_outcome("{\"k\":{\"j\": ", c, " }}", JSON_IS_OBJECT);
}
END_TEST

START_TEST(bad_values_are_refused_everywhere)
{
    const struct json_case *c = &bad_values[_i];
    check_outcome("", c, "", JSON_NOT_JSON);
    check_outcome(" ", c, " ", JSON_NOT_JSON);
    check_outcome("{\"k\":", c, "}", JSON_NOT_JSON);
    check_outcome("{\"j\":1,\"k\": ", c, " ,\"l\":2}", JSON_NOT_JSON);
    check_outcome("{\"k\":{\"j\":", c, "}}", JSON_NOT_JSON);
    check_outcome("{\"k\":[[", c, "]]}", JSON_NOT_JSON);
    check_outcome("[{\"j\":", c, "}]", JSON_NOT_JSON);
}
END_TEST

Suite *
suite_json_values(void)
{
    Suite *suite = suite_create("json values");
    TCase *values = tcase_create("json values");
    tcase_add_loop_test(values, good_values_are_taken_everywhere, 0,
                        (int)COUNT_OF(good_values));
    tcase_add_loop_test(values, bad_values_are_refused_everywhere, 0,
                        (int)COUNT_OF(bad_values));
    suite_add_tcase(suite, values);
    return suite;
}
