/* Memory: two kinds of allocation, and the hook for allocation-failure sweeps.
 *
 * mem_alloc() and friends stop the process when memory is out: for the core thread,
 * where applying a committed record must not fail on one node only. mem_try_alloc()
 * returns NULL: for everything a client, peer or file can size. */
#ifndef HF_BASE_MEM_H
#define HF_BASE_MEM_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Never NULL (size 0 gives a unique pointer). Aborts with one line on stderr. */
void *mem_alloc(size_t size_bytes) __attribute__((malloc, returns_nonnull));
void *mem_calloc(size_t count, size_t size_bytes)
    __attribute__((malloc, returns_nonnull));
void *mem_realloc(void *old, size_t size_bytes) __attribute__((returns_nonnull));

/* NULL when memory is out or the test hook says so. */
void *mem_try_alloc(size_t size_bytes) MUST_USE __attribute__((malloc));
void *mem_try_calloc(size_t count, size_t size_bytes) MUST_USE __attribute__((malloc));
void *mem_try_realloc(void *old, size_t size_bytes) MUST_USE;

void mem_free(void *p); /* NULL is fine; for all of the above */

/* Loading much at once, on the main thread: between begin and end the heap grows in
 * large steps, and each step that mem_load_step() finds new is asked for in large pages
 * (a fault a page of 4 KiB is most of what loading a million messages costs). Only a
 * hint: without such pages it is merely slower. */
void mem_load_begin(void);
void mem_load_step(void);
void mem_load_end(void);

/* Tests only: the n-th mem_try_* call from now on this thread returns NULL (1 = the
 * next); 0 switches it off. Returns how many such calls there were since the last. */
uint64_t mem_fail_at(uint64_t nth);

#endif
