/* Real processes: what the death and the stop of a peer's process look like here. */
#include "test_cluster.h"

#include "base/log.h"
#include "rig.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MOST 10

static struct rig rig;
static pid_t child;
static uint32_t deaths; /* of node 2 */

static enum status
swallow(void *ctx, uint64_t peer, uint8_t kind, struct blob *body)
{
    (void)ctx, (void)peer, (void)kind, (void)body;
    return ST_OK;
}

static void
ignore_up(void *ctx, uint64_t peer)
{
    (void)ctx, (void)peer;
}

static void
ignore_down(void *ctx, uint64_t peer, bool was_refused)
{
    (void)ctx, (void)peer, (void)was_refused;
}

/* Node 2 in a process of its own, with nothing of ours open. */
static void
fork_node(void)
{
    struct cluster_options options = rig_options(&rig, 2);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child > 0)
        return;
    uv_loop_t loop;
    struct cluster *c;
    struct cluster_callbacks callbacks = {
        .frame_cb = swallow, .up_cb = ignore_up, .down_cb = ignore_down};
    close_range(3, ~0U, 0);
    log_init(STDERR_FILENO, 2, LOG_ERROR);
    uv_loop_init(&loop);
    if (cluster_open(&loop, &options, &callbacks, &c) == ST_OK)
        uv_run(&loop, UV_RUN_DEFAULT);
    _exit(1);
}

static void
setup(void)
{
    deaths = 0;
    rig_init(&rig);
    fork_node();
    rig_start(&rig, 1);
    rig_start(&rig, 3);
}

static void
kill_child(void)
{
    if (child == 0)
        return;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    child = 0;
    deaths++;
}

static void
teardown(void)
{
    kill_child();
    rig_fini(&rig);
}

static bool
is_up(void *ctx)
{
    (void)ctx;
    return rig_is_up(&rig, 1, 2) && rig_is_up(&rig, 3, 2);
}

static bool
is_down(void *ctx)
{
    (void)ctx;
    return rig.nodes[1].downs[2] == deaths && rig.nodes[3].downs[2] == deaths;
}

static void
send_much(void)
{
    struct blob *b = blob_new(1u << 20);
    memset(b->data, 1, b->size);
    for (int i = 0; i < 100; i++) {
        cluster_send_user(rig.nodes[1].cluster, 2, 64, blob_slice(b));
        if (i % 10 == 0)
            uv_run(&rig.loop, UV_RUN_NOWAIT);
    }
    blob_put(b);
}

/* Reported each time; refused, unless the kernel is slow to end the process: its
 * listener may outlive its connections by more than the verdict can wait. */
static void
expect_refusal(bool is_busy)
{
    for (int round = 0; round < ROUNDS_MOST; round++) {
        ck_assert(rig_run(&rig, 3000, is_up, NULL));
        if (is_busy)
            send_much();
        else
            rig_idle(&rig, 50);
        kill_child();
        ck_assert(rig_run(&rig, 2000, is_down, NULL));
        if (rig.nodes[1].was_refused[2] && rig.nodes[3].was_refused[2])
            return;
        fork_node();
    }
    ck_abort_msg("never refused");
}

START_TEST(a_killed_process_is_reported_refused)
{
    expect_refusal(false);
}
END_TEST

START_TEST(a_process_killed_under_load_is_reported_refused)
{
    expect_refusal(true);
}
END_TEST

START_TEST(a_killed_process_that_comes_back_is_found)
{
    ck_assert(rig_run(&rig, 3000, is_up, NULL));
    kill_child();
    ck_assert(rig_run(&rig, 2000, is_down, NULL));
    fork_node();
    ck_assert(rig_run(&rig, 3000, is_up, NULL));
}
END_TEST

START_TEST(a_short_stop_breaks_nothing)
{
    ck_assert(rig_run(&rig, 3000, is_up, NULL));
    kill(child, SIGSTOP);
    for (int i = 0; i < 30; i++) {
        cluster_send_user(rig.nodes[1].cluster, 2, 64, slice_from_text("heartbeat"));
        rig_idle(&rig, 100);
    }
    kill(child, SIGCONT);
    rig_idle(&rig, 500);
    ck_assert(is_up(NULL));
    ck_assert_uint_eq(rig.nodes[1].downs[2], 0);
}
END_TEST

START_TEST(a_long_stop_is_noticed_and_healed)
{
    ck_assert(rig_run(&rig, 3000, is_up, NULL));
    kill(child, SIGSTOP);
    ck_assert(rig_run(&rig, 16000, is_down, NULL));
    ck_assert(!rig.nodes[1].was_refused[2]);
    rig_idle(&rig, 1000);
    kill(child, SIGCONT);
    ck_assert(rig_run(&rig, 8000, is_up, NULL));
}
END_TEST

Suite *
death_suite(void)
{
    Suite *suite = suite_create("death");
    TCase *tcase = tcase_create("death");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_killed_process_is_reported_refused);
    tcase_add_test(tcase, a_process_killed_under_load_is_reported_refused);
    tcase_add_test(tcase, a_killed_process_that_comes_back_is_found);
    tcase_add_test(tcase, a_short_stop_breaks_nothing);
    tcase_add_test(tcase, a_long_stop_is_noticed_and_healed);
    suite_add_tcase(suite, tcase);
    return suite;
}
