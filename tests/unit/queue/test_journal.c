/* Tests of queue/journal.h: what a leader takes back, it takes back whole. */
#include "queue/journal.h"

#include "rig.h"
#include "suites.h"

static void
assert_same(const struct rig *rig)
{
    const char *fault = state_check(rig->a);
    ck_assert_msg(fault == NULL, "a: %s", fault);
    fault = state_check(rig->b);
    ck_assert_msg(fault == NULL, "b: %s", fault);
    ck_assert_uint_eq(state_digest(rig->a), state_digest(rig->b));
}

/* One turn: some actions, sometimes a commit, now and then a rollback. */
static void
turn(struct rig *rig)
{
    if (rig->in_flight_count == RIG_IN_FLIGHT_MAX || rig_random(rig, 3) == 0)
        rig_commit(rig, (uint32_t)rig_random(rig, rig->in_flight_count + 1));
    if (rig->in_flight_count == RIG_IN_FLIGHT_MAX)
        rig_commit(rig, 1);
    rig_begin(rig);
    for (uint64_t left = rig_random(rig, 20); left > 0; left--)
        rig_act(rig);
    if (rig_random(rig, 12) == 0) { /* in the middle of an entry, too */
        rig_rollback(rig);
        assert_same(rig);
        return;
    }
    rig_end(rig);
    if (rig_random(rig, 10) == 0) {
        rig_commit(rig, rig->in_flight_count);
        ck_assert(journal_is_empty(rig->journal));
        assert_same(rig);
    }
}

START_TEST(leader_and_follower_agree_after_every_commit_and_rollback)
{
    struct rig rig;
    rig_init(&rig, (uint64_t)_i);
    for (int i = 0; i < 600; i++)
        turn(&rig);
    rig_rollback(&rig);
    assert_same(&rig);
    rig_fini(&rig);
}
END_TEST

/* Four messages at one session, in the order held. */
static struct session *
hold_four(struct rig *rig, struct message **m)
{
    struct queue *q = rig_queue(rig, "q", 10);
    struct session *x = rig_session(rig, q, 10);
    for (int i = 0; i < 4; i++) {
        m[i] = rig_publish(rig, q, i == 2 ? 0 : 1, "x");
        rig_assign(rig, m[i], x);
    }
    return x;
}

START_TEST(an_ack_that_is_taken_back_is_held_where_it_was)
{
    struct rig rig;
    struct message *m[4];
    rig_init(&rig, 1);
    rig_begin(&rig);
    struct session *x = hold_four(&rig, m);
    rig_end(&rig);
    rig_commit(&rig, 1);
    rig_begin(&rig);
    for (int i = 0; i < 2; i++) { /* the second one, then the first */
        struct record record = {.type = RECORD_ACK, .queue = x->queue->number};
        record.message.id = m[1 - i]->id;
        rig_do(&rig, &record);
    }
    ck_assert_uint_eq(x->held_count, 2);
    rig_rollback(&rig);
    ck_assert_uint_eq(x->held_count, 3);
    struct list_node *node = list_first(&x->held);
    ck_assert_ptr_eq(node, &m[0]->in_held);
    ck_assert_ptr_eq(node->next, &m[1]->in_held);
    ck_assert_ptr_eq(node->next->next, &m[3]->in_held);
    assert_same(&rig);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_deleted_queue_comes_back_whole_but_for_durability_0)
{
    struct rig rig;
    struct message *m[4];
    rig_init(&rig, 2);
    rig_begin(&rig);
    struct queue *q = hold_four(&rig, m)->queue;
    rig_end(&rig);
    rig_commit(&rig, 1);
    uint64_t version = rig.a->directory_version;
    rig_begin(&rig);
    struct record record = {.type = RECORD_QUEUE_DELETE, .queue = q->number};
    rig_do(&rig, &record);
    ck_assert_ptr_null(state_queue(rig.a, 1));
    rig_rollback(&rig);
    ck_assert_ptr_eq(state_queue(rig.a, 1), q);
    ck_assert_uint_eq(q->counts.messages, 3);
    ck_assert_uint_eq(rig.a->directory_version, version + 2);
    assert_same(&rig);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_commit_stops_at_its_mark)
{
    struct rig rig;
    rig_init(&rig, 3);
    rig_begin(&rig);
    struct queue *q = rig_queue(&rig, "q", 10);
    rig_end(&rig);
    for (int i = 0; i < 3; i++) {
        rig_begin(&rig);
        rig_publish(&rig, q, 1, "x");
        rig_end(&rig);
    }
    rig_commit(&rig, 2);
    uint64_t applied = rig.b->applied;
    ck_assert_uint_lt(applied, rig.a->applied);
    rig_rollback(&rig);
    ck_assert_uint_eq(rig.a->applied, applied);
    ck_assert_uint_eq(state_queue(rig.a, 1)->counts.messages, 1);
    assert_same(&rig);
    rig_fini(&rig);
}
END_TEST

START_TEST(marking_twice_and_skipping_under_a_journal_are_taken_back)
{
    struct state *s = state_new();
    struct journal *j = journal_new();
    state_skip(s, 4);
    s->journal = j;
    journal_mark(s, 5, 100);
    journal_mark(s, 5, 100);
    state_skip(s, 3); /* passed already */
    ck_assert_uint_eq(s->applied, 5);
    state_skip(s, 7);
    ck_assert_uint_eq(s->applied, 7);
    journal_commit(s, 6);
    journal_rollback(s);
    ck_assert_uint_eq(s->applied, 5);
    ck_assert_uint_eq(s->stamp_ms, 100);
    state_free(s);
    journal_free(j);
}
END_TEST

START_TEST(a_state_can_be_freed_with_a_full_journal)
{
    struct rig rig;
    struct message *m[4];
    rig_init(&rig, 4);
    rig_begin(&rig);
    struct session *x = hold_four(&rig, m);
    message_remove(rig.a, m[0]);
    message_remove(rig.a, m[3]);
    session_end(rig.a, x, 100, rig.now_ms);
    rig_fini(&rig); /* the leak sanitizer looks on */
}
END_TEST

Suite *
suite_journal(void)
{
    Suite *suite = suite_create("journal");
    TCase *tc = tcase_create("journal");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, leader_and_follower_agree_after_every_commit_and_rollback,
                        0, 40);
    tcase_add_test(tc, an_ack_that_is_taken_back_is_held_where_it_was);
    tcase_add_test(tc, a_deleted_queue_comes_back_whole_but_for_durability_0);
    tcase_add_test(tc, a_commit_stops_at_its_mark);
    tcase_add_test(tc, marking_twice_and_skipping_under_a_journal_are_taken_back);
    tcase_add_test(tc, a_state_can_be_freed_with_a_full_journal);
    suite_add_tcase(suite, tc);
    return suite;
}
