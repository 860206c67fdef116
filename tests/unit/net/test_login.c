/* Tests of a served connection's normal life: upgrade, login, requests, and each way it
 * closes, byte for byte. */
#include "client.h"
#include "rig.h"
#include "suites.h"

#include <string.h>
#include <sys/socket.h>

static struct rig rig;
static struct client client;

static void
set_up(void)
{
    rig_open(&rig, NULL);
}

static void
tear_down(void)
{
    client_free(&client);
    AWAIT(rig_counts(&rig).open_clients == 0);
    AWAIT(rig_counts(&rig).pending_logins == 0);
    rig_close(&rig);
}

START_TEST(a_login_is_answered_and_a_publish_after_it)
{
    client_login(&client, rig.port, "publisher");
    ck_assert(client_send_text(&client, PUBLISH));
    client_expect(&client, LOGIN_OK);
    ck_assert_uint_eq(rig_read(&rig, &rig.requests), 1);
    ck_assert_uint_eq(rig_counts(&rig).open_clients, 1);
    AWAIT(rig_counts(&rig).pending_logins == 0);
}
END_TEST

START_TEST(the_reply_to_a_login_has_a_record_of_its_own)
{
    /* A record is what a client reads at once. The deliveries are there before the
     * reply is written, in most rounds at least. */
    for (int round = 0; round < 20; round++) {
        char record[20000];
        rig_hold_logins(&rig);
        client_connect(&client, rig.port);
        client_upgrade(&client, "localhost", "");
        client_send_login(&client, "subscriber", "good");
        rig_await_held(&rig, 1);
        uint64_t conn = rig_last_conn(&rig);
        (void)rig_release_and_hold(&rig);
        rig_deliver(&rig, conn, 3, 100);
        int size = SSL_read(client.ssl, record, sizeof record);
        ck_assert_int_gt(size, 2);
        ck_assert_int_eq(size, 2 + (record[1] & 0x7f)); /* one short frame */
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(client_read(&client).opcode, 1);
        client_free(&client);
    }
    client_connect(&client, rig.port);
}
END_TEST

START_TEST(a_failed_login_ends_with_its_reply_and_no_close_frame)
{
    client_connect(&client, rig.port);
    client_upgrade(&client, "localhost", "");
    client_send_login(&client, "publisher", "bad");
    client_expect_begin(&client, "{\"status\":\"Failure.\",\"code\":107,");
    client_expect_end(&client);
    rig_await_closed(&rig, 1);
}
END_TEST

START_TEST(a_login_that_is_no_json_ends_with_its_reply)
{
    client_connect(&client, rig.port);
    client_upgrade(&client, "localhost", "");
    ck_assert(client_send_text(&client, "hello"));
    client_expect_begin(&client, "{\"status\":\"Failure.\",\"code\":100,");
    client_expect_end(&client);
    rig_await_closed(&rig, 1);
}
END_TEST

START_TEST(a_logout_is_answered_and_then_closed_with_1000)
{
    client_login(&client, rig.port, "subscriber");
    ck_assert(client_send_text(&client, "{\"logout\":true}"));
    client_expect(&client, "{\"status\":\"Logout Success.\"}");
    client_expect_close(&client, 1000);
    client_expect_end(&client);
    rig_await_closed(&rig, 1);
    client_free(&client);
    AWAIT(rig_counts(&rig).closes_total[0] == 1);
}
END_TEST

START_TEST(a_request_with_an_end_closes_after_its_reply)
{
    client_login(&client, rig.port, "subscriber");
    struct bytes both = {NULL, 0, 0};
    client_put_frame(&both, FRAME_TEXT, "nonsense", 8);
    client_put_frame(&both, FRAME_TEXT, "{\"capacity\":3}", 14);
    ck_assert(client_send(&client, both.data, both.size));
    bytes_fini(&both);
    client_expect_begin(&client, "{\"status\":\"Failure.\",\"code\":100,");
    client_expect_end(&client);
    ck_assert_uint_eq(rig_read(&rig, &rig.requests), 1); /* nothing behind it counted */
}
END_TEST

START_TEST(data_before_the_logins_reply_ends_the_connection_without_a_word)
{
    rig_hold_logins(&rig);
    client_connect(&client, rig.port);
    client_upgrade(&client, "localhost", "");
    client_send_login(&client, "publisher", "good");
    rig_await_held(&rig, 1);
    ck_assert(client_send_text(&client, PUBLISH));
    client_expect_end(&client);
    rig_await_closed(&rig, 1);
    rig_release(&rig); /* the reply finds nobody */
    ck_assert_uint_eq(rig_read(&rig, &rig.requests), 0);
}
END_TEST

START_TEST(data_in_the_same_read_as_the_login_ends_the_connection)
{
    client_connect(&client, rig.port);
    client_upgrade(&client, "localhost", "");
    static const char login[] = "{\"username\":\"u\",\"password\":\"good\","
                                "\"role\":\"publisher\",\"queuetype\":\"distribute\"}";
    struct bytes both = {NULL, 0, 0};
    client_put_frame(&both, FRAME_TEXT, login, strlen(login));
    client_put_frame(&both, FRAME_TEXT, PUBLISH, strlen(PUBLISH));
    ck_assert(client_send(&client, both.data, both.size));
    bytes_fini(&both);
    client_expect_end(&client);
    rig_await_closed(&rig, 1);
    ck_assert_uint_eq(rig_read(&rig, &rig.requests), 0);
}
END_TEST

START_TEST(a_message_that_only_begins_before_the_logins_reply_ends_the_connection)
{
    static const char login[] = "{\"username\":\"u\",\"password\":\"good\","
                                "\"role\":\"publisher\",\"queuetype\":\"distribute\"}";
    static const struct {
        uint8_t first;
        size_t cut; /* of the second frame */
    } cases[] = {{0x01, 0}, {FRAME_BINARY, 20}, {FRAME_TEXT, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        client_connect(&client, rig.port);
        client_upgrade(&client, "localhost", "");
        struct bytes both = {NULL, 0, 0};
        client_put_frame(&both, FRAME_TEXT, login, strlen(login));
        client_put_frame(&both, cases[i].first, PUBLISH, strlen(PUBLISH));
        ck_assert(client_send(&client, both.data, both.size - cases[i].cut));
        bytes_fini(&both);
        client_expect_end(&client);
        rig_await_closed(&rig, i + 1);
        client_free(&client);
    }
    client_connect(&client, rig.port);
    ck_assert_uint_eq(rig_read(&rig, &rig.requests), 0);
}
END_TEST

START_TEST(half_a_ping_before_the_logins_reply_is_no_offence)
{
    rig_hold_logins(&rig);
    client_connect(&client, rig.port);
    client_upgrade(&client, "localhost", "");
    client_send_login(&client, "publisher", "good");
    rig_await_held(&rig, 1);
    struct bytes ping = {NULL, 0, 0};
    client_put_frame(&ping, FRAME_PING, "abcdef", 6);
    ck_assert(client_send(&client, ping.data, 5));
    test_nap();
    rig_release(&rig);
    client_expect(&client, LOGIN_OK);
    ck_assert(client_send(&client, ping.data + 5, ping.size - 5));
    bytes_fini(&ping);
    ck_assert_int_eq(client_read(&client).opcode, 10);
}
END_TEST

START_TEST(what_came_before_the_end_of_the_stream_is_taken)
{
    struct bytes all = {NULL, 0, 0};
    for (int i = 0; i < 100; i++)
        client_put_frame(&all, FRAME_TEXT, PUBLISH, strlen(PUBLISH));
    for (uint64_t round = 1; round <= 20; round++) {
        client_login(&client, rig.port, "publisher");
        ck_assert(client_send(&client, all.data, all.size));
        (void)SSL_shutdown(client.ssl);
        shutdown(client.fd, SHUT_WR);
        rig_await_closed(&rig, round);
        ck_assert_uint_eq(rig_read(&rig, &rig.requests), 100 * round);
        client_free(&client);
    }
    bytes_fini(&all);
    client_connect(&client, rig.port);
}
END_TEST

START_TEST(a_last_request_is_answered_though_the_client_has_closed_its_side)
{
    client_login(&client, rig.port, "subscriber");
    rig_hold(&rig);
    ck_assert(client_send_text(&client, "{\"logout\":true}"));
    (void)SSL_shutdown(client.ssl);
    shutdown(client.fd, SHUT_WR);
    rig_await_held(&rig, 1);
    rig_release(&rig);
    client_expect(&client, "{\"status\":\"Logout Success.\"}");
    client_expect_close(&client, 1000);
    client_expect_end(&client);
    AWAIT(rig_counts(&rig).open_clients == 0); /* at once, not when lingering ends */
}
END_TEST

START_TEST(a_ping_is_answered_at_any_time)
{
    rig_hold_logins(&rig);
    client_connect(&client, rig.port);
    client_upgrade(&client, "localhost", "");
    client_send_login(&client, "publisher", "good");
    rig_await_held(&rig, 1);
    ck_assert(client_send_frame(&client, FRAME_PING, "abc", 3));
    struct client_frame f = client_read(&client);
    ck_assert_int_eq(f.opcode, 10);
    ck_assert(slice_equal(f.payload, slice_from_text("abc")));
    rig_release(&rig);
    client_expect(&client, LOGIN_OK);
    ck_assert(client_send_frame(&client, FRAME_PING, "", 0));
    ck_assert_int_eq(client_read(&client).opcode, 10);
}
END_TEST

START_TEST(a_close_frame_is_answered_with_its_code)
{
    client_login(&client, rig.port, "publisher");
    ck_assert(client_send_frame(&client, FRAME_CLOSE, "\x0f\xa1", 2)); /* 4001 */
    client_expect_close(&client, 4001);
    client_expect_end(&client);
    rig_await_closed(&rig, 1);
}
END_TEST

START_TEST(a_close_frame_is_answered_behind_the_replies_that_are_due)
{
    client_login(&client, rig.port, "publisher");
    rig_hold(&rig);
    for (int i = 0; i < 3; i++)
        ck_assert(client_send_text(&client, PUBLISH));
    ck_assert(client_send_frame(&client, FRAME_CLOSE, "\x0f\xa1", 2)); /* 4001 */
    ck_assert(client_send_text(&client, PUBLISH)); /* counts for nothing */
    rig_await_held(&rig, 3);
    ck_assert_uint_eq(rig_read(&rig, &rig.closed_count), 0);
    rig_release(&rig);
    for (int i = 0; i < 3; i++)
        client_expect(&client, LOGIN_OK);
    client_expect_close(&client, 4001);
    client_expect_end(&client);
    rig_await_closed(&rig, 1);
    ck_assert_uint_eq(rig_read(&rig, &rig.requests), 3);
}
END_TEST

START_TEST(a_close_frame_right_behind_the_login_waits_for_its_reply)
{
    static const struct {
        const char *password;
        const char *reply;
        unsigned code; /* 0: no close frame */
    } cases[] = {{"good", LOGIN_OK, 1005}, {"bad", "{\"status\":\"Failure.\"", 0}};
    for (size_t i = 0; i < 2; i++) {
        rig_hold_logins(&rig);
        client_connect(&client, rig.port);
        client_upgrade(&client, "localhost", "");
        client_send_login(&client, "publisher", cases[i].password);
        ck_assert(client_send_frame(&client, FRAME_CLOSE, "", 0));
        rig_await_held(&rig, 1);
        rig_release(&rig);
        client_expect_begin(&client, cases[i].reply);
        if (cases[i].code != 0)
            client_expect_close(&client, cases[i].code);
        client_expect_end(&client);
        rig_await_closed(&rig, i + 1);
        client_free(&client);
    }
    client_connect(&client, rig.port);
}
END_TEST

START_TEST(a_close_frame_without_a_code_is_answered_without_one)
{
    client_login(&client, rig.port, "publisher");
    ck_assert(client_send_frame(&client, FRAME_CLOSE, "", 0));
    client_expect_close(&client, 1005);
    client_expect_end(&client);
}
END_TEST

START_TEST(an_end_of_stream_or_a_reset_is_told_to_the_core)
{
    client_login(&client, rig.port, "publisher");
    client_free(&client);
    rig_await_closed(&rig, 1);
    client_login(&client, rig.port, "publisher");
    client_reset(&client);
    rig_await_closed(&rig, 2);
}
END_TEST

START_TEST(the_core_closes_without_a_word)
{
    client_login(&client, rig.port, "publisher");
    rig_close_conn(&rig, rig_last_conn(&rig));
    client_expect_end(&client);
    rig_await_closed(&rig, 1);
}
END_TEST

START_TEST(deliveries_arrive_and_are_counted)
{
    client_login(&client, rig.port, "subscriber");
    uint64_t conn = rig_last_conn(&rig);
    rig_deliver(&rig, conn, 10, 5);
    for (int i = 0; i < 10; i++)
        client_expect(&client, "{\"id\":\"00000000-0000-0000-0000-000000000000\","
                               "\"type\":1,\"body\":\"xxxxx\",\"recdat\":0}");
    client_free(&client);
    rig_await_closed(&rig, 1);
    struct rig_closed closed = rig_closed_of(&rig, conn);
    ck_assert_uint_eq(closed.frames_sent, 10);
    ck_assert_uint_eq(closed.bytes_sent, 10 * (5 + 128));
}
END_TEST

START_TEST(large_deliveries_are_packed_when_that_was_agreed)
{
    client_connect(&client, rig.port);
    client_upgrade(&client, "localhost",
                   "Sec-WebSocket-Extensions: permessage-deflate\r\n");
    client_send_login(&client, "subscriber", "good");
    ck_assert(!client_read(&client).is_packed);
    rig_deliver(&rig, rig_last_conn(&rig), 1, 100000);
    struct client_frame f = client_read(&client);
    ck_assert(f.is_packed);
    ck_assert_uint_lt(f.payload.size, 1000);
}
END_TEST

Suite *
suite_login(void)
{
    Suite *s = suite_create("login");
    TCase *t = tcase_create("login");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_login_is_answered_and_a_publish_after_it);
    tcase_add_test(t, the_reply_to_a_login_has_a_record_of_its_own);
    tcase_add_test(t, a_failed_login_ends_with_its_reply_and_no_close_frame);
    tcase_add_test(t, a_login_that_is_no_json_ends_with_its_reply);
    tcase_add_test(t, a_logout_is_answered_and_then_closed_with_1000);
    tcase_add_test(t, a_request_with_an_end_closes_after_its_reply);
    tcase_add_test(t, data_before_the_logins_reply_ends_the_connection_without_a_word);
    tcase_add_test(t, data_in_the_same_read_as_the_login_ends_the_connection);
    tcase_add_test(
        t, a_message_that_only_begins_before_the_logins_reply_ends_the_connection);
    tcase_add_test(t, half_a_ping_before_the_logins_reply_is_no_offence);
    tcase_add_test(t, what_came_before_the_end_of_the_stream_is_taken);
    tcase_add_test(t, a_last_request_is_answered_though_the_client_has_closed_its_side);
    tcase_add_test(t, a_ping_is_answered_at_any_time);
    tcase_add_test(t, a_close_frame_is_answered_with_its_code);
    tcase_add_test(t, a_close_frame_is_answered_behind_the_replies_that_are_due);
    tcase_add_test(t, a_close_frame_right_behind_the_login_waits_for_its_reply);
    tcase_add_test(t, a_close_frame_without_a_code_is_answered_without_one);
    tcase_add_test(t, an_end_of_stream_or_a_reset_is_told_to_the_core);
    tcase_add_test(t, the_core_closes_without_a_word);
    tcase_add_test(t, deliveries_arrive_and_are_counted);
    tcase_add_test(t, large_deliveries_are_packed_when_that_was_agreed);
    suite_add_tcase(s, t);
    return s;
}
