/* The pool of messages: chunks of a thousand and a free list.
 *
 * One malloc a chunk, none a message: publishing and acknowledging a million messages
 * touches the allocator for bodies only. Chunks are never given back before the state
 * is: a queue that was full once will be full again. With the address sanitizer each
 * message is its own allocation, so that a use after free is seen. */
#include "queue/place.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define CHUNK_MESSAGES 1000

#if defined(__SANITIZE_ADDRESS__)
#define POOL_IS_PLAIN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_IS_PLAIN 1
#endif
#endif
#ifndef POOL_IS_PLAIN
#define POOL_IS_PLAIN 0
#endif

struct message_chunk {
    struct message_chunk *next;
    struct message messages[CHUNK_MESSAGES];
};

static void
refill(struct message_pool *pool)
{
    struct message_chunk *chunk = mem_alloc(sizeof *chunk);
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    for (size_t i = CHUNK_MESSAGES; i > 0; i--) {
        struct map_node *node = &chunk->messages[i - 1].in_by_id;
        node->next = pool->free;
        pool->free = node;
    }
}

struct message *
message_new(struct state *s)
{
    if (POOL_IS_PLAIN)
        return mem_calloc(1, sizeof(struct message));
    if (s->pool.free == NULL)
        refill(&s->pool);
    struct message *m = CONTAINER_OF(s->pool.free, struct message, in_by_id);
    s->pool.free = s->pool.free->next;
    memset(m, 0, sizeof *m);
    return m;
}

void
message_free(struct state *s, struct message *m)
{
    assert(m->place == PLACE_NONE);
    blob_put(m->body);
    m->body = NULL;
    mem_free(m->trail);
    m->trail = NULL;
    if (POOL_IS_PLAIN) {
        mem_free(m);
        return;
    }
    m->in_by_id.next = s->pool.free;
    s->pool.free = &m->in_by_id;
}

void
message_pool_fini(struct message_pool *pool)
{
    while (pool->chunks != NULL) {
        struct message_chunk *chunk = pool->chunks;
        pool->chunks = chunk->next;
        mem_free(chunk);
    }
    pool->free = NULL;
}
