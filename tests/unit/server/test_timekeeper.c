/* Timekeeper: its frame, the middle clock, and cluster time for a new leader. */
#include "server/timekeeper.h"

#include "suites.h"

#define T UINT64_C(1796000000000)

static struct timekeeper t;

static void
setup(void)
{
    t = (struct timekeeper){0};
}

static void
hear_frame(uint64_t peer,
           uint64_t wall_ms,
           uint64_t term,
           bool leads,
           uint64_t cluster_ms,
           uint64_t now_ms)
{
    uint8_t body[TIMEKEEPER_FRAME_BYTES];
    timekeeper_put(body, wall_ms, cluster_ms, term, leads);
    ck_assert_int_eq(timekeeper_hear(&t, peer, slice_of(body, sizeof body), now_ms),
                     ST_OK);
}

static void
hear(uint64_t peer, uint64_t wall_ms, uint64_t now_ms)
{
    hear_frame(peer, wall_ms, 0, false, 0, now_ms);
}

/* Cluster time, of the leader of that term, by itself or by another. */
static void
hear_of(uint64_t term, bool leads, uint64_t cluster_ms, uint64_t now_ms)
{
    hear_frame(2, T, term, leads, cluster_ms, now_ms);
}

static uint64_t
known(uint64_t now_ms)
{
    return timekeeper_cluster_ms(&t, 1, 0, T + 99999, now_ms);
}

START_TEST(a_frame_is_the_bytes_of_its_table)
{
    static const uint8_t expected[TIMEKEEPER_FRAME_BYTES] = {
        1, 1, 0, 0, 0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 0, 0,
        2, 1, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0};
    uint8_t body[TIMEKEEPER_FRAME_BYTES];
    timekeeper_put(body, 0x030405060708, 0x0102, 9, true);
    ck_assert_mem_eq(body, expected, sizeof expected);
}
END_TEST

START_TEST(a_frame_that_is_not_ours_is_refused)
{
    uint8_t body[TIMEKEEPER_FRAME_BYTES + 1] = {0};
    timekeeper_put(body, T, T, 9, false);
    timekeeper_up(&t, 2);
    for (size_t size = 0; size <= sizeof body; size++)
        ck_assert_int_eq(timekeeper_hear(&t, 2, slice_of(body, size), 5),
                         size == TIMEKEEPER_FRAME_BYTES ? ST_OK : ST_INVALID);
    /* The version, the zeros, and times beyond 2^48. */
    static const size_t at[] = {0, 1, 2, 7, 14, 15, 22, 23};
    t = (struct timekeeper){0};
    timekeeper_up(&t, 2);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        body[at[i]] ^= 0x80;
        ck_assert_int_eq(
            timekeeper_hear(&t, 2, slice_of(body, TIMEKEEPER_FRAME_BYTES), 5),
            ST_INVALID);
        body[at[i]] ^= 0x80;
    }
    ck_assert_uint_eq(timekeeper_wall_ms(&t, 77, 5), 77);
    ck_assert_uint_eq(t.known_ms, 0);
}
END_TEST

START_TEST(the_wall_is_the_middle_clock_and_of_two_the_lower)
{
    ck_assert_uint_eq(timekeeper_wall_ms(&t, T, 100), T);
    timekeeper_up(&t, 2);
    timekeeper_up(&t, 3);
    ck_assert_uint_eq(timekeeper_wall_ms(&t, T, 100), T); /* connected, not heard */
    hear(2, T + 86400000, 100);
    ck_assert_uint_eq(timekeeper_wall_ms(&t, T, 100), T);
    ck_assert_uint_eq(timekeeper_wall_ms(&t, T + 90000000, 100), T + 86400000);
    hear(3, T - 5, 100);
    ck_assert_uint_eq(timekeeper_wall_ms(&t, T, 100), T);
    ck_assert_uint_eq(timekeeper_wall_ms(&t, T - 3600000, 100), T - 5);
    /* What was heard goes on by the monotonic clock, our own clock by itself. */
    ck_assert_uint_eq(timekeeper_wall_ms(&t, T - 3600000, 400), T + 295);
    timekeeper_down(&t, 3);
    ck_assert_uint_eq(timekeeper_wall_ms(&t, T + 90000000, 100), T + 86400000);
    timekeeper_down(&t, 2);
    ck_assert_uint_eq(timekeeper_wall_ms(&t, T + 90000000, 100), T + 90000000);
}
END_TEST

START_TEST(the_clock_of_who_is_not_connected_does_not_count)
{
    hear(2, T + 5000, 1);
    ck_assert_uint_eq(timekeeper_wall_ms(&t, T, 1), T);
    for (uint64_t peer = 2; peer < 2 + 2 * RLOG_MEMBERS_MAX; peer++)
        timekeeper_up(&t, peer);
    ck_assert_uint_eq(t.count, RLOG_MEMBERS_MAX);
}
END_TEST

START_TEST(cluster_time_goes_on_from_what_is_known_best)
{
    /* A new cluster: the wall. */
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, 0, 0, T, 9), T);
    /* Everything from the disk: the wall, never less than the stamp. */
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T - 5000, 0, T, 9), T);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T + 5000, 0, T, 9), T + 5000);
    /* Less what cluster time was behind; how much that was may not be known. */
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T - 5000, 3, T, 9), T - 3000);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T - 5000, 60, T, 9), T - 5000);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, 1000, TIMEKEEPER_BEHIND_MOST, T, 9),
                      1000);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, 1, 3, 2000, 9), 1);
    /* What anybody told: the wall does not count. */
    hear_of(7, false, T - 9000, 100);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T - 20000, 0, T, 700), T - 8400);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T - 100, 0, T, 700), T - 100);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, 0, 9, T + 99999, 700), T - 8400);
}
END_TEST

/* A node that was cut off may lead with the entries of a leader that it never heard
 * tell the time. What it knows of the leader before may be ahead of those entries'
 * time. */
START_TEST(what_is_known_of_an_older_term_than_the_logs_is_no_later_than_the_wall_says)
{
    hear_of(7, true, T, 1000);
    timekeeper_applied(&t, 7);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T - 2000, 1, T, 1000), T);
    timekeeper_applied(&t, 9);
    timekeeper_applied(&t, 8);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T - 2000, 1, T, 1000), T - 1000);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T - 500, 1, T, 1000), T - 500);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T - 500, 1, T + 90000, 1000), T);
    ck_assert_uint_eq(
        timekeeper_cluster_ms(&t, T - 500, TIMEKEEPER_BEHIND_MOST, T, 1000), T - 500);
    hear_of(9, false, T - 100, 1000);
    ck_assert_uint_eq(timekeeper_cluster_ms(&t, T - 500, 1, T, 1000), T - 100);
}
END_TEST

/* Words come late, so of the same term the most counts, until the leader itself has
 * spoken. */
START_TEST(the_newest_term_counts_and_the_leaders_word_before_others)
{
    hear_of(7, false, T, 1000);
    hear_of(7, false, T - 500, 1000);
    ck_assert_uint_eq(known(1000), T);
    hear_of(7, false, T + 100, 1000);
    ck_assert_uint_eq(known(1000), T + 100);
    hear_of(6, true, T + 5000, 1000); /* an older term's */
    ck_assert_uint_eq(known(1000), T + 100);
    hear_of(7, true, T + 300, 1000);
    ck_assert_uint_eq(known(1500), T + 800);
    hear_of(7, false, T + 9000, 1500); /* another's: the leader's stays */
    ck_assert_uint_eq(known(1500), T + 800);
    hear_of(8, false, T - 3000, 1500); /* of a newer term, though less */
    ck_assert_uint_eq(known(1500), T - 3000);
    hear_of(8, false, T - 2500, 1500);
    ck_assert_uint_eq(known(1500), T - 2500);
    hear_of(9, false, 0, 1500); /* knows nothing */
    ck_assert_uint_eq(known(1500), T - 2500);
}
END_TEST

/* It came late, or the leader has slewed its clock back. */
START_TEST(a_leaders_word_that_is_less_counts_for_as_much_as_it_may)
{
    hear_of(7, true, T, 1000);
    hear_of(7, true, T + 900, 2000); /* 100 ms late */
    ck_assert_uint_eq(known(2000), T + 998);
    hear_of(7, true, T + 1998, 3000);
    ck_assert_uint_eq(known(3000), T + 1998);
    hear_of(7, true, T + 3500, 4000); /* more always counts */
    ck_assert_uint_eq(known(4000), T + 3500);
    hear_of(8, true, T + 2500, 5000);
    ck_assert_uint_eq(known(5000), T + 2500);
    timekeeper_note(&t, 9, T + 1000, 5000); /* its own */
    hear_of(8, true, T + 9000, 5000);
    ck_assert_uint_eq(known(5100), T + 1100);
}
END_TEST

START_TEST(what_waited_while_this_node_was_stopped_is_doubted)
{
    timekeeper_up(&t, 2);
    timekeeper_up(&t, 3);
    for (uint64_t at = 1000; at <= 2000; at += TIMEKEEPER_GAP_MS)
        timekeeper_seen(&t, at);
    hear(2, T, 2000);
    ck_assert_uint_eq(timekeeper_doubt_ms(&t), 0);
    timekeeper_seen(&t, 2000);
    timekeeper_seen(&t, 4000);
    ck_assert_uint_eq(timekeeper_doubt_ms(&t), 0); /* nothing was heard since */
    hear(2, T + 1000, 4000);
    hear(3, T + 2000, 4000 + TIMEKEEPER_BACKLOG_MS);
    ck_assert_uint_eq(timekeeper_doubt_ms(&t), 2000);
    for (uint64_t at = 4000; at <= 5000; at += TIMEKEEPER_GAP_MS)
        timekeeper_seen(&t, at);
    hear(2, T + 3000, 5000);
    ck_assert_uint_eq(timekeeper_doubt_ms(&t), 0);
}
END_TEST

Suite *
timekeeper_suite(void)
{
    Suite *suite = suite_create("timekeeper");
    TCase *tc = tcase_create("time");
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, a_frame_is_the_bytes_of_its_table);
    tcase_add_test(tc, a_frame_that_is_not_ours_is_refused);
    tcase_add_test(tc, what_waited_while_this_node_was_stopped_is_doubted);
    tcase_add_test(tc, the_wall_is_the_middle_clock_and_of_two_the_lower);
    tcase_add_test(tc, the_clock_of_who_is_not_connected_does_not_count);
    tcase_add_test(tc, cluster_time_goes_on_from_what_is_known_best);
    tcase_add_test(
        tc,
        what_is_known_of_an_older_term_than_the_logs_is_no_later_than_the_wall_says);
    tcase_add_test(tc, the_newest_term_counts_and_the_leaders_word_before_others);
    tcase_add_test(tc, a_leaders_word_that_is_less_counts_for_as_much_as_it_may);
    suite_add_tcase(suite, tc);
    return suite;
}
