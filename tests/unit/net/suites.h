/* The suites of tests/unit/test-net. */
#ifndef TEST_NET_SUITES_H
#define TEST_NET_SUITES_H

#include <check.h>

Suite *suite_parts(void);
Suite *suite_login(void);
Suite *suite_limits(void);
Suite *suite_flow(void);
Suite *suite_proxy(void);
Suite *suite_relay(void);
Suite *suite_hostile(void);
Suite *suite_node(void);
Suite *suite_many(void);
Suite *suite_ops(void);

#endif
