/* Connection: its input.
 *
 * What TLS gives goes into the worker's one buffer and is decoded there, in place; only
 * a frame that is not whole stays with the connection (in its decoder). When it must
 * not be read from any more, because too much is unanswered or unsent, what was read
 * but not decoded stays in c->rest, the socket is left alone, and the kernel's window
 * closes.
 *
 * Nothing may be forgotten on the way back: c->rest first, then what TLS holds (no poll
 * tells of it), then the socket. conn_resume() does all three; every end of a stall and
 * every reading that stopped for fairness leads to it through the worker's ready list.
 */
#include "net/conn_steps.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

#define READS_A_TURN    4 /* of WORKER_BUFFER_BYTES at most */
#define RECORD_BYTES    16384
#define LITTLE_BYTES    8192 /* far less than one read of the socket takes */
#define REQUEST_CHARGE  256  /* beside its bytes: what a request occupies */
#define REPLY_SMALL     128
#define REPLY_ROW       96    /* of a list */
#define REPLY_DAY       32768 /* of history */
#define DISCARDS_A_TURN 8

/* --- Back-pressure --- */

static void
stall(struct conn *c, const uint8_t *data, size_t size)
{
    c->is_stalled = true;
    bytes_put(&c->rest, data, size);
    if (c->is_message_open) {
        c->message_ms = worker_now_ms(c->worker) - c->message_ms; /* its age */
    }
    conn_want_read(c, false);
}

static void
end_stall(struct conn *c)
{
    c->is_stalled = false;
    if (c->is_message_open)
        c->message_ms = worker_now_ms(c->worker) - c->message_ms; /* its begin */
    conn_want_read(c, true);
    if (c->state != CONN_DEAD)
        conn_set_deadline(c);
}

/* --- Messages --- */

/* About how long the reply will be. A client that asks for much at once, and reads, is
 * to be held back, not dropped for what it has asked for. */
static uint32_t
expected_reply(const struct conn *c, const struct request *r)
{
    if (r->parcel.kind != PARCEL_ADMIN)
        return REPLY_SMALL;
    switch (r->admin->command) {
    case ADMIN_GETMSGS:
    case ADMIN_GETDLQMSGS:
        return REPLY_SMALL + r->admin->count * REPLY_ROW;
    case ADMIN_GETMSG:
    case ADMIN_GETDLQMSG:
        return REPLY_SMALL + limit_load(&c->queue->max_message_bytes);
    case ADMIN_GETSTATS:
    case ADMIN_GETUSAGE:
        return REPLY_DAY;
    case ADMIN_GETLIVESTATS:
    case ADMIN_ADDMSG:
    case ADMIN_DELMSG:
    case ADMIN_MOVETODLQ:
    case ADMIN_DELDLQMSG:
    case ADMIN_GETCFG:
    case ADMIN_SETCFG:
    case ADMIN_REDRIVE:
    case ADMIN_PURGE:
    case ADMIN_HISTORY:
        break;
    }
    return REPLY_SMALL;
}

static void
send_request(struct conn *c, struct request *r, size_t payload_bytes)
{
    r->charged_bytes = (uint32_t)(payload_bytes + REQUEST_CHARGE);
    r->expected_bytes = expected_reply(c, r);
    c->unanswered_requests++;
    c->unanswered_bytes += r->charged_bytes;
    c->expected_bytes += r->expected_bytes;
    worker_send(c->worker, &r->parcel);
}

static void
on_login(struct conn *c, const struct ws_event *e)
{
    struct signal *closed = mem_try_calloc(1, sizeof(*closed));
    struct request *r =
        closed == NULL
            ? NULL
            : request_parse_login(c->worker->parser, c->number, c->queue->number,
                                  e->opcode == WS_TEXT, e->payload);
    /* It may hold a password, and the buffer is everybody's. */
    OPENSSL_cleanse((void *)(uintptr_t)e->payload.data, e->payload.size);
    if (r == NULL) {
        mem_free(closed);
        conn_finish(c, CONN_CLOSE_NONE);
        return;
    }
    closed->parcel.kind = PARCEL_CLOSED;
    closed->parcel.conn = c->number;
    c->closed = closed;
    c->speaker = (struct speaker){.conn = c->number};
    if (r->login != NULL) {
        admission_copy_key(c->admission, r->login->source);
        c->speaker.role = r->login->role;
        c->speaker.type = r->login->type;
    }
    send_request(c, r, e->payload.size);
    c->login_ms = worker_now_ms(c->worker);
    conn_set_state(c, CONN_LOGIN_WAIT);
}

static void
on_request(struct conn *c, const struct ws_event *e)
{
    struct request *r =
        request_parse(c->worker->parser, &c->speaker, e->opcode == WS_TEXT, e->payload);
    if (r == NULL) {
        log_event(LOG_ERROR, "client.memory", "conn=%llu reason=%s",
                  (unsigned long long)c->number,
                  "\"no memory for a request, closing\"");
        conn_finish(c, CONN_CLOSE_NONE);
        return;
    }
    /* Nothing behind it can count: its reply closes the connection. */
    if (r->ends || (r->parcel.kind == PARCEL_LOGOUT && r->code == 0)) {
        c->has_ended = true;
        conn_want_read(c, false);
    }
    send_request(c, r, e->payload.size);
}

static void
on_message(struct conn *c, const struct ws_event *e)
{
    if (c->state == CONN_LOGIN)
        on_login(c, e);
    else if (c->state == CONN_OPEN)
        on_request(c, e);
    else
        conn_finish(c, CONN_CLOSE_NONE); /* it did not wait for the login's reply */
}

static enum conn_close
close_of_code(uint16_t code)
{
    switch (code) {
    case 1002:
        return CONN_CLOSE_1002;
    case 1007:
        return CONN_CLOSE_1007;
    case 1008:
        return CONN_CLOSE_1008;
    case 1009:
        return CONN_CLOSE_1009;
    case 1011:
        return CONN_CLOSE_1011;
    default:
        return CONN_CLOSE_OTHER;
    }
}

/* Nothing behind it can count. What came before it is answered first, so that a job
 * which sends its last request and closes gets the reply. */
static void
on_close(struct conn *c, uint16_t code)
{
    if (c->unanswered_requests == 0) {
        conn_close_with(c, code, CONN_CLOSE_OTHER);
        return;
    }
    c->closing_code = code;
    c->has_ended = true;
    conn_want_read(c, false);
}

static void
on_event(struct conn *c, const struct ws_event *e)
{
    switch (e->kind) {
    case WS_EVENT_NONE:
    case WS_EVENT_PONG:
        break;
    case WS_EVENT_MESSAGE:
        on_message(c, e);
        break;
    case WS_EVENT_PING:
        conn_put_control(c, WS_PONG, e->payload);
        break;
    case WS_EVENT_CLOSE:
        on_close(c, e->close_code);
        break;
    case WS_EVENT_ERROR:
        conn_close_with(c, e->close_code, close_of_code(e->close_code));
        break;
    }
}

/* Begins, goes on with, or ends the time of a message in fragments. */
static void
watch_message(struct conn *c, bool had_message)
{
    bool is_open = ws_is_within_message(&c->decoder);
    if (is_open && (had_message || !c->is_message_open)) {
        c->is_message_open = true;
        c->message_ms = worker_now_ms(c->worker);
        conn_set_deadline(c);
    }
    c->is_message_open = is_open;
}

static void
take_frames(struct conn *c, uint8_t *data, size_t size)
{
    size_t at = 0;
    bool had_message = false;
    /* Also when all is taken: only then is what the last event borrowed given back. */
    while (conn_is_reading(c) && !conn_is_over(c)) {
        size_t used = 0;
        struct ws_event e =
            ws_decode(&c->decoder, c->worker->codec, data + at, size - at,
                      limit_load(&c->queue->max_message_bytes), &used);
        at += used;
        had_message = had_message || e.kind == WS_EVENT_MESSAGE;
        if (e.kind == WS_EVENT_NONE)
            break;
        on_event(c, &e);
    }
    if (!conn_is_reading(c))
        return;
    if (c->state == CONN_LOGIN_WAIT && ws_has_begun_message(&c->decoder)) {
        conn_finish(c, CONN_CLOSE_NONE); /* neither did this one, see on_message() */
        return;
    }
    watch_message(c, had_message);
    if (conn_is_over(c))
        stall(c, data + at, size - at);
}

/* Bytes that were decrypted. They may be changed. */
static void
take(struct conn *c, uint8_t *data, size_t size)
{
    if (c->state == CONN_UPGRADE) {
        size_t used = conn_take_upgrade(c, data, size);
        data += used;
        size -= used;
    }
    if (size > 0 && conn_is_reading(c))
        take_frames(c, data, size);
}

/* --- Reading --- */

/* One SSL_read(). 0: nothing now, or dropped; *ret_end, if set, says why nothing more
 * will come. */
static size_t
read_record(struct conn *c, uint8_t *out, size_t room, const char **ret_end)
{
    ERR_clear_error();
    int got = SSL_read(c->ssl, out, (int)room);
    if (got > 0)
        return (size_t)got;
    switch (SSL_get_error(c->ssl, got)) {
    case SSL_ERROR_WANT_READ:
        break;
    case SSL_ERROR_WANT_WRITE:
        c->read_wants_write = true;
        conn_want_write(c, true);
        break;
    case SSL_ERROR_ZERO_RETURN:
        *ret_end = "end of stream";
        break;
    default:
        *ret_end = "read failed";
        break;
    }
    return 0;
}

/* Fills the worker's buffer. ret_is_empty: there was no more. */
static size_t
fill(struct conn *c, bool *ret_is_empty, const char **ret_end)
{
    size_t size = 0;
    while (size + RECORD_BYTES <= WORKER_BUFFER_BYTES) {
        size_t got = read_record(c, c->worker->buffer + size, RECORD_BYTES, ret_end);
        size += got;
        /* So little was in the socket that it is empty now; to ask costs a call. */
        if (got == 0 || (size < LITTLE_BYTES && SSL_has_pending(c->ssl) == 0)) {
            *ret_is_empty = true;
            return size;
        }
    }
    *ret_is_empty = false;
    return size;
}

/* What came before it is taken. One whose last words are on their way, or will be made,
 * is left alone: the client may have closed only its own side. */
static void
end_of_input(struct conn *c, const char *cause)
{
    if (c->state >= CONN_FLUSH || c->has_ended)
        return;
    /* Ours in return, if it costs no waiting; what is queued is lost to it. */
    if (!c->is_blocked && (SSL_get_shutdown(c->ssl) & SSL_RECEIVED_SHUTDOWN) != 0)
        (void)SSL_shutdown(c->ssl);
    conn_drop(c, cause);
}

void
conn_read(struct conn *c)
{
    bool is_empty = false;
    const char *end = NULL;
    for (unsigned i = 0; i < READS_A_TURN && !is_empty; i++) {
        if (!conn_is_reading(c) || c->is_stalled)
            return;
        size_t size = fill(c, &is_empty, &end);
        if (c->state == CONN_DEAD)
            return;
        conn_account(c);
        if (size > 0) {
            c->active_ms = worker_now_ms(c->worker);
            take(c, c->worker->buffer, size);
        }
        if (end != NULL) {
            end_of_input(c, end);
            return;
        }
    }
    if (!is_empty && conn_is_reading(c) && !c->is_stalled)
        conn_mark_ready(c); /* its turn comes again */
}

void
conn_resume(struct conn *c)
{
    if (!conn_is_reading(c))
        return;
    if (c->is_stalled) {
        if (!conn_is_drained(c))
            return;
        end_stall(c);
    }
    if (c->state > CONN_UPGRADE && c->rest.size > 0) {
        struct bytes rest = c->rest;
        c->rest = (struct bytes){NULL, 0, 0};
        take(c, rest.data, rest.size);
        bytes_fini(&rest);
    }
    if (conn_is_reading(c) && !c->is_stalled)
        conn_read(c);
}

void
conn_discard(struct conn *c)
{
    for (unsigned i = 0; i < DISCARDS_A_TURN; i++) {
        ssize_t got = recv(c->fd, c->worker->buffer, WORKER_BUFFER_BYTES, 0);
        if (got > 0) {
            c->worker->counts.received_bytes_total += (uint64_t)got;
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got < 0)
            conn_drop(c, "reset by the client");
        else if (c->state == CONN_LINGER)
            conn_drop(c, "ended");
        else
            conn_want_read(c, false); /* its last word; ours are still on their way */
        return;
    }
}
