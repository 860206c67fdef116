/* Leadership goes to a better disk, and stays there. */
#include "suites.h"
#include "tests/unit/server/three.h"

static unsigned
leader_changes(struct three *t, uint64_t ms, uint64_t from)
{
    unsigned changes = 0;
    for (uint64_t end = t->now_ms + ms; t->now_ms < end; three_run(t, 10)) {
        uint64_t now = three_leader(t)->id;
        changes += now != from;
        from = now;
    }
    return changes;
}

START_TEST(a_leader_whose_disk_is_full_hands_over_once)
{
    struct three t;
    three_start(&t);
    struct one *leader = three_leader(&t);
    three_run(&t, 3000);
    leader->disk.health.is_full = true;
    ck_assert_uint_eq(leader_changes(&t, 3000, leader->id), 1);
    ck_assert_uint_eq(leader_changes(&t, 60000, three_leader(&t)->id), 0);
    ck_assert_uint_ne(three_leader(&t)->id, leader->id);
    /* All of them: nobody is better. */
    for (int i = 0; i < NODES; i++)
        t.nodes[i].disk.health.is_full = true;
    ck_assert_uint_eq(leader_changes(&t, 60000, three_leader(&t)->id), 0);
    three_end(&t);
}
END_TEST

START_TEST(a_leader_whose_disk_is_slow_hands_over_and_is_not_chosen_again)
{
    struct three t;
    three_start(&t);
    struct one *first = three_leader(&t);
    three_run(&t, 3000);
    first->disk.health.busy_ms = 1100;
    ck_assert_uint_eq(leader_changes(&t, 3000, first->id), 1);
    first->disk.health.busy_ms = 0; /* nothing to do, no trouble */
    struct one *second = three_leader(&t);
    second->disk.health.busy_ms = 1100;
    ck_assert_uint_eq(leader_changes(&t, 8000, second->id), 1);
    ck_assert_uint_ne(three_leader(&t)->id, first->id);
    second->disk.health.busy_ms = 0;
    /* The third as well: now all were slow lately, and it stays. */
    three_leader(&t)->disk.health.busy_ms = 1100;
    ck_assert_uint_eq(leader_changes(&t, 15000, three_leader(&t)->id), 0);
    three_end(&t);
}
END_TEST

static struct replica_status
status_of(const struct one *n)
{
    struct replica_status status;
    replica_get_status(n->replica, &status);
    return status;
}

START_TEST(a_snapshot_that_is_asked_for_is_taken_once_whatever_the_log)
{
    struct three t;
    three_start(&t);
    (void)three_leader(&t);
    three_run(&t, 100);
    for (int i = 0; i < NODES; i++) { /* the leader and its followers */
        struct one *n = &t.nodes[i];
        uint64_t index = status_of(n).log.applied_index;
        ck_assert_uint_lt(status_of(n).log.snapshot_index, index);
        replica_want_image(n->replica, index);
        three_run(&t, 200);
        ck_assert_uint_ge(status_of(n).log.snapshot_index, index);
        ck_assert_uint_eq(status_of(n).images_failed, 0);
        uint64_t count = status_of(n).images_total;
        three_run(&t, 1000);
        ck_assert_uint_eq(status_of(n).images_total, count);
    }
    three_end(&t);
}
END_TEST

START_TEST(a_snapshot_of_what_is_not_yet_applied_waits_for_it)
{
    struct three t;
    three_start(&t);
    struct one *leader = three_leader(&t);
    three_run(&t, 100);
    uint64_t index = status_of(leader).log.applied_index;
    uint64_t snapshot = status_of(leader).log.snapshot_index;
    replica_want_image(leader->replica, index + 1);
    three_run(&t, 200);
    ck_assert_uint_eq(status_of(leader).log.snapshot_index, snapshot);
    ck_assert(replica_takes_requests(leader->replica)); /* nobody is held up for it */
    (void)broker_barrier(replica_broker(leader->replica));
    three_run(&t, 200);
    ck_assert_uint_gt(status_of(leader).log.snapshot_index, index);
    three_end(&t);
}
END_TEST

Suite *
replica_disk_suite(void)
{
    Suite *s = suite_create("replica_disk");
    TCase *t = tcase_create("three");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_leader_whose_disk_is_full_hands_over_once);
    tcase_add_test(t, a_leader_whose_disk_is_slow_hands_over_and_is_not_chosen_again);
    tcase_add_test(t, a_snapshot_that_is_asked_for_is_taken_once_whatever_the_log);
    tcase_add_test(t, a_snapshot_of_what_is_not_yet_applied_waits_for_it);
    suite_add_tcase(s, t);
    return s;
}
