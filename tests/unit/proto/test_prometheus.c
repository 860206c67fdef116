/* Tests of proto/prometheus: the text format 0.0.4. */
#include "proto/prometheus.h"

#include "suites.h"

static struct bytes out;
static struct prom prom;

static void
set_up(void)
{
    prom_init(&prom, &out);
}

static void
tear_down(void)
{
    bytes_fini(&out);
}

START_TEST(a_family_has_help_and_type_before_its_samples)
{
    prom_single(&prom, "a_total", PROM_COUNTER, "How often.", UINT64_MAX);
    ck_assert_str_eq(text_of(&out), "# HELP a_total How often.\n"
                                    "# TYPE a_total counter\n"
                                    "a_total 18446744073709551615\n");
}
END_TEST

START_TEST(labels_stand_in_order_and_are_escaped)
{
    prom_family(&prom, "a", PROM_GAUGE, "x");
    bytes_clear(&out);
    prom_begin(&prom);
    prom_label(&prom, "queue", "a\"b\\c\nd");
    prom_label_u64(&prom, "peer", 7);
    prom_u64(&prom, 1);
    ck_assert_str_eq(text_of(&out), "a{queue=\"a\\\"b\\\\c\\nd\",peer=\"7\"} 1\n");
}
END_TEST

START_TEST(times_are_seconds)
{
    prom_family(&prom, "a", PROM_GAUGE, "x");
    bytes_clear(&out);
    prom_begin(&prom);
    prom_seconds_of_ms(&prom, 61005);
    prom_begin(&prom);
    prom_seconds_of_us(&prom, 1000002);
    prom_begin(&prom);
    prom_i64(&prom, -3);
    ck_assert_str_eq(text_of(&out), "a 61.005\na 1.000002\na -3\n");
}
END_TEST

START_TEST(a_histogram_adds_up_to_its_count)
{
    struct histogram h = {.sum_us = 0};
    histogram_observe(&h, 90);
    histogram_observe(&h, 2500);
    histogram_observe(&h, 99000000);
    prom_family(&prom, "b_seconds", PROM_HISTOGRAM, "x");
    prom_histogram(&prom, &h);
    const char *text = text_of(&out);
    ck_assert_ptr_nonnull(strstr(text, "# TYPE b_seconds histogram\n"
                                       "b_seconds_bucket{le=\"0.0001\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "b_seconds_bucket{le=\"0.001\"} 1\n"
                                       "b_seconds_bucket{le=\"0.0025\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(text, "b_seconds_bucket{le=\"10\"} 2\n"
                                       "b_seconds_bucket{le=\"+Inf\"} 3\n"
                                       "b_seconds_sum 99.002590\n"
                                       "b_seconds_count 3\n"));
}
END_TEST

Suite *
suite_prometheus(void)
{
    const TTest *const tests[] = {
        a_family_has_help_and_type_before_its_samples,
        labels_stand_in_order_and_are_escaped,
        times_are_seconds,
        a_histogram_adds_up_to_its_count,
    };
    Suite *suite = suite_create("prometheus");
    TCase *tcase = tcase_create("prometheus");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    for (size_t i = 0; i < COUNT_OF(tests); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
