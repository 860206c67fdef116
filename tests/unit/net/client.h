/* Client: a blocking WebSocket client that can misbehave at every stage. */
#ifndef TEST_NET_CLIENT_H
#define TEST_NET_CLIENT_H

#include "base/bytes.h"

#include <openssl/ssl.h>

struct client {
    int fd;
    SSL_CTX *context;
    SSL *ssl;
    struct bytes in; /* read, not yet parsed */
    size_t in_at;
    bool has_end;   /* the server's end of stream came */
    bool was_clean; /* with close_notify */
    bool was_reset;
};

struct client_frame {
    int opcode; /* -1: end of stream */
    bool is_packed;
    struct slice payload; /* until the next read */
};

#define FRAME_TEXT   0x81
#define FRAME_BINARY 0x82
#define FRAME_CLOSE  0x88
#define FRAME_PING   0x89

void client_connect(struct client *c, uint16_t port); /* TCP */
/* As client_connect(), with a receive buffer of its own size. */
void client_connect_slow(struct client *c, uint16_t port, int receive_bytes);
void client_tls(struct client *c);
/* tls and 101; extra: more header lines, or "". */
void client_upgrade(struct client *c, const char *host, const char *extra);
/* connect, tls, upgrade and a good login, its reply awaited. */
void client_login(struct client *c, uint16_t port, const char *role);
void client_send_login(struct client *c, const char *role, const char *password);
void client_free(struct client *c); /* closes at once */
/* Resets (RST) rather than closes. */
void client_reset(struct client *c);

void client_send_raw(struct client *c, const void *data, size_t size); /* TCP */
bool client_send(struct client *c, const void *data, size_t size);     /* in TLS */
/* first: FIN, opcode. */
void client_put_frame(struct bytes *out, uint8_t first, const void *data, size_t size);
bool client_send_frame(struct client *c, uint8_t first, const void *data, size_t size);
bool client_send_text(struct client *c, const char *text);

/* Everything until count bytes are there; false: end of stream. */
bool client_need(struct client *c, size_t count);
struct client_frame client_read(struct client *c);
/* The next frame is this text. */
void client_expect(struct client *c, const char *text);
/* A text frame that begins like this. */
void client_expect_begin(struct client *c, const char *text);
void client_expect_close(struct client *c, unsigned code);
/* Nothing more comes, and the end is: clean TLS and TCP; */
void client_expect_end(struct client *c);
/* any end at all. */
void client_expect_gone(struct client *c);
/* Plain TCP: reads until the end; returns how much came. */
size_t client_read_plain(struct client *c, char *out, size_t room);

#define LOGIN_OK "{\"status\":\"Success.\"}"
#define PUBLISH  "{\"body\":\"hello\"}"

#endif
