/* Memory: malloc with a policy.
 *
 * Not an allocator of its own: the C library's is used as it is. What is added is who
 * pays for a failure (the process or the caller) and the hook of the failure sweeps.
 *
 * Invariant: the hook counts mem_try_* calls of its own thread only, so a sweep in one
 * test thread never makes another thread's allocation fail, and mem_alloc() never fails
 * because of it: code that may not fail cannot be swept. */
#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local uint64_t try_count; /* since the last mem_fail_at() */
static _Thread_local uint64_t fail_at;   /* 0: never */

static void __attribute__((noreturn, cold)) die(size_t size_bytes)
{
    /* stderr is unbuffered, so this needs no memory itself. */
    (void)fprintf(stderr, "holdfast: out of memory (%zu bytes), stopping\n",
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

void *
mem_alloc(size_t size_bytes)
{
    void *p = malloc(at_least_one(size_bytes));
    if (p == NULL)
        die(size_bytes);
    return p;
}

void *
mem_calloc(size_t count, size_t size_bytes)
{
    void *p = calloc(at_least_one(count), at_least_one(size_bytes));
    if (p == NULL)
        die(size_bytes);
    return p;
}

void *
mem_realloc(void *old, size_t size_bytes)
{
    void *p = realloc(old, at_least_one(size_bytes));
    if (p == NULL)
        die(size_bytes);
    return p;
}

void *
mem_try_alloc(size_t size_bytes)
{
    return must_fail() ? NULL : malloc(at_least_one(size_bytes));
}

void *
mem_try_calloc(size_t count, size_t size_bytes)
{
    return must_fail() ? NULL : calloc(at_least_one(count), at_least_one(size_bytes));
}

void *
mem_try_realloc(void *old, size_t size_bytes)
{
    return must_fail() ? NULL : realloc(old, at_least_one(size_bytes));
}

void
mem_free(void *p)
{
    free(p);
}

uint64_t
mem_fail_at(uint64_t nth)
{
    uint64_t count = try_count;
    try_count = 0;
    fail_at = nth;
    return count;
}
