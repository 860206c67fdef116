/* Tests of the parts that need no socket. */
#include "net/admission.h"
#include "net/directory.h"
#include "net/replay.h"
#include "net/socket.h"
#include "suites.h"

#include <netinet/in.h>
#include <string.h>

static struct sockaddr_storage
v4(uint32_t address)
{
    struct sockaddr_storage out = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)&out;
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(address);
    return out;
}

static struct sockaddr_storage
v6(uint8_t prefix, uint8_t last)
{
    struct sockaddr_storage out = {0};
    struct sockaddr_in6 *in = (struct sockaddr_in6 *)&out;
    in->sin6_family = AF_INET6;
    in->sin6_addr.s6_addr[7] = prefix;
    in->sin6_addr.s6_addr[15] = last;
    return out;
}

START_TEST(admission_is_bounded_for_an_address_and_for_all)
{
    struct admission a;
    admission_init(&a);
    a.max_count = 4;
    a.max_per_address = 2;
    struct sockaddr_storage one = v4(1), two = v4(2), three = v4(3);
    struct admission_entry *e[5];
    ck_assert_ptr_nonnull(e[0] = admission_enter(&a, &one));
    ck_assert_ptr_nonnull(e[1] = admission_enter(&a, &one));
    ck_assert_ptr_null(admission_enter(&a, &one));
    ck_assert_ptr_nonnull(e[2] = admission_enter(&a, &two));
    ck_assert_ptr_nonnull(e[3] = admission_enter(&a, &two));
    ck_assert_ptr_null(admission_enter(&a, &three));
    admission_leave(&a, e[0]);
    ck_assert_ptr_nonnull(e[0] = admission_enter(&a, &three));
    for (int i = 0; i < 4; i++)
        admission_leave(&a, e[i]);
    admission_leave(&a, NULL);
    ck_assert_uint_eq(atomic_load(&a.count), 0);
    admission_fini(&a);
}
END_TEST

START_TEST(admission_counts_ipv6_by_64)
{
    struct admission a;
    admission_init(&a);
    a.max_per_address = 1;
    struct sockaddr_storage one = v6(1, 1), same = v6(1, 2), other = v6(2, 1);
    struct admission_entry *e = admission_enter(&a, &one);
    ck_assert_ptr_nonnull(e);
    ck_assert_ptr_null(admission_enter(&a, &same));
    struct admission_entry *f = admission_enter(&a, &other);
    ck_assert_ptr_nonnull(f);
    admission_leave(&a, e);
    admission_leave(&a, f);
    admission_fini(&a);
}
END_TEST

START_TEST(a_counter_is_accepted_once)
{
    static struct replay r;
    replay_init(&r);
    ck_assert(replay_accept(&r, 1, 1000));
    ck_assert(!replay_accept(&r, 1, 1000));
    ck_assert(replay_accept(&r, 2, 1000)); /* another node */
    ck_assert(replay_accept(&r, 1, 1002));
    ck_assert(replay_accept(&r, 1, 1001)); /* late */
    ck_assert(!replay_accept(&r, 1, 1001));
    ck_assert(replay_accept(&r, 1, 1000 + REPLAY_WINDOW));
    ck_assert(!replay_accept(&r, 1, 1000)); /* too old to tell */
    ck_assert(!replay_accept(&r, 1, 1001)); /* still known */
    ck_assert(replay_accept(&r, 1, 1003));
    ck_assert(replay_accept(&r, 1, UINT64_C(1) << 60)); /* a new process */
    ck_assert(!replay_accept(&r, 1, UINT64_C(1) << 60));
    ck_assert(replay_accept(&r, 1, (UINT64_C(1) << 60) - 1));
    ck_assert(!replay_accept(&r, 1, 1004));
    replay_fini(&r);
}
END_TEST

START_TEST(the_table_of_relaying_nodes_is_bounded)
{
    static struct replay r;
    replay_init(&r);
    for (uint64_t node = 1; node <= REPLAY_NODES; node++)
        ck_assert(replay_accept(&r, node, 1));
    ck_assert(!replay_accept(&r, REPLAY_NODES + 1, 1));
    ck_assert(replay_accept(&r, 1, 2));
    replay_fini(&r);
}
END_TEST

START_TEST(the_directory_knows_limits_and_the_longest_login_time)
{
    struct directory d;
    directory_init(&d);
    ck_assert_uint_eq(limit_load(&d.longest_login_secs), 10);
    struct net_queue q = {.number = 1, .name = "a", .login_timeout_secs = 5};
    ck_assert(directory_set(&d, &q));
    ck_assert(!directory_set(&d, &q));
    struct net_queue other = {.number = 2, .name = "b", .login_timeout_secs = 30};
    ck_assert(directory_set(&d, &other));
    ck_assert_uint_eq(limit_load(&d.longest_login_secs), 30);
    struct directory_queue *found = directory_find(&d, slice_from_text("a"));
    ck_assert_uint_eq(found->number, 1);
    q.max_message_bytes = 99;
    ck_assert(!directory_set(&d, &q));
    ck_assert_uint_eq(limit_load(&found->max_message_bytes), 99); /* at once */
    directory_remove(&d, 2);
    ck_assert_uint_eq(limit_load(&d.longest_login_secs), 5);
    directory_remove(&d, 1);
    ck_assert_ptr_null(directory_find(&d, slice_from_text("a")));
    directory_fini(&d);
    ck_assert_str_eq(found->name, "a"); /* ours still */
    directory_put(found);
}
END_TEST

START_TEST(addresses_are_split_into_host_and_port)
{
    char host[128];
    char port[8];
    ck_assert_int_eq(socket_split("127.0.0.1:9443", host, port), ST_OK);
    ck_assert_str_eq(host, "127.0.0.1");
    ck_assert_str_eq(port, "9443");
    ck_assert_int_eq(socket_split("[::1]:1", host, port), ST_OK);
    ck_assert_str_eq(host, "::1");
    ck_assert_int_eq(socket_split("node2.example:65535", host, port), ST_OK);
    static const char *const bad[] = {
        "", ":", "a", "a:", ":1", "[]:1", "[::1:1", "a:123456"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_int_eq(socket_split(bad[i], host, port), ST_INVALID);
}
END_TEST

Suite *
suite_parts(void)
{
    Suite *s = suite_create("parts");
    TCase *t = tcase_create("parts");
    tcase_add_test(t, admission_is_bounded_for_an_address_and_for_all);
    tcase_add_test(t, admission_counts_ipv6_by_64);
    tcase_add_test(t, a_counter_is_accepted_once);
    tcase_add_test(t, the_table_of_relaying_nodes_is_bounded);
    tcase_add_test(t, the_directory_knows_limits_and_the_longest_login_time);
    tcase_add_test(t, addresses_are_split_into_host_and_port);
    suite_add_tcase(s, t);
    return s;
}
