/* What files of logins may look like. */
#include "ctl/login.h"

#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONE   "{\"username\":\"p\",\"password\":\"1\"}"
#define OTHER "{\"username\":\"a\",\"password\":\"2\"}"

static const struct {
    const char *text;
    const char *role;
    const char *username; /* NULL: there is none */
} CASES[] = {
    {"{\"queue\":\"q\",\"logins\":{\"publisher\":" ONE ",\"admin\":" OTHER "}}",
     "publisher", "p"},
    {"{\"publisher\":" ONE ",\"admin\":" OTHER "}", "admin", "a"},
    {"{\"publisher\":" ONE "}", "admin", NULL},
    {"{\"queue\":\"q\",\"role\":\"admin\",\"username\":\"r\",\"password\":\"3\","
     "\"closed\":0}",
     "admin", "r"},
    {"{\"role\":\"admin\",\"username\":\"r\",\"password\":\"3\"}", "publisher", NULL},
    {"{\"role\":\"admin\",\"username\":\"r\"}", "admin", NULL},
    {"{\"role\":7,\"username\":\"r\",\"password\":\"3\"}", "admin", NULL},
    {"[]", "admin", NULL},
    {"", "admin", NULL},
};

START_TEST(a_login_is_found_in_what_was_printed)
{
    struct login login = {.username = ""};
    bool is_found =
        login_of_role(slice_from_text(CASES[_i].text), CASES[_i].role, &login);
    ck_assert(is_found == (CASES[_i].username != NULL));
    if (is_found)
        ck_assert_str_eq(login.username, CASES[_i].username);
}
END_TEST

static enum ctl_exit
merge(const char *text, struct bytes *logins)
{
    char path[] = "/tmp/holdfast-login-XXXXXX";
    struct ctl_state state = {.has_document = false};
    const struct options o = {.state = &state};
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
    enum ctl_exit code = login_merge_file(&o, path, logins);
    (void)unlink(path);
    return code;
}

START_TEST(a_file_with_one_login_keeps_the_others)
{
    static const char both[] = "{\"publisher\":" ONE ",\"admin\":" OTHER "}";
    static const char changed[] =
        "{\"publisher\":" ONE ",\"admin\":{\"username\":\"a\",\"password\":\"9\"}}";
    struct bytes logins = {0};
    ck_assert_int_eq(merge("{\"queue\":\"q\",\"logins\":{\"admin\":" OTHER
                           ",\"publisher\":" ONE "}}",
                           &logins),
                     CTL_DONE);
    ck_assert(slice_equal(slice_of(logins.data, logins.size), slice_from_text(both)));
    ck_assert_int_eq(
        merge("{\"role\":\"admin\",\"username\":\"a\",\"password\":\"9\"}", &logins),
        CTL_DONE);
    ck_assert(
        slice_equal(slice_of(logins.data, logins.size), slice_from_text(changed)));
    ck_assert_int_eq(merge("{}", &logins), CTL_USAGE);
    ck_assert_int_eq(merge("-----BEGIN", &logins), CTL_FAILED);
    ck_assert(
        slice_equal(slice_of(logins.data, logins.size), slice_from_text(changed)));
    bytes_fini(&logins);
}
END_TEST

Suite *
login_suite(void)
{
    Suite *s = suite_create("login");
    TCase *c = tcase_create("login");
    tcase_add_loop_test(c, a_login_is_found_in_what_was_printed, 0,
                        sizeof CASES / sizeof CASES[0]);
    tcase_add_test(c, a_file_with_one_login_keeps_the_others);
    suite_add_tcase(s, c);
    return s;
}
