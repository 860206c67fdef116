/* The restart gate (raft-notes 6): kept, and missed when taken out. */
#include "tests/unit/raft/scenario.h"
#include "tests/unit/raft/suites.h"

#include "raft/rlog_int.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Node 1 after a crash of its machine, alone: entry 1 and a few more of term 2. */
static void
crashed_start(struct lone *l)
{
    lone_start(l);
    lone_follow(l, 2, 5);
    l->n->disk.sync_asked = l->n->disk.written;
    memdisk_sync(&l->n->disk, l->n->r, l->rig->now_ms);
    rig_stop(l->rig, 1, true, false);
    ck_assert_int_eq(rig_start(l->rig, 1, true), ST_OK);
    rlog_peer_up(l->n->r, 2, l->rig->now_ms);
    rlog_peer_up(l->n->r, 3, l->rig->now_ms);
    rlog_tick(l->n->r, l->rig->now_ms);
    ck_assert_uint_eq(rig_status(l->n).last_index, 5);
}

static void
ask_vote(struct lone *l, uint64_t term, uint64_t last_index, uint64_t last_term)
{
    struct bytes body = {0};
    struct raft_request_vote m = {.version = 2,
                                  .term = term,
                                  .candidate_id = 2,
                                  .last_log_index = last_index,
                                  .last_log_term = last_term};
    rlog_wire_put_vote(&body, &m);
    ck_assert_int_eq(rig_inject(l->n, 2, RLOG_FRAME_VOTE, &body), ST_OK);
    bytes_fini(&body);
}

static bool
granted(struct lone *l)
{
    struct raft_request_vote_result m;
    struct blob *b = l->sent[RLOG_FRAME_VOTE_RESULT];
    return b != NULL && rlog_wire_get_vote_result(blob_slice(b), &m) == ST_OK &&
           m.vote_granted;
}

static void
tell_position(struct lone *l, uint64_t peer, uint64_t index, uint64_t term)
{
    struct bytes body = {0};
    struct rlog_position p = {
        .last_term = term, .last_index = index, .is_answer = true};
    rlog_wire_put_position(&body, &p);
    ck_assert_int_eq(rig_inject(l->n, peer, RLOG_FRAME_POSITION, &body), ST_OK);
    bytes_fini(&body);
}

static bool
gate_keeps_out(void)
{
    struct lone l;
    struct bytes body = {0};
    struct raft_timeout_now now = {.term = 4, .last_log_index = 5, .last_log_term = 2};
    crashed_start(&l);
    bool ok = rig_status(l.n).is_gated;
    rig_run(l.rig, 5000);
    ok = ok && rig_status(l.n).role == RLOG_FOLLOWER; /* it does not stand */
    ask_vote(&l, 9, 50, 8);
    ok = ok && !granted(&l); /* nor vote */
    lone_append(&l, 2, 4, 5, 2, 0, 0, 0);
    rlog_wire_put_timeout_now(&body, &now);
    ck_assert_int_eq(rig_inject(l.n, 2, RLOG_FRAME_TIMEOUT_NOW, &body), ST_OK);
    ok = ok && rig_status(l.n).role == RLOG_FOLLOWER; /* nor take over */
    bytes_fini(&body);
    lone_end(&l);
    return ok;
}

START_TEST(a_crashed_node_neither_votes_nor_stands)
{
    scenario_check(gate_keeps_out, RLOG_GUARD_GATE);
}
END_TEST

static bool
gate_needs_own_term(void)
{
    struct lone l;
    crashed_start(&l);
    /* A new leader that has committed nothing of its own yet. */
    lone_append(&l, 2, 7, 5, 2, 0, 3, 0);
    memdisk_deliver(&l.n->disk, l.n->r, l.rig->now_ms);
    bool ok = rig_status(l.n).is_gated;
    lone_append(&l, 2, 7, 5, 2, 1, 3, 0);
    lone_append(&l, 2, 7, 6, 7, 0, 6, 0); /* its own entry is committed */
    ok = ok && rig_status(l.n).is_gated;  /* but not synced here */
    memdisk_write(&l.n->disk, l.n->r, l.rig->now_ms);
    ok = ok && rig_status(l.n).is_gated;
    memdisk_sync(&l.n->disk, l.n->r, l.rig->now_ms);
    ok = ok && !rig_status(l.n).is_gated && l.n->disk.gates_opened == 1;
    lone_end(&l);
    return ok;
}

START_TEST(it_opens_at_a_synced_commit_of_the_leaders_own_term)
{
    scenario_check(gate_needs_own_term, RLOG_GUARD_GATE_TERM);
}
END_TEST

static bool
gate_raises_term(void)
{
    struct lone l;
    crashed_start(&l);
    bool ok = l.n->disk.term == 3 && l.n->disk.vote == 0 && rig_status(l.n).term == 3;
    lone_end(&l);
    return ok;
}

START_TEST(a_crashed_start_raises_the_term_before_anything_else)
{
    scenario_check(gate_raises_term, RLOG_GUARD_GATE_BUMP);
}
END_TEST

static bool
gate_relaxes(void)
{
    struct lone l;
    crashed_start(&l);
    tell_position(&l, 2, 9, 2);
    ask_vote(&l, 9, 50, 8);
    bool ok = !granted(&l); /* node 3 is not known yet */
    tell_position(&l, 3, 7, 2);
    ask_vote(&l, 10, 8, 2);
    ok = ok && !granted(&l); /* not as good as the best */
    ask_vote(&l, 11, 9, 2);
    ok = ok && granted(&l);
    rig_run(l.rig, 5000);
    ok = ok && rig_status(l.n).role == RLOG_FOLLOWER; /* itself it is not */
    lone_end(&l);
    return ok;
}

START_TEST(with_all_logs_seen_it_votes_for_the_best)
{
    scenario_check(gate_relaxes, RLOG_GUARD_GATE_RELAX);
}
END_TEST

/* The leader that it heard was deposed before anything of its term was committed. */
START_TEST(a_leader_that_fell_silent_does_not_keep_it_from_voting)
{
    struct lone l;
    crashed_start(&l);
    tell_position(&l, 2, 9, 2); /* so it may not stand itself */
    tell_position(&l, 3, 5, 2);
    lone_append(&l, 2, 7, 5, 2, 0, 3, 0);
    ask_vote(&l, 8, 9, 2);
    ck_assert(!granted(&l)); /* there is a leader */
    lone_append(&l, 2, 8, 5, 2, 0, 3, 0);
    rig_run(l.rig, 2500);
    ck_assert(rig_status(l.n).is_gated);
    ask_vote(&l, 9, 4, 2);
    ck_assert(!granted(&l)); /* not as good as the best */
    ask_vote(&l, 10, 9, 2);
    ck_assert(granted(&l));
    lone_end(&l);
}
END_TEST

static bool
whole_cluster_crash(void)
{
    struct rig *rig = rig_new(3);
    uint64_t index = 0;
    rig->grace_ms = 0; /* none */
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    struct rig_node *leader = rig_leader(rig, 5000);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(rig_submit(leader, 100, true, &index), ST_OK);
    rig_run(rig, 200);
    for (unsigned i = 1; i <= 3; i++)
        rig_stop(rig, i, true, false);
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(rig, i, true), ST_OK);
    uint64_t from_ms = rig->now_ms;
    while (rig->now_ms < from_ms + 5000 && rig->nodes[1].leader == 0)
        rig_run(rig, 1);
    bool ok = rig->nodes[1].leader != 0;
    if (ok) {
        rig_converge(rig, index, 3000);
        for (unsigned i = 1; i <= 3; i++)
            ok = ok && !rig_status(&rig->nodes[i]).is_gated;
    }
    rig_free(rig);
    return ok;
}

START_TEST(a_power_cut_of_all_recovers_at_once_with_the_best_log)
{
    scenario_check(whole_cluster_crash, RLOG_GUARD_GATE_RELAX);
}
END_TEST

START_TEST(grace_ends_it_when_no_leader_is_heard)
{
    struct lone l;
    crashed_start(&l);
    rig_run(l.rig, 29000);
    ck_assert(rig_status(l.n).is_gated);
    lone_append(&l, 2, 4, 5, 2, 0, 0, 0); /* a leader: it begins again */
    rig_run(l.rig, 29000);
    ck_assert(rig_status(l.n).is_gated);
    rig_run(l.rig, 2000);
    ck_assert(!rig_status(l.n).is_gated);
    rig_run(l.rig, 3000);
    ck_assert_int_eq(rig_status(l.n).role, RLOG_CANDIDATE);
    lone_end(&l);
}
END_TEST

START_TEST(one_crashed_follower_joins_again_and_its_gate_opens)
{
    struct rig *rig = rig_new(3);
    uint64_t index = 0;
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    struct rig_node *leader = rig_leader(rig, 5000);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(rig_submit(leader, 100, false, &index), ST_OK);
    rig_run(rig, 10);
    uint64_t id = leader->id % 3 + 1;
    rig_stop(rig, id, true, true); /* loses what was only written */
    ck_assert_int_eq(rig_start(rig, id, true), ST_OK);
    rig_run(rig, 100);
    leader = rig_leader(rig, 6000);
    ck_assert_uint_ne(leader->id, id);
    rig_converge(rig, index, 3000);
    rig_run(rig, 300);
    ck_assert(!rig_status(&rig->nodes[id]).is_gated);
    rig_free(rig);
}
END_TEST

/* Loses what node 2 says of its position. */
static bool
drop_positions(struct rig *rig, struct rig_frame *frame)
{
    (void)rig;
    return frame->from != 2 || frame->kind != RLOG_FRAME_POSITION;
}

/* The leader's vote for it has not reached the stand-by when its machine crashes: by
 * its own log it has no vote, but the leader, whose term ends meanwhile, needs it. */
START_TEST(a_crashed_stand_by_votes_for_the_one_that_made_it_a_voter)
{
    struct rig *rig = rig_new(2);
    struct rlog_members members;
    uint64_t index = 0;
    rig_members(1, &members);
    for (unsigned i = 1; i <= 2; i++) {
        memdisk_fini(&rig->nodes[i].disk);
        memdisk_init(&rig->nodes[i].disk, &members);
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    }
    struct rig_node *leader = &rig->nodes[1];
    rig_run(rig, 1000);
    rig_members(2, &members);
    members.members[1].is_voter = false;
    ck_assert_int_eq(rlog_change_members(leader->r, &members, &index), ST_OK);
    rig_converge(rig, index, 3000);
    rig_run(rig, 2000);
    ck_assert(!rig_status(leader).peers[0].is_gated);
    rig_stop(rig, 2, false, true);
    rig->watch = drop_positions;
    ck_assert_int_eq(rig_start(rig, 2, false), ST_OK);
    rig_run(rig, 2000);
    ck_assert(rig_status(leader).peers[0].is_connected);
    ck_assert(rig_status(leader).peers[0].is_gated); /* for all that is known */
    rig->watch = NULL;
    rig_run(rig, 2000); /* it is said again */
    ck_assert(!rig_status(leader).peers[0].is_gated);
    rig_cut(rig, 2, true);
    members.members[1].is_voter = true;
    ck_assert_int_eq(rlog_change_members(leader->r, &members, &index), ST_OK);
    rig_stop(rig, 2, true, true);
    rig_run(rig, 5000);
    ck_assert_int_ne(rig_status(leader).role, RLOG_LEADER);
    ck_assert_int_eq(rig_start(rig, 2, true), ST_OK);
    rig_cut(rig, 2, false);
    rig_run(rig, 1);
    ck_assert(rig_status(&rig->nodes[2]).is_gated);
    ck_assert_ptr_eq(rig_leader(rig, 10000), leader);
    rig_converge(rig, index, 3000);
    rig_free(rig);
}
END_TEST

Suite *
suite_gate(void)
{
    Suite *s = suite_create("gate");
    TCase *t = tcase_create("directed");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_crashed_node_neither_votes_nor_stands);
    tcase_add_test(t, it_opens_at_a_synced_commit_of_the_leaders_own_term);
    tcase_add_test(t, a_crashed_start_raises_the_term_before_anything_else);
    tcase_add_test(t, with_all_logs_seen_it_votes_for_the_best);
    tcase_add_test(t, a_leader_that_fell_silent_does_not_keep_it_from_voting);
    tcase_add_test(t, a_power_cut_of_all_recovers_at_once_with_the_best_log);
    tcase_add_test(t, grace_ends_it_when_no_leader_is_heard);
    tcase_add_test(t, one_crashed_follower_joins_again_and_its_gate_opens);
    tcase_add_test(t, a_crashed_stand_by_votes_for_the_one_that_made_it_a_voter);
    suite_add_tcase(s, t);
    return s;
}
