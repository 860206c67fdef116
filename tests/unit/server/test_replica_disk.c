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

Suite *
replica_disk_suite(void)
{
    Suite *s = suite_create("replica_disk");
    TCase *t = tcase_create("three");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_leader_whose_disk_is_full_hands_over_once);
    tcase_add_test(t, a_leader_whose_disk_is_slow_hands_over_and_is_not_chosen_again);
    suite_add_tcase(s, t);
    return s;
}
