/* Heap: a binary-heap array with four children a node.
 *
 * Not a sorted list: only the first is known. Four children instead of two halve the
 * depth, and a step down reads pointers that lie side by side.
 *
 * Invariants: nodes[i]->position == i + 1; no node is earlier than its parent. */
#include "base/heap.h"

#include "base/mem.h"

#include <assert.h>

#define FAN_OUT        4
#define CAPACITY_FIRST 64

void
heap_init(struct heap *h)
{
    *h = (struct heap){NULL, 0, 0};
}

void
heap_fini(struct heap *h)
{
    mem_free(h->nodes);
    heap_init(h);
}

static void
place(struct heap *h, size_t index, struct heap_node *node)
{
    h->nodes[index] = node;
    node->position = index + 1;
}

/* Finds node's place from the hole at index upwards. */
static void
sift_up(struct heap *h, size_t index, struct heap_node *node)
{
    while (index > 0) {
        size_t parent = (index - 1) / FAN_OUT;
        if (h->nodes[parent]->at <= node->at)
            break;
        place(h, index, h->nodes[parent]);
        index = parent;
    }
    place(h, index, node);
}

/* Finds node's place from the hole at index downwards. */
static void
sift_down(struct heap *h, size_t index, struct heap_node *node)
{
    for (;;) {
        size_t child = index * FAN_OUT + 1;
        if (child >= h->count)
            break;
        size_t end = child + FAN_OUT < h->count ? child + FAN_OUT : h->count;
        size_t least = child;
        for (child++; child < end; child++)
            if (h->nodes[child]->at < h->nodes[least]->at)
                least = child;
        if (node->at <= h->nodes[least]->at)
            break;
        place(h, index, h->nodes[least]);
        index = least;
    }
    place(h, index, node);
}

void
heap_insert(struct heap *h, struct heap_node *node, uint64_t at)
{
    assert(!heap_is_linked(node));
    if (h->count == h->capacity) {
        h->capacity = h->capacity == 0 ? CAPACITY_FIRST : h->capacity * 2;
        h->nodes = mem_realloc(h->nodes, h->capacity * sizeof(struct heap_node *));
    }
    node->at = at;
    sift_up(h, h->count++, node);
}

void
heap_remove(struct heap *h, struct heap_node *node)
{
    if (!heap_is_linked(node))
        return;
    size_t index = node->position - 1;
    assert(index < h->count && h->nodes[index] == node);
    node->position = 0;
    struct heap_node *last = h->nodes[--h->count];
    if (last == node)
        return;
    /* The last node may belong above the hole as well as below it. */
    if (index > 0 && last->at < h->nodes[(index - 1) / FAN_OUT]->at)
        sift_up(h, index, last);
    else
        sift_down(h, index, last);
}

struct heap_node *
heap_first(const struct heap *h)
{
    return h->count == 0 ? NULL : h->nodes[0];
}
