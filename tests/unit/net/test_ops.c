/* Tests of net/ops, with a core that is this thread. */
#include "net/ops.h"

#include "base/limits.h"
#include "base/mem.h"
#include "rig.h"
#include "suites.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIG_BYTES (4u << 20)

struct number {
    struct ops_snapshot snapshot;
    uint64_t value;
};

static struct ops *ops;
static _Atomic bool is_up;
static _Atomic int asks;
static _Atomic int live; /* snapshots */

static int
number_cb(void *ctx, const struct ops_snapshot *snapshot, struct bytes *out)
{
    (void)ctx;
    if (snapshot == NULL) {
        bytes_put_text(out, "none\n");
        return 503;
    }
    const struct number *n = (const void *)snapshot;
    bytes_printf(out, "%llu\n", (unsigned long long)n->value);
    return 200;
}

static int
plain_cb(void *ctx, const struct ops_snapshot *snapshot, struct bytes *out)
{
    (void)ctx;
    ck_assert_ptr_null(snapshot);
    bytes_put_text(out, "plain\n");
    return 200;
}

static int
big_cb(void *ctx, const struct ops_snapshot *snapshot, struct bytes *out)
{
    (void)ctx;
    (void)snapshot;
    memset(bytes_extend(out, BIG_BYTES), 'x', BIG_BYTES);
    return 200;
}

static const struct ops_page PAGES[] = {
    {"/number", "text/plain", true, number_cb},
    {"/plain", "text/plain", false, plain_cb},
    {"/big", "text/plain", false, big_cb},
};

static bool
ask_cb(void *ctx)
{
    (void)ctx;
    asks++;
    return is_up;
}

static void
free_cb(struct ops_snapshot *snapshot)
{
    live--;
    mem_free(snapshot);
}

static void
set_up(void)
{
    const struct ops_options options = {
        .address = "127.0.0.1:0",
        .pages = PAGES,
        .page_count = sizeof PAGES / sizeof PAGES[0],
        .ask_cb = ask_cb,
        .free_cb = free_cb,
    };
    is_up = true;
    ck_assert_int_eq(ops_open(&options, &ops), ST_OK);
}

static void
tear_down(void)
{
    ops_close(ops);
    ck_assert_int_eq(live, 0);
}

static int
dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(ops_port(ops)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void
send_text(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static int
begin(const char *request_line)
{
    char text[512];
    int fd = dial();
    (void)snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: x\r\n\r\n", request_line);
    send_text(fd, text);
    return fd;
}

/* Until the other side closes; answers asks as a core would, each with another value.
 */
static const char *
finish(int fd, bool is_core_answering)
{
    static char text[1024];
    static uint64_t value;
    size_t size = 0;
    uint64_t until = test_now_ms() + RIG_WAIT_MS;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ck_assert_msg(test_now_ms() < until, "no end");
        if (is_core_answering && ops_is_asked(ops)) {
            struct number *n = mem_calloc(1, sizeof *n);
            n->value = ++value;
            live++;
            ops_answer(ops, &n->snapshot);
        }
        if (poll(&p, 1, 1) != 1)
            continue;
        ssize_t got = recv(fd, text + size, sizeof text - 1 - size, 0);
        if (got <= 0)
            break;
        size += (size_t)got;
        if (size == sizeof text - 1)
            break;
    }
    text[size] = '\0';
    (void)close(fd);
    return text;
}

static int
code_of(const char *answer)
{
    int code = 0;
    return sscanf(answer, "HTTP/1.%*d %d", &code) == 1 ? code : 0;
}

static const char *
body_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    return end == NULL ? "" : end + 4;
}

START_TEST(pages_are_answered_by_path)
{
    const char *answer = finish(begin("GET /plain"), true);
    ck_assert_int_eq(code_of(answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "Content-Type: text/plain\r\n"));
    ck_assert_str_eq(body_of(answer), "plain\n");
    ck_assert_int_eq(asks, 0);
    answer = finish(begin("GET /number?x=1"), true);
    ck_assert_int_eq(code_of(answer), 200);
    ck_assert_str_eq(body_of(answer), "1\n");
}
END_TEST

START_TEST(head_gives_the_size_and_no_body)
{
    const char *answer = finish(begin("HEAD /plain"), true);
    ck_assert_int_eq(code_of(answer), 200);
    ck_assert_ptr_nonnull(strstr(answer, "Content-Length: 6\r\n"));
    ck_assert_str_eq(body_of(answer), "");
}
END_TEST

START_TEST(other_paths_and_methods_are_refused)
{
    static const char *const paths[] = {
        "GET /",        "GET /plain/", "GET /../plain",
        "GET /%70lain", "GET /Plain",  "GET /plain;$(id)`x`'",
        "GET //plain",  "GET ?",       "GET http://x/plain"};
    static const char *const methods[] = {"POST /plain",  "DELETE /plain",
                                          "OPTIONS *",    "TRACE /plain",
                                          "PATCH /plain", "CONNECT x:1"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        ck_assert_msg(code_of(finish(begin(paths[i]), true)) == 404, "%s", paths[i]);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        ck_assert_msg(code_of(finish(begin(methods[i]), true)) == 405, "%s",
                      methods[i]);
    int code = code_of(finish(begin("BREW /plain"), true));
    ck_assert_msg(code >= 400, "%d", code);
}
END_TEST

START_TEST(who_asks_together_shares_a_snapshot)
{
    int fds[10];
    for (int i = 0; i < 10; i++)
        fds[i] = begin("GET /number");
    AWAIT(asks == 1);
    test_nap();
    ck_assert_int_eq(code_of(finish(fds[0], true)), 200);
    for (int i = 1; i < 10; i++)
        ck_assert_int_eq(code_of(finish(fds[i], true)), 200);
    ck_assert_int_le(asks, 4); /* the first alone, and what came meanwhile */
}
END_TEST

START_TEST(a_core_that_does_not_answer_is_told_of_in_time)
{
    uint64_t from = test_now_ms();
    const char *answer = finish(begin("GET /number"), false);
    ck_assert_int_eq(code_of(answer), 503);
    ck_assert_str_eq(body_of(answer), "none\n");
    ck_assert_uint_lt(test_now_ms() - from, 5 * LIMIT_OPS_CORE_MS);
    ck_assert_int_eq(code_of(finish(begin("GET /plain"), false)), 200);
    /* And when it comes to itself, all is as before. */
    ck_assert_int_eq(code_of(finish(begin("GET /number"), true)), 200);
}
END_TEST

START_TEST(a_core_that_is_not_up_is_not_waited_for)
{
    is_up = false;
    uint64_t from = test_now_ms();
    ck_assert_int_eq(code_of(finish(begin("GET /number"), false)), 503);
    ck_assert_uint_lt(test_now_ms() - from, LIMIT_OPS_CORE_MS);
    is_up = true;
    ck_assert_int_eq(code_of(finish(begin("GET /number"), true)), 200);
}
END_TEST

START_TEST(a_client_that_went_away_is_forgotten)
{
    for (int i = 0; i < 20; i++)
        (void)close(begin("GET /number"));
    ck_assert_int_eq(code_of(finish(begin("GET /number"), true)), 200);
}
END_TEST

START_TEST(those_who_only_hold_connections_open_make_room)
{
    int fds[3 * LIMIT_OPS_CONNECTIONS];
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        fds[i] = dial();
        (void)send(fds[i], "GET /pla", 8, MSG_NOSIGNAL);
    }
    ck_assert_int_eq(code_of(finish(begin("GET /plain"), true)), 200);
    size_t open = 0;
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        char c;
        open += recv(fds[i], &c, 1, MSG_DONTWAIT) < 0;
        (void)close(fds[i]);
    }
    ck_assert_uint_le(open, LIMIT_OPS_CONNECTIONS);
}
END_TEST

START_TEST(a_client_that_sends_slowly_is_ended)
{
    int fd = dial();
    uint64_t from = test_now_ms();
    while (send(fd, "G", 1, MSG_NOSIGNAL) == 1) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ck_assert_uint_lt(test_now_ms() - from, 3 * LIMIT_OPS_LIFE_MS);
        if (poll(&p, 1, 500) == 1)
            break;
    }
    (void)close(fd);
    ck_assert_uint_ge(test_now_ms() - from, LIMIT_OPS_LIFE_MS / 2);
}
END_TEST

static int
count_fds(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Both ends are in this process. */
START_TEST(a_client_that_does_not_read_is_ended)
{
    int before = count_fds();
    int fd = begin("GET /big");
    uint64_t from = test_now_ms();
    /* More for a moment when a sanitizer looks something up. */
    AWAIT(count_fds() >= before + 2);
    while (count_fds() >= before + 2) {
        ck_assert_uint_lt(test_now_ms() - from, 3 * LIMIT_OPS_LIFE_MS);
        test_nap();
    }
    (void)close(fd);
    ck_assert_uint_ge(test_now_ms() - from, 1000 * LIMIT_OPS_IDLE_SECS / 2);
}
END_TEST

START_TEST(heads_and_bodies_are_bounded)
{
    static char head[64 << 10];
    memset(head, 'y', sizeof head);
    int fd = dial();
    send_text(fd, "GET /plain HTTP/1.1\r\nX: ");
    (void)send(fd, head, sizeof head, MSG_NOSIGNAL);
    ck_assert_int_ne(code_of(finish(fd, true)), 200);
    fd = dial();
    send_text(fd, "POST /plain HTTP/1.1\r\nContent-Length: 1073741824\r\n\r\n");
    ck_assert_int_eq(code_of(finish(fd, true)), 413);
    fd = dial();
    send_text(fd, "POST /plain HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "40000000\r\n");
    (void)send(fd, head, sizeof head, MSG_NOSIGNAL);
    ck_assert_int_ne(code_of(finish(fd, true)), 200);
    ck_assert_int_eq(code_of(finish(begin("GET /plain"), true)), 200);
}
END_TEST

START_TEST(closing_answers_those_who_wait)
{
    int fd = begin("GET /number");
    AWAIT(asks == 1);
    ops_close(ops);
    ops = NULL;
    (void)finish(fd, false); /* ends; what it says depends on what had left */
}
END_TEST

START_TEST(a_port_in_use_and_a_bad_address_are_told)
{
    char address[32];
    struct ops *other = NULL;
    struct ops_options options = {.address = address, .pages = PAGES, .page_count = 1};
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", ops_port(ops));
    ck_assert_int_eq(ops_open(&options, &other), ST_EXISTS);
    options.address = "nonsense";
    ck_assert_int_eq(ops_open(&options, &other), ST_INVALID);
    ck_assert_ptr_null(other);
}
END_TEST

Suite *
suite_ops(void)
{
    Suite *s = suite_create("ops");
    TCase *c = tcase_create("ops");
    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, pages_are_answered_by_path);
    tcase_add_test(c, head_gives_the_size_and_no_body);
    tcase_add_test(c, other_paths_and_methods_are_refused);
    tcase_add_test(c, who_asks_together_shares_a_snapshot);
    tcase_add_test(c, a_core_that_does_not_answer_is_told_of_in_time);
    tcase_add_test(c, a_core_that_is_not_up_is_not_waited_for);
    tcase_add_test(c, a_client_that_went_away_is_forgotten);
    tcase_add_test(c, those_who_only_hold_connections_open_make_room);
    tcase_add_test(c, a_client_that_sends_slowly_is_ended);
    tcase_add_test(c, a_client_that_does_not_read_is_ended);
    tcase_add_test(c, heads_and_bodies_are_bounded);
    tcase_add_test(c, closing_answers_those_who_wait);
    tcase_add_test(c, a_port_in_use_and_a_bad_address_are_told);
    suite_add_tcase(s, c);
    return s;
}
