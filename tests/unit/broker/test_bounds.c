/* Tests of the bounds of a turn: bulk work is cut and goes on in the next one. */
#include "tests/unit/broker/suites.h"
#include "tests/unit/broker/world.h"

#include "broker/inside.h"

#include <string.h>

static struct world w;

static void
setup(void)
{
    struct queue_spec spec;
    world_init(&w, 1);
    world_lead(&w);
    world_spec(&spec, "demo");
    spec.settings[SETTING_MAX_WRITE_QUEUE_BYTES] = 1u << 30;
    world_create(&w, &spec);
    world_log_in(&w, world_login(&w, 1, ROLE_PUBLISHER), true);
    world_drain(&w);
}

static void
teardown(void)
{
    ck_assert_ptr_null(world_check(&w));
    world_fini(&w);
}

static void
publish(unsigned times, uint32_t delay_secs)
{
    for (unsigned i = 0; i < times; i++) {
        struct request *r = world_request(PARCEL_PUBLISH, 1);
        r->publish.body = world_body("x", NULL);
        r->publish.type = 1;
        r->publish.durability = 1;
        r->publish.delay_secs = delay_secs;
        world_send(&w, r);
    }
    world_commit(&w);
    world_drain(&w);
}

static void
subscribe(uint64_t conn, uint32_t capacity)
{
    struct request *r = world_login(&w, conn, ROLE_SUBSCRIBER);
    r->login->has_capacity = true;
    r->login->capacity = capacity;
    world_log_in(&w, r, true);
}

static uint64_t
live(unsigned column)
{
    struct queue_live values;
    broker_queue_live(w.b, world_queue(&w), &values);
    return values.columns[column];
}

START_TEST(a_turn_assigns_its_share_and_the_next_goes_on)
{
    publish(20000, 0);
    world_tick(&w, 1);
    for (uint64_t i = 0; i < 10; i++)
        subscribe(100 + i, 1024);
    uint64_t held = live(5);
    ck_assert_uint_ge(held, TURN_ASSIGNS);
    ck_assert_uint_le(held, TURN_ASSIGNS + 20);
    ck_assert_uint_eq(broker_deadline(w.b), w.now_ms); /* there is more to do */
    ck_assert_ptr_null(world_check(&w));
    world_tick(&w, 1);
    ck_assert_uint_eq(live(5), held + TURN_ASSIGNS);
    world_tick(&w, 1);
    ck_assert_uint_eq(live(5), 10240);
    ck_assert_uint_gt(broker_deadline(w.b), w.now_ms);
    world_commit(&w);
    world_drain(&w);
}
END_TEST

START_TEST(delays_that_end_together_are_counted_in_shares)
{
    publish(10000, 5);
    publish(500, 6);
    ck_assert_uint_eq(live(7), 10500);
    world_tick(&w, 5000);
    uint64_t delayed = live(7);
    ck_assert_uint_ge(delayed, 10500 - TURN_RIPE);
    ck_assert_ptr_null(world_check(&w));
    for (int turns = 0; live(7) > 500; turns++) {
        ck_assert_int_lt(turns, 5);
        ck_assert_uint_le(broker_deadline(w.b), w.now_ms + 1);
        world_tick(&w, 1);
        ck_assert_ptr_null(world_check(&w));
    }
    ck_assert_uint_eq(live(7), 500);
    world_tick(&w, 1000);
    ck_assert_uint_eq(live(7), 0);
}
END_TEST

START_TEST(messages_leave_while_their_delays_are_still_counted)
{
    publish(10000, 5);
    subscribe(100, 1024);
    world_commit(&w);
    world_tick(&w, 5000);
    ck_assert_uint_eq(live(5), 1024);
    ck_assert_ptr_null(world_check(&w));
    broker_handle(w.b, &world_signal(PARCEL_CLOSED, 100)->parcel); /* saved */
    ck_assert_ptr_null(world_check(&w));
    world_stop(&w); /* in the middle of it */
    world_lead(&w);
    ck_assert_ptr_null(world_check(&w));
    ck_assert_uint_eq(live(7), 0);
}
END_TEST

START_TEST(sessions_whose_time_is_up_end_in_shares)
{
    publish(10240, 0);
    for (uint64_t i = 0; i < 10; i++) {
        world_tick(&w, 1);
        subscribe(100 + i, 1024);
        world_commit(&w);
        world_drain(&w);
    }
    ck_assert_uint_eq(live(5), 10240);
    world_tick(&w, 1);
    for (uint64_t i = 0; i < 10; i++)
        broker_handle(w.b, &world_signal(PARCEL_CLOSED, 100 + i)->parcel);
    ck_assert_uint_eq(live(3), 10);
    world_tick(&w, 10000);
    ck_assert_uint_eq(live(3), 6);
    ck_assert_ptr_null(world_check(&w));
    world_tick(&w, 1);
    world_tick(&w, 1);
    ck_assert_uint_eq(live(3), 0);
    ck_assert_uint_eq(live(5), 0);
    world_commit(&w);
}
END_TEST

START_TEST(a_session_whose_time_is_up_cannot_be_resumed_before_it_ends)
{
    publish(10240, 0);
    struct uuid ids[10];
    for (uint64_t i = 0; i < 10; i++) {
        world_tick(&w, 1);
        subscribe(100 + i, 1024);
    }
    world_commit(&w);
    world_drain(&w);
    unsigned count = 0;
    const struct queue *q = world_queue(&w);
    for (struct tree_node *n = tree_first(&q->line); n != NULL; n = tree_next(n))
        ids[count++] = CONTAINER_OF(n, struct session, in_line)->id;
    for (uint64_t i = 0; i < 10; i++)
        broker_handle(w.b, &world_signal(PARCEL_CLOSED, 100 + i)->parcel);
    world_tick(&w, 10000);
    ck_assert_uint_gt(live(3), 0); /* the last one is not ended yet */
    struct request *r = world_login(&w, 7, ROLE_SUBSCRIBER);
    r->login->has_session = r->login->has_session_id = true;
    r->login->session = ids[9];
    world_log_in(&w, r, true);
    world_commit(&w);
    struct mail_chain chain = {NULL, NULL};
    struct parcel *parcel;
    while ((parcel = world_parcel(&w, &chain)) != &r->parcel)
        parcel_free(parcel);
    ck_assert_uint_eq(r->reply.code, 109);
    parcel_free(parcel);
    world_drain(&w);
}
END_TEST

START_TEST(a_page_is_as_long_as_it_may_be)
{
    publish(2000, 0);
    world_log_in(&w, world_login(&w, 2, ROLE_ADMIN), true);
    world_drain(&w);
    struct request *r = world_request(PARCEL_ADMIN, 2);
    r->admin->command = ADMIN_GETMSGS;
    r->admin->is_open = true;
    r->admin->count = UINT32_MAX; /* the parser lets 1600 through */
    world_send(&w, r);
    world_commit(&w);
    struct mail_chain chain = {NULL, NULL};
    ck_assert_ptr_eq(world_parcel(&w, &chain), &r->parcel);
    ck_assert_uint_eq(r->reply.row_count, LIMIT_LIST_COUNT);
    parcel_free(&r->parcel);
}
END_TEST

START_TEST(start_values_beyond_the_range_break_nothing)
{
    world_queue(&w)->settings[SETTING_MAX_SUBSCRIBER_CAPACITY] = 5000;
    world_queue(&w)->settings[SETTING_MAX_MESSAGES_MEMORY] = 1u << 30;
    world_queue(&w)->settings[SETTING_STATS_FREQUENCY_SECS] = 0;
    subscribe(100, 2000);
    ck_assert_uint_eq(live(2), 0);
    subscribe(101, 1024);
    ck_assert_uint_eq(live(2), 1);
    struct request *r = world_request(PARCEL_PUBLISH, 1);
    r->publish.body = blob_new(LIMIT_ENTRY_BYTES);
    memset(r->publish.body->data, 'x', LIMIT_ENTRY_BYTES);
    r->publish.durability = 1;
    world_send(&w, r);
    ck_assert_uint_eq(r->reply.code, 211);
    world_tick(&w, 400000);
    world_commit(&w);
    world_drain(&w);
    memcpy(world_queue(&w)->settings,
           state_queue_by_name(w.other, slice_from_text("demo"))->settings,
           sizeof world_queue(&w)->settings);
}
END_TEST

Suite *
suite_bounds(void)
{
    Suite *suite = suite_create("bounds");
    TCase *tc = tcase_create("bounds");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_turn_assigns_its_share_and_the_next_goes_on);
    tcase_add_test(tc, delays_that_end_together_are_counted_in_shares);
    tcase_add_test(tc, messages_leave_while_their_delays_are_still_counted);
    tcase_add_test(tc, sessions_whose_time_is_up_end_in_shares);
    tcase_add_test(tc, a_session_whose_time_is_up_cannot_be_resumed_before_it_ends);
    tcase_add_test(tc, a_page_is_as_long_as_it_may_be);
    tcase_add_test(tc, start_values_beyond_the_range_break_nothing);
    suite_add_tcase(suite, tc);
    return suite;
}
