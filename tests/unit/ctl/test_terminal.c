/* Tables of text. */
#include "ctl/terminal.h"

#include "suites.h"

#include <stdio.h>

static void
expect(size_t width, const char *wanted)
{
    struct grid g;
    struct bytes out = {0};
    static const char *const cells[] = {"name",   "messages", "address",
                                        "orders", "12345",    "localhost:9443",
                                        "a",      "7",        "b"};
    grid_init(&g, 3, 1u << 1);
    for (size_t i = 0; i < 9; i++)
        grid_put_text(&g, cells[i]);
    grid_write(&g, width, &out);
    bytes_put_u8(&out, 0);
    ck_assert_str_eq((const char *)out.data, wanted);
    bytes_fini(&out);
    grid_fini(&g);
}

START_TEST(numbers_stand_to_the_right_and_nothing_is_cut_without_a_terminal)
{
    expect(0, "name    messages  address\n"
              "orders     12345  localhost:9443\n"
              "a              7  b");
}
END_TEST

START_TEST(a_table_that_fits_is_whole)
{
    expect(32, "name    messages  address\n"
               "orders     12345  localhost:9443\n"
               "a              7  b");
}
END_TEST

START_TEST(the_widest_text_is_cut_first)
{
    expect(28, "name    messages  address\n"
               "orders     12345  localhost\xe2\x80\xa6\n"
               "a              7  b");
}
END_TEST

START_TEST(a_line_that_cannot_fit_is_cut_at_its_end)
{
    expect(12, "name    mes\xe2\x80\xa6\n"
               "orders     \xe2\x80\xa6\n"
               "a          \xe2\x80\xa6");
}
END_TEST

START_TEST(columns_are_counted_in_letters_and_controls_are_not_shown)
{
    struct grid g;
    struct bytes out = {0};
    grid_init(&g, 2, 0);
    grid_put_text(&g, "gr\xc3\xbc\xc3\x9f"
                      "e");
    grid_put_text(&g, "x");
    grid_put_text(&g, "\033[2J");
    grid_put_u64(&g, 18446744073709551615u);
    grid_write(&g, 0, &out);
    bytes_put_u8(&out, 0);
    ck_assert_str_eq((const char *)out.data, "gr\xc3\xbc\xc3\x9f"
                                             "e  x\n"
                                             "?[2J   18446744073709551615");
    bytes_fini(&out);
    grid_fini(&g);
}
END_TEST

START_TEST(a_file_is_no_terminal)
{
    FILE *f = tmpfile();
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(terminal_width(fileno(f)), 0);
    (void)fclose(f);
}
END_TEST

START_TEST(times_and_durations_are_for_people)
{
    static const struct {
        uint64_t secs;
        const char *duration;
    } cases[] = {{0, "-"},          {1, "1s"},     {59, "59s"},     {60, "1m"},
                 {61, "1m1s"},      {3600, "1h"},  {5400, "1h30m"}, {3661, "1h1m"},
                 {86399, "23h59m"}, {86400, "1d"}, {172800, "2d"},  {100000, "1d3h"}};
    char text[TERMINAL_TIME_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        terminal_duration(cases[i].secs, text);
        ck_assert_str_eq(text, cases[i].duration);
    }
    terminal_time(1794233033, text);
    ck_assert_str_eq(text, "2026-11-09 14:03:53");
    terminal_time(0, text);
    ck_assert_str_eq(text, "-");
    terminal_time(UINT64_C(253402300799), text);
    ck_assert_str_eq(text, "9999-12-31 23:59:59");
    terminal_time(UINT64_MAX, text);
    ck_assert_str_eq(text, "-");
}
END_TEST

Suite *
terminal_suite(void)
{
    Suite *s = suite_create("terminal");
    TCase *c = tcase_create("terminal");
    tcase_add_test(c, numbers_stand_to_the_right_and_nothing_is_cut_without_a_terminal);
    tcase_add_test(c, a_table_that_fits_is_whole);
    tcase_add_test(c, the_widest_text_is_cut_first);
    tcase_add_test(c, a_line_that_cannot_fit_is_cut_at_its_end);
    tcase_add_test(c, columns_are_counted_in_letters_and_controls_are_not_shown);
    tcase_add_test(c, a_file_is_no_terminal);
    tcase_add_test(c, times_and_durations_are_for_people);
    suite_add_tcase(s, c);
    return s;
}
