/* Config: what is read, and that every mistake names file and line. */
#include "server/config.h"

#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char GOOD[] = "node-id = 2\n"
                           "cluster-token = secret\n"
                           "initial-cluster = 1=a:1,2=b:2\n"
                           "initial-cluster = 3=c:3\n"
                           "data-dir = /var/lib/holdfast\n"
                           "client-listen = 127.0.0.1:443,[::1]:443\n"
                           "cluster-listen = b:2\n"
                           "client-cert = c.pem\n"
                           "client-key = c.key\n"
                           "cluster-ca = ca.pem\n"
                           "cluster-cert = n.pem\n"
                           "cluster-key = n.key\n";

static enum status
read_bytes(
    const void *data, size_t count, char *error, size_t size, struct config **ret)
{
    char path[] = "/tmp/holdfast-config-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, count), (ssize_t)count);
    close(fd);
    enum status st = config_read(path, error, size, ret);
    unlink(path);
    return st;
}

static enum status
read_text(const char *text, char *error, size_t size, struct config **ret)
{
    return read_bytes(text, strlen(text), error, size, ret);
}

START_TEST(a_good_config_is_read_with_its_defaults)
{
    char error[256] = "";
    struct config *c = NULL;
    ck_assert_int_eq(read_text(GOOD, error, sizeof error, &c), ST_OK);
    ck_assert_uint_eq(c->node_id, 2);
    ck_assert_uint_eq(c->initial_cluster.count, 3);
    ck_assert_str_eq(c->initial_cluster.members[2].address, "c:3");
    ck_assert_uint_eq(c->client_listen_count, 2);
    ck_assert_str_eq(c->client_listen[1], "[::1]:443");
    ck_assert_str_eq(c->client_advertise, "127.0.0.1:443");
    ck_assert_str_eq(c->control_socket, "/var/lib/holdfast/control.sock");
    ck_assert_uint_eq(c->election_ms, 1000);
    ck_assert_int_eq(c->log_level, LOG_INFO);
    ck_assert_int_eq(c->log_format, LOG_LOGFMT);
    ck_assert_ptr_null(c->http_listen);
    config_free(c);
}
END_TEST

START_TEST(an_address_that_is_none_is_refused_by_name)
{
    static const char *const lines[] = {
        "http-listen = 123456",           "http-listen = 99999",
        "http-listen = nonsense",         "http-listen = 127.0.0.1:9463x",
        "client-listen = 127.0.0.1:443x", "initial-cluster = 4=d:99999"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[2048];
        char error[256] = "";
        char name[32];
        struct config *c = NULL;
        snprintf(text, sizeof text, "%s%s\n", GOOD, lines[i]);
        snprintf(name, sizeof name, "%.*s: bad value", (int)strcspn(lines[i], " "),
                 lines[i]);
        ck_assert_int_eq(read_text(text, error, sizeof error, &c), ST_INVALID);
        ck_assert_msg(strstr(error, name) != NULL, "%s: %s", lines[i], error);
    }
}
END_TEST

START_TEST(a_port_alone_for_http_is_one_of_loopback)
{
    static const char *const values[][2] = {{"9463", "127.0.0.1:9463"},
                                            {"0.0.0.0:9463", "0.0.0.0:9463"},
                                            {"[::1]:1", "[::1]:1"}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[2048];
        char error[256] = "";
        struct config *c = NULL;
        snprintf(text, sizeof text, "%shttp-listen = %s\nlog-format = json\n", GOOD,
                 values[i][0]);
        ck_assert_int_eq(read_text(text, error, sizeof error, &c), ST_OK);
        ck_assert_str_eq(c->http_listen, values[i][1]);
        ck_assert_int_eq(c->log_format, LOG_JSON);
        config_free(c);
    }
}
END_TEST

START_TEST(blanks_around_the_items_of_a_list_do_not_count)
{
    static const char LISTS[] = "initial-cluster = 4= d:4 ,\t5=e:5\t, 6=f:6\n"
                                "client-listen = 10.0.0.1:1 , 10.0.0.2:2\t,h:3\n";
    char text[2048];
    char error[256] = "";
    struct config *c = NULL;
    snprintf(text, sizeof text, "%s%s", GOOD, LISTS);
    ck_assert_int_eq(read_text(text, error, sizeof error, &c), ST_OK);
    ck_assert_uint_eq(c->initial_cluster.count, 6);
    ck_assert_str_eq(c->initial_cluster.members[3].address, "d:4");
    ck_assert_str_eq(c->initial_cluster.members[4].address, "e:5");
    ck_assert_uint_eq(c->client_listen_count, 5);
    ck_assert_str_eq(c->client_listen[2], "10.0.0.1:1");
    ck_assert_str_eq(c->client_listen[3], "10.0.0.2:2");
    config_free(c);
}
END_TEST

START_TEST(a_setting_is_a_start_value_outside_the_range_of_setcfg_too)
{
    char text[2048];
    char error[256] = "";
    struct config *c = NULL;
    snprintf(text, sizeof text, "%smax-messages = 50\nsaved-session-timeout-secs = 2\n",
             GOOD);
    ck_assert_int_eq(read_text(text, error, sizeof error, &c), ST_OK);
    ck_assert(c->has_setting[SETTING_MAX_MESSAGES]);
    ck_assert_uint_eq(c->settings[SETTING_MAX_MESSAGES], 50);
    ck_assert_uint_eq(c->settings[SETTING_SAVED_SESSION_TIMEOUT_SECS], 2);
    ck_assert(!c->has_setting[SETTING_MAX_TASKS]);
    config_free(c);
}
END_TEST

static const struct {
    const char *line;
    const char *what;
} BAD[] = {
    {"max-mesages = 5", ":13: unknown key 'max-mesages'"},
    {"node-id = 3", ":13: node-id stands twice"},
    {"election-ms = fast", ":13: election-ms: bad value 'fast'"},
    {"election-ms = 1", ":13: election-ms: bad value '1'"},
    {"election-ms = -1", ":13: election-ms: bad value '-1'"},
    {"election-ms = 99999999999999999999", ":13: election-ms: bad value"},
    {"initial-cluster = 1=d:4", ":13: initial-cluster: bad value"},
    {"initial-cluster = x=d:4", ":13: initial-cluster: bad value"},
    {"initial-cluster = 4=d", ":13: initial-cluster: bad value"},
    {"client-listen = 443", ":13: client-listen: bad value"},
    {"log-level = loud", ":13: log-level: bad value 'loud'"},
    {"log-format = xml", ":13: log-format: bad value 'xml'"},
    {"max-tasks = 0", ":13: max-tasks: bad value '0'"},
    {"[cluster]\na = b", "there are no sections"},
    {"nonsense", ":13: 'key = value' is wanted"},
    {"nonsense\nmax-mesages = 5", ":13: 'key = value' is wanted"},
    {"max-mesages = 5\nnonsense", ":13: unknown key 'max-mesages'"},
    {"heartbeat-ms = 500", "three times heartbeat-ms"},
};

START_TEST(a_mistake_names_file_and_line)
{
    char text[2048];
    char error[256] = "";
    struct config *c = NULL;
    snprintf(text, sizeof text, "%s%s\n", GOOD, BAD[_i].line);
    ck_assert_int_ne(read_text(text, error, sizeof error, &c), ST_OK);
    ck_assert_ptr_null(c);
    ck_assert_msg(strstr(error, BAD[_i].what) != NULL, "'%s' is not in '%s'",
                  BAD[_i].what, error);
    ck_assert_msg(strstr(error, "/tmp/holdfast-config-") != NULL, "no file in '%s'",
                  error);
}
END_TEST

START_TEST(a_missing_key_is_named)
{
    char text[2048];
    char error[256] = "";
    struct config *c = NULL;
    snprintf(text, sizeof text, "%s", strchr(GOOD, '\n') + 1);
    ck_assert_int_eq(read_text(text, error, sizeof error, &c), ST_INVALID);
    ck_assert_ptr_nonnull(strstr(error, "node-id is missing"));
}
END_TEST

START_TEST(two_members_with_one_address_are_refused)
{
    char text[2048];
    char error[256] = "";
    struct config *c = NULL;
    snprintf(text, sizeof text, "%sinitial-cluster = 7=b:2\n", GOOD);
    ck_assert_int_eq(read_text(text, error, sizeof error, &c), ST_INVALID);
    ck_assert_ptr_nonnull(
        strstr(error, "initial-cluster: nodes 2 and 7 have the same address b:2"));
}
END_TEST

START_TEST(a_line_that_would_be_cut_is_refused)
{
    char text[4096];
    char error[256] = "";
    struct config *c = NULL;
    char line[300];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\0';
    snprintf(text, sizeof text, "%sregion = %s\n", GOOD, line);
    ck_assert_int_eq(read_text(text, error, sizeof error, &c), ST_INVALID);
    ck_assert_ptr_nonnull(strstr(error, ":13: the line is too long"));
}
END_TEST

/* What stands behind it would be lost in silence. */
START_TEST(a_nul_byte_is_refused_with_its_line)
{
    char text[2048];
    char error[256] = "";
    struct config *c = NULL;
    int size = snprintf(text, sizeof text, "%sregion = a.b\nlog-level = info\n", GOOD);
    *strstr(text, "a.b\n") = '\0';
    ck_assert_int_eq(read_bytes(text, (size_t)size, error, sizeof error, &c),
                     ST_INVALID);
    ck_assert_ptr_nonnull(strstr(error, ":13: a NUL byte"));
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    char error[256] = "";
    struct config *c = NULL;
    ck_assert_int_eq(config_read("/nowhere/h.conf", error, sizeof error, &c),
                     ST_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(error, "/nowhere/h.conf"));
}
END_TEST

Suite *
config_suite(void)
{
    Suite *s = suite_create("config");
    TCase *t = tcase_create("config");
    tcase_add_test(t, a_good_config_is_read_with_its_defaults);
    tcase_add_test(t, a_port_alone_for_http_is_one_of_loopback);
    tcase_add_test(t, an_address_that_is_none_is_refused_by_name);
    tcase_add_test(t, blanks_around_the_items_of_a_list_do_not_count);
    tcase_add_test(t, a_setting_is_a_start_value_outside_the_range_of_setcfg_too);
    tcase_add_loop_test(t, a_mistake_names_file_and_line, 0,
                        (int)(sizeof BAD / sizeof BAD[0]));
    tcase_add_test(t, a_missing_key_is_named);
    tcase_add_test(t, two_members_with_one_address_are_refused);
    tcase_add_test(t, a_line_that_would_be_cut_is_refused);
    tcase_add_test(t, a_nul_byte_is_refused_with_its_line);
    tcase_add_test(t, a_missing_file_is_named);
    suite_add_tcase(s, t);
    return s;
}
