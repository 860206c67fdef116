/* Client: see client.h. */
#include "client.h"

#include "rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 65536

void
client_connect_slow(struct client *c, uint16_t port, int receive_bytes)
{
    memset(c, 0, sizeof(*c));
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(c->fd, 0);
    struct timeval limit = {.tv_sec = RIG_WAIT_MS / 1000};
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (receive_bytes > 0)
        setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(c->fd, (struct sockaddr *)&to, sizeof(to)), 0);
}

void
client_connect(struct client *c, uint16_t port)
{
    client_connect_slow(c, port, 0);
}

void
client_tls(struct client *c)
{
    c->context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_options(c->context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    c->ssl = SSL_new(c->context);
    SSL_set_fd(c->ssl, c->fd);
    ERR_clear_error();
    ck_assert_int_eq(SSL_connect(c->ssl), 1);
}

void
client_upgrade(struct client *c, const char *host, const char *extra)
{
    char request[1024];
    int size = snprintf(request, sizeof(request),
                        "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"
                        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
                        host, extra);
    client_tls(c);
    ck_assert(client_send(c, request, (size_t)size));
    for (;;) {
        ck_assert(client_need(c, c->in.size - c->in_at + 1));
        uint8_t *end =
            memmem(c->in.data + c->in_at, c->in.size - c->in_at, "\r\n\r\n", 4);
        if (end != NULL) {
            ck_assert(memcmp(c->in.data + c->in_at, "HTTP/1.1 101 ", 13) == 0);
            c->in_at = (size_t)(end - c->in.data) + 4;
            return;
        }
    }
}

void
client_send_login(struct client *c, const char *role, const char *password)
{
    char login[256];
    snprintf(login, sizeof(login),
             "{\"username\":\"u\",\"password\":\"%s\",\"role\":\"%s\","
             "\"queuetype\":\"distribute\"%s}",
             password, role, strcmp(role, "subscriber") == 0 ? ",\"capacity\":9" : "");
    ck_assert(client_send_text(c, login));
}

void
client_login(struct client *c, uint16_t port, const char *role)
{
    client_connect(c, port);
    client_upgrade(c, "localhost", "");
    client_send_login(c, role, "good");
    client_expect_begin(c, "{\"status\":\"Success.\"");
}

void
client_free(struct client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->context);
    bytes_fini(&c->in);
    if (c->fd >= 0)
        close(c->fd);
    memset(c, 0, sizeof(*c));
    c->fd = -1;
}

void
client_reset(struct client *c)
{
    struct linger now = {.l_onoff = 1};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    client_free(c);
}

void
client_send_raw(struct client *c, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t sent = send(c->fd, at, size, MSG_NOSIGNAL);
        ck_assert_int_gt(sent, 0);
        at += sent;
        size -= (size_t)sent;
    }
}

bool
client_send(struct client *c, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ERR_clear_error();
        int sent = SSL_write(c->ssl, at, size > 16384 ? 16384 : (int)size);
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

void
client_put_frame(struct bytes *out, uint8_t first, const void *data, size_t size)
{
    static const uint8_t mask[4] = {0x12, 0x34, 0x56, 0x78};
    bytes_put_u8(out, first);
    if (size < 126) {
        bytes_put_u8(out, (uint8_t)(0x80 | size));
    } else if (size <= 0xffff) {
        bytes_put_u8(out, 0x80 | 126);
        bytes_put_u16be(out, (uint16_t)size);
    } else {
        bytes_put_u8(out, 0x80 | 127);
        bytes_put_u64be(out, size);
    }
    bytes_put(out, mask, sizeof(mask));
    for (size_t i = 0; i < size; i++)
        bytes_put_u8(out, ((const uint8_t *)data)[i] ^ mask[i % 4]);
}

bool
client_send_frame(struct client *c, uint8_t first, const void *data, size_t size)
{
    struct bytes out = {NULL, 0, 0};
    client_put_frame(&out, first, data, size);
    bool is_sent = client_send(c, out.data, out.size);
    bytes_fini(&out);
    return is_sent;
}

bool
client_send_text(struct client *c, const char *text)
{
    return client_send_frame(c, FRAME_TEXT, text, strlen(text));
}

static void
note_end(struct client *c, int result)
{
    int error = SSL_get_error(c->ssl, result);
    c->has_end = true;
    c->was_clean = error == SSL_ERROR_ZERO_RETURN &&
                   (SSL_get_shutdown(c->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
    c->was_reset = error == SSL_ERROR_SYSCALL && errno == ECONNRESET;
    ck_assert_msg(errno != EAGAIN || error == SSL_ERROR_ZERO_RETURN,
                  "nothing came in time");
}

bool
client_need(struct client *c, size_t count)
{
    if (c->in_at > 0) {
        memmove(c->in.data, c->in.data + c->in_at, c->in.size - c->in_at);
        c->in.size -= c->in_at;
        c->in_at = 0;
    }
    while (c->in.size < count && !c->has_end) {
        uint8_t *at = bytes_extend(&c->in, READ_BYTES);
        ERR_clear_error();
        errno = 0;
        int got = SSL_read(c->ssl, at, READ_BYTES);
        c->in.size -= READ_BYTES - (got > 0 ? (size_t)got : 0);
        if (got <= 0)
            note_end(c, got);
    }
    return c->in.size >= count;
}

struct client_frame
client_read(struct client *c)
{
    struct client_frame f = {.opcode = -1};
    if (!client_need(c, 2))
        return f;
    size_t head = 2;
    uint64_t size = c->in.data[1] & 0x7f;
    ck_assert_msg((c->in.data[1] & 0x80) == 0, "a server frame is masked");
    if (size >= 126) {
        size_t count = size == 126 ? 2 : 8;
        head += count;
        if (!client_need(c, head))
            return f;
        size = 0;
        for (size_t i = 0; i < count; i++)
            size = size << 8 | c->in.data[2 + i];
    }
    if (!client_need(c, head + size))
        return f;
    ck_assert_int_eq(c->in.data[0] & 0xb0, 0x80);
    f.opcode = c->in.data[0] & 0x0f;
    f.is_packed = (c->in.data[0] & 0x40) != 0;
    f.payload = slice_of(c->in.data + head, size);
    c->in_at = head + size;
    return f;
}

void
client_expect(struct client *c, const char *text)
{
    struct client_frame f = client_read(c);
    ck_assert_int_eq(f.opcode, 1);
    ck_assert_msg(slice_equal(f.payload, slice_from_text(text)), "%.*s is not %s",
                  (int)f.payload.size, (const char *)f.payload.data, text);
}

void
client_expect_begin(struct client *c, const char *text)
{
    struct client_frame f = client_read(c);
    ck_assert_int_eq(f.opcode, 1);
    size_t size = strlen(text);
    ck_assert_msg(f.payload.size >= size && memcmp(f.payload.data, text, size) == 0,
                  "%.*s does not begin with %s", (int)f.payload.size,
                  (const char *)f.payload.data, text);
}

void
client_expect_close(struct client *c, unsigned code)
{
    struct client_frame f = client_read(c);
    ck_assert_int_eq(f.opcode, 8);
    if (code == 1005) {
        ck_assert_uint_eq(f.payload.size, 0);
        return;
    }
    ck_assert_uint_ge(f.payload.size, 2);
    ck_assert_uint_eq((unsigned)f.payload.data[0] << 8 | f.payload.data[1], code);
}

void
client_expect_end(struct client *c)
{
    struct client_frame f = client_read(c);
    ck_assert_int_eq(f.opcode, -1);
    ck_assert_uint_eq(c->in.size - c->in_at, 0);
    ck_assert_msg(c->was_clean, "the end was not a clean one");
    char byte;
    ck_assert_int_eq(recv(c->fd, &byte, 1, 0), 0); /* FIN, no reset */
}

void
client_expect_gone(struct client *c)
{
    while (client_read(c).opcode != -1)
        ;
    ck_assert(c->has_end);
}

size_t
client_read_plain(struct client *c, char *out, size_t room)
{
    size_t size = 0;
    ssize_t got;
    while (size < room && (got = recv(c->fd, out + size, room - size, 0)) > 0)
        size += (size_t)got;
    return size;
}
