/* Directory: from a queue's name to its number and the limits that its connections
 * obey.
 *
 * The core thread changes it; network threads look a name up once, at the upgrade, and
 * then hold a reference. Limits are atomics inside what is referred to, so a change
 * acts on open connections with no message to anybody: a store that has returned is
 * what the next load sees. */
#ifndef HF_NET_DIRECTORY_H
#define HF_NET_DIRECTORY_H

#include "base/bytes.h"
#include "base/map.h"
#include "net/net.h"

#include <pthread.h>
#include <stdatomic.h>

struct directory_queue {
    struct map_node in_by_name;
    struct map_node in_by_number;
    _Atomic uint32_t refs;
    uint32_t number;
    char name[64];
    _Atomic uint32_t max_message_bytes;
    _Atomic uint32_t login_timeout_secs;
    _Atomic uint32_t max_write_queue_bytes;
    _Atomic uint32_t message_timeout_secs;
    _Atomic uint32_t max_connections; /* 0 = no limit */
    _Atomic uint32_t connections;     /* logged in, on all threads */
    /* Of all its connections so far, on the sockets. */
    _Atomic uint64_t received_bytes;
    _Atomic uint64_t sent_bytes;
};

struct directory {
    pthread_mutex_t lock; /* the two maps */
    struct map by_name;
    struct map by_number;
    _Atomic uint32_t longest_login_secs; /* of all queues; before the queue is known */
};

void directory_init(struct directory *d);
void directory_fini(struct directory *d); /* references that are out stay good */
/* Core thread. True when a time limit became shorter or longer, so that deadlines that
 * are set already must be looked at again. */
bool directory_set(struct directory *d, const struct net_queue *queue);
void directory_remove(struct directory *d, uint32_t number);
/* Any thread. A reference, or NULL. */
struct directory_queue *directory_find(struct directory *d, struct slice name);
struct directory_queue *directory_find_number(struct directory *d, uint32_t number);
void directory_put(struct directory_queue *q); /* NULL is fine */

static inline uint32_t
limit_load(const _Atomic uint32_t *limit)
{
    return atomic_load_explicit(limit, memory_order_relaxed);
}

#endif
