/* Attempts: sources take turns, calm ones do not wait for noisy ones, and a full house
 * costs the noisiest. */
#include "server/attempts.h"

#include "suites.h"

#include <string.h>

#define MOST 10

static struct attempts all;
static const struct login_secret secret;

static void
set_up(void)
{
    attempts_init(&all, MOST);
}

static void
tear_down(void)
{
    attempts_fini(&all);
}

static const uint8_t *
source(char name)
{
    static uint8_t key[LOGIN_SOURCE_BYTES];
    memset(key, name, sizeof key);
    return key;
}

static const uint8_t *
digest(char from, uint64_t conn)
{
    static uint8_t out[ATTEMPT_DIGEST_BYTES];
    memset(out, from, sizeof out);
    put_u64(out, conn);
    return out;
}

static void
put(char from, uint64_t conn, bool is_noisy)
{
    struct verify v = {.conn = conn, .secret = &secret, .source = source(from)};
    attempts_put(&all, attempt_new(&v, digest(from, conn)), is_noisy);
}

/* Takes one; its connection, or 0. */
static uint64_t
take(bool is_noisy)
{
    struct attempt *t = attempts_take(&all, is_noisy);
    uint64_t conn = t == NULL ? 0 : t->conns[0];
    attempt_free(t);
    return conn;
}

static uint64_t
evict(void)
{
    struct attempt *t = attempts_evict(&all);
    uint64_t conn = t == NULL ? 0 : t->conns[0];
    attempt_free(t);
    return conn;
}

START_TEST(sources_take_turns)
{
    static const uint64_t order[] = {1, 11, 21, 2, 12, 3, 4, 0};
    for (uint64_t i = 1; i <= 4; i++)
        put('a', i, false);
    put('b', 11, false);
    put('b', 12, false);
    put('c', 21, false);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        ck_assert_uint_eq(take(false), order[i]);
    ck_assert_uint_eq(all.count, 0);
}
END_TEST

START_TEST(noisy_sources_wait_apart)
{
    put('a', 1, true);
    put('b', 11, false);
    put('a', 2, true);
    ck_assert_uint_eq(take(false), 11);
    ck_assert_uint_eq(take(false), 0);
    ck_assert_uint_eq(take(true), 1);
    ck_assert_uint_eq(take(true), 2);
    ck_assert_uint_eq(take(true), 0);
}
END_TEST

START_TEST(a_source_that_fails_moves_with_all_that_waits)
{
    put('a', 1, false);
    put('a', 2, false);
    put('b', 11, false);
    attempts_mark_noisy(&all, source('a'));
    attempts_mark_noisy(&all, source('z')); /* nobody */
    ck_assert_uint_eq(take(false), 11);
    ck_assert_uint_eq(take(false), 0);
    put('a', 3, false); /* calm again */
    ck_assert_uint_eq(take(true), 0);
    for (uint64_t i = 1; i <= 3; i++)
        ck_assert_uint_eq(take(false), i);
}
END_TEST

START_TEST(equal_attempts_of_a_source_are_one)
{
    put('a', 1, false);
    put('a', 2, false);
    ck_assert_ptr_null(attempts_find(&all, source('b'), digest('a', 2)));
    struct attempt *t = attempts_find(&all, source('a'), digest('a', 2));
    ck_assert_ptr_nonnull(t);
    attempts_join(&all, t, 5);
    ck_assert_uint_eq(all.count, 3);
    ck_assert_uint_eq(take(false), 1);
    t = attempts_take(&all, false);
    ck_assert_uint_eq(t->conn_count, 2);
    ck_assert_uint_eq(t->conns[1], 5);
    attempt_free(t);
    ck_assert_uint_eq(all.count, 0);
}
END_TEST

START_TEST(a_full_house_costs_the_newest_of_the_largest_noisy_source)
{
    for (uint64_t i = 1; i <= 6; i++)
        put('a', i, false); /* the largest, but calm */
    for (uint64_t i = 11; i <= 13; i++)
        put('b', i, true);
    put('c', 21, true);
    ck_assert_uint_eq(evict(), 0); /* just full */
    put('d', 31, false);
    ck_assert_uint_eq(evict(), 13);
    ck_assert_uint_eq(evict(), 0);
    put('d', 32, false);
    ck_assert_uint_eq(evict(), 12);
    put('d', 33, true); /* d is noisy now, and has three */
    ck_assert_uint_eq(evict(), 33);
}
END_TEST

START_TEST(without_noisy_ones_it_costs_the_largest)
{
    for (uint64_t i = 1; i <= MOST; i++)
        put('a', i, false);
    put('b', 11, false);
    ck_assert_uint_eq(evict(), MOST);
    ck_assert_uint_eq(take(false), 1);
    ck_assert_uint_eq(take(false), 11);
}
END_TEST

Suite *
attempts_suite(void)
{
    Suite *s = suite_create("attempts");
    TCase *c = tcase_create("attempts");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, sources_take_turns);
    tcase_add_test(c, noisy_sources_wait_apart);
    tcase_add_test(c, a_source_that_fails_moves_with_all_that_waits);
    tcase_add_test(c, equal_attempts_of_a_source_are_one);
    tcase_add_test(c, a_full_house_costs_the_newest_of_the_largest_noisy_source);
    tcase_add_test(c, without_noisy_ones_it_costs_the_largest);
    suite_add_tcase(s, c);
    return s;
}
