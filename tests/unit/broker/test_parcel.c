/* Tests of parcels: what a parcel owns goes with it. */
#include "broker/parcel.h"

#include "tests/unit/broker/suites.h"

#include "base/mem.h"

#include <string.h>

START_TEST(a_request_keeps_its_context_and_its_fields)
{
    struct slice context = slice_from_text("\"seven\"");
    struct request *r = request_new(PARCEL_LOGIN, 42, context);
    ck_assert_ptr_nonnull(r);
    ck_assert_uint_eq(r->parcel.conn, 42);
    ck_assert_int_eq(r->parcel.kind, PARCEL_LOGIN);
    ck_assert(slice_equal(slice_of(r->context, r->context_size), context));
    ck_assert_ptr_nonnull(r->login);
    ck_assert_uint_eq(r->code, 0);
    parcel_free(&r->parcel);
}
END_TEST

START_TEST(a_request_without_memory_is_null_and_leaks_nothing)
{
    for (uint64_t nth = 1; nth <= 2; nth++) {
        mem_fail_at(nth);
        ck_assert_ptr_null(request_new(PARCEL_ADMIN, 1, slice_of("", 0)));
        mem_fail_at(0);
    }
    struct request *r = request_new(PARCEL_ADMIN, 1, slice_of("", 0));
    ck_assert_ptr_nonnull(r);
    parcel_free(&r->parcel);
}
END_TEST

START_TEST(a_parcel_gives_its_bodies_back)
{
    struct blob *body = blob_copy(slice_from_text("hello"));
    static const enum parcel_kind kinds[] = {PARCEL_LOGIN, PARCEL_PUBLISH, PARCEL_ADMIN,
                                             PARCEL_SETTLE};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct request *r = request_new(kinds[i], 1, slice_of("", 0));
        ck_assert_ptr_nonnull(r);
        if (kinds[i] == PARCEL_LOGIN)
            r->login->publish.body = blob_get(body);
        if (kinds[i] == PARCEL_PUBLISH)
            r->publish.body = blob_get(body);
        if (kinds[i] == PARCEL_ADMIN)
            r->admin->publish.body = blob_get(body);
        r->reply.shape = REPLY_MESSAGE;
        r->reply.rows = mem_calloc(1, sizeof *r->reply.rows);
        r->reply.rows->body = blob_get(body);
        r->reply.history = mem_calloc(2, sizeof *r->reply.history);
        r->reply.config = mem_calloc(2, sizeof *r->reply.config);
        parcel_free(&r->parcel);
    }
    struct delivery *d = mem_calloc(1, sizeof *d);
    d->parcel.kind = PARCEL_DELIVERY;
    d->body = blob_get(body);
    parcel_free(&d->parcel);
    ck_assert_uint_eq(atomic_load(&body->refs), 1);
    blob_put(body);
    parcel_free(NULL);
}
END_TEST

Suite *
suite_parcel(void)
{
    Suite *suite = suite_create("parcel");
    TCase *tc = tcase_create("parcel");
    tcase_add_test(tc, a_request_keeps_its_context_and_its_fields);
    tcase_add_test(tc, a_request_without_memory_is_null_and_leaks_nothing);
    tcase_add_test(tc, a_parcel_gives_its_bodies_back);
    suite_add_tcase(suite, tc);
    return suite;
}
