/* Tree: an intrusive balanced search tree (AVL).
 *
 * Keys are inside the objects; a comparator orders them. Insert, remove, search and
 * neighbour steps are O(log n) worst case; inserting at the end next to the cached
 * last node is O(1) comparisons, because ids and orders mostly grow; the first node is
 * cached too, because lines are taken from the front. No recursion, no allocation. One
 * thread. */
#ifndef HF_BASE_TREE_H
#define HF_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tree_node {
    struct tree_node *parent; /* with two balance bits in it: only the .c reads it */
    struct tree_node *left;
    struct tree_node *right;
};

/* Negative, zero, positive: a before, same as, after b. */
typedef int tree_compare_cb(const struct tree_node *a, const struct tree_node *b);
/* The same, for a key that is not in a node. */
typedef int tree_key_cb(const void *key, const struct tree_node *node);

struct tree {
    struct tree_node *root;
    struct tree_node *first; /* the least, or NULL */
    struct tree_node *last;  /* the greatest, or NULL */
    size_t count;
    tree_compare_cb *compare;
};

void tree_init(struct tree *t, tree_compare_cb *compare);
/* node's key must not be in the tree (asserted). */
void tree_insert(struct tree *t, struct tree_node *node);
void tree_remove(struct tree *t, struct tree_node *node);
bool tree_is_linked(const struct tree_node *node);  /* zeroed or removed: false */
struct tree_node *tree_first(const struct tree *t); /* or NULL */
struct tree_node *tree_last(const struct tree *t);  /* or NULL */
struct tree_node *tree_next(const struct tree_node *node);
struct tree_node *tree_prev(const struct tree_node *node);
struct tree_node *tree_find(const struct tree *t, const void *key, tree_key_cb *cb);
/* The least node >= key (or > key with strictly), or NULL. */
struct tree_node *
tree_lower(const struct tree *t, const void *key, bool strictly, tree_key_cb *cb);
/* Checks order, balance, links and count; false on the first fault. Tests. */
bool tree_check(const struct tree *t);

#endif
