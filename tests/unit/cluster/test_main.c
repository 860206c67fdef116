/* Runs the suites of test-cluster; exit status 1 when a test failed. */
#include "test_cluster.h"

#include <stdlib.h>

int
main(void)
{
    SRunner *runner = srunner_create(frame_suite());
    srunner_add_suite(runner, parts_suite());
    srunner_add_suite(runner, links_suite());
    srunner_add_suite(runner, members_suite());
    srunner_add_suite(runner, trust_suite());
    srunner_add_suite(runner, abuse_suite());
    srunner_add_suite(runner, death_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
