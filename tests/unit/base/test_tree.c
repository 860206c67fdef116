/* Tests of base/tree: against a plain array of what is in the tree. */
#include "base/tree.h"

#include "base/list.h"
#include "suites.h"

#include <signal.h>

#define KEYS 300

struct item {
    struct tree_node node;
    uint32_t key;
};

static const struct item *
item_of(const struct tree_node *n)
{
    return CONTAINER_OF(n, const struct item, node);
}

static int
compare_cb(const struct tree_node *a, const struct tree_node *b)
{
    return (item_of(a)->key > item_of(b)->key) - (item_of(a)->key < item_of(b)->key);
}

static int
key_cb(const void *key, const struct tree_node *node)
{
    uint32_t k = *(const uint32_t *)key;
    return (k > item_of(node)->key) - (k < item_of(node)->key);
}

/* The tree and its model: item i has key i, and is in when linked. */
struct model {
    struct tree tree;
    struct item items[KEYS];
    bool is_in[KEYS];
    size_t count;
};

static void
model_init(struct model *m)
{
    memset(m, 0, sizeof(*m));
    tree_init(&m->tree, compare_cb);
    for (uint32_t i = 0; i < KEYS; i++)
        m->items[i].key = i;
}

static void
toggle(struct model *m, size_t i)
{
    if (m->is_in[i]) {
        tree_remove(&m->tree, &m->items[i].node);
        m->count--;
    } else {
        tree_insert(&m->tree, &m->items[i].node);
        m->count++;
    }
    m->is_in[i] = !m->is_in[i];
}

/* The model's least key from i up (or its greatest from i down), or NULL. */
static const struct tree_node *
model_from(const struct model *m, int i, int step)
{
    for (; i >= 0 && i < KEYS; i += step)
        if (m->is_in[i])
            return &m->items[i].node;
    return NULL;
}

static void
check_model(const struct model *m)
{
    ck_assert(tree_check(&m->tree));
    ck_assert_uint_eq(m->tree.count, m->count);
    ck_assert_ptr_eq(tree_first(&m->tree), model_from(m, 0, 1));
    ck_assert_ptr_eq(tree_last(&m->tree), model_from(m, KEYS - 1, -1));
    for (uint32_t k = 0; k < KEYS; k++) {
        const struct tree_node *node = &m->items[k].node;
        ck_assert_int_eq(tree_is_linked(node), m->is_in[k]);
        ck_assert_ptr_eq(tree_find(&m->tree, &k, key_cb), m->is_in[k] ? node : NULL);
        ck_assert_ptr_eq(tree_lower(&m->tree, &k, false, key_cb),
                         model_from(m, (int)k, 1));
        ck_assert_ptr_eq(tree_lower(&m->tree, &k, true, key_cb),
                         model_from(m, (int)k + 1, 1));
        if (m->is_in[k]) {
            ck_assert_ptr_eq(tree_next(node), model_from(m, (int)k + 1, 1));
            ck_assert_ptr_eq(tree_prev(node), model_from(m, (int)k - 1, -1));
        }
    }
}

START_TEST(random_changes_agree_with_a_model)
{
    struct model *m = malloc(sizeof(*m));
    uint64_t seed = 42;
    model_init(m);
    check_model(m);
    for (int i = 0; i < 60000; i++) {
        /* A window of changing width, so that the tree is at times small and empty. */
        size_t width = 1 + (size_t)(i / 100 * 7 % KEYS);
        toggle(m, random_below(&seed, width));
        if (i % 10 == 0)
            ck_assert(tree_check(&m->tree));
        if (i % 100 == 0)
            check_model(m);
    }
    for (size_t i = 0; i < KEYS; i++)
        if (m->is_in[i])
            toggle(m, i);
    check_model(m);
    free(m);
}
END_TEST

START_TEST(a_line_that_is_taken_from_the_front_stays_sound)
{
    struct model *m = malloc(sizeof(*m));
    model_init(m);
    size_t head = 0;
    for (size_t tail = 0; tail < KEYS; tail++) {
        toggle(m, tail);
        if (tail % 3 == 2)
            toggle(m, head++);
        ck_assert(tree_check(&m->tree));
    }
    check_model(m);
    while (head < KEYS) {
        ck_assert_ptr_eq(tree_first(&m->tree), &m->items[head].node);
        toggle(m, head++);
        ck_assert(tree_check(&m->tree));
    }
    free(m);
}
END_TEST

static uint64_t compared;

static int
counting_cb(const struct tree_node *a, const struct tree_node *b)
{
    compared++;
    return compare_cb(a, b);
}

START_TEST(appending_compares_once)
{
    struct model *m = malloc(sizeof(*m));
    model_init(m);
    tree_init(&m->tree, counting_cb);
    compared = 0;
    for (size_t i = 0; i < KEYS; i++)
        toggle(m, i);
    ck_assert_uint_le(compared, KEYS);
    free(m);
}
END_TEST

START_TEST(the_depth_is_that_of_avl)
{
    struct model *m = malloc(sizeof(*m));
    model_init(m);
    tree_init(&m->tree, counting_cb);
    for (size_t i = 0; i < KEYS; i += 2)
        toggle(m, i);
    for (uint32_t i = 1; i < KEYS - 2; i += 2) {
        compared = 0;
        toggle(m, i);
        ck_assert_uint_le(compared, 13); /* 1.44 log2 300, and the look at the last */
    }
    free(m);
}
END_TEST

START_TEST(check_finds_a_wrong_order)
{
    struct model *m = malloc(sizeof(*m));
    model_init(m);
    for (size_t i = 0; i < 20; i++)
        toggle(m, i);
    ck_assert(tree_check(&m->tree));
    m->items[7].key = 100;
    ck_assert(!tree_check(&m->tree));
    m->items[7].key = 7;
    m->tree.count++;
    ck_assert(!tree_check(&m->tree));
    m->tree.count--;
    m->tree.last = &m->items[3].node;
    ck_assert(!tree_check(&m->tree));
    free(m);
}
END_TEST

START_TEST(check_finds_a_wrong_balance)
{
    struct model *m = malloc(sizeof(*m));
    model_init(m);
    for (size_t i = 0; i < 3; i++)
        toggle(m, i);
    /* The root leans left without a left side. */
    struct tree_node *left = m->tree.root->left;
    m->tree.root->left = NULL;
    m->tree.first = m->tree.root;
    m->tree.count = 2;
    ck_assert(!tree_check(&m->tree));
    m->tree.root->left = left;
    free(m);
}
END_TEST

START_TEST(a_key_that_is_there_is_a_bug)
{
    struct tree t;
    struct item a = {{0}, 5}, b = {{0}, 5}, c = {{0}, 6};
    tree_init(&t, compare_cb);
    tree_insert(&t, &a.node);
    tree_insert(&t, &c.node);
    tree_insert(&t, &b.node);
}
END_TEST

Suite *
suite_tree(void)
{
    const TTest *const tests[] = {
        random_changes_agree_with_a_model,
        a_line_that_is_taken_from_the_front_stays_sound,
        appending_compares_once,
        the_depth_is_that_of_avl,
        check_finds_a_wrong_order,
        check_finds_a_wrong_balance,
    };
    Suite *suite = suite_of("tree", tests, COUNT_OF(tests));
    TCase *bugs = tcase_create("tree bugs");
    tcase_add_test_raise_signal(bugs, a_key_that_is_there_is_a_bug, SIGABRT);
    suite_add_tcase(suite, bugs);
    return suite;
}
