/* Auth: right and wrong passwords, equal attempts joined, remembered logins; and who
 * waits for whom. */
#include "server/auth.h"

#include "server/throttle.h"

#include "suites.h"

#include <openssl/evp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NOW 1000000

static struct auth *a;
static struct login_secret s; /* of ann, "right" */
static int bell = -1;
static uint64_t now_ms;
static uint64_t unwanted; /* a bit a connection */

static void
ring(void *ctx)
{
    uint64_t one = 1;
    (void)ctx;
    ck_assert_int_eq(write(bell, &one, sizeof one), sizeof one);
}

static bool
is_wanted(void *ctx, uint64_t conn)
{
    (void)ctx;
    return conn >= 64 || (unwanted >> conn & 1) == 0;
}

/* cost: scrypt's N; the real one takes a tenth of a second. */
static struct login_secret
secret_of(const char *name, const char *password, uint32_t cost)
{
    struct login_secret made;
    memset(&made, 0, sizeof made);
    ck_assert_int_eq(
        auth_make_secret(slice_from_text(name), slice_from_text(password), &made),
        ST_OK);
    if (cost != 0) {
        made.n = cost;
        ck_assert_int_eq(EVP_PBE_scrypt(password, strlen(password), made.salt,
                                        LOGIN_SALT_BYTES, cost, made.r, made.p,
                                        64 << 20, made.hash, LOGIN_HASH_BYTES),
                         1);
    }
    return made;
}

static void
set_up(void)
{
    const struct auth_options options = {.bell_cb = ring, .is_wanted_cb = is_wanted};
    bell = eventfd(0, EFD_NONBLOCK);
    now_ms = NOW;
    unwanted = 0;
    s = secret_of("ann", "right", 16);
    ck_assert_int_eq(auth_open(&options, &a), ST_OK);
}

static void
tear_down(void)
{
    auth_close(a);
    close(bell);
}

/* from: the last two bytes of an IPv4 address. */
static enum auth_outcome
check_from(uint16_t from, uint64_t conn, const char *name, const char *password)
{
    const uint8_t source[LOGIN_SOURCE_BYTES] = {4, 10, 0, (uint8_t)(from >> 8),
                                                (uint8_t)from};
    struct verify v = {.conn = conn,
                       .queue = 1,
                       .role = ROLE_PUBLISHER,
                       .secret = &s,
                       .source = source,
                       .username = slice_from_text(name),
                       .password = slice_from_text(password)};
    return auth_check(a, &v, now_ms);
}

static enum auth_outcome
check(uint64_t conn, const char *name, const char *password)
{
    return check_from(1, conn, name, password);
}

/* A password that nobody else uses. */
static void
guess(uint16_t from, uint64_t conn)
{
    char password[32];
    (void)snprintf(password, sizeof password, "guess %llu", (unsigned long long)conn);
    ck_assert_int_eq(check_from(from, conn, "ann", password), AUTH_WAIT);
}

/* Waits for the next result. */
static struct auth_result
result(void)
{
    struct auth_result got;
    for (int i = 0; i < 100; i++) {
        struct pollfd p = {.fd = bell, .events = POLLIN};
        uint64_t rung;
        if (auth_take(a, now_ms, &got))
            return got;
        if (poll(&p, 1, 100) > 0)
            ck_assert_int_eq(read(bell, &rung, sizeof rung), sizeof rung);
    }
    ck_abort_msg("no result");
    return got;
}

static void
expect(uint64_t conn, enum auth_outcome outcome)
{
    struct auth_result got = result();
    ck_assert_uint_eq(got.conn, conn);
    ck_assert_int_eq(got.outcome, outcome);
}

START_TEST(a_password_is_right_or_wrong)
{
    ck_assert_int_eq(check(1, "ann", "right"), AUTH_WAIT);
    expect(1, AUTH_GOOD);
    static const char *const wrong[][2] = {{"ann", "wrong"},
                                           {"ann", ""},
                                           {"ann", "right "},
                                           {"an", "right"},
                                           {"", "right"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ck_assert_int_eq(check(2 + i, wrong[i][0], wrong[i][1]), AUTH_WAIT);
        expect(2 + i, AUTH_BAD);
    }
}
END_TEST

START_TEST(a_verified_login_is_remembered_until_it_changes)
{
    struct login_secret first = s;
    ck_assert_int_eq(check(1, "ann", "right"), AUTH_WAIT);
    expect(1, AUTH_GOOD);
    ck_assert_int_eq(check(2, "ann", "right"), AUTH_GOOD);
    ck_assert_int_eq(check_from(9, 2, "ann", "right"), AUTH_GOOD); /* from anywhere */
    s = secret_of("ann", "other", 16);
    ck_assert_int_eq(check(3, "ann", "right"), AUTH_WAIT);
    expect(3, AUTH_BAD);
    s = first;
    const uint8_t source[LOGIN_SOURCE_BYTES] = {4};
    struct verify v = {.conn = 4,
                       .queue = 1,
                       .role = ROLE_ADMIN, /* not what was remembered */
                       .secret = &s,
                       .source = source,
                       .username = slice_from_text("ann"),
                       .password = slice_from_text("right")};
    ck_assert_int_eq(auth_check(a, &v, now_ms), AUTH_WAIT);
    expect(4, AUTH_GOOD);
}
END_TEST

START_TEST(equal_attempts_each_get_their_answer)
{
    uint64_t seen = 0;
    s = secret_of("ann", "right", 0);
    for (uint64_t i = 0; i < 50; i++) /* of five addresses */
        ck_assert_int_eq(check_from((uint16_t)(i % 5), i, "ann", "right"), AUTH_WAIT);
    for (int i = 0; i < 50; i++) {
        struct auth_result got = result();
        ck_assert_int_eq(got.outcome, AUTH_GOOD);
        seen |= UINT64_C(1) << got.conn;
    }
    ck_assert_uint_eq(seen, (UINT64_C(1) << 50) - 1);
}
END_TEST

START_TEST(closing_with_attempts_on_the_way_leaks_nothing)
{
    s = secret_of("ann", "right", 0);
    for (uint64_t i = 0; i < 50; i++)
        guess((uint16_t)(i % 5), i);
}
END_TEST

START_TEST(failures_are_answered_later_the_more_there_are_and_right_ones_at_once)
{
    struct auth_result got;
    for (uint64_t i = 0; i < THROTTLE_FREE; i++) {
        guess(1, i);
        expect(i, AUTH_BAD);
    }
    ck_assert_uint_eq(auth_deadline(a), UINT64_MAX);
    guess(1, 100);
    while (auth_deadline(a) == UINT64_MAX)
        ck_assert(!auth_take(a, now_ms, &got));
    ck_assert_uint_eq(auth_deadline(a), NOW + THROTTLE_LEAK_MS);
    ck_assert_int_eq(check(101, "ann", "right"), AUTH_WAIT);
    expect(101, AUTH_GOOD);
    now_ms += THROTTLE_LEAK_MS - 1;
    ck_assert(!auth_take(a, now_ms, &got));
    now_ms++;
    expect(100, AUTH_BAD);
}
END_TEST

START_TEST(the_failures_of_a_name_count_from_everywhere)
{
    for (uint64_t i = 0; i < THROTTLE_FREE; i++) {
        guess((uint16_t)(i % 200), i);
        expect(i, AUTH_BAD);
    }
    struct auth_result got;
    guess(201, 100); /* an address that never failed */
    while (auth_deadline(a) == UINT64_MAX)
        ck_assert(!auth_take(a, now_ms, &got));
    ck_assert_int_eq(check_from(202, 101, "ben", "wrong"),
                     AUTH_WAIT); /* another name */
    expect(101, AUTH_BAD);
}
END_TEST

START_TEST(an_answer_that_took_long_is_not_kept_back_in_addition)
{
    for (uint64_t i = 0; i < 2 * THROTTLE_FREE; i++)
        guess(1, i);
    now_ms += THROTTLE_MOST_MS;
    for (uint64_t i = 0; i < 2 * THROTTLE_FREE; i++)
        ck_assert_int_eq(result().outcome, AUTH_BAD);
}
END_TEST

START_TEST(a_calm_address_does_not_wait_for_one_that_guesses)
{
    s = secret_of("ann", "right", 0);
    guess(1, 0);
    expect(0, AUTH_BAD);
    for (uint64_t i = 1; i <= 20; i++)
        guess(1, i);
    ck_assert_int_eq(check_from(2, 100, "ann", "right"), AUTH_WAIT);
    unsigned before = 0;
    while (result().conn != 100)
        before++;
    ck_assert_uint_le(before, 3); /* two were being computed */
}
END_TEST

START_TEST(those_that_guess_are_answered_though_calm_ones_keep_coming)
{
    uint16_t next = 100;
    guess(1, 0);
    expect(0, AUTH_BAD);
    for (uint64_t i = 1; i <= 3; i++)
        guess(1, i);
    for (unsigned seen = 0; seen < 3;) {
        for (int i = 0; i < 5; i++, next++)
            guess(next, next);      /* each from an address of its own */
        now_ms += THROTTLE_MOST_MS; /* nothing is kept back */
        seen += result().conn <= 3;
        ck_assert_uint_lt(next, 500);
    }
}
END_TEST

START_TEST(attempts_whose_connection_is_gone_cost_nothing)
{
    s = secret_of("ann", "right", 0);
    for (uint64_t i = 0; i < 20; i++)
        guess(1, i);
    unwanted = (UINT64_C(1) << 20) - 1;
    ck_assert_int_eq(check(63, "ann", "right"), AUTH_WAIT);
    unsigned before = 0;
    while (result().conn != 63)
        before++;
    ck_assert_uint_le(before, 3); /* that were handed out before they left */
}
END_TEST

START_TEST(too_many_that_wait_cost_the_address_they_come_from)
{
    struct auth_result got = {0};
    s = secret_of("ann", "right", 0);
    guess(1, 0);
    expect(0, AUTH_BAD);
    for (uint64_t i = 100; i < 110 + AUTH_WAITING_MOST; i++)
        guess(1, i);
    ck_assert_int_eq(check_from(2, 1, "ann", "right"), AUTH_WAIT);
    unsigned busy = 0;
    while ((got = result()).conn != 1)
        busy += got.outcome == AUTH_BUSY;
    ck_assert_int_eq(got.outcome, AUTH_GOOD);
    ck_assert_uint_gt(busy, 0);
}
END_TEST

START_TEST(generated_passwords_differ_and_need_no_escapes)
{
    char one[33];
    char two[33];
    auth_make_password(one);
    auth_make_password(two);
    ck_assert_str_ne(one, two);
    ck_assert_uint_eq(strlen(one), 32);
    ck_assert_uint_eq(strspn(one, "abcdefghijklmnopqrstuvwxyz0123456789"), 32);
}
END_TEST

/* --- what another node has verified --- */

/* As after a change of leaders: another process, which was told. */
static struct bytes
told_by_this_one(bool has_news)
{
    struct bytes body = {0};
    if (has_news)
        ck_assert(auth_put_news(a, &body));
    else
        auth_put_known(a, &body);
    return body;
}

static void
become_another(void)
{
    const struct auth_options options = {.bell_cb = ring, .is_wanted_cb = is_wanted};
    auth_close(a);
    ck_assert_int_eq(auth_open(&options, &a), ST_OK);
}

START_TEST(what_another_node_has_verified_costs_nothing)
{
    ck_assert_int_eq(check(1, "ann", "right"), AUTH_WAIT);
    ck_assert_int_eq(result().outcome, AUTH_GOOD);
    struct bytes body = told_by_this_one(_i == 0);
    become_another();
    ck_assert_int_eq(auth_learn(a, 7, slice_of(body.data, body.size)), ST_OK);
    ck_assert_int_eq(check(2, "ann", "right"), AUTH_GOOD);
    ck_assert_int_eq(check(3, "ann", "wrong"), AUTH_WAIT);
    ck_assert_int_eq(result().outcome, AUTH_BAD);
    bytes_fini(&body);
}
END_TEST

START_TEST(a_login_that_was_changed_meanwhile_is_verified_anew)
{
    ck_assert_int_eq(check(1, "ann", "right"), AUTH_WAIT);
    ck_assert_int_eq(result().outcome, AUTH_GOOD);
    struct bytes body = told_by_this_one(false);
    become_another();
    ck_assert_int_eq(auth_learn(a, 7, slice_of(body.data, body.size)), ST_OK);
    s = secret_of("ann", "other", 16);
    ck_assert_int_eq(check(2, "ann", "right"), AUTH_WAIT);
    ck_assert_int_eq(result().outcome, AUTH_BAD);
    bytes_fini(&body);
}
END_TEST

/* A peer that was started anew has another key; its old ones are worth nothing. */
START_TEST(a_new_key_of_a_node_forgets_what_it_said_before)
{
    ck_assert_int_eq(check(1, "ann", "right"), AUTH_WAIT);
    ck_assert_int_eq(result().outcome, AUTH_GOOD);
    struct bytes body = told_by_this_one(false);
    become_another();
    struct bytes empty = told_by_this_one(false);
    ck_assert_int_eq(auth_learn(a, 7, slice_of(body.data, body.size)), ST_OK);
    ck_assert_int_eq(auth_learn(a, 7, slice_of(empty.data, empty.size)), ST_OK);
    ck_assert_int_eq(check(2, "ann", "right"), AUTH_WAIT);
    ck_assert_int_eq(result().outcome, AUTH_GOOD);
    bytes_fini(&body);
    bytes_fini(&empty);
}
END_TEST

START_TEST(a_malformed_frame_of_known_logins_is_refused)
{
    uint8_t body[36 + 32] = {1};
    put_u32(body + 32, 1);
    ck_assert_int_eq(auth_learn(a, 7, slice_of(body, sizeof body)), ST_OK);
    ck_assert_int_eq(auth_learn(a, 7, slice_of(body, 35)), ST_INVALID);
    ck_assert_int_eq(auth_learn(a, 7, slice_of(body, sizeof body - 1)), ST_INVALID);
    put_u32(body + 32, 1u << 27);
    ck_assert_int_eq(auth_learn(a, 7, slice_of(body, sizeof body)), ST_INVALID);
}
END_TEST

Suite *
auth_suite(void)
{
    Suite *suite = suite_create("auth");
    TCase *t = tcase_create("auth");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_password_is_right_or_wrong);
    tcase_add_test(t, a_verified_login_is_remembered_until_it_changes);
    tcase_add_test(t, equal_attempts_each_get_their_answer);
    tcase_add_test(t, closing_with_attempts_on_the_way_leaks_nothing);
    tcase_add_test(
        t, failures_are_answered_later_the_more_there_are_and_right_ones_at_once);
    tcase_add_test(t, the_failures_of_a_name_count_from_everywhere);
    tcase_add_test(t, an_answer_that_took_long_is_not_kept_back_in_addition);
    tcase_add_test(t, a_calm_address_does_not_wait_for_one_that_guesses);
    tcase_add_test(t, those_that_guess_are_answered_though_calm_ones_keep_coming);
    tcase_add_test(t, attempts_whose_connection_is_gone_cost_nothing);
    tcase_add_test(t, too_many_that_wait_cost_the_address_they_come_from);
    tcase_add_test(t, generated_passwords_differ_and_need_no_escapes);
    tcase_add_loop_test(t, what_another_node_has_verified_costs_nothing, 0, 2);
    tcase_add_test(t, a_login_that_was_changed_meanwhile_is_verified_anew);
    tcase_add_test(t, a_new_key_of_a_node_forgets_what_it_said_before);
    tcase_add_test(t, a_malformed_frame_of_known_logins_is_refused);
    suite_add_tcase(suite, t);
    return suite;
}
