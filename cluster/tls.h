/* TLS between nodes: 1.3 only, our own CA only, a certificate required on both sides.
 *
 * A certificate counts only when it chains to the CA file, carries the extended key
 * usage of its side (serverAuth when we dialled, clientAuth when we accepted; absent is
 * not enough) and names the node: SAN DNS:node-<id>.holdfast.internal. The common name
 * and wildcards are not looked at. No tickets, no resumption, no early data: each
 * connection proves its certificate anew, so a replaced CA takes effect at once for
 * new connections.
 *
 * "Not yet valid" is forgiven: between nodes it says that our clock is behind, and a
 * clock that is a day wrong must not take a node out of its cluster. Expired is not.
 *
 * The OpenSSL error queue is emptied before each call, since SSL_get_error() looks at
 * what lies in it, whoever put it there. One thread. */
#ifndef HF_CLUSTER_TLS_H
#define HF_CLUSTER_TLS_H

#include "base/bytes.h"

#include <openssl/ssl.h>

struct tls;

struct cluster_tls_options {
    uint64_t id; /* of this node: its own certificate must name it */
    const char *ca_file;
    const char *cert_file; /* own certificate, then its chain */
    const char *key_file;
};

#define TLS_NAME_MAX 64
#define TLS_WHY_MAX  160

/* Reads and checks the three files. ST_INVALID: why says which and what is wrong. */
enum status cluster_tls_open(const struct cluster_tls_options *options,
                             char why[TLS_WHY_MAX],
                             struct tls **ret_tls) MUST_USE;
void cluster_tls_free(struct tls *t); /* sessions live on */
/* Reads the files again; on failure all stays as it was. */
enum status cluster_tls_reload(struct tls *t, char why[TLS_WHY_MAX]) MUST_USE;
/* When our own certificate ends, in seconds since 1970. */
int64_t cluster_tls_expires_s(const struct tls *t);

/* A session on fd (borrowed). ST_NOMEM. */
enum status cluster_tls_session(const struct tls *t,
                                int fd,
                                bool is_client,
                                SSL **ret_ssl) MUST_USE;

/* ST_OK; ST_AGAIN: cluster_tls_wants_write() says what to wait for; ST_CLOSED: the
 * other side ended or reset it; ST_INVALID: TLS failed, cluster_tls_why() says how. */
enum status cluster_tls_handshake(SSL *ssl) MUST_USE;
enum status
cluster_tls_read(SSL *ssl, uint8_t *out, size_t size, size_t *ret_size) MUST_USE;
/* Bytes from the socket that were not given out yet. */
bool cluster_tls_has_more(const SSL *ssl);
enum status cluster_tls_write(SSL *ssl, struct slice bytes, size_t *ret_size) MUST_USE;
bool cluster_tls_wants_write(const SSL *ssl);
/* Changes our sending key before the next write; no write may be half done. */
void cluster_tls_rekey(SSL *ssl);
void
cluster_tls_say_goodbye(SSL *ssl); /* close_notify, as far as it goes without waiting */
/* The cause of the last ST_INVALID of this thread. */
void cluster_tls_why(const SSL *ssl, char out[TLS_WHY_MAX]);

/* "node-7.holdfast.internal" */
void cluster_tls_node_name(uint64_t id, char out[TLS_NAME_MAX]);
/* After the handshake: the peer's certificate is that of node id. ST_DENIED else. */
enum status cluster_tls_check_peer(const SSL *ssl, uint64_t id) MUST_USE;

#endif
