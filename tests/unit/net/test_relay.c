/* Tests of relays: two nets in one process, one of which leads. */
#include "client.h"
#include "rig.h"
#include "suites.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LEADER 1

static struct rig leader;
static struct rig follower;
static struct client client;
static char address[64];

static void
set_up(void)
{
    struct rig_options leads = {.node = LEADER};
    struct rig_options follows = {.node = 2, .is_waiting = true};
    rig_open(&leader, &leads);
    rig_open(&follower, &follows);
    snprintf(address, sizeof(address), "127.0.0.1:%u", leader.port);
}

static void
tear_down(void)
{
    client_free(&client);
    AWAIT(rig_counts(&leader).open_clients == 0);
    AWAIT(rig_counts(&follower).open_relays == 0);
    AWAIT(rig_counts(&leader).pending_logins == 0);
    AWAIT(rig_counts(&follower).pending_logins == 0);
    rig_close(&follower);
    rig_close(&leader);
}

static void
relay(void)
{
    rig_relay_to(&follower, LEADER, address, RIG_KEY_BYTE);
}

static void
log_in(void)
{
    client_upgrade(&client, "localhost", "");
    client_send_login(&client, "subscriber", "good");
    client_expect_begin(&client, "{\"status\":\"Success.\"");
}

START_TEST(a_client_of_a_follower_is_served_by_the_leader)
{
    relay();
    client_login(&client, follower.port, "publisher");
    for (int i = 0; i < 100; i++) {
        ck_assert(client_send_text(&client, PUBLISH));
        client_expect(&client, LOGIN_OK);
    }
    ck_assert_uint_eq(rig_counts(&follower).open_relays, 1);
    ck_assert_uint_eq(rig_counts(&follower).open_clients, 0);
    ck_assert_uint_eq(rig_counts(&leader).open_clients, 1);
}
END_TEST

START_TEST(a_leader_that_closes_ends_as_it_does_without_a_relay)
{
    relay();
    client_login(&client, follower.port, "subscriber");
    ck_assert(client_send_text(&client, "{\"logout\":true}"));
    client_expect(&client, "{\"status\":\"Logout Success.\"}");
    client_expect_close(&client, 1000);
    client_expect_end(&client);
}
END_TEST

START_TEST(a_name_is_looked_up)
{
    snprintf(address, sizeof(address), "localhost:%u", leader.port);
    relay();
    client_login(&client, follower.port, "publisher");
}
END_TEST

START_TEST(much_passes_in_both_directions)
{
    relay();
    client_login(&client, follower.port, "subscriber");
    uint64_t conn = rig_last_conn(&leader);
    for (int i = 0; i < 50; i++) {
        rig_deliver(&leader, conn, 10, 100000);
        for (int k = 0; k < 10; k++)
            ck_assert_uint_gt(client_read(&client).payload.size, 100000);
    }
    client_free(&client);
    rig_await_closed(&leader, 1);
    ck_assert_uint_eq(rig_closed_of(&leader, conn).frames_sent, 500);
}
END_TEST

START_TEST(a_slow_reader_slows_the_leader_not_the_relay)
{
    relay();
    client_connect_slow(&client, follower.port, 16384);
    log_in();
    uint64_t conn = rig_last_conn(&leader);
    for (int i = 0; i < 2000 && rig_counts(&leader).dropped_slow_total == 0; i++) {
        rig_deliver(&leader, conn, 10, 10000);
        test_nap();
    }
    rig_await_closed(&leader, 1);
    uint64_t count = 0;
    while (client_read(&client).opcode == 1)
        count++;
    ck_assert_uint_eq(count, rig_closed_of(&leader, conn).frames_sent);
}
END_TEST

START_TEST(who_waits_is_relayed_as_soon_as_there_is_a_leader)
{
    client_connect(&client, follower.port);
    AWAIT(rig_counts(&follower).pending_logins == 1);
    relay();
    log_in();
}
END_TEST

START_TEST(who_waits_is_served_as_soon_as_this_node_leads)
{
    client_connect(&client, follower.port);
    AWAIT(rig_counts(&follower).pending_logins == 1);
    rig_serve(&follower);
    log_in();
    ck_assert_uint_eq(rig_counts(&follower).open_clients, 1);
    client_free(&client);
    AWAIT(rig_counts(&follower).open_clients == 0);
}
END_TEST

START_TEST(who_waits_too_long_is_closed)
{
    uint64_t start = test_now_ms();
    client_connect(&client, follower.port);
    char byte;
    ck_assert_uint_eq(client_read_plain(&client, &byte, 1), 0);
    ck_assert_uint_ge(test_now_ms() - start, LIMIT_RELAY_WAIT_MS - 50);
}
END_TEST

START_TEST(relays_end_when_another_node_leads)
{
    relay();
    client_login(&client, follower.port, "publisher");
    rig_relay_to(&follower, 3, "127.0.0.1:1", RIG_KEY_BYTE);
    client_expect_gone(&client);
    rig_await_closed(&leader, 1);
}
END_TEST

START_TEST(relays_end_when_nobody_leads)
{
    relay();
    client_login(&client, follower.port, "publisher");
    rig_no_route(&follower);
    client_expect_gone(&client);
    rig_await_closed(&leader, 1);
}
END_TEST

START_TEST(a_refused_connect_waits_for_the_next_leader)
{
    rig_relay_to(&follower, 3, "127.0.0.1:1", RIG_KEY_BYTE); /* nobody listens there */
    client_connect(&client, follower.port);
    AWAIT(rig_counts(&follower).pending_logins == 1);
    for (int i = 0; i < 300; i++)
        test_nap(); /* several attempts */
    ck_assert_uint_eq(rig_counts(&follower).pending_logins, 1);
    relay();
    log_in();
}
END_TEST

START_TEST(a_wrong_key_ends_the_relay)
{
    rig_relay_to(&follower, LEADER, address, RIG_KEY_BYTE + 1);
    client_connect(&client, follower.port);
    char byte;
    ck_assert_uint_eq(client_read_plain(&client, &byte, 1), 0);
}
END_TEST

START_TEST(a_circle_of_relays_breaks)
{
    char back[64];
    snprintf(back, sizeof(back), "127.0.0.1:%u", follower.port);
    rig_relay_to(&leader, 2, back, RIG_KEY_BYTE);
    relay();
    client_connect(&client, follower.port);
    char byte;
    ck_assert_uint_eq(client_read_plain(&client, &byte, 1), 0);
    AWAIT(rig_counts(&leader).open_relays == 0);
    ck_assert_uint_lt(rig_counts(&leader).accepted_total, 100);
}
END_TEST

/* --- A leader that is a bare socket, to see half-closes --- */

static int
listen_bare(uint16_t *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, size), 0);
    ck_assert_int_eq(listen(fd, 5), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static size_t
read_all(int fd, char *out, size_t room)
{
    size_t size = 0;
    ssize_t got;
    while (size < room && (got = recv(fd, out + size, room - size, 0)) > 0)
        size += (size_t)got;
    return size;
}

START_TEST(half_closes_pass_in_both_directions)
{
    uint16_t port;
    int listener = listen_bare(&port);
    snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    relay();
    client_connect(&client, follower.port);
    int peer = accept(listener, NULL, NULL);
    ck_assert_int_ge(peer, 0);
    client_send_raw(&client, "question", 8);
    shutdown(client.fd, SHUT_WR);
    char got[256];
    size_t size = read_all(peer, got, sizeof(got)); /* to the end of the stream */
    ck_assert_uint_gt(size, 16);
    ck_assert_int_eq(got[0], '\r');
    ck_assert(memcmp(got + size - 8, "question", 8) == 0);
    ck_assert_int_eq(send(peer, "answer", 6, MSG_NOSIGNAL), 6);
    close(peer);
    ck_assert_uint_eq(client_read_plain(&client, got, sizeof(got)), 6);
    ck_assert(memcmp(got, "answer", 6) == 0);
    close(listener);
}
END_TEST

START_TEST(the_leaders_half_close_passes)
{
    uint16_t port;
    int listener = listen_bare(&port);
    snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    relay();
    client_connect(&client, follower.port);
    int peer = accept(listener, NULL, NULL);
    ck_assert_int_eq(send(peer, "bye", 3, MSG_NOSIGNAL), 3);
    shutdown(peer, SHUT_WR);
    char got[256];
    ck_assert_uint_eq(client_read_plain(&client, got, sizeof(got)), 3);
    ck_assert_uint_eq(rig_counts(&follower).open_relays, 1);
    client_send_raw(&client, "still here", 10);
    shutdown(client.fd, SHUT_WR);
    size_t size = read_all(peer, got, sizeof(got));
    ck_assert(memcmp(got + size - 10, "still here", 10) == 0);
    close(peer);
    close(listener);
}
END_TEST

START_TEST(an_error_on_one_side_closes_the_other)
{
    uint16_t port;
    int listener = listen_bare(&port);
    snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    relay();
    client_connect(&client, follower.port);
    int peer = accept(listener, NULL, NULL);
    AWAIT(rig_counts(&follower).open_relays == 1);
    struct linger now = {.l_onoff = 1};
    setsockopt(peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(peer); /* reset */
    char byte;
    ck_assert_uint_eq(client_read_plain(&client, &byte, 1), 0);
    AWAIT(rig_counts(&follower).open_relays == 0);
    close(listener);
}
END_TEST

START_TEST(a_leader_that_reads_nothing_holds_the_client_back)
{
    static char block[65536];
    uint16_t port;
    int listener = listen_bare(&port);
    snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    relay();
    client_connect(&client, follower.port);
    int peer = accept(listener, NULL, NULL);
    size_t sent = 0;
    struct pollfd ready = {.fd = client.fd, .events = POLLOUT};
    while (sent < (64u << 20) && poll(&ready, 1, 300) == 1)
        sent += (size_t)send(client.fd, block, sizeof(block), MSG_DONTWAIT);
    ck_assert_uint_lt(sent, 64u << 20);
    shutdown(client.fd, SHUT_WR);
    size_t got = 0;
    ssize_t size;
    while ((size = recv(peer, block, sizeof(block), 0)) > 0)
        got += (size_t)size;
    ck_assert_uint_gt(got, sent); /* with the header, nothing lost */
    ck_assert_uint_lt(got, sent + 200);
    close(peer);
    close(listener);
}
END_TEST

Suite *
suite_relay(void)
{
    Suite *s = suite_create("relay");
    TCase *t = tcase_create("relay");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_client_of_a_follower_is_served_by_the_leader);
    tcase_add_test(t, a_leader_that_closes_ends_as_it_does_without_a_relay);
    tcase_add_test(t, a_name_is_looked_up);
    tcase_add_test(t, much_passes_in_both_directions);
    tcase_add_test(t, a_slow_reader_slows_the_leader_not_the_relay);
    tcase_add_test(t, who_waits_is_relayed_as_soon_as_there_is_a_leader);
    tcase_add_test(t, who_waits_is_served_as_soon_as_this_node_leads);
    tcase_add_test(t, who_waits_too_long_is_closed);
    tcase_add_test(t, relays_end_when_another_node_leads);
    tcase_add_test(t, relays_end_when_nobody_leads);
    tcase_add_test(t, a_refused_connect_waits_for_the_next_leader);
    tcase_add_test(t, a_wrong_key_ends_the_relay);
    tcase_add_test(t, a_circle_of_relays_breaks);
    tcase_add_test(t, half_closes_pass_in_both_directions);
    tcase_add_test(t, the_leaders_half_close_passes);
    tcase_add_test(t, an_error_on_one_side_closes_the_other);
    tcase_add_test(t, a_leader_that_reads_nothing_holds_the_client_back);
    suite_add_tcase(s, t);
    return s;
}
