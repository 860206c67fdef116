/* Tree: AVL with parent pointers.
 *
 * Not a map of copies: nodes belong to the caller and never move. AVL rather than
 * red-black because searches outnumber removals and its depth is smaller (1.44 log2 n).
 *
 * The two low bits of parent hold 2 plus the balance, where balance is the height of
 * the right side less that of the left: 1, 2 or 3. So a linked node, the root too,
 * never has a parent field of zero, and a zeroed node is one that is in no tree.
 *
 * Invariants: in-order is the comparator's order, strictly; every balance is -1, 0 or 1
 * and true; first and last are the ends; count is the number of nodes. */
#include "base/tree.h"

#include <assert.h>

#define BALANCE_BITS ((uintptr_t)3)

_Static_assert(_Alignof(struct tree_node) >= 4, "two low bits of a pointer are free");

static inline struct tree_node *
parent_of(const struct tree_node *n)
{
    return (struct tree_node *)((uintptr_t)n->parent & ~BALANCE_BITS);
}

static inline int
balance_of(const struct tree_node *n)
{
    return (int)((uintptr_t)n->parent & BALANCE_BITS) - 2;
}

static inline void
set_parent_balance(struct tree_node *n, struct tree_node *parent, int balance)
{
    n->parent = (struct tree_node *)((uintptr_t)parent | (uintptr_t)(balance + 2));
}

static inline void
set_parent(struct tree_node *n, struct tree_node *parent)
{
    set_parent_balance(n, parent, balance_of(n));
}

static inline void
set_balance(struct tree_node *n, int balance)
{
    set_parent_balance(n, parent_of(n), balance);
}

/* Puts with (or nothing) where child hangs under parent (or at the root). */
static void
replace_child(struct tree *t,
              struct tree_node *parent,
              struct tree_node *child,
              struct tree_node *with)
{
    if (parent == NULL)
        t->root = with;
    else if (parent->left == child)
        parent->left = with;
    else
        parent->right = with;
    if (with != NULL)
        set_parent(with, parent);
}

/* Makes n's right child its parent; balances are the caller's to set. */
static struct tree_node *
rotate_left(struct tree *t, struct tree_node *n)
{
    struct tree_node *up = n->right;
    n->right = up->left;
    if (n->right != NULL)
        set_parent(n->right, n);
    replace_child(t, parent_of(n), n, up);
    up->left = n;
    set_parent(n, up);
    return up;
}

static struct tree_node *
rotate_right(struct tree *t, struct tree_node *n)
{
    struct tree_node *up = n->left;
    n->left = up->right;
    if (n->left != NULL)
        set_parent(n->left, n);
    replace_child(t, parent_of(n), n, up);
    up->right = n;
    set_parent(n, up);
    return up;
}

/* n's left side is higher by two. Returns the new top of this part; its balance is not
 * 0 only when the part is as high as before (which happens in removals only). */
static struct tree_node *
fix_left(struct tree *t, struct tree_node *n)
{
    struct tree_node *side = n->left;
    int lean = balance_of(side);
    if (lean <= 0) {
        struct tree_node *top = rotate_right(t, n);
        set_balance(n, lean == 0 ? -1 : 0);
        set_balance(top, lean == 0 ? 1 : 0);
        return top;
    }
    lean = balance_of(side->right);
    rotate_left(t, side);
    struct tree_node *top = rotate_right(t, n);
    set_balance(side, lean > 0 ? -1 : 0);
    set_balance(n, lean < 0 ? 1 : 0);
    set_balance(top, 0);
    return top;
}

static struct tree_node *
fix_right(struct tree *t, struct tree_node *n)
{
    struct tree_node *side = n->right;
    int lean = balance_of(side);
    if (lean >= 0) {
        struct tree_node *top = rotate_left(t, n);
        set_balance(n, lean == 0 ? 1 : 0);
        set_balance(top, lean == 0 ? -1 : 0);
        return top;
    }
    lean = balance_of(side->left);
    rotate_right(t, side);
    struct tree_node *top = rotate_left(t, n);
    set_balance(side, lean < 0 ? 1 : 0);
    set_balance(n, lean > 0 ? -1 : 0);
    set_balance(top, 0);
    return top;
}

/* n is a new leaf: the sides it made higher, upwards until one was the lower before. */
static void
balance_after_insert(struct tree *t, struct tree_node *n)
{
    for (struct tree_node *p = parent_of(n); p != NULL; n = p, p = parent_of(n)) {
        int balance = balance_of(p) + (p->left == n ? -1 : 1);
        if (balance == -2) {
            fix_left(t, p);
            return;
        }
        if (balance == 2) {
            fix_right(t, p);
            return;
        }
        set_balance(p, balance);
        if (balance == 0)
            return;
    }
}

/* The left (or right) side of n has become lower by one. */
static void
balance_after_remove(struct tree *t, struct tree_node *n, bool is_left)
{
    while (n != NULL) {
        int balance = balance_of(n) + (is_left ? 1 : -1);
        if (balance == -2)
            n = fix_left(t, n);
        else if (balance == 2)
            n = fix_right(t, n);
        else
            set_balance(n, balance);
        if (balance_of(n) != 0)
            return; /* as high as before */
        struct tree_node *p = parent_of(n);
        is_left = p != NULL && p->left == n;
        n = p;
    }
}

void
tree_init(struct tree *t, tree_compare_cb *compare)
{
    *t = (struct tree){.compare = compare};
}

bool
tree_is_linked(const struct tree_node *node)
{
    return node->parent != NULL;
}

/* Where node goes: under *ret_parent, whose left (true) or right link is free. */
static bool
find_place(const struct tree *t,
           const struct tree_node *node,
           struct tree_node **ret_parent)
{
    if (t->last == NULL || t->compare(node, t->last) > 0) {
        *ret_parent = t->last;
        return false;
    }
    struct tree_node *parent = NULL;
    int order = 0;
    for (struct tree_node *n = t->root; n != NULL; n = order < 0 ? n->left : n->right) {
        order = t->compare(node, n);
        assert(order != 0); /* the key is new */
        parent = n;
    }
    *ret_parent = parent;
    return order < 0;
}

void
tree_insert(struct tree *t, struct tree_node *node)
{
    assert(!tree_is_linked(node));
    struct tree_node *parent;
    bool is_left = find_place(t, node, &parent);
    node->left = node->right = NULL;
    set_parent_balance(node, parent, 0);
    t->count++;
    if (parent == NULL) {
        t->root = t->first = t->last = node;
        return;
    }
    if (is_left) {
        parent->left = node;
        if (parent == t->first)
            t->first = node;
    } else {
        parent->right = node;
        if (parent == t->last)
            t->last = node;
    }
    balance_after_insert(t, node);
}

static struct tree_node *
leftmost(struct tree_node *n)
{
    while (n->left != NULL)
        n = n->left;
    return n;
}

static struct tree_node *
rightmost(struct tree_node *n)
{
    while (n->right != NULL)
        n = n->right;
    return n;
}

/* node has both children: its successor takes its place, and the successor's own place
 * becomes the lower one. */
static void
remove_inner(struct tree *t, struct tree_node *node)
{
    struct tree_node *next = leftmost(node->right);
    struct tree_node *lower = parent_of(next);
    bool is_left = lower != node;
    if (is_left) {
        replace_child(t, lower, next, next->right);
        next->right = node->right;
        set_parent(next->right, next);
    } else {
        lower = next;
    }
    next->left = node->left;
    set_parent(next->left, next);
    set_balance(next, balance_of(node));
    replace_child(t, parent_of(node), node, next);
    balance_after_remove(t, lower, is_left);
}

void
tree_remove(struct tree *t, struct tree_node *node)
{
    assert(tree_is_linked(node) && t->count > 0);
    if (t->first == node)
        t->first = tree_next(node);
    if (t->last == node)
        t->last = tree_prev(node);
    if (node->left != NULL && node->right != NULL) {
        remove_inner(t, node);
    } else {
        struct tree_node *parent = parent_of(node);
        bool is_left = parent != NULL && parent->left == node;
        replace_child(t, parent, node, node->left != NULL ? node->left : node->right);
        balance_after_remove(t, parent, is_left);
    }
    node->parent = node->left = node->right = NULL;
    t->count--;
}

struct tree_node *
tree_first(const struct tree *t)
{
    return t->first;
}

struct tree_node *
tree_last(const struct tree *t)
{
    return t->last;
}

struct tree_node *
tree_next(const struct tree_node *node)
{
    if (node->right != NULL)
        return leftmost(node->right);
    struct tree_node *parent = parent_of(node);
    while (parent != NULL && parent->right == node) {
        node = parent;
        parent = parent_of(node);
    }
    return parent;
}

struct tree_node *
tree_prev(const struct tree_node *node)
{
    if (node->left != NULL)
        return rightmost(node->left);
    struct tree_node *parent = parent_of(node);
    while (parent != NULL && parent->left == node) {
        node = parent;
        parent = parent_of(node);
    }
    return parent;
}

struct tree_node *
tree_find(const struct tree *t, const void *key, tree_key_cb *cb)
{
    struct tree_node *n = t->root;
    while (n != NULL) {
        int order = cb(key, n);
        if (order == 0)
            return n;
        n = order < 0 ? n->left : n->right;
    }
    return NULL;
}

struct tree_node *
tree_lower(const struct tree *t, const void *key, bool strictly, tree_key_cb *cb)
{
    struct tree_node *best = NULL;
    struct tree_node *n = t->root;
    while (n != NULL) {
        int order = cb(key, n);
        if (order < 0 || (order == 0 && !strictly)) {
            best = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

/* The height as the balances claim it: down the higher side. */
static int
claimed_height(const struct tree_node *n)
{
    int height = 0;
    for (; n != NULL; n = balance_of(n) < 0 ? n->left : n->right)
        height++;
    return height;
}

/* When every claim fits those of the children, all are true, by induction from the
 * leaves; so no stack is needed. */
static bool
is_node_sound(const struct tree_node *n)
{
    int balance = balance_of(n);
    return balance >= -1 && balance <= 1 &&
           claimed_height(n->right) - claimed_height(n->left) == balance &&
           (n->left == NULL || parent_of(n->left) == n) &&
           (n->right == NULL || parent_of(n->right) == n);
}

bool
tree_check(const struct tree *t)
{
    if (t->root == NULL)
        return t->count == 0 && t->first == NULL && t->last == NULL;
    if (parent_of(t->root) != NULL || t->first != leftmost(t->root) ||
        t->last != rightmost(t->root))
        return false;
    const struct tree_node *before = NULL;
    size_t count = 0;
    for (const struct tree_node *n = t->first; n != NULL; n = tree_next(n)) {
        if (++count > t->count || !is_node_sound(n))
            return false;
        if (before != NULL && t->compare(before, n) >= 0)
            return false;
        before = n;
    }
    return count == t->count;
}
