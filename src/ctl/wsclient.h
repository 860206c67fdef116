/* A WebSocket client over TLS, for holdfastctl: connect and upgrade block with a
 * deadline, everything after is non-blocking, so that a benchmark can drive many. */
#ifndef HF_CTL_WSCLIENT_H
#define HF_CTL_WSCLIENT_H

#include "base/bytes.h"

struct wsclient;

struct wsclient_options {
    const char *url;  /* wss://host[:port]/ */
    const char *ca;   /* PEM file; NULL: the system's */
    const char *host; /* NULL: that of url */
    uint64_t timeout_ms;
};

/* error gets one line for people. ST_INVALID: the URL; ST_CORRUPT: the file of ca;
 * ST_NOTLEADER: taken and ended before TLS began; ST_DENIED: an answer that is no
 * upgrade; ST_TIMEOUT; ST_CLOSED: all else. */
enum status wsclient_connect(const struct wsclient_options *options,
                             char *error,
                             size_t error_size,
                             struct wsclient **ret_client) MUST_USE;
void wsclient_free(struct wsclient *c); /* closes; NULL is fine */
int wsclient_fd(const struct wsclient *c);
/* Queues one masked text or binary frame. */
void wsclient_send(struct wsclient *c, struct slice payload, bool is_text);
/* Writes what it can. ST_OK: all is written; ST_AGAIN: some waits; ST_CLOSED. */
enum status wsclient_flush(struct wsclient *c) MUST_USE;
/* The next message; borrowed until the next call. ST_AGAIN: none yet; ST_CLOSED: the
 * server closed (close_code then, 1006 without one). Pings are answered inside. */
enum status wsclient_receive(struct wsclient *c, struct slice *ret_payload) MUST_USE;
uint16_t wsclient_close_code(const struct wsclient *c);
/* Flushes and waits for the next message until the timeout: ST_TIMEOUT. */
enum status wsclient_wait(struct wsclient *c,
                          uint64_t timeout_ms,
                          struct slice *ret_payload) MUST_USE;

#endif
