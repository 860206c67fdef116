/* Look-up: a host name to socket addresses, in libuv's pool, one at a time.
 *
 * A second start while one runs does not stack up: when the name is still the same the
 * answer under way will do, else it is thrown away and asked anew. */
#ifndef HF_CLUSTER_LOOKUP_H
#define HF_CLUSTER_LOOKUP_H

#include "cluster/address.h"
#include "cluster/uses.h"

#include <uv.h>

#define LOOKUP_ADDRS_MAX 4

struct lookup;

struct lookup_result {
    struct sockaddr_storage addrs[LOOKUP_ADDRS_MAX];
    uint32_t count;
    const char *error; /* NULL: none */
};

/* result is borrowed. */
typedef void lookup_cb(void *ctx, const struct lookup_result *result);

struct lookup *lookup_new(uv_loop_t *loop, struct uses *uses, lookup_cb *cb, void *ctx)
    __attribute__((returns_nonnull));
/* The callback comes from the loop. ST_IO: it could not be started. */
enum status lookup_start(struct lookup *l, const struct address *address) MUST_USE;
/* No callback comes any more; frees it as soon as libuv lets go. */
void lookup_free(struct lookup *l);

#endif
