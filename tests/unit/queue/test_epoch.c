/* Tests of the EPOCH record: what a new leader does with sessions. */
#include "queue/state.h"

#include "base/crc32c.h"
#include "rig.h"
#include "suites.h"

static struct rig rig;
static struct queue *q;

static void
setup(void)
{
    rig_init(&rig, 11);
    rig_begin(&rig);
    q = rig_queue(&rig, "q", 2); /* max-tasks 2 */
}

static void
teardown(void)
{
    rig.has_turn = false;
    rig_fini(&rig);
}

/* What was done so far becomes one entry, the epoch the next one. */
static void
epoch(uint64_t leader)
{
    rig_end(&rig);
    rig.now_ms += 1000;
    rig_begin(&rig);
    struct record record = {.type = RECORD_EPOCH, .leader = leader};
    rig_do(&rig, &record);
    rig_end(&rig);
    rig_commit(&rig, rig.in_flight_count);
    rig_begin(&rig);
    ck_assert_ptr_null(state_check(rig.a));
    ck_assert_uint_eq(state_digest(rig.a), state_digest(rig.b));
}

static struct session *
session_with(uint8_t durability)
{
    struct session *x = rig_session(&rig, q, 5);
    rig_assign(&rig, rig_publish(&rig, q, durability, "x"), x);
    return x;
}

static struct session *
session_that_received(void)
{
    struct session *x = rig_session(&rig, q, 5);
    struct record record = {.type = RECORD_SESSION_RECEIVED, .queue = q->number};
    record.session.session = x->number;
    rig_do(&rig, &record);
    return x;
}

START_TEST(the_leader_and_the_last_stamp_before_it_are_kept)
{
    uint64_t stamp_ms = rig.now_ms;
    epoch(3);
    ck_assert_uint_eq(rig.a->epoch_leader, 3);
    ck_assert_uint_eq(rig.a->epoch_floor_ms, stamp_ms);
    ck_assert_uint_eq(rig.b->epoch_floor_ms, stamp_ms);
    ck_assert_uint_gt(rig.a->stamp_ms, stamp_ms);
}
END_TEST

START_TEST(a_session_that_holds_a_message_is_saved_even_over_max_tasks)
{
    for (int i = 0; i < 4; i++)
        session_with(1);
    epoch(1);
    ck_assert_uint_eq(q->line.count, 4);
    ck_assert_uint_eq(q->counts.saved_sessions, 4);
    ck_assert_uint_eq(q->counts.held, 4);
    struct session *x = CONTAINER_OF(tree_first(&q->line), struct session, in_line);
    ck_assert_uint_eq(x->saved_ms, rig.a->stamp_ms);
}
END_TEST

START_TEST(one_that_received_is_saved_while_there_is_room_in_line_order)
{
    uint64_t numbers[3];
    for (int i = 0; i < 3; i++)
        numbers[i] = session_that_received()->number;
    epoch(1);
    ck_assert_uint_eq(q->counts.saved_sessions, 2);
    ck_assert_ptr_nonnull(queue_session_by_number(q, numbers[0]));
    ck_assert_ptr_nonnull(queue_session_by_number(q, numbers[1]));
    ck_assert_ptr_null(queue_session_by_number(q, numbers[2]));
}
END_TEST

START_TEST(one_that_never_received_ends)
{
    uint64_t number = rig_session(&rig, q, 5)->number;
    epoch(1);
    ck_assert_ptr_null(queue_session_by_number(q, number));
    ck_assert_uint_eq(q->line.count, 0);
}
END_TEST

START_TEST(messages_of_durability_0_do_not_count_as_held)
{
    for (int i = 0; i < 3; i++)
        session_with(0);
    epoch(1);
    ck_assert_uint_eq(q->line.count, 2); /* they received, and there was room for two */
    ck_assert_uint_eq(q->counts.messages, 3);
    ck_assert_uint_eq(q->counts.held, 2);
    ck_assert_uint_eq(q->waiting.count, 1);
}
END_TEST

START_TEST(a_saved_session_has_its_time_start_anew_and_takes_room)
{
    struct session *x = session_that_received();
    struct record record = {.type = RECORD_SESSION_SAVE, .queue = q->number};
    record.session.session = x->number;
    rig_do(&rig, &record);
    uint64_t saved_ms = x->saved_ms;
    session_that_received();
    session_that_received();
    epoch(1);
    ck_assert_uint_gt(x->saved_ms, saved_ms);
    ck_assert_uint_eq(x->saved_ms, rig.a->stamp_ms);
    ck_assert_uint_eq(q->counts.saved_sessions, 2);
    epoch(2);
    ck_assert_uint_eq(x->saved_ms, rig.a->stamp_ms);
    ck_assert_uint_eq(q->counts.saved_sessions, 2);
}
END_TEST

START_TEST(a_forgotten_id_is_accepted_again)
{
    struct session *x = session_with(1);
    struct uuid first = x->id;
    struct record record = {.type = RECORD_SESSION_SAVE, .queue = q->number};
    record.session.session = x->number;
    rig_do(&rig, &record);
    record.type = RECORD_SESSION_RESUME;
    record.session.id = rig_id(&rig);
    record.session.capacity = 5;
    rig_do(&rig, &record);
    session_forget_prev(x);
    ck_assert_ptr_null(queue_session(q, &first));
    epoch(1);
    ck_assert_ptr_eq(queue_session(q, &first), x);
}
END_TEST

/* A leader's last words: two messages of durability 0, one of them held. */
static void
pass_on(struct session *x)
{
    for (int i = 0; i < 2; i++) {
        struct record record = {.type = RECORD_PUBLISH, .queue = q->number};
        record.publish.id = rig_id(&rig);
        record.publish.order = q->next_order + (uint64_t)i;
        record.publish.received_ms = rig.now_ms;
        record.publish.type = 1;
        record.publish.body = slice_from_text("x");
        record.publish.body_crc = crc32c(0, "x", 1);
        rig_log(&rig, &record);
        if (i == 1)
            continue;
        struct record assign = {.type = RECORD_ASSIGN, .queue = q->number};
        assign.message.id = record.publish.id;
        assign.message.session = x->number;
        rig_log(&rig, &assign);
    }
    rig_end(&rig);
    rig_commit(&rig, rig.in_flight_count);
    rig_begin(&rig);
}

START_TEST(what_was_passed_on_stays_for_the_next_epoch_when_it_is_ones_own)
{
    static const bool is_heir[] = {true, false};
    pass_on(session_with(1));
    const struct queue *other = state_queue(rig.b, q->number);
    ck_assert_uint_eq(other->counts.messages, 3);
    ck_assert_uint_eq(other->counts.held, 2);
    ck_assert_uint_eq(state_digest(rig.a), state_digest(rig.b));
    if (is_heir[_i])
        state_inherit(rig.b);
    epoch(2);
    ck_assert_uint_eq(other->counts.messages, is_heir[_i] ? 3 : 1);
    ck_assert_uint_eq(other->counts.held, is_heir[_i] ? 2 : 1);
    epoch(3); /* only a leader may have them now, and that is not this one */
    state_drop_volatile(rig.b);
}
END_TEST

START_TEST(what_was_passed_on_goes_with_any_other_record)
{
    struct session *x = session_with(1);
    pass_on(x);
    const struct queue *other = state_queue(rig.b, q->number);
    ck_assert_uint_eq(other->counts.messages, 3);
    struct record record = {.type = RECORD_NOOP};
    rig_log(&rig, &record);
    rig_end(&rig);
    rig_commit(&rig, rig.in_flight_count);
    rig_begin(&rig);
    ck_assert_uint_eq(other->counts.messages, 1);
    state_inherit(rig.b);
    epoch(2);
    ck_assert_uint_eq(other->counts.messages, 1);
}
END_TEST

START_TEST(an_epoch_is_taken_back)
{
    session_with(1);
    rig_session(&rig, q, 5);
    rig_end(&rig);
    rig_commit(&rig, 1);
    rig_begin(&rig);
    struct record record = {.type = RECORD_EPOCH, .leader = 9};
    rig_do(&rig, &record);
    ck_assert_uint_eq(q->line.count, 1);
    rig_rollback(&rig);
    ck_assert_uint_eq(q->line.count, 2);
    ck_assert_uint_eq(rig.a->epoch_leader, 0);
    ck_assert_uint_eq(state_digest(rig.a), state_digest(rig.b));
}
END_TEST

Suite *
suite_epoch(void)
{
    Suite *suite = suite_create("epoch");
    TCase *tc = tcase_create("epoch");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_leader_and_the_last_stamp_before_it_are_kept);
    tcase_add_test(tc, a_session_that_holds_a_message_is_saved_even_over_max_tasks);
    tcase_add_test(tc, one_that_received_is_saved_while_there_is_room_in_line_order);
    tcase_add_test(tc, one_that_never_received_ends);
    tcase_add_test(tc, messages_of_durability_0_do_not_count_as_held);
    tcase_add_test(tc, a_saved_session_has_its_time_start_anew_and_takes_room);
    tcase_add_test(tc, a_forgotten_id_is_accepted_again);
    tcase_add_loop_test(
        tc, what_was_passed_on_stays_for_the_next_epoch_when_it_is_ones_own, 0, 2);
    tcase_add_test(tc, what_was_passed_on_goes_with_any_other_record);
    tcase_add_test(tc, an_epoch_is_taken_back);
    suite_add_tcase(suite, tc);
    return suite;
}
