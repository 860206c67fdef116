/* Three nodes in one process: replication, levels, failover, snapshots. */
#include "tests/unit/raft/rig.h"
#include "tests/unit/raft/suites.h"

#include <check.h>
#include <string.h>

static struct rig *
started(unsigned count)
{
    struct rig *rig = rig_new(count);
    for (unsigned i = 1; i <= count; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    return rig;
}

START_TEST(three_nodes_elect_a_leader_and_replicate)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t index = 0;
    rig_converge(rig, 2, 1000);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(rig_submit(leader, 100, i % 10 == 0, &index), ST_OK);
        if (i % 50 == 0)
            rig_run(rig, 1);
    }
    rig_converge(rig, index, 1000);
    ck_assert_uint_eq(index, 1002);
    rig_free(rig);
}
END_TEST

START_TEST(a_written_only_entry_commits_without_a_sync)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    rig_converge(rig, 2, 1000);
    rig_run(rig, 200);
    unsigned syncs[4];
    for (unsigned i = 1; i <= 3; i++)
        syncs[i] = rig->nodes[i].disk.syncs;
    uint64_t index;
    ck_assert_int_eq(rig_submit(leader, 100, false, &index), ST_OK);
    rig_run(rig, 3);
    ck_assert_uint_eq(rig_status(leader).commit_index, index);
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_uint_eq(rig->nodes[i].disk.syncs, syncs[i]);
    rig_run(rig, 60); /* in the background within 50 ms of the write */
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_uint_eq(rig->nodes[i].disk.syncs, syncs[i] + 1);
    rig_free(rig);
}
END_TEST

START_TEST(a_synced_entry_waits_for_the_sync_and_holds_back_what_follows)
{
    struct rig *rig = started(1);
    struct rig_node *n = rig_leader(rig, 5000);
    rig_converge(rig, 2, 1000);
    n->is_disk_stopped = true;
    uint64_t first;
    uint64_t second;
    ck_assert_int_eq(rig_submit(n, 10, true, &first), ST_OK);
    ck_assert_int_eq(rig_submit(n, 10, false, &second), ST_OK);
    memdisk_write(&n->disk, n->r, rig->now_ms);
    ck_assert_uint_lt(rig_status(n).stored_index, first);
    memdisk_sync(&n->disk, n->r, rig->now_ms);
    ck_assert_uint_eq(rig_status(n).stored_index, second);
    ck_assert_uint_eq(n->applied, second);
    rig_free(rig);
}
END_TEST

START_TEST(a_killed_leader_is_replaced_fast_when_its_links_are_reset)
{
    uint64_t worst = 0;
    for (int round = 0; round < 30; round++) {
        struct rig *rig = started(3);
        rig->now_ms += (uint64_t)round * 7;
        struct rig_node *leader = rig_leader(rig, 5000);
        uint64_t index;
        ck_assert_int_eq(rig_submit(leader, 100, false, &index), ST_OK);
        rig_run(rig, 150 + (uint64_t)round);
        uint64_t killed_ms = rig->now_ms;
        rig_stop(rig, leader->id, false, true);
        leader = rig_leader(rig, 3000);
        uint64_t took = rig->now_ms - killed_ms;
        worst = took > worst ? took : worst;
        ck_assert_int_eq(rig_submit(leader, 100, false, &index), ST_OK);
        rig_converge(rig, index, 1000);
        rig_free(rig);
    }
    ck_assert_uint_le(worst, 100);
}
END_TEST

/* All at once, after all were stopped: nobody waits for a leader that is not there. */
START_TEST(a_cluster_that_starts_whole_has_a_leader_at_once)
{
    struct rig *rig = started(3);
    for (int round = 0; round < 30; round++) {
        struct rig_node *leader = rig_leader(rig, round == 0 ? 5000 : 100);
        uint64_t index;
        ck_assert_int_eq(rig_submit(leader, 100, false, &index), ST_OK);
        rig_run(rig, 20 + (uint64_t)round);
        for (uint64_t id = 1; id <= 3; id++)
            rig_stop(rig, id, false, false);
        rig_run(rig, 50);
        for (uint64_t id = 1; id <= 3; id++) {
            ck_assert_int_eq(rig_start(rig, id % 3 + 1, false), ST_OK);
            rig_run(rig, (uint64_t)round % 4);
        }
    }
    rig_free(rig);
}
END_TEST

START_TEST(a_silent_leader_is_replaced_within_three_seconds)
{
    for (int round = 0; round < 30; round++) {
        struct rig *rig = started(3);
        rig->now_ms += (uint64_t)round * 13;
        struct rig_node *leader = rig_leader(rig, 5000);
        rig_run(rig, 100 + (uint64_t)round * 3);
        uint64_t killed_ms = rig->now_ms;
        rig_stop(rig, leader->id, false, false);
        leader = rig_leader(rig, 3000);
        ck_assert_uint_le(rig->now_ms - killed_ms, 2300);
        rig_free(rig);
    }
}
END_TEST

START_TEST(a_node_that_only_lost_its_link_does_not_disturb_the_leader)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t term = leader->term;
    struct rig_node *follower = &rig->nodes[leader->id % 3 + 1];
    rlog_peer_down(follower->r, leader->id, true, rig->now_ms);
    rig_run(rig, 300);
    rlog_peer_up(follower->r, leader->id, rig->now_ms);
    rig_run(rig, 3000);
    ck_assert_ptr_eq(rig_leader(rig, 1), leader);
    ck_assert_uint_eq(leader->term, term);
    rig_free(rig);
}
END_TEST

START_TEST(a_restarted_follower_catches_up)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t id = leader->id % 3 + 1;
    uint64_t index = 0;
    rig_converge(rig, 2, 1000);
    rig_stop(rig, id, false, true);
    for (int i = 0; i < 3000; i++) {
        ck_assert_int_eq(rig_submit(leader, 1000, false, &index), ST_OK);
        if (i % 20 == 0)
            rig_run(rig, 1);
    }
    ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
    rig_converge(rig, index, 2000);
    rig_free(rig);
}
END_TEST

START_TEST(large_entries_are_split_by_bytes_and_never_shortened)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t id = leader->id % 3 + 1;
    uint64_t index = 0;
    rig_converge(rig, 2, 1000);
    rig_stop(rig, id, false, true);
    for (int i = 0; i < 40; i++) {
        ck_assert_int_eq(
            rig_submit(leader, i % 7 == 0 ? 8u << 20 : 700000, false, &index), ST_OK);
        rig_run(rig, 2);
    }
    ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
    rig_converge(rig, index, 3000);
    rig_free(rig);
}
END_TEST

START_TEST(the_uncommitted_window_is_bounded)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    enum status st = ST_OK;
    int count = 0;
    for (; count < 5000 && st == ST_OK; count++)
        st = rig_submit(leader, 10, false, NULL);
    ck_assert_int_eq(st, ST_AGAIN);
    ck_assert_int_le(count, 4098);
    rig_converge(rig, 4000, 2000);
    ck_assert_int_eq(rig_submit(leader, 10, false, NULL), ST_OK);
    rig_free(rig);
}
END_TEST

START_TEST(a_submit_from_apply_is_taken)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    leader->apply_submits = 200;
    ck_assert_int_eq(rig_submit(leader, 10, false, NULL), ST_OK);
    rig_converge(rig, 200, 2000);
    ck_assert_uint_eq(leader->apply_submits, 0);
    rig_free(rig);
}
END_TEST

START_TEST(leadership_is_handed_over_within_a_few_round_trips)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t index = 0;
    rig_converge(rig, 2, 1000);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(rig_submit(leader, 10, true, &index), ST_OK);
    uint64_t target = leader->id % 3 + 1;
    uint64_t from_ms = rig->now_ms;
    ck_assert_int_eq(rlog_transfer(leader->r, target, rig->now_ms), ST_OK);
    ck_assert_int_eq(rig_submit(leader, 10, true, &index), ST_NOTLEADER);
    while (rig->nodes[target].role != RLOG_LEADER && rig->now_ms < from_ms + 3000)
        rig_run(rig, 1);
    ck_assert_uint_le(rig->now_ms - from_ms, 30);
    ck_assert_ptr_eq(rig_leader(rig, 300), &rig->nodes[target]);
    ck_assert(!rig_status(leader).is_transferring);
    ck_assert_int_eq(rlog_transfer(rig->nodes[target].r, 77, rig->now_ms), ST_NOTFOUND);
    rig_converge(rig, index, 1000);
    rig_free(rig);
}
END_TEST

START_TEST(a_hand_over_that_fails_ends_after_an_election_timeout)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t target = leader->id % 3 + 1;
    rig_converge(rig, 2, 1000);
    rig->cut[target][leader->id] = true;
    ck_assert_int_eq(rig_submit(leader, 10, false, NULL), ST_OK);
    ck_assert_int_eq(rlog_transfer(leader->r, target, rig->now_ms), ST_OK);
    ck_assert_int_eq(rlog_transfer(leader->r, target, rig->now_ms), ST_AGAIN);
    rig_run(rig, 900);
    ck_assert_int_eq(rig_submit(leader, 10, false, NULL), ST_NOTLEADER);
    rig_run(rig, 200);
    ck_assert_int_eq(rig_submit(leader, 10, false, NULL), ST_OK);
    rig_free(rig);
}
END_TEST

START_TEST(the_majority_clock_is_the_time_of_an_answered_round)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    rig_converge(rig, 2, 1000);
    rig_run(rig, 500);
    rig->now_ms += 20; /* between two heartbeats */
    uint64_t asked_ms = rig->now_ms;
    ck_assert_uint_lt(rig_status(leader).majority_heard_ms, asked_ms);
    rlog_round(leader->r, asked_ms);
    rig_run(rig, 2);
    ck_assert_uint_ge(rig_status(leader).majority_heard_ms, asked_ms);
    rig_cut(rig, leader->id, true);
    asked_ms = rig->now_ms;
    rlog_round(leader->r, asked_ms);
    rig_run(rig, 500);
    ck_assert_uint_lt(rig_status(leader).majority_heard_ms, asked_ms);
    rig_run(rig, 2000);
    ck_assert_int_ne(leader->role, RLOG_LEADER);
    rig_free(rig);
}
END_TEST

START_TEST(a_snapshot_trims_the_log_and_survives_a_restart)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t index = 0;
    for (int i = 0; i < 3000; i++) {
        ck_assert_int_eq(rig_submit(leader, 20000, false, &index), ST_OK);
        if (i % 20 == 0)
            rig_run(rig, 1);
    }
    rig_converge(rig, index, 1000);
    for (unsigned i = 1; i <= 3; i++)
        rig_snapshot(rig, &rig->nodes[i]);
    uint64_t ignored;
    ck_assert_int_eq(rlog_snapshot_begin(leader->r, &ignored), ST_AGAIN);
    rig_run(rig, 5);
    ck_assert_int_eq(rlog_snapshot_begin(leader->r, &ignored), ST_EXISTS);
    struct rlog_status s = rig_status(leader);
    ck_assert_uint_eq(s.snapshot_index, index);
    ck_assert_uint_ge(s.first_index, index - 900); /* 16 MiB or 512 entries */
    ck_assert_uint_le(s.first_index, index - 500);
    ck_assert_uint_eq(rlog_log_bytes(leader->r), 0);
    for (unsigned i = 1; i <= 3; i++)
        rig_stop(rig, i, false, false);
    for (unsigned i = 1; i <= 3; i++) {
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
        ck_assert_uint_eq(rig->nodes[i].applied, index);
    }
    leader = rig_leader(rig, 5000);
    ck_assert_int_eq(rig_submit(leader, 10, true, &index), ST_OK);
    rig_converge(rig, index, 1000);
    rig_free(rig);
}
END_TEST

static void
fill(struct rig *rig, struct rig_node *leader, int count, size_t size)
{
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(rig_submit(leader, size, false, NULL), ST_OK);
        if (i % 20 == 0)
            rig_run(rig, 1);
    }
    rig_converge(rig, 0, 1000);
}

START_TEST(a_follower_far_behind_gets_the_snapshot_in_chunks)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t id = leader->id % 3 + 1;
    uint64_t index;
    rig_stop(rig, id, false, true);
    fill(rig, leader, 1500, 40000);
    leader->image_bytes = 5000000;
    rig_snapshot(rig, leader);
    rig_run(rig, 5);
    ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
    ck_assert_int_eq(rig_submit(leader, 10, true, &index), ST_OK);
    rig_converge(rig, index, 5000);
    ck_assert_uint_eq(rig->nodes[id].restores, 1);
    ck_assert_uint_eq(rig->nodes[id].disk.installs, 1);
    ck_assert_uint_eq(rig->frames_sent[RLOG_FRAME_SNAPSHOT_CHUNK], 20);
    rig_free(rig);
}
END_TEST

START_TEST(a_snapshot_transfer_goes_on_after_a_reconnect)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t id = leader->id % 3 + 1;
    uint64_t index;
    rig_stop(rig, id, false, true);
    fill(rig, leader, 1500, 40000);
    leader->image_bytes = 20000000;
    rig_snapshot(rig, leader);
    rig_run(rig, 5);
    rig->delay_ms = 3;
    ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
    while (rig->frames_sent[RLOG_FRAME_SNAPSHOT_CHUNK] < 30)
        rig_run(rig, 1);
    for (int i = 0; i < 3; i++) {
        rig->cut[id][leader->id] = rig->cut[leader->id][id] = true;
        rlog_peer_down(leader->r, id, false, rig->now_ms);
        rlog_peer_down(rig->nodes[id].r, leader->id, false, rig->now_ms);
        rig_run(rig, 50);
        rig->cut[id][leader->id] = rig->cut[leader->id][id] = false;
        rlog_peer_up(leader->r, id, rig->now_ms);
        rlog_peer_up(rig->nodes[id].r, leader->id, rig->now_ms);
        rig_run(rig, 20);
    }
    ck_assert_int_eq(rig_submit(leader, 10, true, &index), ST_OK);
    rig_converge(rig, index, 5000);
    ck_assert_uint_eq(rig->nodes[id].restores, 1);
    /* 77 chunks; at most a window of four again for each cut */
    ck_assert_uint_le(rig->frames_sent[RLOG_FRAME_SNAPSHOT_CHUNK], 77 + 12);
    rig_free(rig);
}
END_TEST

START_TEST(a_newer_snapshot_during_a_transfer_does_not_stop_it)
{
    struct rig *rig = started(3);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t id = leader->id % 3 + 1;
    uint64_t index;
    rig_stop(rig, id, false, true);
    fill(rig, leader, 1500, 40000);
    leader->image_bytes = 20000000;
    rig_snapshot(rig, leader);
    rig_run(rig, 5);
    rig->delay_ms = 3;
    ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
    while (rig->frames_sent[RLOG_FRAME_SNAPSHOT_CHUNK] < 10)
        rig_run(rig, 1);
    ck_assert_int_eq(rig_submit(leader, 10, true, &index), ST_OK);
    rig_run(rig, 20);
    rig_snapshot(rig, leader);
    rig_run(rig, 20);
    ck_assert_int_eq(rig_submit(leader, 10, true, &index), ST_OK);
    rig_converge(rig, index, 10000);
    rig_free(rig);
}
END_TEST

START_TEST(members_change_one_voter_at_a_time)
{
    struct rig *rig = rig_new(4);
    struct rlog_members members;
    rig_members(3, &members);
    for (unsigned i = 1; i <= 4; i++) {
        memdisk_fini(&rig->nodes[i].disk);
        memdisk_init(&rig->nodes[i].disk, &members);
    }
    memdisk_fini(&rig->nodes[4].disk); /* joins: knows nothing */
    memdisk_init(&rig->nodes[4].disk, &members);
    for (unsigned i = 1; i <= 4; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    while (rig->nodes[1].leader == 0)
        rig_run(rig, 1);
    struct rig_node *leader = &rig->nodes[rig->nodes[1].leader];
    uint64_t index;
    rig_run(rig, 100);
    rig_members(4, &members);
    members.members[3].is_voter = false;
    ck_assert_int_eq(rlog_change_members(leader->r, &members, &index), ST_OK);
    ck_assert_int_eq(rlog_change_members(leader->r, &members, &index), ST_AGAIN);
    rig_converge(rig, index, 3000);
    members.members[3].is_voter = true;
    members.members[0].is_voter = false;
    ck_assert_int_eq(rlog_change_members(leader->r, &members, &index), ST_INVALID);
    members.members[0].is_voter = true;
    ck_assert_int_eq(rlog_change_members(leader->r, &members, &index), ST_OK);
    rig_converge(rig, index, 3000);
    struct rlog_members seen;
    rlog_get_members(rig->nodes[4].r, &seen);
    ck_assert_uint_eq(seen.count, 4);
    ck_assert(seen.members[3].is_voter);
    rig_free(rig);
}
END_TEST

START_TEST(a_failed_term_write_is_the_end)
{
    struct rig *rig = started(3);
    rig->nodes[1].disk.fail_term = true;
    rig->nodes[2].disk.fail_term = true;
    rig->nodes[3].disk.fail_term = true;
    rig_run(rig, 3000);
    int dead = 0;
    for (int i = 1; i <= 3; i++)
        dead += rig->nodes[i].fatal == ST_IO;
    ck_assert_int_ge(dead, 1);
    ck_assert_uint_eq(rig->frames_sent[RLOG_FRAME_APPEND], 0);
    rig_free(rig);
}
END_TEST

START_TEST(a_lone_leader_has_always_a_majority)
{
    struct rig *rig = rig_new(1);
    ck_assert_int_eq(rig_start(rig, 1, false), ST_OK);
    struct rig_node *leader = rig_leader(rig, 5000);
    /* Also when nobody has called it for long. */
    ck_assert_uint_ge(rig_status(leader).majority_heard_ms, rig->now_ms + 100000);
    rig_free(rig);
}
END_TEST

Suite *
suite_rlog(void)
{
    Suite *s = suite_create("rlog");
    TCase *t = tcase_create("cluster");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, three_nodes_elect_a_leader_and_replicate);
    tcase_add_test(t, a_written_only_entry_commits_without_a_sync);
    tcase_add_test(t, a_synced_entry_waits_for_the_sync_and_holds_back_what_follows);
    tcase_add_test(t, a_killed_leader_is_replaced_fast_when_its_links_are_reset);
    tcase_add_test(t, a_cluster_that_starts_whole_has_a_leader_at_once);
    tcase_add_test(t, a_silent_leader_is_replaced_within_three_seconds);
    tcase_add_test(t, a_node_that_only_lost_its_link_does_not_disturb_the_leader);
    tcase_add_test(t, a_restarted_follower_catches_up);
    tcase_add_test(t, large_entries_are_split_by_bytes_and_never_shortened);
    tcase_add_test(t, the_uncommitted_window_is_bounded);
    tcase_add_test(t, a_submit_from_apply_is_taken);
    tcase_add_test(t, leadership_is_handed_over_within_a_few_round_trips);
    tcase_add_test(t, a_hand_over_that_fails_ends_after_an_election_timeout);
    tcase_add_test(t, the_majority_clock_is_the_time_of_an_answered_round);
    tcase_add_test(t, a_snapshot_trims_the_log_and_survives_a_restart);
    tcase_add_test(t, a_follower_far_behind_gets_the_snapshot_in_chunks);
    tcase_add_test(t, a_snapshot_transfer_goes_on_after_a_reconnect);
    tcase_add_test(t, a_newer_snapshot_during_a_transfer_does_not_stop_it);
    tcase_add_test(t, members_change_one_voter_at_a_time);
    tcase_add_test(t, a_failed_term_write_is_the_end);
    tcase_add_test(t, a_lone_leader_has_always_a_majority);
    suite_add_tcase(s, t);
    return s;
}
