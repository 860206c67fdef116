/* Link: see link.h for what it is and the diagram of its states.
 *
 * Invariants: ssl is set from HANDSHAKE on until CLOSED; the fd is open until CLOSED;
 * a frame is handed on only in OPEN; link_send() only appends, all writing is in
 * step_write(), so queue order is wire order. A link is live before ENDING.
 *
 * Readable is always watched, so the end of the other side is seen at once; writable
 * only while something waits. OpenSSL reads ahead: bytes may lie in its buffer when the
 * socket is no longer readable, so a turn that ends by its budget arms an idle handle.
 */
#include "cluster/link.h"

#include "base/limits.h"
#include "base/mem.h"
#include "cluster/outframe.h"
#include "cluster/pulse.h"
#include "cluster/pump.h"
#include "cluster/sock.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANSWERS_BYTES (64u << 10) /* queue of an accepted link: keepalives only */

enum link_state {
    LINK_CONNECTING,
    LINK_HANDSHAKE,
    LINK_HELLO,
    LINK_OPEN,
    LINK_ENDING,
    LINK_CLOSED,
    LINK_STATES,
};

static const bool transitions[LINK_STATES][LINK_STATES] = {
    [LINK_CONNECTING] =
        {[LINK_HANDSHAKE] = true, [LINK_ENDING] = true, [LINK_CLOSED] = true},
    [LINK_HANDSHAKE] =
        {[LINK_HELLO] = true, [LINK_ENDING] = true, [LINK_CLOSED] = true},
    [LINK_HELLO] = {[LINK_OPEN] = true, [LINK_ENDING] = true, [LINK_CLOSED] = true},
    [LINK_OPEN] = {[LINK_ENDING] = true, [LINK_CLOSED] = true},
    [LINK_ENDING] = {[LINK_CLOSED] = true},
};

struct link {
    uv_poll_t poll;
    uv_timer_t timer;
    uv_idle_t more; /* bytes may be left in OpenSSL's buffer */
    struct link_options o;
    enum link_state state;
    int handles; /* libuv's, not yet closed */
    int fd;
    int watched; /* events that poll looks for */
    bool is_dialled;
    bool is_blocked; /* a write, or TLS, waits for the socket to become writable */
    SSL *ssl;
    struct pump pump;
    struct intake in;
    struct outq out;
    struct pulse pulse;
    struct link_end end;
};

static void
set_state(struct link *l, enum link_state state)
{
    assert(transitions[l->state][state]);
    l->state = state;
}

static bool
is_live(const struct link *l)
{
    return l->state < LINK_ENDING;
}

static void
on_handle_closed(uv_handle_t *handle)
{
    struct link *l = handle->data;
    struct uses *uses = l->o.uses;
    if (--l->handles == 0)
        mem_free(l);
    uses_put(uses);
}

void
link_close(struct link *l)
{
    if (l == NULL || l->state == LINK_CLOSED)
        return;
    if (l->ssl != NULL && is_live(l))
        cluster_tls_say_goodbye(l->ssl);
    set_state(l, LINK_CLOSED);
    uv_close((uv_handle_t *)&l->poll, on_handle_closed);
    uv_close((uv_handle_t *)&l->timer, on_handle_closed);
    uv_close((uv_handle_t *)&l->more, on_handle_closed);
    SSL_free(l->ssl);
    l->ssl = NULL;
    close(l->fd);
    l->fd = -1;
    intake_fini(&l->in);
    outq_fini(&l->out);
}

static void
on_ending(uv_timer_t *timer)
{
    struct link *l = timer->data;
    link_close(l);
    l->o.callbacks->closed_cb(l->o.ctx, &l->end);
}

/* The end begins; closed_cb follows from the loop's next turn, at once. */
static void PRINTF_LIKE(3, 4)
    finish(struct link *l, enum status why, const char *format, ...)
{
    va_list args;
    if (!is_live(l))
        return;
    set_state(l, LINK_ENDING);
    l->end.why = why;
    va_start(args, format);
    vsnprintf(l->end.text, sizeof l->end.text, format, args);
    va_end(args);
    uv_poll_stop(&l->poll);
    uv_idle_stop(&l->more);
    uv_timer_start(&l->timer, on_ending, 0, 0);
}

static void
finish_errno(struct link *l, int error)
{
    l->end.was_cut = error == ECONNRESET || error == EPIPE || error == 0;
    l->end.was_refused = error == ECONNREFUSED;
    finish(l, ST_CLOSED, "%s",
           error == 0 ? "closed by the other side" : strerror(error));
}

/* What a TLS call that did not succeed means for the link. */
static void
finish_tls(struct link *l, enum status status)
{
    char why[TLS_WHY_MAX];
    if (status == ST_CLOSED) {
        /* What killed the socket: the call's errno first, then what is pending. */
        int error = errno == 0 || errno == EAGAIN ? sock_error(l->fd) : errno;
        finish_errno(l, error);
    } else {
        cluster_tls_why(l->ssl, why);
        finish(l, status, "%s", why);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events);

/* Tells libuv what to wait for, when it changed. */
static void
watch(struct link *l)
{
    if (!is_live(l))
        return;
    bool is_writable_wanted = l->is_blocked || l->state == LINK_CONNECTING;
    int events = UV_READABLE | (is_writable_wanted ? UV_WRITABLE : 0);
    if (events == l->watched)
        return;
    l->watched = events;
    if (uv_poll_start(&l->poll, events, on_poll) != 0) {
        l->end.was_local = true;
        finish(l, ST_IO, "poll failed");
    }
}

static void
step_write(struct link *l)
{
    if (l->state != LINK_HELLO && l->state != LINK_OPEN)
        return;
    uint64_t sent_before = l->pump.sent_bytes;
    enum status status = pump_out(&l->pump, l->ssl, &l->out, &l->is_blocked);
    if (l->pump.sent_bytes != sent_before)
        l->pulse.is_moving = true;
    if (status != ST_OK && status != ST_AGAIN)
        finish_tls(l, status);
    watch(l);
}

void
link_flush(struct link *l)
{
    if (l->out.bytes > 0 && !l->is_blocked)
        step_write(l);
}

/* Once a second while the link is open. */
static void
on_tick(uv_timer_t *timer)
{
    struct link *l = timer->data;
    struct pulse_backlog backlog = {l->out.bytes, sock_unacknowledged(l->fd)};

    switch (pulse_tick(&l->pulse, backlog, uv_now(l->o.loop))) {
    case PULSE_FINE:
        break;
    case PULSE_CALL:
        outframe_put_own(&l->out, FRAME_KEEPALIVE, slice_of("", 0));
        link_flush(l);
        break;
    case PULSE_DEAD:
        finish(l, ST_TIMEOUT, "silent for 10 s");
        break;
    }
}

static void
refuse(struct link *l, enum frame_refusal refusal, uint64_t node)
{
    uint8_t code = (uint8_t)refusal;
    if (!l->is_dialled) {
        outframe_put_own(&l->out, FRAME_REFUSAL, slice_of(&code, 1));
        step_write(l);
    }
    finish(l, ST_DENIED, "refused hello of node %" PRIu64 ": %s", node,
           frame_refusal_name(refusal));
}

/* The first frame of the other side. */
static void
take_hello(struct link *l, uint8_t kind, struct blob *body)
{
    struct frame_hello hello = {0};

    if (kind == FRAME_REFUSAL && l->is_dialled) {
        enum frame_refusal refusal = frame_refusal_read(blob_slice(body));
        l->end.refusal = refusal;
        finish(l, ST_DENIED, "it refused us: %s", frame_refusal_name(refusal));
        return;
    }
    enum status status = ST_INVALID;
    if (kind == FRAME_HELLO)
        status = frame_hello_read(blob_slice(body), &hello);
    if (status != ST_OK) {
        refuse(l, status == ST_VERSION ? FRAME_REFUSE_VERSION : FRAME_REFUSE_HELLO,
               hello.node);
        return;
    }
    if (cluster_tls_check_peer(l->ssl, hello.node) != ST_OK) {
        refuse(l, FRAME_REFUSE_NAME, hello.node);
        return;
    }
    enum frame_refusal refusal = l->o.callbacks->hello_cb(l->o.ctx, &hello);
    if (!is_live(l))
        return;
    if (refusal != FRAME_REFUSE_NONE) {
        refuse(l, refusal, hello.node);
        return;
    }
    set_state(l, LINK_OPEN);
    if (!l->is_dialled) {
        outframe_put_own(&l->out, FRAME_HELLO, l->o.hello);
        l->in.max_bytes = LIMIT_FRAME_BYTES;
    }
    pulse_init(&l->pulse, l->is_dialled, uv_now(l->o.loop));
    uv_timer_start(&l->timer, on_tick, PULSE_TICK_MS, PULSE_TICK_MS);
    l->o.callbacks->open_cb(l->o.ctx);
}

/* False: the link is no longer live, and perhaps its session is gone. */
static bool
take_frame(void *ctx, uint8_t kind, struct blob *body)
{
    struct link *l = ctx;
    if (l->state == LINK_HELLO) {
        take_hello(l, kind, body);
    } else if (kind == FRAME_KEEPALIVE && body->size == 0) {
        if (!l->is_dialled && outq_has_room(&l->out, FRAME_HEAD_BYTES))
            outframe_put_own(&l->out, FRAME_KEEPALIVE, slice_of("", 0));
    } else if (l->is_dialled || !frame_is_passed_on(kind)) {
        finish(l, ST_INVALID, "unexpected kind of frame");
    } else {
        enum status status = l->o.callbacks->frame_cb(l->o.ctx, kind, body);
        if (status != ST_OK)
            finish(l, status, "frame of kind %u turned down: %s", kind,
                   status_name(status));
    }
    return is_live(l);
}

static void on_more(uv_idle_t *more);

static void
step_read(struct link *l)
{
    uint64_t received_before = l->pump.received_bytes;
    enum status status = pump_in(&l->pump, l->ssl, &l->in, take_frame, l);

    if (!is_live(l))
        return;
    if (l->pump.received_bytes != received_before)
        l->pulse.heard_ms = uv_now(l->o.loop);
    if (status == ST_OK) {
        uv_idle_start(&l->more, on_more);
    } else if (status == ST_AGAIN) {
        l->is_blocked = l->is_blocked || cluster_tls_wants_write(l->ssl);
    } else if (status == ST_CLOSED || status == ST_INVALID) {
        finish_tls(l, status);
    } else {
        l->end.was_local = status == ST_NOMEM;
        finish(l, status, "bad frame: %s", status_name(status));
    }
}

static void
step_handshake(struct link *l)
{
    enum status status = cluster_tls_handshake(l->ssl);
    l->is_blocked = status == ST_AGAIN && cluster_tls_wants_write(l->ssl);
    if (status == ST_AGAIN)
        return;
    if (status != ST_OK) {
        finish_tls(l, status);
        return;
    }
    /* Our hello holds the relay key: only for whom we meant to reach. */
    if (l->is_dialled && cluster_tls_check_peer(l->ssl, l->o.peer) != ST_OK) {
        finish(l, ST_DENIED, "its certificate is not that of the node we dialled");
        return;
    }
    set_state(l, LINK_HELLO);
    if (l->is_dialled)
        outframe_put_own(&l->out, FRAME_HELLO, l->o.hello);
}

static void
step_connect(struct link *l)
{
    int error = sock_error(l->fd);
    if (error != 0) {
        finish_errno(l, error);
    } else if (l->o.is_knock) {
        finish(l, ST_OK, "somebody listens");
    } else if (cluster_tls_session(l->o.tls, l->fd, true, &l->ssl) != ST_OK) {
        l->end.was_local = true;
        finish(l, ST_NOMEM, "no memory for TLS");
    } else {
        set_state(l, LINK_HANDSHAKE);
    }
}

/* As far as it goes without waiting, then waits for the right thing. */
static void
advance(struct link *l, int events)
{
    if (l->state == LINK_CONNECTING && (events & UV_WRITABLE) != 0)
        step_connect(l);
    if (l->state == LINK_HANDSHAKE)
        step_handshake(l);
    if (l->state == LINK_HELLO || l->state == LINK_OPEN)
        step_read(l);
    step_write(l);
    watch(l);
}

static void
on_poll(uv_poll_t *poll, int status, int events)
{
    struct link *l = poll->data;
    if (!is_live(l))
        return;
    if (status == 0) {
        advance(l, events);
        return;
    }
    /* libuv's word for POLLERR, and it polls no more. What came before the error, an
     * alert or a refusal that says why, can still be read. */
    if (l->state != LINK_CONNECTING)
        advance(l, UV_READABLE);
    if (is_live(l))
        finish_errno(l, sock_error(l->fd));
}

static void
on_more(uv_idle_t *more)
{
    struct link *l = more->data;
    uv_idle_stop(more);
    if (is_live(l))
        advance(l, UV_READABLE);
}

static void
on_setup_timeout(uv_timer_t *timer)
{
    struct link *l = timer->data;
    finish(l, ST_TIMEOUT, "%s timed out",
           l->state == LINK_CONNECTING ? "connect" : "handshake");
}

/* Takes fd; closes it on failure. */
static enum status
start(const struct link_options *options,
      int fd,
      bool is_dialled,
      struct link **ret_link)
{
    struct link *l = mem_try_calloc(1, sizeof *l);
    if (l == NULL ||
        (!is_dialled && cluster_tls_session(options->tls, fd, false, &l->ssl)) ||
        uv_poll_init(options->loop, &l->poll, fd) != 0) {
        if (l != NULL)
            SSL_free(l->ssl);
        mem_free(l);
        close(fd);
        return ST_NOMEM;
    }
    l->o = *options;
    l->fd = fd;
    l->is_dialled = is_dialled;
    l->state = is_dialled ? LINK_CONNECTING : LINK_HANDSHAKE;
    intake_init(&l->in, FRAME_HELLO_BYTES_MAX);
    outq_init(&l->out, is_dialled ? LIMIT_PEER_QUEUE_BYTES : ANSWERS_BYTES);
    uv_timer_init(options->loop, &l->timer);
    uv_idle_init(options->loop, &l->more);
    l->poll.data = l->timer.data = l->more.data = l;
    for (l->handles = 0; l->handles < 3; l->handles++)
        uses_get(options->uses);
    uv_timer_start(&l->timer, on_setup_timeout, LINK_SETUP_MS, 0);
    watch(l);
    *ret_link = l;
    return ST_OK;
}

enum status
link_dial(const struct link_options *options,
          const struct sockaddr_storage *addr,
          struct link_end *ret_end,
          struct link **ret_link)
{
    int fd;
    int error = sock_connect(addr, &fd);
    enum status status = error != 0 ? ST_CLOSED : start(options, fd, true, ret_link);
    if (status == ST_OK)
        return ST_OK;
    *ret_end = (struct link_end){.why = status};
    ret_end->was_refused = error == ECONNREFUSED;
    ret_end->was_local = error == 0 || error == EMFILE || error == ENFILE ||
                         error == ENOMEM || error == ENOBUFS;
    snprintf(ret_end->text, sizeof ret_end->text, "%s",
             error == 0 ? "no memory" : strerror(error));
    return status;
}

enum status
link_accept(const struct link_options *options, int fd, struct link **ret_link)
{
    return start(options, fd, false, ret_link);
}

enum status
link_send(struct link *l, const struct rlog_frame *frame)
{
    assert(l->is_dialled);
    return l->state == LINK_OPEN ? outframe_put(&l->out, frame) : ST_CLOSED;
}

size_t
link_backlog(const struct link *l)
{
    return l->out.bytes;
}
