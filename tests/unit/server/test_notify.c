/* What a service manager hears, on a socket of the test's own. */
#include "server/notify.h"

#include "base/log.h"
#include "server/progress.h"
#include "suites.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct manager {
    int fd;
    char name[64]; /* NOTIFY_SOCKET */
    char text[512];
};

static void
listen_at(struct manager *m, bool is_abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(m->name, sizeof m->name, "%choldfast-notify-%ld", is_abstract ? '@' : '/',
             (long)getpid());
    if (!is_abstract)
        snprintf(m->name, sizeof m->name, "/tmp/holdfast-notify-%ld", (long)getpid());
    size_t size = strlen(m->name);
    memcpy(address.sun_path, m->name, size);
    if (is_abstract)
        address.sun_path[0] = '\0';
    m->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ck_assert_int_ge(m->fd, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    ck_assert_int_eq(bind(m->fd, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(setenv("NOTIFY_SOCKET", m->name, 1), 0);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

static void
stop_listening(struct manager *m)
{
    close(m->fd);
    if (m->name[0] == '/')
        unlink(m->name);
    unsetenv("NOTIFY_SOCKET");
}

/* The next message; "" when there is none. */
static const char *
hear(struct manager *m)
{
    ssize_t size = recv(m->fd, m->text, sizeof m->text - 1, 0);
    m->text[size > 0 ? size : 0] = '\0';
    return m->text;
}

START_TEST(each_state_is_told_with_its_words)
{
    struct manager m;
    struct notify n;
    unsigned long long before;
    unsigned long long usec;
    listen_at(&m, _i == 1);
    notify_open(&n);
    notify_extend(&n, 30000, "Starting: log, 1 of 2");
    ck_assert_str_eq(hear(&m),
                     "EXTEND_TIMEOUT_USEC=30000000\nSTATUS=Starting: log, 1 of 2\n");
    notify_ready(&n);
    ck_assert_str_eq(hear(&m), "READY=1\nSTATUS=Running\n");
    notify_reloading(&n);
    ck_assert_int_eq(
        sscanf(hear(&m), "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=Reloading", &before),
        1);
    notify_reloading(&n);
    ck_assert_int_eq(sscanf(hear(&m), "RELOADING=1\nMONOTONIC_USEC=%llu", &usec), 1);
    ck_assert(usec >= before && before > 0);
    notify_stopping(&n);
    ck_assert_str_eq(hear(&m), "STOPPING=1\nSTATUS=Stopping\n");
    ck_assert_str_eq(hear(&m), "");
    notify_close(&n);
    stop_listening(&m);
}
END_TEST

START_TEST(the_watchdog_is_fed_by_turns_twice_in_its_time)
{
    struct manager m;
    struct notify n;
    listen_at(&m, true);
    setenv("WATCHDOG_USEC", "3000000", 1);
    notify_open(&n);
    int fed = 0;
    for (uint64_t ms = 1000; ms <= 10000; ms += 10) {
        notify_turn(&n, ms);
        if (hear(&m)[0] != '\0') {
            ck_assert_str_eq(m.text, "WATCHDOG=1\n");
            ck_assert_uint_eq(ms, 1000 + 1500 * (uint64_t)fed);
            ck_assert_uint_eq(notify_deadline(&n), ms + 1500);
            fed++;
        }
    }
    ck_assert_int_eq(fed, 7);
    notify_close(&n);
    stop_listening(&m);
}
END_TEST

START_TEST(a_watchdog_of_another_process_is_not_ours)
{
    struct manager m;
    struct notify n;
    listen_at(&m, true);
    setenv("WATCHDOG_USEC", "3000000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    notify_open(&n);
    notify_turn(&n, 5000);
    ck_assert_str_eq(hear(&m), "");
    ck_assert_uint_eq(notify_deadline(&n), UINT64_MAX);
    notify_close(&n);
    stop_listening(&m);
}
END_TEST

START_TEST(without_a_manager_nothing_happens)
{
    static const char *const names[] = {
        "",
        "/",
        "relative",
        "@",
        "/nowhere/at/all",
        "/a-name-that-is-longer-than-a-socket-may-have-in-"
        "its-address-0123456789-0123456789-0123456789-0123"
        "456789"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct notify n;
        setenv("NOTIFY_SOCKET", names[i], 1);
        setenv("WATCHDOG_USEC", "3000000", 1);
        notify_open(&n);
        ck_assert_int_eq(n.fd, -1);
        notify_ready(&n);
        notify_turn(&n, 5000);
        ck_assert_uint_eq(notify_deadline(&n), UINT64_MAX);
        notify_close(&n);
    }
    unsetenv("NOTIFY_SOCKET");
}
END_TEST

START_TEST(a_manager_that_does_not_read_stalls_nobody)
{
    struct manager m;
    struct notify n;
    listen_at(&m, true);
    notify_open(&n);
    for (int i = 0; i < 5000; i++)
        notify_ready(&n);
    ck_assert_str_eq(hear(&m), "READY=1\nSTATUS=Running\n");
    notify_close(&n);
    stop_listening(&m);
}
END_TEST

START_TEST(progress_is_told_once_a_second)
{
    struct manager m;
    struct notify n;
    struct progress p = {0};
    int told = 0;
    listen_at(&m, true);
    log_init(open("/dev/null", O_WRONLY | O_CLOEXEC), 0, LOG_INFO);
    notify_open(&n);
    for (uint64_t ms = 5000; ms <= 9500; ms += 100) {
        progress_note(&p, &n, "snapshot", ms, 20000, ms);
        if (hear(&m)[0] == '\0')
            continue;
        told++;
        char wanted[96];
        snprintf(wanted, sizeof wanted, "STATUS=Starting: snapshot, %d of 20000\n",
                 5000 + 1000 * told);
        ck_assert_ptr_nonnull(strstr(m.text, wanted));
        ck_assert_ptr_nonnull(strstr(m.text, "EXTEND_TIMEOUT_USEC=30000000\n"));
    }
    ck_assert_int_eq(told, 4);
    progress_end(&p, 20000, 9600);
    progress_note(&p, &n, "replay", 1, 2, 9700); /* a second from here */
    progress_note(&p, &n, "replay", 2, 2, 10600);
    ck_assert_str_eq(hear(&m), "");
    notify_close(&n);
    stop_listening(&m);
}
END_TEST

Suite *
notify_suite(void)
{
    Suite *s = suite_create("notify");
    TCase *t = tcase_create("notify");
    tcase_add_loop_test(t, each_state_is_told_with_its_words, 0, 2);
    tcase_add_test(t, the_watchdog_is_fed_by_turns_twice_in_its_time);
    tcase_add_test(t, a_watchdog_of_another_process_is_not_ours);
    tcase_add_test(t, without_a_manager_nothing_happens);
    tcase_add_test(t, a_manager_that_does_not_read_stalls_nobody);
    tcase_add_test(t, progress_is_told_once_a_second);
    suite_add_tcase(s, t);
    return s;
}
