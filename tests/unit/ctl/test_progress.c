/* The line that shows how far long work is. */
#include "ctl/progress.h"

#include "suites.h"

static const struct {
    enum progress_unit unit;
    uint64_t done;
    uint64_t total;
    uint64_t elapsed_ms;
    size_t width;
    const char *line;
} CASES[] = {
    {PROGRESS_COUNT, 50, 200, 500, 0, "join   25%  50 of 200"},
    {PROGRESS_COUNT, 50, 200, 20000, 0, "join   25%  50 of 200, 1 min 00 s left"},
    {PROGRESS_COUNT, 5, 10, 1000, 46, "join  [######-------]  50%  5 of 10, 1 s left"},
    {PROGRESS_COUNT, 12, 10, 1000, 0, "join  100%  10 of 10, 0 s left"},
    {PROGRESS_BYTES, 1536, 0, 1000, 80, "join  1.5 KiB"},
    {PROGRESS_BYTES, 1023, 1u << 30, 10, 0, "join    0%  1023 bytes of 1.0 GiB"},
    {PROGRESS_COUNT, 1, 7300, 1000, 0, "join    0%  1 of 7300, 2 h 01 min left"},
    {PROGRESS_COUNT, 0, 10, 5000, 0, "join    0%  0 of 10"},
};

START_TEST(a_line_says_how_much_and_how_long)
{
    struct progress p = {.what = "join", .unit = CASES[_i].unit};
    struct bytes out = {0};
    ctl_progress_format(&p, CASES[_i].done, CASES[_i].total, CASES[_i].elapsed_ms,
                        CASES[_i].width, &out);
    bytes_put_u8(&out, 0);
    ck_assert_str_eq((const char *)out.data, CASES[_i].line);
    ck_assert(CASES[_i].width == 0 || out.size - 1 < CASES[_i].width);
    bytes_fini(&out);
}
END_TEST

START_TEST(what_is_over_at_once_shows_nothing)
{
    struct progress p;
    ctl_progress_begin(&p, "join", PROGRESS_COUNT);
    ctl_progress_update(&p, 1, 2);
    ck_assert(!p.is_shown);
    ctl_progress_end(&p);
    ctl_progress_end(&p);
}
END_TEST

Suite *
progress_suite(void)
{
    Suite *s = suite_create("progress");
    TCase *c = tcase_create("progress");
    tcase_add_loop_test(c, a_line_says_how_much_and_how_long, 0,
                        sizeof CASES / sizeof CASES[0]);
    tcase_add_test(c, what_is_over_at_once_shows_nothing);
    suite_add_tcase(s, c);
    return s;
}
