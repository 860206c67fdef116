#include "tests/unit/raft/suites.h"

#include <stdlib.h>

int
main(void)
{
    SRunner *runner = srunner_create(suite_rlog());
    srunner_add_suite(runner, suite_change());
    srunner_add_suite(runner, suite_wire());
    srunner_add_suite(runner, suite_format());
    srunner_add_suite(runner, suite_guards());
    srunner_add_suite(runner, suite_rules());
    srunner_add_suite(runner, suite_gate());
    srunner_add_suite(runner, suite_rejoin());
    srunner_add_suite(runner, suite_room());
    srunner_add_suite(runner, suite_snapshots());
    srunner_add_suite(runner, suite_disk());
    srunner_add_suite(runner, suite_disk_aside());
    srunner_add_suite(runner, suite_disk_check());
    srunner_add_suite(runner, suite_disk_damage());
    srunner_add_suite(runner, suite_disk_failures());
    srunner_add_suite(runner, suite_disk_full());
    srunner_add_suite(runner, suite_disk_install());
    srunner_add_suite(runner, suite_disk_seed());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
