/* Three nodes in one process: starting with much to load, and snapshots that take long.
 */
#include "base/limits.h"
#include "raft/disk_format.h"
#include "raft/entries.h"
#include "tests/unit/raft/rig.h"
#include "tests/unit/raft/suites.h"

#define IMAGE_BYTES 20000000u

static struct rig *
started(void)
{
    struct rig *rig = rig_new(3);
    for (uint64_t id = 1; id <= 3; id++)
        ck_assert_int_eq(rig_start(rig, id, false), ST_OK);
    return rig;
}

/* A follower is stopped, and is started again when the log begins behind its end. */
static struct rig_node *
left_behind(struct rig *rig, struct rig_node *leader)
{
    struct rig_node *n = &rig->nodes[leader->id % 3 + 1];
    rig_stop(rig, n->id, false, true);
    for (int i = 0; i < 1500; i++) {
        ck_assert_int_eq(rig_submit(leader, 40000, false, NULL), ST_OK);
        if (i % 20 == 0)
            rig_run(rig, 1);
    }
    rig_converge(rig, 0, 1000);
    leader->image_bytes = IMAGE_BYTES;
    rig_snapshot(rig, leader);
    rig_run(rig, 5);
    return n;
}

/* Each has its own image to load before it can be connected to. Whoever is first has
 * begun to stand by then, in vain. */
START_TEST(nodes_that_start_one_after_the_other_elect_when_two_are_there)
{
    struct rig *rig = started();
    for (unsigned round = 0; round < 40; round++) {
        struct rig_node *leader = rig_leader(rig, round == 0 ? 5000 : 150);
        uint64_t index;
        ck_assert_int_eq(rig_submit(leader, 100, false, &index), ST_OK);
        rig_run(rig, 20);
        for (uint64_t id = 1; id <= 3; id++)
            rig_stop(rig, id, false, false);
        ck_assert_int_eq(rig_start(rig, round % 3 + 1, false), ST_OK);
        rig_run(rig, 700 + 60 * round);
        ck_assert_int_eq(rig_start(rig, (round + 1 + round % 2) % 3 + 1, false), ST_OK);
    }
    rig_free(rig);
}
END_TEST

START_TEST(nothing_is_applied_while_a_snapshot_is_restored_and_nobody_is_elected)
{
    struct rig *rig = started();
    struct rig_node *leader = rig_leader(rig, 5000);
    struct rig_node *n = left_behind(rig, leader);
    uint64_t term = leader->term;
    uint64_t index;
    n->is_slow_restore = true;
    ck_assert_int_eq(rig_start(rig, n->id, false), ST_OK);
    for (int i = 0; i < 3000 && n->restores == 0; i++)
        rig_run(rig, 1);
    ck_assert_uint_eq(n->restores, 1);
    uint64_t at = n->applied;
    /* Longer than an election timeout, and than the library waits for an install. */
    for (int i = 0; i < 70; i++) {
        ck_assert_int_eq(rig_submit(leader, 100, true, &index), ST_OK);
        rig_run(rig, 100);
        ck_assert_uint_eq(n->applied, at);
        ck_assert_int_eq(rlog_snapshot_begin(n->r, &index), ST_AGAIN);
    }
    rlog_restored(n->r, ST_OK, rig->now_ms);
    ck_assert_int_eq(rig_submit(leader, 100, true, &index), ST_OK);
    rig_converge(rig, index, 2000);
    ck_assert_uint_eq(n->restores, 1);
    ck_assert_uint_eq(rig_leader(rig, 1)->id, leader->id);
    ck_assert_uint_eq(leader->term, term);
    rig_free(rig);
}
END_TEST

START_TEST(a_node_that_stops_while_it_restores_starts_with_the_new_snapshot)
{
    struct rig *rig = started();
    struct rig_node *leader = rig_leader(rig, 5000);
    struct rig_node *n = left_behind(rig, leader);
    uint64_t index;
    n->is_slow_restore = true;
    ck_assert_int_eq(rig_start(rig, n->id, false), ST_OK);
    for (int i = 0; i < 3000 && n->restores == 0; i++)
        rig_run(rig, 1);
    uint64_t at = n->applied;
    rig_stop(rig, n->id, false, true);
    n->is_slow_restore = false;
    n->applied = 0;
    ck_assert_int_eq(rig_start(rig, n->id, false), ST_OK);
    ck_assert_uint_eq(n->applied, at);
    ck_assert_int_eq(rig_submit(leader, 100, true, &index), ST_OK);
    rig_converge(rig, index, 2000);
    rig_free(rig);
}
END_TEST

START_TEST(a_restore_that_fails_is_the_end)
{
    struct rig *rig = started();
    struct rig_node *n = left_behind(rig, rig_leader(rig, 5000));
    n->is_slow_restore = true;
    ck_assert_int_eq(rig_start(rig, n->id, false), ST_OK);
    for (int i = 0; i < 3000 && n->restores == 0; i++)
        rig_run(rig, 1);
    rlog_restored(n->r, ST_CORRUPT, rig->now_ms);
    ck_assert_int_eq(n->fatal, ST_CORRUPT);
    rig_free(rig);
}
END_TEST

START_TEST(a_snapshot_is_sent_no_faster_than_its_rate)
{
    struct rig *rig = started();
    struct rig_node *n = left_behind(rig, rig_leader(rig, 5000));
    uint64_t least_ms =
        (uint64_t)(IMAGE_BYTES - 2 * LIMIT_SNAPSHOT_CHUNK) * 1000 / LIMIT_SNAPSHOT_RATE;
    uint64_t begin_ms = rig->now_ms;
    uint64_t chunks = 0;
    ck_assert_int_eq(rig_start(rig, n->id, false), ST_OK);
    for (int i = 0; i < 3000 && n->restores == 0; i++) {
        rig_run(rig, 1);
        uint64_t now = rig->frames_sent[RLOG_FRAME_SNAPSHOT_CHUNK];
        ck_assert_uint_le(now - chunks, 2); /* evenly */
        chunks = now;
    }
    ck_assert_uint_eq(n->restores, 1);
    ck_assert_uint_ge(rig->now_ms - begin_ms, least_ms);
    ck_assert_uint_le(rig->now_ms - begin_ms, least_ms + least_ms / 4 + 100);
    rig_free(rig);
}
END_TEST

/* What asks for a snapshot must be what the disk has: of an empty entry that is a head.
 */
START_TEST(small_entries_count_with_what_they_cost_on_the_disk)
{
    struct rig *rig = started();
    struct rig_node *leader = rig_leader(rig, 5000);
    uint64_t before = rlog_log_bytes(leader->r);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(rig_submit(leader, 1, false, NULL), ST_OK);
        if (i % 20 == 0)
            rig_run(rig, 1);
    }
    ck_assert_uint_ge(rlog_log_bytes(leader->r) - before, 1000 * record_bytes(1));
    rig_free(rig);
}
END_TEST

/* Nor may millions of them stay in memory. */
START_TEST(small_entries_are_evicted_by_what_they_cost_in_memory)
{
    struct rlog_entries e;
    struct blob *blob = blob_new(1);
    rlog_entries_init(&e, 1);
    for (uint64_t i = 1; i <= 100000; i++) {
        struct rlog_entry entry = {
            .index = i, .term = 1, .type = RLOG_COMMAND, .blob = blob, .size = 1};
        rlog_entries_append(&e, &entry, i);
    }
    rlog_entries_evict(&e, 100001, 1u << 20);
    ck_assert_uint_le(e.last + 1 - e.cached_first, (1u << 20) / RLOG_ENTRY_OVERHEAD);
    ck_assert_uint_ge(e.last + 1 - e.cached_first, 10000);
    rlog_entries_trim(&e, 100001);
    ck_assert_uint_eq(e.cached_bytes, 0);
    rlog_entries_fini(&e);
    blob_put(blob);
}
END_TEST

Suite *
suite_snapshots(void)
{
    Suite *s = suite_create("snapshots");
    TCase *t = tcase_create("snapshots");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, nodes_that_start_one_after_the_other_elect_when_two_are_there);
    tcase_add_test(
        t, nothing_is_applied_while_a_snapshot_is_restored_and_nobody_is_elected);
    tcase_add_test(t, a_node_that_stops_while_it_restores_starts_with_the_new_snapshot);
    tcase_add_test(t, a_restore_that_fails_is_the_end);
    tcase_add_test(t, a_snapshot_is_sent_no_faster_than_its_rate);
    tcase_add_test(t, small_entries_count_with_what_they_cost_on_the_disk);
    tcase_add_test(t, small_entries_are_evicted_by_what_they_cost_in_memory);
    suite_add_tcase(s, t);
    return s;
}
