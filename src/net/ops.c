/* Ops: see ops.h.
 *
 * Connections are bounded in ops_hold.c. One snapshot is asked for at a time. A request
 * that comes while one is under way may be newer than it, and waits for the next. */
#include "net/ops.h"

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/ops_hold.h"
#include "net/socket.h"
#include "net/worker.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SWEEP_MS     100
#define BACKLOG      128
#define LOG_EVERY_MS 10000
#define ALL_METHODS  0x1ff /* so that we say 405 and not the server 501 */
#define PAGES_MAX    16

/* A request that waits for a snapshot. */
struct waiting {
    struct list_node in_list;
    struct evhttp_request *request;
    const struct ops_page *page;
    uint64_t ask; /* the snapshot that is new enough */
    uint64_t since_ms;
};

struct ops {
    struct ops_options options;
    pthread_t thread;
    bool is_started;
    struct event_base *base;
    struct evhttp *http;
    struct event *bell_event;
    struct event *sweep_event;
    struct ops_hold hold;
    struct list waiting;
    uint64_t ask; /* the one under way, or the last */
    bool is_asking;
    uint16_t port;

    /* Other threads. */
    int bell;
    struct mailbox box;
    _Atomic bool is_asked;
    _Atomic bool is_stopping;
};

/* --- answers --- */

static void
unref_body(const void *data, size_t size, void *ctx)
{
    (void)data;
    (void)size;
    bytes_fini(ctx);
    mem_free(ctx);
}

/* Several requests send one body. */
static struct evbuffer *
body_of(struct bytes *text)
{
    struct evbuffer *body = evbuffer_new();
    struct bytes *owned = mem_alloc(sizeof *owned);
    *owned = *text;
    *text = (struct bytes){0};
    if (body == NULL ||
        evbuffer_add_reference(body, owned->data, owned->size, unref_body, owned) != 0)
        unref_body(NULL, 0, owned);
    return body;
}

static const char *
reason_of(int code)
{
    switch (code) {
    case HTTP_OK:
        return "OK";
    case HTTP_NOTFOUND:
        return "Not Found";
    case HTTP_BADMETHOD:
        return "Method Not Allowed";
    case HTTP_SERVUNAVAIL:
        return "Service Unavailable";
    }
    return "Error";
}

/* body is only read. */
static void
reply(struct evhttp_request *request, int code, const char *type, struct evbuffer *body)
{
    struct evkeyvalq *heads = evhttp_request_get_output_headers(request);
    bool is_head = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;
    char length[24];
    size_t size = body == NULL ? 0 : evbuffer_get_length(body);
    (void)evutil_snprintf(length, sizeof length, "%zu", size);
    (void)evhttp_add_header(heads, "Content-Type", type);
    (void)evhttp_add_header(heads, "Content-Length", length);
    (void)evhttp_add_header(heads, "Cache-Control", "no-store");
    (void)evhttp_add_header(heads, "X-Content-Type-Options", "nosniff");
    (void)evhttp_add_header(heads, "Connection", "close");
    if (code == HTTP_BADMETHOD)
        (void)evhttp_add_header(heads, "Allow", "GET, HEAD");
    struct evbuffer *copy = is_head || size == 0 ? NULL : evbuffer_new();
    if (copy != NULL)
        (void)evbuffer_add_buffer_reference(copy, body);
    evhttp_send_reply(request, code, reason_of(code), copy);
    if (copy != NULL)
        evbuffer_free(copy);
}

static void
reply_page(struct ops *o, struct evhttp_request *request, const struct ops_page *page)
{
    struct bytes text = {0};
    int code = page->render_cb(o->options.ctx, NULL, &text);
    struct evbuffer *body = body_of(&text);
    reply(request, code, page->type, body);
    if (body != NULL)
        evbuffer_free(body);
}

static void
reply_text(struct evhttp_request *request, int code, const char *text)
{
    struct evbuffer *body = evbuffer_new();
    if (body != NULL)
        (void)evbuffer_add(body, text, strlen(text));
    reply(request, code, "text/plain; charset=utf-8", body);
    if (body != NULL)
        evbuffer_free(body);
}

/* --- requests that wait for the core --- */

static void
waiting_free(struct waiting *w)
{
    list_remove(&w->in_list);
    mem_free(w);
}

static void
give_up(struct ops *o, struct waiting *w)
{
    struct evhttp_request *request = w->request;
    const struct ops_page *page = w->page;
    waiting_free(w);
    reply_page(o, request, page);
}

static void
give_up_all(struct ops *o)
{
    struct list_node *node;
    while ((node = list_first(&o->waiting)) != NULL)
        give_up(o, CONTAINER_OF(node, struct waiting, in_list));
}

static void
ask(struct ops *o)
{
    assert(!o->is_asking);
    o->ask++;
    o->is_asking = true;
    atomic_store(&o->is_asked, true);
    if (o->options.ask_cb(o->options.ctx))
        return;
    if (atomic_exchange(&o->is_asked, false))
        o->is_asking = false; /* else the core has just taken it */
    give_up_all(o);
}

/* All who wait for one page; made when the first of them is met. */
static void
answer_page(struct ops *o,
            const struct ops_page *page,
            const struct ops_snapshot *snapshot)
{
    struct evbuffer *body = NULL;
    int code = 0;
    LIST_FOREACH_SAFE (node, &o->waiting) {
        struct waiting *w = CONTAINER_OF(node, struct waiting, in_list);
        if (w->page != page || w->ask > o->ask)
            continue;
        if (code == 0) {
            struct bytes text = {0};
            code = page->render_cb(o->options.ctx, snapshot, &text);
            body = body_of(&text);
        }
        struct evhttp_request *request = w->request;
        waiting_free(w);
        reply(request, code, page->type, body);
    }
    if (body != NULL)
        evbuffer_free(body);
}

static void
on_answer(struct ops *o, struct ops_snapshot *snapshot)
{
    assert(o->is_asking);
    for (size_t i = 0; i < o->options.page_count; i++)
        answer_page(o, &o->options.pages[i], snapshot);
    o->options.free_cb(snapshot);
    o->is_asking = false;
    if (!list_is_empty(&o->waiting))
        ask(o);
}

static void
end_late(struct ops *o)
{
    uint64_t now = ops_now_ms();
    LIST_FOREACH_SAFE (node, &o->waiting) {
        struct waiting *w = CONTAINER_OF(node, struct waiting, in_list);
        if (now - w->since_ms + SWEEP_MS > LIMIT_OPS_CORE_MS)
            give_up(o, w);
    }
}

/* --- events --- */

static const struct ops_page *
find_page(const struct ops *o, const char *path)
{
    for (size_t i = 0; path != NULL && i < o->options.page_count; i++)
        if (strcmp(o->options.pages[i].path, path) == 0)
            return &o->options.pages[i];
    return NULL;
}

static void
on_request(struct evhttp_request *request, void *ctx)
{
    struct ops *o = ctx;
    enum evhttp_cmd_type method = evhttp_request_get_command(request);
    if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
        reply_text(request, HTTP_BADMETHOD, "GET and HEAD only\n");
        return;
    }
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    bool is_for_proxy = uri == NULL || evhttp_uri_get_scheme(uri) != NULL;
    const struct ops_page *page =
        find_page(o, is_for_proxy ? NULL : evhttp_uri_get_path(uri));
    if (page == NULL) {
        reply_text(request, HTTP_NOTFOUND, "no such page\n");
        return;
    }
    if (!page->needs_core) {
        reply_page(o, request, page);
        return;
    }
    struct waiting *w = mem_calloc(1, sizeof *w);
    w->request = request;
    w->page = page;
    w->ask = o->ask + 1;
    w->since_ms = ops_now_ms();
    list_push_back(&o->waiting, &w->in_list);
    if (!o->is_asking)
        ask(o);
}

static void
on_bell(evutil_socket_t fd, short what, void *ctx)
{
    (void)what;
    struct ops *o = ctx;
    uint64_t rings;
    ssize_t got = read(fd, &rings, sizeof rings); /* before looking: none is missed */
    (void)got;
    struct mail *mail = mailbox_take(&o->box);
    while (mail != NULL) { /* bound: one answer is under way */
        struct ops_snapshot *snapshot = CONTAINER_OF(mail, struct ops_snapshot, mail);
        mail = mail->next;
        on_answer(o, snapshot);
    }
    if (atomic_load(&o->is_stopping))
        (void)event_base_loopbreak(o->base);
}

static void
on_sweep(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    struct ops *o = ctx;
    ops_hold_tick(&o->hold, ops_now_ms());
    end_late(o);
}

static void *
run(void *ctx)
{
    struct ops *o = ctx;
    if (event_base_dispatch(o->base) < 0)
        log_event(LOG_ERROR, "ops.failed", "reason=%s consequence=%s",
                  log_quote("the event loop"), log_quote("no metrics"));
    return NULL;
}

/* --- life --- */

static enum status
open_http(struct ops *o)
{
    int fd = -1;
    enum status status = socket_listen(o->options.address, &fd);
    if (status != ST_OK)
        return status;
    o->port = socket_port(fd);
    o->http = evhttp_new(o->base);
    struct evconnlistener *listener =
        evconnlistener_new(o->base, NULL, NULL,
                           LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, BACKLOG, fd);
    if (listener == NULL) {
        (void)close(fd);
        return ST_NOMEM;
    }
    if (o->http == NULL || evhttp_bind_listener(o->http, listener) == NULL) {
        evconnlistener_free(listener);
        return ST_NOMEM;
    }
    ops_hold_begin(&o->hold, o->http, listener);
    evhttp_set_gencb(o->http, on_request, o);
    evhttp_set_allowed_methods(o->http, ALL_METHODS);
    evhttp_set_max_headers_size(o->http, LIMIT_OPS_HEAD_BYTES);
    evhttp_set_max_body_size(o->http, LIMIT_OPS_BODY_BYTES);
    evhttp_set_timeout(o->http, LIMIT_OPS_IDLE_SECS);
    return ST_OK;
}

static enum status
open_events(struct ops *o)
{
    const struct timeval period = {.tv_usec = SWEEP_MS * 1000};
    o->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    o->base = worker_make_base();
    if (o->bell < 0 || o->base == NULL)
        return ST_IO;
    enum status status = open_http(o);
    if (status != ST_OK)
        return status;
    o->bell_event = event_new(o->base, o->bell, EV_READ | EV_PERSIST, on_bell, o);
    o->sweep_event = event_new(o->base, -1, EV_PERSIST, on_sweep, o);
    if (o->bell_event == NULL || o->sweep_event == NULL ||
        event_add(o->bell_event, NULL) != 0 || event_add(o->sweep_event, &period) != 0)
        return ST_IO;
    return ST_OK;
}

/* Signals are the main thread's. */
static enum status
start_thread(struct ops *o)
{
    sigset_t all;
    sigset_t old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    o->is_started = pthread_create(&o->thread, NULL, run, o) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return o->is_started ? ST_OK : ST_IO;
}

enum status
ops_open(const struct ops_options *options, struct ops **ret_ops)
{
    assert(options->page_count <= PAGES_MAX);
    struct ops *o = mem_calloc(1, sizeof *o);
    o->options = *options;
    list_init(&o->waiting);
    mailbox_init(&o->box);
    enum status status = open_events(o);
    if (status == ST_OK)
        status = start_thread(o);
    if (status != ST_OK) {
        log_event(LOG_ERROR, "ops.failed", "address=%s error=%s",
                  log_quote(options->address), log_quote(status_name(status)));
        ops_close(o);
        return status;
    }
    *ret_ops = o;
    return ST_OK;
}

static void
ring(struct ops *o)
{
    uint64_t one = 1;
    ssize_t written;
    do
        written = write(o->bell, &one, sizeof one);
    while (written < 0 && errno == EINTR);
}

static void
free_box(struct ops *o)
{
    struct mail *mail = mailbox_take(&o->box);
    while (mail != NULL) {
        struct ops_snapshot *snapshot = CONTAINER_OF(mail, struct ops_snapshot, mail);
        mail = mail->next;
        o->options.free_cb(snapshot);
    }
}

void
ops_close(struct ops *o)
{
    if (o == NULL)
        return;
    if (o->is_started) {
        atomic_store(&o->is_stopping, true);
        ring(o);
        (void)pthread_join(o->thread, NULL);
    }
    give_up_all(o);
    free_box(o);
    if (o->http != NULL)
        evhttp_free(o->http); /* the listener and all connections too */
    ops_hold_end(&o->hold);
    if (o->bell_event != NULL)
        event_free(o->bell_event);
    if (o->sweep_event != NULL)
        event_free(o->sweep_event);
    if (o->base != NULL)
        event_base_free(o->base);
    if (o->bell >= 0)
        (void)close(o->bell);
    mem_free(o);
}

uint16_t
ops_port(const struct ops *o)
{
    return o->port;
}

bool
ops_is_asked(struct ops *o)
{
    return atomic_load_explicit(&o->is_asked, memory_order_relaxed) &&
           atomic_exchange(&o->is_asked, false);
}

void
ops_answer(struct ops *o, struct ops_snapshot *snapshot)
{
    struct mail_chain chain = {NULL, NULL};
    mail_chain_add(&chain, &snapshot->mail);
    if (mailbox_put(&o->box, &chain))
        ring(o);
}
