/* Members come, go and move: while links are up, also inside their own callbacks. */
#include "test_cluster.h"

#include "rig.h"

#include <stdio.h>
#include <string.h>

static struct rig rig;

static void
setup(void)
{
    rig_init(&rig);
}

static void
teardown(void)
{
    rig_fini(&rig);
}

static void
start_all(void)
{
    for (unsigned id = 1; id <= RIG_NODES; id++)
        rig_start(&rig, id);
    ck_assert(rig_connect(&rig, 1, 2));
    ck_assert(rig_connect(&rig, 1, 3));
    ck_assert(rig_connect(&rig, 2, 3));
}

static bool
is_down_then_up(void *ctx)
{
    (void)ctx;
    return rig.nodes[1].downs[2] >= 1 && rig_is_up(&rig, 1, 2);
}

static bool
is_only_two(void *ctx)
{
    (void)ctx;
    return !rig_is_up(&rig, 3, 1) && rig_is_up(&rig, 1, 2);
}

START_TEST(a_removed_member_is_cut_off_and_a_new_one_dialled)
{
    start_all();
    struct cluster_options options = rig_options(&rig, 1);
    struct rlog_members two = options.members;
    two.count = 2;
    cluster_set_members(rig.nodes[1].cluster, &two);
    struct cluster_peer_info info;
    ck_assert_int_eq(cluster_peer(rig.nodes[1].cluster, 3, &info), ST_NOTFOUND);
    ck_assert(rig_run(&rig, 1000, is_only_two, NULL));
    rig_idle(&rig, 200);
    ck_assert(!rig_is_up(&rig, 3, 1));
    ck_assert_uint_eq(rig.nodes[1].downs[3], 0);
    ck_assert_uint_eq(rig.nodes[1].downs[2], 0);
    rig.nodes[1].ups[3] = 0;
    cluster_set_members(rig.nodes[1].cluster, &options.members);
    ck_assert(rig_connect(&rig, 1, 3));
}
END_TEST

static void
change_members(struct rig_node *n, uint64_t peer, uint8_t kind, struct blob *body)
{
    struct rlog_members *members = n->ctx;
    (void)peer, (void)kind, (void)body;
    cluster_set_members(n->cluster, members);
}

static bool
has_frame(void *ctx)
{
    return rig.nodes[*(unsigned *)ctx].frames > 0;
}

START_TEST(the_sender_may_be_removed_inside_its_own_frame)
{
    unsigned two = 2;
    start_all();
    struct rlog_members members = {.count = 0};
    rig.nodes[2].frame_cb = change_members;
    rig.nodes[2].ctx = &members;
    for (int i = 0; i < 5; i++)
        cluster_send_user(rig.nodes[1].cluster, 2, 64, slice_from_text("leave"));
    ck_assert(rig_run(&rig, 1000, has_frame, &two));
    rig_idle(&rig, 50);
    ck_assert_uint_eq(rig.nodes[2].frames, 1);
}
END_TEST

static void
close_cluster(struct rig_node *n, uint64_t peer, uint8_t kind, struct blob *body)
{
    (void)peer, (void)kind, (void)body;
    cluster_close(n->cluster, NULL, NULL);
    n->cluster = NULL;
}

START_TEST(the_cluster_may_be_closed_inside_a_frame)
{
    unsigned two = 2;
    start_all();
    rig.nodes[2].frame_cb = close_cluster;
    cluster_send_user(rig.nodes[1].cluster, 2, 64, slice_from_text("end"));
    cluster_send_user(rig.nodes[1].cluster, 2, 64, slice_from_text("end"));
    ck_assert(rig_run(&rig, 1000, has_frame, &two));
    rig_idle(&rig, 50);
    ck_assert_uint_eq(rig.nodes[2].frames, 1);
    ck_assert_uint_eq(rig.nodes[1].downs[2], 1);
    ck_assert(rig.nodes[1].was_refused[2]);
}
END_TEST

START_TEST(a_peer_is_found_by_name_and_follows_a_change_of_address)
{
    struct cluster_options options = rig_options(&rig, 1);
    struct rlog_members by_name = options.members;
    rig_start(&rig, 1);
    rig_start(&rig, 2);
    snprintf(by_name.members[1].address, sizeof by_name.members[1].address,
             "localhost:%u", rig.nodes[2].port);
    ck_assert(rig_connect(&rig, 1, 2));
    cluster_set_members(rig.nodes[1].cluster, &by_name);
    ck_assert(rig_run(&rig, 3000, is_down_then_up, NULL));
    ck_assert(!rig.nodes[1].was_refused[2]);
    /* The same again changes nothing. */
    cluster_set_members(rig.nodes[1].cluster, &by_name);
    ck_assert(rig_is_up(&rig, 1, 2));
}
END_TEST

START_TEST(a_host_name_is_listened_at)
{
    struct cluster_options options = rig_options(&rig, 1);
    char address[64];
    snprintf(address, sizeof address, "localhost:%u", rig.nodes[1].port);
    options.listen_address = address;
    ck_assert_int_eq(rig_start_with(&rig, &options), ST_OK);
    rig_start(&rig, 2);
    ck_assert(rig_connect(&rig, 1, 2));
    rig_stop(&rig, 1);
    snprintf(address, sizeof address, "*:%u", rig.nodes[1].port);
    ck_assert_int_eq(rig_start_with(&rig, &options), ST_OK);
    ck_assert(rig_connect(&rig, 1, 2));
}
END_TEST

Suite *
members_suite(void)
{
    Suite *suite = suite_create("members");
    TCase *tcase = tcase_create("members");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_removed_member_is_cut_off_and_a_new_one_dialled);
    tcase_add_test(tcase, the_sender_may_be_removed_inside_its_own_frame);
    tcase_add_test(tcase, the_cluster_may_be_closed_inside_a_frame);
    tcase_add_test(tcase, a_peer_is_found_by_name_and_follows_a_change_of_address);
    tcase_add_test(tcase, a_host_name_is_listened_at);
    suite_add_tcase(suite, tcase);
    return suite;
}
