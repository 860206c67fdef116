/* The steps of a change of members, and the directory of a node that is to join. */
#include "tests/unit/raft/diskrig.h"
#include "tests/unit/raft/suites.h"

#include "raft/change.h"
#include "raft/members.h"
#include "raft/rlog_members.h"
#include "tests/unit/raft/rig.h"

#include <check.h>
#include <string.h>

#define NOW_INDEX 100

static struct rlog_members now;
static struct rlog_members next;
static struct rlog_status leader;

/* Node 1 leads, 2 and 3 vote; all are up and have everything. */
static void
setup(void)
{
    rig_members(3, &now);
    leader = (struct rlog_status){.role = RLOG_LEADER,
                                  .id = 1,
                                  .leader = 1,
                                  .last_index = 1000,
                                  .commit_index = 1000,
                                  .peer_count = 2};
    for (uint32_t i = 0; i < 2; i++)
        leader.peers[i] = (struct rlog_peer_status){
            .id = i + 2, .is_voter = true, .is_connected = true, .match_index = 1000};
}

static enum rlog_change_state
step(enum rlog_change_wish wish, uint64_t id, const char *address)
{
    const struct rlog_change change = {.wish = wish, .id = id, .address = address};
    return rlog_change_next(&leader, &now, NOW_INDEX, &change, &next);
}

/* As if next had been committed, and the node were up with so many entries. */
static void
take(uint64_t id, uint64_t match_index)
{
    bool is_known = false;
    now = next;
    for (uint32_t i = 0; i < leader.peer_count; i++)
        is_known = is_known || leader.peers[i].id == id;
    if (!is_known)
        leader.peers[leader.peer_count++] = (struct rlog_peer_status){
            .id = id, .is_connected = true, .match_index = match_index};
}

START_TEST(a_node_comes_in_without_a_vote_and_gets_it_when_it_has_everything)
{
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, "four:1"), RLOG_CHANGE_STEP);
    ck_assert_uint_eq(next.count, 4);
    ck_assert(!rlog_members_find(&next, 4)->is_voter);
    ck_assert_str_eq(rlog_members_find(&next, 4)->address, "four:1");
    now = next;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, "four:1"), RLOG_CHANGE_APART);
    take(4, 10);
    leader.peers[2].is_connected = false;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, "four:1"), RLOG_CHANGE_APART);
    leader.peers[2].is_connected = true;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, "four:1"), RLOG_CHANGE_CATCHING);
    leader.peers[2].match_index = 1000 - RLOG_CHANGE_NEAR;
    leader.peers[2].is_gated = true;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, "four:1"), RLOG_CHANGE_CATCHING);
    leader.peers[2].is_gated = false;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, NULL), RLOG_CHANGE_STEP);
    ck_assert(rlog_members_find(&next, 4)->is_voter);
    now = next;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, "four:1"), RLOG_CHANGE_DONE);
}
END_TEST

START_TEST(a_stand_by_stays_one_when_that_is_wished)
{
    ck_assert_int_eq(step(RLOG_WISH_STANDBY, 4, "four:1"), RLOG_CHANGE_STEP);
    take(4, 1000);
    ck_assert_int_eq(step(RLOG_WISH_STANDBY, 4, "four:1"), RLOG_CHANGE_DONE);
}
END_TEST

START_TEST(a_node_that_is_up_loses_its_vote_before_it_goes)
{
    ck_assert_int_eq(step(RLOG_WISH_GONE, 3, NULL), RLOG_CHANGE_STEP);
    ck_assert_uint_eq(next.count, 3);
    ck_assert(!rlog_members_find(&next, 3)->is_voter);
    now = next;
    leader.peers[1].is_voter = false;
    ck_assert_int_eq(step(RLOG_WISH_GONE, 3, NULL), RLOG_CHANGE_STEP);
    ck_assert_ptr_null(rlog_members_find(&next, 3));
    now = next;
    ck_assert_int_eq(step(RLOG_WISH_GONE, 3, NULL), RLOG_CHANGE_DONE);
}
END_TEST

START_TEST(a_dead_node_goes_at_once)
{
    leader.peers[1].is_connected = false;
    leader.peers[1].match_index = 50;
    ck_assert_int_eq(step(RLOG_WISH_GONE, 3, NULL), RLOG_CHANGE_STEP);
    ck_assert_ptr_null(rlog_members_find(&next, 3));
}
END_TEST

/* With 3 dead, two voters are left: both must be up. */
START_TEST(nothing_is_done_that_would_leave_no_majority)
{
    leader.peers[1].is_connected = false;
    ck_assert_int_eq(step(RLOG_WISH_GONE, 2, NULL), RLOG_CHANGE_TOO_FEW);
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, "four:1"), RLOG_CHANGE_STEP);
    take(4, 1000);
    leader.peers[0].is_connected = false;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, NULL), RLOG_CHANGE_TOO_FEW);
    leader.peers[0].is_connected = true; /* three of four are up */
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, NULL), RLOG_CHANGE_STEP);
}
END_TEST

START_TEST(no_step_is_taken_before_the_last_one_is_with_all)
{
    leader.peers[1].match_index = NOW_INDEX - 1;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, "four:1"), RLOG_CHANGE_BUSY);
    leader.peers[1].match_index = NOW_INDEX;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, "four:1"), RLOG_CHANGE_STEP);
    leader.commit_index = NOW_INDEX - 1;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, "four:1"), RLOG_CHANGE_BUSY);
}
END_TEST

START_TEST(who_leads_hands_over_first_and_the_last_voter_stays)
{
    ck_assert_int_eq(step(RLOG_WISH_GONE, 1, NULL), RLOG_CHANGE_LEADS);
    rig_members(1, &now);
    leader.peer_count = 0;
    ck_assert_int_eq(step(RLOG_WISH_GONE, 1, NULL), RLOG_CHANGE_IMPOSSIBLE);
}
END_TEST

START_TEST(addresses_are_checked_and_can_be_changed)
{
    const char *taken = now.members[1].address;
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, NULL), RLOG_CHANGE_IMPOSSIBLE);
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, ""), RLOG_CHANGE_IMPOSSIBLE);
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 4, taken), RLOG_CHANGE_IMPOSSIBLE);
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 2, "moved:1"), RLOG_CHANGE_STEP);
    ck_assert_str_eq(rlog_members_find(&next, 2)->address, "moved:1");
    ck_assert(rlog_members_find(&next, 2)->is_voter);
}
END_TEST

START_TEST(there_are_so_many_places_and_no_more)
{
    rig_members(RLOG_MEMBERS_MAX, &now);
    ck_assert_int_eq(step(RLOG_WISH_VOTER, 10, "ten:1"), RLOG_CHANGE_IMPOSSIBLE);
}
END_TEST

/* --- the directory --- */

START_TEST(a_directory_to_join_with_is_empty_and_made_once)
{
    static const uint8_t cluster_id[] = "0123456789abcdef";
    struct diskrig g;
    diskrig_init(&g);
    diskrig_remove(g.dir);
    ck_assert_int_eq(disk_join(g.dir, 1, cluster_id, &g.error), ST_OK);
    ck_assert_int_eq(disk_join(g.dir, 1, cluster_id, &g.error), ST_EXISTS);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
        ck_assert(disk_is_joining(g.disk) && disk_is_rejoining(g.disk));
        const struct rlog_found *found = &disk_rlog(g.disk)->found;
        ck_assert_uint_eq(found->count, 0);
        ck_assert_uint_eq(found->snapshot.index, 0);
        ck_assert_uint_gt(found->term, 0);
        diskrig_close(&g, true);
    }
    diskrig_fini(&g);
}
END_TEST

/* Node 2 has only what data init made; the others have more. */
START_TEST(a_new_node_among_others_that_have_more_is_gated_until_it_has_it_too)
{
    struct diskrig g;
    struct rlog_status s;
    diskrig_init(&g);
    ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
    ck_assert(!disk_is_rejoining(g.disk));
    ck_assert_int_eq(disk_distrust(g.disk), ST_OK);
    diskrig_close(&g, false);
    ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
    ck_assert(disk_is_rejoining(g.disk) && !disk_is_joining(g.disk));
    diskrig_close(&g, false);
    diskrig_fini(&g);
    diskrig_init(&g);
    ck_assert_int_eq(diskrig_open(&g), ST_OK); /* alone: it leads, and is not new */
    ck_assert(!rlog_is_new(g.r));
    ck_assert(!rlog_distrust(g.r));
    rlog_get_status(g.r, &s);
    ck_assert(!s.is_gated);
    diskrig_fini(&g);
}
END_TEST

Suite *
suite_change(void)
{
    Suite *suite = suite_create("change");
    TCase *steps = tcase_create("steps");
    TCase *directory = tcase_create("directory");
    tcase_add_checked_fixture(steps, setup, NULL);
    tcase_add_test(steps,
                   a_node_comes_in_without_a_vote_and_gets_it_when_it_has_everything);
    tcase_add_test(steps, a_stand_by_stays_one_when_that_is_wished);
    tcase_add_test(steps, a_node_that_is_up_loses_its_vote_before_it_goes);
    tcase_add_test(steps, a_dead_node_goes_at_once);
    tcase_add_test(steps, nothing_is_done_that_would_leave_no_majority);
    tcase_add_test(steps, no_step_is_taken_before_the_last_one_is_with_all);
    tcase_add_test(steps, who_leads_hands_over_first_and_the_last_voter_stays);
    tcase_add_test(steps, addresses_are_checked_and_can_be_changed);
    tcase_add_test(steps, there_are_so_many_places_and_no_more);
    tcase_add_test(directory, a_directory_to_join_with_is_empty_and_made_once);
    tcase_add_test(directory,
                   a_new_node_among_others_that_have_more_is_gated_until_it_has_it_too);
    suite_add_tcase(suite, steps);
    suite_add_tcase(suite, directory);
    return suite;
}
