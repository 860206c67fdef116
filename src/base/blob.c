/* Blob: making and ending counted bytes.
 *
 * Not a string type: no growing, no slicing of one blob by another. Head and data are
 * one allocation, because a million messages are a million blobs.
 *
 * Invariant: refs is at least 1 while anyone may look; the put that takes it to 0 has
 * seen everything the other holders did (acquire and release on the same counter). */
#include "base/blob.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

static struct blob *
set_up(struct blob *b, size_t size_bytes)
{
    atomic_init(&b->refs, 1);
    b->size = (uint32_t)size_bytes;
    return b;
}

struct blob *
blob_new(size_t size_bytes)
{
    assert(size_bytes <= UINT32_MAX);
    return set_up(mem_alloc(sizeof(struct blob) + size_bytes), size_bytes);
}

struct blob *
blob_copy(struct slice s)
{
    struct blob *b = blob_new(s.size);
    if (s.size != 0)
        memcpy(b->data, s.data, s.size);
    return b;
}

struct blob *
blob_try_new(size_t size_bytes)
{
    if (size_bytes > UINT32_MAX)
        return NULL;
    struct blob *b = mem_try_alloc(sizeof(struct blob) + size_bytes);
    return b == NULL ? NULL : set_up(b, size_bytes);
}

void
blob_put(struct blob *b)
{
    if (b == NULL)
        return;
    /* Acquire and release in the one operation: thread sanitizer knows no fences. */
    uint32_t before = atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel);
    assert(before != 0);
    if (before == 1)
        mem_free(b);
}
