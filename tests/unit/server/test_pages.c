/* Tests of server/pages: health while the core loads, turns, and does not. */
#include "server/pages.h"

#include "base/limits.h"
#include "server/node.h"
#include "suites.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct node node;
static struct config config;
static char address[32];
static struct sockaddr_in to;

static void
bell_cb(uv_async_t *bell)
{
    (void)bell;
}

/* A port that nobody has now. */
static void
choose_port(void)
{
    socklen_t size = sizeof to;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    to = (struct sockaddr_in){.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&to, sizeof to), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&to, &size), 0);
    (void)close(fd);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(to.sin_port));
}

static void
set_up(void)
{
    memset(&node, 0, sizeof node);
    choose_port();
    config.http_listen = address;
    node.config = &config;
    ck_assert_int_eq(uv_loop_init(&node.loop), 0);
    ck_assert_int_eq(uv_async_init(&node.loop, &node.bell, bell_cb), 0);
    ck_assert_int_eq(pages_open(&node, &node.pages), ST_OK);
}

static void
tear_down(void)
{
    pages_close(node.pages);
    uv_close((uv_handle_t *)&node.bell, NULL);
    (void)uv_run(&node.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&node.loop);
}

static char said[512]; /* the body of the last answer */

static int
get(const char *path)
{
    char text[1024];
    size_t size = 0;
    ssize_t got;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    int count = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    ck_assert_int_eq(send(fd, text, (size_t)count, MSG_NOSIGNAL), count);
    while ((got = recv(fd, text + size, sizeof text - 1 - size, 0)) > 0)
        size += (size_t)got;
    (void)close(fd);
    text[size] = '\0';
    const char *body = strstr(text, "\r\n\r\n");
    ck_assert_ptr_nonnull(body);
    (void)snprintf(said, sizeof said, "%s", body + 4);
    int code = 0;
    ck_assert_int_eq(sscanf(text, "HTTP/1.1 %d", &code), 1);
    return code;
}

START_TEST(while_it_loads_it_lives_and_has_not_started)
{
    ck_assert_int_eq(get("/livez"), 200);
    pages_progress(node.pages, "snapshot", 5, 9);
    ck_assert_int_eq(get("/startupz"), 503);
    ck_assert_str_eq(said, "loading: snapshot, 5 of 9\n");
    ck_assert_int_eq(get("/readyz"), 503); /* at once: nobody is asked */
    ck_assert_str_eq(said, "loading: snapshot, 5 of 9\n");
    ck_assert_int_eq(get("/metrics"), 503);
    ck_assert_int_eq(get("/status"), 503);
    ck_assert_str_eq(said, "{\"ready\":false,\"not_ready\":\"loading\"}\n");
}
END_TEST

START_TEST(a_core_that_turns_lives)
{
    pages_started(node.pages);
    ck_assert_int_eq(get("/startupz"), 200);
    ck_assert_int_eq(get("/livez"), 200);
    pages_turn(node.pages, node_now_ms());
    ck_assert_int_eq(get("/livez"), 200);
    ck_assert_str_eq(said, "ok\n");
}
END_TEST

START_TEST(a_core_that_does_not_turn_is_told_of)
{
    pages_started(node.pages);
    pages_turn(node.pages, node_now_ms() - LIMIT_CORE_SILENT_MS - 1500);
    ck_assert_int_eq(get("/livez"), 503);
    ck_assert_str_eq(said, "the core loop has not turned for 11 s\n");
    ck_assert_int_eq(get("/readyz"), 503); /* it is asked, and does not answer */
    ck_assert_str_eq(said, "the core does not answer\n");
    ck_assert_int_eq(get("/startupz"), 200);
}
END_TEST

START_TEST(without_an_address_there_is_nothing)
{
    struct pages *none = NULL;
    config.http_listen = NULL;
    ck_assert_int_eq(pages_open(&node, &none), ST_OK);
    ck_assert_ptr_null(none);
    pages_turn(none, 1);
    pages_started(none);
    pages_close(none);
}
END_TEST

Suite *
pages_suite(void)
{
    Suite *s = suite_create("pages");
    TCase *c = tcase_create("pages");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, while_it_loads_it_lives_and_has_not_started);
    tcase_add_test(c, a_core_that_turns_lives);
    tcase_add_test(c, a_core_that_does_not_turn_is_told_of);
    tcase_add_test(c, without_an_address_there_is_nothing);
    suite_add_tcase(s, c);
    return s;
}
