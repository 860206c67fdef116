/* Relay: two sockets and two directions.
 *
 *   CONNECTING ──connected──► OPEN ──both directions ended, or an error──► DEAD
 *       │ refused, timed out: next address; none left: the arrival goes back
 *       └──► DEAD
 *
 * What was read is written at once; what the other side does not take stays in the
 * direction's buffer, and nothing more is read until it is gone. So a buffer never
 * holds more than one reading (WORKER_BUFFER_BYTES, under LIMIT_RELAY_BUFFER_BYTES),
 * and most relays have none.
 *
 * The end of a stream is passed on behind the last byte (shutdown), so a client that
 * has closed its side can still get its answer. An error on either side closes both.
 *
 * The client's first bytes must not be a PROXY header: that is another relay, which
 * takes us for the leader, and passing it on could go round in a circle. */
#include "net/relay.h"

#include "base/log.h"
#include "base/mem.h"
#include "proto/proxy.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define READS_A_TURN (LIMIT_RELAY_BUFFER_BYTES / WORKER_BUFFER_BYTES)

enum relay_state {
    RELAY_CONNECTING,
    RELAY_OPEN,
    RELAY_DEAD,
};

struct relay;

struct side {
    struct relay *relay;
    struct side *other;
    int fd;
    bool wants_read;
    bool wants_write;
    bool has_ended;    /* its end of stream came */
    bool is_shut;      /* and was passed on, here */
    struct bytes rest; /* for this side, from the other */
    size_t rest_at;
    struct event read_event;
    struct event write_event;
};

struct relay {
    struct list_node in_relays;
    struct worker *worker;
    enum relay_state state;
    bool has_first;          /* the client's first bytes were looked at */
    struct arrival *arrival; /* CONNECTING */
    relay_failed_cb *failed_cb;
    struct timer timer; /* CONNECTING: until when */
    size_t next_address;
    struct side client;
    struct side leader;
};

static void on_readable(evutil_socket_t fd, short what, void *ctx);
static void on_writable(evutil_socket_t fd, short what, void *ctx);

static void
close_side(struct side *s)
{
    if (s->fd < 0)
        return;
    if (s->wants_read)
        (void)event_del(&s->read_event);
    if (s->wants_write)
        (void)event_del(&s->write_event);
    s->wants_read = s->wants_write = false;
    (void)close(s->fd);
    s->fd = -1;
}

static void
end(struct relay *r, const char *cause)
{
    if (r->state == RELAY_DEAD)
        return;
    struct worker *w = r->worker;
    log_event(LOG_DEBUG, "relay.closed", "cause=%s", log_quote(cause));
    if (r->state == RELAY_OPEN)
        w->counts.open_relays--;
    r->state = RELAY_DEAD;
    close_side(&r->client);
    close_side(&r->leader);
    arrival_free(r->arrival);
    r->arrival = NULL;
    timers_clear(&w->timers, &r->timer);
    list_remove(&r->in_relays);
    list_push_back(&w->dead_relays, &r->in_relays);
}

static void
want(struct side *s, bool *has, struct event *event, bool wants)
{
    if (*has == wants)
        return;
    int result = wants ? event_add(event, NULL) : event_del(event);
    *has = wants && result == 0;
    if (result != 0)
        end(s->relay, "no memory to watch a socket");
}

static void
want_read(struct side *s, bool wants)
{
    if (s->relay->state != RELAY_DEAD)
        want(s, &s->wants_read, &s->read_event, wants);
}

static void
want_write(struct side *s, bool wants)
{
    if (s->relay->state != RELAY_DEAD)
        want(s, &s->wants_write, &s->write_event, wants);
}

/* Bytes that the socket took. */
static size_t
write_some(struct side *to, const uint8_t *data, size_t size)
{
    ssize_t sent = send(to->fd, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        end(to->relay, "write failed");
        return 0;
    }
    size_t taken = sent > 0 ? (size_t)sent : 0;
    if (to == &to->relay->client)
        to->relay->worker->counts.sent_bytes_total += taken;
    return taken;
}

/* The other side's end of stream, once all that came before it is written. */
static void
pass_end(struct side *to)
{
    if (!to->other->has_ended || to->is_shut || to->rest.size > 0)
        return;
    to->is_shut = true;
    if (to->other->is_shut)
        end(to->relay, "both directions ended");
    else if (shutdown(to->fd, SHUT_WR) != 0)
        end(to->relay, "reset");
}

static void
write_all(struct side *to, const uint8_t *data, size_t size)
{
    size_t taken = write_some(to, data, size);
    if (to->relay->state == RELAY_DEAD || taken == size)
        return;
    bytes_put(&to->rest, data + taken, size - taken);
    want_read(to->other, false);
    want_write(to, true);
}

static bool
is_acceptable(struct side *from, size_t size)
{
    struct relay *r = from->relay;
    if (from != &r->client || r->has_first)
        return true;
    r->has_first = true;
    struct slice first = slice_of(r->worker->buffer, size);
    return first.data[0] != '\r' || !proxy_is_header(first);
}

/* One reading from a side, to the other. False: no more now. */
static bool
pass_some(struct side *from)
{
    struct worker *w = from->relay->worker;
    ssize_t got = recv(from->fd, w->buffer, WORKER_BUFFER_BYTES, 0);
    if (got < 0) {
        if (errno != EAGAIN && errno != EINTR)
            end(from->relay, "read failed");
        return false;
    }
    if (got == 0) {
        from->has_ended = true;
        want_read(from, false);
        if (from->relay->state != RELAY_DEAD)
            pass_end(from->other);
        return false;
    }
    if (from == &from->relay->client)
        w->counts.received_bytes_total += (uint64_t)got;
    if (is_acceptable(from, (size_t)got))
        write_all(from->other, w->buffer, (size_t)got);
    else
        end(from->relay, "a relay that is relayed");
    return (size_t)got == WORKER_BUFFER_BYTES;
}

static void
pass(struct side *from)
{
    bool has_more = true;
    for (unsigned i = 0; i < READS_A_TURN && has_more; i++) {
        if (from->relay->state != RELAY_OPEN || from->other->rest.size > 0)
            return;
        has_more = pass_some(from);
    }
}

static void
drain_rest(struct side *to)
{
    to->rest_at +=
        write_some(to, to->rest.data + to->rest_at, to->rest.size - to->rest_at);
    if (to->relay->state == RELAY_DEAD || to->rest_at < to->rest.size)
        return;
    bytes_fini(&to->rest);
    to->rest_at = 0;
    want_write(to, false);
    if (!to->other->has_ended)
        want_read(to->other, true);
    if (to->relay->state != RELAY_DEAD)
        pass_end(to);
}

static void
init_side(struct relay *r, struct side *s, struct side *other, int fd)
{
    s->relay = r;
    s->other = other;
    s->fd = fd;
    int result = event_assign(&s->read_event, r->worker->base, fd, EV_READ | EV_PERSIST,
                              on_readable, s);
    assert(result == 0);
    result = event_assign(&s->write_event, r->worker->base, fd, EV_WRITE | EV_PERSIST,
                          on_writable, s);
    assert(result == 0);
}

/* --- Connecting --- */

static void
give_back(struct relay *r, const char *cause)
{
    struct arrival *a = r->arrival;
    r->arrival = NULL;
    end(r, cause);
    r->failed_cb(a);
}

/* Begins with the next address that gives a socket; gives the arrival back when there
 * is none. */
static void
try_next(struct relay *r)
{
    const struct route *route = &r->worker->route;
    close_side(&r->leader);
    while (r->next_address < route->address_count) {
        int fd = socket_connect(&route->addresses[r->next_address++]);
        if (fd < 0)
            continue;
        init_side(r, &r->leader, &r->client, fd);
        want_write(&r->leader, true);
        return;
    }
    give_back(r, "no leader could be reached");
}

/* What goes first: who the client is, and since when it waits. */
static void
make_header(struct relay *r, struct bytes *out)
{
    struct worker *w = r->worker;
    struct proxy_header header = {
        .source = r->arrival->from,
        .node = w->shared->node,
        .counter = atomic_fetch_add(&w->shared->relay_counter, 1),
        .age_ms = (uint32_t)(worker_now_ms(w) - r->arrival->accepted_ms),
    };
    socklen_t size = sizeof(header.destination);
    (void)getsockname(r->arrival->fd, (struct sockaddr *)&header.destination, &size);
    proxy_encode(&header, w->route.target.relay_key, out);
}

static void
open_relay(struct relay *r)
{
    struct worker *w = r->worker;
    want_write(&r->leader, false);
    if (r->state == RELAY_DEAD)
        return;
    timers_clear(&w->timers, &r->timer);
    struct bytes header = {NULL, 0, 0};
    make_header(r, &header);
    r->state = RELAY_OPEN;
    w->counts.open_relays++;
    init_side(r, &r->client, &r->leader, r->arrival->fd);
    r->arrival->fd = -1; /* the side's now */
    arrival_free(r->arrival);
    r->arrival = NULL;
    socket_tune(r->leader.fd);
    write_all(&r->leader, header.data, header.size);
    bytes_fini(&header);
    want_read(&r->leader, true);
    if (r->leader.rest.size == 0)
        want_read(&r->client, true);
}

static void
on_connected(struct relay *r)
{
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(r->leader.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ||
        error != 0)
        try_next(r);
    else
        open_relay(r);
}

static void
on_timer(struct timer *timer)
{
    struct relay *r = CONTAINER_OF(timer, struct relay, timer);
    end(r, "the leader did not answer in time");
}

static void
on_readable(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    pass(ctx);
}

static void
on_writable(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    struct side *s = ctx;
    if (s->relay->state == RELAY_CONNECTING)
        on_connected(s->relay);
    else if (s->relay->state == RELAY_OPEN)
        drain_rest(s);
}

void
relay_start(struct arrival *a, relay_failed_cb *failed_cb)
{
    struct worker *w = a->worker;
    struct relay *r = mem_try_calloc(1, sizeof(*r));
    if (r == NULL) {
        arrival_free(a);
        return;
    }
    r->worker = w;
    r->arrival = a;
    r->failed_cb = failed_cb;
    r->timer.cb = on_timer;
    r->client.fd = r->leader.fd = -1;
    r->client.relay = r->leader.relay = r;
    list_push_back(&w->relays, &r->in_relays);
    timers_clear(&w->timers, &a->timer);
    timers_set(&w->timers, &r->timer, a->accepted_ms + LIMIT_RELAY_WAIT_MS);
    try_next(r);
}

void
relay_close_all(struct worker *w)
{
    LIST_FOREACH_SAFE (node, &w->relays) {
        struct relay *r = CONTAINER_OF(node, struct relay, in_relays);
        if (r->state == RELAY_CONNECTING)
            give_back(r, "another leader");
        else
            end(r, "another leader");
    }
}

size_t
relay_close_some(struct worker *w, size_t count)
{
    size_t closed = 0;
    while (closed < count && !list_is_empty(&w->relays)) {
        struct relay *r = CONTAINER_OF(list_first(&w->relays), struct relay, in_relays);
        end(r, "drain");
        closed++;
    }
    return closed;
}

void
relay_reap(struct worker *w)
{
    struct list_node *node;
    while ((node = list_pop_front(&w->dead_relays)) != NULL) {
        struct relay *r = CONTAINER_OF(node, struct relay, in_relays);
        assert(r->arrival == NULL);
        bytes_fini(&r->client.rest);
        bytes_fini(&r->leader.rest);
        mem_free(r);
    }
}
