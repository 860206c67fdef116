/* Tests of base/histogram. */
#include "base/histogram.h"

#include "suites.h"

START_TEST(bounds_ascend)
{
    for (size_t i = 1; i < HISTOGRAM_BOUNDS; i++)
        ck_assert_uint_gt(histogram_bound_us(i), histogram_bound_us(i - 1));
}
END_TEST

START_TEST(a_bound_belongs_to_the_bucket_below_it)
{
    struct histogram h = {.sum_us = 0};
    histogram_observe(&h, 0);
    histogram_observe(&h, histogram_bound_us(0));
    histogram_observe(&h, histogram_bound_us(0) + 1);
    ck_assert_uint_eq(h.counts[0], 2);
    ck_assert_uint_eq(h.counts[1], 1);
    ck_assert_uint_eq(h.sum_us, 2 * histogram_bound_us(0) + 1);
    ck_assert_uint_eq(histogram_count(&h), 3);
}
END_TEST

START_TEST(what_is_above_all_is_counted_too)
{
    struct histogram h = {.sum_us = 0};
    histogram_observe(&h, histogram_bound_us(HISTOGRAM_BOUNDS - 1));
    histogram_observe(&h, 3600000000u);
    ck_assert_uint_eq(h.counts[HISTOGRAM_BOUNDS - 1], 1);
    ck_assert_uint_eq(h.counts[HISTOGRAM_BOUNDS], 1);
    ck_assert_uint_eq(histogram_count(&h), 2);
}
END_TEST

Suite *
suite_histogram(void)
{
    const TTest *const tests[] = {
        bounds_ascend,
        a_bound_belongs_to_the_bucket_below_it,
        what_is_above_all_is_counted_too,
    };
    return suite_of("histogram", tests, COUNT_OF(tests));
}
