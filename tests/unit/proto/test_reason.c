/* Tests of proto/reason: texts and their parameters. */
#include "proto/reason.h"

#include "proto/reply.h"
#include "suites.h"

static struct bytes out;

static const char *
reason(struct request *r)
{
    bytes_clear(&out);
    reason_put(r, &out);
    parcel_free(&r->parcel);
    return text_of(&out);
}

static struct request *
failed(enum parcel_kind kind, uint16_t code)
{
    struct request *r = request_new(kind, 1, slice_of(NULL, 0));
    r->reply.code = code;
    return r;
}

START_TEST(every_code_of_the_manual_has_its_text)
{
    static const struct {
        uint16_t from;
        uint16_t to;
    } ranges[] = {{100, 110}, {200, 211}, {300, 306}, {400, 416}, {500, 507}};
    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        for (uint16_t code = ranges[i].from; code <= ranges[i].to; code++) {
            ck_assert(code == 504 || strcmp(reason_text(code), reason_text(504)) != 0);
            (void)reason(failed(PARCEL_REFUSED, code));
            ck_assert_uint_gt(out.size, 5);
        }
    ck_assert_str_eq(reason_text(100), "Invalid json.");
    ck_assert_str_eq(reason_text(304),
                     "Invalid message. Expecting ack or logout or capacity update.");
    ck_assert_str_eq(reason_text(999), "Unknown failure.");
}
END_TEST

START_TEST(a_date_without_data_names_the_first)
{
    static const struct {
        uint64_t secs;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00Z"},          {951782399, "2000-02-28T23:59:59Z"},
        {951782400, "2000-02-29T00:00:00Z"},  {1709251199, "2024-02-29T23:59:59Z"},
        {1794233033, "2026-11-09T14:03:53Z"}, {4107542399, "2100-02-28T23:59:59Z"},
        {4107542400, "2100-03-01T00:00:00Z"}, {253402300799, "9999-12-31T23:59:59Z"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char expected[100];
        struct request *r = failed(PARCEL_ADMIN, 407);
        r->reply.number = cases[i].secs * 1000 + 999;
        snprintf(expected, sizeof(expected), "Invalid date, don't have data before %s.",
                 cases[i].text);
        ck_assert_str_eq(reason(r), expected);
    }
}
END_TEST

START_TEST(a_flag_or_count_says_what_is_wrong_with_it)
{
    struct request *r = failed(PARCEL_ADMIN, 408);
    r->admin->command = ADMIN_GETSTATS;
    ck_assert_str_eq(reason(r), "Invalid average, not specified.");
    r = failed(PARCEL_ADMIN, 408);
    r->admin->command = ADMIN_GETUSAGE;
    r->reply.number = 1;
    ck_assert_str_eq(reason(r), "Invalid totals, must be boolean.");
    ck_assert_str_eq(reason(failed(PARCEL_ADMIN, 412)), "Invalid message count.");
    r = failed(PARCEL_ADMIN, 412);
    r->reply.number = 1;
    ck_assert_str_eq(reason(r),
                     "Count must be a value between 1 and 1600 (both inclusive).");
}
END_TEST

START_TEST(a_setting_is_named_with_its_limits)
{
    struct request *r = failed(PARCEL_ADMIN, 414);
    r->reply.setting = SETTING_MAX_WS_MSG_LEN;
    ck_assert_str_eq(reason(r),
                     "Invalid max-ws-msg-len. Must be between 1024 and 1048576.");
    r = failed(PARCEL_ADMIN, 415);
    r->reply.setting = SETTING_LOG_LEVEL;
    ck_assert_str_eq(reason(r), "Read only parameter log-level specified.");
    r = failed(PARCEL_ADMIN, 415);
    r->reply.setting = SETTING_COUNT;
    ck_assert_str_eq(reason(r), "Read only parameter messages-memory-used specified.");
}
END_TEST

Suite *
suite_reason(void)
{
    const TTest *const tests[] = {
        every_code_of_the_manual_has_its_text,
        a_date_without_data_names_the_first,
        a_flag_or_count_says_what_is_wrong_with_it,
        a_setting_is_named_with_its_limits,
    };
    return suite_of("reason", tests, COUNT_OF(tests));
}
