/* Directory: two maps under one mutex, and entries that outlive them.
 *
 * Why relaxed loads are enough for "at once": net_set_queue() returns before the core
 * sends the reply that says so, the reply passes through a mailbox (release, acquire),
 * so whoever acts on it sees the store; another thread sees it as soon as the cache
 * line arrives, which no stronger order would hasten. */
#include "net/directory.h"

#include "base/list.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define LOGIN_SECS_DEFAULT 10 /* when there is no queue at all */

void
directory_init(struct directory *d)
{
    int result = pthread_mutex_init(&d->lock, NULL);
    assert(result == 0);
    map_init(&d->by_name);
    map_init(&d->by_number);
    atomic_init(&d->longest_login_secs, LOGIN_SECS_DEFAULT);
}

void
directory_fini(struct directory *d)
{
    struct map_node *node;
    while ((node = map_any(&d->by_number)) != NULL) {
        map_remove(&d->by_number, node);
        directory_put(CONTAINER_OF(node, struct directory_queue, in_by_number));
    }
    map_fini(&d->by_name);
    map_fini(&d->by_number);
    (void)pthread_mutex_destroy(&d->lock);
}

static bool
name_matches(const void *key, const struct map_node *node)
{
    const struct slice *name = key;
    const struct directory_queue *q =
        CONTAINER_OF(node, const struct directory_queue, in_by_name);
    return slice_equal(*name, slice_of(q->name, strlen(q->name)));
}

static bool
number_matches(const void *key, const struct map_node *node)
{
    const uint32_t *number = key;
    return CONTAINER_OF(node, const struct directory_queue, in_by_number)->number ==
           *number;
}

static struct directory_queue *
by_number(const struct directory *d, uint32_t number)
{
    struct map_node *node =
        map_find(&d->by_number, map_hash_u64(number), &number, number_matches);
    return node == NULL ? NULL
                        : CONTAINER_OF(node, struct directory_queue, in_by_number);
}

/* The longest login time of all queues. There are few, and this is rare: all of them
 * are moved from one map into a new one, because maps are not walked. */
static uint32_t
longest_login(struct directory *d)
{
    struct map again;
    map_init(&again);
    uint32_t longest = 0;
    struct map_node *node;
    while ((node = map_any(&d->by_number)) != NULL) {
        struct directory_queue *q =
            CONTAINER_OF(node, struct directory_queue, in_by_number);
        map_remove(&d->by_number, node);
        map_insert(&again, node, map_hash_u64(q->number));
        uint32_t secs = limit_load(&q->login_timeout_secs);
        longest = secs > longest ? secs : longest;
    }
    map_fini(&d->by_number);
    d->by_number = again;
    return longest == 0 ? LOGIN_SECS_DEFAULT : longest;
}

static struct directory_queue *
add(struct directory *d, const struct net_queue *queue)
{
    struct directory_queue *q = mem_calloc(1, sizeof(*q));
    atomic_init(&q->refs, 1);
    q->number = queue->number;
    memcpy(q->name, queue->name, sizeof(q->name));
    q->name[sizeof(q->name) - 1] = '\0';
    map_insert(&d->by_number, &q->in_by_number, map_hash_u64(q->number));
    map_insert(&d->by_name, &q->in_by_name, map_hash(q->name, strlen(q->name)));
    return q;
}

bool
directory_set(struct directory *d, const struct net_queue *queue)
{
    (void)pthread_mutex_lock(&d->lock);
    struct directory_queue *q = by_number(d, queue->number);
    if (q == NULL)
        q = add(d, queue);
    atomic_store(&q->max_message_bytes, queue->max_message_bytes);
    atomic_store(&q->max_write_queue_bytes, queue->max_write_queue_bytes);
    atomic_store(&q->max_connections, queue->max_connections);
    uint32_t old_login =
        atomic_exchange(&q->login_timeout_secs, queue->login_timeout_secs);
    uint32_t old_message =
        atomic_exchange(&q->message_timeout_secs, queue->message_timeout_secs);
    bool is_changed = old_login != queue->login_timeout_secs ||
                      old_message != queue->message_timeout_secs;
    if (is_changed)
        atomic_store(&d->longest_login_secs, longest_login(d));
    (void)pthread_mutex_unlock(&d->lock);
    return is_changed;
}

void
directory_remove(struct directory *d, uint32_t number)
{
    (void)pthread_mutex_lock(&d->lock);
    struct directory_queue *q = by_number(d, number);
    if (q != NULL) {
        map_remove(&d->by_number, &q->in_by_number);
        map_remove(&d->by_name, &q->in_by_name);
        atomic_store(&d->longest_login_secs, longest_login(d));
    }
    (void)pthread_mutex_unlock(&d->lock);
    directory_put(q);
}

static struct directory_queue *
get(struct directory_queue *q)
{
    if (q != NULL)
        atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
    return q;
}

struct directory_queue *
directory_find(struct directory *d, struct slice name)
{
    uint64_t hash = map_hash(name.data, name.size);
    (void)pthread_mutex_lock(&d->lock);
    struct map_node *node = map_find(&d->by_name, hash, &name, name_matches);
    struct directory_queue *q = get(
        node == NULL ? NULL : CONTAINER_OF(node, struct directory_queue, in_by_name));
    (void)pthread_mutex_unlock(&d->lock);
    return q;
}

struct directory_queue *
directory_find_number(struct directory *d, uint32_t number)
{
    (void)pthread_mutex_lock(&d->lock);
    struct directory_queue *q = get(by_number(d, number));
    (void)pthread_mutex_unlock(&d->lock);
    return q;
}

void
directory_put(struct directory_queue *q)
{
    if (q != NULL && atomic_fetch_sub_explicit(&q->refs, 1, memory_order_acq_rel) == 1)
        mem_free(q);
}
