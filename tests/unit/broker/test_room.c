/* Tests of a broker without room: what is refused, and what goes on. */
#include "tests/unit/broker/suites.h"
#include "tests/unit/broker/world.h"

#include "broker/inside.h"

#include <string.h>

#define PUBLISHER  1
#define SUBSCRIBER 2
#define ADMIN      3

static struct world w;

static void
setup(void)
{
    struct queue_spec spec;
    world_init(&w, 1);
    world_lead(&w);
    world_spec(&spec, "demo");
    world_create(&w, &spec);
    world_log_in(&w, world_login(&w, PUBLISHER, ROLE_PUBLISHER), true);
    world_log_in(&w, world_login(&w, ADMIN, ROLE_ADMIN), true);
    world_commit(&w);
    world_drain(&w);
}

static void
teardown(void)
{
    ck_assert_ptr_null(world_check(&w));
    world_fini(&w);
}

/* Sends it, commits all, and gives the code of its reply. */
static unsigned
code_of(struct request *r)
{
    struct mail_chain chain = {NULL, NULL};
    unsigned code = 9999;
    if (r->parcel.kind == PARCEL_LOGIN)
        world_log_in(&w, r, true);
    else
        world_send(&w, r);
    world_commit(&w);
    struct parcel *parcel;
    while ((parcel = world_parcel(&w, &chain)) != NULL) {
        if (parcel == &r->parcel)
            code = r->reply.code;
        parcel_free(parcel);
    }
    ck_assert_uint_ne(code, 9999);
    return code;
}

static struct request *
publish(uint8_t durability)
{
    struct request *r = world_request(PARCEL_PUBLISH, PUBLISHER);
    r->publish.body = world_body("x", NULL);
    r->publish.type = 1;
    r->publish.durability = durability;
    return r;
}

static struct request *
command(enum admin_command which, const struct uuid *id)
{
    struct request *r = world_request(PARCEL_ADMIN, ADMIN);
    r->admin->command = which;
    if (id != NULL) {
        r->admin->has_id = true;
        r->admin->id = *id;
    }
    return r;
}

static uint64_t
messages(void)
{
    return world_queue(&w)->counts.messages;
}

START_TEST(what_would_grow_the_log_is_refused_and_stores_nothing)
{
    broker_set_room(w.b, false);
    ck_assert_uint_eq(code_of(publish(1)), 502);
    ck_assert_uint_eq(code_of(publish(2)), 502);
    struct request *r = command(ADMIN_ADDMSG, NULL);
    r->admin->publish.body = world_body("x", NULL);
    r->admin->publish.type = 1;
    r->admin->publish.durability = 1;
    ck_assert_uint_eq(code_of(r), 502);
    r = world_login(&w, 9, ROLE_PUBLISHER);
    r->login->publish.body = world_body("x", NULL);
    r->login->publish.type = 1;
    r->login->publish.durability = 2;
    ck_assert_uint_eq(code_of(r), 502);
    ck_assert_uint_eq(messages(), 0);
    struct queue_spec spec;
    uint64_t batch;
    world_spec(&spec, "other");
    ck_assert_int_eq(broker_create_queue(w.b, &spec, &batch), ST_FULL);
    broker_set_room(w.b, true);
    ck_assert_uint_eq(code_of(publish(1)), 0);
    ck_assert_uint_eq(messages(), 1);
}
END_TEST

START_TEST(a_full_queue_is_named_before_a_full_disk)
{
    uint64_t *most = &world_queue(&w)->settings[SETTING_MAX_MESSAGES];
    uint64_t before = *most;
    *most = 0;
    broker_set_room(w.b, false);
    ck_assert_uint_eq(code_of(publish(1)), 210);
    *most = before;
}
END_TEST

/* It needs no disk. */
START_TEST(durability_0_goes_on)
{
    broker_set_room(w.b, false);
    ck_assert_uint_eq(code_of(publish(0)), 0);
    ck_assert_uint_eq(messages(), 1);
}
END_TEST

START_TEST(what_makes_room_goes_on)
{
    struct uuid ids[4];
    struct request *r;
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(code_of(publish(1)), 0);
    broker_set_room(w.b, false);
    r = world_login(&w, SUBSCRIBER, ROLE_SUBSCRIBER);
    r->login->has_capacity = true;
    r->login->capacity = 10;
    ck_assert_uint_eq(code_of(r), 0);
    int count = 0;
    const struct tree_node *n = tree_first(&world_queue(&w)->messages);
    for (; n != NULL; n = tree_next((struct tree_node *)(uintptr_t)n))
        ids[count++] = CONTAINER_OF(n, struct message, in_ids)->id;
    ck_assert_int_eq(count, 4);
    for (int i = 0; i < 2; i++) {
        r = world_request(PARCEL_SETTLE, SUBSCRIBER);
        r->settle.has_id = true;
        r->settle.id = ids[i];
        r->settle.is_ack = i == 0;
        ck_assert_uint_eq(code_of(r), 0);
    }
    uint64_t batch;
    ck_assert_int_eq(broker_redrive(w.b, slice_from_text("demo"), &ids[1], &batch),
                     ST_FULL);
    ck_assert_uint_eq(code_of(command(ADMIN_DELDLQMSG, &ids[1])), 0);
    ck_assert_uint_eq(code_of(command(ADMIN_DELMSG, &ids[2])), 0);
    ck_assert_uint_eq(code_of(command(ADMIN_MOVETODLQ, &ids[3])), 0);
    ck_assert_uint_eq(code_of(world_request(PARCEL_LOGOUT, SUBSCRIBER)), 0);
    ck_assert_uint_eq(messages(), 1); /* the one in the DLQ */
    broker_set_room(w.b, true);
    ck_assert_int_eq(broker_redrive(w.b, slice_from_text("demo"), &ids[3], &batch),
                     ST_OK);
    world_commit(&w);
}
END_TEST

Suite *
suite_room(void)
{
    Suite *suite = suite_create("room");
    TCase *tc = tcase_create("room");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_would_grow_the_log_is_refused_and_stores_nothing);
    tcase_add_test(tc, a_full_queue_is_named_before_a_full_disk);
    tcase_add_test(tc, durability_0_goes_on);
    tcase_add_test(tc, what_makes_room_goes_on);
    suite_add_tcase(suite, tc);
    return suite;
}
