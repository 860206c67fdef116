/* The suites of tests/unit/test-raft. */
#ifndef HF_TESTS_RAFT_SUITES_H
#define HF_TESTS_RAFT_SUITES_H

#include <check.h>

Suite *suite_change(void);
Suite *suite_rlog(void);
Suite *suite_wire(void);
Suite *suite_format(void);
Suite *suite_guards(void);
Suite *suite_rules(void);
Suite *suite_gate(void);
Suite *suite_rejoin(void);
Suite *suite_room(void);
Suite *suite_snapshots(void);
Suite *suite_disk(void);
Suite *suite_disk_aside(void);
Suite *suite_disk_check(void);
Suite *suite_disk_damage(void);
Suite *suite_disk_failures(void);
Suite *suite_disk_full(void);
Suite *suite_disk_install(void);
Suite *suite_disk_seed(void);

#endif
