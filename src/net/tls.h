/* TLS: the certificate and what we accept of TLS. A context is made whole, checked, and
 * then takes the place of the one before; connections keep the one they began with. */
#ifndef HF_NET_TLS_H
#define HF_NET_TLS_H

#include "base/status.h"

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct tls {
    pthread_mutex_t lock; /* context */
    SSL_CTX *context;
    _Atomic uint64_t expires_secs; /* UNIX time */
    char *cert_file;
    char *key_file;
};

/* ST_INVALID: the files, or they do not belong together (logged). An expired
 * certificate will do: the node is needed for its log even when clients turn away. */
enum status
tls_init(struct tls *t, const char *cert_file, const char *key_file) MUST_USE;
void tls_fini(struct tls *t);
/* Core thread. ST_INVALID also when it is expired or not yet valid: the old one stays.
 */
enum status tls_reload(struct tls *t) MUST_USE;
/* Why a certificate or its key cannot be used. */
struct tls_fault {
    const char *file; /* one of the two, or NULL: no memory */
    const char *step; /* certificate, key, pair */
    const char *reason;
    bool is_mismatch; /* each is good, and they do not belong together */
};
/* Opens both as tls_init() does, keeps and logs nothing. ST_INVALID: ret_fault says
 * why. Any thread. */
enum status tls_check(const char *cert_file,
                      const char *key_file,
                      struct tls_fault *ret_fault) MUST_USE;
/* The server's side of a connection on fd, which stays the caller's. NULL: no memory.
 */
SSL *tls_accept(struct tls *t, int fd);

#endif
