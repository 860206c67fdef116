/* WebSocket client: see wsclient.h. RFC 6455, client side, no extensions. */
#include "ctl/wsclient.h"

#include "base/mem.h"
#include "base/text.h"
#include "ctl/output.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
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

struct address {
    char host[256];
    char port[8];
};

static enum status
parse_url(const char *url, struct address *ret)
{
    if (strncmp(url, "wss://", 6) != 0)
        return ST_INVALID;
    const char *host = url + 6;
    const char *end = host + strcspn(host, "/");
    const char *port = end;
    if (*host == '[') {
        const char *bracket = memchr(host, ']', (size_t)(end - host));
        if (bracket == NULL)
            return ST_INVALID;
        host++;
        port = bracket + 1;
        end = bracket;
    } else {
        const char *colon = memchr(host, ':', (size_t)(end - host));
        if (colon != NULL)
            port = end = colon;
    }
    if ((size_t)(end - host) >= sizeof ret->host || end == host)
        return ST_INVALID;
    memcpy(ret->host, host, (size_t)(end - host));
    ret->host[end - host] = '\0';
    (void)snprintf(ret->port, sizeof ret->port, "443");
    if (*port == ':')
        (void)snprintf(ret->port, sizeof ret->port, "%.*s", (int)strcspn(port + 1, "/"),
                       port + 1);
    return ST_OK;
}

/* Waits for the socket; false at the deadline. */
static bool
wait_fd(int fd, short events, uint64_t deadline_ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    for (;;) { /* bound: the deadline */
        uint64_t now = ctl_now_ms();
        if (now >= deadline_ms)
            return false;
        int n = poll(&p, 1, (int)(deadline_ms - now));
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

static int
dial_one(const struct addrinfo *a, uint64_t deadline_ms)
{
    int one = 1;
    int error = 0;
    socklen_t size = sizeof error;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
        return fd;
    if (errno == EINPROGRESS && wait_fd(fd, POLLOUT, deadline_ms) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
        return fd;
    if (error != 0)
        errno = error;
    (void)close(fd);
    return -1;
}

static int
dial(const struct address *address,
     uint64_t deadline_ms,
     char *error,
     size_t error_size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int fd = -1;
    int rc = getaddrinfo(address->host, address->port, &hints, &list);
    if (rc != 0) {
        (void)snprintf(error, error_size, "%s: %s", address->host, gai_strerror(rc));
        return -1;
    }
    for (struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
        fd = dial_one(a, deadline_ms);
    if (fd < 0)
        (void)snprintf(error, error_size, "%s:%s: %s", address->host, address->port,
                       strerror(errno));
    freeaddrinfo(list);
    return fd;
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
        if ((why == SSL_ERROR_WANT_READ && wait_fd(c->fd, POLLIN, deadline_ms)) ||
            (why == SSL_ERROR_WANT_WRITE && wait_fd(c->fd, POLLOUT, deadline_ms)))
            continue;
        long verify = SSL_get_verify_result(c->ssl);
        const char *what = ctl_now_ms() >= deadline_ms ? "no answer in time"
                           : verify != X509_V_OK ? X509_verify_cert_error_string(verify)
                                                 : "the connection was closed";
        (void)snprintf(error, error_size, "TLS: %s", what);
        return ST_CLOSED;
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
        return ST_INVALID;
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

static enum status
flush_until(struct wsclient *c, uint64_t deadline_ms)
{
    enum status st;
    while ((st = wsclient_flush(c)) == ST_AGAIN) /* bound: the deadline */
        if (!wait_fd(c->fd, POLLOUT, deadline_ms))
            return ST_TIMEOUT;
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
            return ST_INVALID;
        }
        enum status st = read_more(c);
        if (st == ST_AGAIN && !wait_fd(c->fd, POLLIN, deadline_ms))
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
    struct address address;
    uint64_t deadline_ms = ctl_now_ms() + options->timeout_ms;
    if (parse_url(options->url, &address) != ST_OK) {
        (void)snprintf(error, error_size, "%s: wss://HOST[:PORT]/ is wanted",
                       options->url);
        return ST_INVALID;
    }
    const char *host = options->host != NULL ? options->host : address.host;
    struct wsclient *c = mem_calloc(1, sizeof *c);
    (void)RAND_bytes((unsigned char *)&c->mask, sizeof c->mask);
    c->close_code = 1006;
    c->fd = dial(&address, deadline_ms, error, error_size);
    enum status st = c->fd < 0 ? ST_CLOSED : ST_OK;
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
        if (st != ST_OK)
            return st;
        st = wsclient_receive(c, ret_payload);
        if (st != ST_AGAIN)
            return st;
        if (!wait_fd(c->fd, POLLIN, deadline_ms))
            return ST_TIMEOUT;
    }
}
