/* tests/unit/test-proto: the unit tests of src/proto. CK_RUN_SUITE picks one suite. */
#include "suites.h"

#include <stdlib.h>

int
main(void)
{
    SRunner *runner = srunner_create(suite_http());
    srunner_add_suite(runner, suite_extensions());
    srunner_add_suite(runner, suite_http_host());
    srunner_add_suite(runner, suite_prometheus());
    srunner_add_suite(runner, suite_proxy());
    srunner_add_suite(runner, suite_websocket());
    srunner_add_suite(runner, suite_websocket_limits());
    srunner_add_suite(runner, suite_deflate());
    srunner_add_suite(runner, suite_frame_write());
    srunner_add_suite(runner, suite_request_login());
    srunner_add_suite(runner, suite_request_publish());
    srunner_add_suite(runner, suite_request_subscriber());
    srunner_add_suite(runner, suite_request_admin());
    srunner_add_suite(runner, suite_request_memory());
    srunner_add_suite(runner, suite_delivery());
    srunner_add_suite(runner, suite_reply());
    srunner_add_suite(runner, suite_reason());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
