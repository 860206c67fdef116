/* Map: an intrusive hash map with incremental growth.
 *
 * The caller hashes (map_hash) and compares. Growing moves a few buckets at each
 * insert, so that no single insert stalls with a million nodes inside. One thread. */
#ifndef HF_BASE_MAP_H
#define HF_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_node {
    struct map_node *next;
    uint64_t hash;
};

struct map {
    struct map_node **buckets; /* NULL until the first insert */
    struct map_node **old;     /* being moved from, or NULL */
    size_t mask;
    size_t old_mask;
    size_t moved; /* old buckets moved so far */
    size_t count;
    size_t any; /* no bucket below this one has a node */
};

/* True when node is the one looked for. */
typedef bool map_match_cb(const void *key, const struct map_node *node);

/* Keyed once per process against chosen keys (SipHash-1-3 or better); map_seed() sets
 * the key (tests and the simulation use a fixed one). */
void map_seed(uint64_t k0, uint64_t k1);
uint64_t map_hash(const void *data, size_t size);
uint64_t map_hash_u64(uint64_t value);

void map_init(struct map *m);
void map_fini(struct map *m); /* frees the buckets, not the nodes */
void map_insert(struct map *m, struct map_node *node, uint64_t hash);
/* Room for count nodes before it grows again; all at once, so for loading only. */
void map_reserve(struct map *m, size_t count);
void map_remove(struct map *m, struct map_node *node);
struct map_node *
map_find(const struct map *m, uint64_t hash, const void *key, map_match_cb *cb);
/* Any node, or NULL: for taking a map apart (map_any, map_remove, again), which costs
 * O(1) a node and O(buckets) in all. */
struct map_node *map_any(struct map *m);

#endif
