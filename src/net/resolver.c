/* Resolver: one detached thread and a short ring of questions.
 *
 * Detached, and owned by a count of two (the net and the thread): a look-up can take as
 * long as the system's resolver likes, and closing the net must not. The thread then
 * finds is_closed and frees what is left. Names are looked up at each question: caching
 * is the resolver's of the system, so that a changed hosts file or DNS record counts.
 */
#include "net/resolver.h"

#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define QUESTIONS 64

struct question {
    unsigned worker;
    uint64_t generation;
    char address[128];
};

struct resolver {
    pthread_mutex_t lock; /* all of it; also held while cb is called */
    pthread_cond_t some;
    bool has_thread;
    bool is_closed;
    unsigned first;
    unsigned count;
    struct question questions[QUESTIONS];
    resolver_cb *cb;
    void *ctx;
};

struct resolver *
resolver_new(resolver_cb *cb, void *ctx)
{
    struct resolver *r = mem_calloc(1, sizeof(*r));
    int result = pthread_mutex_init(&r->lock, NULL);
    assert(result == 0);
    result = pthread_cond_init(&r->some, NULL);
    assert(result == 0);
    r->cb = cb;
    r->ctx = ctx;
    return r;
}

static void
destroy(struct resolver *r)
{
    (void)pthread_cond_destroy(&r->some);
    (void)pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

void
resolver_free(struct resolver *r)
{
    if (r == NULL)
        return;
    (void)pthread_mutex_lock(&r->lock);
    r->is_closed = true;
    bool has_thread = r->has_thread;
    (void)pthread_cond_signal(&r->some);
    (void)pthread_mutex_unlock(&r->lock);
    if (!has_thread)
        destroy(r);
}

static struct control_resolved *
look_up(const struct question *q)
{
    struct control_resolved *answer = mem_calloc(1, sizeof(*answer));
    answer->control.kind = CONTROL_RESOLVED;
    answer->generation = q->generation;
    char host[128];
    char port[8];
    if (socket_split(q->address, host, port) == ST_OK &&
        socket_look_up(host, port, false, answer->addresses, CONTROL_ADDRESSES,
                       &answer->count) != ST_OK)
        answer->count = 0;
    return answer;
}

static void *
run(void *ctx)
{
    struct resolver *r = ctx;
    (void)pthread_mutex_lock(&r->lock);
    for (;;) {
        while (r->count == 0 && !r->is_closed)
            (void)pthread_cond_wait(&r->some, &r->lock);
        if (r->is_closed)
            break;
        struct question q = r->questions[r->first];
        r->first = (r->first + 1) % QUESTIONS;
        r->count--;
        (void)pthread_mutex_unlock(&r->lock);
        struct control_resolved *answer = look_up(&q);
        (void)pthread_mutex_lock(&r->lock);
        if (r->is_closed)
            mem_free(answer);
        else
            r->cb(r->ctx, q.worker, answer);
    }
    (void)pthread_mutex_unlock(&r->lock);
    destroy(r);
    return NULL;
}

/* With all signals blocked: they are the main thread's. */
static bool
start(struct resolver *r)
{
    sigset_t all;
    sigset_t old;
    pthread_t thread;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int result = pthread_create(&thread, NULL, run, r);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (result == 0)
        (void)pthread_detach(thread);
    return result == 0;
}

enum status
resolver_ask(struct resolver *r,
             unsigned worker,
             uint64_t generation,
             const char *address)
{
    (void)pthread_mutex_lock(&r->lock);
    if (!r->has_thread)
        r->has_thread = start(r);
    bool has_room = r->has_thread && r->count < QUESTIONS;
    if (has_room) {
        struct question *q = &r->questions[(r->first + r->count) % QUESTIONS];
        q->worker = worker;
        q->generation = generation;
        (void)snprintf(q->address, sizeof(q->address), "%s", address);
        r->count++;
        (void)pthread_cond_signal(&r->some);
    }
    (void)pthread_mutex_unlock(&r->lock);
    return has_room ? ST_OK : ST_AGAIN;
}
