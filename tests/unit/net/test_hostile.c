/* Tests of clients that do not mean well: rubbish at every stage, refused upgrades. */
#include "client.h"
#include "rig.h"
#include "suites.h"

#include "base/limits.h"

#include <string.h>
#include <sys/socket.h>

#define REFUSAL "HTTP/1.1 400 "

static struct rig rig;
static struct client client;

static void
set_up(void)
{
    struct rig_options options = {
        .allowed_origins = "https://a.example http://b.example:8080",
        .queue = {.login_timeout_secs = 3},
    };
    rig_open(&rig, &options);
}

static void
tear_down(void)
{
    client_free(&client);
    AWAIT(rig_counts(&rig).open_clients == 0);
    ck_assert_uint_eq(rig_counts(&rig).pending_logins, 0);
    rig_await_closed(&rig, rig_read(&rig, &rig.logins));
    rig_close(&rig);
}

/* The whole answer is a 400, then a clean end. */
static void
expect_refusal(void)
{
    while (client_need(&client, client.in.size + 1))
        ;
    ck_assert_uint_gt(client.in.size, strlen(REFUSAL));
    ck_assert(memcmp(client.in.data, REFUSAL, strlen(REFUSAL)) == 0);
    ck_assert(client.was_clean);
    char byte;
    ck_assert_int_eq(recv(client.fd, &byte, 1, 0), 0);
    client_free(&client);
}

static void
send_request(const char *host, const char *extra)
{
    char request[1024];
    int size = snprintf(request, sizeof(request),
                        "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"
                        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
                        host, extra);
    client_connect(&client, rig.port);
    client_tls(&client);
    ck_assert(client_send(&client, request, (size_t)size));
}

START_TEST(another_http_request_gets_400_and_a_clean_end)
{
    client_connect(&client, rig.port);
    client_tls(&client);
    ck_assert(client_send(&client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 35));
    expect_refusal();
}
END_TEST

START_TEST(an_unknown_queue_gets_400)
{
    send_request("nobody.q.localhost", "");
    expect_refusal();
    send_request("demo.q.localhost", "");
    ck_assert(client_need(&client, 12));
    ck_assert(memcmp(client.in.data, "HTTP/1.1 101", 12) == 0);
}
END_TEST

START_TEST(a_removed_queue_gets_400)
{
    pthread_mutex_lock(&rig.lock);
    net_remove_queue(rig.net, RIG_QUEUE);
    pthread_mutex_unlock(&rig.lock);
    send_request("demo.q.localhost", "");
    expect_refusal();
    send_request("localhost", "");
    expect_refusal();
}
END_TEST

START_TEST(only_allowed_origins_are_served)
{
    send_request("localhost", "Origin: https://c.example\r\n");
    expect_refusal();
    send_request("localhost", "Origin: https://a.example.evil\r\n");
    expect_refusal();
    send_request("localhost", "Origin: HTTP://B.example:8080\r\n");
    ck_assert(client_need(&client, 12));
    ck_assert(memcmp(client.in.data, "HTTP/1.1 101", 12) == 0);
}
END_TEST

START_TEST(a_refusal_is_read_though_more_was_sent_than_is_read)
{
    static char rubbish[400000];
    memset(rubbish, 'z', sizeof(rubbish));
    client_connect(&client, rig.port);
    client_tls(&client);
    ck_assert(client_send(&client, "GET /", 5));
    (void)client_send(&client, rubbish, sizeof(rubbish));
    expect_refusal();
}
END_TEST

START_TEST(endless_headers_get_400)
{
    client_connect(&client, rig.port);
    client_tls(&client);
    ck_assert(client_send(&client, "GET / HTTP/1.1\r\n", 16));
    for (int i = 0; i < 2000; i++)
        if (!client_send(&client, "X: y\r\n", 6))
            break;
    expect_refusal();
}
END_TEST

START_TEST(a_request_byte_by_byte_is_served)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n"
                                  "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                  "Sec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    client_connect(&client, rig.port);
    client_tls(&client);
    for (size_t i = 0; i < sizeof(request) - 1; i++)
        ck_assert(client_send(&client, request + i, 1));
    ck_assert(client_need(&client, 12));
    ck_assert(memcmp(client.in.data, "HTTP/1.1 101", 12) == 0);
}
END_TEST

START_TEST(a_request_and_a_login_in_one_write_are_both_taken)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n"
                                  "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                  "Sec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    static const char login[] = "{\"username\":\"u\",\"password\":\"good\","
                                "\"role\":\"publisher\",\"queuetype\":\"distribute\"}";
    struct bytes both = {NULL, 0, 0};
    bytes_put_text(&both, request);
    client_put_frame(&both, FRAME_TEXT, login, strlen(login));
    client_connect(&client, rig.port);
    client_tls(&client);
    ck_assert(client_send(&client, both.data, both.size));
    bytes_fini(&both);
    while (client_need(&client, client.in.size - client.in_at + 1)) {
        uint8_t *end = memmem(client.in.data, client.in.size, "\r\n\r\n", 4);
        if (end != NULL) {
            client.in_at = (size_t)(end - client.in.data) + 4;
            break;
        }
    }
    client_expect(&client, LOGIN_OK);
}
END_TEST

START_TEST(http_without_tls_is_told)
{
    char out[256];
    client_connect(&client, rig.port);
    client_send_raw(&client, "GET / HTTP/1.1\r\n\r\n", 18);
    size_t size = client_read_plain(&client, out, sizeof(out));
    ck_assert_uint_gt(size, strlen(REFUSAL));
    ck_assert(memcmp(out, REFUSAL, strlen(REFUSAL)) == 0);
}
END_TEST

static uint32_t noise = 1;

static uint8_t
next_noise(void)
{
    noise = noise * 1664525u + 1013904223u;
    return (uint8_t)(noise >> 24);
}

static void
fill_noise(uint8_t *out, size_t size)
{
    for (size_t i = 0; i < size; i++)
        out[i] = next_noise();
}

START_TEST(rubbish_on_tcp_ends_the_connection)
{
    uint8_t data[600];
    for (int i = 0; i < 100; i++) {
        fill_noise(data, sizeof(data));
        if (i % 3 == 0)
            memcpy(data, "\x16\x03\x01\x02\x00\x01", 6);
        if (i % 3 == 1)
            memcpy(data, "\r\n\r\n\0\r\nQUIT\n", 12);
        client_connect(&client, rig.port);
        client_send_raw(&client, data, sizeof(data));
        shutdown(client.fd, SHUT_WR);
        char out[4096];
        (void)client_read_plain(&client, out, sizeof(out));
        client_free(&client);
    }
}
END_TEST

START_TEST(rubbish_in_tls_ends_the_connection)
{
    uint8_t data[20000];
    for (int i = 0; i < 50; i++) {
        fill_noise(data, sizeof(data));
        client_connect(&client, rig.port);
        client_tls(&client);
        (void)client_send(&client, data, sizeof(data));
        expect_refusal();
    }
}
END_TEST

START_TEST(rubbish_for_frames_ends_the_connection)
{
    uint8_t data[20000];
    for (int i = 0; i < 50; i++) {
        fill_noise(data, sizeof(data));
        data[0] |= 0x70; /* reserved bits */
        if (i % 2 == 0) {
            client_connect(&client, rig.port);
            client_upgrade(&client, "localhost", "");
        } else {
            client_login(&client, rig.port, "publisher");
        }
        (void)client_send(&client, data, sizeof(data));
        client_expect_close(&client, 1002);
        client_expect_end(&client);
        client_free(&client);
    }
}
END_TEST

START_TEST(rubbish_after_a_handshake_ends_the_connection)
{
    uint8_t data[3000];
    for (int i = 0; i < 20; i++) {
        fill_noise(data, sizeof(data));
        client_login(&client, rig.port, "publisher");
        client_send_raw(&client, data, sizeof(data)); /* no TLS record */
        shutdown(client.fd, SHUT_WR);
        client_expect_gone(&client);
        client_free(&client);
    }
}
END_TEST

START_TEST(a_client_may_vanish_at_every_stage)
{
    for (int i = 0; i < 40; i++) {
        client_connect(&client, rig.port);
        if (i % 8 >= 1)
            client_send_raw(&client, "\x16\x03\x01", i % 8 == 1 ? 3 : 0);
        if (i % 8 == 2)
            client_tls(&client);
        if (i % 8 >= 3)
            client_upgrade(&client, "localhost", "");
        if (i % 8 == 4)
            ck_assert(client_send(&client, "\x81\xfe\x00", 3));
        if (i % 8 >= 5)
            client_send_login(&client, "subscriber", "good");
        if (i % 8 == 6)
            client_expect_begin(&client, "{\"status\":\"Success.\"");
        if (i % 8 == 7)
            ck_assert(client_send_frame(&client, 0x01, "abc", 3));
        if (i % 2 == 0)
            client_free(&client);
        else
            client_reset(&client);
    }
}
END_TEST

START_TEST(empty_fragments_without_end_are_bounded_in_time_or_number)
{
    struct bytes many = {NULL, 0, 0};
    client_login(&client, rig.port, "publisher");
    ck_assert(client_send_frame(&client, 0x01, "", 0));
    for (unsigned i = 0; i < LIMIT_MESSAGE_FRAGMENTS + 10; i++)
        client_put_frame(&many, 0x00, "", 0);
    (void)client_send(&client, many.data, many.size);
    bytes_fini(&many);
    client_expect_close(&client, 1009);
}
END_TEST

Suite *
suite_hostile(void)
{
    Suite *s = suite_create("hostile");
    TCase *t = tcase_create("hostile");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, another_http_request_gets_400_and_a_clean_end);
    tcase_add_test(t, an_unknown_queue_gets_400);
    tcase_add_test(t, a_removed_queue_gets_400);
    tcase_add_test(t, only_allowed_origins_are_served);
    tcase_add_test(t, a_refusal_is_read_though_more_was_sent_than_is_read);
    tcase_add_test(t, endless_headers_get_400);
    tcase_add_test(t, a_request_byte_by_byte_is_served);
    tcase_add_test(t, a_request_and_a_login_in_one_write_are_both_taken);
    tcase_add_test(t, http_without_tls_is_told);
    tcase_add_test(t, rubbish_on_tcp_ends_the_connection);
    tcase_add_test(t, rubbish_in_tls_ends_the_connection);
    tcase_add_test(t, rubbish_for_frames_ends_the_connection);
    tcase_add_test(t, rubbish_after_a_handshake_ends_the_connection);
    tcase_add_test(t, a_client_may_vanish_at_every_stage);
    tcase_add_test(t, empty_fragments_without_end_are_bounded_in_time_or_number);
    suite_add_tcase(s, t);
    return s;
}
