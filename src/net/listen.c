/* Listen: one thread accepts for all, so that connections are spread evenly and a port
 * that another process holds is an error (with SO_REUSEPORT it would be shared).
 *
 * No descriptors left: one is kept in reserve. It is closed so that the waiting client
 * can be accepted and closed (it learns at once, rather than hang in the backlog), then
 * taken again; and accepting pauses for PAUSE_MS, because the listening socket stays
 * readable and the loop would spin. */
#include "net/listen.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ACCEPTS_A_TURN 64
#define PAUSE_MS       100
#define LOG_EVERY_MS   10000

struct listener {
    struct acceptor *acceptor;
    int fd;
    bool is_added;
    struct event event;
};

struct acceptor {
    struct worker *worker; /* NULL until started */
    struct listener listeners[LISTEN_MAX];
    uint16_t ports[LISTEN_MAX];
    size_t count;
    int reserve; /* a descriptor to have one when there are none */
    unsigned turn;
    struct timer resume;
    uint64_t logged_ms;
};

static int
open_reserve(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

enum status
acceptor_new(const char *const *addresses, size_t count, struct acceptor **ret_acceptor)
{
    if (count > LISTEN_MAX)
        return ST_RANGE;
    struct acceptor *a = mem_calloc(1, sizeof(*a));
    a->reserve = open_reserve();
    for (size_t i = 0; i < count; i++) {
        struct listener *l = &a->listeners[i];
        l->acceptor = a;
        enum status status = socket_listen(addresses[i], &l->fd);
        if (status != ST_OK) {
            acceptor_free(a);
            return status;
        }
        a->ports[i] = socket_port(l->fd);
        a->count++;
    }
    *ret_acceptor = a;
    return ST_OK;
}

/* Not more than one line in LOG_EVERY_MS: this happens in floods. */
static void
log_refusal(struct acceptor *a, const char *reason)
{
    uint64_t now = worker_now_ms(a->worker);
    if (a->logged_ms != 0 && now - a->logged_ms < LOG_EVERY_MS)
        return;
    a->logged_ms = now;
    log_event(LOG_WARN, "client.refused", "reason=%s", log_quote(reason));
}

static void
set_listening(struct acceptor *a, bool is_on)
{
    for (size_t i = 0; i < a->count; i++) {
        struct listener *l = &a->listeners[i];
        if (l->is_added == is_on || l->fd < 0)
            continue;
        int result = is_on ? event_add(&l->event, NULL) : event_del(&l->event);
        l->is_added = is_on && result == 0;
    }
}

static void
on_resume(struct timer *timer)
{
    struct acceptor *a = CONTAINER_OF(timer, struct acceptor, resume);
    if (a->reserve < 0)
        a->reserve = open_reserve();
    set_listening(a, true);
}

static void
pause_accepting(struct listener *l, int error)
{
    struct acceptor *a = l->acceptor;
    log_refusal(a, strerror(error));
    if (a->reserve >= 0) {
        (void)close(a->reserve);
        int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            (void)close(fd);
        a->reserve = open_reserve();
    }
    set_listening(a, false);
    timers_set(&a->worker->timers, &a->resume, worker_now_ms(a->worker) + PAUSE_MS);
}

static void
hand_out(struct acceptor *a, int fd, const struct sockaddr_storage *from)
{
    struct worker *w = a->worker;
    w->counts.accepted_total++;
    struct admission_entry *admission = admission_enter(&w->shared->admission, from);
    struct arrival *arrival =
        admission == NULL ? NULL : mem_try_calloc(1, sizeof(*arrival));
    if (arrival == NULL) {
        log_refusal(a, "too many connections that have not logged in");
        admission_leave(&w->shared->admission, admission);
        (void)close(fd);
        return;
    }
    socket_tune(fd);
    unsigned index = a->turn++ % w->shared->worker_count;
    arrival->control.kind = CONTROL_ARRIVAL;
    arrival->worker = &w->shared->workers[index];
    arrival->admission = admission;
    arrival->accepted_ms = worker_now_ms(w);
    arrival->fd = fd;
    arrival->from = *from;
    mail_chain_add(&w->hand_out[index], &arrival->control.mail);
}

static void
on_acceptable(evutil_socket_t fd, short what, void *ctx)
{
    (void)what;
    struct listener *l = ctx;
    for (unsigned i = 0; i < ACCEPTS_A_TURN; i++) {
        struct sockaddr_storage from = {0};
        socklen_t size = sizeof(from);
        int client =
            accept4(fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client >= 0) {
            hand_out(l->acceptor, client, &from);
            continue;
        }
        int error = errno;
        if (error == EAGAIN)
            return;
        if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
            pause_accepting(l, error);
            return;
        }
        /* ECONNABORTED and other troubles of the client that came: the next one. */
    }
}

enum status
acceptor_start(struct acceptor *a, struct worker *w)
{
    a->worker = w;
    a->resume.cb = on_resume;
    for (size_t i = 0; i < a->count; i++) {
        struct listener *l = &a->listeners[i];
        int result = event_assign(&l->event, w->base, l->fd, EV_READ | EV_PERSIST,
                                  on_acceptable, l);
        assert(result == 0);
        if (event_add(&l->event, NULL) != 0)
            return ST_IO;
        l->is_added = true;
    }
    return ST_OK;
}

void
acceptor_stop(struct acceptor *a)
{
    if (a->worker != NULL) {
        set_listening(a, false);
        timers_clear(&a->worker->timers, &a->resume);
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->listeners[i].fd >= 0)
            (void)close(a->listeners[i].fd);
        a->listeners[i].fd = -1;
    }
}

void
acceptor_free(struct acceptor *a)
{
    if (a == NULL)
        return;
    acceptor_stop(a);
    if (a->reserve >= 0)
        (void)close(a->reserve);
    mem_free(a);
}

uint16_t
acceptor_port(const struct acceptor *a, size_t index)
{
    return index < a->count ? a->ports[index] : 0;
}
