/* Thread: turns of a loop.
 *
 *   poll ──► events: accept, read, write; mail from the core and from other threads
 *     ▲                         │
 *     │                         ▼
 *     └── end of turn: timers, connections that wait for their turn, flush of all new
 *         output, freeing of the dead, one chain to the core and one bell
 *
 * Everything that costs a system call or a wake-up is gathered for the end of the turn.
 * A turn that leaves connections on the ready list polls without waiting. */
#include "net/thread.h"

#include "net/conn_steps.h"
#include "net/deliver.h"
#include "net/drain.h"
#include "net/relay.h"
#include "net/route.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* --- Mail --- */

static void
close_everything(struct worker *w)
{
    w->is_draining = true; /* nothing that arrives now begins */
    relay_close_some(w, SIZE_MAX);
    conn_drop_all(w, "the node stops");
    route_close_waiting(w, SIZE_MAX);
}

static void
on_control(struct worker *w, struct control *control)
{
    switch (control->kind) {
    case CONTROL_ARRIVAL:
        route_arrival(CONTAINER_OF(control, struct arrival, control));
        return; /* taken */
    case CONTROL_ROUTE:
        route_set(w, &CONTAINER_OF(control, struct control_route, control)->target);
        break;
    case CONTROL_RESOLVED:
        route_resolved(w, CONTAINER_OF(control, struct control_resolved, control));
        break;
    case CONTROL_LIMITS:
        conn_set_all_deadlines(w);
        break;
    case CONTROL_DRAIN:
        drain_begin(w, CONTAINER_OF(control, struct control_drain, control)->drain_ms);
        break;
    case CONTROL_STOP:
        w->is_stopping = true;
        close_everything(w);
        break;
    }
    mem_free(control);
}

static void
on_bell(evutil_socket_t fd, short what, void *ctx)
{
    (void)what;
    struct worker *w = ctx;
    uint64_t rings;
    ssize_t got = read(fd, &rings, sizeof(rings)); /* before looking: none is missed */
    (void)got;
    struct mail *mail = mailbox_take(&w->controls);
    while (mail != NULL) {
        struct control *control = CONTAINER_OF(mail, struct control, mail);
        mail = mail->next;
        on_control(w, control);
    }
    deliver_parcels(w, mailbox_take(&w->parcels));
}

/* --- The end of a turn --- */

/* Those that come again meanwhile have their turn in the next one. */
static void
run_ready(struct worker *w)
{
    struct list now;
    struct list_node *node;
    list_init(&now);
    while ((node = list_pop_front(&w->ready)) != NULL)
        list_push_back(&now, node);
    while ((node = list_pop_front(&now)) != NULL)
        conn_resume(CONTAINER_OF(node, struct conn, in_ready));
}

static void
flush_dirty(struct worker *w)
{
    struct list_node *node;
    while ((node = list_first(&w->dirty)) != NULL)
        conn_flush(CONTAINER_OF(node, struct conn, in_dirty)); /* takes it out */
}

static void
reap(struct worker *w)
{
    struct list_node *node;
    while ((node = list_pop_front(&w->dead)) != NULL)
        conn_free(CONTAINER_OF(node, struct conn, in_conns));
    relay_reap(w);
}

static void
send_mail(struct worker *w)
{
    struct shared *s = w->shared;
    if (mailbox_put(s->core_box, &w->to_core))
        s->bell_cb(s->bell_ctx);
    for (unsigned i = 0; i < s->worker_count; i++)
        if (mailbox_put(&s->workers[i].controls, &w->hand_out[i]))
            worker_ring(&s->workers[i]);
}

static void
end_turn(struct worker *w)
{
    timers_run(&w->timers, worker_now_ms(w));
    run_ready(w);
    flush_dirty(w);
    reap(w);
    worker_publish_counts(w); /* before the core hears of what was counted */
    if (!w->is_stopping)
        send_mail(w); /* else worker_fini() frees it */
    w->handshakes = 0;
    w->now_ms = 0;
}

static void *
run(void *ctx)
{
    struct worker *w = ctx;
    while (!w->is_stopping) {
        int flags = EVLOOP_ONCE | (list_is_empty(&w->ready) ? 0 : EVLOOP_NONBLOCK);
        if (event_base_loop(w->base, flags) < 0) {
            log_event(LOG_ERROR, "net.failed", "thread=%u errno=%d reason=%s", w->index,
                      errno, "\"the event loop, stopping\"");
            abort();
        }
        end_turn(w);
    }
    (void)event_del(&w->bell_event);
    return NULL;
}

/* Signals are the main thread's; and a write to a socket that was reset must not kill.
 */
static int
create(struct worker *w)
{
    sigset_t all;
    sigset_t old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int result = pthread_create(&w->thread, NULL, run, w);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return result;
}

enum status
thread_start(struct worker *w, struct acceptor *acceptor)
{
    route_init(w);
    drain_init(w);
    int result = event_assign(&w->bell_event, w->base, w->bell, EV_READ | EV_PERSIST,
                              on_bell, w);
    assert(result == 0);
    if (event_add(&w->bell_event, NULL) != 0)
        return ST_IO;
    w->acceptor = acceptor;
    if (acceptor != NULL && acceptor_start(acceptor, w) != ST_OK)
        return ST_IO;
    return create(w) == 0 ? ST_OK : ST_IO;
}

void
thread_join(struct worker *w)
{
    int result = pthread_join(w->thread, NULL);
    assert(result == 0);
}
