/* Tests of queue/trail.h: what is noted about a message, and what it costs. */
#include "queue/trail.h"

#include "base/mem.h"
#include "queue/level.h"
#include "rig.h"
#include "suites.h"

static struct rig rig;
static struct queue *q;
static uint64_t step_ms; /* a message is held so long */

static void
setup(void)
{
    struct record record = {.type = RECORD_LEVEL, .level = HF_LEVEL_TRAILS};
    step_ms = 1000;
    rig_init(&rig, 5);
    rig_begin(&rig);
    rig_do(&rig, &record);
    q = rig_queue(&rig, "q", 10);
    rig_end(&rig);
    rig_commit(&rig, 1);
    rig_begin(&rig);
}

static void
teardown(void)
{
    rig_fini(&rig);
}

/* Given to a session that ends. */
static void
give_and_return(struct message *m)
{
    struct session *x = rig_session(&rig, q, 5);
    rig_assign(&rig, m, x);
    rig.now_ms += step_ms;
    struct record record = {.type = RECORD_SESSION_END, .queue = q->number};
    record.session.session = x->number;
    record.session.order = q->next_order;
    rig_do(&rig, &record);
}

START_TEST(what_is_published_delivered_and_acknowledged_has_none)
{
    struct session *x = rig_session(&rig, q, 5);
    struct message *m = rig_publish(&rig, q, 2, "x");
    rig_assign(&rig, m, x);
    ck_assert_ptr_null(m->trail);
}
END_TEST

START_TEST(events_are_noted_from_the_first_return_on)
{
    struct message *m = rig_publish(&rig, q, 2, "x");
    uint64_t begin_ms = rig.now_ms;
    give_and_return(m);
    give_and_return(m);
    message_to_dlq(rig.a, m, DEAD_MOVED, begin_ms + 3000);
    message_release(rig.a, m, q->next_order, begin_ms + 4000);
    static const uint8_t kinds[] = {TRAIL_ENDED, TRAIL_HELD, TRAIL_ENDED, TRAIL_MOVED,
                                    TRAIL_REDRIVEN};
    ck_assert_ptr_nonnull(m->trail);
    ck_assert_uint_eq(m->trail->count, 5);
    ck_assert_uint_eq(m->trail->dropped, 0);
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(m->trail->events[i].kind, kinds[i]);
    ck_assert_uint_eq(m->trail->events[0].session, 1);
    ck_assert_uint_eq(m->trail->events[1].session, 2);
    ck_assert_uint_eq(m->trail->events[3].session, 0);
    ck_assert_uint_eq(m->trail->events[2].at_ms, begin_ms + 2000);
    ck_assert_uint_eq(m->trail->events[4].at_ms, begin_ms + 4000);
    ck_assert_uint_eq(m->deliveries, 0);
    ck_assert_str_eq(trail_name(TRAIL_ENDED), "returned");
    ck_assert_str_eq(trail_reason(TRAIL_ENDED), "session-end");
}
END_TEST

START_TEST(why_a_session_ended_is_told_apart)
{
    struct message *m = rig_publish(&rig, q, 1, "x");
    struct session *x = rig_session(&rig, q, 5);
    rig_assign(&rig, m, x);
    session_save(rig.a, x, rig.now_ms);
    session_end(rig.a, x, q->next_order, rig.now_ms);
    ck_assert_uint_eq(m->trail->events[0].kind, TRAIL_EXPIRED);
    x = rig_session(&rig, q, 5);
    rig_assign(&rig, m, x);
    session_close(rig.a, x, q->next_order, rig.now_ms);
    ck_assert_uint_eq(m->trail->events[2].kind, TRAIL_CLOSED);
    x = rig_session(&rig, q, 5);
    rig_assign(&rig, m, x);
    message_to_dlq(rig.a, m, DEAD_NACK, rig.now_ms);
    ck_assert_uint_eq(m->trail->events[4].kind, TRAIL_NACKED);
    ck_assert_uint_eq(m->trail->events[4].session, x->number);
}
END_TEST

START_TEST(the_first_and_the_last_events_stay)
{
    struct message *m = rig_publish(&rig, q, 1, "x");
    uint64_t begin_ms = rig.now_ms;
    for (int i = 0; i < 20; i++)
        give_and_return(m); /* 39 events */
    ck_assert_uint_eq(m->trail->count, TRAIL_MOST);
    ck_assert_uint_eq(m->trail->dropped, 39 - TRAIL_MOST);
    ck_assert_uint_eq(m->trail->events[0].at_ms, begin_ms + 1000);
    ck_assert_uint_eq(m->trail->events[TRAIL_FIRST - 1].session, 3);
    ck_assert_uint_eq(m->trail->events[TRAIL_FIRST].session, 15);
    ck_assert_uint_eq(m->trail->events[TRAIL_MOST - 1].at_ms, begin_ms + 20000);
    ck_assert_uint_eq(m->trail->events[TRAIL_MOST - 1].session, 20);
}
END_TEST

START_TEST(a_rollback_takes_events_back_one_by_one)
{
    step_ms = 0; /* an entry has one stamp */
    struct message *m = rig_publish(&rig, q, 1, "x");
    for (int i = 0; i < _i; i++)
        give_and_return(m);
    rig_end(&rig);
    rig_commit(&rig, 1);
    uint64_t before = state_digest(rig.a);
    ck_assert_uint_eq(before, state_digest(rig.b));
    rig_begin(&rig);
    for (int i = 0; i < 12; i++)
        give_and_return(m);
    ck_assert_uint_ne(state_digest(rig.a), before);
    rig_rollback(&rig);
    ck_assert_uint_eq(state_digest(rig.a), before);
    ck_assert_ptr_null(state_check(rig.a));
    ck_assert((m->trail == NULL) == (_i == 0));
    rig_begin(&rig);
}
END_TEST

START_TEST(nothing_is_noted_at_the_first_level_or_of_durability_0)
{
    struct message *m = rig_publish(&rig, q, 0, "x");
    rig_assign(&rig, m, rig_session(&rig, q, 5));
    message_release(rig.a, m, q->next_order, rig.now_ms);
    ck_assert_ptr_null(m->trail);
    rig.a->level = HF_LEVEL_FIRST;
    m = rig_publish(&rig, q, 1, "x");
    rig_assign(&rig, m, rig_session(&rig, q, 5));
    message_to_dlq(rig.a, m, DEAD_NACK, rig.now_ms);
    message_release(rig.a, m, q->next_order, rig.now_ms);
    ck_assert_ptr_null(m->trail);
    ck_assert_uint_eq(m->deliveries, 1); /* as programs of that level did */
    rig.a->level = HF_LEVEL_TRAILS;
}
END_TEST

START_TEST(a_restored_trail_takes_the_room_of_its_events)
{
    struct bytes out = {0};
    struct message *m = rig_publish(&rig, q, 1, "x");
    struct message back = {.durability = 1};
    rig_assign(&rig, m, rig_session(&rig, q, 5));
    message_release(rig.a, m, q->next_order, rig.now_ms);
    ck_assert_ptr_nonnull(m->trail);
    trail_encode(&out, m->trail);
    struct reader r = reader_of(slice_of(out.data, out.size));
    ck_assert_int_eq(trail_decode(&r, &back), ST_OK);
    ck_assert_uint_eq(back.trail->count, m->trail->count);
    ck_assert_uint_eq(back.trail->capacity, m->trail->capacity);
    mem_free(back.trail);
    bytes_fini(&out);
}
END_TEST

Suite *
suite_trail(void)
{
    Suite *suite = suite_create("trail");
    TCase *tc = tcase_create("trail");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_is_published_delivered_and_acknowledged_has_none);
    tcase_add_test(tc, events_are_noted_from_the_first_return_on);
    tcase_add_test(tc, why_a_session_ended_is_told_apart);
    tcase_add_test(tc, the_first_and_the_last_events_stay);
    tcase_add_loop_test(tc, a_rollback_takes_events_back_one_by_one, 0, 20);
    tcase_add_test(tc, nothing_is_noted_at_the_first_level_or_of_durability_0);
    tcase_add_test(tc, a_restored_trail_takes_the_room_of_its_events);
    suite_add_tcase(suite, tc);
    return suite;
}
