/* Tests of ids across leaders: strictly growing, also of messages that never were in
 * the log, and a bound on how far they run ahead of it. */
#include "tests/unit/broker/suites.h"
#include "tests/unit/broker/world.h"

#include <string.h>

static struct world w;
static struct uuid last;

static void
setup(void)
{
    struct queue_spec spec;
    memset(&last, 0, sizeof last);
    world_init(&w, 1);
    world_lead(&w);
    world_spec(&spec, "demo");
    world_create(&w, &spec);
}

static void
teardown(void)
{
    ck_assert_ptr_null(world_check(&w));
    world_fini(&w);
}

/* Logs a publisher in, publishes times, and looks at the ids that leave. */
static unsigned
publish_and_look(unsigned times, uint8_t durability)
{
    struct mail_chain chain = {NULL, NULL};
    struct parcel *parcel;
    unsigned seen = 0;
    for (unsigned i = 0; i < times; i++) {
        struct request *r = world_request(PARCEL_PUBLISH, 1);
        r->publish.body = world_body("x", NULL);
        r->publish.type = 1;
        r->publish.durability = durability;
        world_send(&w, r);
    }
    while ((parcel = world_parcel(&w, &chain)) != NULL) {
        const struct request *r = (const struct request *)(const void *)parcel;
        if (parcel->kind == PARCEL_PUBLISH) {
            ck_assert_int_gt(uuid_compare(&r->reply.id, &last), 0);
            ck_assert_uint_le(uuid7_ms(&r->reply.id),
                              w.other->stamp_ms + LIMIT_ID_AHEAD_MS);
            last = r->reply.id;
            seen++;
        }
        parcel_free(parcel);
    }
    return seen;
}

START_TEST(ids_of_durability_0_grow_over_fail_overs)
{
    for (int term = 0; term < 5; term++) {
        world_log_in(&w, world_login(&w, 1, ROLE_PUBLISHER), true);
        for (int i = 0; i < 30; i++) {
            world_tick(&w, 100);
            publish_and_look(100, 0);
            if (i % 3 == 0) /* the last ones are never committed */
                world_commit(&w);
        }
        world_tick(&w, 1);
        world_fail_over(&w);
    }
}
END_TEST

START_TEST(nothing_is_told_while_the_log_stands_still)
{
    world_log_in(&w, world_login(&w, 1, ROLE_PUBLISHER), true);
    world_drain(&w);
    ck_assert_uint_eq(publish_and_look(1, 0), 1);
    world_tick(&w, 1900);
    ck_assert_uint_eq(publish_and_look(2, 0), 0);
    bool is_sync;
    ck_assert_ptr_nonnull(world_take(&w, &is_sync));
    world_tick(&w, 5000);
    ck_assert_uint_eq(publish_and_look(1, 0), 0);
    world_commit(&w);
    ck_assert_uint_eq(publish_and_look(0, 0), 3);
}
END_TEST

START_TEST(ids_of_stored_messages_stay_near_their_entrys_stamp)
{
    world_log_in(&w, world_login(&w, 1, ROLE_PUBLISHER), true);
    for (int i = 0; i < 20; i++) {
        world_tick(&w, 500);
        publish_and_look(1, 1); /* nobody takes the batches */
    }
    world_commit(&w);
    ck_assert_uint_eq(publish_and_look(0, 1), 20);
}
END_TEST

START_TEST(a_quick_election_leaves_room_for_ids)
{
    for (int term = 0; term < 4; term++) {
        world_log_in(&w, world_login(&w, 1, ROLE_PUBLISHER), true);
        world_commit(&w);
        ck_assert_uint_eq(publish_and_look(1, 1), 0);
        world_commit(&w);
        ck_assert_uint_eq(publish_and_look(0, 0), 1);
        world_fail_over(&w); /* in the same millisecond */
    }
}
END_TEST

START_TEST(session_ids_are_new_each_time)
{
    struct uuid ids[50];
    for (uint64_t i = 0; i < 50; i++) {
        struct request *r = world_login(&w, 100 + i, ROLE_SUBSCRIBER);
        r->login->has_capacity = true;
        r->login->capacity = 1;
        world_log_in(&w, r, true);
        world_commit(&w);
        struct mail_chain chain = {NULL, NULL};
        struct parcel *parcel = world_parcel(&w, &chain);
        ids[i] = ((struct request *)(void *)parcel)->reply.id;
        for (uint64_t before = 0; before < i; before++)
            ck_assert_int_ne(uuid_compare(&ids[i], &ids[before]), 0);
        parcel_free(parcel);
    }
}
END_TEST

Suite *
suite_ids(void)
{
    Suite *suite = suite_create("ids");
    TCase *tc = tcase_create("ids");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, ids_of_durability_0_grow_over_fail_overs);
    tcase_add_test(tc, nothing_is_told_while_the_log_stands_still);
    tcase_add_test(tc, ids_of_stored_messages_stay_near_their_entrys_stamp);
    tcase_add_test(tc, a_quick_election_leaves_room_for_ids);
    tcase_add_test(tc, session_ids_are_new_each_time);
    suite_add_tcase(suite, tc);
    return suite;
}
