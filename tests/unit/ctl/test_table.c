/* The table of commands: what every row must hold. */
#include "ctl/table.h"

#include "suites.h"

#include <ctype.h>
#include <string.h>

#define HELP_BYTES 44 /* behind 36 columns: a line of 80 */

#define FOR_EACH(c)                                                                    \
    for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++)

START_TEST(every_row_can_run_the_ways_that_it_names)
{
    FOR_EACH(c)
    {
        ck_assert_msg(c->ways != 0, "%s: no way", c->noun);
        ck_assert_msg(((c->ways & ON_WSS) != 0) == (c->wss_cb != NULL),
                      "%s %s: wss_cb goes with ON_WSS", c->noun, c->verb);
        ck_assert_msg((c->ways & ON_MACHINE) == 0 || c->run_cb != NULL,
                      "%s %s: run_cb goes with ON_MACHINE", c->noun, c->verb);
        ck_assert_msg(c->ways != ON_WSS || c->run_cb == NULL,
                      "%s %s: run_cb is never called", c->noun, c->verb);
        ck_assert(c->max_args < 0 || c->min_args <= c->max_args);
        ck_assert_msg((c->max_args == 0) == (c->arguments[0] == '\0'),
                      "%s %s: arguments and their number", c->noun, c->verb);
    }
}
END_TEST

START_TEST(a_right_fits_the_way)
{
    FOR_EACH(c)
    {
        bool is_client = c->right == RIGHT_LOGIN || c->right == RIGHT_ADMIN;
        ck_assert_msg(is_client == ((c->ways & ON_WSS) != 0), "%s %s", c->noun,
                      c->verb);
        ck_assert_msg((c->right == RIGHT_ANY) == (c->ways == ON_MACHINE), "%s %s",
                      c->noun, c->verb);
    }
}
END_TEST

START_TEST(what_asks_can_be_answered_in_advance)
{
    FOR_EACH(c)
    if (c->question != NULL) {
        ck_assert_msg((table_options(c) & OPT(YES)) != 0, "%s %s: no --yes", c->noun,
                      c->verb);
        ck_assert(strstr(c->question, "%s") == NULL || c->min_args > 0);
    }
}
END_TEST

START_TEST(help_is_one_line_in_one_form)
{
    FOR_EACH(c)
    {
        size_t size = strlen(c->help);
        ck_assert_msg(size > 0 && size <= HELP_BYTES, "%s: %s", c->noun, c->help);
        ck_assert_msg(!isupper((unsigned char)c->help[0]) ||
                          isupper((unsigned char)c->help[1]),
                      "%s", c->help);
        ck_assert_msg(c->help[size - 1] != '.', "%s", c->help);
    }
    for (int i = 0; i < OPTION_IDS; i++) {
        const struct option_info *info = option_info((enum option_id)i);
        ck_assert(info->name != NULL && info->help != NULL);
        ck_assert((info->type == OPTION_TYPE_FLAG) == (info->value == NULL));
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(info->name, option_info((enum option_id)j)->name);
    }
}
END_TEST

START_TEST(rows_of_a_noun_stand_together_and_are_found)
{
    char *words[2];
    const char *last = "";
    FOR_EACH(c)
    {
        int used = 0;
        ck_assert(table_has_noun(c->noun));
        for (const struct ctl_command *d = table_commands(); d != c; d++) {
            ck_assert(strcmp(c->noun, last) == 0 || strcmp(c->noun, d->noun) != 0);
            ck_assert(strcmp(c->noun, d->noun) != 0 || c->verb == NULL ||
                      d->verb == NULL || strcmp(c->verb, d->verb) != 0);
        }
        last = c->noun;
        words[0] = (char *)(uintptr_t)c->noun;
        words[1] = (char *)(uintptr_t)(c->verb != NULL ? c->verb : "anything");
        ck_assert_ptr_eq(table_find(2, words, &used), c);
        ck_assert_int_eq(used, c->verb != NULL ? 2 : 1);
    }
    for (const struct ctl_noun *n = table_nouns(); n->noun != NULL; n++) {
        bool is_there = false;
        FOR_EACH(c)
        is_there |= strcmp(c->noun, n->noun) == 0;
        ck_assert_msg(is_there, "%s has no command", n->noun);
    }
}
END_TEST

START_TEST(what_is_no_command_is_not_found)
{
    char *words[] = {(char[]){"queue"}, (char[]){"lists"}};
    int used = 7;
    ck_assert_ptr_null(table_find(2, words, &used));
    ck_assert_int_eq(used, 0);
    ck_assert_ptr_null(table_find(1, words, &used));
    ck_assert_ptr_null(table_find(0, words, &used));
}
END_TEST

START_TEST(options_are_those_of_the_row_of_its_ways_and_of_all)
{
    char *words[] = {(char[]){"queue"}, (char[]){"create"}};
    int used = 0;
    const struct ctl_command *c = table_find(2, words, &used);
    ck_assert_ptr_nonnull(c);
    ck_assert(table_options(c) ==
              (OPT(JSON) | OPT(HELP) | OPT(SOCKET) | OPT(TIMEOUT) | OPT(TIER)));
}
END_TEST

Suite *
table_suite(void)
{
    Suite *s = suite_create("table");
    TCase *c = tcase_create("table");
    tcase_add_test(c, every_row_can_run_the_ways_that_it_names);
    tcase_add_test(c, a_right_fits_the_way);
    tcase_add_test(c, what_asks_can_be_answered_in_advance);
    tcase_add_test(c, help_is_one_line_in_one_form);
    tcase_add_test(c, rows_of_a_noun_stand_together_and_are_found);
    tcase_add_test(c, what_is_no_command_is_not_found);
    tcase_add_test(c, options_are_those_of_the_row_of_its_ways_and_of_all);
    suite_add_tcase(s, c);
    return s;
}
