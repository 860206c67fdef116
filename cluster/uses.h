/* Uses: counts the libuv handles and requests that are still open, so that a cluster
 * can say when the loop is rid of it. Each part takes one use when it gives libuv a
 * pointer and puts it back in the last callback. */
#ifndef HF_CLUSTER_USES_H
#define HF_CLUSTER_USES_H

#include <assert.h>
#include <stdint.h>

struct uses {
    uint32_t count;
    void (*none_cb)(void *ctx); /* the last use was put back; may free the owner */
    void *ctx;
};

static inline void
uses_get(struct uses *uses)
{
    uses->count++;
}

/* The last act of whoever calls it: the owner may be gone afterwards. */
static inline void
uses_put(struct uses *uses)
{
    assert(uses->count > 0);
    if (--uses->count == 0)
        uses->none_cb(uses->ctx);
}

#endif
