/* Tests with many connections at once; with TEST_MEASURE=1 they print what a connection
 * costs and how many requests a thread takes. */
#include "client.h"
#include "rig.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MANY       2000
#define MEASURE_MS 3000

static struct rig rig;

static bool
is_measuring(void)
{
    return getenv("TEST_MEASURE") != NULL;
}

static void
raise_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    ck_assert_uint_gt(limit.rlim_cur, 2 * MANY + 100);
}

static uint64_t
resident_kib(void)
{
    unsigned long size = 0;
    unsigned long resident = 0;
    FILE *in = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(in, "%lu %lu", &size, &resident), 2);
    fclose(in);
    return (uint64_t)resident * 4;
}

START_TEST(thousands_come_and_go_and_nothing_is_left)
{
    struct rig_options options = {.threads = 2, .queue = {.login_timeout_secs = 60}};
    raise_limit();
    rig_open(&rig, &options);
    struct client *clients = calloc(MANY, sizeof(*clients));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            client_connect(&clients[i], rig.port);
        AWAIT(rig_counts(&rig).pending_logins == MANY);
        AWAIT(rig_counts(&rig).open_clients == MANY);
        for (int i = 0; i < MANY; i += 10) {
            client_upgrade(&clients[i], "localhost", "");
            client_send_login(&clients[i], "subscriber", "good");
            client_expect_begin(&clients[i], "{\"status\":\"Success.\"");
        }
        for (int i = 0; i < MANY; i++)
            client_free(&clients[i]);
        AWAIT(rig_counts(&rig).open_clients == 0);
        ck_assert_uint_eq(rig_counts(&rig).pending_logins, 0);
        rig_await_closed(&rig, (uint64_t)(round + 1) * MANY / 10);
    }
    free(clients);
    rig_close(&rig);
}
END_TEST

/* The clients are in a child, so that only the server's side is counted here. */
static void
hold_clients(uint16_t port, int count, int in, int out)
{
    struct client *clients = calloc((size_t)count, sizeof(*clients));
    char byte = 0;
    for (int i = 0; i < count; i++)
        client_login(&clients[i], port, "subscriber");
    if (write(out, &byte, 1) != 1 || read(in, &byte, 1) < 0)
        _exit(1);
    _exit(0);
}

START_TEST(what_an_idle_connection_costs)
{
    int to_child[2];
    int from_child[2];
    char byte = 0;
    if (!is_measuring())
        return;
    raise_limit();
    rig_open(&rig, NULL);
    ck_assert_int_eq(pipe(to_child), 0);
    ck_assert_int_eq(pipe(from_child), 0);
    uint64_t before = resident_kib();
    if (fork() == 0)
        hold_clients(rig.port, MANY, to_child[0], from_child[1]);
    ck_assert_int_eq(read(from_child[0], &byte, 1), 1);
    ck_assert_uint_eq(rig_counts(&rig).open_clients, MANY);
    printf("idle connection: %.1f KiB\n", (double)(resident_kib() - before) / MANY);
    ck_assert_int_eq(write(to_child[1], &byte, 1), 1);
    AWAIT(rig_counts(&rig).open_clients == 0);
    rig_close(&rig);
}
END_TEST

/* One of the children's clients: sends depth requests, and as many again whenever that
 * many were answered. Replies are counted by their bytes, so that it costs less than
 * the server. */
struct load {
    struct client client;
    struct bytes requests;
    size_t wanted; /* bytes of replies */
};

static void
start_load(struct load *l, uint16_t port, int depth)
{
    static const char request[] = "{\"body\":\"0123456789abcdef\"}";
    client_login(&l->client, port, "publisher");
    for (int i = 0; i < depth; i++)
        client_put_frame(&l->requests, FRAME_TEXT, request, sizeof(request) - 1);
    l->wanted = (size_t)depth * (sizeof(LOGIN_OK) - 1 + 2);
    ck_assert(client_send(&l->client, l->requests.data, l->requests.size));
}

static void
go_on(struct load *l)
{
    static char in[65536];
    size_t left = l->wanted;
    while (left > 0) {
        int most = left > sizeof(in) ? (int)sizeof(in) : (int)left;
        int got = SSL_read(l->client.ssl, in, most);
        if (got <= 0)
            _exit(0);
        left -= (size_t)got;
    }
    if (!client_send(&l->client, l->requests.data, l->requests.size))
        _exit(0);
}

static void
publish_for_ever(uint16_t port, int count, int depth)
{
    struct load *loads = calloc((size_t)count, sizeof(*loads));
    for (int i = 0; i < count; i++)
        start_load(&loads[i], port, depth);
    for (int i = 0;; i = (i + 1) % count)
        go_on(&loads[i]);
}

static double
seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void
measure(int processes, int count, int depth)
{
    struct rusage usage[2];
    rig_open(&rig, NULL);
    for (int i = 0; i < processes; i++)
        if (fork() == 0)
            publish_for_ever(rig.port, count, depth);
    rig_await_logins(&rig, (uint64_t)processes * (uint64_t)count);
    uint64_t start = test_now_ms();
    uint64_t before = rig_read(&rig, &rig.requests);
    getrusage(RUSAGE_SELF, &usage[0]);
    while (test_now_ms() < start + MEASURE_MS)
        test_nap();
    getrusage(RUSAGE_SELF, &usage[1]);
    double requests = (double)(rig_read(&rig, &rig.requests) - before);
    double secs = (double)(test_now_ms() - start) / 1000;
    double used = seconds(usage[1].ru_utime) - seconds(usage[0].ru_utime) +
                  seconds(usage[1].ru_stime) - seconds(usage[0].ru_stime);
    ck_assert_uint_eq(rig.request_bytes_total, rig.requests * 16);
    printf(
        "%d connections, %d requests at once: %.0f/s, %.2f processors, %.2f us each\n",
        processes * count, depth, requests / secs, used / secs, used * 1e6 / requests);
    rig_close(&rig);
}

START_TEST(how_many_requests_a_thread_takes)
{
    if (!is_measuring())
        return;
    measure(2, 2, 512);
    measure(2, 50, 16);
    measure(2, 100, 1);
}
END_TEST

Suite *
suite_many(void)
{
    Suite *s = suite_create("many");
    TCase *t = tcase_create("many");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, thousands_come_and_go_and_nothing_is_left);
    tcase_add_test(t, what_an_idle_connection_costs);
    tcase_add_test(t, how_many_requests_a_thread_takes);
    suite_add_tcase(s, t);
    return s;
}
