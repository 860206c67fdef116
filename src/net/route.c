/* Route: see the header.
 *
 * An arrival waits at most LIMIT_RELAY_WAIT_MS, counted from accept(), for a leader to
 * be known, for its name to be looked up, and for a connection to it; when a connection
 * is refused (the leader died, and the news is not here yet) it waits again, because
 * nothing was read from its client so far. All that wait try again after RETRY_MS, and
 * at once when the route changes.
 *
 * A host written as a number is converted here; names go to the resolver, and the
 * answer is good for ADDRESS_MS, so that a thousand arrivals ask once. */
#include "net/route.h"

#include "base/log.h"
#include "base/mem.h"
#include "net/conn.h"
#include "net/relay.h"

#include <assert.h>
#include <string.h>

#define RETRY_MS   200
#define ADDRESS_MS 1000

static void
on_too_late(struct timer *timer)
{
    struct arrival *a = CONTAINER_OF(timer, struct arrival, timer);
    list_remove(&a->in_waiting);
    arrival_free(a);
}

static void
wait_for_route(struct arrival *a)
{
    struct worker *w = a->worker;
    list_push_back(&w->route.waiting, &a->in_waiting);
    a->timer.cb = on_too_late;
    timers_set(&w->timers, &a->timer, a->accepted_ms + LIMIT_RELAY_WAIT_MS);
}

static void
retry_later(struct worker *w)
{
    if (!timer_is_set(&w->route.retry))
        timers_set(&w->timers, &w->route.retry, worker_now_ms(w) + RETRY_MS);
}

static void
on_relay_failed(struct arrival *a)
{
    a->worker->route.good_until_ms =
        a->worker->route.good_until_ms == UINT64_MAX ? UINT64_MAX : 0;
    wait_for_route(a);
    retry_later(a->worker);
}

static void
ask_resolver(struct worker *w)
{
    struct route *r = &w->route;
    if (r->is_asking)
        return;
    r->is_asking = resolver_ask(w->shared->resolver, w->index, r->generation,
                                r->target.address) == ST_OK;
    if (!r->is_asking)
        retry_later(w);
}

void
route_arrival(struct arrival *a)
{
    struct worker *w = a->worker;
    if (w->is_draining) {
        arrival_free(a);
        return;
    }
    switch (w->route.target.route) {
    case NET_SERVE:
        conn_start(a);
        break;
    case NET_WAIT:
        wait_for_route(a);
        break;
    case NET_RELAY:
        if (worker_now_ms(w) < w->route.good_until_ms) {
            relay_start(a, on_relay_failed);
        } else {
            wait_for_route(a);
            ask_resolver(w);
        }
        break;
    }
}

/* Each of those that wait goes its way again; some may come back. */
static void
release_waiting(struct worker *w)
{
    struct list old;
    list_init(&old);
    struct list_node *node;
    while ((node = list_pop_front(&w->route.waiting)) != NULL)
        list_push_back(&old, node);
    while ((node = list_pop_front(&old)) != NULL) {
        struct arrival *a = CONTAINER_OF(node, struct arrival, in_waiting);
        timers_clear(&w->timers, &a->timer);
        route_arrival(a);
    }
}

static void
on_retry(struct timer *timer)
{
    struct worker *w = CONTAINER_OF(timer, struct worker, route.retry);
    release_waiting(w);
}

void
route_init(struct worker *w)
{
    w->route.target.route = NET_WAIT;
    w->route.retry.cb = on_retry;
}

static void
set_addresses(struct route *r)
{
    char host[128];
    char port[8];
    r->address_count = 0;
    r->good_until_ms = 0;
    r->is_asking = false;
    if (r->target.route == NET_RELAY &&
        socket_split(r->target.address, host, port) == ST_OK &&
        socket_look_up(host, port, true, r->addresses, CONTROL_ADDRESSES,
                       &r->address_count) == ST_OK)
        r->good_until_ms = UINT64_MAX;
}

void
route_set(struct worker *w, const struct net_target *target)
{
    struct route *r = &w->route;
    struct net_target old = r->target;
    r->target = *target;
    r->target.address[sizeof(r->target.address) - 1] = '\0';
    r->generation++;
    set_addresses(r);
    if (old.route == NET_SERVE && target->route != NET_SERVE)
        conn_drop_all(w, "this node no longer leads");
    /* Its own address is asked for again at each connection, so only who leads counts.
     */
    if (old.route == NET_RELAY &&
        (target->route != NET_RELAY || target->leader != old.leader))
        relay_close_all(w);
    release_waiting(w);
}

void
route_resolved(struct worker *w, const struct control_resolved *answer)
{
    struct route *r = &w->route;
    if (answer->generation != r->generation)
        return; /* of a route that is gone */
    r->is_asking = false;
    r->address_count = answer->count;
    memcpy(r->addresses, answer->addresses, sizeof(r->addresses));
    if (answer->count == 0) {
        log_event(LOG_WARN, "relay.unresolved", "leader=%llu address=%s",
                  (unsigned long long)r->target.leader, log_quote(r->target.address));
        retry_later(w);
        return;
    }
    r->good_until_ms = worker_now_ms(w) + ADDRESS_MS;
    release_waiting(w);
}

size_t
route_close_waiting(struct worker *w, size_t count)
{
    size_t closed = 0;
    while (closed < count && !list_is_empty(&w->route.waiting)) {
        struct list_node *node = list_pop_front(&w->route.waiting);
        arrival_free(CONTAINER_OF(node, struct arrival, in_waiting));
        closed++;
    }
    return closed;
}
