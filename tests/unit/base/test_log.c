/* Tests of base/log, through a pipe. */
#include "base/log.h"

#include "suites.h"

#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];

static void
set_up(void)
{
    ck_assert_int_eq(pipe(ends), 0);
    log_init(ends[1], 7, LOG_INFO);
}

static void
tear_down(void)
{
    log_init(STDERR_FILENO, 0, LOG_INFO);
    log_set_format(LOG_LOGFMT);
    close(ends[0]);
    close(ends[1]);
}

/* The one line that was logged, with its newline; "" when there was none. */
static const char *
logged(void)
{
    static char text[8192];
    (void)!write(ends[1], "|", 1); /* so that read() never waits */
    ssize_t size = read(ends[0], text, sizeof(text) - 1);
    ck_assert_int_ge(size, 1);
    ck_assert_int_eq(text[size - 1], '|');
    text[size - 1] = '\0';
    return text;
}

static void
check_matches(const char *text, const char *pattern)
{
    regex_t regex;
    ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    ck_assert_msg(regexec(&regex, text, 0, NULL, 0) == 0, "\"%s\" is not like \"%s\"",
                  text, pattern);
    regfree(&regex);
}

#define TIME_PATTERN                                                                   \
    "^ts=20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}"  \
    "Z "

START_TEST(a_line_has_the_documented_fields)
{
    log_event(LOG_INFO, "leader.elected", "term=%d peer=%s", 7, log_quote("a b"));
    check_matches(logged(), TIME_PATTERN
                  "level=info node=7 event=leader.elected term=7 peer=\"a b\"\n$");
    log_event(LOG_ERROR, "log.failed", "%s", "");
    check_matches(logged(), TIME_PATTERN "level=error node=7 event=log.failed\n$");
}
END_TEST

START_TEST(a_line_can_be_json)
{
    log_set_format(LOG_JSON);
    log_event(LOG_INFO, "leader.elected", "term=%d peer=%s", 7, log_quote("a \"b\""));
    check_matches(logged(),
                  "^\\{\"ts\":\"20[^\"]+Z\",\"level\":\"info\",\"node\":7,\"event\":"
                  "\"leader\\.elected\",\"term\":7,\"peer\":\"a \\\\\"b\\\\\"\"\\}\n$");
    log_init(ends[1], 0, LOG_INFO);
    log_event(LOG_WARN, "node.started", "");
    check_matches(logged(), "\"level\":\"warn\",\"event\":\"node\\.started\"\\}\n$");
}
END_TEST

START_TEST(format_names_are_read_back)
{
    enum log_format format = LOG_LOGFMT;
    ck_assert_int_eq(log_format_parse("json", &format), ST_OK);
    ck_assert_int_eq(format, LOG_JSON);
    ck_assert_int_eq(log_format_parse("logfmt", &format), ST_OK);
    ck_assert_int_eq(format, LOG_LOGFMT);
    ck_assert_int_eq(log_format_parse("xml", &format), ST_INVALID);
}
END_TEST

START_TEST(no_fields_and_no_node_leave_nothing_behind)
{
    log_init(ends[1], 0, LOG_INFO);
    log_event(LOG_WARN, "node.started", "");
    check_matches(logged(), TIME_PATTERN "level=warn event=node.started\n$");
}
END_TEST

START_TEST(a_level_silences_those_below)
{
    log_event(LOG_DEBUG, "a.b", "x=1");
    ck_assert_str_eq(logged(), "");
    ck_assert(!log_enabled(LOG_DEBUG));
    log_set_level(LOG_DEBUG);
    ck_assert(log_enabled(LOG_DEBUG));
    log_event(LOG_DEBUG, "a.b", "x=1");
    check_matches(logged(), " level=debug ");
    log_set_level(LOG_ERROR);
    ck_assert(!log_enabled(LOG_WARN));
    log_event(LOG_WARN, "a.b", "x=1");
    ck_assert_str_eq(logged(), "");
}
END_TEST

START_TEST(level_names_are_read_back)
{
    for (int i = LOG_ERROR; i <= LOG_DEBUG; i++) {
        enum log_level level = LOG_ERROR;
        ck_assert_int_eq(log_level_parse(log_level_name((enum log_level)i), &level),
                         ST_OK);
        ck_assert_int_eq((int)level, i);
    }
    enum log_level level = LOG_WARN;
    ck_assert_int_eq(log_level_parse("INFO", &level), ST_INVALID);
    ck_assert_int_eq(log_level_parse("", &level), ST_INVALID);
    ck_assert_int_eq(level, LOG_WARN);
}
END_TEST

START_TEST(a_newline_cannot_forge_a_line)
{
    log_event(LOG_INFO, "a.b", "x=%s", "1\nts=2026 level=error\r\t\x7f");
    check_matches(logged(), " x=1 ts_=2026 level_=error\n$");
}
END_TEST

START_TEST(a_line_that_is_too_long_is_cut)
{
    char text[6000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_event(LOG_INFO, "a.b", "x=%s", text);
    const char *line = logged();
    ck_assert_uint_le(strlen(line), 4096);
    check_matches(line, " x=\"x+\\.\\.\\.\" cut=true\n$");
    log_set_format(LOG_JSON);
    log_event(LOG_INFO, "a.b", "x=%s", text);
    line = logged();
    ck_assert_uint_le(strlen(line), 4096);
    check_matches(line, "\"x\":\"x+\\.\\.\\.\",\"cut\":\"true\"\\}\n$");
}
END_TEST

START_TEST(values_are_quoted_where_they_must_be)
{
    ck_assert_str_eq(log_quote("plain-word_1:2/3"), "plain-word_1:2/3");
    ck_assert_str_eq(log_quote(""), "\"\"");
    ck_assert_str_eq(log_quote("a=b"), "\"a=b\"");
    ck_assert_str_eq(log_quote("say \"hi\"\\"), "\"say \\\"hi\\\"\\\\\"");
    ck_assert_str_eq(log_quote("a\nb\x01\x7f"), "\"a\\u000ab\\u0001\\u007f\"");
    ck_assert_str_eq(log_quote("\xc3\xa9\xf0\x9f\x98\x80"),
                     "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    ck_assert_str_eq(log_quote("\xff\xc3"), "\"\\ufffd\\ufffd\"");
}
END_TEST

START_TEST(a_long_value_is_cut_between_characters)
{
    char text[2000];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 2 < sizeof(text); i += 2)
            memcpy(text + i, "\xc3\xa9", 3);
        const char *quoted = log_quote(text);
        size_t size = strlen(quoted);
        ck_assert_uint_lt(size, 512);
        ck_assert_uint_gt(size, 500);
        ck_assert_str_eq(quoted + size - 4, "...\"");
        ck_assert_uint_eq((size - 5 - shift) % 2, 0);
    }
    memset(text, 'x', sizeof(text));
    text[511] = '\0'; /* the longest that stays as it is */
    ck_assert_str_eq(log_quote(text), text);
    text[511] = 'x';
    text[512] = '\0';
    ck_assert_uint_eq(strlen(log_quote(text)), 511);
}
END_TEST

START_TEST(eight_quotes_are_valid_at_once)
{
    const char *quotes[8];
    char text[2] = "a";
    for (int i = 0; i < 8; i++, text[0]++)
        quotes[i] = log_quote(text);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(quotes[i][0], 'a' + i);
}
END_TEST

static void *
log_much(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        log_event(LOG_INFO, "a.b", "x=%s", log_quote("some words"));
        log_set_level(LOG_INFO);
    }
    return NULL;
}

START_TEST(threads_do_not_mix_lines)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, log_much, NULL), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    char line[1000];
    int count = 0;
    for (; fgets(line, sizeof(line), in) != NULL; count++)
        check_matches(line,
                      TIME_PATTERN "level=info node=7 event=a.b x=\"some words\"\n$");
    ck_assert_int_eq(count, 200);
    (void)fclose(in);
}
END_TEST

Suite *
suite_log(void)
{
    const TTest *const tests[] = {
        a_line_has_the_documented_fields,
        a_line_can_be_json,
        format_names_are_read_back,
        no_fields_and_no_node_leave_nothing_behind,
        a_level_silences_those_below,
        level_names_are_read_back,
        a_newline_cannot_forge_a_line,
        a_line_that_is_too_long_is_cut,
        values_are_quoted_where_they_must_be,
        a_long_value_is_cut_between_characters,
        eight_quotes_are_valid_at_once,
        threads_do_not_mix_lines,
    };
    Suite *suite = suite_create("log");
    TCase *tcase = tcase_create("log");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    for (size_t i = 0; i < COUNT_OF(tests); i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}
