/* The suites of src/server's unit tests. */
#ifndef HF_TESTS_SERVER_SUITES_H
#define HF_TESTS_SERVER_SUITES_H

#include <check.h>

Suite *agreement_suite(void);
Suite *attempts_suite(void);
Suite *auth_suite(void);
Suite *backup_file_suite(void);
Suite *config_suite(void);
Suite *metrics_suite(void);
Suite *pages_suite(void);
Suite *notify_suite(void);
Suite *rejoin_suite(void);
Suite *replica_suite(void);
Suite *replica_disk_suite(void);
Suite *throttle_suite(void);
Suite *timekeeper_suite(void);

#endif
