/* Who has room, and who would lead better, by what the followers say. */
#include "tests/unit/raft/rig.h"
#include "tests/unit/raft/suites.h"

#include "raft/rlog_room.h"

#include <check.h>

static struct rig *rig;
static struct rig_node *leader;
static struct rig_node *others[2];

static void
setup(void)
{
    rig = rig_new(3);
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    leader = rig_leader(rig, 5000);
    others[0] = &rig->nodes[leader->id % 3 + 1];
    others[1] = &rig->nodes[(leader->id + 1) % 3 + 1];
    rig_converge(rig, 2, 1000);
    rig_run(rig, 300);
}

static void
teardown(void)
{
    rig_free(rig);
}

static void
fill(struct rig_node *n, bool is_full)
{
    n->disk.health.is_full = is_full;
    rig_run(rig, 500); /* heartbeats, and their answers */
}

START_TEST(there_is_room_while_a_majority_has_some)
{
    ck_assert(rlog_has_room(leader->r));
    for (int i = 0; i < 2; i++) {
        fill(others[i], true);
        ck_assert(rlog_has_room(leader->r));
        fill(others[i], false);
    }
    fill(leader, true);
    ck_assert(rlog_has_room(leader->r));
    fill(others[0], true);
    ck_assert(!rlog_has_room(leader->r));
    fill(leader, false);
    ck_assert(rlog_has_room(leader->r));
    fill(others[1], true);
    ck_assert(!rlog_has_room(leader->r));
    fill(others[0], false);
    ck_assert(rlog_has_room(leader->r));
    ck_assert(rig_status(leader).has_room);
}
END_TEST

/* What only the other would store comes out of the reserve of the full one. */
START_TEST(a_member_that_is_away_has_no_room_when_another_is_full)
{
    rig_stop(rig, others[0]->id, false, true);
    rig_run(rig, 300);
    ck_assert(rlog_has_room(leader->r)); /* nobody is full */
    fill(others[1], true);
    ck_assert(!rlog_has_room(leader->r));
    fill(others[1], false);
    ck_assert(rlog_has_room(leader->r));
}
END_TEST

START_TEST(a_full_leader_knows_a_better_one)
{
    ck_assert_uint_eq(rlog_better_leader(leader->r), 0);
    fill(others[0], true);
    ck_assert_uint_eq(rlog_better_leader(leader->r), 0);
    fill(leader, true);
    ck_assert_uint_eq(rlog_better_leader(leader->r), others[1]->id);
    ck_assert_uint_eq(rlog_better_leader(others[1]->r), 0);
    fill(others[1], true);
    ck_assert_uint_eq(rlog_better_leader(leader->r), 0); /* equals stay */
    ck_assert(rig_status(leader).peers[0].is_full && rig_status(leader).is_full);
    fill(others[0], false);
    ck_assert_uint_eq(rlog_better_leader(leader->r), others[0]->id);
}
END_TEST

START_TEST(one_that_is_behind_is_not_better)
{
    uint64_t index;
    fill(leader, true);
    rig_cut(rig, others[0]->id, true);
    ck_assert_int_eq(rig_submit(leader, 100, false, &index), ST_OK);
    rig_run(rig, 100);
    ck_assert_uint_eq(rig_status(leader).commit_index, index);
    ck_assert_uint_eq(rlog_better_leader(leader->r), others[1]->id);
    fill(others[1], true);
    ck_assert_uint_eq(rlog_better_leader(leader->r), 0);
}
END_TEST

START_TEST(a_slow_disk_is_slow_for_a_while)
{
    leader->disk.health.busy_ms = 999;
    rig_run(rig, 200);
    ck_assert_uint_eq(rlog_slow_ms(leader->r), 0);
    leader->disk.health.busy_ms = 1000;
    rig_run(rig, 500);
    ck_assert_uint_eq(rlog_slow_ms(leader->r), 1000);
    leader->disk.health.busy_ms = 0;
    struct rig_node *slow = leader;
    uint64_t target = rlog_better_leader(leader->r);
    ck_assert_uint_ne(target, 0);
    ck_assert_int_eq(rlog_transfer(leader->r, target, rig->now_ms), ST_OK);
    rig_run(rig, 500);
    leader = rig_leader(rig, 2000);
    ck_assert_uint_eq(leader->id, target);
    rig_run(rig, 300);
    leader->disk.health.is_full = true; /* another reason to move: not back */
    rig_run(rig, 10000);
    target = rlog_better_leader(leader->r);
    ck_assert(target != 0 && target != slow->id);
    /* Whoever hands over without a wish does not choose it either. */
    ck_assert_int_eq(rlog_transfer(leader->r, 0, rig->now_ms), ST_OK);
    rig_run(rig, 1500);
    ck_assert_uint_eq(rig_leader(rig, 2000)->id, target);
    rig_run(rig, 30000);
    ck_assert_uint_eq(rlog_slow_ms(slow->r), 0);
}
END_TEST

/* A disk that hangs: the others are a majority. */
START_TEST(a_leader_whose_disk_hangs_commits_with_the_others_and_hands_over)
{
    uint64_t index;
    leader->is_disk_stopped = true;
    ck_assert_int_eq(rig_submit(leader, 100, true, &index), ST_OK);
    leader->disk.health.busy_ms = 1200;
    rig_run(rig, 500);
    ck_assert_uint_ge(rig_status(leader).commit_index, index);
    uint64_t target = rlog_better_leader(leader->r);
    ck_assert_uint_ne(target, 0);
    ck_assert_int_eq(rlog_transfer(leader->r, target, rig->now_ms), ST_OK);
    rig_run(rig, 500);
    ck_assert_uint_eq(rig_leader(rig, 2000)->id, target);
}
END_TEST

START_TEST(one_node_alone_has_room_or_not)
{
    struct rig *one = rig_new(1);
    ck_assert_int_eq(rig_start(one, 1, false), ST_OK);
    struct rig_node *n = rig_leader(one, 5000);
    ck_assert(rlog_has_room(n->r));
    n->disk.health.is_full = true;
    rig_run(one, 300);
    ck_assert(!rlog_has_room(n->r) && rlog_is_full(n->r));
    ck_assert_uint_eq(rlog_better_leader(n->r), 0);
    rig_free(one);
}
END_TEST

Suite *
suite_room(void)
{
    Suite *s = suite_create("room");
    TCase *t = tcase_create("room");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, there_is_room_while_a_majority_has_some);
    tcase_add_test(t, a_member_that_is_away_has_no_room_when_another_is_full);
    tcase_add_test(t, a_full_leader_knows_a_better_one);
    tcase_add_test(t, one_that_is_behind_is_not_better);
    tcase_add_test(t, a_slow_disk_is_slow_for_a_while);
    tcase_add_test(t, a_leader_whose_disk_hangs_commits_with_the_others_and_hands_over);
    tcase_add_test(t, one_node_alone_has_room_or_not);
    suite_add_tcase(s, t);
    return s;
}
