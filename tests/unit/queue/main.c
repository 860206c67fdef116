/* tests/unit/test-queue: the unit tests of src/queue. CK_RUN_SUITE picks one suite. */
#include "suites.h"

#include <stdlib.h>

int
main(void)
{
    SRunner *runner = srunner_create(suite_settings());
    srunner_add_suite(runner, suite_record());
    srunner_add_suite(runner, suite_history());
    srunner_add_suite(runner, suite_apply());
    srunner_add_suite(runner, suite_epoch());
    srunner_add_suite(runner, suite_model());
    srunner_add_suite(runner, suite_journal());
    srunner_add_suite(runner, suite_image());
    srunner_add_suite(runner, suite_image_bad());
    srunner_add_suite(runner, suite_salvage());
    srunner_add_suite(runner, suite_level());
    srunner_add_suite(runner, suite_trail());
    srunner_add_suite(runner, suite_sweep());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
