/* Unit tests of src/server. */
#include "suites.h"

#include <stdlib.h>

int
main(void)
{
    SRunner *runner = srunner_create(config_suite());
    srunner_add_suite(runner, metrics_suite());
    srunner_add_suite(runner, pages_suite());
    srunner_add_suite(runner, throttle_suite());
    srunner_add_suite(runner, attempts_suite());
    srunner_add_suite(runner, auth_suite());
    srunner_add_suite(runner, replica_suite());
    srunner_add_suite(runner, replica_disk_suite());
    srunner_add_suite(runner, agreement_suite());
    srunner_add_suite(runner, rejoin_suite());
    srunner_add_suite(runner, notify_suite());
    srunner_add_suite(runner, timekeeper_suite());
    srunner_add_suite(runner, backup_file_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
