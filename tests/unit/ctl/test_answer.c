/* Reading what a node answered. */
#include "ctl/answer.h"

#include "suites.h"

START_TEST(elements_of_an_array_come_one_by_one)
{
    static const char *const wanted[] = {"{\"a\":[1,2],\"b\":\"],\\\"}\"}",
                                         "\"x,\\\\\"", "7", "[[]]", "null"};
    struct slice rest =
        slice_from_text("[ {\"a\":[1,2],\"b\":\"],\\\"}\"},\"x,\\\\\", 7,[[]],null]");
    struct slice element;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        ck_assert(answer_next(&rest, &element));
        ck_assert(slice_equal(element, slice_from_text(wanted[i])));
    }
    ck_assert(!answer_next(&rest, &element));
    ck_assert(!answer_next(&rest, &element));
}
END_TEST

START_TEST(an_empty_array_has_none)
{
    static const char *const texts[] = {"[]", "[ ]", ""};
    struct slice element;
    for (size_t i = 0; i < 3; i++) {
        struct slice rest = slice_from_text(texts[i]);
        ck_assert(!answer_next(&rest, &element));
    }
}
END_TEST

START_TEST(members_of_another_kind_are_not_there)
{
    struct json_object o;
    json_object_init(&o);
    ck_assert(json_parse(&o, slice_from_text("{\"n\":7,\"t\":\"x\",\"b\":true,\"a\":[],"
                                             "\"m\":-1,\"f\":1.5}")) == JSON_IS_OBJECT);
    ck_assert_uint_eq(answer_u64(&o, "n"), 7);
    ck_assert_uint_eq(answer_u64(&o, "t"), 0);
    ck_assert_uint_eq(answer_u64(&o, "m"), 0);
    ck_assert_uint_eq(answer_u64(&o, "f"), 0);
    ck_assert_uint_eq(answer_u64(&o, "none"), 0);
    ck_assert(answer_bool(&o, "b") && !answer_bool(&o, "n"));
    ck_assert(slice_equal(answer_text(&o, "t"), slice_from_text("x")));
    ck_assert_uint_eq(answer_text(&o, "n").size, 0);
    ck_assert_uint_eq(answer_array(&o, "a").size, 2);
    ck_assert_uint_eq(answer_array(&o, "t").size, 0);
    json_object_fini(&o);
}
END_TEST

Suite *
answer_suite(void)
{
    Suite *s = suite_create("answer");
    TCase *c = tcase_create("answer");
    tcase_add_test(c, elements_of_an_array_come_one_by_one);
    tcase_add_test(c, an_empty_array_has_none);
    tcase_add_test(c, members_of_another_kind_are_not_there);
    suite_add_tcase(s, c);
    return s;
}
