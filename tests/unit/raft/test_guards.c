/* The guards against the library's defects (raft-notes 5.1), each directed: kept, and
 * missed when it is taken out. */
#include "tests/unit/raft/scenario.h"
#include "tests/unit/raft/suites.h"

#include "raft/rlog_int.h"
#include "raft/rlog_members.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static bool
g1_stale_append(void)
{
    struct lone l;
    struct raft_append_entries_result m;
    uint64_t stamp;
    lone_start(&l);
    lone_follow(&l, 5, 3);
    lone_append(&l, 3, 3, 2, 1, 0, 0, 0);
    ck_assert_int_eq(
        rlog_wire_get_append_result(blob_slice(l.sent[RLOG_FRAME_APPEND_RESULT]), &m,
                                    &stamp, &(uint8_t){0}),
        ST_OK);
    bool ok = m.rejected == 0 && m.last_log_index == 0 && m.term == 5 && stamp == 0;
    lone_end(&l);
    return ok;
}

START_TEST(g1_an_answer_to_an_older_term_says_nothing)
{
    scenario_check(g1_stale_append, RLOG_GUARD_G1);
}
END_TEST

START_TEST(g1_an_ack_beyond_the_log_is_refused)
{
    struct lone l;
    struct bytes body = {0};
    lone_start(&l);
    uint64_t term = lone_lead(&l);
    struct raft_append_entries_result m = {
        .version = 2, .term = term, .last_log_index = 1000};
    rlog_wire_put_append_result(&body, &m, 0, 0);
    ck_assert_int_eq(rig_inject(l.n, 2, RLOG_FRAME_APPEND_RESULT, &body), ST_INVALID);
    bytes_fini(&body);
    lone_end(&l);
}
END_TEST

static bool
g2_new_leader(void)
{
    struct rig *rig = rig_new(3);
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    struct rig_node *leader = rig_leader(rig, 5000);
    ck_assert_int_eq(rig_submit(leader, 10, false, NULL), ST_OK);
    rig_run(rig, 300); /* all is committed everywhere */
    struct rig_node *next = &rig->nodes[leader->id % 3 + 1];
    ck_assert_int_eq(rlog_transfer(leader->r, next->id, rig->now_ms), ST_OK);
    rig_run(rig, 100);
    struct rlog_status s = rig_status(next);
    bool ok = s.role == RLOG_LEADER && next->applied_terms[s.applied_index] == s.term;
    rig_free(rig);
    return ok;
}

START_TEST(g2_a_term_begins_with_a_committed_entry_of_its_own)
{
    scenario_check(g2_new_leader, RLOG_GUARD_G2);
}
END_TEST

static bool
g2_early_change(void)
{
    struct lone l;
    struct rlog_members members;
    uint64_t index;
    lone_start(&l);
    lone_lead(&l);
    rig_members(4, &members);
    members.members[3].is_voter = false;
    bool ok = rlog_change_members(l.n->r, &members, &index) == ST_AGAIN;
    lone_end(&l);
    return ok;
}

START_TEST(g2_no_change_before_an_entry_of_the_term_is_committed)
{
    scenario_check(g2_early_change, RLOG_GUARD_G2);
}
END_TEST

static bool
g3_change_behind(void)
{
    struct lone l;
    lone_start(&l);
    lone_follow(&l, 2, 1);
    lone_append(&l, 2, 2, 1, 1, 3, 0, 3); /* entry 3 of 2..4 is the change */
    bool ok = l.n->r->raft.configuration_uncommitted_index == 3 &&
              rig_status(l.n).last_index == 4;
    lone_end(&l);
    return ok;
}

START_TEST(g3_a_change_inside_a_message_is_recorded_at_its_own_index)
{
    scenario_check(g3_change_behind, RLOG_GUARD_G3);
}
END_TEST

static bool
g4_low_rejection(void)
{
    struct lone l;
    raft_index match;
    lone_start(&l);
    uint64_t term = lone_lead(&l);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(rig_submit(l.n, 10, false, NULL), ST_OK);
    lone_result(&l, 2, term, 0, 10);
    lone_result(&l, 2, term, 12, 10); /* it lost something: probing from 10 */
    lone_result(&l, 2, term, 10, 5);  /* an old one, or its log begins later */
    bool ok = raft_match_index(&l.n->r->raft, 2, &match) == 0 && match == 10;
    lone_result(&l, 2, term, 12, 5); /* the hint is raised to what is matched */
    lone_result(&l, 2, term, 0, 15);
    ok = ok && raft_match_index(&l.n->r->raft, 2, &match) == 0 && match == 15;
    lone_end(&l);
    return ok;
}

START_TEST(g4_a_rejection_below_the_match_does_not_stop_the_leader)
{
    scenario_check(g4_low_rejection, RLOG_GUARD_G4);
}
END_TEST

static bool
g5_commit_back(void)
{
    struct lone l;
    lone_start(&l);
    lone_follow(&l, 2, 8);
    lone_append(&l, 2, 2, 8, 2, 0, 5, 0);
    bool ok = rig_status(l.n).commit_index == 5;
    lone_append(&l, 2, 2, 2, 2, 0, 9, 0); /* the end of this message is 2 */
    ok = ok && rig_status(l.n).commit_index == 5 && l.n->fatal == ST_OK;
    /* The library has forgotten and would let entry 4 be replaced. */
    lone_append(&l, 3, 3, 3, 2, 1, 0, 0);
    ok = ok && l.n->fatal == ST_CONFLICT && rig_status(l.n).role == RLOG_STOPPED;
    lone_end(&l);
    return ok;
}

START_TEST(g5_the_commit_index_stays_and_nothing_below_it_is_replaced)
{
    scenario_check(g5_commit_back, RLOG_GUARD_G5);
}
END_TEST

static bool
g6_below_log(void)
{
    struct lone l;
    struct raft_append_entries_result m;
    uint64_t stamp;
    lone_start(&l);
    l.entry_bytes = 30000;
    lone_follow(&l, 2, 1000);
    lone_append(&l, 2, 2, 1000, 2, 0, 1000, 0);
    for (int i = 0; i < 200 && rig_status(l.n).applied_index < 1000; i++)
        rig_run(l.rig, 1);
    rig_snapshot(l.rig, l.n);
    memdisk_snapshots(&l.n->disk, l.n->r, l.rig->now_ms);
    ck_assert_uint_gt(rig_status(l.n).first_index, 400);
    l.entry_bytes = 8;
    /* From the very beginning, one that was long on its way. */
    lone_append(&l, 2, 2, 0, 0, 3, 900, 0);
    bool ok = rig_status(l.n).last_index == 1000 && l.n->fatal == ST_OK;
    ck_assert_int_eq(
        rlog_wire_get_append_result(blob_slice(l.sent[RLOG_FRAME_APPEND_RESULT]), &m,
                                    &stamp, &(uint8_t){0}),
        ST_OK);
    ok = ok && m.rejected == 0 && m.last_log_index == 900;
    lone_end(&l);
    return ok;
}

START_TEST(g6_entries_from_below_the_log_are_not_appended)
{
    scenario_check(g6_below_log, RLOG_GUARD_G6);
}
END_TEST

static bool
g8_past_timeout(void)
{
    struct lone l;
    lone_start(&l);
    l.rig->now_ms += 5000;
    rlog_tick(l.n->r, l.rig->now_ms); /* fires */
    l.n->r->raft.election_timer_start = 0;
    bool ok = rlog_deadline(l.n->r) >= l.rig->now_ms + 5;
    lone_end(&l);
    return ok;
}

START_TEST(g8_a_timeout_in_the_past_does_not_spin)
{
    scenario_check(g8_past_timeout, RLOG_GUARD_G8);
}
END_TEST

START_TEST(g9_a_refused_change_leaves_nothing_behind)
{
    struct lone l;
    struct rlog_members members;
    uint64_t index;
    lone_start(&l);
    uint64_t term = lone_lead(&l);
    memdisk_write(&l.n->disk, l.n->r, l.rig->now_ms);
    memdisk_sync(&l.n->disk, l.n->r, l.rig->now_ms);
    lone_result(&l, 2, term, 0, 2);
    rig_members(4, &members);
    members.members[3].is_voter = false;
    ck_assert_int_eq(rlog_change_members(l.n->r, &members, &index), ST_OK);
    ck_assert_uint_eq(index, 3);
    ck_assert_int_eq(rlog_change_members(l.n->r, &members, &index), ST_AGAIN);
    ck_assert_uint_eq(raft_last_index(&l.n->r->raft), 3);
    ck_assert_int_eq(rig_submit(l.n, 1, false, &index), ST_OK);
    ck_assert_uint_eq(index, 4);
    lone_end(&l);
}
END_TEST

static bool
g10_refusal(void)
{
    struct lone l;
    struct bytes body = {0};
    struct raft_request_vote_result m;
    lone_start(&l);
    lone_follow(&l, 9, 3);
    struct raft_request_vote ask = {.version = 2,
                                    .term = 5,
                                    .candidate_id = 3,
                                    .last_log_index = 9,
                                    .last_log_term = 5,
                                    .pre_vote = true};
    rlog_wire_put_vote(&body, &ask);
    ck_assert_int_eq(rig_inject(l.n, 3, RLOG_FRAME_VOTE, &body), ST_OK);
    ck_assert_int_eq(
        rlog_wire_get_vote_result(blob_slice(l.sent[RLOG_FRAME_VOTE_RESULT]), &m),
        ST_OK);
    bool ok = !m.vote_granted && m.pre_vote && m.term == 9;
    bytes_fini(&body);
    lone_end(&l);
    return ok;
}

START_TEST(g10_a_pre_vote_refusal_carries_the_newer_term)
{
    scenario_check(g10_refusal, RLOG_GUARD_G10);
}
END_TEST

static bool
g11_vote_result(void)
{
    struct lone l;
    struct bytes body = {0};
    lone_start(&l);
    lone_lead(&l);
    uint64_t stepped = l.n->r->raft.now;
    struct raft_request_vote_result m = {
        .version = 2, .term = 2, .vote_granted = true, .pre_vote = false};
    rlog_wire_put_vote_result(&body, &m);
    l.rig->now_ms += 7;
    ck_assert_int_eq(rig_inject(l.n, 3, RLOG_FRAME_VOTE_RESULT, &body), ST_OK);
    bool ok = l.n->r->raft.now == stepped; /* the library never saw it */
    bytes_fini(&body);
    lone_end(&l);
    return ok;
}

START_TEST(g11_vote_results_reach_the_library_only_as_candidate)
{
    scenario_check(g11_vote_result, RLOG_GUARD_G11);
}
END_TEST

static bool
g12_repeated_install(void)
{
    struct rig *rig = rig_new(3);
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t id = leader->id % 3 + 1;
    rig_stop(rig, id, false, true);
    for (int i = 0; i < 1500; i++) {
        ck_assert_int_eq(rig_submit(leader, 40000, false, NULL), ST_OK);
        rig_run(rig, i % 20 == 0);
    }
    rig_run(rig, 300);
    leader->image_bytes = 5000000;
    rig_snapshot(rig, leader);
    rig_run(rig, 5);
    rig->nodes[id].is_disk_stopped = true;
    ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
    rig_run(rig, 1400);
    bool ok = rig->frames_sent[RLOG_FRAME_SNAPSHOT_OFFER] <= 4;
    rig->nodes[id].is_disk_stopped = false;
    rig_converge(rig, 1500, 5000);
    rig_free(rig);
    return ok;
}

START_TEST(g12_a_transfer_is_not_begun_again_while_it_runs)
{
    scenario_check(g12_repeated_install, RLOG_GUARD_G12);
}
END_TEST

/* Node 4 became a voter while it did not hear; then a voter and the leader are lost,
 * and one of the two comes back. Three of four are there. */
static bool
elected_with_one_that_does_not_know_of_its_vote(void)
{
    struct rig *rig = rig_new(4);
    struct rlog_members members;
    uint64_t index;
    rig_members(3, &members);
    for (unsigned i = 1; i <= 4; i++) {
        memdisk_fini(&rig->nodes[i].disk);
        memdisk_init(&rig->nodes[i].disk, &members);
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    }
    while (rig->nodes[1].leader == 0)
        rig_run(rig, 1);
    struct rig_node *leader = &rig->nodes[rig->nodes[1].leader];
    rig_run(rig, 100);
    rig_members(4, &members);
    members.members[3].is_voter = false;
    ck_assert_int_eq(rlog_change_members(leader->r, &members, &index), ST_OK);
    rig_converge(rig, index, 3000);
    rig_cut(rig, 4, true);
    members.members[3].is_voter = true;
    ck_assert_int_eq(rlog_change_members(leader->r, &members, &index), ST_OK);
    rig_run(rig, 100);
    ck_assert_uint_ge(rig_status(leader).commit_index, index);
    uint64_t id = leader->id;
    rig_stop(rig, id % 3 + 1, false, true);
    rig_stop(rig, id, false, true);
    rig_cut(rig, 4, false);
    ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
    rig_run(rig, 10000);
    bool ok = rig->nodes[4].leader != 0;
    if (ok)
        rig_converge(rig, index, 3000);
    rig_free(rig);
    return ok;
}

START_TEST(who_does_not_know_yet_that_it_is_a_voter_votes)
{
    scenario_check(elected_with_one_that_does_not_know_of_its_vote,
                   RLOG_GUARD_STAND_BY);
}
END_TEST

/* A leader of three is about to take the vote of one. */
struct demotion {
    struct rig *rig;
    struct rig_node *leader;
    struct rig_node *demoted;
    struct rig_node *other;
};

static struct demotion
demotion_begin(void)
{
    struct demotion d = {.rig = rig_new(3)};
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(d.rig, i, false), ST_OK);
    d.leader = rig_leader(d.rig, 5000);
    d.demoted = &d.rig->nodes[d.leader->id % 3 + 1];
    d.other = &d.rig->nodes[d.demoted->id % 3 + 1];
    rig_run(d.rig, 100);
    return d;
}

static uint64_t
demotion_propose(struct demotion *d)
{
    struct rlog_members members;
    uint64_t index;
    rig_members(3, &members);
    members.members[d->demoted->id - 1].is_voter = false;
    ck_assert_int_eq(rlog_change_members(d->leader->r, &members, &index), ST_OK);
    return index;
}

/* It is proposed while the leader does not reach the other, and the leader is lost. The
 * two that are left are a majority of those that were. */
static bool
elected_after_a_demotion_that_was_lost(void)
{
    struct demotion d = demotion_begin();
    rig_cut(d.rig, d.other->id, true);
    uint64_t index = demotion_propose(&d);
    rig_run(d.rig, 100);
    ck_assert_uint_lt(rig_status(d.leader).commit_index, index);
    rig_stop(d.rig, d.leader->id, false, true);
    rig_cut(d.rig, d.other->id, false);
    rig_run(d.rig, 10000);
    bool ok = d.other->leader != 0;
    if (ok)
        rig_converge(d.rig, index, 3000);
    rig_free(d.rig);
    return ok;
}

START_TEST(a_demotion_that_was_lost_leaves_a_majority)
{
    scenario_check(elected_after_a_demotion_that_was_lost, RLOG_GUARD_DEMOTED);
}
END_TEST

/* What was kept from it comes when the change is committed, with no more delay. */
START_TEST(who_loses_its_vote_hears_of_it_once_it_is_committed)
{
    struct demotion d = demotion_begin();
    struct rlog_members known;
    d.other->is_disk_stopped = true;
    uint64_t index = demotion_propose(&d);
    ck_assert_int_eq(rig_submit(d.leader, 100, false, NULL), ST_OK);
    rig_run(d.rig, 60);
    ck_assert_uint_eq(rig_status(d.demoted).last_index, index - 1);
    d.other->is_disk_stopped = false;
    for (int i = 0; rig_status(d.leader).applied_index < index + 1 && i < 1000; i++)
        rig_run(d.rig, 1);
    rig_run(d.rig, 2);
    ck_assert_uint_ge(rig_status(d.demoted).last_index, index + 1);
    ck_assert_uint_eq(rlog_newest_members(d.demoted->r, &known), index);
    ck_assert(!known.members[d.demoted->id - 1].is_voter);
    rig_converge(d.rig, index + 1, 3000);
    rig_free(d.rig);
}
END_TEST

Suite *
suite_guards(void)
{
    Suite *s = suite_create("guards");
    TCase *t = tcase_create("directed");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, g1_an_answer_to_an_older_term_says_nothing);
    tcase_add_test(t, g1_an_ack_beyond_the_log_is_refused);
    tcase_add_test(t, g2_a_term_begins_with_a_committed_entry_of_its_own);
    tcase_add_test(t, g2_no_change_before_an_entry_of_the_term_is_committed);
    tcase_add_test(t, g3_a_change_inside_a_message_is_recorded_at_its_own_index);
    tcase_add_test(t, g4_a_rejection_below_the_match_does_not_stop_the_leader);
    tcase_add_test(t, g5_the_commit_index_stays_and_nothing_below_it_is_replaced);
    tcase_add_test(t, g6_entries_from_below_the_log_are_not_appended);
    tcase_add_test(t, g8_a_timeout_in_the_past_does_not_spin);
    tcase_add_test(t, g9_a_refused_change_leaves_nothing_behind);
    tcase_add_test(t, g10_a_pre_vote_refusal_carries_the_newer_term);
    tcase_add_test(t, g11_vote_results_reach_the_library_only_as_candidate);
    tcase_add_test(t, g12_a_transfer_is_not_begun_again_while_it_runs);
    tcase_add_test(t, who_does_not_know_yet_that_it_is_a_voter_votes);
    tcase_add_test(t, a_demotion_that_was_lost_leaves_a_majority);
    tcase_add_test(t, who_loses_its_vote_hears_of_it_once_it_is_committed);
    suite_add_tcase(s, t);
    return s;
}
