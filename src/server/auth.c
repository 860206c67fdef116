/* Auth: see auth.h.
 *
 *   check ──► attempts ──feed──► ready ──worker──► done ──collect──► results ──► take
 *                │ busy                                 └─ bad ──► late ──due──┘
 *                └──────────────────────────────────────────────► results
 *
 * Only ready and done are shared with the workers, under one mutex that is held for
 * moments; scrypt runs outside it. No more is handed to the workers than they can do at
 * once, and AHEAD of calm ones, so the order is decided as late as possible, and those
 * whose connection is gone by then cost nothing. */
#include "server/auth.h"

#include "base/heap.h"
#include "base/mem.h"
#include "server/attempts.h"
#include "server/known_logins.h"
#include "server/throttle.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS      2
#define AHEAD        1
#define REMEMBERED   4096 /* a power of two */
#define NEWS_MAX     64   /* between two turns */
#define DIGEST_BYTES ATTEMPT_DIGEST_BYTES

/* An answer for one connection. */
struct answer {
    struct list_node link; /* in results */
    struct heap_node late; /* or here, until it is due */
    struct auth_result result;
};

struct auth {
    pthread_mutex_t mutex; /* ready, done, is_closing */
    pthread_cond_t wake;
    pthread_t threads[WORKERS];
    size_t thread_count;
    struct list ready;
    struct list done;
    bool is_closing;

    /* Core thread only. */
    struct auth_options options;
    struct attempts attempts;
    struct throttle *sources;
    struct throttle *names;
    struct attempt *handed_out[WORKERS + AHEAD];
    size_t handed_count;
    size_t noisy_count; /* of these */
    struct list results;
    struct heap late;
    uint8_t key[DIGEST_BYTES];
    uint8_t remembered[REMEMBERED][DIGEST_BYTES];
    struct known_logins *known; /* to the other nodes */
    uint8_t news[NEWS_MAX][DIGEST_BYTES];
    uint32_t news_count;
};

/* --- Workers --- */

static void
compute(struct attempt *t)
{
    uint8_t hash[LOGIN_HASH_BYTES];
    /* A wrong name costs the same work as a wrong password. */
    bool is_name =
        t->username_size == t->secret.username_size &&
        CRYPTO_memcmp(t->username, t->secret.username, t->username_size) == 0;
    enum status st =
        auth_derive(&t->secret, slice_of(t->password, t->password_size), hash);
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
        while (!a->is_closing && (node = list_pop_front(&a->ready)) == NULL)
            pthread_cond_wait(&a->wake, &a->mutex);
        if (node == NULL)
            break;
        pthread_mutex_unlock(&a->mutex);
        compute(CONTAINER_OF(node, struct attempt, link));
        pthread_mutex_lock(&a->mutex);
        list_push_back(&a->done, node);
        a->options.bell_cb(a->options.ctx);
    }
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

/* --- Life --- */

enum status
auth_open(const struct auth_options *options, struct auth **ret_auth)
{
    struct auth *a = mem_calloc(1, sizeof *a);
    a->options = *options;
    list_init(&a->ready);
    list_init(&a->done);
    list_init(&a->results);
    heap_init(&a->late);
    attempts_init(&a->attempts, AUTH_WAITING_MOST);
    a->sources = throttle_new();
    a->names = throttle_new();
    a->known = known_logins_new();
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
free_answers(struct auth *a)
{
    struct list_node *node;
    struct heap_node *late;
    while ((node = list_pop_front(&a->results)) != NULL)
        mem_free(CONTAINER_OF(node, struct answer, link));
    while ((late = heap_first(&a->late)) != NULL) {
        heap_remove(&a->late, late);
        mem_free(CONTAINER_OF(late, struct answer, late));
    }
    heap_fini(&a->late);
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
    for (size_t i = 0; i < a->handed_count; i++)
        attempt_free(a->handed_out[i]);
    attempts_fini(&a->attempts);
    free_answers(a);
    throttle_free(a->sources);
    throttle_free(a->names);
    known_logins_free(a->known);
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->mutex);
    OPENSSL_cleanse(a->key, sizeof a->key);
    mem_free(a);
}

/* --- What is remembered --- */

/* What names an attempt: queue, role, the stored secret, and what the client said. */
static void
text_of(const struct verify *v, struct bytes *out)
{
    bytes_put_u32(out, v->queue);
    bytes_put_u8(out, (uint8_t)v->role);
    bytes_put(out, v->secret->salt, LOGIN_SALT_BYTES);
    bytes_put(out, v->secret->hash, LOGIN_HASH_BYTES);
    bytes_put_block(out, v->username);
    bytes_put_block(out, v->password);
}

static uint8_t *
slot_of(struct auth *a, const uint8_t digest[DIGEST_BYTES])
{
    return a->remembered[get_u64(digest) & (REMEMBERED - 1)];
}

static bool
is_remembered(struct auth *a, const uint8_t digest[DIGEST_BYTES])
{
    return CRYPTO_memcmp(slot_of(a, digest), digest, DIGEST_BYTES) == 0;
}

static void
remember(struct auth *a, const uint8_t digest[DIGEST_BYTES])
{
    if (is_remembered(a, digest))
        return;
    memcpy(slot_of(a, digest), digest, DIGEST_BYTES);
    if (a->news_count < NEWS_MAX)
        memcpy(a->news[a->news_count++], digest, DIGEST_BYTES);
}

/* Its digest; true when it was verified here or by another node. */
static bool
is_known(struct auth *a, const struct verify *v, uint8_t out[DIGEST_BYTES])
{
    struct bytes text = {0};
    unsigned size = DIGEST_BYTES;
    text_of(v, &text);
    if (HMAC(EVP_sha256(), a->key, (int)sizeof a->key, text.data, text.size, out,
             &size) == NULL)
        abort(); /* only for want of memory */
    bool is_good = is_remembered(a, out);
    if (!is_good && known_logins_have(a->known, slice_of(text.data, text.size))) {
        remember(a, out);
        is_good = true;
    }
    OPENSSL_cleanse(text.data, text.size);
    bytes_fini(&text);
    return is_good;
}

bool
auth_put_news(struct auth *a, struct bytes *out)
{
    if (a->news_count == 0)
        return false;
    known_logins_put(out, a->key, (const uint8_t(*)[DIGEST_BYTES])a->news,
                     a->news_count);
    a->news_count = 0;
    return true;
}

void
auth_put_known(const struct auth *a, struct bytes *out)
{
    uint8_t(*digests)[DIGEST_BYTES] = mem_alloc(KNOWN_LOGINS_MAX * DIGEST_BYTES);
    static const uint8_t none[DIGEST_BYTES];
    uint32_t count = 0;
    for (size_t i = 0; i < REMEMBERED && count < KNOWN_LOGINS_MAX; i++)
        if (memcmp(a->remembered[i], none, DIGEST_BYTES) != 0)
            memcpy(digests[count++], a->remembered[i], DIGEST_BYTES);
    known_logins_put(out, a->key, (const uint8_t(*)[DIGEST_BYTES])digests, count);
    mem_free(digests);
}

enum status
auth_learn(struct auth *a, uint64_t peer, struct slice body)
{
    return known_logins_learn(a->known, peer, body);
}

/* --- Answers --- */

static void
answer(struct auth *a, uint64_t conn, enum auth_outcome outcome, uint64_t late_ms)
{
    struct answer *to = mem_calloc(1, sizeof *to);
    to->result = (struct auth_result){.conn = conn, .outcome = outcome};
    if (late_ms == 0)
        list_push_back(&a->results, &to->link);
    else
        heap_insert(&a->late, &to->late, late_ms);
}

/* late_ms: when, 0 = now. Frees the attempt. */
static void
answer_all(struct auth *a,
           struct attempt *t,
           enum auth_outcome outcome,
           uint64_t late_ms)
{
    for (size_t i = 0; i < t->conn_count; i++)
        answer(a, t->conns[i], outcome, late_ms);
    attempt_free(t);
}

/* A failure is counted once for each connection, and answered when it is due. */
static void
answer_failure(struct auth *a, struct attempt *t, uint64_t now_ms)
{
    uint64_t wait_ms = 0;
    for (size_t i = 0; i < t->conn_count; i++) {
        uint64_t source_ms = throttle_failed(a->sources, t->source_key, now_ms);
        uint64_t name_ms = throttle_failed(a->names, t->name_key, now_ms);
        wait_ms = source_ms > name_ms ? source_ms : name_ms;
    }
    attempts_mark_noisy(&a->attempts, t->source);
    answer_all(a, t, AUTH_BAD,
               t->since_ms + wait_ms > now_ms ? t->since_ms + wait_ms : 0);
}

static void
finish(struct auth *a, struct attempt *t, uint64_t now_ms)
{
    size_t i = 0;
    while (a->handed_out[i] != t)
        i++;
    a->handed_out[i] = a->handed_out[--a->handed_count];
    a->noisy_count -= t->was_noisy;
    if (!t->is_good) {
        answer_failure(a, t, now_ms);
        return;
    }
    remember(a, t->digest);
    answer_all(a, t, AUTH_GOOD, 0);
}

static void
collect(struct auth *a, uint64_t now_ms)
{
    struct list_node *node;
    do {
        pthread_mutex_lock(&a->mutex);
        node = list_pop_front(&a->done);
        pthread_mutex_unlock(&a->mutex);
        if (node != NULL)
            finish(a, CONTAINER_OF(node, struct attempt, link), now_ms);
    } while (node != NULL); /* bound: what was handed out */
}

/* --- Handing out --- */

/* Forgets the connections that are gone. */
static bool
is_wanted(const struct auth *a, struct attempt *t)
{
    if (a->options.is_wanted_cb == NULL)
        return true;
    size_t count = 0;
    for (size_t i = 0; i < t->conn_count; i++)
        if (a->options.is_wanted_cb(a->options.ctx, t->conns[i]))
            t->conns[count++] = t->conns[i];
    t->conn_count = count;
    return count > 0;
}

static void
hand_out(struct auth *a, struct attempt *t)
{
    a->handed_out[a->handed_count++] = t;
    a->noisy_count += t->was_noisy;
    pthread_mutex_lock(&a->mutex);
    list_push_back(&a->ready, &t->link);
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->mutex);
}

/* The next one whose turn it is. Noisy ones have what calm ones leave of the workers,
 * and one of them has a worker in any case. */
static struct attempt *
next_attempt(struct auth *a)
{
    bool may_be_noisy = a->handed_count < WORKERS;
    bool is_noisy = may_be_noisy && a->handed_count > 0 && a->noisy_count == 0;
    struct attempt *t = attempts_take(&a->attempts, is_noisy);
    if (t == NULL && may_be_noisy) {
        is_noisy = !is_noisy;
        t = attempts_take(&a->attempts, is_noisy);
    }
    if (t != NULL)
        t->was_noisy = is_noisy;
    return t;
}

static void
feed(struct auth *a)
{
    while (a->handed_count < WORKERS + AHEAD) {
        struct attempt *t = next_attempt(a);
        if (t == NULL)
            return;
        if (!is_wanted(a, t))
            attempt_free(t);
        else if (is_remembered(a, t->digest))
            answer_all(a, t, AUTH_GOOD, 0);
        else
            hand_out(a, t);
    }
}

/* --- Calls --- */

/* One that a worker has, or will have soon. */
static struct attempt *
find_handed_out(const struct auth *a, const uint8_t digest[DIGEST_BYTES])
{
    for (size_t i = 0; i < a->handed_count; i++)
        if (memcmp(a->handed_out[i]->digest, digest, DIGEST_BYTES) == 0)
            return a->handed_out[i];
    return NULL;
}

static uint64_t
name_key(const struct verify *v)
{
    uint8_t text[sizeof v->queue + LIMIT_USERNAME_BYTES];
    put_u32(text, v->queue);
    if (v->username.size > 0)
        memcpy(text + sizeof v->queue, v->username.data, v->username.size);
    return map_hash(text, sizeof v->queue + v->username.size);
}

static void
put(struct auth *a,
    const struct verify *v,
    const uint8_t digest[DIGEST_BYTES],
    uint64_t now_ms)
{
    struct attempt *t = attempt_new(v, digest);
    t->source_key = map_hash(v->source, LOGIN_SOURCE_BYTES);
    t->name_key = name_key(v);
    t->since_ms = now_ms;
    attempts_put(&a->attempts, t, throttle_is_noisy(a->sources, t->source_key, now_ms));
}

enum auth_outcome
auth_check(struct auth *a, const struct verify *v, uint64_t now_ms)
{
    uint8_t digest[DIGEST_BYTES];
    if (is_known(a, v, digest))
        return AUTH_GOOD;
    struct attempt *t = find_handed_out(a, digest);
    if (t != NULL) {
        attempt_add(t, v->conn);
        return AUTH_WAIT;
    }
    t = attempts_find(&a->attempts, v->source, digest);
    if (t != NULL)
        attempts_join(&a->attempts, t, v->conn);
    else
        put(a, v, digest, now_ms);
    t = attempts_evict(&a->attempts);
    if (t != NULL)
        answer_all(a, t, AUTH_BUSY, 0);
    feed(a);
    return AUTH_WAIT;
}

bool
auth_take(struct auth *a, uint64_t now_ms, struct auth_result *ret_result)
{
    collect(a, now_ms);
    feed(a);
    struct heap_node *late = heap_first(&a->late);
    struct answer *from = NULL;
    if (!list_is_empty(&a->results)) {
        from = CONTAINER_OF(list_pop_front(&a->results), struct answer, link);
    } else if (late != NULL && late->at <= now_ms) {
        heap_remove(&a->late, late);
        from = CONTAINER_OF(late, struct answer, late);
    }
    if (from == NULL)
        return false;
    *ret_result = from->result;
    mem_free(from);
    return true;
}

uint64_t
auth_deadline(const struct auth *a)
{
    const struct heap_node *first = heap_first(&a->late);
    return first == NULL ? UINT64_MAX : first->at;
}
