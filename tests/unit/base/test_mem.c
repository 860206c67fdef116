/* Tests of base/mem. */
#include "base/mem.h"

#include "suites.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#endif

START_TEST(size_zero_gives_a_pointer_of_its_own)
{
    void *a = mem_alloc(0);
    void *b = mem_try_alloc(0);
    void *c = mem_calloc(0, 8);
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert_ptr_nonnull(c);
    ck_assert_ptr_ne(a, b);
    mem_free(a);
    mem_free(b);
    mem_free(c);
    mem_free(NULL);
}
END_TEST

START_TEST(calloc_gives_zeros)
{
    uint8_t *p = mem_calloc(100, 7);
    for (size_t i = 0; i < 700; i++)
        ck_assert_uint_eq(p[i], 0);
    mem_free(p);
    p = mem_try_calloc(700, 1);
    for (size_t i = 0; i < 700; i++)
        ck_assert_uint_eq(p[i], 0);
    mem_free(p);
}
END_TEST

START_TEST(only_the_chosen_try_call_fails)
{
    void *p[5];
    (void)mem_fail_at(3);
    for (int i = 0; i < 5; i++)
        p[i] = mem_try_alloc(10);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(p[i] == NULL, i == 2);
    ck_assert_uint_eq(mem_fail_at(0), 5);
    for (int i = 0; i < 5; i++)
        mem_free(p[i]);
}
END_TEST

START_TEST(all_try_calls_are_counted_and_can_fail)
{
    (void)mem_fail_at(1);
    ck_assert_ptr_null(mem_try_calloc(1, 1));
    (void)mem_fail_at(1);
    void *p = mem_alloc(1);
    ck_assert_ptr_null(mem_try_realloc(p, 100)); /* and p is still ours */
    ck_assert_uint_eq(mem_fail_at(0), 1);
    p = mem_try_realloc(p, 100);
    ck_assert_ptr_nonnull(p);
    mem_free(p);
    ck_assert_uint_eq(mem_fail_at(0), 1);
}
END_TEST

START_TEST(calls_that_may_not_fail_are_not_counted)
{
    (void)mem_fail_at(1);
    void *p = mem_alloc(1);
    p = mem_realloc(p, 2);
    mem_free(p);
    ck_assert_uint_eq(mem_fail_at(0), 0);
}
END_TEST

#ifndef HAS_SANITIZER
/* Sizes that no machine has; volatile, or the compiler sees through it. */
static volatile size_t too_much = SIZE_MAX / 4;

START_TEST(no_memory_stops_the_process)
{
    mem_free(mem_alloc(too_much));
}
END_TEST

START_TEST(a_size_that_overflows_is_no_memory)
{
    ck_assert_ptr_null(mem_try_calloc(too_much, 8));
    ck_assert_ptr_null(mem_try_alloc(too_much));
}
END_TEST

static void
limit_data(rlim_t bytes)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_DATA, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
}

static void *
allocate(int how, size_t size)
{
    switch (how) {
    case 0:
        return mem_alloc(size);
    case 1:
        return mem_calloc(1, size);
    case 2:
        return mem_realloc(NULL, size);
    case 3:
        return mem_try_alloc(size);
    case 4:
        return mem_try_calloc(1, size);
    default:
        return mem_try_realloc(NULL, size);
    }
}

/* The heap's large steps do not fit, what is asked for does: from the beginning, and
 * when the first of them (256 MiB) is used up. Nothing of it is touched. */
START_TEST(loading_does_with_less_where_there_is_a_limit)
{
    limit_data(64 << 20);
    mem_load_begin();
    ck_assert_ptr_nonnull(allocate(_i, 16 << 20));
    mem_load_end();
    limit_data(400 << 20);
    mem_load_begin();
    for (int i = 0; i < 14; i++)
        ck_assert_ptr_nonnull(allocate(_i, 24 << 20));
    mem_load_end();
}
END_TEST
#endif

Suite *
suite_mem(void)
{
    const TTest *const tests[] = {
        size_zero_gives_a_pointer_of_its_own,    calloc_gives_zeros,
        only_the_chosen_try_call_fails,          all_try_calls_are_counted_and_can_fail,
        calls_that_may_not_fail_are_not_counted,
    };
    Suite *suite = suite_of("mem", tests, COUNT_OF(tests));
#ifndef HAS_SANITIZER
    TCase *limits = tcase_create("mem limits");
    tcase_add_test_raise_signal(limits, no_memory_stops_the_process, SIGABRT);
    tcase_add_test(limits, a_size_that_overflows_is_no_memory);
    tcase_add_loop_test(limits, loading_does_with_less_where_there_is_a_limit, 0, 6);
    suite_add_tcase(suite, limits);
#endif
    return suite;
}
