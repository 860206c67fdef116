/* Small files: read whole or not at all, made once. */
#include "base/file.h"

#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/holdfast-file-XXXXXX";
static char path[64];

static void
set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/one", dir);
}

static void
tear_down(void)
{
    (void)unlink(path);
    (void)rmdir(dir);
}

START_TEST(a_file_comes_back_as_it_was_made)
{
    struct bytes text = {0};
    struct bytes back = {0};
    struct stat st;
    bytes_put_text(&text, "before");
    for (int i = 0; i < 10000; i++)
        bytes_put_u8(&text, (uint8_t)i);
    ck_assert_int_eq(file_make(path, slice_of(text.data, text.size)), ST_OK);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0600);
    bytes_put_u8(&back, 'x'); /* it is appended */
    ck_assert_int_eq(file_read(path, text.size, &back), ST_OK);
    ck_assert_uint_eq(back.size, text.size + 1);
    ck_assert_mem_eq(back.data + 1, text.data, text.size);
    bytes_clear(&back);
    ck_assert_int_eq(file_read(path, text.size - 1, &back), ST_RANGE);
    bytes_fini(&text);
    bytes_fini(&back);
}
END_TEST

START_TEST(what_is_there_stays_and_what_is_not_is_told)
{
    struct bytes back = {0};
    ck_assert_int_eq(file_read(path, 10, &back), ST_IO);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(file_make(path, slice_from_text("old")), ST_OK);
    ck_assert_int_eq(file_make(path, slice_from_text("new")), ST_EXISTS);
    ck_assert_int_eq(file_read(path, 3, &back), ST_OK);
    ck_assert_mem_eq(back.data, "old", 3);
    ck_assert_int_eq(file_make("/nonexistent/x", slice_from_text("")), ST_IO);
    ck_assert_int_eq(errno, ENOENT);
    bytes_fini(&back);
}
END_TEST

Suite *
suite_file(void)
{
    Suite *suite = suite_create("file");
    TCase *t = tcase_create("file");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_file_comes_back_as_it_was_made);
    tcase_add_test(t, what_is_there_stays_and_what_is_not_is_told);
    suite_add_tcase(suite, t);
    return suite;
}
