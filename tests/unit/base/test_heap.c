/* Tests of base/heap: against a plain array. */
#include "base/heap.h"

#include "suites.h"

#include <signal.h>

#define NODES 500

static const struct heap_node *
least_of(const struct heap_node *nodes)
{
    const struct heap_node *least = NULL;
    for (size_t i = 0; i < NODES; i++)
        if (heap_is_linked(&nodes[i]) && (least == NULL || nodes[i].at < least->at))
            least = &nodes[i];
    return least;
}

static void
check_heap(const struct heap *h, const struct heap_node *nodes, size_t count)
{
    const struct heap_node *least = least_of(nodes);
    ck_assert_uint_eq(h->count, count);
    if (least == NULL)
        ck_assert_ptr_null(heap_first(h));
    else
        ck_assert_uint_eq(heap_first(h)->at, least->at);
    for (size_t i = 0; i < h->count; i++) {
        ck_assert_uint_eq(h->nodes[i]->position, i + 1);
        ck_assert(i == 0 || h->nodes[(i - 1) / 4]->at <= h->nodes[i]->at);
    }
}

START_TEST(random_changes_agree_with_a_model)
{
    struct heap h;
    struct heap_node nodes[NODES] = {{0, 0}};
    bool is_in[NODES] = {false};
    uint64_t seed = 3;
    size_t count = 0;
    heap_init(&h);
    for (int i = 0; i < 60000; i++) {
        size_t k = random_below(&seed, 1 + (size_t)(i / 50 * 11 % NODES));
        if (random_below(&seed, 4) == 0 && count > 0)
            k = (size_t)(heap_first(&h) - nodes); /* a pop */
        if (is_in[k])
            heap_remove(&h, &nodes[k]);
        else
            heap_insert(&h, &nodes[k], random_below(&seed, 1000));
        is_in[k] = !is_in[k];
        count = is_in[k] ? count + 1 : count - 1;
        ck_assert_int_eq(heap_is_linked(&nodes[k]), is_in[k]);
        if (i % 100 == 0)
            check_heap(&h, nodes, count);
    }
    heap_fini(&h);
}
END_TEST

START_TEST(pops_come_out_in_order)
{
    struct heap h;
    struct heap_node nodes[NODES] = {{0, 0}};
    uint64_t seed = 4;
    uint64_t before = 0;
    size_t popped = 0;
    heap_init(&h);
    for (size_t i = 0; i < NODES; i++)
        heap_insert(&h, &nodes[i], random_next(&seed));
    for (struct heap_node *n = heap_first(&h); n != NULL; n = heap_first(&h)) {
        ck_assert_uint_ge(n->at, before);
        before = n->at;
        heap_remove(&h, n);
        popped++;
    }
    ck_assert_uint_eq(popped, NODES);
    heap_fini(&h);
}
END_TEST

START_TEST(removing_what_is_in_no_heap_does_nothing)
{
    struct heap h;
    struct heap_node a = {0, 0}, b = {0, 0};
    heap_init(&h);
    heap_insert(&h, &a, 5);
    heap_remove(&h, &b);
    heap_remove(&h, &a);
    heap_remove(&h, &a);
    ck_assert_ptr_null(heap_first(&h));
    heap_fini(&h);
}
END_TEST

START_TEST(inserting_twice_is_a_bug)
{
    struct heap h;
    struct heap_node a = {0, 0};
    heap_init(&h);
    heap_insert(&h, &a, 5);
    heap_insert(&h, &a, 6);
}
END_TEST

Suite *
suite_heap(void)
{
    const TTest *const tests[] = {
        random_changes_agree_with_a_model,
        pops_come_out_in_order,
        removing_what_is_in_no_heap_does_nothing,
    };
    Suite *suite = suite_of("heap", tests, COUNT_OF(tests));
    TCase *bugs = tcase_create("heap bugs");
    tcase_add_test_raise_signal(bugs, inserting_twice_is_a_bug, SIGABRT);
    suite_add_tcase(suite, bugs);
    return suite;
}
