/* Tests of bulk redrives and purges: how much one record does, and what of it a fallen
 * leader leaves. What single messages go through is in tests/trace/bulk.txt. */
#include "tests/unit/broker/suites.h"
#include "tests/unit/broker/world.h"

#include "base/crc32c.h"
#include "broker/inside.h"
#include "broker/operate.h"
#include "queue/level.h"
#include "queue/sweep.h"

#include <string.h>

#define MESSAGES (2 * LIMIT_SWEEP_MESSAGES + 500)

static struct world w;

/* Applied on both nodes, as from the log. */
static void
apply(struct bytes *entry)
{
    w.index++;
    state_apply(w.state, w.index, slice_of(entry->data, entry->size));
    state_apply(w.other, w.index, slice_of(entry->data, entry->size));
    bytes_fini(entry);
}

static struct uuid
id_of(uint32_t i)
{
    return uuid7_make(WORLD_WALL_MS, 0, i + 1);
}

/* MESSAGES dead letters. */
static void
fill(void)
{
    struct queue *q = world_queue(&w);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct bytes entry = {0};
        struct record publish = {.type = RECORD_PUBLISH, .queue = q->number};
        struct record bury = {.type = RECORD_MOVE_TO_DLQ, .queue = q->number};
        publish.publish = (struct record_publish){.id = id_of(i),
                                                  .order = q->next_order,
                                                  .received_ms = w.state->stamp_ms,
                                                  .type = 1,
                                                  .durability = 1,
                                                  .body = slice_from_text("x"),
                                                  .body_crc = crc32c(0, "x", 1)};
        bury.message.id = publish.publish.id;
        entry_begin(&entry, w.state->stamp_ms);
        entry_add(&entry, &publish);
        entry_add(&entry, &bury);
        apply(&entry);
    }
}

static void
setup(void)
{
    struct queue_spec spec;
    uint64_t batch;
    world_init(&w, 1);
    world_lead(&w);
    ck_assert_int_eq(broker_raise_level(w.b, HF_LEVEL_NOW, &batch), ST_OK);
    world_spec(&spec, "demo");
    spec.settings[SETTING_MAX_MESSAGES] = 2 * MESSAGES;
    world_create(&w, &spec);
    world_commit(&w);
    world_drain(&w);
    world_stop(&w);
    fill();
    world_lead(&w);
}

static void
teardown(void)
{
    ck_assert_ptr_null(world_check(&w));
    world_fini(&w);
}

static struct bulk_result
run(const struct bulk *bulk, bool is_dry)
{
    struct bulk_result result;
    ck_assert_int_eq(broker_bulk(w.b, slice_from_text("demo"), bulk, is_dry, &result),
                     ST_OK);
    return result;
}

static void
go_on(struct bulk *bulk, const struct bulk_result *result)
{
    bulk->has_after = bulk->has_last = true;
    bulk->after = result->seen;
    bulk->last = result->last;
}

START_TEST(a_record_is_about_so_many_and_the_next_one_goes_on)
{
    struct bulk bulk = {.is_redrive = true, .places = SWEEP_DEAD};
    struct queue *q = world_queue(&w);
    uint64_t first = q->next_order;
    static const uint32_t counts[] = {LIMIT_SWEEP_MESSAGES, LIMIT_SWEEP_MESSAGES, 500};
    for (int i = 0; i < 3; i++) {
        struct bulk_result result = run(&bulk, false);
        ck_assert_uint_eq(result.count, counts[i]);
        ck_assert(result.has_more == (i < 2));
        go_on(&bulk, &result);
        world_commit(&w);
        ck_assert_ptr_null(world_check(&w)); /* the follower has the same */
    }
    ck_assert_uint_eq(q->counts.dead, 0);
    ck_assert_uint_eq(q->totals.redriven, MESSAGES);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct uuid id = id_of(i);
        ck_assert_uint_eq(queue_message(q, &id)->order, first + i);
    }
}
END_TEST

START_TEST(the_record_is_small_and_whole)
{
    struct bulk bulk = {.is_redrive = true, .places = SWEEP_DEAD};
    bool is_sync;
    struct bulk_result result = run(&bulk, false);
    ck_assert_uint_eq(result.count, LIMIT_SWEEP_MESSAGES);
    const struct world_entry *entry = world_take(&w, &is_sync);
    ck_assert_ptr_nonnull(entry);
    ck_assert_uint_lt(entry->blob->size, 200);
    world_stop(&w); /* it never counted */
    ck_assert_uint_eq(world_queue(&w)->counts.dead, MESSAGES);
    ck_assert_ptr_null(state_check(w.state));
    ck_assert_uint_eq(state_digest(w.state), state_digest(w.other));
    world_lead(&w);
}
END_TEST

START_TEST(a_look_decides_nothing)
{
    struct bulk bulk = {.is_redrive = true, .places = SWEEP_DEAD, .most = 7};
    uint64_t before = state_digest(w.state);
    struct bulk_result result = run(&bulk, true);
    ck_assert_uint_eq(result.count, 7);
    ck_assert(result.has_more);
    ck_assert_uint_eq(state_digest(w.state), before);
    ck_assert_uint_eq(world_queue(&w)->totals.redriven, 0);
    world_commit(&w);
}
END_TEST

START_TEST(what_came_behind_the_end_is_left_alone)
{
    struct bulk bulk = {.places = SWEEP_DEAD, .most = 10};
    struct bulk_result result = run(&bulk, false);
    struct uuid middle = id_of(100);
    go_on(&bulk, &result);
    bulk.last = middle;
    bulk.most = 0;
    result = run(&bulk, false);
    ck_assert_uint_eq(result.count, 91);
    ck_assert(!result.has_more);
    ck_assert_uint_eq(world_queue(&w)->counts.dead, MESSAGES - 101);
    ck_assert_uint_eq(world_queue(&w)->totals.deleted, 101);
    world_commit(&w);
}
END_TEST

START_TEST(nothing_is_redriven_without_room_and_purging_goes_on)
{
    struct bulk bulk = {.is_redrive = true, .places = SWEEP_DEAD};
    struct bulk_result result;
    broker_set_room(w.b, false);
    ck_assert_int_eq(broker_bulk(w.b, slice_from_text("demo"), &bulk, false, &result),
                     ST_FULL);
    ck_assert_uint_eq(run(&bulk, true).count, LIMIT_SWEEP_MESSAGES);
    bulk.is_redrive = false;
    ck_assert_uint_eq(run(&bulk, false).count, LIMIT_SWEEP_MESSAGES);
    ck_assert_int_eq(broker_bulk(w.b, slice_from_text("other"), &bulk, false, &result),
                     ST_NOTFOUND);
    world_commit(&w);
}
END_TEST

START_TEST(connections_of_a_role_are_closed_and_their_sessions_saved)
{
    struct mail_chain chain = {NULL, NULL};
    struct parcel *parcel;
    uint32_t closes = 0;
    struct request *login = world_login(&w, 2, ROLE_SUBSCRIBER);
    login->login->has_capacity = true;
    login->login->capacity = 5;
    world_log_in(&w, login, true);
    world_log_in(&w, world_login(&w, 3, ROLE_ADMIN), true);
    world_commit(&w);
    world_drain(&w);
    const struct queue *q = world_queue(&w);
    ck_assert_uint_eq(broker_logged_in(q, ROLE_SUBSCRIBER), 1);
    struct record_login_set set = {.role = ROLE_SUBSCRIBER};
    uint64_t batch;
    ck_assert_int_eq(broker_set_login(w.b, slice_from_text("demo"), &set, &batch),
                     ST_OK);
    ck_assert_uint_eq(
        broker_close_role(w.b, slice_from_text("demo"), ROLE_SUBSCRIBER, batch), 1);
    ck_assert_ptr_null(world_parcel(&w, &chain)); /* not before it is committed */
    world_commit(&w);
    while ((parcel = world_parcel(&w, &chain)) != NULL) {
        closes += parcel->kind == PARCEL_CLOSE && parcel->conn == 2;
        parcel_free(parcel);
    }
    ck_assert_uint_eq(closes, 1);
    broker_handle(w.b, &world_signal(PARCEL_CLOSED, 2)->parcel);
    world_commit(&w);
    ck_assert_uint_eq(broker_logged_in(q, ROLE_SUBSCRIBER), 0);
    ck_assert_uint_eq(broker_logged_in(q, ROLE_ADMIN), 1);
}
END_TEST

Suite *
suite_bulk(void)
{
    Suite *suite = suite_create("bulk");
    TCase *tc = tcase_create("bulk");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_record_is_about_so_many_and_the_next_one_goes_on);
    tcase_add_test(tc, the_record_is_small_and_whole);
    tcase_add_test(tc, a_look_decides_nothing);
    tcase_add_test(tc, what_came_behind_the_end_is_left_alone);
    tcase_add_test(tc, nothing_is_redriven_without_room_and_purging_goes_on);
    tcase_add_test(tc, connections_of_a_role_are_closed_and_their_sessions_saved);
    suite_add_tcase(suite, tc);
    return suite;
}
