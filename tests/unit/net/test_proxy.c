/* Tests of PROXY headers: who may send one, and what it changes. */
#include "client.h"
#include "rig.h"
#include "suites.h"

#include "proto/proxy.h"

#include <netinet/in.h>
#include <string.h>

static struct rig rig;
static struct client client;

static void
set_up(void)
{
    struct rig_options options = {.queue = {.login_timeout_secs = 2}};
    rig_open(&rig, &options);
}

static void
tear_down(void)
{
    client_free(&client);
    AWAIT(rig_counts(&rig).open_clients == 0);
    ck_assert_uint_eq(rig_counts(&rig).pending_logins, 0);
    rig_close(&rig);
}

static void
make_header(struct bytes *out, uint64_t counter, uint32_t age_ms, uint8_t key_byte)
{
    uint8_t key[PROXY_KEY_BYTES];
    memset(key, key_byte, sizeof(key));
    struct proxy_header h = {.node = 2, .counter = counter, .age_ms = age_ms};
    struct sockaddr_in *source = (struct sockaddr_in *)&h.source;
    source->sin_family = AF_INET;
    source->sin_addr.s_addr = htonl(0x0a000001);
    source->sin_port = htons(1234);
    h.destination = h.source;
    proxy_encode(&h, key, out);
}

static void
connect_with(uint64_t counter, uint32_t age_ms, uint8_t key_byte)
{
    struct bytes header = {NULL, 0, 0};
    make_header(&header, counter, age_ms, key_byte);
    client_connect(&client, rig.port);
    client_send_raw(&client, header.data, header.size);
    bytes_fini(&header);
}

static void
log_in(void)
{
    client_upgrade(&client, "localhost", "");
    client_send_login(&client, "publisher", "good");
    client_expect(&client, LOGIN_OK);
}

static void
expect_refused(void)
{
    char byte;
    ck_assert_uint_eq(client_read_plain(&client, &byte, 1), 0);
    client_free(&client);
}

START_TEST(a_good_header_is_taken)
{
    connect_with(1, 0, RIG_KEY_BYTE);
    log_in();
}
END_TEST

START_TEST(a_login_comes_from_the_address_in_the_header)
{
    static const uint8_t own[LOGIN_SOURCE_BYTES] = {4, 127, 0, 0, 1};
    static const uint8_t told[LOGIN_SOURCE_BYTES] = {4, 10, 0, 0, 1};
    client_connect(&client, rig.port);
    log_in();
    ck_assert_mem_eq(rig.last_source, own, sizeof own);
    client_free(&client);
    connect_with(1, 0, RIG_KEY_BYTE);
    log_in();
    ck_assert_mem_eq(rig.last_source, told, sizeof told);
}
END_TEST

START_TEST(http_without_tls_is_told_through_a_relay_too)
{
    static const char request[] = "GET / HTTP/1.1\r\n\r\n";
    char got[256];
    connect_with(1, 0, RIG_KEY_BYTE);
    client_send_raw(&client, request, sizeof request - 1);
    size_t size = client_read_plain(&client, got, sizeof got);
    ck_assert_uint_gt(size, 12);
    ck_assert_int_eq(memcmp(got, "HTTP/1.1 400", 12), 0);
}
END_TEST

START_TEST(a_header_byte_by_byte_is_taken)
{
    struct bytes header = {NULL, 0, 0};
    make_header(&header, 1, 0, RIG_KEY_BYTE);
    client_connect(&client, rig.port);
    for (size_t i = 0; i < header.size; i++) {
        client_send_raw(&client, header.data + i, 1);
        test_nap();
    }
    bytes_fini(&header);
    log_in();
}
END_TEST

START_TEST(a_header_under_another_key_is_refused)
{
    connect_with(1, 0, RIG_KEY_BYTE + 1);
    expect_refused();
}
END_TEST

START_TEST(a_header_is_taken_once)
{
    connect_with(7, 0, RIG_KEY_BYTE);
    log_in();
    client_free(&client);
    connect_with(7, 0, RIG_KEY_BYTE);
    expect_refused();
    connect_with(6, 0, RIG_KEY_BYTE); /* a little late */
    log_in();
}
END_TEST

START_TEST(a_second_header_is_refused)
{
    connect_with(1, 0, RIG_KEY_BYTE);
    struct bytes again = {NULL, 0, 0};
    make_header(&again, 2, 0, RIG_KEY_BYTE);
    client_send_raw(&client, again.data, again.size);
    bytes_fini(&again);
    expect_refused();
}
END_TEST

START_TEST(a_malformed_header_is_refused)
{
    struct bytes header = {NULL, 0, 0};
    make_header(&header, 1, 0, RIG_KEY_BYTE);
    for (size_t i = 1; i < header.size; i += 3) {
        header.data[i] ^= 0x5a;
        client_connect(&client, rig.port);
        client_send_raw(&client, header.data, header.size);
        shutdown(client.fd, SHUT_WR);
        expect_refused();
        header.data[i] ^= 0x5a;
    }
    bytes_fini(&header);
}
END_TEST

START_TEST(the_age_in_the_header_counts_for_the_login)
{
    uint64_t start = test_now_ms();
    connect_with(1, 1500, RIG_KEY_BYTE);
    expect_refused();
    ck_assert_uint_lt(test_now_ms() - start, 1500);
    connect_with(2, 4000000000u, RIG_KEY_BYTE);
    expect_refused();
}
END_TEST

Suite *
suite_proxy(void)
{
    Suite *s = suite_create("proxy");
    TCase *t = tcase_create("proxy");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_good_header_is_taken);
    tcase_add_test(t, a_login_comes_from_the_address_in_the_header);
    tcase_add_test(t, http_without_tls_is_told_through_a_relay_too);
    tcase_add_test(t, a_header_byte_by_byte_is_taken);
    tcase_add_test(t, a_header_under_another_key_is_refused);
    tcase_add_test(t, a_header_is_taken_once);
    tcase_add_test(t, a_second_header_is_refused);
    tcase_add_test(t, a_malformed_header_is_refused);
    tcase_add_test(t, the_age_in_the_header_counts_for_the_login);
    suite_add_tcase(s, t);
    return s;
}
