/* tests/unit/test-net: the unit tests of src/net. CK_RUN_SUITE picks one suite. */
#include "suites.h"

#include <signal.h>
#include <stdlib.h>

int
main(void)
{
    signal(SIGPIPE, SIG_IGN);
    SRunner *runner = srunner_create(suite_parts());
    srunner_add_suite(runner, suite_login());
    srunner_add_suite(runner, suite_limits());
    srunner_add_suite(runner, suite_flow());
    srunner_add_suite(runner, suite_proxy());
    srunner_add_suite(runner, suite_relay());
    srunner_add_suite(runner, suite_hostile());
    srunner_add_suite(runner, suite_node());
    srunner_add_suite(runner, suite_many());
    srunner_add_suite(runner, suite_ops());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
