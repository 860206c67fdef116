/* Memory: malloc with a policy.
 *
 * Not an allocator of its own: the C library's is used as it is. What is added is who
 * pays for a failure (the process or the caller) and the hook of the failure sweeps.
 *
 * Invariant: the hook counts mem_try_* calls of its own thread only, so a sweep in one
 * test thread never makes another thread's allocation fail, and mem_alloc() never fails
 * because of it: code that may not fail cannot be swept. */
#include "base/mem.h"

#include "base/log.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_PAGE_BYTES (2u << 20)
/* The heap grows by, while loading. Of addresses only; but what is used of a step
 * before it is asked for in large pages, a large page or two, comes in small ones. */
#define LOAD_STEP_BYTES  (256 << 20)
#define STEP_BYTES       (128 << 10)
#define KEEP_BYTES       (64 << 20) /* free at the heap's end before it is given back */
#define OWN_MAP_BYTES    (32 << 20) /* larger ones are mapped apart: the most there is */

/* Of loading: the main thread's alone. */
static _Thread_local uintptr_t
    heap_seen; /* its end when looked at last; 0: not loading */

static _Thread_local uint64_t try_count; /* since the last mem_fail_at() */
static _Thread_local uint64_t fail_at;   /* 0: never */

static void __attribute__((noreturn, cold)) die(size_t size_bytes)
{
    /* This needs no memory itself. */
    log_event(LOG_ERROR, "memory.exhausted", "bytes=%zu consequence=aborting",
              size_bytes);
    abort();
}

static bool
must_fail(void)
{
    try_count++;
    return fail_at != 0 && try_count == fail_at;
}

/* malloc(0) may give NULL, which would read as a failure. */
static size_t
at_least_one(size_t size_bytes)
{
    return size_bytes == 0 ? 1 : size_bytes;
}

/* Where there is no room for a large step (RLIMIT_DATA, strict overcommit) there may be
 * for what is asked for: true, try again. */
static bool
gives_up_steps(void)
{
    if (heap_seen == 0)
        return false;
    mem_load_end();
    return true;
}

static void *
allocate(size_t size_bytes)
{
    size_t size = at_least_one(size_bytes);
    void *p = malloc(size);
    return p == NULL && gives_up_steps() ? malloc(size) : p;
}

static void *
allocate_zeros(size_t count, size_t size_bytes)
{
    size_t n = at_least_one(count);
    size_t size = at_least_one(size_bytes);
    void *p = calloc(n, size);
    return p == NULL && gives_up_steps() ? calloc(n, size) : p;
}

static void *
reallocate(void *old, size_t size_bytes)
{
    size_t size = at_least_one(size_bytes);
    void *p = realloc(old, size);
    return p == NULL && gives_up_steps() ? realloc(old, size) : p;
}

void *
mem_alloc(size_t size_bytes)
{
    void *p = allocate(size_bytes);
    if (p == NULL)
        die(size_bytes);
    return p;
}

void *
mem_calloc(size_t count, size_t size_bytes)
{
    void *p = allocate_zeros(count, size_bytes);
    if (p == NULL)
        die(size_bytes);
    return p;
}

void *
mem_realloc(void *old, size_t size_bytes)
{
    void *p = reallocate(old, size_bytes);
    if (p == NULL)
        die(size_bytes);
    return p;
}

void *
mem_try_alloc(size_t size_bytes)
{
    return must_fail() ? NULL : allocate(size_bytes);
}

void *
mem_try_calloc(size_t count, size_t size_bytes)
{
    return must_fail() ? NULL : allocate_zeros(count, size_bytes);
}

void *
mem_try_realloc(void *old, size_t size_bytes)
{
    return must_fail() ? NULL : reallocate(old, size_bytes);
}

void
mem_free(void *p)
{
    free(p);
}

void
mem_load_step(void)
{
    uintptr_t end = (uintptr_t)sbrk(0);
    if (heap_seen == 0 || end <= heap_seen)
        return;
    uintptr_t from =
        (heap_seen + LARGE_PAGE_BYTES - 1) & ~(uintptr_t)(LARGE_PAGE_BYTES - 1);
    uintptr_t to = end & ~(uintptr_t)(LARGE_PAGE_BYTES - 1);
    if (to > from)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
    heap_seen = to > heap_seen ? to : heap_seen;
}

/* Of what is allocated from the heap alone, so that it can be asked for in large pages;
 * a state of a million messages keeps what it had once. */
void
mem_load_begin(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, OWN_MAP_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEEP_BYTES);
    (void)mallopt(M_TOP_PAD, LOAD_STEP_BYTES);
    heap_seen = (uintptr_t)sbrk(0);
    /* More than an idle heap has left: it grows now, while nothing of it was used. */
    void *volatile more = mem_alloc(2 * STEP_BYTES);
    mem_free(more);
    mem_load_step();
}

void
mem_load_end(void)
{
    (void)mallopt(M_TOP_PAD, STEP_BYTES);
    heap_seen = 0;
}

uint64_t
mem_fail_at(uint64_t nth)
{
    uint64_t count = try_count;
    try_count = 0;
    fail_at = nth;
    return count;
}
