/* Tests of base/json: the table of members, keys, depth. Which texts are JSON at all is
 * in test_json_values.c and test_json_differential.c. */
#include "base/json.h"

#include "base/mem.h"
#include "suites.h"

#include <stdlib.h>

static enum json_outcome
outcome_of(struct json_object *o, struct slice text)
{
    return json_parse(o, text);
}

START_TEST(texts_that_hold_no_value_are_refused)
{
    static struct json_object o;
    json_object_init(&o);
    ck_assert_int_eq(outcome_of(&o, LITERAL("")), JSON_NOT_JSON);
    ck_assert_int_eq(outcome_of(&o, slice_of(NULL, 0)), JSON_NOT_JSON);
    ck_assert_int_eq(outcome_of(&o, LITERAL(" \n")), JSON_NOT_JSON);
    ck_assert_int_eq(outcome_of(&o, LITERAL("\xef\xbb\xbf{}")), JSON_NOT_JSON);
    ck_assert_int_eq(outcome_of(&o, LITERAL("{}\0")), JSON_NOT_JSON);
    ck_assert_int_eq(outcome_of(&o, LITERAL("{}\v")), JSON_NOT_JSON);
    json_object_fini(&o);
}
END_TEST

static void
check_member(const struct json_object *o,
             const char *key,
             enum json_type type,
             const char *value)
{
    const struct json_member *m = json_find(o, key);
    ck_assert_msg(m != NULL, "no %s", key);
    ck_assert_int_eq(m->type, type);
    ck_assert_slice_eq(m->value, slice_from_text(value));
}

START_TEST(members_are_given_as_they_were_written)
{
    static struct json_object o;
    json_object_init(&o);
    ck_assert_int_eq(
        outcome_of(&o,
                   LITERAL(" { \"body\" : \"a\\n\\u0041\" ,\"n\":1.50E+2,\"t\":true,"
                           "\"f\":false,\"z\":null,\"o\":{\"a\": [1 ]},\"a\":[ ],"
                           "\"\":\"\"}\r\n")),
        JSON_IS_OBJECT);
    ck_assert_uint_eq(o.count, 8);
    check_member(&o, "body", JSON_STRING, "a\\n\\u0041");
    check_member(&o, "n", JSON_NUMBER, "1.50E+2");
    check_member(&o, "t", JSON_TRUE, "true");
    check_member(&o, "f", JSON_FALSE, "false");
    check_member(&o, "z", JSON_NULL, "null");
    check_member(&o, "o", JSON_OBJECT, "{\"a\": [1 ]}");
    check_member(&o, "a", JSON_ARRAY, "[ ]");
    check_member(&o, "", JSON_STRING, "");
    ck_assert_ptr_null(json_find(&o, "bod"));
    ck_assert_ptr_null(json_find(&o, "body "));
    ck_assert_slice_eq(o.members[1].key, LITERAL("n")); /* in their order */
    json_object_fini(&o);
}
END_TEST

START_TEST(keys_are_unescaped)
{
    static struct json_object o;
    json_object_init(&o);
    /* Long ones too, so that the keys' memory moves in between. */
    struct bytes b = {0};
    bytes_put_text(&b, "{\"\\u0062ody\":1,\"x\":2");
    for (int i = 0; i < 40; i++)
        bytes_printf(&b, ",\"\\u006b%0100d\":%d", i, i);
    bytes_put_text(&b, ",\"a\\u0000\\n\":3}");
    ck_assert_int_eq(outcome_of(&o, bytes_slice(&b)), JSON_IS_OBJECT);
    check_member(&o, "body", JSON_NUMBER, "1");
    check_member(&o, "x", JSON_NUMBER, "2");
    for (int i = 0; i < 40; i++) {
        char key[128], value[16];
        (void)snprintf(key, sizeof(key), "k%0100d", i);
        (void)snprintf(value, sizeof(value), "%d", i);
        check_member(&o, key, JSON_NUMBER, value);
    }
    ck_assert_slice_eq(o.members[42].key, LITERAL("a\0\n"));
    ck_assert_ptr_null(json_find(&o, "a"));
    bytes_fini(&b);
    json_object_fini(&o);
}
END_TEST

START_TEST(a_key_may_stand_once)
{
    static const char *const twice[] = {
        "{\"a\":1,\"a\":1}",
        "{\"a\":1,\"b\":2,\"\\u0061\":3}",
        "{\"\\u0061\":1,\"b\":2,\"a\":3}",
        "{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}",
        "{\"\":1,\"\":2}",
        "{\"\\ud800\":1,\"\\uD800\":2}",
        "{\"\\/\":1,\"/\":2}",
    };
    static const char *const once[] = {
        "{\"a\":1,\"A\":1}",
        "{\"a\":1,\"a\\u0000\":1}",
        "{\"\\ud800\":1,\"\\ud801\":2}",
        "{\"a\":{\"b\":1,\"b\":2},\"b\":[{\"c\":1,\"c\":1}]}",
    };
    static struct json_object o;
    json_object_init(&o);
    for (size_t i = 0; i < COUNT_OF(twice); i++) {
        ck_assert_int_eq(outcome_of(&o, slice_from_text(twice[i])), JSON_DUPLICATE);
        ck_assert_uint_eq(o.count, 0);
    }
    for (size_t i = 0; i < COUNT_OF(once); i++)
        ck_assert_int_eq(outcome_of(&o, slice_from_text(once[i])), JSON_IS_OBJECT);
    ck_assert_int_eq(outcome_of(&o, LITERAL("{\"a\":1,\"a\":1")), JSON_NOT_JSON);
    json_object_fini(&o);
}
END_TEST

/* {"k":[[...]]} of so many levels, or only the beginning of it. */
static void
put_nested(struct bytes *b, size_t levels, bool is_closed)
{
    bytes_put_text(b, "{\"k\":");
    memset(bytes_extend(b, levels - 1), '[', levels - 1);
    if (is_closed) {
        memset(bytes_extend(b, levels - 1), ']', levels - 1);
        bytes_put_text(b, "}");
    }
}

static enum json_outcome
outcome_nested(size_t levels, bool is_closed)
{
    static struct json_object o;
    struct bytes b = {0};
    json_object_init(&o);
    put_nested(&b, levels, is_closed);
    enum json_outcome outcome = json_parse(&o, bytes_slice(&b));
    bytes_fini(&b);
    json_object_fini(&o);
    return outcome;
}

START_TEST(depth_has_a_limit)
{
    ck_assert_int_eq(outcome_nested(JSON_DEPTH_MAX, true), JSON_IS_OBJECT);
    ck_assert_int_eq(outcome_nested(JSON_DEPTH_MAX + 1, true), JSON_TOO_DEEP);
    ck_assert_int_eq(outcome_nested(1000000, true), JSON_TOO_DEEP);
    ck_assert_int_eq(outcome_nested(1000000, false), JSON_NOT_JSON);
    ck_assert_int_eq(outcome_nested(JSON_DEPTH_MAX + 1, false), JSON_NOT_JSON);
}
END_TEST

START_TEST(depth_does_not_matter_where_there_is_no_object)
{
    static struct json_object o;
    struct bytes b = {0};
    json_object_init(&o);
    memset(bytes_extend(&b, 100), '[', 100);
    ck_assert_int_eq(json_parse(&o, bytes_slice(&b)), JSON_NOT_JSON);
    memset(bytes_extend(&b, 100), ']', 100);
    ck_assert_int_eq(json_parse(&o, bytes_slice(&b)), JSON_IS_OTHER);
    bytes_fini(&b);
    json_object_fini(&o);
}
END_TEST

START_TEST(members_have_a_limit)
{
    static struct json_object o;
    json_object_init(&o);
    for (int count = JSON_MEMBERS_MAX - 1; count <= JSON_MEMBERS_MAX + 2; count++) {
        struct bytes b = {0};
        for (int i = 0; i < count; i++)
            bytes_printf(&b, "%s\"\\u006b%d\":%d", i == 0 ? "{" : ",", i, i);
        ck_assert_int_eq(json_parse(&o, bytes_slice(&b)), JSON_NOT_JSON);
        bytes_put_text(&b, "}");
        bool is_kept = count <= JSON_MEMBERS_MAX;
        ck_assert_int_eq(json_parse(&o, bytes_slice(&b)),
                         is_kept ? JSON_IS_OBJECT : JSON_TOO_DEEP);
        ck_assert_uint_eq(o.count, is_kept ? (size_t)count : 0);
        if (is_kept)
            check_member(&o, "k62", JSON_NUMBER, "62");
        bytes_fini(&b);
    }
    json_object_fini(&o);
}
END_TEST

START_TEST(a_table_is_reused_and_gives_memory_back)
{
    static struct json_object o;
    struct bytes b = {0};
    json_object_init(&o);
    bytes_put_text(&b, "{\"\\n");
    memset(bytes_extend(&b, 100000), 'x', 100000);
    bytes_put_text(&b, "\":1}");
    ck_assert_int_eq(json_parse(&o, bytes_slice(&b)), JSON_IS_OBJECT);
    ck_assert_uint_eq(o.members[0].key.size, 100001);
    ck_assert_int_eq(json_parse(&o, LITERAL("{}")), JSON_IS_OBJECT);
    ck_assert_uint_eq(o.count, 0);
    ck_assert_uint_lt(o.keys.capacity, 10000);
    ck_assert_ptr_null(json_find(&o, "x"));
    bytes_fini(&b);
    json_object_fini(&o);
}
END_TEST

START_TEST(parsing_needs_no_allocation_that_may_fail)
{
    static struct json_object o;
    json_object_init(&o);
    for (uint64_t nth = 1; nth < 5; nth++) {
        (void)mem_fail_at(nth);
        ck_assert_int_eq(
            outcome_of(&o, LITERAL("{\"\\n\":[{\"a\":[\"\\u0041\"]}],\"b\":1}")),
            JSON_IS_OBJECT);
        ck_assert_uint_eq(mem_fail_at(0), 0);
    }
    json_object_fini(&o);
}
END_TEST

Suite *
suite_json(void)
{
    const TTest *const tests[] = {
        texts_that_hold_no_value_are_refused,
        members_are_given_as_they_were_written,
        keys_are_unescaped,
        a_key_may_stand_once,
        depth_has_a_limit,
        depth_does_not_matter_where_there_is_no_object,
        members_have_a_limit,
        a_table_is_reused_and_gives_memory_back,
        parsing_needs_no_allocation_that_may_fail,
    };
    return suite_of("json", tests, COUNT_OF(tests));
}
