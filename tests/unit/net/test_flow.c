/* Tests of back-pressure in both directions: nothing is lost on the way back, and who
 * reads too slowly is dropped with true numbers. */
#include "client.h"
#include "rig.h"
#include "suites.h"

#include "base/limits.h"

#include <string.h>

#define BURST 10000

static struct rig rig;
static struct client client;

static void
close_all(void)
{
    client_free(&client);
    AWAIT(rig_counts(&rig).open_clients == 0);
    rig_close(&rig);
}

/* BURST small publishes; number i has the context i. */
static void
make_burst(struct bytes *out)
{
    for (unsigned i = 0; i < BURST; i++) {
        char text[64];
        int size = snprintf(text, sizeof(text), "{\"body\":\"b\",\"context\":%u}", i);
        client_put_frame(out, FRAME_TEXT, text, (size_t)size);
    }
}

static void
expect_burst(void)
{
    for (unsigned i = 0; i < BURST; i++) {
        char text[64];
        snprintf(text, sizeof(text), "{\"context\":%u,\"status\":\"Success.\"}", i);
        client_expect(&client, text);
    }
}

struct sender {
    pthread_t thread;
    struct bytes data;
};

static void *
send_all(void *ctx)
{
    struct sender *s = ctx;
    ck_assert(client_send(&client, s->data.data, s->data.size));
    return NULL;
}

static void
send_burst(struct sender *s)
{
    s->data = (struct bytes){NULL, 0, 0};
    make_burst(&s->data);
    ck_assert_int_eq(pthread_create(&s->thread, NULL, send_all, s), 0);
}

static void
join_sender(struct sender *s)
{
    pthread_join(s->thread, NULL);
    bytes_fini(&s->data);
}

START_TEST(a_burst_of_requests_is_answered_in_order)
{
    struct sender sender;
    rig_open(&rig, NULL);
    client_login(&client, rig.port, "publisher");
    send_burst(&sender);
    join_sender(&sender);
    expect_burst();
    close_all();
}
END_TEST

START_TEST(a_burst_stops_at_the_limit_and_goes_on_when_it_is_answered)
{
    struct sender sender;
    rig_open(&rig, NULL);
    client_login(&client, rig.port, "publisher");
    rig_hold(&rig);
    send_burst(&sender);
    rig_await_held(&rig, LIMIT_UNANSWERED_REQUESTS);
    /* All the bytes are there (the client's last write returns), and none is taken. */
    join_sender(&sender);
    for (int i = 0; i < 50; i++)
        test_nap();
    ck_assert_uint_eq(rig_read(&rig, &rig.held_count), LIMIT_UNANSWERED_REQUESTS);
    rig_release(&rig);
    expect_burst();
    ck_assert_uint_eq(rig_read(&rig, &rig.requests), BURST);
    close_all();
}
END_TEST

START_TEST(long_replies_to_come_hold_back_more_requests)
{
    static const char list[] = "{\"cmd\":\"getmsgs\",\"after\":\"\",\"count\":1600}";
    static const char live[] = "{\"cmd\":\"getlivestats\"}";
    struct rig_options options = {.queue = {.max_write_queue_bytes = 1u << 20}};
    rig_open(&rig, &options);
    client_login(&client, rig.port, "admin");
    rig_hold(&rig);
    for (int i = 0; i < 20; i++)
        ck_assert(client_send_text(&client, list));
    rig_await_held(&rig, 4); /* more than 512 KiB */
    for (int i = 0; i < 50; i++)
        test_nap();
    ck_assert_uint_eq(rig_read(&rig, &rig.held_count), 4);
    rig_release(&rig);
    for (int i = 0; i < 20; i++)
        client_expect(&client, LOGIN_OK);
    /* Short ones do not. */
    rig_hold(&rig);
    for (int i = 0; i < 100; i++)
        ck_assert(client_send_text(&client, live));
    rig_await_held(&rig, 100);
    rig_release(&rig);
    for (int i = 0; i < 100; i++)
        client_expect(&client, LOGIN_OK);
    close_all();
}
END_TEST

START_TEST(every_stall_ends_however_often_it_comes)
{
    struct sender sender;
    rig_open(&rig, NULL);
    client_login(&client, rig.port, "publisher");
    rig_hold(&rig);
    send_burst(&sender);
    size_t done = 0;
    while (done < BURST) {
        size_t left = BURST - done;
        size_t most = LIMIT_UNANSWERED_REQUESTS;
        rig_await_held(&rig, left < most ? left : most);
        done = rig_release_and_hold(&rig);
    }
    join_sender(&sender);
    expect_burst();
    close_all();
}
END_TEST

START_TEST(large_requests_stall_by_their_bytes)
{
    static char big[60000];
    memset(big, 'x', sizeof(big));
    struct sender sender = {.data = {NULL, 0, 0}};
    rig_open(&rig, NULL);
    client_login(&client, rig.port, "publisher");
    rig_hold(&rig);
    for (int i = 0; i < 200; i++)
        client_put_frame(&sender.data, FRAME_TEXT, big, sizeof(big));
    ck_assert_int_eq(pthread_create(&sender.thread, NULL, send_all, &sender), 0);
    size_t most = LIMIT_UNANSWERED_BYTES / sizeof(big) + 1;
    rig_await_held(&rig, most - 1);
    for (int i = 0; i < 50; i++)
        test_nap();
    ck_assert_uint_le(rig_read(&rig, &rig.held_count), most);
    rig_release(&rig);
    for (int i = 0; i < 200; i++)
        client_expect(&client, LOGIN_OK);
    join_sender(&sender);
    close_all();
}
END_TEST

START_TEST(who_does_not_read_its_replies_is_not_read_from)
{
    struct sender sender;
    struct rig_options options = {.queue = {.max_write_queue_bytes = 4096}};
    rig_open(&rig, &options);
    client_connect_slow(&client, rig.port, 4096);
    client_upgrade(&client, "localhost", "");
    client_send_login(&client, "publisher", "good");
    client_expect(&client, LOGIN_OK);
    send_burst(&sender);
    expect_burst(); /* reads as slowly as its buffer lets it */
    join_sender(&sender);
    ck_assert_uint_eq(rig_counts(&rig).dropped_slow_total, 0);
    close_all();
}
END_TEST

/* Reads what is left of a dropped connection; whole deliveries. */
static uint64_t
count_deliveries(void)
{
    uint64_t count = 0;
    while (client_read(&client).opcode == 1)
        count++;
    return count;
}

START_TEST(a_slow_reader_is_dropped_and_what_it_was_sent_is_told)
{
    struct rig_options options = {.queue = {.max_write_queue_bytes = 1u << 20}};
    rig_open(&rig, &options);
    client_connect_slow(&client, rig.port, 16384);
    client_upgrade(&client, "localhost", "");
    client_send_login(&client, "subscriber", "good");
    client_expect_begin(&client, "{\"status\":\"Success.\"");
    uint64_t conn = rig_last_conn(&rig);
    for (int i = 0; i < 1000 && rig_counts(&rig).dropped_slow_total == 0; i++) {
        rig_deliver(&rig, conn, 10, 10000);
        test_nap();
    }
    rig_await_closed(&rig, 1);
    ck_assert_uint_eq(rig_counts(&rig).dropped_slow_total, 1);
    struct rig_closed closed = rig_closed_of(&rig, conn);
    ck_assert_uint_gt(closed.frames_sent, 0);
    ck_assert_uint_eq(closed.bytes_sent, closed.frames_sent * 10128);
    /* Not a byte after the drop, and all that counts as sent comes. */
    ck_assert_uint_eq(count_deliveries(), closed.frames_sent);
    ck_assert_uint_gt(rig_read(&rig, &rig.reports), 0);
    ck_assert_uint_le(rig_last_report(&rig).bytes_sent, closed.bytes_sent);
    close_all();
}
END_TEST

START_TEST(any_one_frame_may_wait)
{
    struct rig_options options = {.queue = {.max_write_queue_bytes = 65536}};
    rig_open(&rig, &options);
    client_login(&client, rig.port, "subscriber");
    rig_deliver(&rig, rig_last_conn(&rig), 1, 16u << 20);
    struct client_frame f = client_read(&client);
    ck_assert_int_eq(f.opcode, 1);
    ck_assert_uint_gt(f.payload.size, 16u << 20);
    close_all();
}
END_TEST

START_TEST(a_fast_reader_takes_more_at_once_than_the_limit)
{
    struct rig_options options = {.queue = {.max_write_queue_bytes = 4u << 20}};
    rig_open(&rig, &options);
    client_login(&client, rig.port, "subscriber");
    for (int i = 0; i < 20; i++) {
        rig_deliver(&rig, rig_last_conn(&rig), 30, 100000);
        for (int k = 0; k < 30; k++)
            ck_assert_int_eq(client_read(&client).opcode, 1);
    }
    close_all();
}
END_TEST

START_TEST(progress_is_reported_in_eighths)
{
    struct rig_options options = {.queue = {.max_write_queue_bytes = 80000}};
    rig_open(&rig, &options);
    client_login(&client, rig.port, "subscriber");
    uint64_t conn = rig_last_conn(&rig);
    rig_deliver(&rig, conn, 1, 9000);
    ck_assert_int_eq(client_read(&client).opcode, 1);
    ck_assert_uint_eq(rig_read(&rig, &rig.reports), 0);
    rig_deliver(&rig, conn, 1, 9000);
    ck_assert_int_eq(client_read(&client).opcode, 1);
    AWAIT(rig_read(&rig, &rig.reports) == 1);
    ck_assert_uint_eq(rig_last_report(&rig).parcel.conn, conn);
    ck_assert_uint_eq(rig_last_report(&rig).frames_sent, 2);
    ck_assert_uint_eq(rig_last_report(&rig).bytes_sent, 2 * 9128);
    close_all();
}
END_TEST

START_TEST(the_message_time_stands_still_while_we_do_not_read)
{
    struct rig_options options = {.queue = {.message_timeout_secs = 1}};
    rig_open(&rig, &options);
    client_login(&client, rig.port, "publisher");
    rig_hold(&rig);
    struct bytes burst = {NULL, 0, 0};
    for (unsigned i = 0; i < LIMIT_UNANSWERED_REQUESTS; i++)
        client_put_frame(&burst, FRAME_TEXT, "x", 1);
    client_put_frame(&burst, 0x01, "a", 1); /* begins a message */
    ck_assert(client_send(&client, burst.data, burst.size));
    bytes_fini(&burst);
    rig_await_held(&rig, LIMIT_UNANSWERED_REQUESTS);
    uint64_t until = test_now_ms() + 1500;
    while (test_now_ms() < until)
        test_nap();
    ck_assert_uint_eq(rig_counts(&rig).open_clients, 1);
    rig_release(&rig);
    ck_assert(client_send_frame(&client, 0x80, "b", 1));
    for (unsigned i = 0; i < LIMIT_UNANSWERED_REQUESTS + 1; i++)
        client_expect(&client, LOGIN_OK);
    close_all();
}
END_TEST

Suite *
suite_flow(void)
{
    Suite *s = suite_create("flow");
    TCase *t = tcase_create("flow");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_burst_of_requests_is_answered_in_order);
    tcase_add_test(t, a_burst_stops_at_the_limit_and_goes_on_when_it_is_answered);
    tcase_add_test(t, long_replies_to_come_hold_back_more_requests);
    tcase_add_test(t, every_stall_ends_however_often_it_comes);
    tcase_add_test(t, large_requests_stall_by_their_bytes);
    tcase_add_test(t, who_does_not_read_its_replies_is_not_read_from);
    tcase_add_test(t, a_slow_reader_is_dropped_and_what_it_was_sent_is_told);
    tcase_add_test(t, any_one_frame_may_wait);
    tcase_add_test(t, a_fast_reader_takes_more_at_once_than_the_limit);
    tcase_add_test(t, progress_is_reported_in_eighths);
    tcase_add_test(t, the_message_time_stands_still_while_we_do_not_read);
    suite_add_tcase(s, t);
    return s;
}
