/* Tests of proto/http_host: the queue that a host name means. */
#include "proto/http.h"

#include "suites.h"

static const char *
queue_of(const char *host, const char *domain)
{
    static char name[65];
    size_t size = 99;
    memset(name, '#', sizeof(name));
    if (http_queue_name(slice_from_text(host), domain, name, &size) != ST_OK)
        return "invalid";
    ck_assert_uint_le(size, 63);
    name[size] = 0;
    return name;
}

START_TEST(the_first_label_names_the_queue)
{
    ck_assert_str_eq(queue_of("demo.q.localhost", "q.localhost"), "demo");
    ck_assert_str_eq(queue_of("DEMO.Q.localhost", "q.LOCALHOST"), "demo");
    ck_assert_str_eq(queue_of("demo.q.localhost.", "q.localhost"), "demo");
    ck_assert_str_eq(queue_of("a-1.q.cluster.example.com", "other"), "a-1");
    ck_assert_str_eq(queue_of("demo.internal", "internal"), "demo");
    ck_assert_str_eq(queue_of("demo.q.localhost", NULL), "demo");
    ck_assert_str_eq(queue_of("demo.q.localhost", ""), "demo");
}
END_TEST

START_TEST(a_host_without_a_queues_name_means_the_default)
{
    ck_assert_str_eq(queue_of("localhost", "q.localhost"), "");
    ck_assert_str_eq(queue_of("127.0.0.1", "q.localhost"), "");
    ck_assert_str_eq(queue_of("[::1]", "q.localhost"), "");
    ck_assert_str_eq(queue_of("[2001:db8::1.2.3.4]", "q.localhost"), "");
    ck_assert_str_eq(queue_of("q.localhost", "q.localhost"), "");
    ck_assert_str_eq(queue_of("example.com", "q.localhost"), "");
    ck_assert_str_eq(queue_of("q.cluster.example.com", "q.cluster.example.com"), "");
    ck_assert_str_eq(queue_of("", "q.localhost"), "");
    ck_assert_str_eq(queue_of(".", "q.localhost"), "");
}
END_TEST

START_TEST(a_label_that_no_queue_can_have_is_invalid)
{
    ck_assert_str_eq(queue_of(".q.localhost", "q.localhost"), "invalid");
    ck_assert_str_eq(queue_of("-a.q.localhost", "q.localhost"), "invalid");
    ck_assert_str_eq(queue_of("a-.q.localhost", "q.localhost"), "invalid");
    ck_assert_str_eq(queue_of("a_b.q.localhost", "q.localhost"), "invalid");
    ck_assert_str_eq(queue_of("%41.q.localhost", "q.localhost"), "invalid");
    char host[100];
    memset(host, 'a', sizeof(host));
    strcpy(host + 63, ".q.localhost");
    ck_assert_uint_eq(strlen(queue_of(host, "q.localhost")), 63);
    memset(host, 'a', sizeof(host));
    strcpy(host + 64, ".q.localhost");
    ck_assert_str_eq(queue_of(host, "q.localhost"), "invalid");
}
END_TEST

Suite *
suite_http_host(void)
{
    const TTest *const tests[] = {
        the_first_label_names_the_queue,
        a_host_without_a_queues_name_means_the_default,
        a_label_that_no_queue_can_have_is_invalid,
    };
    return suite_of("http_host", tests, COUNT_OF(tests));
}
