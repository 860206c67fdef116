/* A node whose log was set aside comes back: blank, strictly gated, and missed by the
 * leader that counts on what it had. And logs that contradict each other. */
#include "tests/unit/raft/scenario.h"
#include "tests/unit/raft/suites.h"

#include "raft/rlog_int.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void
links_up(struct lone *l)
{
    rlog_peer_up(l->n->r, 2, l->rig->now_ms);
    rlog_peer_up(l->n->r, 3, l->rig->now_ms);
    rlog_tick(l->n->r, l->rig->now_ms);
}

/* Node 1 had entries up to 5 of term 2; its log was set aside. */
static void
blank_start(struct lone *l)
{
    lone_start(l);
    lone_follow(l, 2, 5);
    rig_stop(l->rig, 1, false, false);
    memdisk_wipe(&l->n->disk);
    l->n->is_rejoining = true;
    ck_assert_int_eq(rig_start(l->rig, 1, false), ST_OK);
    links_up(l);
}

/* The same, with entries 1 to 4 back. */
static void
partial_start(struct lone *l)
{
    blank_start(l);
    lone_append(l, 2, 3, 0, 0, 4, 0, 1);
    memdisk_deliver(&l->n->disk, l->n->r, l->rig->now_ms);
    ck_assert_uint_eq(rig_status(l->n).last_index, 4);
}

static bool
votes_for(struct lone *l, uint64_t term, uint64_t last_index, uint64_t last_term)
{
    struct bytes body = {0};
    struct raft_request_vote_result result;
    struct raft_request_vote m = {.version = 2,
                                  .term = term,
                                  .candidate_id = 2,
                                  .last_log_index = last_index,
                                  .last_log_term = last_term,
                                  .disrupt_leader = true};
    unsigned before = l->sent_count[RLOG_FRAME_VOTE_RESULT];
    rlog_wire_put_vote(&body, &m);
    ck_assert_int_eq(rig_inject(l->n, 2, RLOG_FRAME_VOTE, &body), ST_OK);
    bytes_fini(&body);
    if (l->sent_count[RLOG_FRAME_VOTE_RESULT] == before)
        return false;
    struct slice answer = blob_slice(l->sent[RLOG_FRAME_VOTE_RESULT]);
    return rlog_wire_get_vote_result(answer, &result) == ST_OK && result.vote_granted;
}

static void
tell_position(struct lone *l, uint64_t peer, uint64_t index, uint64_t term)
{
    struct bytes body = {0};
    struct rlog_position p = {.last_term = term, .last_index = index};
    rlog_wire_put_position(&body, &p);
    ck_assert_int_eq(rig_inject(l->n, peer, RLOG_FRAME_POSITION, &body), ST_OK);
    bytes_fini(&body);
}

START_TEST(an_empty_log_is_taken_with_a_term_and_one_that_rejoins_must_have_one)
{
    struct lone l;
    lone_start(&l);
    lone_follow(&l, 2, 5);
    rig_stop(l.rig, 1, false, false);
    memdisk_wipe(&l.n->disk);
    ck_assert_int_eq(rig_start(l.rig, 1, false), ST_OK); /* a new member */
    rig_stop(l.rig, 1, false, false);
    l.n->is_rejoining = true;
    ck_assert_int_eq(rig_start(l.rig, 1, false), ST_OK);
    rig_stop(l.rig, 1, false, false);
    l.n->disk.term = 0;
    ck_assert_int_eq(rig_start(l.rig, 1, false), ST_CORRUPT);
    lone_end(&l);
}
END_TEST

START_TEST(its_term_is_raised_durably_before_it_starts)
{
    struct lone l;
    blank_start(&l);
    ck_assert_uint_eq(l.n->disk.term, 3);
    ck_assert_uint_eq(l.n->disk.vote, 0);
    ck_assert_uint_eq(rig_status(l.n).term, 3);
    ck_assert(rig_status(l.n).is_gated && rig_status(l.n).is_rejoining);
    lone_end(&l);
}
END_TEST

static bool
strict_gate(void)
{
    struct lone l;
    partial_start(&l);
    tell_position(&l, 2, 4, 3);
    tell_position(&l, 3, 4, 3);
    bool ok = !votes_for(&l, 5, 9, 3); /* all logs are seen */
    rig_run(l.rig, 70000);             /* and grace is long over */
    ok = ok && rig_status(l.n).is_gated && rig_status(l.n).role == RLOG_FOLLOWER;
    ok = ok && !votes_for(&l, 9, 9, 3);
    lone_end(&l);
    return ok;
}

START_TEST(it_has_neither_grace_nor_relaxation)
{
    scenario_check(strict_gate, RLOG_GUARD_GATE_STRICT);
}
END_TEST

START_TEST(its_gate_opens_at_a_synced_commit_of_a_leaders_own_term)
{
    struct lone l;
    partial_start(&l);
    lone_append(&l, 2, 4, 4, 3, 0, 4, 0); /* a new leader, nothing of its own yet */
    memdisk_deliver(&l.n->disk, l.n->r, l.rig->now_ms);
    ck_assert(rig_status(l.n).is_gated);
    lone_append(&l, 2, 4, 4, 3, 1, 5, 0);
    ck_assert(rig_status(l.n).is_gated);
    memdisk_write(&l.n->disk, l.n->r, l.rig->now_ms);
    ck_assert(rig_status(l.n).is_gated);
    ck_assert_uint_eq(l.n->disk.gates_opened, 0);
    memdisk_sync(&l.n->disk, l.n->r, l.rig->now_ms);
    ck_assert(!rig_status(l.n).is_gated && !rig_status(l.n).is_rejoining);
    ck_assert_uint_eq(l.n->disk.gates_opened, 1);
    ck_assert(votes_for(&l, 9, 9, 4));
    lone_end(&l);
}
END_TEST

START_TEST(a_restart_in_the_middle_of_it_is_as_strict)
{
    struct lone l;
    partial_start(&l);
    rig_stop(l.rig, 1, false, false);
    ck_assert_int_eq(rig_start(l.rig, 1, false), ST_OK);
    links_up(&l);
    ck_assert_uint_eq(rig_status(l.n).last_index, 4);
    ck_assert(rig_status(l.n).is_rejoining);
    ck_assert_uint_eq(rig_status(l.n).term, 4); /* raised again */
    tell_position(&l, 2, 4, 3);
    tell_position(&l, 3, 4, 3);
    ck_assert(!votes_for(&l, 5, 9, 3));
    lone_end(&l);
}
END_TEST

static void
start_all(struct rig *rig)
{
    for (unsigned i = 1; i <= rig->count; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
}

static uint64_t
submit_some(struct rig_node *leader, int count)
{
    uint64_t index = 0;
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(rig_submit(leader, 100, i % 2 == 0, &index), ST_OK);
    return index;
}

static void
come_back_blank(struct rig *rig, uint64_t id)
{
    rig_stop(rig, id, false, true);
    memdisk_wipe(&rig->nodes[id].disk);
    rig->nodes[id].is_rejoining = true;
    ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
}

/* From the log, and (_i == 1) from a snapshot. */
START_TEST(any_node_rejoins_and_has_all_again)
{
    for (uint64_t id = 1; id <= 3; id++) {
        struct rig *rig = rig_new(3);
        start_all(rig);
        struct rig_node *leader = rig_leader(rig, 5000);
        uint64_t index = submit_some(leader, 200);
        rig_converge(rig, index, 3000);
        for (int i = 0; _i == 1 && i < 8; i++) {
            submit_some(leader, 200);
            rig_run(rig, 100);
        }
        for (unsigned i = 1; _i == 1 && i <= 3; i++)
            rig_snapshot(rig, &rig->nodes[i]);
        rig_run(rig, 100);
        ck_assert(_i == 0 || rig_status(leader).first_index > 1);
        come_back_blank(rig, id);
        rig_run(rig, 20);
        leader = rig_leader(rig, 9000);
        ck_assert_uint_ne(leader->id, id);
        index = submit_some(leader, 5);
        rig_converge(rig, index, 9000);
        rig_run(rig, 300);
        ck_assert(!rig_status(&rig->nodes[id]).is_gated);
        ck_assert_uint_eq(rig->nodes[id].restores, _i == 1 ? 1 : 0);
        /* A whole member again: it makes a majority. */
        rig->nodes[id].is_rejoining = false;
        rig_stop(rig, leader->id, false, true);
        rig_run(rig, 50);
        leader = rig_leader(rig, 9000);
        rig_converge(rig, submit_some(leader, 5), 3000);
        rig_free(rig);
    }
}
END_TEST

START_TEST(two_at_once_elect_nobody)
{
    struct rig *rig = rig_new(3);
    start_all(rig);
    struct rig_node *leader = rig_leader(rig, 5000);
    rig_converge(rig, submit_some(leader, 20), 3000);
    uint64_t a = leader->id;
    uint64_t b = a % 3 + 1;
    rig_stop(rig, a, false, true);
    rig_stop(rig, b, false, true);
    come_back_blank(rig, a);
    come_back_blank(rig, b);
    rig_run(rig, 90000);
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_ne(rig->nodes[i].role, RLOG_LEADER);
    rig_free(rig);
}
END_TEST

static unsigned installs;
static unsigned cancels;

static void
begin_install(void *ctx)
{
    (void)ctx;
    installs++; /* and it takes for ever */
}

static void
count_cancel(void *ctx)
{
    (void)ctx;
    cancels++;
}

START_TEST(an_install_under_way_is_not_cancelled_when_the_log_is_closed)
{
    static struct rlog_disk_ops ops;
    struct rig *rig = rig_new(3);
    start_all(rig);
    struct rig_node *leader = rig_leader(rig, 5000);
    for (int i = 0; i < 8; i++) {
        submit_some(leader, 200);
        rig_run(rig, 100);
    }
    for (unsigned i = 1; i <= 3; i++)
        rig_snapshot(rig, &rig->nodes[i]);
    rig_run(rig, 100);
    uint64_t id = leader->id % 3 + 1;
    ops = *rig->nodes[id].disk.disk.ops;
    ops.incoming_install = begin_install;
    ops.incoming_cancel = count_cancel;
    rig_stop(rig, id, false, true);
    memdisk_wipe(&rig->nodes[id].disk);
    rig->nodes[id].is_rejoining = true;
    rig->nodes[id].disk.disk.ops = &ops;
    ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
    for (int i = 0; i < 20000 && installs == 0; i++)
        rig_run(rig, 1);
    ck_assert_uint_eq(installs, 1);
    rlog_close(rig->nodes[id].r);
    rig->nodes[id].r = NULL;
    ck_assert_uint_eq(cancels, 0);
    rig_free(rig);
}
END_TEST

/* ---- the leader's side ---- */

static bool
lost_tail(void)
{
    struct lone l;
    lone_start(&l);
    uint64_t term = lone_lead(&l);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(rig_submit(l.n, 10, false, NULL), ST_OK);
    lone_result(&l, 2, term, 0, 10);
    rlog_peer_down(l.n->r, 2, false, l.rig->now_ms);
    rlog_peer_up(l.n->r, 2, l.rig->now_ms);
    tell_position(&l, 2, 10, term); /* all that it had acknowledged */
    bool ok = rig_status(l.n).role == RLOG_LEADER;
    tell_position(&l, 3, 0, 0); /* had acknowledged nothing */
    ok = ok && rig_status(l.n).role == RLOG_LEADER;
    tell_position(&l, 2, 9, term);
    ok = ok && rig_status(l.n).role == RLOG_FOLLOWER &&
         rig_status(l.n).term == term + 1 && l.n->disk.term == term + 1 &&
         l.n->fatal == ST_OK;
    /* Once: the next term has forgotten what it had. */
    memdisk_deliver(&l.n->disk, l.n->r, l.rig->now_ms);
    term = lone_lead(&l);
    tell_position(&l, 2, 9, term - 1);
    ok = ok && rig_status(l.n).role == RLOG_LEADER;
    lone_end(&l);
    return ok;
}

START_TEST(a_leader_whose_peer_lost_what_it_had_acknowledged_ends_its_term)
{
    scenario_check(lost_tail, RLOG_GUARD_LOST_TAIL);
}
END_TEST

START_TEST(restarts_and_broken_links_cost_no_term)
{
    struct rig *rig = rig_new(3);
    start_all(rig);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t term = leader->term;
    for (int round = 0; round < 30; round++) {
        uint64_t id = (leader->id + (uint64_t)round % 2) % 3 + 1;
        uint64_t index = submit_some(leader, 40);
        rig_run(rig, (uint64_t)round % 4);
        if (round % 3 == 0) {
            rig_stop(rig, id, false, true);
            rig_run(rig, 5);
            ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
        } else {
            rlog_peer_down(leader->r, id, false, rig->now_ms);
            rlog_peer_down(rig->nodes[id].r, leader->id, false, rig->now_ms);
            rig_run(rig, 3);
            rlog_peer_up(rig->nodes[id].r, leader->id, rig->now_ms);
            rlog_peer_up(leader->r, id, rig->now_ms);
        }
        rig_converge(rig, index, 5000);
        ck_assert_uint_eq(rig_status(leader).term, term);
        ck_assert_int_eq(leader->role, RLOG_LEADER);
    }
    rig_free(rig);
}
END_TEST

/* ---- logs that contradict each other ---- */

/* A snapshot up to 8 of term 2, with nothing below it in the log. */
static void
with_snapshot(struct lone *l)
{
    lone_start(l);
    lone_follow(l, 2, 8);
    lone_append(l, 2, 2, 8, 2, 0, 8, 0);
    rig_snapshot(l->rig, l->n);
    memdisk_deliver(&l->n->disk, l->n->r, l->rig->now_ms);
    ck_assert_uint_eq(rig_status(l->n).snapshot_index, 8);
    rig_stop(l->rig, 1, false, false);
    l->n->disk.keep_first = 9;
    ck_assert_int_eq(rig_start(l->rig, 1, false), ST_OK);
    links_up(l);
    ck_assert_uint_eq(rig_status(l->n).first_index, 9);
}

static bool
ahead_of_leader(void)
{
    struct lone l;
    with_snapshot(&l);
    lone_append(&l, 3, 4, 4, 2, 2, 0, 0); /* of term 4, where ours end in term 2 */
    bool ok = l.n->fatal == ST_CONFLICT && rig_status(l.n).role == RLOG_STOPPED;
    lone_end(&l);
    return ok;
}

START_TEST(a_snapshot_ahead_of_a_leader_with_another_log_is_a_conflict)
{
    scenario_check(ahead_of_leader, RLOG_GUARD_AHEAD);
}
END_TEST

START_TEST(a_leader_that_has_our_snapshots_entries_is_none)
{
    struct lone l;
    with_snapshot(&l);
    lone_append(&l, 3, 4, 4, 2, 0, 0, 0);
    lone_append(&l, 3, 4, 8, 2, 0, 0, 0);
    lone_append(&l, 3, 3, 7, 1, 1, 0, 0); /* an older term's: not heard */
    lone_append(&l, 3, 4, 8, 2, 3, 0, 0);
    ck_assert_int_eq(l.n->fatal, ST_OK);
    ck_assert_uint_eq(rig_status(l.n).last_index, 11);
    lone_end(&l);
}
END_TEST

START_TEST(an_entry_at_the_end_of_our_snapshot_with_another_term_is_a_conflict)
{
    struct lone l;
    with_snapshot(&l);
    lone_append(&l, 3, 4, 8, 1, 1, 0, 0);
    ck_assert_int_eq(l.n->fatal, ST_CONFLICT);
    lone_end(&l);
}
END_TEST

START_TEST(what_the_library_refuses_is_a_conflict)
{
    struct lone l;
    lone_start(&l);
    lone_follow(&l, 2, 8);
    lone_append(&l, 2, 2, 8, 2, 0, 6, 0);
    lone_append(&l, 3, 4, 5, 3, 1, 0, 0);
    ck_assert_int_eq(l.n->fatal, ST_CONFLICT);
    lone_end(&l);
}
END_TEST

Suite *
suite_rejoin(void)
{
    Suite *s = suite_create("rejoin");
    TCase *t = tcase_create("rejoin");
    tcase_set_timeout(t, 120);
    tcase_add_test(
        t, an_empty_log_is_taken_with_a_term_and_one_that_rejoins_must_have_one);
    tcase_add_test(t, its_term_is_raised_durably_before_it_starts);
    tcase_add_test(t, it_has_neither_grace_nor_relaxation);
    tcase_add_test(t, its_gate_opens_at_a_synced_commit_of_a_leaders_own_term);
    tcase_add_test(t, a_restart_in_the_middle_of_it_is_as_strict);
    tcase_add_loop_test(t, any_node_rejoins_and_has_all_again, 0, 2);
    tcase_add_test(t, two_at_once_elect_nobody);
    tcase_add_test(t, an_install_under_way_is_not_cancelled_when_the_log_is_closed);
    tcase_add_test(t, a_leader_whose_peer_lost_what_it_had_acknowledged_ends_its_term);
    tcase_add_test(t, restarts_and_broken_links_cost_no_term);
    tcase_add_test(t, a_snapshot_ahead_of_a_leader_with_another_log_is_a_conflict);
    tcase_add_test(t, a_leader_that_has_our_snapshots_entries_is_none);
    tcase_add_test(t,
                   an_entry_at_the_end_of_our_snapshot_with_another_term_is_a_conflict);
    tcase_add_test(t, what_the_library_refuses_is_a_conflict);
    suite_add_tcase(s, t);
    return s;
}
