/* Auth: right and wrong passwords, equal attempts joined, remembered logins. */
#include "server/auth.h"

#include "suites.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int bell = -1;

static void
ring(void *ctx)
{
    uint64_t one = 1;
    (void)ctx;
    ck_assert_int_eq(write(bell, &one, sizeof one), sizeof one);
}

static struct login_secret
secret_of(const char *name, const char *password)
{
    struct login_secret s;
    memset(&s, 0, sizeof s);
    ck_assert_int_eq(
        auth_make_secret(slice_from_text(name), slice_from_text(password), &s), ST_OK);
    return s;
}

static struct verify
attempt(uint64_t conn,
        const struct login_secret *s,
        const char *name,
        const char *password)
{
    return (struct verify){.conn = conn,
                           .queue = 1,
                           .role = ROLE_PUBLISHER,
                           .secret = s,
                           .username = slice_from_text(name),
                           .password = slice_from_text(password)};
}

/* Waits for the next result. */
static bool
result(struct auth *a, uint64_t *ret_conn)
{
    bool is_good = false;
    for (int i = 0; i < 100; i++) {
        struct pollfd p = {.fd = bell, .events = POLLIN};
        if (auth_take(a, ret_conn, &is_good))
            return is_good;
        uint64_t rung;
        if (poll(&p, 1, 100) > 0)
            ck_assert_int_eq(read(bell, &rung, sizeof rung), sizeof rung);
    }
    ck_abort_msg("no result");
    return false;
}

START_TEST(a_password_is_right_or_wrong)
{
    struct auth *a = NULL;
    uint64_t conn = 0;
    struct login_secret s = secret_of("ann", "right");
    bell = eventfd(0, EFD_NONBLOCK);
    ck_assert_int_eq(auth_open(ring, NULL, &a), ST_OK);
    struct verify v = attempt(1, &s, "ann", "right");
    ck_assert_int_eq(auth_check(a, &v), AUTH_WAIT);
    ck_assert(result(a, &conn));
    ck_assert_uint_eq(conn, 1);
    static const char *const wrong[][2] = {{"ann", "wrong"},
                                           {"ann", ""},
                                           {"ann", "right "},
                                           {"an", "right"},
                                           {"", "right"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        v = attempt(2 + i, &s, wrong[i][0], wrong[i][1]);
        ck_assert_int_eq(auth_check(a, &v), AUTH_WAIT);
        ck_assert(!result(a, &conn));
        ck_assert_uint_eq(conn, 2 + i);
    }
    auth_close(a);
    close(bell);
}
END_TEST

START_TEST(a_verified_login_is_remembered_until_it_changes)
{
    struct auth *a = NULL;
    uint64_t conn = 0;
    struct login_secret s = secret_of("ann", "right");
    struct login_secret changed = secret_of("ann", "other");
    bell = eventfd(0, EFD_NONBLOCK);
    ck_assert_int_eq(auth_open(ring, NULL, &a), ST_OK);
    struct verify v = attempt(1, &s, "ann", "right");
    ck_assert_int_eq(auth_check(a, &v), AUTH_WAIT);
    ck_assert(result(a, &conn));
    ck_assert_int_eq(auth_check(a, &v), AUTH_GOOD);
    v.secret = &changed;
    ck_assert_int_eq(auth_check(a, &v), AUTH_WAIT);
    ck_assert(!result(a, &conn));
    v.secret = &s;
    v.role = ROLE_ADMIN;
    ck_assert_int_eq(auth_check(a, &v), AUTH_WAIT); /* not what was remembered */
    ck_assert(result(a, &conn));
    auth_close(a);
    close(bell);
}
END_TEST

START_TEST(equal_attempts_each_get_their_answer)
{
    struct auth *a = NULL;
    struct login_secret s = secret_of("ann", "right");
    uint64_t seen = 0;
    bell = eventfd(0, EFD_NONBLOCK);
    ck_assert_int_eq(auth_open(ring, NULL, &a), ST_OK);
    for (uint64_t i = 0; i < 50; i++) {
        struct verify v = attempt(i, &s, "ann", "right");
        ck_assert_int_eq(auth_check(a, &v), AUTH_WAIT);
    }
    for (int i = 0; i < 50; i++) {
        uint64_t conn = 0;
        ck_assert(result(a, &conn));
        seen |= UINT64_C(1) << conn;
    }
    ck_assert_uint_eq(seen, (UINT64_C(1) << 50) - 1);
    auth_close(a);
    close(bell);
}
END_TEST

START_TEST(closing_with_attempts_on_the_way_leaks_nothing)
{
    struct auth *a = NULL;
    struct login_secret s = secret_of("ann", "right");
    char password[8];
    bell = eventfd(0, EFD_NONBLOCK);
    ck_assert_int_eq(auth_open(ring, NULL, &a), ST_OK);
    for (int i = 0; i < 5; i++) {
        password[0] = (char)('a' + i);
        password[1] = '\0';
        struct verify v = attempt((uint64_t)i, &s, "ann", password);
        ck_assert_int_eq(auth_check(a, &v), AUTH_WAIT);
    }
    auth_close(a);
    close(bell);
}
END_TEST

START_TEST(generated_passwords_differ_and_need_no_escapes)
{
    char a[33];
    char b[33];
    auth_make_password(a);
    auth_make_password(b);
    ck_assert_str_ne(a, b);
    ck_assert_uint_eq(strlen(a), 32);
    ck_assert_uint_eq(strspn(a, "abcdefghijklmnopqrstuvwxyz0123456789"), 32);
}
END_TEST

Suite *
auth_suite(void)
{
    Suite *s = suite_create("auth");
    TCase *t = tcase_create("auth");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_password_is_right_or_wrong);
    tcase_add_test(t, a_verified_login_is_remembered_until_it_changes);
    tcase_add_test(t, equal_attempts_each_get_their_answer);
    tcase_add_test(t, closing_with_attempts_on_the_way_leaks_nothing);
    tcase_add_test(t, generated_passwords_differ_and_need_no_escapes);
    suite_add_tcase(s, t);
    return s;
}
