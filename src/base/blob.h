/* Blob: immutable bytes with a reference count, shared between threads.
 *
 * A message body, a log entry and a received cluster frame are blobs: written once,
 * then only read, until the last holder puts them. The count is atomic, nothing else
 * needs to be: whoever makes a blob fills it before anyone else can see it. */
#ifndef HF_BASE_BLOB_H
#define HF_BASE_BLOB_H

#include "base/bytes.h"

#include <stdatomic.h>

struct blob {
    _Atomic uint32_t refs;
    uint32_t size; /* bytes of data in use */
    uint8_t data[];
};

/* A new blob of size bytes, uninitialised, one reference. Aborts when out of memory. */
struct blob *blob_new(size_t size_bytes) __attribute__((returns_nonnull));
struct blob *blob_copy(struct slice s) __attribute__((returns_nonnull));
/* NULL when out of memory. */
struct blob *blob_try_new(size_t size_bytes) MUST_USE;

static inline struct blob *
blob_get(struct blob *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void blob_put(struct blob *b); /* NULL is fine */

static inline struct slice
blob_slice(const struct blob *b)
{
    return slice_of(b->data, b->size);
}

#endif
