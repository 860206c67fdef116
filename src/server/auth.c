/* Auth: see auth.h. Lock order: one mutex, held for moments; scrypt runs outside it. */
#include "server/auth.h"

#include "base/mem.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS       2
#define ATTEMPTS_MAX  4096
#define REMEMBERED    1024 /* a power of two */
#define DIGEST_BYTES  32
#define SCRYPT_N      32768
#define SCRYPT_R      8
#define SCRYPT_P      1
#define SCRYPT_MEMORY (64u << 20)

/* One computation and the connections that wait for it. */
struct attempt {
    struct list_node link; /* in waiting, running or done */
    uint8_t digest[DIGEST_BYTES];
    struct login_secret secret;
    uint8_t username_size;
    uint8_t password_size;
    char username[LIMIT_USERNAME_BYTES];
    char password[LIMIT_PASSWORD_BYTES];
    uint64_t *conns;
    size_t conn_count;
    size_t conn_capacity;
    bool is_good;
};

struct auth {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    pthread_t threads[WORKERS];
    size_t thread_count;
    struct list waiting;
    struct list running;
    struct list done;
    size_t count; /* connections that wait */
    bool is_closing;
    void (*bell_cb)(void *ctx);
    void *bell_ctx;
    uint8_t key[DIGEST_BYTES];
    uint8_t remembered[REMEMBERED][DIGEST_BYTES]; /* core thread only */
};

static enum status
derive(const struct login_secret *secret,
       struct slice password,
       uint8_t out[LOGIN_HASH_BYTES])
{
    if (EVP_PBE_scrypt((const char *)password.data, password.size, secret->salt,
                       LOGIN_SALT_BYTES, secret->n, secret->r, secret->p, SCRYPT_MEMORY,
                       out, LOGIN_HASH_BYTES) != 1)
        return ST_NOMEM;
    return ST_OK;
}

static void
attempt_free(struct attempt *t)
{
    OPENSSL_cleanse(t->password, sizeof t->password);
    mem_free(t->conns);
    mem_free(t);
}

static void
compute(struct attempt *t)
{
    uint8_t hash[LOGIN_HASH_BYTES];
    /* A wrong name costs the same work as a wrong password. */
    bool is_name =
        t->username_size == t->secret.username_size &&
        CRYPTO_memcmp(t->username, t->secret.username, t->username_size) == 0;
    enum status st = derive(&t->secret, slice_of(t->password, t->password_size), hash);
    t->is_good = st == ST_OK &&
                 CRYPTO_memcmp(hash, t->secret.hash, LOGIN_HASH_BYTES) == 0 && is_name;
    OPENSSL_cleanse(hash, sizeof hash);
}

static void *
worker(void *ctx)
{
    struct auth *a = ctx;
    pthread_mutex_lock(&a->mutex);
    for (;;) { /* ends by is_closing */
        struct list_node *node = NULL;
        while (!a->is_closing && (node = list_pop_front(&a->waiting)) == NULL)
            pthread_cond_wait(&a->wake, &a->mutex);
        if (node == NULL)
            break;
        struct attempt *t = CONTAINER_OF(node, struct attempt, link);
        list_push_back(&a->running, node);
        pthread_mutex_unlock(&a->mutex);
        compute(t);
        pthread_mutex_lock(&a->mutex);
        list_remove(node);
        list_push_back(&a->done, node);
        a->bell_cb(a->bell_ctx);
    }
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

enum status
auth_open(void (*bell_cb)(void *ctx), void *bell_ctx, struct auth **ret_auth)
{
    struct auth *a = mem_calloc(1, sizeof *a);
    a->bell_cb = bell_cb;
    a->bell_ctx = bell_ctx;
    list_init(&a->waiting);
    list_init(&a->running);
    list_init(&a->done);
    pthread_mutex_init(&a->mutex, NULL);
    pthread_cond_init(&a->wake, NULL);
    bool is_good = RAND_bytes(a->key, sizeof a->key) == 1;
    while (is_good && a->thread_count < WORKERS) {
        is_good = pthread_create(&a->threads[a->thread_count], NULL, worker, a) == 0;
        a->thread_count += is_good;
    }
    if (!is_good) {
        auth_close(a);
        return ST_NOMEM;
    }
    *ret_auth = a;
    return ST_OK;
}

static void
free_list(struct list *l)
{
    struct list_node *node;
    while ((node = list_pop_front(l)) != NULL)
        attempt_free(CONTAINER_OF(node, struct attempt, link));
}

void
auth_close(struct auth *a)
{
    if (a == NULL)
        return;
    pthread_mutex_lock(&a->mutex);
    a->is_closing = true;
    pthread_cond_broadcast(&a->wake);
    pthread_mutex_unlock(&a->mutex);
    for (size_t i = 0; i < a->thread_count; i++)
        pthread_join(a->threads[i], NULL);
    free_list(&a->waiting);
    free_list(&a->running);
    free_list(&a->done);
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->mutex);
    OPENSSL_cleanse(a->key, sizeof a->key);
    mem_free(a);
}

/* What names an attempt: queue, role, the stored secret, and what the client said. */
static void
digest_of(const struct auth *a, const struct verify *v, uint8_t out[DIGEST_BYTES])
{
    struct bytes text = {0};
    unsigned size = DIGEST_BYTES;
    bytes_put_u32(&text, v->queue);
    bytes_put_u8(&text, (uint8_t)v->role);
    bytes_put(&text, v->secret->salt, LOGIN_SALT_BYTES);
    bytes_put(&text, v->secret->hash, LOGIN_HASH_BYTES);
    bytes_put_block(&text, v->username);
    bytes_put_block(&text, v->password);
    if (HMAC(EVP_sha256(), a->key, (int)sizeof a->key, text.data, text.size, out,
             &size) == NULL)
        abort(); /* only for want of memory */
    OPENSSL_cleanse(text.data, text.size);
    bytes_fini(&text);
}

static size_t
slot_of(const uint8_t digest[DIGEST_BYTES])
{
    return get_u64(digest) & (REMEMBERED - 1);
}

static void
add_conn(struct attempt *t, uint64_t conn)
{
    if (t->conn_count == t->conn_capacity) {
        size_t capacity = t->conn_capacity == 0 ? 4 : t->conn_capacity * 2;
        t->conns = mem_realloc(t->conns, capacity * sizeof *t->conns);
        t->conn_capacity = capacity;
    }
    t->conns[t->conn_count++] = conn;
}

static struct attempt *
find_in(struct list *l, const uint8_t digest[DIGEST_BYTES])
{
    LIST_FOREACH (node, l) {
        struct attempt *t = CONTAINER_OF(node, struct attempt, link);
        if (memcmp(t->digest, digest, DIGEST_BYTES) == 0)
            return t;
    }
    return NULL;
}

static struct attempt *
attempt_new(const struct verify *v, const uint8_t digest[DIGEST_BYTES])
{
    struct attempt *t = mem_calloc(1, sizeof *t);
    assert(v->username.size <= sizeof t->username);
    assert(v->password.size <= sizeof t->password);
    memcpy(t->digest, digest, DIGEST_BYTES);
    t->secret = *v->secret;
    t->username_size = (uint8_t)v->username.size;
    t->password_size = (uint8_t)v->password.size;
    memcpy(t->username, v->username.data, v->username.size);
    memcpy(t->password, v->password.data, v->password.size);
    return t;
}

enum auth_outcome
auth_check(struct auth *a, const struct verify *v)
{
    uint8_t digest[DIGEST_BYTES];
    digest_of(a, v, digest);
    if (CRYPTO_memcmp(a->remembered[slot_of(digest)], digest, DIGEST_BYTES) == 0)
        return AUTH_GOOD;
    pthread_mutex_lock(&a->mutex);
    enum auth_outcome outcome = AUTH_WAIT;
    struct attempt *t = find_in(&a->waiting, digest);
    if (t == NULL)
        t = find_in(&a->running, digest);
    if (a->count >= ATTEMPTS_MAX) {
        outcome = AUTH_BUSY;
    } else {
        if (t == NULL) {
            t = attempt_new(v, digest);
            list_push_back(&a->waiting, &t->link);
            pthread_cond_signal(&a->wake);
        }
        add_conn(t, v->conn);
        a->count++;
    }
    pthread_mutex_unlock(&a->mutex);
    return outcome;
}

bool
auth_take(struct auth *a, uint64_t *ret_conn, bool *ret_good)
{
    pthread_mutex_lock(&a->mutex);
    struct list_node *node = list_first(&a->done);
    if (node == NULL) {
        pthread_mutex_unlock(&a->mutex);
        return false;
    }
    struct attempt *t = CONTAINER_OF(node, struct attempt, link);
    assert(t->conn_count > 0);
    *ret_conn = t->conns[--t->conn_count];
    *ret_good = t->is_good;
    a->count--;
    if (t->is_good)
        memcpy(a->remembered[slot_of(t->digest)], t->digest, DIGEST_BYTES);
    if (t->conn_count == 0) {
        list_remove(node);
        attempt_free(t);
    }
    pthread_mutex_unlock(&a->mutex);
    return true;
}

enum status
auth_make_secret(struct slice username,
                 struct slice password,
                 struct login_secret *ret_secret)
{
    struct login_secret s = {.n = SCRYPT_N, .r = SCRYPT_R, .p = SCRYPT_P};
    assert(username.size <= sizeof s.username);
    s.username_size = (uint8_t)username.size;
    memcpy(s.username, username.data, username.size);
    if (RAND_bytes(s.salt, sizeof s.salt) != 1 || derive(&s, password, s.hash) != ST_OK)
        return ST_NOMEM;
    *ret_secret = s;
    return ST_OK;
}

void
auth_make_password(char out[33])
{
    static const char alphabet[] = "abcdefghijkmnpqrstuvwxyz23456789"; /* 32 of them */
    uint8_t random[32];
    if (RAND_bytes(random, sizeof random) != 1)
        abort(); /* no randomness: no passwords */
    for (size_t i = 0; i < 32; i++)
        out[i] = alphabet[random[i] & 31];
    out[32] = '\0';
}
