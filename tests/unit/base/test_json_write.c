/* Tests of base/json: the writer. */
#include "base/json.h"

#include "suites.h"

START_TEST(commas_and_quotes_fall_into_place)
{
    struct bytes b = {0};
    struct json_writer w;
    json_write_begin(&w, &b);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "u", UINT64_MAX);
    json_put_i64(&w, "i", INT64_MIN);
    json_put_bool(&w, "t", true);
    json_array_begin(&w, "list");
    json_array_end(&w);
    json_array_begin(&w, "deep");
    json_object_begin(&w, NULL);
    json_object_end(&w);
    json_object_begin(&w, NULL);
    json_put_string(&w, "s", "x");
    json_object_end(&w);
    json_put_i64(&w, NULL, 0);
    json_put_bool(&w, NULL, false);
    json_array_end(&w);
    json_put_raw(&w, "raw", LITERAL("1.50"));
    json_object_end(&w);
    ck_assert_slice_eq(bytes_slice(&b),
                       LITERAL("{\"u\":18446744073709551615,\"i\":-9223372036854775808,"
                               "\"t\":true,\"list\":[],\"deep\":[{},{\"s\":\"x\"},0,"
                               "false],\"raw\":1.50}"));
    bytes_fini(&b);
}
END_TEST

START_TEST(keys_and_texts_are_escaped)
{
    struct bytes b = {0};
    struct json_writer w;
    json_write_begin(&w, &b);
    json_object_begin(&w, NULL);
    json_put_string(&w, "a\"b", "c\\d\n");
    json_put_text(&w, "nul", LITERAL("x\0y"));
    json_object_end(&w);
    ck_assert_slice_eq(bytes_slice(&b),
                       LITERAL("{\"a\\\"b\":\"c\\\\d\\n\",\"nul\":\"x\\u0000y\"}"));
    static struct json_object o;
    json_object_init(&o);
    ck_assert_int_eq(json_parse(&o, bytes_slice(&b)), JSON_IS_OBJECT);
    ck_assert_ptr_nonnull(json_find(&o, "a\"b"));
    json_object_fini(&o);
    bytes_fini(&b);
}
END_TEST

START_TEST(writing_appends)
{
    struct bytes b = {0};
    struct json_writer w;
    bytes_put_text(&b, "before ");
    json_write_begin(&w, &b);
    json_array_begin(&w, NULL);
    json_put_string(&w, NULL, "");
    json_array_end(&w);
    ck_assert_slice_eq(bytes_slice(&b), LITERAL("before [\"\"]"));
    bytes_fini(&b);
}
END_TEST

Suite *
suite_json_write(void)
{
    const TTest *const tests[] = {
        commas_and_quotes_fall_into_place,
        keys_and_texts_are_escaped,
        writing_appends,
    };
    return suite_of("json write", tests, COUNT_OF(tests));
}
