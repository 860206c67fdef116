/* The one rule of exit codes: the kind of a failure, not the command, says which. */
#include "ctl/failure.h"

#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int value;
    enum ctl_exit exit;
} FILES[] = {{ENOENT, CTL_NOT_FOUND}, {ENOTDIR, CTL_NOT_FOUND}, {EACCES, CTL_DENIED},
             {EPERM, CTL_DENIED},     {EEXIST, CTL_EXISTS},     {ENOSPC, CTL_FAILED},
             {EISDIR, CTL_FAILED},    {EIO, CTL_FAILED}},
  REPLIES[] = {{0, CTL_DONE},        {100, CTL_REFUSED}, {102, CTL_REFUSED},
               {103, CTL_DENIED},    {107, CTL_DENIED},  {108, CTL_REFUSED},
               {210, CTL_REFUSED},   {300, CTL_REFUSED}, {301, CTL_NOT_FOUND},
               {302, CTL_REFUSED},   {414, CTL_REFUSED}, {415, CTL_REFUSED},
               {416, CTL_NOT_FOUND}, {419, CTL_REFUSED}, {502, CTL_REFUSED}},
  CLOSES[] = {{1000, CTL_UNREACHABLE}, {1002, CTL_REFUSED}, {1005, CTL_UNREACHABLE},
              {1006, CTL_UNREACHABLE}, {1007, CTL_REFUSED}, {1008, CTL_REFUSED},
              {1009, CTL_REFUSED},     {1011, CTL_REFUSED}, {1012, CTL_UNREACHABLE},
              {4000, CTL_UNREACHABLE}},
  CONNECTS[] = {{ST_OK, CTL_DONE},
                {ST_INVALID, CTL_USAGE},
                {ST_CORRUPT, CTL_FAILED},
                {ST_NOTLEADER, CTL_NO_LEADER},
                {ST_DENIED, CTL_REFUSED},
                {ST_TIMEOUT, CTL_TIMEOUT},
                {ST_CLOSED, CTL_UNREACHABLE},
                {ST_NOMEM, CTL_UNREACHABLE}};

START_TEST(the_kind_of_a_failure_says_the_exit_code)
{
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        ck_assert_int_eq(failure_of_errno(FILES[i].value), FILES[i].exit);
    for (size_t i = 0; i < sizeof REPLIES / sizeof REPLIES[0]; i++)
        ck_assert_int_eq(failure_of_reply((uint16_t)REPLIES[i].value), REPLIES[i].exit);
    for (size_t i = 0; i < sizeof CLOSES / sizeof CLOSES[0]; i++)
        ck_assert_int_eq(failure_of_close((uint16_t)CLOSES[i].value), CLOSES[i].exit);
    for (size_t i = 0; i < sizeof CONNECTS / sizeof CONNECTS[0]; i++)
        ck_assert_int_eq(failure_of_connect((enum status)CONNECTS[i].value),
                         CONNECTS[i].exit);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_named)
{
    struct ctl_state state = {.has_document = false};
    const struct options o = {.state = &state};
    ck_assert_int_eq(ctl_check_file(&o, NULL), CTL_DONE);
    ck_assert_int_eq(ctl_check_file(&o, "/dev/null"), CTL_DONE);
    ck_assert_int_eq(ctl_check_file(&o, "/dev/null/x"), CTL_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(state.error, "/dev/null/x: "));
}
END_TEST

START_TEST(a_close_code_and_its_reason_are_told)
{
    struct ctl_state state = {.has_document = false};
    const struct options o = {.state = &state};
    ck_assert_int_eq(ctl_fail_reply(&o, ST_CLOSED, 1009, "unsure"), CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(state.error, "1009"));
    ck_assert_ptr_nonnull(strstr(state.error, "too long"));
    ck_assert_ptr_null(strstr(state.error, "unsure")); /* it was not done */
    state.error[0] = '\0';
    ck_assert_int_eq(ctl_fail_reply(&o, ST_CLOSED, 1006, "unsure"), CTL_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(state.error, "unsure"));
    state.error[0] = '\0';
    ck_assert_int_eq(ctl_fail_reply(&o, ST_TIMEOUT, 1006, "unsure"), CTL_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(state.error, "unsure"));
}
END_TEST

Suite *
failure_suite(void)
{
    Suite *s = suite_create("failure");
    TCase *c = tcase_create("failure");
    tcase_add_test(c, the_kind_of_a_failure_says_the_exit_code);
    tcase_add_test(c, a_file_that_cannot_be_read_is_named);
    tcase_add_test(c, a_close_code_and_its_reason_are_told);
    suite_add_tcase(s, c);
    return s;
}
