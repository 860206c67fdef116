/* Tests of apply() and the verbs, one behaviour each. */
#include "queue/state.h"

#include "rig.h"
#include "suites.h"

#include <signal.h>

static struct rig rig;
static struct queue *q;

static void
setup(void)
{
    rig_init(&rig, 7);
    rig_begin(&rig);
    q = rig_queue(&rig, "q", 10);
}

static void
teardown(void)
{
    rig.has_turn = false;
    rig_fini(&rig);
}

static void
assert_good(void)
{
    const char *fault = state_check(rig.a);
    ck_assert_msg(fault == NULL, "%s", fault);
}

static void
commit_turn(void)
{
    rig_end(&rig);
    rig_commit(&rig, rig.in_flight_count);
    ck_assert_uint_eq(state_digest(rig.a), state_digest(rig.b));
    rig_begin(&rig);
}

static struct message *
first_waiting(void)
{
    struct tree_node *node = tree_first(&q->waiting);
    return node == NULL ? NULL : CONTAINER_OF(node, struct message, in_waiting);
}

START_TEST(a_published_message_waits_with_its_body_and_key)
{
    struct message *m = rig_publish(&rig, q, 1, "Hello");
    ck_assert_ptr_eq(queue_message(q, &m->id), m);
    ck_assert(slice_equal(message_body(m), slice_from_text("Hello")));
    ck_assert_uint_eq(message_key(m).size, m->key_size);
    ck_assert_uint_eq(m->ready_ms, m->received_ms + 1000ull * m->delay_secs);
    ck_assert_uint_eq(q->counts.memory_bytes, 256 + m->body->size);
    ck_assert_uint_eq(q->counts.durable, 1);
    assert_good();
    commit_turn();
    const struct message *same = queue_message(state_queue(rig.b, 1), &m->id);
    ck_assert(slice_equal(message_body(same), slice_from_text("Hello")));
    ck_assert(slice_equal(message_key(same), message_key(m)));
}
END_TEST

START_TEST(an_assigned_message_counts_a_delivery_and_marks_its_session)
{
    struct message *m = rig_publish(&rig, q, 1, "x");
    struct session *x = rig_session(&rig, q, 3);
    ck_assert(!x->has_received);
    rig_assign(&rig, m, x);
    ck_assert(x->has_received && m->holder == x && m->deliveries == 1);
    ck_assert_uint_eq(q->counts.held, 1);
    ck_assert_uint_eq(q->waiting.count, 0);
    message_release(rig.a, m, q->next_order, rig.now_ms);
    ck_assert_ptr_null(m->holder);
    ck_assert_uint_eq(m->deliveries, 1);
    ck_assert_ptr_eq(first_waiting(), m);
    assert_good();
}
END_TEST

START_TEST(a_dead_letter_leaves_the_messages_and_can_come_back)
{
    struct message *m = rig_publish(&rig, q, 2, "x");
    message_to_dlq(rig.a, m, DEAD_MOVED, 1234);
    ck_assert_uint_eq(q->counts.dead, 1);
    ck_assert_uint_eq(q->counts.messages, 1);
    ck_assert_uint_eq(q->messages.count, 0);
    ck_assert_uint_eq(m->dead_ms, 1234);
    ck_assert_uint_eq(m->dead_reason, DEAD_MOVED);
    ck_assert_ptr_eq(queue_message(q, &m->id), m);
    assert_good();
    message_release(rig.a, m, q->next_order, rig.now_ms);
    ck_assert_uint_eq(q->counts.dead, 0);
    ck_assert_ptr_eq(first_waiting(), m);
    assert_good();
    message_remove(rig.a, m);
    ck_assert_uint_eq(q->counts.messages, 0);
    ck_assert_uint_eq(q->counts.memory_bytes, 0);
    assert_good();
}
END_TEST

START_TEST(the_end_of_a_session_gives_back_durable_ones_first)
{
    static const uint8_t durabilities[] = {0, 1, 0, 2, 1};
    struct session *x = rig_session(&rig, q, 9);
    struct message *m[5];
    for (int i = 0; i < 5; i++) {
        m[i] = rig_publish(&rig, q, durabilities[i], "x");
        rig_assign(&rig, m[i], x);
    }
    uint64_t order = q->next_order;
    struct record record = {.type = RECORD_SESSION_END, .queue = q->number};
    record.session.session = x->number;
    record.session.order = order;
    rig_log(&rig, &record);
    session_end(rig.a, x, order, rig.now_ms + 5);
    ck_assert_uint_eq(m[1]->order, order);
    ck_assert_uint_eq(m[3]->order, order + 1);
    ck_assert_uint_eq(m[4]->order, order + 2);
    ck_assert_uint_eq(m[0]->order, order + 3);
    ck_assert_uint_eq(m[2]->order, order + 4);
    ck_assert_uint_eq(q->next_order, order + 5);
    ck_assert_uint_eq(m[4]->ready_ms, rig.now_ms + 5);
    ck_assert_uint_eq(q->line.count, 0);
    assert_good();
}
END_TEST

START_TEST(orders_of_a_follower_do_not_depend_on_durability_0)
{
    struct session *x = rig_session(&rig, q, 9);
    for (int i = 0; i < 6; i++)
        rig_assign(&rig, rig_publish(&rig, q, (uint8_t)(i % 2), "x"), x);
    struct record record = {.type = RECORD_SESSION_END, .queue = q->number};
    record.session.session = x->number;
    record.session.order = q->next_order;
    rig_do(&rig, &record);
    commit_turn();
    const struct queue *other = state_queue(rig.b, 1);
    ck_assert_uint_eq(other->counts.messages, 3);
    ck_assert_uint_le(other->next_order, q->next_order);
    assert_good();
}
END_TEST

START_TEST(a_session_is_found_by_both_its_ids_until_one_is_forgotten)
{
    struct session *x = rig_session(&rig, q, 9);
    struct uuid first = x->id;
    struct uuid second = rig_id(&rig);
    session_save(rig.a, x, 5);
    ck_assert_uint_eq(q->counts.saved_sessions, 1);
    session_resume(rig.a, x, &second, 4);
    ck_assert_uint_eq(q->counts.saved_sessions, 0);
    ck_assert_uint_eq(x->capacity, 4);
    ck_assert_ptr_eq(queue_session(q, &first), x);
    ck_assert_ptr_eq(queue_session(q, &second), x);
    uint64_t digest = state_digest(rig.a);
    session_forget_prev(x);
    ck_assert_ptr_null(queue_session(q, &first));
    ck_assert_ptr_eq(queue_session(q, &second), x);
    ck_assert_uint_eq(state_digest(rig.a), digest);
    session_set_capacity(rig.a, x, 5);
    ck_assert_ptr_null(queue_session(q, &first));
    assert_good();
}
END_TEST

START_TEST(waiting_order_is_ready_time_then_order)
{
    struct message *m[3];
    for (int i = 0; i < 3; i++)
        m[i] = rig_publish(&rig, q, 1, "x");
    for (int i = 0; i < 3; i++) /* all ready at one time, the last one first */
        message_assign(rig.a, m[i], rig_session(&rig, q, 1), 5);
    for (int i = 0; i < 3; i++)
        message_release(rig.a, m[i], 100 - (uint64_t)i, 7);
    ck_assert_ptr_eq(first_waiting(), m[2]);
    message_assign(rig.a, m[2], rig_session(&rig, q, 1), 5);
    message_release(rig.a, m[2], 1, 8);
    ck_assert_ptr_eq(first_waiting(), m[1]);
    assert_good();
}
END_TEST

START_TEST(dropping_durability_0_takes_it_from_everywhere)
{
    struct session *x = rig_session(&rig, q, 9);
    for (int i = 0; i < 9; i++) {
        struct message *m = rig_publish(&rig, q, (uint8_t)(i % 3), "x");
        if (i < 5)
            rig_assign(&rig, m, x);
    }
    ck_assert_uint_eq(x->held_count, 5);
    uint64_t digest = state_digest(rig.a);
    state_drop_volatile(rig.a);
    ck_assert_uint_eq(state_digest(rig.a), digest);
    ck_assert_uint_eq(x->held_count, 3);
    ck_assert_uint_eq(q->counts.messages, 6);
    assert_good();
}
END_TEST

START_TEST(the_digest_sees_every_replicated_change)
{
    struct message *m = rig_publish(&rig, q, 1, "x");
    struct session *x = rig_session(&rig, q, 9);
    uint64_t last = state_digest(rig.a);
    for (int step = 0; step < 7; step++) {
        if (step == 0)
            rig_assign(&rig, m, x);
        else if (step == 1)
            message_release(rig.a, m, q->next_order, rig.now_ms);
        else if (step == 2)
            message_to_dlq(rig.a, m, DEAD_NACK, rig.now_ms);
        else if (step == 3)
            message_remove(rig.a, m);
        else if (step == 4)
            session_set_capacity(rig.a, x, 8);
        else if (step == 5)
            session_save(rig.a, x, 99);
        else
            session_end(rig.a, x, q->next_order, rig.now_ms);
        ck_assert_uint_ne(state_digest(rig.a), last);
        last = state_digest(rig.a);
    }
    rig_publish(&rig, q, 0, "not seen");
    ck_assert_uint_eq(state_digest(rig.a), last);
}
END_TEST

static void
apply_one(enum record_type type)
{
    struct bytes out = {0};
    struct record record = rig_sample(type);
    record.queue = q->number;
    entry_begin(&out, rig.now_ms);
    entry_add(&out, &record);
    state_apply(rig.a, rig.a->applied + 1, slice_of(out.data, out.size));
}

START_TEST(an_ack_of_an_unknown_message_stops_the_node)
{
    apply_one(RECORD_ACK);
}
END_TEST

START_TEST(the_end_of_an_unknown_session_stops_the_node)
{
    apply_one(RECORD_SESSION_END);
}
END_TEST

START_TEST(an_ack_of_a_waiting_message_stops_the_node)
{
    struct message *m = rig_publish(&rig, q, 1, "x");
    struct record record = {.type = RECORD_ACK, .queue = q->number};
    record.message.id = m->id;
    state_apply_record(rig.a, &record, rig.now_ms);
}
END_TEST

START_TEST(an_entry_that_cannot_be_read_stops_the_node)
{
    state_apply(rig.a, rig.a->applied + 1, slice_from_text("rubbish"));
}
END_TEST

START_TEST(a_stamp_that_goes_back_stops_the_node)
{
    struct bytes out = {0};
    rig_end(&rig);
    entry_begin(&out, rig.a->stamp_ms - 1);
    state_apply(rig.a, rig.a->applied + 1, slice_of(out.data, out.size));
}
END_TEST

Suite *
suite_apply(void)
{
    Suite *suite = suite_create("apply");
    TCase *tc = tcase_create("apply");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_published_message_waits_with_its_body_and_key);
    tcase_add_test(tc, an_assigned_message_counts_a_delivery_and_marks_its_session);
    tcase_add_test(tc, a_dead_letter_leaves_the_messages_and_can_come_back);
    tcase_add_test(tc, the_end_of_a_session_gives_back_durable_ones_first);
    tcase_add_test(tc, orders_of_a_follower_do_not_depend_on_durability_0);
    tcase_add_test(tc, a_session_is_found_by_both_its_ids_until_one_is_forgotten);
    tcase_add_test(tc, waiting_order_is_ready_time_then_order);
    tcase_add_test(tc, dropping_durability_0_takes_it_from_everywhere);
    tcase_add_test(tc, the_digest_sees_every_replicated_change);
    tcase_add_test_raise_signal(tc, an_ack_of_an_unknown_message_stops_the_node,
                                SIGABRT);
    tcase_add_test_raise_signal(tc, the_end_of_an_unknown_session_stops_the_node,
                                SIGABRT);
    tcase_add_test_raise_signal(tc, an_ack_of_a_waiting_message_stops_the_node,
                                SIGABRT);
    tcase_add_test_raise_signal(tc, an_entry_that_cannot_be_read_stops_the_node,
                                SIGABRT);
    tcase_add_test_raise_signal(tc, a_stamp_that_goes_back_stops_the_node, SIGABRT);
    suite_add_tcase(suite, tc);
    return suite;
}
