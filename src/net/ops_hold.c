/* Ops hold: see ops_hold.h.
 *
 * libevent's HTTP server bounds heads, bodies and idle times, but not how many
 * connections there are nor how long one lasts, and it tells nobody when one ends. So
 * each bufferevent that it is given is held here too. The tick finds those that it has
 * let go of (their callbacks are gone) and shuts down what has lasted too long, which
 * the server then sees as the end of the connection. When all places are taken the
 * oldest ones are ended, half of all, and after a moment accepting goes on: whoever
 * asks while others only hold connections open waits for a few milliseconds. */
#include "net/ops_hold.h"

#include <assert.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>

#define ENDED_AT_ONCE     (LIMIT_OPS_CONNECTIONS / 2)
#define PAUSE_US          2000
#define SEND_BUFFER_BYTES (128 << 10)

uint64_t
ops_now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool
is_let_go(struct bufferevent *bev)
{
    bufferevent_event_cb event_cb = NULL;
    bufferevent_getcb(bev, NULL, NULL, &event_cb, NULL);
    return event_cb == NULL;
}

/* What the client did not read is thrown away: the kernel keeps nothing for it. */
static void
shut_down(struct ops_held *held)
{
    const struct linger none = {.l_onoff = 1};
    int fd = bufferevent_getfd(held->bev);
    held->is_ended = true;
    if (fd < 0)
        return;
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    (void)shutdown(fd, SHUT_RDWR);
}

static void
sweep(struct ops_hold *h, uint64_t now_ms)
{
    for (size_t i = 0; i < LIMIT_OPS_CONNECTIONS; i++) {
        struct ops_held *held = &h->held[i];
        if (held->bev == NULL)
            continue;
        if (is_let_go(held->bev)) {
            bufferevent_decref(held->bev); /* closes the socket */
            held->bev = NULL;
            h->count--;
        } else if (now_ms - held->since_ms > LIMIT_OPS_LIFE_MS) {
            shut_down(held);
        }
    }
}

static void
end_oldest(struct ops_hold *h)
{
    struct ops_held *oldest = NULL;
    for (size_t i = 0; i < LIMIT_OPS_CONNECTIONS; i++) {
        struct ops_held *held = &h->held[i];
        if (held->bev != NULL && !held->is_ended &&
            (oldest == NULL || held->since_ms < oldest->since_ms))
            oldest = held;
    }
    if (oldest != NULL)
        shut_down(oldest);
}

static void on_resume(evutil_socket_t fd, short what, void *ctx);

/* If the pause cannot be had, the owner's tick ends it. */
static void
pause_accepting(struct ops_hold *h)
{
    const struct timeval pause = {.tv_usec = PAUSE_US};
    (void)event_base_once(evconnlistener_get_base(h->listener), -1, EV_TIMEOUT,
                          on_resume, h, &pause);
}

static void
on_resume(evutil_socket_t fd, short what, void *ctx)
{
    struct ops_hold *h = ctx;
    (void)fd;
    (void)what;
    ops_hold_tick(h, ops_now_ms());
    if (h->count == LIMIT_OPS_CONNECTIONS)
        pause_accepting(h); /* the server has not seen the ends yet */
}

static void
hold(struct ops_hold *h, struct bufferevent *bev, uint64_t now_ms)
{
    size_t i = 0;
    while (i < LIMIT_OPS_CONNECTIONS && h->held[i].bev != NULL)
        i++;
    assert(i < LIMIT_OPS_CONNECTIONS); /* else we do not accept */
    bufferevent_incref(bev);
    h->held[i] = (struct ops_held){.bev = bev, .since_ms = now_ms};
    h->count++;
}

/* The server calls it for each connection, after accept(). */
static struct bufferevent *
make_bufferevent(struct event_base *base, void *ctx)
{
    struct ops_hold *h = ctx;
    uint64_t now_ms = ops_now_ms();
    struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    sweep(h, now_ms);
    if (bev == NULL)
        return NULL;
    hold(h, bev, now_ms);
    if (h->count == LIMIT_OPS_CONNECTIONS) {
        (void)evconnlistener_disable(h->listener);
        for (size_t i = 0; i < ENDED_AT_ONCE; i++)
            end_oldest(h);
        pause_accepting(h);
    }
    return bev;
}

/* No descriptors, mostly, which the clients' listener says in the log. The tick tries
 * again. */
static void
on_accept_error(struct evconnlistener *listener, void *ctx)
{
    (void)ctx; /* the server's */
    (void)evconnlistener_disable(listener);
}

/* For all that are accepted: what waits in the kernel for a client that does not read
 * is little, and goes soon after us. */
static void
tune(int fd)
{
    const unsigned timeout_ms = LIMIT_OPS_IDLE_SECS * 1000;
    const int size = SEND_BUFFER_BYTES;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

void
ops_hold_begin(struct ops_hold *h, struct evhttp *http, struct evconnlistener *listener)
{
    tune(evconnlistener_get_fd(listener));
    h->listener = listener;
    evhttp_set_bevcb(http, make_bufferevent, h);
    evconnlistener_set_error_cb(listener, on_accept_error);
}

void
ops_hold_tick(struct ops_hold *h, uint64_t now_ms)
{
    sweep(h, now_ms);
    if (h->count < LIMIT_OPS_CONNECTIONS)
        (void)evconnlistener_enable(h->listener);
}

void
ops_hold_end(struct ops_hold *h)
{
    sweep(h, 0);
    assert(h->count == 0);
}
