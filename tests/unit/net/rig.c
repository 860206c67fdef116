/* Rig: see rig.h. The made-up core knows three passwords: "good" logs in, "bad" gives
 * 107, and every other one as well. */
#include "rig.h"

#include "base/log.h"
#include "base/mem.h"
#include "certificate.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

uint64_t
test_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void
test_nap(void)
{
    struct timespec nap = {.tv_nsec = 1000000};
    nanosleep(&nap, NULL);
}

static void
ring(void *ctx)
{
    struct rig *r = ctx;
    uint64_t one = 1;
    ck_assert_int_eq(write(r->bell, &one, sizeof(one)), sizeof(one));
}

/* --- The core --- */

static void
answer_login(struct request *q)
{
    bool is_good = q->code == 0 && q->login->password_size == 4 &&
                   memcmp(q->login->password, "good", 4) == 0;
    explicit_bzero(q->login->password, sizeof(q->login->password));
    q->reply.code = q->code != 0 ? q->code : is_good ? 0 : 107;
    q->reply.after = q->reply.code == 0 ? AFTER_NOTHING : AFTER_CLOSE;
    q->reply.shape =
        q->login->role == ROLE_SUBSCRIBER && q->login->type == QUEUE_DISTRIBUTE
            ? REPLY_SESSION
            : REPLY_STATUS;
    memset(&q->reply.id, 0xab, sizeof(q->reply.id));
}

static void
answer(struct rig *r, struct request *q)
{
    q->reply.code = q->code;
    if (q->parcel.kind == PARCEL_LOGIN) {
        answer_login(q);
    } else if (q->parcel.kind == PARCEL_LOGOUT) {
        q->reply.shape = REPLY_LOGOUT;
        q->reply.after = q->code == 0 ? AFTER_LOGOUT : AFTER_NOTHING;
    } else {
        q->reply.shape = REPLY_STATUS;
        q->reply.after = q->ends ? AFTER_CLOSE : AFTER_NOTHING;
    }
    net_send(r->net, &q->parcel);
}

static void
on_request(struct rig *r, struct request *q)
{
    bool is_login = q->parcel.kind == PARCEL_LOGIN;
    if (is_login) {
        r->logins++;
        r->last_conn = q->parcel.conn;
        memcpy(r->last_source, q->login->source, LOGIN_SOURCE_BYTES);
    } else {
        r->requests++;
    }
    if (q->parcel.kind == PARCEL_PUBLISH && q->publish.body != NULL)
        r->request_bytes_total += q->publish.body->size;
    if (is_login ? r->holds_logins : r->is_holding) {
        mail_chain_add(&r->held, &q->parcel.mail);
        r->held_count++;
    } else {
        answer(r, q);
    }
}

static void
on_signal(struct rig *r, struct signal *s)
{
    if (s->parcel.kind == PARCEL_CLOSED) {
        ck_assert_uint_lt(r->closed_count, RIG_CLOSED);
        r->closed[r->closed_count++] =
            (struct rig_closed){s->parcel.conn, s->frames_sent, s->bytes_sent};
    } else {
        r->reports++;
        r->last_report = *s;
    }
    parcel_free(&s->parcel);
}

static void
on_mail(struct rig *r, struct mail *mail)
{
    while (mail != NULL) {
        struct parcel *parcel = CONTAINER_OF(mail, struct parcel, mail);
        mail = mail->next;
        if (parcel->kind == PARCEL_CLOSED || parcel->kind == PARCEL_PROGRESS)
            on_signal(r, CONTAINER_OF(parcel, struct signal, parcel));
        else
            on_request(r, CONTAINER_OF(parcel, struct request, parcel));
    }
    net_flush(r->net);
    pthread_cond_broadcast(&r->changed);
}

static void *
run(void *ctx)
{
    struct rig *r = ctx;
    bool is_stopping = false;
    while (!is_stopping) {
        uint64_t rings;
        struct pollfd bell = {.fd = r->bell, .events = POLLIN};
        ck_assert(poll(&bell, 1, -1) > 0 || errno == EINTR);
        ck_assert(read(r->bell, &rings, sizeof(rings)) > 0 || errno == EAGAIN);
        pthread_mutex_lock(&r->lock);
        on_mail(r, mailbox_take(&r->core_box));
        is_stopping = r->is_stopping;
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

/* --- Opening and closing --- */

static uint32_t
or_default(uint32_t value, uint32_t otherwise)
{
    return value != 0 ? value : otherwise;
}

void
rig_set_queue(struct rig *r, const struct net_queue *queue)
{
    struct net_queue q = *queue;
    q.number = or_default(q.number, RIG_QUEUE);
    if (q.name[0] == '\0')
        memcpy(q.name, "demo", 5);
    q.max_message_bytes = or_default(q.max_message_bytes, 65536);
    q.login_timeout_secs = or_default(q.login_timeout_secs, 10);
    q.max_write_queue_bytes = or_default(q.max_write_queue_bytes, 4u << 20);
    q.message_timeout_secs = or_default(q.message_timeout_secs, 30);
    pthread_mutex_lock(&r->lock);
    net_set_queue(r->net, &q);
    pthread_mutex_unlock(&r->lock);
}

static void
open_net(struct rig *r, const struct rig_options *options)
{
    static const char *const addresses[] = {"127.0.0.1:0"};
    char cert[96];
    char key_file[96];
    uint8_t key[32];
    memset(key, RIG_KEY_BYTE, sizeof(key));
    snprintf(cert, sizeof(cert), "%s/cert.pem", r->dir);
    snprintf(key_file, sizeof(key_file), "%s/key.pem", r->dir);
    struct net_options net = {
        .node = options->node == 0 ? 1 : options->node,
        .listen_addresses = addresses,
        .listen_count = 1,
        .cert_file = cert,
        .key_file = key_file,
        .default_queue = "demo",
        .queue_domain = "",
        .allowed_origins =
            options->allowed_origins == NULL ? "" : options->allowed_origins,
        .threads = options->threads == 0 ? 1 : options->threads,
        .relay_key = key,
        .names = {"self-hosted", "local"},
        .core_box = &r->core_box,
        .bell_cb = ring,
        .bell_ctx = r,
    };
    ck_assert_int_eq(net_open(&net, &r->net), ST_OK);
    r->port = net_port(r->net, 0);
    ck_assert_uint_ne(r->port, 0);
}

void
rig_open(struct rig *r, const struct rig_options *options)
{
    static const struct rig_options defaults;
    options = options == NULL ? &defaults : options;
    memset(r, 0, sizeof(*r));
    log_set_level(getenv("TEST_LOG") != NULL ? LOG_DEBUG : LOG_ERROR);
    snprintf(r->dir, sizeof(r->dir), "/tmp/holdfast-net-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(r->dir));
    certificate_make(r->dir, -1, 30);
    mailbox_init(&r->core_box);
    r->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    open_net(r, options);
    if (!options->without_queue)
        rig_set_queue(r, &options->queue);
    if (!options->is_waiting)
        rig_serve(r);
    ck_assert_int_eq(pthread_create(&r->thread, NULL, run, r), 0);
}

static void
free_mail(struct mail *mail)
{
    while (mail != NULL) {
        struct parcel *parcel = CONTAINER_OF(mail, struct parcel, mail);
        mail = mail->next;
        parcel_free(parcel);
    }
}

void
rig_close(struct rig *r)
{
    pthread_mutex_lock(&r->lock);
    r->is_stopping = true;
    pthread_mutex_unlock(&r->lock);
    ring(r);
    pthread_join(r->thread, NULL);
    net_close(r->net);
    free_mail(mailbox_take(&r->core_box));
    free_mail(r->held.first);
    close(r->bell);
    char path[96];
    snprintf(path, sizeof(path), "%s/cert.pem", r->dir);
    unlink(path);
    snprintf(path, sizeof(path), "%s/key.pem", r->dir);
    unlink(path);
    rmdir(r->dir);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
}

/* --- What the core decides --- */

static void
set_route(struct rig *r, const struct net_target *target)
{
    pthread_mutex_lock(&r->lock);
    net_set_route(r->net, target);
    pthread_mutex_unlock(&r->lock);
}

void
rig_serve(struct rig *r)
{
    set_route(r, &(struct net_target){.route = NET_SERVE});
}

void
rig_no_route(struct rig *r)
{
    set_route(r, &(struct net_target){.route = NET_WAIT});
}

void
rig_relay_to(struct rig *r, uint64_t leader, const char *address, uint8_t key_byte)
{
    struct net_target target = {.route = NET_RELAY, .leader = leader};
    snprintf(target.address, sizeof(target.address), "%s", address);
    memset(target.relay_key, key_byte, sizeof(target.relay_key));
    set_route(r, &target);
}

/* With the lock. */
static void
answer_held(struct rig *r)
{
    struct mail *mail = r->held.first;
    r->held = (struct mail_chain){NULL, NULL};
    r->held_count = 0;
    while (mail != NULL) {
        struct parcel *parcel = CONTAINER_OF(mail, struct parcel, mail);
        mail = mail->next;
        answer(r, CONTAINER_OF(parcel, struct request, parcel));
    }
    net_flush(r->net);
}

void
rig_release(struct rig *r)
{
    pthread_mutex_lock(&r->lock);
    r->is_holding = r->holds_logins = false;
    answer_held(r);
    pthread_mutex_unlock(&r->lock);
}

uint64_t
rig_release_and_hold(struct rig *r)
{
    pthread_mutex_lock(&r->lock);
    answer_held(r);
    uint64_t answered = r->requests;
    pthread_mutex_unlock(&r->lock);
    return answered;
}

void
rig_hold(struct rig *r)
{
    pthread_mutex_lock(&r->lock);
    r->is_holding = true;
    pthread_mutex_unlock(&r->lock);
}

void
rig_hold_logins(struct rig *r)
{
    pthread_mutex_lock(&r->lock);
    r->holds_logins = true;
    pthread_mutex_unlock(&r->lock);
}

void
rig_deliver(struct rig *r, uint64_t conn, size_t count, size_t size)
{
    struct blob *body = blob_new(size);
    memset(body->data, 'x', size);
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < count; i++) {
        struct delivery *d = mem_calloc(1, sizeof(*d));
        d->parcel.kind = PARCEL_DELIVERY;
        d->parcel.conn = conn;
        d->has_id = true;
        d->body = blob_get(body);
        d->body_size = (uint32_t)size;
        d->type = 1;
        d->charge_bytes = (uint32_t)size + 128;
        net_send(r->net, &d->parcel);
    }
    net_flush(r->net);
    pthread_mutex_unlock(&r->lock);
    blob_put(body);
}

void
rig_close_conn(struct rig *r, uint64_t conn)
{
    struct parcel *p = mem_calloc(1, sizeof(*p));
    p->kind = PARCEL_CLOSE;
    p->conn = conn;
    pthread_mutex_lock(&r->lock);
    net_send(r->net, p);
    net_flush(r->net);
    pthread_mutex_unlock(&r->lock);
}

/* --- Conditions --- */

/* Until *value >= count. */
static void
await(struct rig *r, const uint64_t *value, uint64_t count, const char *what)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += RIG_WAIT_MS / 1000;
    pthread_mutex_lock(&r->lock);
    int result = 0;
    while (*value < count && result == 0)
        result = pthread_cond_timedwait(&r->changed, &r->lock, &until);
    uint64_t have = *value;
    pthread_mutex_unlock(&r->lock);
    ck_assert_msg(have >= count, "%s: %llu of %llu", what, (unsigned long long)have,
                  (unsigned long long)count);
}

void
rig_await_logins(struct rig *r, uint64_t count)
{
    await(r, &r->logins, count, "logins");
}

void
rig_await_requests(struct rig *r, uint64_t count)
{
    await(r, &r->requests, count, "requests");
}

void
rig_await_closed(struct rig *r, uint64_t count)
{
    await(r, &r->closed_count, count, "closed");
}

void
rig_await_held(struct rig *r, uint64_t count)
{
    await(r, &r->held_count, count, "held");
}

struct rig_closed
rig_closed_of(struct rig *r, uint64_t conn)
{
    struct rig_closed found = {0};
    unsigned count = 0;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->closed_count; i++) {
        if (r->closed[i].conn == conn) {
            found = r->closed[i];
            count++;
        }
    }
    pthread_mutex_unlock(&r->lock);
    ck_assert_uint_eq(count, 1);
    return found;
}

uint64_t
rig_last_conn(struct rig *r)
{
    pthread_mutex_lock(&r->lock);
    uint64_t conn = r->last_conn;
    pthread_mutex_unlock(&r->lock);
    return conn;
}

uint64_t
rig_read(struct rig *r, const uint64_t *value)
{
    pthread_mutex_lock(&r->lock);
    uint64_t now = *value;
    pthread_mutex_unlock(&r->lock);
    return now;
}

struct signal
rig_last_report(struct rig *r)
{
    pthread_mutex_lock(&r->lock);
    struct signal s = r->last_report;
    pthread_mutex_unlock(&r->lock);
    return s;
}

struct net_counts
rig_counts(struct rig *r)
{
    struct net_counts counts;
    net_get_counts(r->net, &counts);
    return counts;
}
