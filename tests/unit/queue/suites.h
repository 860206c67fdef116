/* The suites of tests/unit/test-queue. */
#ifndef HF_TESTS_QUEUE_SUITES_H
#define HF_TESTS_QUEUE_SUITES_H

#include <check.h>

Suite *suite_settings(void);
Suite *suite_record(void);
Suite *suite_history(void);
Suite *suite_apply(void);
Suite *suite_epoch(void);
Suite *suite_model(void);
Suite *suite_journal(void);
Suite *suite_image(void);
Suite *suite_image_bad(void);
Suite *suite_salvage(void);
Suite *suite_level(void);
Suite *suite_trail(void);
Suite *suite_sweep(void);

#endif
