/* TLS: version 1.2 with ECDHE and AEAD ciphers, or 1.3.
 *
 * Not here: the handshake itself and all reading and writing (conn_*.c).
 *
 * Why these modes: partial writes, because a record that left must be accounted for
 * even if the next would block; a moving buffer, because output buffers grow while a
 * record waits; released buffers, because most connections are idle. Read-ahead takes
 * as many records as come with one read(), so whoever stops reading must remember that
 * OpenSSL may hold bytes that no poll will tell of. */
#include "net/tls.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <string.h>
#include <time.h>

#define CIPHERS_1_2   "ECDHE+AESGCM:ECDHE+CHACHA20"
#define SECONDS_A_DAY 86400

static char *
copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

/* A key with a passphrase cannot be opened by a daemon; never ask on a terminal. */
static int
no_passphrase(char *out, int size, int is_write, void *ctx)
{
    (void)out;
    (void)size;
    (void)is_write;
    (void)ctx;
    return 0;
}

static void
set_rules(SSL_CTX *context)
{
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                           SSL_OP_CIPHER_SERVER_PREFERENCE |
                                           SSL_OP_PRIORITIZE_CHACHA);
    (void)SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                        SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    (void)SSL_CTX_set_max_early_data(context, 0);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
}

static SSL_CTX *
make_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL)
        return NULL;
    set_rules(context);
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
        SSL_CTX_set_cipher_list(context, CIPHERS_1_2) == 1)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

static void
log_refusal(const char *file, const char *step, const char *reason)
{
    log_event(LOG_ERROR, "certificate.refused", "use=client file=%s step=%s reason=%s",
              log_quote(file), step, log_quote(reason));
}

static bool
blame(struct tls_fault *fault, const char *file, const char *step)
{
    unsigned long code = ERR_peek_error(); /* the first one is the cause */
    const char *reason = ERR_reason_error_string(code);
    if (ERR_SYSTEM_ERROR(code))
        reason = strerror(ERR_GET_REASON(code));
    *fault = (struct tls_fault){
        .file = file,
        .step = step,
        .reason = code == 0 || reason == NULL ? "unknown" : reason,
        .is_mismatch = ERR_GET_LIB(code) == ERR_LIB_X509 &&
                       (ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH ||
                        ERR_GET_REASON(code) == X509_R_KEY_TYPE_MISMATCH),
    };
    ERR_clear_error();
    return false;
}

static bool
load_files(SSL_CTX *context,
           const char *cert_file,
           const char *key_file,
           struct tls_fault *ret_fault)
{
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, cert_file) != 1)
        return blame(ret_fault, cert_file, "certificate");
    if (SSL_CTX_use_PrivateKey_file(context, key_file, SSL_FILETYPE_PEM) != 1)
        return blame(ret_fault, key_file, "key");
    if (SSL_CTX_check_private_key(context) != 1)
        return blame(ret_fault, key_file, "pair");
    return true;
}

enum status
tls_check(const char *cert_file, const char *key_file, struct tls_fault *ret_fault)
{
    SSL_CTX *context = make_context();
    *ret_fault = (struct tls_fault){.step = "certificate", .reason = "out of memory"};
    bool is_good =
        context != NULL && load_files(context, cert_file, key_file, ret_fault);
    SSL_CTX_free(context);
    return is_good ? ST_OK : ST_INVALID;
}

/* Why it is not valid now, or NULL. ret_expires: UNIX seconds. */
static const char *
check_dates(const X509 *cert, uint64_t *ret_expires)
{
    int days = 0;
    int seconds = 0;
    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert)) != 1)
        return "no date of its end";
    int64_t left = (int64_t)days * SECONDS_A_DAY + seconds;
    int64_t expires = (int64_t)time(NULL) + left;
    *ret_expires = expires < 0 ? 0 : (uint64_t)expires;
    bool is_begun = X509_cmp_current_time(X509_get0_notBefore(cert)) < 0;
    if (left <= 0)
        return "expired";
    return is_begun ? NULL : "not yet valid";
}

static SSL_CTX *
load(const struct tls *t, bool need_dates, uint64_t *ret_expires)
{
    SSL_CTX *context = make_context();
    if (context == NULL)
        return NULL;
    struct tls_fault fault;
    bool is_good = load_files(context, t->cert_file, t->key_file, &fault);
    if (!is_good) {
        log_refusal(fault.file, fault.step, fault.reason);
    } else {
        const char *why = check_dates(SSL_CTX_get0_certificate(context), ret_expires);
        is_good = why == NULL || !need_dates;
        if (!is_good)
            log_refusal(t->cert_file, "dates", why);
    }
    if (is_good)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

enum status
tls_init(struct tls *t, const char *cert_file, const char *key_file)
{
    int result = pthread_mutex_init(&t->lock, NULL);
    assert(result == 0);
    t->cert_file = copy_text(cert_file);
    t->key_file = copy_text(key_file);
    uint64_t expires = 0;
    t->context = load(t, false, &expires);
    atomic_init(&t->expires_secs, expires);
    if (t->context != NULL)
        return ST_OK;
    tls_fini(t);
    return ST_INVALID;
}

void
tls_fini(struct tls *t)
{
    SSL_CTX_free(t->context);
    mem_free(t->cert_file);
    mem_free(t->key_file);
    (void)pthread_mutex_destroy(&t->lock);
}

enum status
tls_reload(struct tls *t)
{
    uint64_t expires = 0;
    SSL_CTX *fresh = load(t, true, &expires);
    if (fresh == NULL)
        return ST_INVALID;
    (void)pthread_mutex_lock(&t->lock);
    SSL_CTX *old = t->context;
    t->context = fresh;
    (void)pthread_mutex_unlock(&t->lock);
    atomic_store(&t->expires_secs, expires);
    SSL_CTX_free(old); /* connections hold their own references */
    log_event(LOG_INFO, "certificate.loaded", "use=client file=%s",
              log_quote(t->cert_file));
    return ST_OK;
}

SSL *
tls_accept(struct tls *t, int fd)
{
    ERR_clear_error();
    (void)pthread_mutex_lock(&t->lock);
    SSL *ssl = SSL_new(t->context);
    (void)pthread_mutex_unlock(&t->lock);
    if (ssl == NULL)
        return NULL;
    if (SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        return NULL;
    }
    SSL_set_accept_state(ssl);
    return ssl;
}
