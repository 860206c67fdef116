/* The ordering rules (raft-notes 3) and the restart gate (6): kept, and missed when
 * taken out. R9 and R10 are the disk's: test_disk_damage.c, test_disk_failures.c. */
#include "tests/unit/raft/scenario.h"
#include "tests/unit/raft/suites.h"

#include "raft/rlog_int.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static bool was_late;

/* What a message says must be on the disk of its sender. */
static bool
watch_terms(struct rig *rig, struct rig_frame *f)
{
    struct reader r = reader_of(blob_slice(f->body));
    const struct memdisk *d = &rig->nodes[f->from].disk;
    if (f->kind == RLOG_FRAME_VOTE) {
        struct raft_request_vote m;
        ck_assert_int_eq(rlog_wire_get_vote(blob_slice(f->body), &m), ST_OK);
        was_late = was_late || (!m.pre_vote && d->term < m.term);
    } else if (f->kind == RLOG_FRAME_APPEND) {
        read_u64(&r);
        was_late = was_late || d->term < read_u64(&r);
    }
    return true;
}

static bool
r1_term_first(void)
{
    struct rig *rig = rig_new(3);
    was_late = false;
    rig->watch = watch_terms;
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    rig_leader(rig, 5000);
    rig_free(rig);
    return !was_late;
}

START_TEST(r1_term_and_vote_are_durable_before_any_message)
{
    scenario_check(r1_term_first, RLOG_GUARD_R1);
}
END_TEST

static uint64_t
acked(struct lone *l)
{
    struct raft_append_entries_result m;
    uint64_t stamp;
    if (l->sent[RLOG_FRAME_APPEND_RESULT] == NULL)
        return 0;
    ck_assert_int_eq(
        rlog_wire_get_append_result(blob_slice(l->sent[RLOG_FRAME_APPEND_RESULT]), &m,
                                    &stamp, &(uint8_t){0}),
        ST_OK);
    return m.rejected == 0 ? m.last_log_index : 0;
}

START_TEST(r2_a_follower_answers_for_what_is_stored_and_a_leader_sends_before)
{
    struct lone l;
    lone_start(&l);
    lone_append(&l, 2, 2, 1, 1, 3, 0, 0);
    ck_assert_uint_lt(acked(&l), 2);
    memdisk_write(&l.n->disk, l.n->r, l.rig->now_ms);
    ck_assert_uint_eq(acked(&l), 4);
    uint64_t term = lone_lead(&l);
    unsigned before = l.sent_count[RLOG_FRAME_APPEND];
    lone_result(&l, 2, term, 0, 4);
    lone_result(&l, 3, term, 0, 4);
    ck_assert_int_eq(rig_submit(l.n, 10, true, NULL), ST_OK);
    ck_assert_uint_ge(l.sent_count[RLOG_FRAME_APPEND], before + 2);
    ck_assert_uint_eq(rig_status(l.n).stored_index, 4);
    /* It may even be committed by the others alone. */
    lone_result(&l, 2, term, 0, 6);
    lone_result(&l, 3, term, 0, 6);
    ck_assert_uint_eq(rig_status(l.n).commit_index, 6);
    ck_assert_uint_eq(l.n->applied, 6);
    ck_assert_int_eq(rlog_snapshot_begin(l.n->r, &term), ST_AGAIN); /* R8 */
    lone_end(&l);
}
END_TEST

static bool
r3_synced_first(void)
{
    struct lone l;
    lone_start(&l);
    lone_append(&l, 2, 2, 1, 1, 2, 0, 2); /* entry 2 is a change: is_sync */
    memdisk_write(&l.n->disk, l.n->r, l.rig->now_ms);
    bool ok = acked(&l) < 2;
    memdisk_sync(&l.n->disk, l.n->r, l.rig->now_ms);
    ok = ok && acked(&l) == 3;
    lone_end(&l);
    return ok;
}

START_TEST(r3_a_synced_entry_is_not_acknowledged_before_its_sync)
{
    scenario_check(r3_synced_first, RLOG_GUARD_R3);
}
END_TEST

static bool
r4_stale_completion(void)
{
    struct lone l;
    lone_start(&l);
    lone_append(&l, 2, 2, 1, 1, 2, 0, 0); /* entries 2, 3: positions 1, 2 */
    lone_append(&l, 3, 3, 1, 1, 1, 0, 0); /* replaces entry 2: position 3 */
    rlog_on_written(l.n->r, 2, l.rig->now_ms);
    bool ok = rig_status(l.n).stored_index == 1 && acked(&l) < 2;
    rlog_on_written(l.n->r, 3, l.rig->now_ms);
    ok = ok && rig_status(l.n).stored_index == 2 && acked(&l) == 2;
    lone_end(&l);
    return ok;
}

START_TEST(r4_completions_of_replaced_entries_are_not_reported)
{
    scenario_check(r4_stale_completion, RLOG_GUARD_R4);
}
END_TEST

static bool
r5_old_cursors(void)
{
    struct lone l;
    lone_start(&l);
    lone_lead(&l);
    for (int i = 0; i < 20; i++) /* more than a window: some wait */
        ck_assert_int_eq(rig_submit(l.n, 1 << 20, false, NULL), ST_OK);
    uint64_t term = rig_status(l.n).term + 1;
    lone_result(&l, 2, term - 1, 0, 1);      /* not probing any more */
    lone_append(&l, 3, term, 1, 1, 2, 0, 0); /* another leader, another log */
    memdisk_write(&l.n->disk, l.n->r, l.rig->now_ms);
    ck_assert_uint_eq(rig_status(l.n).last_index, 3);
    rlog_peer_down(l.n->r, 3, true, l.rig->now_ms);
    rig_run(l.rig, 60);
    blob_put(l.sent[RLOG_FRAME_APPEND]);
    l.sent[RLOG_FRAME_APPEND] = NULL;
    lone_lead(&l);
    const struct blob *newest = l.sent[RLOG_FRAME_APPEND];
    /* The barrier of the new term. */
    bool ok = newest != NULL && get_u32(newest->data + 4) >= 1;
    lone_end(&l);
    return ok;
}

START_TEST(r5_what_was_bound_in_an_older_term_is_dropped)
{
    scenario_check(r5_old_cursors, RLOG_GUARD_R5);
}
END_TEST

static unsigned rejections;

static bool
watch_rejections(struct rig *rig, struct rig_frame *f)
{
    struct raft_append_entries_result m;
    uint64_t stamp;
    (void)rig;
    if (f->kind == RLOG_FRAME_APPEND_RESULT &&
        rlog_wire_get_append_result(blob_slice(f->body), &m, &stamp, &(uint8_t){0}) ==
            ST_OK)
        rejections += m.rejected != 0;
    return true;
}

static bool
r6_long_message(void)
{
    struct rig *rig = rig_new(3);
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t id = leader->id % 3 + 1;
    uint64_t index = 0;
    rig_stop(rig, id, false, true);
    for (int i = 0; i < 40; i++) {
        ck_assert_int_eq(rig_submit(leader, 700000, false, &index), ST_OK);
        rig_run(rig, 2);
    }
    rejections = 0;
    rig->watch = watch_rejections;
    ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
    rig_run(rig, 300);
    bool ok = rig->nodes[id].applied >= index && rejections <= 3;
    rig_free(rig);
    return ok;
}

START_TEST(r6_a_long_message_is_split_and_not_cut_short)
{
    scenario_check(r6_long_message, RLOG_GUARD_R6);
}
END_TEST

static bool
r7_commit_first(void)
{
    struct lone l;
    lone_start(&l);
    lone_lead(&l);
    ck_assert_int_eq(rig_submit(l.n, 10, false, NULL), ST_OK);
    memdisk_write(&l.n->disk, l.n->r, l.rig->now_ms);
    memdisk_sync(&l.n->disk, l.n->r, l.rig->now_ms);
    bool ok = l.n->applied <= 1;
    lone_end(&l);
    return ok;
}

START_TEST(r7_only_what_is_committed_is_applied)
{
    scenario_check(r7_commit_first, RLOG_GUARD_R7);
}
END_TEST

START_TEST(r7_a_deposed_leader_is_told_before_it_applies_the_next_ones_entries)
{
    struct lone l;
    lone_start(&l);
    uint64_t term = lone_lead(&l);
    ck_assert_int_eq(rig_submit(l.n, 10, false, NULL), ST_OK);
    lone_append(&l, 3, term + 1, 1, 1, 2, 3, 0); /* rig.c checks the role in apply_cb */
    ck_assert_uint_eq(l.n->applied, 3);
    ck_assert_int_eq(l.n->role, RLOG_FOLLOWER);
    lone_end(&l);
}
END_TEST

static bool
r8_overtaken_snapshot(void)
{
    struct rig *rig = rig_new(3);
    uint64_t ignored;
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    struct rig_node *leader = rig_leader(rig, 5000);
    struct rig_node *slow = &rig->nodes[leader->id % 3 + 1];
    rig_run(rig, 300);
    rig_cut(rig, slow->id, true);
    for (int i = 0; i < 1500; i++) {
        ck_assert_int_eq(rig_submit(leader, 40000, false, NULL), ST_OK);
        rig_run(rig, i % 20 == 0);
    }
    rig_run(rig, 100);
    rig_snapshot(rig, leader);
    rig_run(rig, 5);
    ck_assert_int_eq(rlog_snapshot_begin(slow->r, &ignored), ST_OK);
    rig_cut(rig, slow->id, false);
    rig_converge(rig, 1500, 9000);
    bool ok = !rlog_snapshot_is_running(slow->r) && slow->restores == 1;
    rlog_snapshot_write(slow->r, blob_new(10)); /* goes nowhere */
    rlog_snapshot_finish(slow->r);
    rig_run(rig, 10);
    ok = ok && rig_status(slow).snapshot_index >= 1500;
    rig_free(rig);
    return ok;
}

START_TEST(r8_a_local_snapshot_that_an_install_overtook_is_given_up)
{
    scenario_check(r8_overtaken_snapshot, RLOG_GUARD_R8);
}
END_TEST

Suite *
suite_rules(void)
{
    Suite *s = suite_create("rules");
    TCase *t = tcase_create("directed");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, r1_term_and_vote_are_durable_before_any_message);
    tcase_add_test(t,
                   r2_a_follower_answers_for_what_is_stored_and_a_leader_sends_before);
    tcase_add_test(t, r3_a_synced_entry_is_not_acknowledged_before_its_sync);
    tcase_add_test(t, r4_completions_of_replaced_entries_are_not_reported);
    tcase_add_test(t, r5_what_was_bound_in_an_older_term_is_dropped);
    tcase_add_test(t, r6_a_long_message_is_split_and_not_cut_short);
    tcase_add_test(t, r7_only_what_is_committed_is_applied);
    tcase_add_test(t,
                   r7_a_deposed_leader_is_told_before_it_applies_the_next_ones_entries);
    tcase_add_test(t, r8_a_local_snapshot_that_an_install_overtook_is_given_up);
    suite_add_tcase(s, t);
    return s;
}
