/* tests/unit/test-broker: the unit tests of src/broker. CK_RUN_SUITE picks one suite.
 * What clients see is in tests/trace. */
#include "tests/unit/broker/suites.h"

#include <stdlib.h>

int
main(void)
{
    SRunner *runner = srunner_create(suite_parcel());
    srunner_add_suite(runner, suite_clock());
    srunner_add_suite(runner, suite_batch());
    srunner_add_suite(runner, suite_ids());
    srunner_add_suite(runner, suite_login());
    srunner_add_suite(runner, suite_bounds());
    srunner_add_suite(runner, suite_bulk());
    srunner_add_suite(runner, suite_model());
    srunner_add_suite(runner, suite_damaged());
    srunner_add_suite(runner, suite_room());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
