/* Replay: see the header. A counter that lies far ahead (the node's process began anew)
 * empties the window, which then holds only what is within REPLAY_WINDOW of it. */
#include "net/replay.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define WORD_BITS 64

struct replay_node {
    uint64_t node;
    uint64_t highest;
    uint64_t seen[REPLAY_WINDOW / WORD_BITS]; /* bit of counter mod REPLAY_WINDOW */
};

void
replay_init(struct replay *r)
{
    *r = (struct replay){.count = 0};
    int result = pthread_mutex_init(&r->lock, NULL);
    assert(result == 0);
}

void
replay_fini(struct replay *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        mem_free(r->nodes[i]);
    (void)pthread_mutex_destroy(&r->lock);
}

static uint64_t *
word_of(struct replay_node *n, uint64_t counter)
{
    return &n->seen[counter % REPLAY_WINDOW / WORD_BITS];
}

static uint64_t
bit_of(uint64_t counter)
{
    return (uint64_t)1 << (counter % WORD_BITS);
}

/* Moves the window so that counter is the highest. */
static void
move_to(struct replay_node *n, uint64_t counter)
{
    if (counter - n->highest >= REPLAY_WINDOW)
        memset(n->seen, 0, sizeof(n->seen));
    else
        for (uint64_t c = n->highest + 1; c < counter; c++)
            *word_of(n, c) &= ~bit_of(c);
    *word_of(n, counter) &= ~bit_of(counter);
    n->highest = counter;
}

static struct replay_node *
find(struct replay *r, uint64_t node)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->nodes[i]->node == node)
            return r->nodes[i];
    if (r->count == REPLAY_NODES) {
        log_event(LOG_ERROR, "relay.refused",
                  "peer=%llu reason=\"too many nodes have relayed\"",
                  (unsigned long long)node);
        return NULL;
    }
    struct replay_node *n = mem_try_calloc(1, sizeof(*n));
    if (n == NULL)
        return NULL;
    n->node = node;
    r->nodes[r->count++] = n;
    return n;
}

static bool
check(struct replay_node *n, uint64_t counter)
{
    if (counter > n->highest)
        move_to(n, counter);
    else if (n->highest - counter >= REPLAY_WINDOW ||
             (*word_of(n, counter) & bit_of(counter)) != 0)
        return false;
    *word_of(n, counter) |= bit_of(counter);
    return true;
}

bool
replay_accept(struct replay *r, uint64_t node, uint64_t counter)
{
    (void)pthread_mutex_lock(&r->lock);
    struct replay_node *n = find(r, node);
    bool is_new = n != NULL && check(n, counter);
    (void)pthread_mutex_unlock(&r->lock);
    return is_new;
}
