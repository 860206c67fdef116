/* Net: the core thread's side of the network threads.
 *
 * Nothing here touches a connection. Parcels and controls go through the mailboxes of
 * the threads; limits are atomics in the directory. */
#include "net/net.h"

#include "base/log.h"
#include "base/mem.h"
#include "net/thread.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#define THREAD_SHIFT  48 /* of a connection's number */
#define THREADS_MAX   256
/* Relay counters go on from where an earlier process of this node cannot have been: the
 * time of its start, with room for a million relays in each millisecond. */
#define COUNTER_SHIFT 20

struct net {
    struct shared shared;
    struct worker *workers;
    unsigned init_count;  /* workers that were made */
    unsigned start_count; /* threads that were started */
    struct acceptor *acceptor;
    struct mail_chain *outgoing; /* parcels, for each thread, until net_flush() */
    struct net_target target;
};

static char *
copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

static void
on_resolved(void *ctx, unsigned worker, struct control_resolved *answer)
{
    struct net *n = ctx;
    worker_tell(&n->workers[worker], &answer->control);
}

static uint64_t
first_counter(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    return ms << COUNTER_SHIFT;
}

static enum status
init_shared(struct net *n, const struct net_options *options)
{
    struct shared *s = &n->shared;
    s->node = options->node;
    if (strlen(options->default_queue) >= sizeof(s->default_queue))
        return ST_INVALID;
    memcpy(s->default_queue, options->default_queue,
           strlen(options->default_queue) + 1);
    s->queue_domain = copy_text(options->queue_domain);
    s->allowed_origins = copy_text(options->allowed_origins);
    s->instance_type = copy_text(options->names.instance_type);
    s->region = copy_text(options->names.region);
    s->names = (struct reply_names){s->instance_type, s->region};
    memcpy(s->relay_key, options->relay_key, sizeof(s->relay_key));
    s->core_box = options->core_box;
    s->bell_cb = options->bell_cb;
    s->bell_ctx = options->bell_ctx;
    s->workers = n->workers;
    s->worker_count = options->threads;
    atomic_init(&s->relay_counter, first_counter());
    s->resolver = resolver_new(on_resolved, n);
    return ST_OK;
}

static enum status
start_threads(struct net *n)
{
    for (unsigned i = 0; i < n->shared.worker_count; i++) {
        enum status status = worker_init(&n->workers[i], &n->shared, i);
        n->init_count++;
        if (status != ST_OK)
            return status;
    }
    /* The acceptor last: it hands out to all the others. */
    for (unsigned i = n->shared.worker_count; i > 0; i--) {
        enum status status =
            thread_start(&n->workers[i - 1], i == 1 ? n->acceptor : NULL);
        if (status != ST_OK)
            return status;
        n->start_count++;
    }
    return ST_OK;
}

/* The threads that run: the last start_count of them. */
static void
stop_threads(struct net *n)
{
    unsigned first = n->shared.worker_count - n->start_count;
    for (unsigned i = first; i < n->shared.worker_count; i++) {
        struct control *stop = mem_calloc(1, sizeof(*stop));
        stop->kind = CONTROL_STOP;
        worker_tell(&n->workers[i], stop);
    }
    for (unsigned i = first; i < n->shared.worker_count; i++)
        thread_join(&n->workers[i]);
}

static void
free_outgoing(struct net *n)
{
    for (unsigned i = 0; i < n->shared.worker_count; i++) {
        struct mail *mail = n->outgoing[i].first;
        while (mail != NULL) {
            struct parcel *parcel = CONTAINER_OF(mail, struct parcel, mail);
            mail = mail->next;
            parcel_free(parcel);
        }
    }
    mem_free(n->outgoing);
}

static void
free_shared(struct shared *s)
{
    tls_fini(&s->tls);
    admission_fini(&s->admission);
    replay_fini(&s->replay);
    directory_fini(&s->directory);
    mem_free(s->queue_domain);
    mem_free(s->allowed_origins);
    mem_free(s->instance_type);
    mem_free(s->region);
}

enum status
net_open(const struct net_options *options, struct net **ret_net)
{
    assert(options->threads >= 1 && options->threads <= THREADS_MAX);
    struct net *n = mem_calloc(1, sizeof(*n));
    enum status status =
        tls_init(&n->shared.tls, options->cert_file, options->key_file);
    if (status != ST_OK) {
        mem_free(n);
        return status;
    }
    n->workers = mem_calloc(options->threads, sizeof(*n->workers));
    n->outgoing = mem_calloc(options->threads, sizeof(*n->outgoing));
    n->target.route = NET_WAIT;
    directory_init(&n->shared.directory);
    admission_init(&n->shared.admission);
    replay_init(&n->shared.replay);
    status = init_shared(n, options);
    if (status == ST_OK)
        status = acceptor_new(options->listen_addresses, options->listen_count,
                              &n->acceptor);
    if (status == ST_OK)
        status = start_threads(n);
    if (status != ST_OK) {
        net_close(n);
        return status;
    }
    *ret_net = n;
    return ST_OK;
}

void
net_close(struct net *n)
{
    if (n == NULL)
        return;
    stop_threads(n);
    resolver_free(n->shared.resolver); /* tells nobody from here on */
    acceptor_free(n->acceptor);
    for (unsigned i = 0; i < n->init_count; i++)
        worker_fini(&n->workers[i]);
    free_outgoing(n);
    free_shared(&n->shared);
    mem_free(n->workers);
    mem_free(n);
}

uint16_t
net_port(const struct net *n, size_t index)
{
    return acceptor_port(n->acceptor, index);
}

static void
tell_all(struct net *n, const struct control *control, size_t size)
{
    for (unsigned i = 0; i < n->shared.worker_count; i++) {
        struct control *copy = mem_alloc(size);
        memcpy(copy, control, size);
        worker_tell(&n->workers[i], copy);
    }
}

void
net_set_queue(struct net *n, const struct net_queue *queue)
{
    struct control limits = {.kind = CONTROL_LIMITS};
    if (directory_set(&n->shared.directory, queue))
        tell_all(n, &limits, sizeof(limits));
}

void
net_remove_queue(struct net *n, uint32_t number)
{
    directory_remove(&n->shared.directory, number);
}

static bool
is_same_target(const struct net_target *a, const struct net_target *b)
{
    return a->route == b->route &&
           (a->route != NET_RELAY ||
            (a->leader == b->leader && strcmp(a->address, b->address) == 0 &&
             memcmp(a->relay_key, b->relay_key, sizeof(a->relay_key)) == 0));
}

void
net_set_route(struct net *n, const struct net_target *target)
{
    if (is_same_target(&n->target, target))
        return;
    n->target = *target;
    struct control_route route = {
        .control = {.kind = CONTROL_ROUTE},
        .target = *target,
    };
    tell_all(n, &route.control, sizeof(route));
}

void
net_send(struct net *n, struct parcel *parcel)
{
    uint64_t index = parcel->conn >> THREAD_SHIFT;
    if (index >= n->shared.worker_count)
        parcel_free(parcel);
    else
        mail_chain_add(&n->outgoing[index], &parcel->mail);
}

void
net_flush(struct net *n)
{
    for (unsigned i = 0; i < n->shared.worker_count; i++)
        if (mailbox_put(&n->workers[i].parcels, &n->outgoing[i]))
            worker_ring(&n->workers[i]);
}

enum status
net_reload_certificates(struct net *n)
{
    return tls_reload(&n->shared.tls);
}

uint64_t
net_certificate_expires_secs(const struct net *n)
{
    return atomic_load(&n->shared.tls.expires_secs);
}

void
net_drain(struct net *n, uint64_t drain_ms)
{
    struct control_drain drain = {
        .control = {.kind = CONTROL_DRAIN},
        .drain_ms = drain_ms,
    };
    tell_all(n, &drain.control, sizeof(drain));
}

void
net_get_counts(const struct net *n, struct net_counts *ret_counts)
{
    uint64_t sums[sizeof(struct net_counts) / sizeof(uint64_t)] = {0};
    for (unsigned i = 0; i < n->shared.worker_count; i++)
        for (size_t k = 0; k < sizeof(sums) / sizeof(sums[0]); k++)
            sums[k] += atomic_load_explicit(&n->workers[i].published.values[k],
                                            memory_order_relaxed);
    memcpy(ret_counts, sums, sizeof(sums));
    ret_counts->pending_logins = atomic_load(&n->shared.admission.count);
}

enum status
net_get_traffic(struct net *n,
                uint32_t queue,
                uint64_t *ret_sent,
                uint64_t *ret_received)
{
    struct directory_queue *q = directory_find_number(&n->shared.directory, queue);
    if (q == NULL)
        return ST_NOTFOUND;
    *ret_sent = atomic_load_explicit(&q->sent_bytes, memory_order_relaxed);
    *ret_received = atomic_load_explicit(&q->received_bytes, memory_order_relaxed);
    directory_put(q);
    return ST_OK;
}
