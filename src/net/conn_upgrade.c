/* Connection: from the first byte to a WebSocket.
 *
 * The first byte tells what comes: 0x16 a TLS handshake, 0x0D a PROXY header of a node
 * that relays (made with our own key), all else is nobody we serve. The header is read
 * to its last byte and not further, because OpenSSL reads from the socket itself.
 *
 * A handshake costs a signature, up to a millisecond of this thread. So only a few
 * steps are done in one turn; poll tells of the others again. A thousand clients that
 * reconnect at once then slow each other, not those that are connected. */
#include "net/conn_steps.h"

#include "base/log.h"
#include "proto/http.h"
#include "proto/proxy.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <string.h>

#define TLS_HANDSHAKE_BYTE 0x16
#define PROXY_FIXED_BYTES  16
#define PROXY_LENGTH_AT    14
#define HANDSHAKES_A_TURN  8

/* Reads until c->rest has size bytes. False: not yet, or dropped. */
static bool
read_up_to(struct conn *c, size_t size)
{
    while (c->rest.size < size) {
        size_t missing = size - c->rest.size;
        bytes_reserve(&c->rest, missing);
        ssize_t got = recv(c->fd, c->rest.data + c->rest.size, missing, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return false;
        if (got <= 0) {
            conn_drop(c, "closed within a PROXY header");
            return false;
        }
        c->rest.size += (size_t)got;
        c->worker->counts.received_bytes_total += (uint64_t)got;
    }
    return true;
}

/* The connection now is the client's of the header, as old as it was there. */
static void
take_relayed(struct conn *c, const struct proxy_header *header)
{
    struct shared *s = c->worker->shared;
    if (!replay_accept(&s->replay, header->node, header->counter)) {
        conn_drop(c, "PROXY header used before");
        return;
    }
    admission_leave(&s->admission, c->admission);
    c->admission = admission_enter(&s->admission, &header->source);
    if (c->admission == NULL) {
        conn_drop(c, "too many connections that have not logged in");
        return;
    }
    uint64_t now = worker_now_ms(c->worker);
    c->accepted_ms = header->age_ms < now ? now - header->age_ms : 0;
    c->is_relayed = true;
    bytes_fini(&c->rest);
    conn_set_deadline(c);
}

static void
read_proxy_header(struct conn *c)
{
    if (!read_up_to(c, PROXY_FIXED_BYTES))
        return;
    size_t more =
        (size_t)c->rest.data[PROXY_LENGTH_AT] << 8 | c->rest.data[PROXY_LENGTH_AT + 1];
    size_t size = PROXY_FIXED_BYTES + more;
    if (!proxy_is_header(slice_of(c->rest.data, PROXY_FIXED_BYTES)) ||
        size > PROXY_HEADER_MAX) {
        conn_drop(c, "bad PROXY header");
        return;
    }
    if (!read_up_to(c, size))
        return;
    struct proxy_header header;
    size_t used = 0;
    enum status status = proxy_decode(slice_of(c->rest.data, c->rest.size),
                                      c->worker->shared->relay_key, &header, &used);
    if (status != ST_OK || used != size) {
        log_event(LOG_WARN, "relay.refused", "conn=%llu reason=%s",
                  (unsigned long long)c->number,
                  status == ST_DENIED ? "\"bad authentication\"" : "\"malformed\"");
        conn_drop(c, "bad PROXY header");
        return;
    }
    take_relayed(c, &header);
}

static void
begin_tls(struct conn *c)
{
    c->ssl = tls_accept(&c->worker->shared->tls, c->fd);
    if (c->ssl == NULL)
        conn_drop(c, "out of memory");
    else
        conn_set_state(c, CONN_TLS);
}

/* Somebody who speaks HTTP without TLS is told so. */
static void
refuse_plain(struct conn *c, uint8_t first)
{
    if (first < 'A' || first > 'Z') {
        conn_drop(c, "neither TLS nor a PROXY header");
        return;
    }
    http_refusal(&c->out);
    conn_finish(c, CONN_CLOSE_NONE);
}

/* The first byte that is there, without taking it; -1: none, or dropped. */
static int
peek(struct conn *c)
{
    uint8_t first = 0;
    ssize_t got = recv(c->fd, &first, 1, MSG_PEEK);
    if (got == 1)
        return first;
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        conn_drop(c, "closed before its first byte");
    return -1;
}

void
conn_sniff(struct conn *c)
{
    int first = c->rest.size > 0 ? '\r' : peek(c);
    if (first == '\r' && !c->is_relayed) {
        read_proxy_header(c);
        if (!c->is_relayed)
            return; /* not whole yet, or dropped */
        first = peek(c);
    }
    if (first < 0)
        return;
    if (first == TLS_HANDSHAKE_BYTE)
        begin_tls(c);
    else
        refuse_plain(c, (uint8_t)first);
}

void
conn_handshake(struct conn *c)
{
    if (c->worker->handshakes++ >= HANDSHAKES_A_TURN)
        return;
    ERR_clear_error();
    int result = SSL_do_handshake(c->ssl);
    conn_account(c);
    if (result == 1) {
        conn_want_write(c, false);
        if (c->state != CONN_DEAD)
            conn_set_state(c, CONN_UPGRADE);
        return;
    }
    switch (SSL_get_error(c->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        conn_want_write(c, false);
        break;
    case SSL_ERROR_WANT_WRITE:
        conn_want_write(c, true);
        break;
    default:
        conn_drop(c, "TLS handshake failed");
        break;
    }
}

/* Is origin in the list (with spaces) of allowed ones? Clients that are no browsers
 * send none. */
static bool
is_origin_allowed(const char *allowed, struct slice origin)
{
    if (allowed[0] == '\0' || origin.size == 0)
        return true;
    while (*allowed != '\0') {
        size_t size = strcspn(allowed, " ");
        if (size == origin.size &&
            strncasecmp(allowed, (const char *)origin.data, size) == 0)
            return true;
        allowed += size + strspn(allowed + size, " ");
    }
    return false;
}

static struct directory_queue *
find_queue(struct shared *s, struct slice host)
{
    char name[64];
    size_t size = 0;
    if (http_queue_name(host, s->queue_domain, name, &size) != ST_OK)
        return NULL;
    struct slice wanted =
        size > 0 ? slice_of(name, size) : slice_from_text(s->default_queue);
    return wanted.size == 0 ? NULL : directory_find(&s->directory, wanted);
}

static void
accept_upgrade(struct conn *c, const struct http_upgrade *upgrade)
{
    http_accept(upgrade, &c->out);
    c->window_bits = upgrade->has_deflate ? upgrade->server_max_window_bits : 0;
    ws_decoder_init(&c->decoder, upgrade->has_deflate);
    /* What came and went before the queue was known is its as well. */
    conn_account(c);
    atomic_fetch_add(&c->queue->received_bytes, c->socket_read);
    atomic_fetch_add(&c->queue->sent_bytes, c->socket_written);
    conn_set_state(c, CONN_LOGIN);
    conn_mark_dirty(c);
    conn_set_deadline(c);
}

static void
refuse_upgrade(struct conn *c)
{
    http_refusal(&c->out);
    conn_finish(c, CONN_CLOSE_NONE);
}

/* Every connection slot is in use: the core would refuse its login. */
static bool
is_full(const struct directory_queue *q)
{
    uint32_t most = limit_load(&q->max_connections);
    return most != 0 && limit_load(&q->connections) >= most;
}

/* A request can only be whole, or wrong, when a line ended or there is too much of it:
 * a client that sends it byte by byte costs one look at each byte. */
static bool
is_worth_parsing(const struct conn *c, const uint8_t *data, size_t size)
{
    return c->rest.size == size || c->rest.size > LIMIT_HTTP_HEAD_BYTES ||
           memchr(data, '\n', size) != NULL;
}

size_t
conn_take_upgrade(struct conn *c, const uint8_t *data, size_t size)
{
    size_t before = c->rest.size;
    size_t room = LIMIT_HTTP_HEAD_BYTES + 1 - before;
    bytes_put(&c->rest, data, size < room ? size : room);
    if (!is_worth_parsing(c, data, size))
        return size;
    struct http_upgrade upgrade = {0};
    size_t used = 0;
    enum http_outcome outcome =
        http_parse(slice_of(c->rest.data, c->rest.size), &upgrade, &used);
    if (outcome == HTTP_NEED_MORE && c->rest.size <= LIMIT_HTTP_HEAD_BYTES)
        return size;
    if (outcome == HTTP_UPGRADE)
        c->queue = find_queue(c->worker->shared, upgrade.host);
    if (c->queue == NULL ||
        !is_origin_allowed(c->worker->shared->allowed_origins, upgrade.origin)) {
        refuse_upgrade(c);
        return size;
    }
    if (is_full(c->queue)) { /* closed with no message, as the manual says */
        conn_finish(c, CONN_CLOSE_NONE);
        return size;
    }
    assert(used > before);
    accept_upgrade(c, &upgrade);
    bytes_fini(&c->rest); /* upgrade borrowed from it */
    return used - before;
}
