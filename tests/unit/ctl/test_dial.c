/* The URLs of queues. */
#include "ctl/dial.h"

#include "suites.h"

static const struct {
    const char *url;
    const char *host; /* NULL: it is refused */
    const char *port;
} URLS[] = {
    {"wss://h", "h", "443"},
    {"wss://h/", "h", "443"},
    {"wss://orders.q.example.net:9443/x?y", "orders.q.example.net", "9443"},
    {"wss://127.0.0.1:65535/", "127.0.0.1", "65535"},
    {"wss://[::1]/", "::1", "443"},
    {"wss://[2001:db8::7]:7/", "2001:db8::7", "7"},
    {"", NULL, NULL},
    {"h", NULL, NULL},
    {"ws://h/", NULL, NULL},
    {"https://h/", NULL, NULL},
    {"wss://", NULL, NULL},
    {"wss:///x", NULL, NULL},
    {"wss://:443/", NULL, NULL},
    {"wss://h:/", NULL, NULL},
    {"wss://h:x/", NULL, NULL},
    {"wss://h:0/", NULL, NULL},
    {"wss://h:65536/", NULL, NULL},
    {"wss://h:99999999999/", NULL, NULL},
    {"wss://[::1/", NULL, NULL},
    {"wss://[::1]x/", NULL, NULL},
};

START_TEST(a_url_has_a_host_and_a_port_or_is_refused)
{
    struct dial_address address = {.host = ""};
    enum status st = dial_parse(URLS[_i].url, &address);
    ck_assert_msg(st == (URLS[_i].host != NULL ? ST_OK : ST_INVALID), "%s",
                  URLS[_i].url);
    if (URLS[_i].host != NULL) {
        ck_assert_str_eq(address.host, URLS[_i].host);
        ck_assert_str_eq(address.port, URLS[_i].port);
    }
}
END_TEST

Suite *
dial_suite(void)
{
    Suite *s = suite_create("dial");
    TCase *c = tcase_create("dial");
    tcase_add_loop_test(c, a_url_has_a_host_and_a_port_or_is_refused, 0,
                        sizeof URLS / sizeof URLS[0]);
    suite_add_tcase(s, c);
    return s;
}
