/* Tests of base/list. */
#include "base/list.h"

#include "suites.h"

struct item {
    int value;
    struct list_node node;
};

static void
check_values(struct list *l, const char *expected)
{
    char text[16];
    size_t size = 0;
    LIST_FOREACH (n, l)
        text[size++] = (char)CONTAINER_OF(n, struct item, node)->value;
    text[size] = '\0';
    ck_assert_str_eq(text, expected);
}

START_TEST(items_keep_their_order)
{
    struct list l;
    struct item a = {'a', {0}}, b = {'b', {0}}, c = {'c', {0}}, d = {'d', {0}};
    list_init(&l);
    ck_assert(list_is_empty(&l));
    ck_assert(!list_is_linked(&a.node));
    ck_assert_ptr_null(list_first(&l));
    list_push_back(&l, &b.node);
    list_push_back(&l, &d.node);
    list_push_front(&l, &a.node);
    list_insert_before(&d.node, &c.node);
    check_values(&l, "abcd");
    list_remove(&b.node);
    ck_assert(!list_is_linked(&b.node));
    check_values(&l, "acd");
    ck_assert_ptr_eq(list_pop_front(&l), &a.node);
    ck_assert_ptr_eq(list_first(&l), &c.node);
    check_values(&l, "cd");
}
END_TEST

START_TEST(an_item_may_go_while_walking)
{
    struct list l;
    struct item items[6] = {{0, {0}}};
    list_init(&l);
    for (int i = 0; i < 6; i++) {
        items[i].value = 'a' + i;
        list_push_back(&l, &items[i].node);
    }
    LIST_FOREACH_SAFE (n, &l)
        if (CONTAINER_OF(n, struct item, node)->value % 2 == 0)
            list_remove(n);
    check_values(&l, "ace");
    while (list_pop_front(&l) != NULL)
        ;
    ck_assert(list_is_empty(&l));
}
END_TEST

Suite *
suite_list(void)
{
    const TTest *const tests[] = {
        items_keep_their_order,
        an_item_may_go_while_walking,
    };
    return suite_of("list", tests, COUNT_OF(tests));
}
