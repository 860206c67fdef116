/* Tests of base/status. */
#include "base/status.h"

#include "suites.h"

START_TEST(every_status_has_a_name_of_its_own)
{
    for (int i = ST_OK; i <= ST_IO; i++) {
        ck_assert_str_ne(status_name((enum status)i), "unknown status");
        for (int j = ST_OK; j < i; j++)
            ck_assert_str_ne(status_name((enum status)i), status_name((enum status)j));
    }
}
END_TEST

START_TEST(a_number_that_is_no_status_has_a_name_too)
{
    ck_assert_str_eq(status_name((enum status)(ST_IO + 1)), "unknown status");
}
END_TEST

Suite *
suite_status(void)
{
    const TTest *const tests[] = {
        every_status_has_a_name_of_its_own,
        a_number_that_is_no_status_has_a_name_too,
    };
    return suite_of("status", tests, COUNT_OF(tests));
}
