/* Heap: an intrusive priority queue of deadlines (pairing heap, or binary; the .c
 * says). Insert, remove of any node and pop are O(log n). Equal times come out in no
 * promised order. One thread. */
#ifndef HF_BASE_HEAP_H
#define HF_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    uint64_t at;     /* the key, for example a deadline in ms */
    size_t position; /* index + 1 in the heap; 0 = in none */
};

struct heap {
    struct heap_node **nodes;
    size_t count;
    size_t capacity;
};

void heap_init(struct heap *h);
void heap_fini(struct heap *h);
void heap_insert(struct heap *h, struct heap_node *node, uint64_t at);
void heap_remove(struct heap *h, struct heap_node *node); /* in no heap: nothing */
struct heap_node *heap_first(const struct heap *h);       /* or NULL */

static inline bool
heap_is_linked(const struct heap_node *node)
{
    return node->position != 0;
}

#endif
