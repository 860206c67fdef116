/* tests/unit/test-base: the unit tests of src/base. CK_RUN_SUITE picks one suite. */
#include "suites.h"

#include <stdlib.h>

int
main(void)
{
    SRunner *runner = srunner_create(suite_status());
    srunner_add_suite(runner, suite_mem());
    srunner_add_suite(runner, suite_bytes());
    srunner_add_suite(runner, suite_blob());
    srunner_add_suite(runner, suite_list());
    srunner_add_suite(runner, suite_tree());
    srunner_add_suite(runner, suite_map());
    srunner_add_suite(runner, suite_file());
    srunner_add_suite(runner, suite_heap());
    srunner_add_suite(runner, suite_histogram());
    srunner_add_suite(runner, suite_crc32c());
    srunner_add_suite(runner, suite_uuid());
    srunner_add_suite(runner, suite_mailbox());
    srunner_add_suite(runner, suite_log());
    srunner_add_suite(runner, suite_log_fields());
    srunner_add_suite(runner, suite_text());
    srunner_add_suite(runner, suite_text_json());
    srunner_add_suite(runner, suite_json());
    srunner_add_suite(runner, suite_json_values());
    srunner_add_suite(runner, suite_json_differential());
    srunner_add_suite(runner, suite_json_number());
    srunner_add_suite(runner, suite_json_write());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
