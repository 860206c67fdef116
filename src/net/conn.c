/* Connection: its life from accept to free; libevent's callbacks and the one timer.
 *
 * A callback never frees: conn_drop() closes and takes out of all lists, the worker
 * frees the dead at the end of its turn. The timer holds the nearest of several
 * deadlines (conn_deadline()); they are moved back without touching it, so when it goes
 * off early it is only set again. */
#include "net/conn.h"

#include "net/conn_steps.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <unistd.h>

static void
advance(struct conn *c)
{
    if (c->write_wants_read) {
        c->write_wants_read = false;
        conn_flush(c);
    }
    if (c->state == CONN_SNIFF)
        conn_sniff(c);
    if (c->state == CONN_TLS)
        conn_handshake(c);
    if (conn_is_reading(c))
        conn_read(c);
    else if (c->state == CONN_FLUSH || c->state == CONN_LINGER)
        conn_discard(c);
}

static void
on_readable(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    advance(ctx);
}

static void
on_writable(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    struct conn *c = ctx;
    if (c->state == CONN_TLS) {
        advance(c);
        return;
    }
    bool read_waited = c->read_wants_write;
    c->read_wants_write = false;
    conn_flush(c);
    if (read_waited && conn_is_reading(c) && !c->is_stalled)
        conn_read(c);
}

static void
on_stuck(struct conn *c)
{
    c->worker->counts.dropped_slow_total++;
    log_event(LOG_INFO, "client.slow", "conn=%llu unsent=%zu reason=%s",
              (unsigned long long)c->number, conn_unsent_bytes(c),
              "\"takes nothing, closing\"");
    conn_drop(c, "takes nothing");
}

static void
on_timer(struct timer *timer)
{
    struct conn *c = CONTAINER_OF(timer, struct conn, timer);
    uint64_t now = worker_now_ms(c->worker);
    switch (conn_what_is_due(c, now)) {
    case CONN_DUE_NOTHING:
        break;
    case CONN_DUE_LAST_WORDS:
        conn_drop(c, "last words not taken in time");
        break;
    case CONN_DUE_LOGIN:
        conn_drop(c, "no login in time");
        break;
    case CONN_DUE_MESSAGE:
        conn_close_with(c, 1008, CONN_CLOSE_1008);
        break;
    case CONN_DUE_STUCK:
        on_stuck(c);
        break;
    case CONN_DUE_PING:
        conn_put_control(c, WS_PING, slice_of(NULL, 0));
        c->active_ms = now;
        break;
    }
    if (c->state != CONN_DEAD)
        conn_set_deadline(c);
}

static struct conn *
make(struct arrival *a)
{
    struct worker *w = a->worker;
    struct conn *c = mem_try_calloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->worker = w;
    c->fd = a->fd;
    c->number = ++w->next_conn;
    c->accepted_ms = a->accepted_ms;
    c->active_ms = c->taken_ms = worker_now_ms(w);
    c->admission = a->admission;
    c->timer.cb = on_timer;
    int result = event_assign(&c->read_event, w->base, c->fd, EV_READ | EV_PERSIST,
                              on_readable, c);
    assert(result == 0);
    result = event_assign(&c->write_event, w->base, c->fd, EV_WRITE | EV_PERSIST,
                          on_writable, c);
    assert(result == 0);
    a->fd = -1;
    a->admission = NULL;
    return c;
}

void
conn_start(struct arrival *a)
{
    struct worker *w = a->worker;
    struct conn *c = make(a);
    arrival_free(a);
    if (c == NULL)
        return;
    map_insert(&w->by_number, &c->in_map, map_hash_u64(c->number));
    list_push_back(&w->conns, &c->in_conns);
    w->counts.open_clients++;
    conn_want_read(c, true);
    if (c->state != CONN_DEAD)
        conn_set_deadline(c);
}

void
conn_set_all_deadlines(struct worker *w)
{
    LIST_FOREACH (node, &w->conns) {
        conn_set_deadline(CONTAINER_OF(node, struct conn, in_conns));
    }
}

void
conn_drop_all(struct worker *w, const char *cause)
{
    LIST_FOREACH_SAFE (node, &w->conns) {
        conn_drop(CONTAINER_OF(node, struct conn, in_conns), cause);
    }
}

void
conn_free(struct conn *c)
{
    assert(c->state == CONN_DEAD);
    SSL_free(c->ssl);
    directory_put(c->queue);
    if (c->queue != NULL)
        ws_decoder_fini(&c->decoder);
    bytes_fini(&c->rest);
    bytes_fini(&c->out);
    mem_free(c->marks.items);
    mem_free(c->closed);
    mem_free(c);
}
