/* Tests of proto/request without memory: whichever allocation fails, the answer is NULL
 * and nothing leaks (the address sanitizer looks). */
#include "suites.h"

static const struct {
    enum login_role role;
    bool is_login;
    bool is_text;
    const char *text;
} cases[] = {
    {ROLE_PUBLISHER, false, true, "{\"body\":\"hello\",\"publisherkey\":\"k\"}"},
    {ROLE_PUBLISHER, false, true, "{\"body\":\"aGVs\\/A==\",\"type\":2,\"context\":1}"},
    {ROLE_PUBLISHER, false, true, "{\"body\":5}"},
    {ROLE_PUBLISHER, false, true, "{\"body\":1,\"body\":1}"},
    {ROLE_PUBLISHER, false, true, "plain"},
    {ROLE_PUBLISHER, false, true, "plain\nwith \"escapes\""},
    {ROLE_PUBLISHER, false, false, "binary"},
    {ROLE_SUBSCRIBER, false, true, "{\"ack\":1}"},
    {ROLE_SUBSCRIBER, false, true, "{\"capacity\":1}"},
    {ROLE_SUBSCRIBER, false, true, "{\"logout\":true}"},
    {ROLE_SUBSCRIBER, false, true, "{}"},
    {ROLE_SUBSCRIBER, false, true, "x"},
    {ROLE_ADMIN, false, true, "{\"cmd\":\"addmsg\",\"body\":\"x\"}"},
    {ROLE_ADMIN, false, true, "{\"cmd\":\"getcfg\",\"context\":\"c\"}"},
    {ROLE_ADMIN, false, true, "{\"cmd\":\"x\"}"},
    {ROLE_ADMIN, true, true, "{}"},
    {ROLE_ADMIN, true, true, "x"},
    {ROLE_ADMIN, true, true,
     "{\"username\":\"u\",\"password\":\"p\",\"role\":\"publisher\","
     "\"queuetype\":\"copy\",\"body\":\"x\"}"},
};

static struct request *
parse_case(size_t i)
{
    struct request_parser *p = request_parser_new();
    struct speaker speaker = {.conn = 1, .role = cases[i].role};
    struct slice text = slice_from_text(cases[i].text);
    struct request *r = cases[i].is_login
                            ? request_parse_login(p, 1, 1, cases[i].is_text, text)
                            : request_parse(p, &speaker, cases[i].is_text, text);
    request_parser_free(p);
    return r;
}

START_TEST(every_failed_allocation_gives_null)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bool has_failed = true;
        for (uint64_t nth = 1; has_failed; nth++) {
            mem_fail_at(nth);
            struct request *r = parse_case(i);
            has_failed = mem_fail_at(0) >= nth;
            ck_assert_msg((r == NULL) == has_failed, "%s, allocation %llu",
                          cases[i].text, (unsigned long long)nth);
            if (r != NULL)
                parcel_free(&r->parcel);
            ck_assert_uint_lt(nth, 20);
        }
    }
}
END_TEST

Suite *
suite_request_memory(void)
{
    const TTest *const tests[] = {every_failed_allocation_gives_null};
    return suite_of("request_memory", tests, COUNT_OF(tests));
}
