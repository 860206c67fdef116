/* Tests of the clock: time that only goes forward, and ids that only grow. */
#include "broker/clock.h"

#include "tests/unit/broker/suites.h"

#include <string.h>

#define START_MS 1800000000000u

static struct clock c;

static void
start(void)
{
    clock_init(&c, 1, NULL, NULL);
    clock_start(&c, 1000, START_MS, START_MS - 500);
}

START_TEST(time_goes_with_the_monotonic_clock)
{
    start();
    clock_tick(&c, 1250, START_MS + 250);
    ck_assert_uint_eq(c.time_ms, START_MS + 250);
    ck_assert_uint_eq(c.before_ms, START_MS);
    clock_tick(&c, 1100, START_MS + 100); /* it never goes back */
    ck_assert_uint_eq(c.time_ms, START_MS + 250);
}
END_TEST

START_TEST(a_jump_of_the_wall_clock_only_slews)
{
    start();
    uint64_t day = 86400000;
    for (uint64_t i = 1; i <= 600; i++)
        clock_tick(&c, 1000 + 100 * i, START_MS + 100 * i + day);
    ck_assert_uint_eq(c.time_ms, START_MS + 60000 + 60000 / CLOCK_SLEW_PARTS);
    uint64_t before = c.time_ms;
    for (uint64_t i = 601; i <= 1200; i++)
        clock_tick(&c, 1000 + 100 * i, START_MS - day);
    ck_assert_uint_eq(c.time_ms, before + 60000 - 60000 / CLOCK_SLEW_PARTS);
}
END_TEST

START_TEST(the_slew_ends_at_the_wall_clock)
{
    start();
    for (uint64_t i = 1; i <= 10000; i++)
        clock_tick(&c, 1000 + 10 * i, START_MS + 10 * i + 7);
    ck_assert_uint_eq(c.time_ms, START_MS + 100007);
}
END_TEST

START_TEST(slewing_back_never_goes_back)
{
    start();
    clock_tick(&c, 1000 + 1999, 0);
    uint64_t before = c.time_ms;
    for (uint64_t i = 1; i <= 5000; i++) {
        clock_tick(&c, 1000 + 1999 + i, 0);
        ck_assert_uint_ge(c.time_ms, before);
        before = c.time_ms;
    }
}
END_TEST

START_TEST(deadlines_are_at_most_a_little_early)
{
    start();
    ck_assert_uint_eq(clock_to_mono(&c, START_MS), 1000);
    ck_assert_uint_eq(clock_to_mono(&c, START_MS - 1), 1000);
    ck_assert_uint_eq(clock_to_mono(&c, START_MS + 1), 1001);
    ck_assert_uint_eq(clock_to_mono(&c, START_MS + 10000), 11000 - 5);
    ck_assert_uint_eq(clock_to_mono(&c, UINT64_MAX) > 1000, 1);
}
END_TEST

START_TEST(ids_grow_within_a_millisecond_and_past_its_counter)
{
    start();
    struct uuid last = clock_message_id(&c);
    ck_assert_uint_eq(uuid7_ms(&last), START_MS);
    for (int i = 0; i < 10000; i++) {
        struct uuid id = clock_message_id(&c);
        ck_assert_int_gt(uuid_compare(&id, &last), 0);
        ck_assert_int_eq(id.b[6] >> 4, 7);
        ck_assert_int_eq(id.b[8] >> 6, 2);
        last = id;
    }
    ck_assert_uint_eq(uuid7_ms(&last), START_MS + 10000 / 4096);
    clock_tick(&c, 1001, START_MS + 1); /* less than what the ids have reached */
    struct uuid id = clock_message_id(&c);
    ck_assert_int_gt(uuid_compare(&id, &last), 0);
}
END_TEST

START_TEST(ids_start_above_the_floor)
{
    clock_init(&c, 1, NULL, NULL);
    clock_start(&c, 1000, START_MS, START_MS + 1900);
    struct uuid id = clock_message_id(&c);
    ck_assert_uint_eq(uuid7_ms(&id), START_MS + 1901);
}
END_TEST

START_TEST(seconds_behind_are_rounded_up_and_bounded)
{
    ck_assert_uint_eq(clock_behind_secs(START_MS, START_MS), 0);
    ck_assert_uint_eq(clock_behind_secs(START_MS + 9000, START_MS), 0); /* ahead */
    ck_assert_uint_eq(clock_behind_secs(START_MS, START_MS + 1), 1);
    ck_assert_uint_eq(clock_behind_secs(START_MS, START_MS + 1000), 1);
    ck_assert_uint_eq(clock_behind_secs(START_MS, START_MS + 1001), 2);
    ck_assert_uint_eq(clock_behind_secs(START_MS, START_MS + 65534000), 65534);
    ck_assert_uint_eq(clock_behind_secs(START_MS, START_MS + 65534001), 65535);
    ck_assert_uint_eq(clock_behind_secs(0, START_MS), 65535);
}
END_TEST

static void
fill_ones(void *ctx, void *out, size_t size)
{
    ++*(unsigned *)ctx;
    memset(out, 0xff, size);
}

START_TEST(random_bits_come_from_the_callers_source)
{
    unsigned calls = 0;
    clock_init(&c, 0, fill_ones, &calls);
    clock_start(&c, 0, START_MS, 0);
    struct uuid id = clock_session_id(&c);
    for (int i = 8; i < UUID_SIZE; i++)
        ck_assert_uint_eq(id.b[i], i == 8 ? 0xbf : 0xff);
    ck_assert_uint_eq(id.b[6], 0x7f);
    ck_assert_uint_eq(id.b[7], 0xff);
    ck_assert_uint_eq(calls, 1);
    for (int i = 0; i < CLOCK_RANDOM_WORDS; i++)
        clock_message_id(&c);
    ck_assert_uint_eq(calls, 2);
}
END_TEST

Suite *
suite_clock(void)
{
    Suite *suite = suite_create("clock");
    TCase *tc = tcase_create("clock");
    tcase_add_test(tc, time_goes_with_the_monotonic_clock);
    tcase_add_test(tc, a_jump_of_the_wall_clock_only_slews);
    tcase_add_test(tc, the_slew_ends_at_the_wall_clock);
    tcase_add_test(tc, slewing_back_never_goes_back);
    tcase_add_test(tc, deadlines_are_at_most_a_little_early);
    tcase_add_test(tc, ids_grow_within_a_millisecond_and_past_its_counter);
    tcase_add_test(tc, ids_start_above_the_floor);
    tcase_add_test(tc, seconds_behind_are_rounded_up_and_bounded);
    tcase_add_test(tc, random_bits_come_from_the_callers_source);
    suite_add_tcase(suite, tc);
    return suite;
}
