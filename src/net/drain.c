/* Drain: every TICK_MS as many as keep what is left in proportion to the time left. */
#include "net/drain.h"

#include "net/conn_steps.h"
#include "net/listen.h"
#include "net/relay.h"
#include "net/route.h"

#include "base/log.h"

#define TICK_MS 20

static size_t
finish_conns(struct worker *w, size_t count)
{
    size_t done = 0;
    LIST_FOREACH_SAFE (node, &w->conns) {
        struct conn *c = CONTAINER_OF(node, struct conn, in_conns);
        if (done == count)
            break;
        if (c->state >= CONN_FLUSH)
            continue; /* on its way out */
        if (c->state == CONN_SNIFF || c->state == CONN_TLS)
            conn_drop(c, "drain");
        else
            conn_finish(c, CONN_CLOSE_NONE);
        done++;
    }
    return done;
}

static size_t
count_left(const struct worker *w)
{
    size_t left = 0;
    LIST_FOREACH (node, &w->relays) {
        left++;
    }
    LIST_FOREACH (node, &w->conns) {
        left += CONTAINER_OF(node, struct conn, in_conns)->state < CONN_FLUSH;
    }
    return left;
}

static void
close_some(struct worker *w, size_t count)
{
    count -= relay_close_some(w, count);
    (void)finish_conns(w, count);
}

static void
on_tick(struct timer *timer)
{
    struct worker *w = CONTAINER_OF(timer, struct worker, drain_timer);
    uint64_t now = worker_now_ms(w);
    if (now >= w->drain_end_ms) {
        close_some(w, SIZE_MAX);
        return;
    }
    size_t left = count_left(w);
    size_t keep = (size_t)(w->drain_count * (w->drain_end_ms - now) / w->drain_ms);
    if (left > keep)
        close_some(w, left - keep);
    timers_set(&w->timers, timer, now + TICK_MS);
}

void
drain_init(struct worker *w)
{
    w->drain_timer.cb = on_tick;
}

void
drain_begin(struct worker *w, uint64_t drain_ms)
{
    w->is_draining = true;
    if (w->acceptor != NULL)
        acceptor_stop(w->acceptor);
    (void)route_close_waiting(w, SIZE_MAX);
    w->drain_end_ms = worker_now_ms(w) + drain_ms;
    w->drain_ms = drain_ms;
    w->drain_count = count_left(w);
    on_tick(&w->drain_timer);
}
