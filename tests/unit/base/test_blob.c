/* Tests of base/blob. */
#include "base/blob.h"

#include "base/mem.h"
#include "suites.h"

#include <pthread.h>

START_TEST(a_copy_has_the_bytes)
{
    struct blob *b = blob_copy(LITERAL("a\0b"));
    ck_assert_slice_eq(blob_slice(b), LITERAL("a\0b"));
    blob_put(b);
    b = blob_copy(slice_of(NULL, 0));
    ck_assert_uint_eq(b->size, 0);
    blob_put(b);
    blob_put(NULL);
}
END_TEST

START_TEST(a_blob_lives_until_the_last_put)
{
    struct blob *b = blob_copy(LITERAL("x"));
    ck_assert_ptr_eq(blob_get(b), b);
    ck_assert_uint_eq(atomic_load(&b->refs), 2);
    blob_put(b);
    ck_assert_slice_eq(blob_slice(b), LITERAL("x"));
    blob_put(b);
}
END_TEST

START_TEST(no_memory_gives_no_blob)
{
    for (uint64_t nth = 1; nth <= 2; nth++) {
        (void)mem_fail_at(nth);
        struct blob *b = blob_try_new(10);
        ck_assert_int_eq(b == NULL, nth == 1);
        ck_assert_uint_eq(mem_fail_at(0), 1);
        blob_put(b);
    }
}
END_TEST

START_TEST(a_size_beyond_its_field_gives_no_blob)
{
    ck_assert_ptr_null(blob_try_new((size_t)UINT32_MAX + 1));
}
END_TEST

#define ROUNDS 20000

static void *
get_and_put(void *arg)
{
    struct blob *b = arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct blob *held = blob_get(b);
        ck_assert_uint_eq(held->data[0], 'x');
        blob_put(held);
    }
    blob_put(b);
    return NULL;
}

START_TEST(threads_share_one)
{
    struct blob *b = blob_copy(LITERAL("x"));
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, get_and_put, blob_get(b)),
                         0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_uint_eq(atomic_load(&b->refs), 1);
    blob_put(b);
}
END_TEST

Suite *
suite_blob(void)
{
    const TTest *const tests[] = {
        a_copy_has_the_bytes,    a_blob_lives_until_the_last_put,
        no_memory_gives_no_blob, a_size_beyond_its_field_gives_no_blob,
        threads_share_one,
    };
    return suite_of("blob", tests, COUNT_OF(tests));
}
