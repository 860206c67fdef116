/* The suites of test-cluster. */
#ifndef HF_TESTS_CLUSTER_TEST_CLUSTER_H
#define HF_TESTS_CLUSTER_TEST_CLUSTER_H

#include <check.h>

Suite *frame_suite(void);
Suite *parts_suite(void);
Suite *links_suite(void);
Suite *members_suite(void);
Suite *trust_suite(void);
Suite *abuse_suite(void);
Suite *death_suite(void);

#endif
