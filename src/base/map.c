/* Map: chained buckets, a power of two of them, one node a bucket when full.
 *
 * Not an ordered map and not a cache: it never shrinks and drops nothing. Nodes belong
 * to the caller; only the bucket arrays are the map's.
 *
 * Growing: a second array of twice the size is made (zero pages from the system, so a
 * large one costs little), and each insert then moves MOVE_STEP old buckets into it. A
 * doubling needs as many inserts as there are old buckets, so moving always ends first.
 *
 * Invariants: while old is set, a hash whose old bucket is at or above moved lives in
 * old, any other in buckets: every hash has exactly one place, and a search looks at
 * one chain. Buckets below any are empty. */
#include "base/map.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define BUCKETS_FIRST 16
#define MOVE_STEP     4

/* The one process-wide variable of this folder beside the log: set before threads are
 * started, read only after that. The first value serves tests. */
static uint64_t seed[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};

/* SipHash-1-3 (Aumasson and Bernstein, 2012): one round a word, three to finish. */
struct sip {
    uint64_t v0;
    uint64_t v1;
    uint64_t v2;
    uint64_t v3;
};

static inline uint64_t
rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void
sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 = rotate(s->v2, 32);
}

static inline struct sip
sip_begin(void)
{
    return (struct sip){seed[0] ^ 0x736f6d6570736575u, seed[1] ^ 0x646f72616e646f6du,
                        seed[0] ^ 0x6c7967656e657261u, seed[1] ^ 0x7465646279746573u};
}

static inline void
sip_word(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

/* last: the bytes behind the last whole word, and the size in the top byte. */
static inline uint64_t
sip_end(struct sip *s, uint64_t last)
{
    sip_word(s, last);
    s->v2 ^= 0xff;
    sip_round(s);
    sip_round(s);
    sip_round(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

void
map_seed(uint64_t k0, uint64_t k1)
{
    seed[0] = k0;
    seed[1] = k1;
}

uint64_t
map_hash(const void *data, size_t size)
{
    const uint8_t *p = data;
    struct sip s = sip_begin();
    if (size == 16) { /* ids, by far the most: no loops */
        sip_word(&s, get_u64(p));
        sip_word(&s, get_u64(p + 8));
        return sip_end(&s, (uint64_t)16 << 56);
    }
    uint64_t last = (uint64_t)size << 56;
    for (; size >= 8; p += 8, size -= 8)
        sip_word(&s, get_u64(p));
    for (unsigned i = 0; i < size; i++)
        last |= (uint64_t)p[i] << (8 * i);
    return sip_end(&s, last);
}

uint64_t
map_hash_u64(uint64_t value)
{
    struct sip s = sip_begin();
    sip_word(&s, value);
    return sip_end(&s, (uint64_t)8 << 56);
}

void
map_init(struct map *m)
{
    *m = (struct map){0};
}

void
map_fini(struct map *m)
{
    mem_free(m->buckets);
    mem_free(m->old);
    map_init(m);
}

/* The one chain in which hash can be. */
static inline struct map_node **
chain_of(const struct map *m, uint64_t hash)
{
    if (m->old != NULL && (hash & m->old_mask) >= m->moved)
        return &m->old[hash & m->old_mask];
    return &m->buckets[hash & m->mask];
}

static inline void
push(struct map_node **chain, struct map_node *node)
{
    node->next = *chain;
    *chain = node;
}

static void
start_growing(struct map *m)
{
    size_t size = m->buckets == NULL ? BUCKETS_FIRST : (m->mask + 1) * 2;
    m->old = m->buckets;
    m->old_mask = m->mask;
    m->moved = 0;
    m->buckets = mem_calloc(size, sizeof(struct map_node *));
    m->mask = size - 1;
    m->any = 0;
}

static void
keep_growing(struct map *m)
{
    for (int i = 0; i < MOVE_STEP; i++) {
        struct map_node *node = m->old[m->moved];
        m->old[m->moved++] = NULL;
        while (node != NULL) {
            struct map_node *next = node->next;
            push(&m->buckets[node->hash & m->mask], node);
            node = next;
        }
        if (m->moved > m->old_mask) {
            mem_free(m->old);
            m->old = NULL;
            break;
        }
    }
    m->any = 0; /* what came over may be in any of the new buckets */
}

void
map_insert(struct map *m, struct map_node *node, uint64_t hash)
{
    if (m->old != NULL)
        keep_growing(m);
    else if (m->buckets == NULL || m->count > m->mask)
        start_growing(m);
    node->hash = hash;
    struct map_node **chain = chain_of(m, hash);
    push(chain, node);
    if ((hash & m->mask) < m->any)
        m->any = hash & m->mask;
    m->count++;
}

/* All nodes of one array into the map's present one. */
static void
move_all(struct map *m, struct map_node **from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        struct map_node *node = from[i];
        while (node != NULL) {
            struct map_node *next = node->next;
            push(&m->buckets[node->hash & m->mask], node);
            node = next;
        }
    }
    mem_free(from);
}

void
map_reserve(struct map *m, size_t count)
{
    size_t size = BUCKETS_FIRST;
    while (size < count)
        size *= 2;
    if (m->buckets != NULL && size <= m->mask + 1)
        return;
    struct map before = *m;
    m->old = NULL;
    m->any = 0;
    m->buckets = mem_calloc(size, sizeof(struct map_node *));
    m->mask = size - 1;
    if (before.buckets != NULL)
        move_all(m, before.buckets, before.mask + 1);
    if (before.old != NULL)
        move_all(m, before.old, before.old_mask + 1);
}

void
map_remove(struct map *m, struct map_node *node)
{
    assert(m->count > 0);
    struct map_node **link = chain_of(m, node->hash);
    while (*link != node) {
        assert(*link != NULL); /* the node is in this map */
        link = &(*link)->next;
    }
    *link = node->next;
    node->next = NULL;
    m->count--;
}

struct map_node *
map_find(const struct map *m, uint64_t hash, const void *key, map_match_cb *cb)
{
    if (m->count == 0)
        return NULL;
    for (struct map_node *n = *chain_of(m, hash); n != NULL; n = n->next)
        if (n->hash == hash && cb(key, n))
            return n;
    return NULL;
}

struct map_node *
map_any(struct map *m)
{
    if (m->count == 0)
        return NULL;
    for (; m->any <= m->mask; m->any++)
        if (m->buckets[m->any] != NULL)
            return m->buckets[m->any];
    /* What is left has not been moved. A growth that stands still with a big old array
     * is finished here, once, so that the next call need not search it again. */
    assert(m->old != NULL);
    while (m->old != NULL)
        keep_growing(m);
    while (m->buckets[m->any] == NULL)
        m->any++;
    return m->buckets[m->any];
}
