/* Tests of queue/history.h. */
#include "queue/history.h"

#include "suites.h"

#include <string.h>

#define FIRST_DAY 20000u
#define DAY_SECS  86400u

struct seen {
    uint64_t count;
    struct history_row first;
    struct history_row last;
};

static void
see(void *ctx, const struct history_row *row)
{
    struct seen *seen = ctx;
    if (seen->count++ == 0)
        seen->first = *row;
    seen->last = *row;
}

static struct history_row
row_at(uint64_t at_secs)
{
    struct history_row row = {.at_secs = at_secs};
    for (int i = 0; i < HISTORY_COLUMNS_MAX; i++)
        row.columns[i] = 1000 + at_secs / 300 * 7919 % 50 + (uint64_t)i;
    return row;
}

static void
fill(struct history *h, uint64_t rows, uint64_t step_secs)
{
    for (uint64_t i = 0; i < rows; i++) {
        struct history_row row = row_at((uint64_t)FIRST_DAY * DAY_SECS + i * step_secs);
        history_add(h, &row);
    }
}

START_TEST(ten_years_are_small_and_a_day_is_found)
{
    struct history *h = history_new(9);
    uint64_t rows = 3652ull * 288;
    fill(h, rows, 300);
    ck_assert_uint_eq(history_row_count(h), rows);
    ck_assert_uint_lt(history_size_bytes(h), rows * 16);
    struct seen seen = {0};
    history_day(h, FIRST_DAY + 2000, see, &seen);
    ck_assert_uint_eq(seen.count, 288);
    struct history_row first = row_at((FIRST_DAY + 2000ull) * DAY_SECS);
    struct history_row last = row_at((FIRST_DAY + 2001ull) * DAY_SECS - 300);
    ck_assert_mem_eq(&seen.first, &first, sizeof first);
    ck_assert_mem_eq(&seen.last, &last, sizeof last);
    memset(&seen, 0, sizeof seen);
    history_day(h, FIRST_DAY - 1, see, &seen);
    history_day(h, FIRST_DAY + 3652, see, &seen);
    ck_assert_uint_eq(seen.count, 0);
    history_free(h);
}
END_TEST

START_TEST(extreme_values_come_back)
{
    struct history *h = history_new(2);
    struct history_row rows[4] = {{5, {0, UINT64_MAX}},
                                  {5, {UINT64_MAX, 0}},
                                  {86399, {1, UINT64_MAX / 2}},
                                  {86400, {UINT64_MAX, 7}}};
    struct seen seen = {0};
    for (int i = 0; i < 4; i++)
        history_add(h, &rows[i]);
    history_day(h, 0, see, &seen);
    ck_assert_uint_eq(seen.count, 3);
    ck_assert_mem_eq(&seen.first, &rows[0], sizeof rows[0]);
    ck_assert_mem_eq(&seen.last, &rows[2], sizeof rows[2]);
    memset(&seen, 0, sizeof seen);
    history_day(h, 1, see, &seen);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert_mem_eq(&seen.last, &rows[3], sizeof rows[3]);
    history_free(h);
}
END_TEST

START_TEST(removing_the_last_row_leaves_what_was_before)
{
    struct history *h = history_new(3);
    uint32_t crcs[600];
    for (uint64_t i = 0; i < 600; i++) {
        crcs[i] = history_crc(h);
        struct history_row row = row_at(FIRST_DAY * (uint64_t)DAY_SECS + i * 300);
        history_add(h, &row);
    }
    for (uint64_t i = 600; i > 300; i--) {
        history_remove_last(h);
        ck_assert_uint_eq(history_crc(h), crcs[i - 1]);
    }
    for (uint64_t i = 300; i < 600; i++) {
        ck_assert_uint_eq(history_crc(h), crcs[i]);
        struct history_row row = row_at(FIRST_DAY * (uint64_t)DAY_SECS + i * 300);
        history_add(h, &row);
    }
    for (uint64_t i = 600; i > 0; i--)
        history_remove_last(h);
    ck_assert_uint_eq(history_row_count(h), 0);
    history_free(h);
}
END_TEST

START_TEST(cut_days_can_be_put_back)
{
    struct history *h = history_new(3);
    fill(h, 10ull * 288, 300);
    uint32_t crc = history_crc(h);
    uint64_t size = history_row_count(h);
    for (uint64_t day = 0; day <= 11; day++) {
        struct history *cut = history_cut(h, FIRST_DAY + day);
        uint64_t gone = day > 10 ? 10 : day;
        ck_assert_uint_eq(history_row_count(cut), gone * 288);
        ck_assert_uint_eq(history_row_count(h), size - gone * 288);
        history_uncut(h, cut);
        ck_assert_uint_eq(history_crc(h), crc);
        ck_assert_uint_eq(history_row_count(h), size);
    }
    history_trim(h, FIRST_DAY + 9);
    ck_assert_uint_eq(history_row_count(h), 288);
    struct history_row row = row_at((FIRST_DAY + 10ull) * DAY_SECS);
    history_add(h, &row);
    history_trim(h, UINT64_MAX);
    ck_assert_uint_eq(history_row_count(h), 0);
    history_add(h, &row);
    ck_assert_uint_eq(history_row_count(h), 1);
    history_free(h);
}
END_TEST

START_TEST(a_day_may_take_several_blocks)
{
    struct history *h = history_new(9);
    fill(h, 20000, 1);
    ck_assert_uint_gt(history_block_count(h), 1);
    struct seen seen = {0};
    history_day(h, FIRST_DAY, see, &seen);
    ck_assert_uint_eq(seen.count, 20000);
    struct history_row last = row_at((uint64_t)FIRST_DAY * DAY_SECS + 19999);
    ck_assert_mem_eq(&seen.last, &last, sizeof last);
    history_free(h);
}
END_TEST

/* Two blocks of one day: the second must begin where the first ends, not only end
 * behind it. */
START_TEST(a_block_that_begins_before_the_last_row_is_refused)
{
    struct bytes out = {0};
    struct history *h = history_new(9);
    struct history *late = history_new(9);
    uint64_t day_secs = (uint64_t)FIRST_DAY * DAY_SECS;
    for (uint64_t i = 0; i < 2; i++) {
        struct history_row row = row_at(day_secs + 100 + i * 200);
        struct history_row later = row_at(day_secs + 200 + i * 200);
        history_add(h, &row);
        history_add(late, &later);
    }
    history_block_encode(late, 0, &out);
    struct reader r = reader_of(slice_of(out.data, out.size));
    ck_assert_int_eq(history_block_decode(h, &r), ST_CORRUPT);
    ck_assert_uint_eq(history_row_count(h), 2);
    history_free(h);
    history_free(late);
    bytes_fini(&out);
}
END_TEST

START_TEST(encoding_comes_back_and_damage_never_crashes)
{
    struct history *h = history_new(3);
    struct history *again = NULL;
    struct bytes out = {0};
    fill(h, 40, 7200);
    history_encode(h, &out);
    struct reader r = reader_of(slice_of(out.data, out.size));
    ck_assert_int_eq(history_decode(&r, &again), ST_OK);
    ck_assert(reader_done(&r));
    ck_assert_uint_eq(history_crc(again), history_crc(h));
    struct history_row row = row_at((uint64_t)(FIRST_DAY + 9) * DAY_SECS);
    history_add(h, &row);
    history_add(again, &row);
    ck_assert_uint_eq(history_crc(again), history_crc(h));
    history_free(again);
    for (size_t size = 0; size < out.size; size++) {
        r = reader_of(slice_of(out.data, size));
        ck_assert_int_eq(history_decode(&r, &again), ST_CORRUPT);
    }
    for (size_t bit = 0; bit < out.size * 8; bit++) {
        out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        r = reader_of(slice_of(out.data, out.size));
        if (history_decode(&r, &again) == ST_OK)
            history_free(again);
        out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    history_free(h);
    bytes_fini(&out);
}
END_TEST

Suite *
suite_history(void)
{
    Suite *suite = suite_create("history");
    TCase *tc = tcase_create("history");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, ten_years_are_small_and_a_day_is_found);
    tcase_add_test(tc, extreme_values_come_back);
    tcase_add_test(tc, removing_the_last_row_leaves_what_was_before);
    tcase_add_test(tc, cut_days_can_be_put_back);
    tcase_add_test(tc, a_day_may_take_several_blocks);
    tcase_add_test(tc, a_block_that_begins_before_the_last_row_is_refused);
    tcase_add_test(tc, encoding_comes_back_and_damage_never_crashes);
    suite_add_tcase(suite, tc);
    return suite;
}
