/* Tests of time limits and sizes: what is too late or too big, and how it ends. */
#include "client.h"
#include "net/conn_steps.h"
#include "rig.h"
#include "suites.h"

#include <string.h>

static struct rig rig;
static struct client client;

static void
open_with(struct net_queue queue)
{
    struct rig_options options = {.queue = queue};
    rig_open(&rig, &options);
}

static void
close_all(void)
{
    client_free(&client);
    AWAIT(rig_counts(&rig).open_clients == 0);
    ck_assert_uint_eq(rig_counts(&rig).pending_logins, 0);
    rig_close(&rig);
}

/* It must end between one and three seconds after start. */
static void
expect_timeout(uint64_t start)
{
    if (client.ssl != NULL)
        client_expect_gone(&client);
    else
        ck_assert_uint_eq(client_read_plain(&client, (char[1]){0}, 1), 0);
    uint64_t took = test_now_ms() - start;
    ck_assert_uint_ge(took, 950);
    ck_assert_uint_lt(took, 3000);
}

START_TEST(a_connection_that_says_nothing_is_closed_in_time)
{
    open_with((struct net_queue){.login_timeout_secs = 1});
    uint64_t start = test_now_ms();
    client_connect(&client, rig.port);
    expect_timeout(start);
    close_all();
}
END_TEST

START_TEST(tls_without_an_upgrade_is_closed_in_time)
{
    open_with((struct net_queue){.login_timeout_secs = 1});
    uint64_t start = test_now_ms();
    client_connect(&client, rig.port);
    client_tls(&client);
    ck_assert(client_send(&client, "GET / HTTP/1.1\r\n", 16));
    expect_timeout(start);
    close_all();
}
END_TEST

START_TEST(pings_do_not_extend_the_time_for_the_login)
{
    open_with((struct net_queue){.login_timeout_secs = 1});
    uint64_t start = test_now_ms();
    client_connect(&client, rig.port);
    client_upgrade(&client, "localhost", "");
    while (client_send_frame(&client, FRAME_PING, "", 0) &&
           test_now_ms() < start + 5000)
        if (client_read(&client).opcode == -1)
            break;
    expect_timeout(start);
    close_all();
}
END_TEST

START_TEST(dribbled_bytes_do_not_extend_the_time_for_the_login)
{
    open_with((struct net_queue){.login_timeout_secs = 1});
    uint64_t start = test_now_ms();
    client_connect(&client, rig.port);
    client_tls(&client);
    while (client_send(&client, "G", 1) && test_now_ms() < start + 5000) {
        struct timespec nap = {.tv_nsec = 20000000};
        nanosleep(&nap, NULL);
        if (rig_counts(&rig).open_clients == 0)
            break;
    }
    uint64_t took = test_now_ms() - start;
    ck_assert_uint_lt(took, 3000);
    close_all();
}
END_TEST

START_TEST(a_login_that_came_in_time_is_answered_though_late)
{
    open_with((struct net_queue){.login_timeout_secs = 1});
    rig_hold_logins(&rig);
    uint64_t start = test_now_ms();
    client_connect(&client, rig.port);
    client_upgrade(&client, "localhost", "");
    client_send_login(&client, "publisher", "good");
    rig_await_held(&rig, 1);
    while (test_now_ms() < start + 1300)
        test_nap();
    rig_release(&rig);
    client_expect(&client, LOGIN_OK);
    close_all();
}
END_TEST

START_TEST(a_login_that_the_core_does_not_answer_is_closed_in_the_end)
{
    static struct shared shared;
    directory_init(&shared.directory);
    struct worker worker = {.shared = &shared};
    struct conn c = {.worker = &worker, .accepted_ms = 1000, .login_ms = 5000};
    c.state = CONN_LOGIN;
    ck_assert_int_eq(conn_what_is_due(&c, 10999), CONN_DUE_NOTHING);
    ck_assert_int_eq(conn_what_is_due(&c, 11000), CONN_DUE_LOGIN);
    c.state = CONN_LOGIN_WAIT;
    ck_assert_int_eq(conn_what_is_due(&c, 4999 + LIMIT_LOGIN_ANSWER_MS),
                     CONN_DUE_NOTHING);
    ck_assert_int_eq(conn_what_is_due(&c, 5000 + LIMIT_LOGIN_ANSWER_MS),
                     CONN_DUE_LOGIN);
    directory_fini(&shared.directory);
}
END_TEST

START_TEST(before_the_queue_is_known_the_longest_time_counts)
{
    open_with((struct net_queue){.login_timeout_secs = 1});
    struct net_queue patient = {
        .number = 9, .name = "patient", .login_timeout_secs = 2};
    rig_set_queue(&rig, &patient);
    uint64_t start = test_now_ms();
    client_connect(&client, rig.port);
    ck_assert_uint_eq(client_read_plain(&client, (char[1]){0}, 1), 0);
    ck_assert_uint_ge(test_now_ms() - start, 1950);
    close_all();
}
END_TEST

START_TEST(a_shorter_time_counts_for_connections_that_are_there)
{
    open_with((struct net_queue){.login_timeout_secs = 300});
    client_connect(&client, rig.port);
    AWAIT(rig_counts(&rig).open_clients == 1);
    struct net_queue shorter = {.login_timeout_secs = 1};
    rig_set_queue(&rig, &shorter);
    ck_assert_uint_eq(client_read_plain(&client, (char[1]){0}, 1), 0);
    close_all();
}
END_TEST

START_TEST(a_connection_over_the_slots_is_closed_with_no_message)
{
    struct client more;
    open_with((struct net_queue){.max_connections = 1});
    client_login(&client, rig.port, "publisher");
    for (int i = 0; i < 3; i++) {
        client_connect(&more, rig.port);
        client_tls(&more);
        static const char request[] =
            "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n";
        ck_assert(client_send(&more, request, sizeof request - 1));
        client_expect_end(&more);
        client_free(&more);
    }
    ck_assert(client_send_text(&client, PUBLISH));
    client_expect(&client, LOGIN_OK);
    client_free(&client);
    AWAIT(rig_counts(&rig).open_clients == 0);
    client_login(&client, rig.port, "publisher");
    close_all();
}
END_TEST

START_TEST(a_message_in_fragments_must_come_in_time)
{
    open_with((struct net_queue){.message_timeout_secs = 1});
    client_login(&client, rig.port, "publisher");
    uint64_t start = test_now_ms();
    ck_assert(client_send_frame(&client, 0x01, "{\"bo", 4));
    client_expect_close(&client, 1008);
    client_expect_end(&client);
    ck_assert_uint_ge(test_now_ms() - start, 950);
    rig_await_closed(&rig, 1);
    ck_assert_uint_eq(rig_counts(&rig).closes_total[3], 1);
    close_all();
}
END_TEST

START_TEST(fragments_in_time_are_one_message)
{
    open_with((struct net_queue){.message_timeout_secs = 1});
    client_login(&client, rig.port, "publisher");
    for (int i = 0; i < 3; i++) {
        ck_assert(client_send_frame(&client, 0x01, "{\"body\":", 8));
        ck_assert(client_send_frame(&client, FRAME_PING, "", 0));
        ck_assert(client_send_frame(&client, 0x00, "\"abc\"", 5));
        ck_assert(client_send_frame(&client, 0x80, "}", 1));
        ck_assert_int_eq(client_read(&client).opcode, 10);
        client_expect(&client, LOGIN_OK);
    }
    ck_assert_uint_eq(rig_read(&rig, &rig.request_bytes_total), 9);
    close_all();
}
END_TEST

START_TEST(a_message_over_the_limit_closes_with_1009)
{
    static char big[70000];
    memset(big, 'x', sizeof(big));
    open_with((struct net_queue){.max_message_bytes = 65536});
    client_login(&client, rig.port, "publisher");
    ck_assert(client_send_frame(&client, FRAME_TEXT, big, 65536));
    client_expect(&client, LOGIN_OK);
    (void)client_send_frame(&client, FRAME_TEXT, big, 65537);
    client_expect_close(&client, 1009);
    client_expect_end(&client);
    ck_assert_uint_eq(rig_read(&rig, &rig.requests), 1);
    close_all();
}
END_TEST

START_TEST(a_new_limit_counts_for_open_connections_at_once)
{
    static char big[5000];
    memset(big, 'x', sizeof(big));
    open_with((struct net_queue){.max_message_bytes = 65536});
    client_login(&client, rig.port, "publisher");
    ck_assert(client_send_frame(&client, FRAME_TEXT, big, sizeof(big)));
    client_expect(&client, LOGIN_OK);
    struct net_queue smaller = {.max_message_bytes = 1024};
    rig_set_queue(&rig, &smaller);
    ck_assert(client_send_frame(&client, FRAME_TEXT, big, sizeof(big)));
    client_expect_close(&client, 1009);
    close_all();
}
END_TEST

START_TEST(the_wrong_bytes_close_with_their_code)
{
    static const struct {
        uint8_t first;
        const char *payload;
        unsigned code;
    } cases[] = {
        {FRAME_TEXT, "\xc0\xaf", 1007},
        {0x83, "x", 1002},
        {0x80, "x", 1002},
        {0xc1, "x", 1002},
        {0x09, "x", 1002},
    };
    open_with((struct net_queue){0});
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        client_login(&client, rig.port, "publisher");
        ck_assert(client_send_frame(&client, cases[i].first, cases[i].payload,
                                    strlen(cases[i].payload)));
        client_expect_close(&client, cases[i].code);
        client_expect_end(&client);
        client_free(&client);
    }
    rig_await_closed(&rig, 5);
    close_all();
}
END_TEST

START_TEST(packed_rubbish_closes_with_1011)
{
    open_with((struct net_queue){0});
    client_connect(&client, rig.port);
    client_upgrade(&client, "localhost",
                   "Sec-WebSocket-Extensions: permessage-deflate\r\n");
    ck_assert(client_send_frame(&client, 0xc1, "\xff\xff\xff\xff\xff", 5));
    client_expect_close(&client, 1011);
    client_expect_end(&client);
    close_all();
}
END_TEST

Suite *
suite_limits(void)
{
    Suite *s = suite_create("limits");
    TCase *t = tcase_create("limits");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_connection_that_says_nothing_is_closed_in_time);
    tcase_add_test(t, tls_without_an_upgrade_is_closed_in_time);
    tcase_add_test(t, pings_do_not_extend_the_time_for_the_login);
    tcase_add_test(t, dribbled_bytes_do_not_extend_the_time_for_the_login);
    tcase_add_test(t, a_login_that_came_in_time_is_answered_though_late);
    tcase_add_test(t, a_login_that_the_core_does_not_answer_is_closed_in_the_end);
    tcase_add_test(t, before_the_queue_is_known_the_longest_time_counts);
    tcase_add_test(t, a_shorter_time_counts_for_connections_that_are_there);
    tcase_add_test(t, a_connection_over_the_slots_is_closed_with_no_message);
    tcase_add_test(t, a_message_in_fragments_must_come_in_time);
    tcase_add_test(t, fragments_in_time_are_one_message);
    tcase_add_test(t, a_message_over_the_limit_closes_with_1009);
    tcase_add_test(t, a_new_limit_counts_for_open_connections_at_once);
    tcase_add_test(t, the_wrong_bytes_close_with_their_code);
    tcase_add_test(t, packed_rubbish_closes_with_1011);
    suite_add_tcase(s, t);
    return s;
}
