/* The pure parts beside the codec: outgoing queue, pulse, refusals, addresses. */
#include "test_cluster.h"

#include "base/mem.h"
#include "cluster/address.h"
#include "cluster/outframe.h"
#include "cluster/pulse.h"
#include "cluster/refusals.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- outgoing queue --- */

/* What a write would have taken: checks that a retry begins with the same bytes and is
 * no shorter, as OpenSSL demands. */
static void
drain_randomly(struct outq *q, struct bytes *out, size_t until)
{
    while (q->bytes > until) {
        struct slice front = outq_front(q);
        ck_assert_uint_gt(front.size, 0);
        uint8_t *seen = malloc(front.size);
        memcpy(seen, front.data, front.size);
        if (rand() % 3 == 0)
            outq_put(q, slice_from_text("more"));
        struct slice again = outq_front(q);
        ck_assert_uint_ge(again.size, front.size);
        ck_assert_mem_eq(again.data, seen, front.size);
        free(seen);
        size_t count = 1 + (size_t)rand() % front.size;
        if (count > OUTQ_GATHER_BYTES)
            count = OUTQ_GATHER_BYTES;
        bytes_put(out, again.data, count);
        outq_consume(q, count);
    }
}

START_TEST(bytes_leave_the_queue_as_they_came)
{
    for (unsigned seed = 0; seed < 30; seed++) {
        struct outq q;
        struct bytes in = {0};
        struct bytes out = {0};
        srand(seed);
        outq_init(&q, 1 << 30);
        for (int i = 0; i < 200; i++) {
            size_t size = (size_t)rand() % (rand() % 5 == 0 ? 100000 : 300);
            struct blob *b = blob_new(size);
            for (size_t k = 0; k < size; k++)
                b->data[k] = (uint8_t)rand();
            uint32_t offset = size == 0 ? 0 : (uint32_t)((size_t)rand() % size);
            outq_put(&q, slice_of(b->data, offset));
            outq_put_blob(&q, b, offset, b->size - offset);
            bytes_put_slice(&in, blob_slice(b));
            blob_put(b);
            if (rand() % 20 == 0 && q.bytes > 0) {
                struct slice front = outq_front(&q);
                size_t count = front.size < 77 ? front.size : 77;
                bytes_put(&out, front.data, count);
                outq_consume(&q, count);
            }
            ck_assert_uint_eq(q.bytes, in.size - out.size);
        }
        size_t expected = in.size;
        drain_randomly(&q, &out, 0);
        ck_assert_uint_ge(out.size, expected);
        ck_assert_mem_eq(out.data, in.data, expected);
        outq_fini(&q);
        bytes_fini(&in);
        bytes_fini(&out);
    }
}
END_TEST

START_TEST(large_payloads_are_written_from_their_blob)
{
    struct outq q;
    struct blob *b = blob_new(100000);
    memset(b->data, 1, b->size);
    outq_init(&q, 1 << 20);
    outq_put_blob(&q, b, 0, b->size);
    ck_assert_uint_eq(b->refs, 2);
    ck_assert_ptr_eq(outq_front(&q).data, b->data);
    ck_assert_uint_eq(outq_front(&q).size, 100000);
    outq_consume(&q, 100000);
    ck_assert_uint_eq(b->refs, 1);
    ck_assert_uint_eq(outq_front(&q).size, 0);
    outq_put_blob(&q, b, 10, 20000);
    outq_fini(&q);
    ck_assert_uint_eq(b->refs, 1);
    blob_put(b);
}
END_TEST

START_TEST(small_pieces_are_gathered_into_one_record)
{
    struct outq q;
    struct blob *b = blob_new(5000);
    memset(b->data, 2, b->size);
    outq_init(&q, 1 << 20);
    for (int i = 0; i < 3; i++) {
        outq_put(&q, slice_from_text("head"));
        outq_put_blob(&q, b, 0, b->size);
    }
    ck_assert_uint_eq(outq_front(&q).size, 3 * 5004);
    outq_fini(&q);
    blob_put(b);
}
END_TEST

START_TEST(a_frame_is_put_whole_or_not_at_all)
{
    struct outq q;
    struct blob *b = blob_new(400);
    struct rlog_entry entry = {.blob = b, .size = 400};
    struct rlog_frame frame = {3, slice_from_text("head"), &entry, 1};
    memset(b->data, 3, b->size);
    outq_init(&q, 1000);
    ck_assert_int_eq(outframe_put(&q, &frame), ST_OK);
    ck_assert_int_eq(outframe_put(&q, &frame), ST_OK);
    ck_assert_uint_eq(q.bytes, 832);
    ck_assert_int_eq(outframe_put(&q, &frame), ST_AGAIN);
    ck_assert_uint_eq(q.bytes, 832);
    outq_consume(&q, 832);
    /* An empty queue takes even what is above its limit. */
    q.limit_bytes = 100;
    ck_assert_int_eq(outframe_put(&q, &frame), ST_OK);
    outq_fini(&q);
    blob_put(b);
}
END_TEST

/* --- pulse --- */

#define NOTHING ((struct pulse_backlog){0, 0})

START_TEST(a_dialler_calls_every_two_seconds_and_gives_up_after_ten)
{
    struct pulse p;
    unsigned calls = 0;
    uint64_t now = 5000;
    pulse_init(&p, true, now);
    for (int second = 1; second < 10; second++) {
        enum pulse_verdict verdict = pulse_tick(&p, NOTHING, now += 1000);
        ck_assert_int_ne(verdict, PULSE_DEAD);
        calls += verdict == PULSE_CALL;
    }
    ck_assert_uint_eq(calls, 4);
    ck_assert_int_eq(pulse_tick(&p, NOTHING, now + 1000), PULSE_DEAD);
}
END_TEST

START_TEST(an_accepter_only_listens)
{
    struct pulse p;
    uint64_t now = 0;
    pulse_init(&p, false, now);
    for (int second = 1; second < 30; second++) {
        p.heard_ms = now;
        ck_assert_int_eq(pulse_tick(&p, NOTHING, now += 1000), PULSE_FINE);
    }
    for (int second = 1; second < 9; second++)
        ck_assert_int_eq(pulse_tick(&p, NOTHING, now += 1000), PULSE_FINE);
    ck_assert_int_eq(pulse_tick(&p, NOTHING, now + 1000), PULSE_DEAD);
}
END_TEST

START_TEST(a_slow_line_is_not_a_dead_peer_but_a_stuck_one_is)
{
    struct pulse p;
    uint64_t now = 0;
    pulse_init(&p, true, now);
    for (int second = 1; second < 60; second++) {
        p.is_moving = true;
        struct pulse_backlog busy = {1000, 1000};
        ck_assert_int_ne(pulse_tick(&p, busy, now += 1000), PULSE_DEAD);
    }
    for (int second = 1; second < 60; second++) {
        struct pulse_backlog in_kernel = {0, 1000};
        ck_assert_int_ne(pulse_tick(&p, in_kernel, now += 1000), PULSE_DEAD);
    }
    enum pulse_verdict verdict = PULSE_FINE;
    for (int second = 1; second <= 10; second++) {
        struct pulse_backlog stuck = {1000, 1000};
        ck_assert_int_ne(verdict, PULSE_DEAD);
        verdict = pulse_tick(&p, stuck, now += 1000);
    }
    ck_assert_int_eq(verdict, PULSE_DEAD);
}
END_TEST

START_TEST(our_own_standstill_is_not_held_against_the_peer)
{
    struct pulse p;
    pulse_init(&p, false, 0);
    ck_assert_int_eq(pulse_tick(&p, NOTHING, 1000), PULSE_FINE);
    ck_assert_int_eq(pulse_tick(&p, NOTHING, 31000), PULSE_FINE);
    ck_assert_int_eq(pulse_tick(&p, NOTHING, 32000), PULSE_FINE);
}
END_TEST

/* --- refusals --- */

START_TEST(the_same_refusal_is_logged_once_in_ten_seconds)
{
    struct refusals r = {0};
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    log_init(fd, 0, LOG_DEBUG);
    ck_assert(refusals_note(&r, 1000, "e", "a"));
    ck_assert(refusals_note(&r, 1000, "e", "b"));
    ck_assert(refusals_note(&r, 1000, "f", "a"));
    ck_assert(!refusals_note(&r, 10999, "e", "a"));
    ck_assert_uint_eq(r.muted, 1);
    ck_assert(refusals_note(&r, 11000, "e", "a"));
    ck_assert_uint_eq(r.muted, 0);
    /* Many distinct ones are bounded, too. */
    unsigned logged = 0;
    for (int i = 0; i < 1000; i++) {
        char text[16];
        snprintf(text, sizeof text, "x%d", i);
        logged += refusals_note(&r, 11001, "e", text);
    }
    ck_assert_uint_le(logged, REFUSALS_PLACES);
    ck_assert_uint_gt(logged, REFUSALS_PLACES / 2);
    log_init(STDERR_FILENO, 0, LOG_ERROR);
    close(fd);
}
END_TEST

/* --- addresses --- */

START_TEST(addresses_are_parsed_strictly)
{
    static const char *const good[][3] = {
        {"127.0.0.1:9453", "127.0.0.1", "9453"},
        {"[::1]:1", "::1", "1"},
        {"node-1.example:65535", "node-1.example", "65535"},
        {":443", "", "443"},
        {"*:443", "", "443"},
        {"[::]:0", "::", "0"},
    };
    static const char *const bad[] = {
        "",        "host",    "host:", "host:x",   "host:65536", "host:123456",
        "host:-1", "::1:443", "[::1]", "[::1:443", "[::1]x:443", "host: 1",
        "host:+1", "host:1 ",
    };
    struct address a;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_int_eq(address_parse(good[i][0], &a), ST_OK);
        ck_assert_str_eq(a.host, good[i][1]);
        ck_assert_str_eq(a.port, good[i][2]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(address_parse(bad[i], &a) == ST_INVALID, "%s", bad[i]);
    char text[300];
    memset(text, 'a', sizeof text);
    strcpy(text + 290, ":1");
    ck_assert_int_eq(address_parse(text, &a), ST_INVALID);
}
END_TEST

START_TEST(only_literals_are_numeric)
{
    struct address a;
    struct sockaddr_storage addr;
    char ip[64];
    ck_assert_int_eq(address_parse("[2001:db8::7]:443", &a), ST_OK);
    ck_assert_int_eq(address_numeric(&a, &addr), ST_OK);
    address_format_ip(&addr, ip);
    ck_assert_str_eq(ip, "2001:db8::7");
    ck_assert_int_eq(address_parse("10.1.2.3:443", &a), ST_OK);
    ck_assert_int_eq(address_numeric(&a, &addr), ST_OK);
    address_format_ip(&addr, ip);
    ck_assert_str_eq(ip, "10.1.2.3");
    ck_assert_int_eq(address_parse("localhost:443", &a), ST_OK);
    ck_assert_int_eq(address_numeric(&a, &addr), ST_NOTFOUND);
}
END_TEST

Suite *
parts_suite(void)
{
    Suite *suite = suite_create("parts");
    TCase *tcase = tcase_create("parts");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, bytes_leave_the_queue_as_they_came);
    tcase_add_test(tcase, large_payloads_are_written_from_their_blob);
    tcase_add_test(tcase, small_pieces_are_gathered_into_one_record);
    tcase_add_test(tcase, a_frame_is_put_whole_or_not_at_all);
    tcase_add_test(tcase, a_dialler_calls_every_two_seconds_and_gives_up_after_ten);
    tcase_add_test(tcase, an_accepter_only_listens);
    tcase_add_test(tcase, a_slow_line_is_not_a_dead_peer_but_a_stuck_one_is);
    tcase_add_test(tcase, our_own_standstill_is_not_held_against_the_peer);
    tcase_add_test(tcase, the_same_refusal_is_logged_once_in_ten_seconds);
    tcase_add_test(tcase, addresses_are_parsed_strictly);
    tcase_add_test(tcase, only_literals_are_numeric);
    suite_add_tcase(suite, tcase);
    return suite;
}
