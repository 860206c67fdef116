/* Hostile input on the cluster's port: nothing of it may cost memory, descriptors or
 * the links that are up, and nothing may reach the frame callback. */
#include "test_cluster.h"

#include "base/limits.h"
#include "raw.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct rig rig;

static void
setup(void)
{
    rig_init(&rig);
    rig_start(&rig, 1);
    rig_start(&rig, 2);
    ck_assert(rig_connect(&rig, 1, 2));
}

static void
teardown(void)
{
    /* Whatever happened: the old links are the same and still work. */
    ck_assert(rig_is_up(&rig, 1, 2) && rig_is_up(&rig, 2, 1));
    ck_assert_uint_eq(rig.nodes[1].ups[2], 1);
    ck_assert_uint_eq(rig.nodes[2].ups[1], 1);
    rig_fini(&rig);
}

/* The other side has closed it: end of file or reset, at the latest after two seconds.
 */
static bool
is_closed(void *ctx)
{
    uint8_t drop[512];
    ssize_t count;
    do
        count = recv(*(int *)ctx, drop, sizeof drop, MSG_DONTWAIT);
    while (count > 0);
    return count == 0 || errno == ECONNRESET;
}

static void
send_plain(const void *data, size_t size)
{
    int fd = rig_socket(&rig, 1);
    ck_assert_int_eq(send(fd, data, size, MSG_NOSIGNAL), (ssize_t)size);
    ck_assert(rig_run(&rig, 2000, is_closed, &fd));
    close(fd);
}

START_TEST(plain_http_is_closed_at_once)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    send_plain(request, sizeof request - 1);
    ck_assert(rig_logs(&rig, "event=cluster.refused"));
}
END_TEST

START_TEST(random_bytes_are_closed_and_leave_nothing)
{
    uint8_t noise[2000];
    int before = rig_open_fds();
    srand(3);
    for (int round = 0; round < 60; round++) {
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (uint8_t)rand();
        /* Every other time what looks like the head of a handshake record, so that TLS
         * reads on. */
        if (round % 2 == 0)
            memcpy(noise, "\x16\x03\x01\x07\x00\x01\x00\x06\xfc\x03\x03", 11);
        send_plain(noise, sizeof noise);
    }
    rig_idle(&rig, 20);
    ck_assert_int_eq(rig_open_fds(), before);
}
END_TEST

START_TEST(half_a_handshake_times_out)
{
    static const uint8_t part[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3};
    int fd = rig_socket(&rig, 1);
    int silent = rig_socket(&rig, 1);
    ck_assert_int_eq(send(fd, part, sizeof part, 0), sizeof part);
    rig_idle(&rig, 1000);
    ck_assert(!is_closed(&fd) && !is_closed(&silent));
    ck_assert(rig_run(&rig, 5000, is_closed, &fd));
    ck_assert(rig_run(&rig, 1000, is_closed, &silent));
    ck_assert(rig_logs(&rig, "handshake timed out"));
    close(fd);
    close(silent);
}
END_TEST

START_TEST(unauthenticated_connections_are_few_and_the_oldest_goes)
{
    enum { COUNT = 80 };
    int fds[COUNT];
    for (int i = 0; i < COUNT; i++)
        fds[i] = rig_socket(&rig, 1);
    ck_assert(rig_run(&rig, 3000, is_closed, &fds[COUNT - 33]));
    rig_idle(&rig, 100);
    int open = 0;
    for (int i = 0; i < COUNT; i++)
        open += !is_closed(&fds[i]);
    ck_assert_int_le(open, 32);
    ck_assert_int_ge(open, 30);
    /* A member still gets in. */
    rig_start(&rig, 3);
    ck_assert(rig_connect(&rig, 1, 3));
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
}
END_TEST

START_TEST(a_flood_of_connections_is_rationed_and_leaves_nothing)
{
    uint8_t noise[64] = {0x16, 3, 1, 0, 200, 1};
    size_t memory = 0;
    int before = rig_open_fds();
    uint64_t end = rig_now_ns() + 2000000000u;
    unsigned count = 0;
    while (rig_now_ns() < end) {
        int fd = rig_socket(&rig, 1);
        (void)send(fd, noise, sizeof noise, MSG_NOSIGNAL | MSG_DONTWAIT);
        close(fd);
        for (int i = 0; i < 3; i++)
            uv_run(&rig.loop, UV_RUN_NOWAIT);
        if (++count == 50)
            memory = rig_resident_bytes();
        /* A full backlog would make connect() wait: as a client, step back. */
        if (count % 40 == 0)
            rig_idle(&rig, 300);
    }
    ck_assert_uint_gt(count, 100);
    rig_idle(&rig, 500);
    ck_assert_int_eq(rig_open_fds(), before);
    if (!RIG_KEEPS_FREED)
        ck_assert_uint_lt(rig_resident_bytes(), memory + (8u << 20));
    ck_assert_uint_lt(rig_count_logged(&rig, "event=cluster.refused"), 40);
}
END_TEST

/* --- a member that misbehaves --- */

/* Greets as node 3, sends bytes; the connection must end and only frames frames may
 * have been handed on. */
static void
expect_thrown_out(struct slice bytes, uint64_t frames)
{
    struct raw raw;
    ck_assert(raw_connect(&raw, &rig, 1, 3));
    ck_assert(raw_greet(&raw, 3));
    raw_send(&raw, bytes);
    ck_assert(raw_is_ended(&raw));
    ck_assert_uint_eq(rig.nodes[1].frames, frames);
    raw_close(&raw);
}

START_TEST(bad_frames_of_a_member_end_its_connection)
{
    struct bytes out = {0};
    uint8_t head[FRAME_HEAD_BYTES];

    frame_put(&out, 64, slice_from_text("fine"));
    frame_put(&out, 64, slice_from_text("fine"));
    out.data[out.size - 1] ^= 1; /* checksum */
    expect_thrown_out(slice_of(out.data, out.size), 1);

    frame_head_end(head, frame_head_begin(head, 64, LIMIT_FRAME_BYTES + 1));
    expect_thrown_out(slice_of(head, sizeof head), 1);

    frame_head_end(head, frame_head_begin(head, 64, 5));
    head[4] = 0;
    expect_thrown_out(slice_of(head, sizeof head), 1);

    static const uint8_t kinds[] = {FRAME_HELLO, FRAME_REFUSAL, 35, 63};
    for (size_t i = 0; i < sizeof kinds; i++) {
        bytes_clear(&out);
        frame_put(&out, kinds[i], slice_from_text("x"));
        expect_thrown_out(slice_of(out.data, out.size), 1);
    }
    bytes_fini(&out);
}
END_TEST

START_TEST(no_frame_is_taken_before_the_hello)
{
    static const uint8_t kinds[] = {1, 31, FRAME_KEEPALIVE, FRAME_REFUSAL, 64, 255};
    for (size_t i = 0; i < sizeof kinds; i++) {
        struct raw raw;
        struct bytes out = {0};
        ck_assert(raw_connect(&raw, &rig, 1, 3));
        frame_put(&out, kinds[i], slice_from_text("x"));
        raw_send(&raw, slice_of(out.data, out.size));
        ck_assert(raw_is_ended(&raw));
        raw_close(&raw);
        bytes_fini(&out);
    }
    ck_assert_uint_eq(rig.nodes[1].frames, 0);
}
END_TEST

START_TEST(a_hello_above_one_kibibyte_is_refused_by_its_head)
{
    struct raw raw;
    uint8_t head[FRAME_HEAD_BYTES];
    ck_assert(raw_connect(&raw, &rig, 1, 3));
    frame_head_end(head, frame_head_begin(head, FRAME_HELLO, 1025));
    raw_send(&raw, slice_of(head, sizeof head));
    ck_assert(raw_is_ended(&raw));
    raw_close(&raw);
}
END_TEST

START_TEST(keepalives_are_answered)
{
    struct raw raw;
    uint8_t kind;
    uint8_t body[4096];
    uint32_t size;
    struct bytes out = {0};
    ck_assert(raw_connect(&raw, &rig, 1, 3));
    ck_assert(raw_greet(&raw, 3));
    frame_put(&out, FRAME_KEEPALIVE, slice_of("", 0));
    frame_put(&out, 64, slice_from_text("x"));
    for (int i = 0; i < 3; i++) {
        raw_send(&raw, slice_of(out.data, out.size));
        ck_assert(raw_read(&raw, &kind, body, &size));
        ck_assert_uint_eq(kind, FRAME_KEEPALIVE);
    }
    ck_assert_uint_eq(rig.nodes[1].frames, 3);
    raw_close(&raw);
    bytes_fini(&out);
}
END_TEST

START_TEST(a_newer_connection_of_a_peer_replaces_the_older)
{
    struct raw old;
    struct raw new;
    struct bytes out = {0};
    ck_assert(raw_connect(&old, &rig, 1, 3));
    ck_assert(raw_greet(&old, 3));
    ck_assert(raw_connect(&new, &rig, 1, 3));
    ck_assert(raw_greet(&new, 3));
    ck_assert(raw_is_ended(&old));
    frame_put(&out, 64, slice_from_text("x"));
    raw_send(&new, slice_of(out.data, out.size));
    rig_idle(&rig, 20);
    ck_assert_uint_eq(rig.nodes[1].frames, 1);
    raw_close(&old);
    raw_close(&new);
    bytes_fini(&out);
}
END_TEST

START_TEST(without_descriptors_accepting_pauses_and_recovers)
{
    struct rlimit was;
    struct rlimit few;
    int client = rig_socket(&rig, 1);
    rig_idle(&rig, 20);
    int second = socket(AF_INET, SOCK_STREAM, 0);
    getrlimit(RLIMIT_NOFILE, &was);
    few = (struct rlimit){(rlim_t)second + 1, was.rlim_max};
    close(client);
    close(second);
    rig_idle(&rig, 20);
    int fds[64];
    int count = 0;
    setrlimit(RLIMIT_NOFILE, &few);
    while (count < 60 && (fds[count] = dup(0)) >= 0)
        count++;
    close(fds[--count]);
    client = rig_socket(&rig, 1); /* takes the last one */
    rig_idle(&rig, 250);
    ck_assert(rig_logs(&rig, "consequence=pausing"));
    ck_assert_uint_le(rig_count_logged(&rig, "consequence=pausing"), 4);
    while (count > 0)
        close(fds[--count]);
    setrlimit(RLIMIT_NOFILE, &was);
    rig_start(&rig, 3);
    ck_assert(rig_connect(&rig, 1, 3));
    close(client);
}
END_TEST

Suite *
abuse_suite(void)
{
    Suite *suite = suite_create("abuse");
    TCase *tcase = tcase_create("abuse");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, plain_http_is_closed_at_once);
    tcase_add_test(tcase, random_bytes_are_closed_and_leave_nothing);
    tcase_add_test(tcase, half_a_handshake_times_out);
    tcase_add_test(tcase, unauthenticated_connections_are_few_and_the_oldest_goes);
    tcase_add_test(tcase, a_flood_of_connections_is_rationed_and_leaves_nothing);
    tcase_add_test(tcase, bad_frames_of_a_member_end_its_connection);
    tcase_add_test(tcase, no_frame_is_taken_before_the_hello);
    tcase_add_test(tcase, a_hello_above_one_kibibyte_is_refused_by_its_head);
    tcase_add_test(tcase, keepalives_are_answered);
    tcase_add_test(tcase, a_newer_connection_of_a_peer_replaces_the_older);
    tcase_add_test(tcase, without_descriptors_accepting_pauses_and_recovers);
    suite_add_tcase(suite, tcase);
    return suite;
}
