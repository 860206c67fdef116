/* Tests of proto/request_subscriber: ack, nack, capacity, logout. */
#include "parse.h"

#define ROLE ROLE_SUBSCRIBER
#define TYPE QUEUE_DISTRIBUTE
#define ID   "\"id\":\"01a1c09f-62da-7000-a30b-0817c9a42e3f\""

START_TEST(acks_and_nacks_have_an_id)
{
    struct request *r = parse_text(ROLE, TYPE, "{" ID ",\"ack\":1,\"context\":1}");
    ck_assert_int_eq(r->parcel.kind, PARCEL_SETTLE);
    ck_assert(r->code == 0 && r->settle.has_id && r->settle.is_ack);
    ck_assert_uint_eq(r->settle.id.b[15], 0x3f);
    ck_assert_slice_eq(slice_of(r->context, r->context_size), LITERAL("1"));
    parse_free(r);
    r = parse_text(ROLE, TYPE, "{\"ack\":0," ID "}");
    ck_assert(r->code == 0 && r->settle.has_id && !r->settle.is_ack);
    parse_free(r);
    r = parse_text(ROLE, TYPE, "{" ID ",\"ack\":1.0}");
    ck_assert(r->code == 0 && r->settle.is_ack);
    parse_free(r);
}
END_TEST

START_TEST(an_ack_without_a_good_id_is_left_to_the_broker)
{
    static const char *const texts[] = {
        "{\"ack\":1}",
        "{\"ack\":1,\"id\":null}",
        "{\"ack\":1,\"id\":5}",
        "{\"ack\":1,\"id\":\"\"}",
        "{\"ack\":1,\"id\":\"nonsense\"}",
        "{\"ack\":1,\"id\":\"01a1c09f-62da-7000-a30b-0817c9a42e3f0\"}",
        "{\"ack\":1,\"id\":\"01a1c09f-62da-7000-a30b-0817c9a42e3\"}",
        "{\"ack\":1,\"id\":\"01a1c09f-62da-7000-a30b-0817c9a42e3g\"}",
        "{\"ack\":1,\"id\":[\"01a1c09f-62da-7000-a30b-0817c9a42e3f\"]}",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct request *r = parse_text(ROLE, TYPE, texts[i]);
        ck_assert_int_eq(r->parcel.kind, PARCEL_SETTLE);
        ck_assert(r->code == 0 && !r->settle.has_id);
        parse_free(r);
    }
}
END_TEST

START_TEST(other_acks_are_302)
{
    static const char *const bad[] = {"2",    "-1",  "0.5", "\"1\"", "true",
                                      "null", "[1]", "{}",  "\"\"",  "1e99"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct request *r = parse_text(ROLE, TYPE, fill("{" ID ",\"ack\":%s}", bad[i]));
        ck_assert_int_eq(r->parcel.kind, PARCEL_SETTLE);
        ck_assert(r->code == 302 && r->settle.has_id && !r->ends);
        parse_free(r);
    }
}
END_TEST

START_TEST(capacities_are_from_1_to_1024)
{
    static const char *const bad[] = {"0",     "-1",   "1025", "1.5",
                                      "\"2\"", "null", "true", "[2]"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(parse_code(ROLE, TYPE, fill("{\"capacity\":%s}", bad[i])),
                         "300");
    struct request *r = parse_text(ROLE, TYPE, "{\"capacity\":1024}");
    ck_assert_int_eq(r->parcel.kind, PARCEL_CAPACITY);
    ck_assert(r->code == 0 && r->capacity == 1024);
    parse_free(r);
    r = parse_text(ROLE, TYPE, "{\"capacity\":1}");
    ck_assert(r->code == 0 && r->capacity == 1);
    parse_free(r);
}
END_TEST

START_TEST(a_logout_is_true)
{
    static const char *const bad[] = {"false", "1", "0", "\"true\"", "null", "{}"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        ck_assert_str_eq(parse_code(ROLE, TYPE, fill("{\"logout\":%s}", bad[i])),
                         "303");
    struct request *r = parse_text(ROLE, TYPE, "{\"logout\":true,\"context\":4}");
    ck_assert_int_eq(r->parcel.kind, PARCEL_LOGOUT);
    ck_assert(r->code == 0 && !r->ends && r->context_size == 1);
    parse_free(r);
}
END_TEST

START_TEST(the_first_of_logout_ack_and_capacity_counts)
{
    static const struct {
        const char *text;
        enum parcel_kind kind;
        uint16_t code;
    } cases[] = {
        {"{\"capacity\":2,\"ack\":1," ID ",\"logout\":true}", PARCEL_LOGOUT, 0},
        {"{\"capacity\":2,\"ack\":1," ID ",\"logout\":1}", PARCEL_LOGOUT, 303},
        {"{\"capacity\":2," ID ",\"ack\":1}", PARCEL_SETTLE, 0},
        {"{\"capacity\":0," ID ",\"ack\":1}", PARCEL_SETTLE, 0},
        {"{\"capacity\":2," ID ",\"ack\":7}", PARCEL_SETTLE, 302},
        {"{\"capacity\":2," ID "}", PARCEL_CAPACITY, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct request *r = parse_text(ROLE, TYPE, cases[i].text);
        ck_assert_int_eq(r->parcel.kind, cases[i].kind);
        ck_assert_uint_eq(r->code, cases[i].code);
        parse_free(r);
    }
}
END_TEST

START_TEST(everything_else_is_304_and_the_connection_stays)
{
    static const struct code_case cases[] = {
        {"{}", "304"},
        {"{\"hello\":1}", "304"},
        {"{" ID "}", "304"},
        {"{\"body\":\"x\"}", "304"},
        {"[]", "304"},
        {"42", "304"},
        {"\"x\"", "304"},
        {"null", "304"},
        {"true", "304"},
        {"{\"context\":true}", "101"},
        {"{\"ack\":9,\"context\":{}}", "101"},
    };
    CHECK_CODES(cases, ROLE, TYPE);
}
END_TEST

START_TEST(what_is_not_json_is_100_and_ends)
{
    static const char *const texts[] = {
        "Hello", "", "{\"id\":", "{'a':1}", "{\"a\":1,\"a\":1}", "{} x", "01"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        ck_assert_str_eq(parse_code(ROLE, TYPE, texts[i]), "100 ends");
        ck_assert_str_eq(parse_code(ROLE, QUEUE_COPY, texts[i]), "100 ends");
    }
    for (int type = 0; type < 2; type++) {
        struct request *r = parse_bytes(ROLE, (enum queue_type)type, false,
                                        LITERAL("{\"capacity\":1}"));
        ck_assert_int_eq(r->parcel.kind, PARCEL_REFUSED);
        ck_assert(r->code == 100 && r->ends);
        parse_free(r);
    }
}
END_TEST

START_TEST(a_copy_subscriber_may_send_nothing)
{
    static const struct code_case cases[] = {
        {"{" ID ",\"ack\":1}", "306"},
        {"{\"capacity\":3}", "306"},
        {"{\"logout\":true}", "306"},
        {"{}", "306"},
        {"[]", "306"},
        {"5", "306"},
        {"\"x\"", "306"},
        {"{\"context\":null}", "101"},
    };
    CHECK_CODES(cases, ROLE, QUEUE_COPY);
    struct request *r = parse_text(ROLE, QUEUE_COPY, "{\"context\":\"a\"}");
    ck_assert_int_eq(r->parcel.kind, PARCEL_REFUSED);
    ck_assert_slice_eq(slice_of(r->context, r->context_size), LITERAL("\"a\""));
    parse_free(r);
}
END_TEST

Suite *
suite_request_subscriber(void)
{
    const TTest *const tests[] = {
        acks_and_nacks_have_an_id,
        an_ack_without_a_good_id_is_left_to_the_broker,
        other_acks_are_302,
        capacities_are_from_1_to_1024,
        a_logout_is_true,
        the_first_of_logout_ack_and_capacity_counts,
        everything_else_is_304_and_the_connection_stays,
        what_is_not_json_is_100_and_ends,
        a_copy_subscriber_may_send_nothing,
    };
    return suite_of("request_subscriber", tests, COUNT_OF(tests));
}
