/* WebSocket client: see wsclient.h. RFC 6455, client side, no extensions. */
#include "ctl/wsclient.h"

#include "base/mem.h"
#include "base/text.h"
#include "ctl/dial.h"
#include "ctl/output.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES   65536
#define RECORD_BYTES 16384
#define FRAME_MAX    (16u << 20) /* a message of 1 MiB can be six when escaped */

struct wsclient {
    int fd;
    SSL_CTX *context;
    SSL *ssl;
    struct bytes in;
    size_t in_used; /* bytes of in that were given out */
    struct bytes out;
    size_t out_used;
    uint32_t mask;
    uint16_t close_code;
    bool is_closed;
};

/* What helps against it. */
static const char *
advice(long verify)
{
    switch (verify) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return ": nobody here knows who signed the server's certificate: pass --ca "
               "FILE";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return ": the certificate has another name than the URL: pass --host NAME";
    default:
        return "";
    }
}

/* A node that has no leader takes a connection, waits, and ends it without a word. */
static bool
is_ended_silently(const struct wsclient *c, int why)
{
    bool is_end = why == SSL_ERROR_SYSCALL ||
                  (why == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_error()) ==
                                               SSL_R_UNEXPECTED_EOF_WHILE_READING);
    return is_end && BIO_number_read(SSL_get_rbio(c->ssl)) == 0;
}

static enum status
handshake(struct wsclient *c, uint64_t deadline_ms, char *error, size_t error_size)
{
    for (;;) { /* bound: the deadline */
        ERR_clear_error();
        int rc = SSL_connect(c->ssl);
        if (rc == 1)
            return ST_OK;
        int why = SSL_get_error(c->ssl, rc);
        if ((why == SSL_ERROR_WANT_READ && dial_wait(c->fd, POLLIN, deadline_ms)) ||
            (why == SSL_ERROR_WANT_WRITE && dial_wait(c->fd, POLLOUT, deadline_ms)))
            continue;
        long verify = SSL_get_verify_result(c->ssl);
        bool is_late = ctl_now_ms() >= deadline_ms;
        if (!is_late && verify == X509_V_OK && is_ended_silently(c, why)) {
            (void)snprintf(error, error_size,
                           "the node took the connection and ended it: it knows no "
                           "leader now, or has no room");
            return ST_NOTLEADER;
        }
        const char *what = is_late               ? "no answer in time"
                           : verify != X509_V_OK ? X509_verify_cert_error_string(verify)
                                                 : "the connection was closed";
        (void)snprintf(error, error_size, "TLS: %s%s", what,
                       is_late ? "" : advice(verify));
        return is_late ? ST_TIMEOUT : ST_CLOSED;
    }
}

static enum status
start_tls(struct wsclient *c,
          const char *ca,
          const char *name,
          uint64_t deadline_ms,
          char *error,
          size_t error_size)
{
    c->context = SSL_CTX_new(TLS_client_method());
    if (c->context == NULL)
        return ST_NOMEM;
    (void)SSL_CTX_set_min_proto_version(c->context, TLS1_2_VERSION);
    SSL_CTX_set_verify(c->context, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_mode(c->context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                           SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    int ok = ca != NULL ? SSL_CTX_load_verify_locations(c->context, ca, NULL)
                        : SSL_CTX_set_default_verify_paths(c->context);
    if (ok != 1) {
        (void)snprintf(error, error_size, "%s: no certificates could be read",
                       ca != NULL ? ca : "the system's store");
        return ST_CORRUPT;
    }
    c->ssl = SSL_new(c->context);
    if (c->ssl == NULL || SSL_set_fd(c->ssl, c->fd) != 1)
        return ST_NOMEM;
    unsigned char numeric[16];
    bool is_numeric = inet_pton(AF_INET, name, numeric) == 1 ||
                      inet_pton(AF_INET6, name, numeric) == 1;
    if (is_numeric)
        (void)X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl), name);
    else if (SSL_set1_host(c->ssl, name) != 1 ||
             SSL_set_tlsext_host_name(c->ssl, name) != 1)
        return ST_NOMEM;
    return handshake(c, deadline_ms, error, error_size);
}

/* Reads what is there. ST_AGAIN: nothing. */
static enum status
read_more(struct wsclient *c)
{
    if (c->in_used > 0) {
        memmove(c->in.data, c->in.data + c->in_used, c->in.size - c->in_used);
        c->in.size -= c->in_used;
        c->in_used = 0;
    }
    bytes_reserve(&c->in, READ_BYTES);
    ERR_clear_error();
    int n = SSL_read(c->ssl, c->in.data + c->in.size, READ_BYTES);
    if (n > 0) {
        c->in.size += (size_t)n;
        return ST_OK;
    }
    int why = SSL_get_error(c->ssl, n);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
        return ST_AGAIN;
    c->is_closed = true;
    return ST_CLOSED;
}

/* Reads meanwhile: a server that refuses what is being sent says why and reads no more.
 */
static enum status
flush_until(struct wsclient *c, uint64_t deadline_ms)
{
    enum status st;
    while ((st = wsclient_flush(c)) == ST_AGAIN) { /* bound: the deadline */
        if (!dial_wait(c->fd, POLLOUT | POLLIN, deadline_ms))
            return ST_TIMEOUT;
        st = read_more(c);
        if (st != ST_OK && st != ST_AGAIN)
            return st;
    }
    return st;
}

static enum status
upgrade(struct wsclient *c,
        const char *host,
        uint64_t deadline_ms,
        char *error,
        size_t error_size)
{
    uint8_t nonce[16];
    uint8_t key[25] = {0};
    (void)RAND_bytes(nonce, sizeof nonce);
    base64_encode(slice_of(nonce, sizeof nonce), key);
    bytes_printf(&c->out,
                 "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
                 "Sec-WebSocket-Version: 13\r\n\r\n",
                 host, (const char *)key);
    if (flush_until(c, deadline_ms) != ST_OK)
        return ST_CLOSED;
    for (;;) { /* bound: the deadline */
        uint8_t *end =
            c->in.size == 0 ? NULL : memmem(c->in.data, c->in.size, "\r\n\r\n", 4);
        if (end != NULL) {
            bool is_good =
                c->in.size > 12 && memcmp(c->in.data, "HTTP/1.1 101", 12) == 0;
            c->in_used = (size_t)(end - c->in.data) + 4;
            if (is_good)
                return ST_OK;
            (void)snprintf(error, error_size,
                           "the server refused: %.*s (is the host "
                           "name that of a queue?)",
                           12, (const char *)c->in.data);
            return ST_DENIED;
        }
        enum status st = read_more(c);
        if (st == ST_AGAIN && !dial_wait(c->fd, POLLIN, deadline_ms))
            st = ST_TIMEOUT;
        if (st != ST_OK && st != ST_AGAIN) {
            (void)snprintf(error, error_size, "the server did not answer the upgrade");
            return st;
        }
    }
}

enum status
wsclient_connect(const struct wsclient_options *options,
                 char *error,
                 size_t error_size,
                 struct wsclient **ret_client)
{
    struct dial_address address;
    uint64_t deadline_ms = ctl_now_ms() + options->timeout_ms;
    if (dial_parse(options->url, &address) != ST_OK) {
        (void)snprintf(error, error_size, "%s: wss://HOST[:PORT]/ is wanted",
                       options->url);
        return ST_INVALID;
    }
    const char *host = options->host != NULL ? options->host : address.host;
    struct wsclient *c = mem_calloc(1, sizeof *c);
    (void)RAND_bytes((unsigned char *)&c->mask, sizeof c->mask);
    c->close_code = 1006;
    c->fd = dial(&address, deadline_ms, error, error_size);
    enum status st = c->fd >= 0                    ? ST_OK
                     : ctl_now_ms() >= deadline_ms ? ST_TIMEOUT
                                                   : ST_CLOSED;
    if (st == ST_OK)
        st = start_tls(c, options->ca, host, deadline_ms, error, error_size);
    if (st == ST_OK)
        st = upgrade(c, host, deadline_ms, error, error_size);
    if (st != ST_OK) {
        wsclient_free(c);
        return st;
    }
    *ret_client = c;
    return ST_OK;
}

void
wsclient_free(struct wsclient *c)
{
    if (c == NULL)
        return;
    if (c->ssl != NULL && !c->is_closed)
        (void)SSL_shutdown(c->ssl);
    SSL_free(c->ssl);
    SSL_CTX_free(c->context);
    if (c->fd >= 0)
        (void)close(c->fd);
    bytes_fini(&c->in);
    bytes_fini(&c->out);
    mem_free(c);
}

int
wsclient_fd(const struct wsclient *c)
{
    return c->fd;
}

uint16_t
wsclient_close_code(const struct wsclient *c)
{
    return c->close_code;
}

static void
send_frame(struct wsclient *c, uint8_t opcode, struct slice payload)
{
    uint8_t mask[8];
    bytes_put_u8(&c->out, 0x80 | opcode);
    if (payload.size < 126) {
        bytes_put_u8(&c->out, (uint8_t)(0x80 | payload.size));
    } else if (payload.size < 65536) {
        bytes_put_u8(&c->out, 0x80 | 126);
        bytes_put_u16be(&c->out, (uint16_t)payload.size);
    } else {
        bytes_put_u8(&c->out, 0x80 | 127);
        bytes_put_u64be(&c->out, payload.size);
    }
    c->mask = c->mask * 1664525u + 1013904223u;
    memcpy(mask, &c->mask, 4);
    memcpy(mask + 4, &c->mask, 4);
    bytes_put(&c->out, mask, 4);
    uint8_t *at = bytes_extend(&c->out, payload.size);
    size_t i = 0;
    uint64_t word_mask;
    memcpy(&word_mask, mask, 8);
    for (; i + 8 <= payload.size; i += 8) {
        uint64_t word;
        memcpy(&word, payload.data + i, 8);
        word ^= word_mask;
        memcpy(at + i, &word, 8);
    }
    for (; i < payload.size; i++)
        at[i] = payload.data[i] ^ mask[i & 3];
}

void
wsclient_send(struct wsclient *c, struct slice payload, bool is_text)
{
    send_frame(c, is_text ? 1 : 2, payload);
}

enum status
wsclient_flush(struct wsclient *c)
{
    while (c->out_used < c->out.size) { /* bound: what waits */
        size_t size = c->out.size - c->out_used;
        if (size > RECORD_BYTES)
            size = RECORD_BYTES;
        ERR_clear_error();
        int n = SSL_write(c->ssl, c->out.data + c->out_used, (int)size);
        if (n <= 0) {
            int why = SSL_get_error(c->ssl, n);
            if (why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_WANT_READ)
                return ST_AGAIN;
            c->is_closed = true;
            return ST_CLOSED;
        }
        c->out_used += (size_t)n;
    }
    c->out_used = 0;
    bytes_clear(&c->out);
    return ST_OK;
}

/* A whole frame at the begin of what is unread; false: not whole yet. */
static bool
next_frame(struct wsclient *c, uint8_t *ret_opcode, struct slice *ret_payload)
{
    const uint8_t *p = c->in.data + c->in_used;
    size_t left = c->in.size - c->in_used;
    size_t head = 2;
    if (left < 2)
        return false;
    uint64_t size = p[1] & 0x7f;
    if (size >= 126) {
        size_t width = size == 126 ? 2 : 8;
        head += width;
        if (left < head)
            return false;
        size = 0;
        for (size_t i = 0; i < width; i++)
            size = size << 8 | p[2 + i];
    }
    if ((p[1] & 0x80) != 0 || (p[0] & 0xf0) != 0x80 || size > FRAME_MAX) {
        c->is_closed = true; /* masked, in fragments, compressed or huge: not ours */
        return false;
    }
    if (left - head < size)
        return false;
    *ret_opcode = p[0] & 0x0f;
    *ret_payload = slice_of(p + head, size);
    c->in_used += head + size;
    return true;
}

enum status
wsclient_receive(struct wsclient *c, struct slice *ret_payload)
{
    uint8_t opcode;
    struct slice payload;
    for (;;) { /* bound: what was sent */
        if (c->in_used < c->in.size && next_frame(c, &opcode, &payload)) {
            if (opcode == 9)
                send_frame(c, 10, payload);
            if (opcode == 8) {
                c->close_code = 1005;
                if (payload.size >= 2)
                    c->close_code =
                        (uint16_t)((unsigned)payload.data[0] << 8 | payload.data[1]);
                send_frame(c, 8, payload);
                if (wsclient_flush(c) != ST_OK)
                    c->out_used = c->out.size; /* it is over either way */
                c->is_closed = true;
            }
            if (opcode == 1 || opcode == 2) {
                *ret_payload = payload;
                return ST_OK;
            }
            continue;
        }
        if (c->is_closed)
            return ST_CLOSED;
        enum status st = read_more(c);
        if (st != ST_OK)
            return st;
    }
}

enum status
wsclient_wait(struct wsclient *c, uint64_t timeout_ms, struct slice *ret_payload)
{
    uint64_t deadline_ms = ctl_now_ms() + timeout_ms;
    for (;;) { /* bound: the deadline */
        enum status st = flush_until(c, deadline_ms);
        if (st == ST_TIMEOUT)
            return st;
        if (st != ST_OK) { /* a close frame may have come before it broke */
            c->is_closed = false;
            while (read_more(c) == ST_OK)
                ; /* bound: what came */
            c->is_closed = true;
        }
        st = wsclient_receive(c, ret_payload);
        if (st != ST_AGAIN)
            return st;
        if (!dial_wait(c->fd, POLLIN, deadline_ms))
            return ST_TIMEOUT;
    }
}
