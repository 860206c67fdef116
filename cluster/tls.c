/* TLS between nodes: see tls.h. */
#include "cluster/tls.h"

#include "base/mem.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* AES-128 first: as safe here as 256, and a third faster. */
#define CIPHERS                                                                        \
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
#define CHAIN_BYTES_MAX (32u << 10) /* of a peer's certificates */

struct tls {
    SSL_CTX *context;
    int64_t expires_s;
    uint64_t id;
    char *ca_file;
    char *cert_file;
    char *key_file;
};

void
cluster_tls_node_name(uint64_t id, char out[TLS_NAME_MAX])
{
    snprintf(out, TLS_NAME_MAX, "node-%" PRIu64 ".holdfast.internal", id);
}

/* Keeps what preverify found, but for "not yet valid" (tls.h says why). */
static int
forgive_early(int is_ok, X509_STORE_CTX *ctx)
{
    if (!is_ok && X509_STORE_CTX_get_error(ctx) == X509_V_ERR_CERT_NOT_YET_VALID) {
        X509_STORE_CTX_set_error(ctx, X509_V_OK);
        return 1;
    }
    return is_ok;
}

/* An encrypted key must fail, not ask on the terminal. */
static int
no_password(char *out, int size, int is_write, void *ctx)
{
    (void)out, (void)size, (void)is_write, (void)ctx;
    return -1;
}

/* "what file: reason of OpenSSL" */
static enum status
complain(char why[TLS_WHY_MAX], const char *what, const char *file)
{
    unsigned long code = ERR_peek_error(); /* the first one is the cause */
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    if (ERR_SYSTEM_ERROR(code))
        reason = strerror(ERR_GET_REASON(code));
    snprintf(why, TLS_WHY_MAX, "%s %.80s%s%.40s", what, file,
             reason == NULL ? "" : ": ", reason == NULL ? "" : reason);
    ERR_clear_error();
    return ST_INVALID;
}

/* True when cert names node id and may do all of usage (XKU_...). */
static bool
is_node_certificate(X509 *cert, uint64_t id, uint32_t usage)
{
    char name[TLS_NAME_MAX];
    uint32_t has = X509_get_extended_key_usage(cert);
    unsigned flags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS;

    cluster_tls_node_name(id, name);
    if (has == UINT32_MAX || (has & usage) != usage)
        return false;
    return X509_check_host(cert, name, strlen(name), flags, NULL) == 1;
}

/* Our own certificate under our own CA: a mix-up of files shows here and not in the
 * logs of the other nodes. */
static bool
is_trusted(SSL_CTX *context, X509 *cert)
{
    STACK_OF(X509) *chain = NULL;
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    bool is_good = false;

    if (check != NULL && SSL_CTX_get0_chain_certs(context, &chain) == 1 &&
        X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(context), cert, chain) == 1) {
        X509_STORE_CTX_set_verify_cb(check, forgive_early);
        is_good = X509_verify_cert(check) == 1;
    }
    X509_STORE_CTX_free(check);
    return is_good;
}

static int64_t
expiry_of(const X509 *cert)
{
    struct tm tm = {0};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) != 1)
        return 0;
    return (int64_t)timegm(&tm);
}

static SSL_CTX *
new_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    if (context == NULL)
        return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context, CIPHERS);
    SSL_CTX_set_security_level(context, 2);
    SSL_CTX_set_options(
        context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_max_cert_list(context, CHAIN_BYTES_MAX);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       forgive_early);
    return context;
}

/* A new context from the files of t, checked as a whole. */
static enum status
load(const struct tls *t,
     char why[TLS_WHY_MAX],
     SSL_CTX **ret_context,
     int64_t *ret_expires_s)
{
    enum status status = ST_INVALID;
    ERR_clear_error();
    SSL_CTX *context = new_context();
    X509 *cert;

    if (context == NULL) {
        status = complain(why, "no memory for", "a TLS context");
    } else if (SSL_CTX_load_verify_locations(context, t->ca_file, NULL) != 1) {
        status = complain(why, "cannot use CA file", t->ca_file);
    } else if (SSL_CTX_use_certificate_chain_file(context, t->cert_file) != 1) {
        status = complain(why, "cannot use certificate", t->cert_file);
    } else if (SSL_CTX_use_PrivateKey_file(context, t->key_file, SSL_FILETYPE_PEM) !=
                   1 ||
               SSL_CTX_check_private_key(context) != 1) {
        status = complain(why, "cannot use key", t->key_file);
    } else if (cert = SSL_CTX_get0_certificate(context),
               !is_node_certificate(cert, t->id, XKU_SSL_SERVER | XKU_SSL_CLIENT)) {
        status = complain(why, "not this node's name, or not serverAuth+clientAuth, in",
                          t->cert_file);
    } else if (!is_trusted(context, cert)) {
        status = complain(why, "expired, or not signed by the CA file:", t->cert_file);
    } else {
        *ret_context = context;
        *ret_expires_s = expiry_of(cert);
        return ST_OK;
    }
    SSL_CTX_free(context);
    return status;
}

static char *
copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

enum status
cluster_tls_open(const struct cluster_tls_options *options,
                 char why[TLS_WHY_MAX],
                 struct tls **ret_tls)
{
    struct tls *t = mem_calloc(1, sizeof *t);
    t->id = options->id;
    t->ca_file = copy_text(options->ca_file);
    t->cert_file = copy_text(options->cert_file);
    t->key_file = copy_text(options->key_file);
    enum status status = load(t, why, &t->context, &t->expires_s);
    if (status != ST_OK) {
        cluster_tls_free(t);
        return status;
    }
    *ret_tls = t;
    return ST_OK;
}

void
cluster_tls_free(struct tls *t)
{
    if (t == NULL)
        return;
    SSL_CTX_free(t->context);
    mem_free(t->ca_file);
    mem_free(t->cert_file);
    mem_free(t->key_file);
    mem_free(t);
}

enum status
cluster_tls_reload(struct tls *t, char why[TLS_WHY_MAX])
{
    SSL_CTX *context;
    enum status status = load(t, why, &context, &t->expires_s);
    if (status != ST_OK)
        return status;
    SSL_CTX_free(t->context);
    t->context = context;
    return ST_OK;
}

int64_t
cluster_tls_expires_s(const struct tls *t)
{
    return t->expires_s;
}

enum status
cluster_tls_session(const struct tls *t, int fd, bool is_client, SSL **ret_ssl)
{
    ERR_clear_error();
    SSL *ssl = SSL_new(t->context);
    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        return ST_NOMEM;
    }
    if (is_client)
        SSL_set_connect_state(ssl);
    else
        SSL_set_accept_state(ssl);
    *ret_ssl = ssl;
    return ST_OK;
}

/* What a call that gave result means. */
static enum status
judge(const SSL *ssl, int result)
{
    if (result > 0)
        return ST_OK;
    switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return ST_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return ST_CLOSED;
    case SSL_ERROR_SYSCALL:
        return ST_CLOSED; /* EOF, reset, timed out by the kernel */
    default:
        return ST_INVALID;
    }
}

enum status
cluster_tls_handshake(SSL *ssl)
{
    ERR_clear_error();
    errno = 0;
    return judge(ssl, SSL_do_handshake(ssl));
}

enum status
cluster_tls_read(SSL *ssl, uint8_t *out, size_t size, size_t *ret_size)
{
    ERR_clear_error();
    errno = 0;
    return judge(ssl, SSL_read_ex(ssl, out, size, ret_size));
}

bool
cluster_tls_has_more(const SSL *ssl)
{
    return SSL_has_pending(ssl) != 0;
}

enum status
cluster_tls_write(SSL *ssl, struct slice bytes, size_t *ret_size)
{
    ERR_clear_error();
    errno = 0;
    return judge(ssl, SSL_write_ex(ssl, bytes.data, bytes.size, ret_size));
}

bool
cluster_tls_wants_write(const SSL *ssl)
{
    return SSL_want(ssl) == SSL_WRITING;
}

void
cluster_tls_rekey(SSL *ssl)
{
    ERR_clear_error();
    (void)SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
    ERR_clear_error();
}

void
cluster_tls_say_goodbye(SSL *ssl)
{
    if (!SSL_is_init_finished(ssl))
        return;
    ERR_clear_error();
    (void)SSL_shutdown(ssl);
    ERR_clear_error();
}

void
cluster_tls_why(const SSL *ssl, char out[TLS_WHY_MAX])
{
    long verify = SSL_get_verify_result(ssl);
    unsigned long code = ERR_peek_error();
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    if (verify != X509_V_OK)
        snprintf(out, TLS_WHY_MAX, "%s", X509_verify_cert_error_string(verify));
    else
        snprintf(out, TLS_WHY_MAX, "%s", reason == NULL ? "TLS failed" : reason);
}

enum status
cluster_tls_check_peer(const SSL *ssl, uint64_t id)
{
    X509 *cert = SSL_get0_peer_certificate(ssl);
    uint32_t usage = SSL_is_server(ssl) ? XKU_SSL_CLIENT : XKU_SSL_SERVER;
    if (cert == NULL || SSL_get_verify_result(ssl) != X509_V_OK)
        return ST_DENIED;
    return is_node_certificate(cert, id, usage) ? ST_OK : ST_DENIED;
}
