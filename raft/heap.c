/* The Raft library's heap. Out of memory stops the process: in 0.22.1 a failed
 * allocation leaves half-changed state (raft-notes 2). And payloads of ours are no
 * allocations of the library: every entry's batch is one address that frees to
 * nothing, so that neither side ever copies or frees a payload. */
#include "base/mem.h"
#include "raft/rlog_int.h"

#include <assert.h>
#include <stdlib.h>

static const uint8_t no_batch[RLOG_NO_PAYLOAD_BYTES];

static void *
heap_malloc(void *data, size_t size)
{
    (void)data;
    return mem_alloc(size);
}

static void
heap_free(void *data, void *p)
{
    (void)data;
    if (p != rlog_heap_batch())
        mem_free(p);
}

static void *
heap_calloc(void *data, size_t count, size_t size)
{
    (void)data;
    return mem_calloc(count, size);
}

static void *
heap_realloc(void *data, void *p, size_t size)
{
    (void)data;
    assert(p != rlog_heap_batch());
    return mem_realloc(p, size);
}

/* The core never asks for these. */
static void *
heap_aligned_alloc(void *data, size_t alignment, size_t size)
{
    (void)data;
    (void)alignment;
    (void)size;
    abort();
}

static void
heap_aligned_free(void *data, size_t alignment, void *p)
{
    (void)data;
    (void)alignment;
    (void)p;
    abort();
}

void
rlog_heap_install(void)
{
    static const struct raft_heap heap = {
        .malloc = heap_malloc,
        .free = heap_free,
        .calloc = heap_calloc,
        .realloc = heap_realloc,
        .aligned_alloc = heap_aligned_alloc,
        .aligned_free = heap_aligned_free,
    };
    if (raft_heap_get() != &heap)
        raft_heap_set((struct raft_heap *)(uintptr_t)&heap);
}

void *
rlog_heap_batch(void)
{
    return (void *)(uintptr_t)no_batch;
}
