/* Unit tests of src/ctl. */
#include "suites.h"

#include <stdlib.h>

int
main(void)
{
    SRunner *runner = srunner_create(options_suite());
    srunner_add_suite(runner, table_suite());
    srunner_add_suite(runner, terminal_suite());
    srunner_add_suite(runner, progress_suite());
    srunner_add_suite(runner, answer_suite());
    srunner_add_suite(runner, dial_suite());
    srunner_add_suite(runner, failure_suite());
    srunner_add_suite(runner, login_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
