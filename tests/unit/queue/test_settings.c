/* Tests of queue/settings.h. */
#include "queue/settings.h"

#include "suites.h"

START_TEST(every_setting_is_found_by_its_name_and_has_a_range)
{
    for (unsigned id = 0; id < SETTING_COUNT; id++) {
        const struct setting_info *info = setting_info((enum setting_id)id);
        ck_assert_int_eq((int)setting_find(slice_from_text(info->name)), (int)id);
        ck_assert(info->least <= info->most);
        ck_assert(info->standard == 0 ||
                  (info->standard >= info->least && info->standard <= info->most));
        ck_assert(info->is_writable == (id < SETTING_MAX_TASKS));
    }
    ck_assert_int_eq((int)setting_find(slice_from_text("max-ws-msg-le")),
                     SETTING_COUNT);
    ck_assert_int_eq((int)setting_find(slice_from_text("")), SETTING_COUNT);
}
END_TEST

START_TEST(defaults_are_those_of_the_manual)
{
    uint64_t v[SETTING_COUNT];
    settings_defaults(TIER_STANDARD, (uint64_t)1 << 30, v);
    ck_assert_uint_eq(v[SETTING_MAX_WS_MSG_LEN], 65536);
    ck_assert_uint_eq(v[SETTING_SAVED_SESSION_TIMEOUT_SECS], 10);
    ck_assert_uint_eq(v[SETTING_STATS_FREQUENCY_SECS], 300);
    ck_assert_uint_eq(v[SETTING_STATS_RETENTION_YRS], 5);
    ck_assert_uint_eq(v[SETTING_MAX_WRITE_QUEUE_BYTES], 4u << 20);
    ck_assert_uint_eq(v[SETTING_MAX_TASKS], 16384);
    ck_assert_uint_eq(v[SETTING_MAX_MESSAGES], 262144);
    ck_assert_uint_eq(v[SETTING_MAX_MESSAGES_MEMORY], (uint64_t)1 << 28);
    settings_defaults(TIER_DEV, (uint64_t)1 << 30, v);
    ck_assert_uint_eq(v[SETTING_SAVED_SESSION_TIMEOUT_SECS], 3600);
    ck_assert_uint_eq(v[SETTING_STATS_FREQUENCY_SECS], 3600);
    ck_assert_uint_eq(v[SETTING_STATS_RETENTION_YRS], 1);
    ck_assert_uint_eq(v[SETTING_MAX_WRITE_QUEUE_BYTES], 1u << 20);
    ck_assert_uint_eq(v[SETTING_MAX_TASKS], 100);
}
END_TEST

START_TEST(memory_sets_bounds_and_they_are_clamped)
{
    uint64_t v[SETTING_COUNT];
    settings_defaults(TIER_STANDARD, 0, v);
    ck_assert_uint_eq(v[SETTING_MAX_TASKS], 1000);
    ck_assert_uint_eq(v[SETTING_MAX_MESSAGES_MEMORY], 64u << 20);
    ck_assert_uint_eq(v[SETTING_MAX_MESSAGES], 65536);
    settings_defaults(TIER_STANDARD, (uint64_t)1 << 50, v);
    ck_assert_uint_eq(v[SETTING_MAX_TASKS], 100000);
    ck_assert_uint_eq(v[SETTING_MAX_MESSAGES], 1000000);
    for (unsigned id = 0; id < SETTING_COUNT; id++) {
        ck_assert(v[id] >= setting_info((enum setting_id)id)->least);
        ck_assert(v[id] <= setting_info((enum setting_id)id)->most);
    }
}
END_TEST

Suite *
suite_settings(void)
{
    Suite *suite = suite_create("settings");
    TCase *tc = tcase_create("settings");
    tcase_add_test(tc, every_setting_is_found_by_its_name_and_has_a_range);
    tcase_add_test(tc, defaults_are_those_of_the_manual);
    tcase_add_test(tc, memory_sets_bounds_and_they_are_clamped);
    suite_add_tcase(suite, tc);
    return suite;
}
