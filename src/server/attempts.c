/* Attempts: see the header.
 *
 * A source is there while attempts of it wait, in one of the two lists of turns: the
 * one that the last attempt or failure said. Joined connections count once for the turn
 * and each for the bound. */
#include "server/attempts.h"

#include "base/mem.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <string.h>

struct source {
    struct map_node node;
    struct list_node in_turns;
    struct list waiting;
    size_t conn_count;
    bool is_noisy;
    uint8_t key[LOGIN_SOURCE_BYTES];
};

struct attempt *
attempt_new(const struct verify *v, const uint8_t digest[ATTEMPT_DIGEST_BYTES])
{
    struct attempt *t = mem_calloc(1, sizeof *t);
    assert(v->username.size <= sizeof t->username);
    assert(v->password.size <= sizeof t->password);
    memcpy(t->digest, digest, ATTEMPT_DIGEST_BYTES);
    memcpy(t->source, v->source, LOGIN_SOURCE_BYTES);
    t->secret = *v->secret;
    t->username_size = (uint8_t)v->username.size;
    t->password_size = (uint8_t)v->password.size;
    if (v->username.size > 0)
        memcpy(t->username, v->username.data, v->username.size);
    if (v->password.size > 0)
        memcpy(t->password, v->password.data, v->password.size);
    attempt_add(t, v->conn);
    return t;
}

void
attempt_add(struct attempt *t, uint64_t conn)
{
    if (t->conn_count == t->conn_capacity) {
        size_t capacity = t->conn_capacity == 0 ? 2 : t->conn_capacity * 2;
        t->conns = mem_realloc(t->conns, capacity * sizeof *t->conns);
        t->conn_capacity = capacity;
    }
    t->conns[t->conn_count++] = conn;
}

void
attempt_free(struct attempt *t)
{
    if (t == NULL)
        return;
    OPENSSL_cleanse(t->password, sizeof t->password);
    mem_free(t->conns);
    mem_free(t);
}

void
attempts_init(struct attempts *a, size_t most)
{
    map_init(&a->sources);
    list_init(&a->calm);
    list_init(&a->noisy);
    a->count = 0;
    a->most = most;
}

void
attempts_fini(struct attempts *a)
{
    struct attempt *t;
    for (int is_noisy = 0; is_noisy < 2; is_noisy++)
        while ((t = attempts_take(a, is_noisy != 0)) != NULL)
            attempt_free(t);
    assert(a->count == 0 && a->sources.count == 0);
    map_fini(&a->sources);
}

static bool
matches(const void *key, const struct map_node *node)
{
    const struct source *s = CONTAINER_OF(node, const struct source, node);
    return memcmp(key, s->key, LOGIN_SOURCE_BYTES) == 0;
}

static struct source *
find_source(const struct attempts *a, const uint8_t key[LOGIN_SOURCE_BYTES])
{
    struct map_node *node =
        map_find(&a->sources, map_hash(key, LOGIN_SOURCE_BYTES), key, matches);
    return node == NULL ? NULL : CONTAINER_OF(node, struct source, node);
}

struct attempt *
attempts_find(struct attempts *a,
              const uint8_t source[LOGIN_SOURCE_BYTES],
              const uint8_t digest[ATTEMPT_DIGEST_BYTES])
{
    struct source *s = find_source(a, source);
    if (s == NULL)
        return NULL;
    LIST_FOREACH (node, &s->waiting) {
        struct attempt *t = CONTAINER_OF(node, struct attempt, link);
        if (memcmp(t->digest, digest, ATTEMPT_DIGEST_BYTES) == 0)
            return t;
    }
    return NULL;
}

void
attempts_join(struct attempts *a, struct attempt *t, uint64_t conn)
{
    struct source *s = find_source(a, t->source);
    assert(s != NULL);
    attempt_add(t, conn);
    s->conn_count++;
    a->count++;
}

static void
put_in_turns(struct attempts *a, struct source *s, bool is_noisy)
{
    s->is_noisy = is_noisy;
    list_push_back(is_noisy ? &a->noisy : &a->calm, &s->in_turns);
}

static void
move_to(struct attempts *a, struct source *s, bool is_noisy)
{
    if (s->is_noisy == is_noisy)
        return;
    list_remove(&s->in_turns);
    put_in_turns(a, s, is_noisy);
}

void
attempts_mark_noisy(struct attempts *a, const uint8_t source[LOGIN_SOURCE_BYTES])
{
    struct source *s = find_source(a, source);
    if (s != NULL)
        move_to(a, s, true);
}

void
attempts_put(struct attempts *a, struct attempt *t, bool is_noisy)
{
    struct source *s = find_source(a, t->source);
    if (s == NULL) {
        s = mem_calloc(1, sizeof *s);
        memcpy(s->key, t->source, LOGIN_SOURCE_BYTES);
        list_init(&s->waiting);
        map_insert(&a->sources, &s->node, map_hash(s->key, LOGIN_SOURCE_BYTES));
        put_in_turns(a, s, is_noisy);
    }
    move_to(a, s, is_noisy);
    list_push_back(&s->waiting, &t->link);
    s->conn_count += t->conn_count;
    a->count += t->conn_count;
}

/* Takes an attempt out of its source's line; a source with none left is freed. */
static void
leave(struct attempts *a, struct source *s, struct attempt *t)
{
    list_remove(&t->link);
    s->conn_count -= t->conn_count;
    a->count -= t->conn_count;
    if (!list_is_empty(&s->waiting))
        return;
    list_remove(&s->in_turns);
    map_remove(&a->sources, &s->node);
    mem_free(s);
}

struct attempt *
attempts_take(struct attempts *a, bool is_noisy)
{
    struct list_node *node = list_first(is_noisy ? &a->noisy : &a->calm);
    if (node == NULL)
        return NULL;
    struct source *s = CONTAINER_OF(node, struct source, in_turns);
    struct attempt *t = CONTAINER_OF(list_first(&s->waiting), struct attempt, link);
    list_remove(&s->in_turns);
    put_in_turns(a, s, is_noisy); /* the others have their turn first */
    leave(a, s, t);
    return t;
}

static struct source *
largest_in(const struct list *turns)
{
    struct source *largest = NULL;
    LIST_FOREACH (node, turns) {
        struct source *s = CONTAINER_OF(node, struct source, in_turns);
        if (largest == NULL || s->conn_count > largest->conn_count)
            largest = s;
    }
    return largest;
}

struct attempt *
attempts_evict(struct attempts *a)
{
    if (a->count <= a->most)
        return NULL;
    struct source *s = largest_in(&a->noisy);
    if (s == NULL)
        s = largest_in(&a->calm);
    assert(s != NULL);
    struct attempt *t = CONTAINER_OF(s->waiting.head.prev, struct attempt, link);
    leave(a, s, t);
    return t;
}
