/* Tests of proto/request_login: the first message of a connection. */
#include "parse.h"

#define NAME "\"username\":\"u\",\"password\":\"p\""
#define PUB  "{" NAME ",\"role\":\"publisher\",\"queuetype\":\"distribute\"%s}"
#define SUB  "{" NAME ",\"role\":\"subscriber\",\"queuetype\":\"distribute\"%s}"
#define ADM  "{" NAME ",\"role\":\"admin\",\"queuetype\":\"distribute\"%s}"
#define ID   "01a1c09f-64be-7000-99d3-a74b8cef2465"

static const char *
code_of(const char *format, const char *more)
{
    return parse_login_code(fill(format, more));
}

START_TEST(a_login_has_its_fields)
{
    struct request *r = parse_login(
        "{\"username\":\"n\\u00e4me\",\"password\":\"p\\\"w\","
        "\"role\":\"sub\\u0073criber\",\"queuetype\":\"distribute\",\"capacity\":10,"
        "\"sessionid\":\"01A1C09F-64be-7000-99d3-a74b8cef2465\",\"replay\":true,"
        "\"context\":\"c\"}");
    const struct login_fields *f = r->login;
    ck_assert_uint_eq(r->code, 0);
    ck_assert(!r->ends);
    ck_assert_slice_eq(slice_of(f->username, f->username_size), LITERAL("n\xc3\xa4me"));
    ck_assert_slice_eq(slice_of(f->password, f->password_size), LITERAL("p\"w"));
    ck_assert(f->role == ROLE_SUBSCRIBER && f->type == QUEUE_DISTRIBUTE);
    ck_assert(f->has_capacity && f->capacity == 10);
    ck_assert(f->has_session && f->has_session_id && f->replay);
    ck_assert_uint_eq(f->session.b[0], 0x01);
    ck_assert_uint_eq(f->session.b[15], 0x65);
    ck_assert_slice_eq(slice_of(r->context, r->context_size), LITERAL("\"c\""));
    parse_free(r);
}
END_TEST

START_TEST(what_is_no_json_object_is_100)
{
    static const char *const texts[] = {
        "Hello",
        "",
        "{",
        "{\"username\":",
        "{'username':'a'}",
        "[]",
        "\"x\"",
        "null",
        "{" NAME ",\"role\":\"publisher\",\"queuetype\":\"distribute\"}x",
        "{" NAME ",\"role\":\"publisher\",\"queuetype\":\"distribute\"",
        "{" NAME "," NAME ",\"role\":\"publisher\",\"queuetype\":\"distribute\"}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        ck_assert_str_eq(parse_login_code(texts[i]), "100 ends");
    char *deep = repeat("[", 40);
    char *ends = repeat("]", 40);
    struct bytes text = {NULL, 0, 0};
    bytes_printf(&text, ",\"x\":%s%s", deep, ends);
    ck_assert_str_eq(code_of(PUB, text_of(&text)), "100 ends");
    bytes_fini(&text);
    mem_free(deep);
    mem_free(ends);
}
END_TEST

START_TEST(a_binary_login_is_102)
{
    struct request_parser *p = request_parser_new();
    struct request *r = request_parse_login(p, 1, 2, false, LITERAL("{}"));
    ck_assert_int_eq(r->parcel.kind, PARCEL_LOGIN);
    ck_assert(r->code == 102 && r->ends);
    parse_free(r);
    request_parser_free(p);
}
END_TEST

START_TEST(names_and_passwords_are_texts_of_1_to_128_bytes)
{
    static const char *const bad[] = {"7",         "null", "true",       "[\"a\"]",
                                      "{\"a\":1}", "\"\"", "\"\\udfff\""};
    static const char *const user =
        "{\"username\":%s,\"password\":\"p\",\"role\":\"admin\","
        "\"queuetype\":\"distribute\"}";
    static const char *const password =
        "{\"username\":\"u\",\"password\":%s,\"role\":\"admin\","
        "\"queuetype\":\"distribute\"}";
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ck_assert_str_eq(code_of(user, bad[i]), "103 ends");
        ck_assert_str_eq(code_of(password, bad[i]), "104 ends");
    }
    ck_assert_str_eq(parse_login_code("{\"password\":\"p\"}"), "103 ends");
    ck_assert_str_eq(parse_login_code("{\"username\":\"u\"}"), "104 ends");
    static const char *const units[] = {"x", "\\u0041", "\\/"};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        char *text = repeat(units[i], 128);
        ck_assert_str_eq(code_of(user, fill("\"%s\"", text)), "0");
        ck_assert_str_eq(code_of(password, fill("\"%s\"", text)), "0");
        ck_assert_str_eq(code_of(user, fill("\"%sx\"", text)), "103 ends");
        ck_assert_str_eq(code_of(password, fill("\"%sx\"", text)), "104 ends");
        mem_free(text);
    }
    char *text = repeat("\xc3\xa9", 64);
    ck_assert_str_eq(code_of(user, fill("\"%s\"", text)), "0");
    ck_assert_str_eq(code_of(user, fill("\"%sx\"", text)), "103 ends");
    mem_free(text);
}
END_TEST

START_TEST(roles_and_queue_types_are_these)
{
    static const char *const roles[] = {"\"root\"",
                                        "\"\"",
                                        "\"Publisher\"",
                                        "\"administrator\"",
                                        "1",
                                        "null",
                                        "true",
                                        "[\"publisher\"]",
                                        "\"publisher \"",
                                        "\"publisher\\u0000\""};
    static const char *const types[] = {
        "\"fifo\"", "\"\"", "\"Distribute\"", "\"copies\"", "1", "null", "true"};
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        ck_assert_str_eq(
            code_of("{" NAME ",\"role\":%s,\"queuetype\":\"distribute\"}", roles[i]),
            "105 ends");
    for (size_t i = 0; i < COUNT_OF(types); i++)
        ck_assert_str_eq(
            code_of("{" NAME ",\"role\":\"publisher\",\"queuetype\":%s}", types[i]),
            "106 ends");
    ck_assert_str_eq(parse_login_code("{" NAME ",\"queuetype\":\"copy\"}"), "105 ends");
    ck_assert_str_eq(parse_login_code("{" NAME ",\"role\":\"admin\"}"), "106 ends");
    ck_assert_str_eq(parse_login_code("{" NAME "}"), "105 ends");
}
END_TEST

START_TEST(an_administrator_of_a_copy_queue_is_108)
{
    ck_assert_str_eq(
        parse_login_code("{" NAME ",\"role\":\"admin\",\"queuetype\":\"copy\"}"),
        "108 ends");
    ck_assert_str_eq(code_of(ADM, ""), "0");
}
END_TEST

START_TEST(a_subscriber_needs_a_capacity_or_a_session)
{
    static const char *const bad[] = {"0",      "-1",   "1025", "1.5",
                                      "\"10\"", "null", "true", "[1]"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        ck_assert_str_eq(code_of(SUB, fill(",\"capacity\":%s", bad[i])), "300 ends");
        ck_assert_str_eq(
            code_of(SUB, fill(",\"capacity\":%s,\"sessionid\":\"" ID "\"", bad[i])),
            "300 ends");
    }
    ck_assert_str_eq(code_of(SUB, ""), "300 ends");
    ck_assert_str_eq(code_of(SUB, ",\"capacity\":1"), "0");
    ck_assert_str_eq(code_of(SUB, ",\"capacity\":1024"), "0");
    ck_assert_str_eq(code_of(SUB, ",\"capacity\":1.0e1"), "0");
    ck_assert_str_eq(code_of(SUB, ",\"sessionid\":\"" ID "\""), "0");
}
END_TEST

START_TEST(a_session_id_that_is_none_is_left_to_the_broker)
{
    static const char *const bad[] = {"\"nonsense\"", "5",    "true", "{\"a\":1}",
                                      "null",         "\"\"", "[]",   "\"" ID "0\""};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct request *r =
            parse_login(fill(SUB, fill(",\"sessionid\":%s,\"replay\":true", bad[i])));
        ck_assert_uint_eq(r->code, 0);
        ck_assert(r->login->has_session && !r->login->has_session_id);
        parse_free(r);
    }
}
END_TEST

START_TEST(replay_is_a_boolean)
{
    static const char *const bad[] = {"\"yes\"", "1", "0", "null", "\"true\"", "[]"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(
            code_of(SUB, fill(",\"sessionid\":\"" ID "\",\"replay\":%s", bad[i])),
            "110 ends");
    ck_assert_str_eq(code_of(SUB, ",\"replay\":1"), "110 ends");
    struct request *r = parse_login(fill(SUB, ",\"capacity\":1,\"replay\":false"));
    ck_assert(r->code == 0 && !r->login->replay);
    parse_free(r);
}
END_TEST

START_TEST(what_a_role_does_not_have_is_ignored)
{
    static const char *const more = ",\"capacity\":\"x\",\"sessionid\":5,\"replay\":7";
    ck_assert_str_eq(code_of(PUB, more), "0");
    ck_assert_str_eq(code_of(ADM, more), "0");
    ck_assert_str_eq(
        code_of("{" NAME ",\"role\":\"subscriber\",\"queuetype\":\"copy\"%s}", more),
        "0");
    ck_assert_str_eq(code_of(ADM, ",\"body\":5"), "0");
    ck_assert_str_eq(code_of(SUB, ",\"capacity\":1,\"body\":5"), "0");
    ck_assert_str_eq(code_of(PUB, ",\"delay\":-1,\"type\":9"), "0");
}
END_TEST

START_TEST(a_publisher_can_publish_in_its_login)
{
    struct request *r = parse_login(
        fill(PUB, ",\"body\":\"AA==\",\"type\":2,\"delay\":100,\"durability\":2,"
                  "\"publisherkey\":\"in:login\",\"context\":12"));
    const struct publish_fields *f = &r->login->publish;
    ck_assert_uint_eq(r->code, 0);
    ck_assert_slice_eq(slice_of(f->body->data, f->body->size), LITERAL("AA==in:login"));
    ck_assert(f->key_size == 8 && f->type == 2 && f->durability == 2 &&
              f->delay_secs == 100);
    parse_free(r);
    r = parse_login(fill(PUB, ""));
    ck_assert_ptr_null(r->login->publish.body);
    parse_free(r);
    static const struct code_case cases[] = {
        {",\"body\":5", "200 ends"},
        {",\"body\":null", "200 ends"},
        {",\"body\":\"x\",\"type\":3", "201 ends"},
        {",\"body\":\"!\",\"type\":2", "202 ends"},
        {",\"body\":\"x\",\"delay\":-1", "203 ends"},
        {",\"body\":\"x\",\"durability\":7", "204 ends"},
        {",\"body\":\"x\",\"publisherkey\":\"a b\"", "205 ends"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        ck_assert_str_eq(code_of(PUB, cases[i].text), cases[i].code);
    ck_assert_str_eq(code_of("{" NAME
                             ",\"role\":\"publisher\",\"queuetype\":\"copy\"%s}",
                             ",\"body\":\"x\",\"delay\":1"),
                     "207 ends");
}
END_TEST

START_TEST(of_several_bad_fields_the_lowest_code_counts)
{
    ck_assert_str_eq(parse_login_code("{}"), "103 ends");
    ck_assert_str_eq(parse_login_code("{\"context\":null}"), "101 ends");
    ck_assert_str_eq(code_of(SUB, ",\"capacity\":0,\"replay\":1"), "110 ends");
    ck_assert_str_eq(code_of(SUB, ",\"capacity\":0,\"context\":[]"), "101 ends");
    ck_assert_str_eq(parse_login_code("{\"username\":\"\",\"password\":5,\"role\":1}"),
                     "103 ends");
    ck_assert_str_eq(parse_login_code("{\"username\":\"u\",\"password\":5,\"role\":1}"),
                     "104 ends");
}
END_TEST

Suite *
suite_request_login(void)
{
    const TTest *const tests[] = {
        a_login_has_its_fields,
        what_is_no_json_object_is_100,
        a_binary_login_is_102,
        names_and_passwords_are_texts_of_1_to_128_bytes,
        roles_and_queue_types_are_these,
        an_administrator_of_a_copy_queue_is_108,
        a_subscriber_needs_a_capacity_or_a_session,
        a_session_id_that_is_none_is_left_to_the_broker,
        replay_is_a_boolean,
        what_a_role_does_not_have_is_ignored,
        a_publisher_can_publish_in_its_login,
        of_several_bad_fields_the_lowest_code_counts,
    };
    return suite_of("request_login", tests, COUNT_OF(tests));
}
