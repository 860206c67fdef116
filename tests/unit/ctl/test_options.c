/* The reader of a command line. */
#include "ctl/options.h"

#include "suites.h"

#include <stdio.h>
#include <string.h>

#define WORDS_MAX 12

struct line {
    struct ctl_state state;
    struct options o;
    char *words[WORDS_MAX + 1];
    int count;
    enum ctl_exit code;
};

/* Splits at blanks and reads it. */
static void
read_line(struct line *l, const char *text)
{
    static char buffer[256];
    int argc = 0;
    memset(l, 0, sizeof *l);
    (void)snprintf(buffer, sizeof buffer, "holdfastctl %s", text);
    for (char *at = buffer; at != NULL && argc < WORDS_MAX;) {
        l->words[argc++] = at;
        at = strchr(at, ' ');
        if (at != NULL)
            *at++ = '\0';
    }
    l->code = options_parse(argc, l->words, &l->state, &l->o, &l->count);
}

START_TEST(options_stand_anywhere_and_words_keep_their_order)
{
    struct line l;
    read_line(&l, "--socket /s queue --json create orders --tier dev");
    ck_assert_int_eq(l.code, CTL_DONE);
    ck_assert_int_eq(l.count, 3);
    ck_assert_str_eq(l.words[0], "queue");
    ck_assert_str_eq(l.words[1], "create");
    ck_assert_str_eq(l.words[2], "orders");
    ck_assert_str_eq(l.o.socket, "/s");
    ck_assert_str_eq(l.o.tier, "dev");
    ck_assert(l.o.is_json);
    ck_assert(l.o.given == (OPT(SOCKET) | OPT(JSON) | OPT(TIER)));
}
END_TEST

START_TEST(a_value_may_stand_behind_an_equals_sign)
{
    struct line l;
    read_line(&l, "sub --count=7 --url=wss://h/?a=b");
    ck_assert_int_eq(l.code, CTL_DONE);
    ck_assert_uint_eq(l.o.count, 7);
    ck_assert_str_eq(l.o.url, "wss://h/?a=b");
}
END_TEST

START_TEST(behind_two_dashes_nothing_is_an_option)
{
    struct line l;
    read_line(&l, "pub -- --json -x");
    ck_assert_int_eq(l.code, CTL_DONE);
    ck_assert_int_eq(l.count, 3);
    ck_assert_str_eq(l.words[1], "--json");
    ck_assert_str_eq(l.words[2], "-x");
    ck_assert(!l.o.is_json);
}
END_TEST

START_TEST(one_dash_is_a_word)
{
    struct line l;
    read_line(&l, "pub -");
    ck_assert_int_eq(l.code, CTL_DONE);
    ck_assert_int_eq(l.count, 2);
}
END_TEST

static const struct {
    const char *line;
    const char *error;
} BAD[] = {
    {"queue list --jsn", "there is no option --jsn"},
    {"queue list -j", "there is no option -j"},
    {"queue list --json=yes", "--json takes no value"},
    {"queue list --timeout", "--timeout needs a value: SECS"},
    {"queue list --timeout 0", "--timeout takes a whole number from 1 to 86400"},
    {"queue list --timeout 1x", "--timeout takes a whole number from 1 to 86400"},
    {"queue list --timeout -1", "--timeout takes a whole number from 1 to 86400"},
    {"queue list --timeout=", "--timeout takes a whole number from 1 to 86400"},
    {"sub --count 99999999999999999999",
     "--count takes a whole number from 1 to 1000000000"},
    {"queue create x --tier gold", "--tier takes standard|dev"},
    {"queue create x --tier standard|dev", "--tier takes standard|dev"},
    {"queue create x --tier stand", "--tier takes standard|dev"},
    {"queue create x --tier=", "--tier takes standard|dev"},
};

START_TEST(what_is_wrong_is_named)
{
    struct line l;
    read_line(&l, BAD[_i].line);
    ck_assert_int_eq(l.code, CTL_USAGE);
    ck_assert_str_eq(l.state.error, BAD[_i].error);
}
END_TEST

START_TEST(json_is_known_also_when_what_is_ahead_of_it_is_wrong)
{
    struct line l;
    read_line(&l, "--nonsense queue list --json");
    ck_assert_int_eq(l.code, CTL_USAGE);
    ck_assert(l.o.is_json);
}
END_TEST

START_TEST(help_of_an_option_fits_a_line)
{
    const struct option_info *info = option_info((enum option_id)_i);
    size_t named = strlen("  --") + strlen(info->name);
    if (info->value != NULL)
        named += 1 + strlen(info->value);
    ck_assert_msg(named + 2 <= 36 && 36 + strlen(info->help) <= 80, "%s", info->name);
}
END_TEST

Suite *
options_suite(void)
{
    Suite *s = suite_create("options");
    TCase *c = tcase_create("options");
    tcase_add_test(c, options_stand_anywhere_and_words_keep_their_order);
    tcase_add_test(c, a_value_may_stand_behind_an_equals_sign);
    tcase_add_test(c, behind_two_dashes_nothing_is_an_option);
    tcase_add_test(c, one_dash_is_a_word);
    tcase_add_loop_test(c, what_is_wrong_is_named, 0, sizeof BAD / sizeof BAD[0]);
    tcase_add_test(c, json_is_known_also_when_what_is_ahead_of_it_is_wrong);
    tcase_add_loop_test(c, help_of_an_option_fits_a_line, 0, OPTION_IDS);
    suite_add_tcase(s, c);
    return s;
}
