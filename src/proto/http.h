/* HTTP: the one request that a WebSocket client makes (RFC 6455 section 4.2), and the
 * 400 for everything else. Pure. */
#ifndef HF_PROTO_HTTP_H
#define HF_PROTO_HTTP_H

#include "base/bytes.h"

enum http_outcome {
    HTTP_NEED_MORE,
    HTTP_UPGRADE, /* answer with http_accept() */
    HTTP_REFUSE,  /* answer with http_refusal(), then close */
};

struct http_upgrade {
    struct slice host;   /* Host without port, as written; borrowed from the input */
    struct slice key;    /* Sec-WebSocket-Key */
    struct slice origin; /* empty when there is none */
    bool has_deflate;    /* an offer of permessage-deflate that we can take */
    uint8_t server_max_window_bits; /* 9..15: what the client wants at most */
    bool reply_window_bits;         /* it must stand in the response */
};

/* data: what has come so far, at most LIMIT_HTTP_HEAD_BYTES (more without an end is
 * HTTP_REFUSE). ret_used: bytes of the request. Bytes that cannot begin an HTTP request
 * are refused at once. */
enum http_outcome
http_parse(struct slice data, struct http_upgrade *ret_upgrade, size_t *ret_used);
/* Appends the 101 response. Deflate, when agreed, is always with
 * server_no_context_takeover and client_no_context_takeover, so no connection needs a
 * window of its own. */
void http_accept(const struct http_upgrade *upgrade, struct bytes *out);
/* Appends a 400 response with Connection: close. */
void http_refusal(struct bytes *out);
/* The queue's name: the first label of host in lower case when host is
 * LABEL.domain (domain from the configuration) or has at least two dots; empty for IP
 * addresses, "localhost", and hosts without a name of a queue (then the default queue
 * counts). At most 63 bytes into out; ret_size 0 = default queue. ST_INVALID: a label
 * that cannot be a queue's name. */
enum status http_queue_name(struct slice host,
                            const char *domain,
                            char out[64],
                            size_t *ret_size) MUST_USE;

#endif
