/* List: an intrusive doubly linked list with a sentinel.
 *
 * The node lives inside the object; CONTAINER_OF gets the object back. A node that is
 * in no list has next == NULL, so list_is_linked() can be asserted. */
#ifndef HF_BASE_LIST_H
#define HF_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_OF(pointer, type, member)                                            \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

struct list_node {
    struct list_node *next;
    struct list_node *prev;
};

struct list {
    struct list_node head; /* the sentinel */
};

#define LIST_FOREACH(node, list)                                                       \
    for (struct list_node *node = (list)->head.next; node != &(list)->head;            \
         node = node->next)
/* The node may be removed in the body. */
#define LIST_FOREACH_SAFE(node, list)                                                  \
    for (struct list_node *node = (list)->head.next, *node##_next = node->next;        \
         node != &(list)->head; node = node##_next, node##_next = node->next)

static inline void
list_init(struct list *l)
{
    l->head.next = l->head.prev = &l->head;
}

static inline bool
list_is_empty(const struct list *l)
{
    return l->head.next == &l->head;
}

static inline bool
list_is_linked(const struct list_node *n)
{
    return n->next != NULL;
}

static inline void
list_insert_before(struct list_node *place, struct list_node *n)
{
    n->prev = place->prev;
    n->next = place;
    place->prev->next = n;
    place->prev = n;
}

static inline void
list_push_back(struct list *l, struct list_node *n)
{
    list_insert_before(&l->head, n);
}

static inline void
list_push_front(struct list *l, struct list_node *n)
{
    list_insert_before(l->head.next, n);
}

static inline void
list_remove(struct list_node *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->next = n->prev = NULL;
}

/* The first node, or NULL. */
static inline struct list_node *
list_first(const struct list *l)
{
    return list_is_empty(l) ? NULL : l->head.next;
}

static inline struct list_node *
list_pop_front(struct list *l)
{
    struct list_node *n = list_first(l);
    if (n != NULL)
        list_remove(n);
    return n;
}

#endif
