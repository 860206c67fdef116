/* Admission: a count for each address that has connections waiting for their login.
 *
 * Not a rate limit and not a ban: it only bounds what strangers can hold. Entries exist
 * while their count is above zero, so the map is bounded by the global cap. */
#include "net/admission.h"

#include "base/limits.h"
#include "base/list.h"
#include "base/mem.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#define KEY_BYTES LOGIN_SOURCE_BYTES

struct admission_entry {
    struct map_node node;
    uint32_t count;
    uint8_t key[KEY_BYTES];
};

void
admission_init(struct admission *a)
{
    int result = pthread_mutex_init(&a->lock, NULL);
    assert(result == 0);
    map_init(&a->by_address);
    atomic_init(&a->count, 0);
    a->max_count = LIMIT_PENDING_LOGINS;
    a->max_per_address = LIMIT_PENDING_PER_ADDRESS;
}

void
admission_fini(struct admission *a)
{
    assert(a->by_address.count == 0);
    map_fini(&a->by_address);
    (void)pthread_mutex_destroy(&a->lock);
}

static void
make_key(const struct sockaddr_storage *from, uint8_t out[KEY_BYTES])
{
    memset(out, 0, KEY_BYTES);
    if (from->ss_family == AF_INET) {
        out[0] = 4;
        memcpy(out + 1, &((const struct sockaddr_in *)from)->sin_addr, 4);
    } else if (from->ss_family == AF_INET6) {
        out[0] = 6;
        memcpy(out + 1, &((const struct sockaddr_in6 *)from)->sin6_addr, 8);
    }
}

static bool
matches(const void *key, const struct map_node *node)
{
    const struct admission_entry *e =
        CONTAINER_OF(node, const struct admission_entry, node);
    return memcmp(key, e->key, KEY_BYTES) == 0;
}

/* The entry of an address, counted once more; NULL when it is full or memory is out. */
static struct admission_entry *
take(struct admission *a, const uint8_t key[KEY_BYTES])
{
    uint64_t hash = map_hash(key, KEY_BYTES);
    struct map_node *node = map_find(&a->by_address, hash, key, matches);
    struct admission_entry *e =
        node == NULL ? NULL : CONTAINER_OF(node, struct admission_entry, node);
    if (e == NULL) {
        e = mem_try_calloc(1, sizeof(*e));
        if (e == NULL)
            return NULL;
        memcpy(e->key, key, KEY_BYTES);
        map_insert(&a->by_address, &e->node, hash);
    } else if (e->count >= a->max_per_address) {
        return NULL;
    }
    e->count++;
    return e;
}

struct admission_entry *
admission_enter(struct admission *a, const struct sockaddr_storage *from)
{
    uint8_t key[KEY_BYTES];
    make_key(from, key);
    (void)pthread_mutex_lock(&a->lock);
    struct admission_entry *e =
        atomic_load(&a->count) < a->max_count ? take(a, key) : NULL;
    if (e != NULL)
        atomic_fetch_add(&a->count, 1);
    (void)pthread_mutex_unlock(&a->lock);
    return e;
}

void
admission_copy_key(const struct admission_entry *entry, uint8_t out[LOGIN_SOURCE_BYTES])
{
    memcpy(out, entry->key, KEY_BYTES); /* never changes */
}

void
admission_leave(struct admission *a, struct admission_entry *entry)
{
    if (entry == NULL)
        return;
    (void)pthread_mutex_lock(&a->lock);
    assert(entry->count > 0);
    atomic_fetch_sub(&a->count, 1);
    if (--entry->count == 0) {
        map_remove(&a->by_address, &entry->node);
        mem_free(entry);
    }
    (void)pthread_mutex_unlock(&a->lock);
}
