/* The suites of this program. */
#ifndef HF_TESTS_UNIT_CTL_SUITES_H
#define HF_TESTS_UNIT_CTL_SUITES_H

#include <check.h>

Suite *answer_suite(void);
Suite *dial_suite(void);
Suite *failure_suite(void);
Suite *login_suite(void);
Suite *options_suite(void);
Suite *progress_suite(void);
Suite *table_suite(void);
Suite *terminal_suite(void);

#endif
