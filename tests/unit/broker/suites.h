/* The suites of tests/unit/test-broker. */
#ifndef HF_TESTS_BROKER_SUITES_H
#define HF_TESTS_BROKER_SUITES_H

#include <check.h>

Suite *suite_batch(void);
Suite *suite_bounds(void);
Suite *suite_bulk(void);
Suite *suite_clock(void);
Suite *suite_damaged(void);
Suite *suite_ids(void);
Suite *suite_login(void);
Suite *suite_model(void);
Suite *suite_parcel(void);
Suite *suite_room(void);

#endif
