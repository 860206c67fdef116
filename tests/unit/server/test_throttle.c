/* Throttle: some failures are free, more are answered at a pace, none is refused. */
#include "server/throttle.h"

#include "suites.h"

#define NOW 1000000

static struct throttle *t;

static void
set_up(void)
{
    t = throttle_new();
}

static void
tear_down(void)
{
    throttle_free(t);
}

START_TEST(the_first_failures_are_answered_at_once)
{
    for (int i = 0; i < THROTTLE_FREE; i++)
        ck_assert_uint_eq(throttle_failed(t, 7, NOW), 0);
    ck_assert_uint_eq(throttle_failed(t, 7, NOW), THROTTLE_LEAK_MS);
    ck_assert_uint_eq(throttle_failed(t, 8, NOW), 0); /* somebody else's */
}
END_TEST

START_TEST(answers_are_never_later_than_the_most)
{
    uint64_t wait = 0;
    for (int i = 0; i < 100000; i++) {
        uint64_t next = throttle_failed(t, 7, NOW);
        ck_assert_uint_ge(next, wait);
        wait = next;
    }
    ck_assert_uint_eq(wait, THROTTLE_MOST_MS);
}
END_TEST

START_TEST(failures_at_the_pace_of_the_leak_are_free_for_ever)
{
    for (uint64_t i = 0; i < 100000; i++)
        ck_assert_uint_eq(throttle_failed(t, 7, NOW + i * THROTTLE_LEAK_MS), 0);
}
END_TEST

START_TEST(all_is_forgotten_soon)
{
    for (int i = 0; i < 100000; i++)
        (void)throttle_failed(t, 7, NOW);
    uint64_t later = NOW + THROTTLE_MOST_MS + THROTTLE_FREE * THROTTLE_LEAK_MS;
    ck_assert_uint_eq(throttle_failed(t, 7, later), 0);
}
END_TEST

START_TEST(who_failed_lately_is_noisy)
{
    ck_assert(!throttle_is_noisy(t, 7, NOW));
    (void)throttle_failed(t, 7, NOW);
    ck_assert(throttle_is_noisy(t, 7, NOW));
    ck_assert(throttle_is_noisy(t, 7, NOW + THROTTLE_NOISY_MS - 1));
    ck_assert(!throttle_is_noisy(t, 7, NOW + THROTTLE_NOISY_MS));
    ck_assert(!throttle_is_noisy(t, 8, NOW));
}
END_TEST

Suite *
throttle_suite(void)
{
    Suite *s = suite_create("throttle");
    TCase *c = tcase_create("throttle");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, the_first_failures_are_answered_at_once);
    tcase_add_test(c, answers_are_never_later_than_the_most);
    tcase_add_test(c, failures_at_the_pace_of_the_leak_are_free_for_ever);
    tcase_add_test(c, all_is_forgotten_soon);
    tcase_add_test(c, who_failed_lately_is_noisy);
    suite_add_tcase(s, c);
    return s;
}
