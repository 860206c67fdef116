/* Tests of logins: what is handed out to be verified, and what becomes of it. */
#include "tests/unit/broker/suites.h"
#include "tests/unit/broker/world.h"

#include <string.h>

static struct world w;

static void
setup(void)
{
    struct queue_spec spec;
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

static struct request *
named_login(uint64_t conn)
{
    struct request *r = world_login(&w, conn, ROLE_PUBLISHER);
    memcpy(r->login->username, "anna", 4);
    r->login->username_size = 4;
    memcpy(r->login->password, "secret", 6);
    r->login->source[0] = 6;
    r->login->password_size = 6;
    return r;
}

START_TEST(a_password_is_verified_against_its_roles_login)
{
    world_send(&w, named_login(1));
    struct verify verify;
    ck_assert(broker_take_verify(w.b, &verify));
    ck_assert_uint_eq(verify.conn, 1);
    ck_assert_uint_eq(verify.queue, world_queue(&w)->number);
    ck_assert_int_eq(verify.role, ROLE_PUBLISHER);
    ck_assert_ptr_eq(verify.secret, &world_queue(&w)->logins[ROLE_PUBLISHER]);
    ck_assert(slice_equal(verify.username, slice_from_text("anna")));
    ck_assert(slice_equal(verify.password, slice_from_text("secret")));
    ck_assert_uint_eq(verify.source[0], 6);
    ck_assert(!broker_take_verify(w.b, &verify));
    broker_verified(w.b, 1, true);
    broker_verified(w.b, 1, true); /* once more: ignored */
    ck_assert_uint_eq(world_drain(&w), 1);
}
END_TEST

START_TEST(a_password_is_wiped_once_it_is_verified)
{
    struct request *r = named_login(1);
    world_log_in(&w, r, true);
    struct mail_chain chain = {NULL, NULL};
    struct parcel *parcel = world_parcel(&w, &chain);
    ck_assert_ptr_eq(parcel, &r->parcel);
    char zero[LIMIT_PASSWORD_BYTES] = {0};
    ck_assert_int_eq(memcmp(r->login->password, zero, sizeof zero), 0);
    parcel_free(parcel);
}
END_TEST

START_TEST(verdicts_about_connections_that_are_gone_are_ignored)
{
    world_send(&w, named_login(1));
    world_send(&w, named_login(2));
    struct verify verify;
    ck_assert(broker_take_verify(w.b, &verify));
    broker_handle(w.b, &world_signal(PARCEL_CLOSED, 1)->parcel);
    broker_handle(w.b, &world_signal(PARCEL_CLOSED, 2)->parcel); /* not given yet */
    ck_assert(!broker_take_verify(w.b, &verify));
    broker_verified(w.b, 1, true);
    broker_verified(w.b, 99, false);
    ck_assert_uint_eq(world_drain(&w), 0);
    broker_handle(w.b, &world_signal(PARCEL_CLOSED, 1)->parcel);
    broker_handle(w.b, &world_signal(PARCEL_PROGRESS, 1)->parcel);
}
END_TEST

START_TEST(a_password_that_nobody_had_time_for_is_refused_and_may_come_again)
{
    struct request *r = named_login(1);
    world_send(&w, r);
    ck_assert(broker_is_verifying(w.b, 1));
    ck_assert(!broker_is_verifying(w.b, 2));
    broker_not_verified(w.b, 2); /* nobody */
    broker_not_verified(w.b, 1);
    ck_assert(!broker_is_verifying(w.b, 1));
    broker_not_verified(w.b, 1); /* once more: ignored */
    struct mail_chain chain = {NULL, NULL};
    struct parcel *parcel = world_parcel(&w, &chain);
    ck_assert_ptr_eq(parcel, &r->parcel);
    ck_assert_uint_eq(r->reply.code, 503);
    ck_assert_int_eq(r->reply.after, AFTER_CLOSE);
    parcel_free(parcel);
    ck_assert_uint_eq(world_drain(&w), 0);
    world_log_in(&w, named_login(2), true);
    ck_assert(!broker_is_verifying(w.b, 2));
    world_drain(&w);
}
END_TEST

START_TEST(a_request_before_the_logins_reply_does_nothing)
{
    world_send(&w, named_login(1));
    struct request *r = world_request(PARCEL_PUBLISH, 1);
    r->publish.body = world_body("x", NULL);
    r->publish.durability = 1;
    world_send(&w, r);
    ck_assert_uint_eq(world_queue(&w)->counts.messages, 0);
    ck_assert_uint_eq(world_drain(&w), 0);
}
END_TEST

START_TEST(a_second_login_closes)
{
    world_log_in(&w, named_login(1), true);
    world_drain(&w);
    world_send(&w, named_login(1));
    struct mail_chain chain = {NULL, NULL};
    struct parcel *parcel = world_parcel(&w, &chain);
    ck_assert_int_eq(parcel->kind, PARCEL_CLOSE);
    parcel_free(parcel);
}
END_TEST

START_TEST(low_codes_are_refused_without_a_look_at_the_password)
{
    for (uint16_t code = 100; code <= 106; code++) {
        struct request *r = named_login(code);
        r->code = code;
        world_send(&w, r);
        struct verify verify;
        ck_assert(!broker_take_verify(w.b, &verify));
        struct mail_chain chain = {NULL, NULL};
        struct parcel *parcel = world_parcel(&w, &chain);
        ck_assert_ptr_eq(parcel, &r->parcel);
        ck_assert_uint_eq(r->reply.code, code);
        ck_assert_int_eq(r->reply.after, AFTER_CLOSE);
        parcel_free(parcel);
    }
}
END_TEST

START_TEST(a_new_login_is_used_at_once)
{
    struct record_login_set set = {.role = ROLE_PUBLISHER};
    memcpy(set.login.username, "berta", 5);
    set.login.username_size = 5;
    uint64_t number;
    struct slice name = slice_from_text("demo");
    ck_assert_int_eq(broker_set_login(w.b, name, &set, &number), ST_OK);
    world_send(&w, named_login(1));
    struct verify verify;
    ck_assert(broker_take_verify(w.b, &verify));
    ck_assert_uint_eq(verify.secret->username_size, 5);
    broker_verified(w.b, 1, false);
    ck_assert_uint_eq(world_drain(&w), 0); /* the refusal rests on the change */
    world_commit(&w);
    ck_assert_uint_eq(world_drain(&w), 1);
}
END_TEST

Suite *
suite_login(void)
{
    Suite *suite = suite_create("login");
    TCase *tc = tcase_create("login");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_password_is_verified_against_its_roles_login);
    tcase_add_test(tc, a_password_is_wiped_once_it_is_verified);
    tcase_add_test(tc, verdicts_about_connections_that_are_gone_are_ignored);
    tcase_add_test(tc,
                   a_password_that_nobody_had_time_for_is_refused_and_may_come_again);
    tcase_add_test(tc, a_request_before_the_logins_reply_does_nothing);
    tcase_add_test(tc, a_second_login_closes);
    tcase_add_test(tc, low_codes_are_refused_without_a_look_at_the_password);
    tcase_add_test(tc, a_new_login_is_used_at_once);
    suite_add_tcase(suite, tc);
    return suite;
}
