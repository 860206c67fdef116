/* Certificates: see cert.h. */
#include "ctl/cert.h"

#include "base/file.h"
#include "base/mem.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FILE_BYTES_MAX (1u << 20)
#define DAY_SECS       86400
#define EARLY_SECS     3600 /* valid so long before now: clocks differ */
#define SERIAL_BITS    127
#define NAMES_BYTES    4096

struct maker {
    const struct cert_request *request;
    X509 *ca; /* NULL: it signs itself */
    EVP_PKEY *ca_key;
    EVP_PKEY *key;
    X509 *cert;
    char *why;
};

static enum status
complain(char why[CERT_WHY_MAX], const char *what)
{
    unsigned long code = ERR_peek_error(); /* the first one is the cause */
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    (void)snprintf(why, CERT_WHY_MAX, "%.160s%s%.80s", what, reason == NULL ? "" : ": ",
                   reason == NULL ? "" : reason);
    ERR_clear_error();
    return ST_INVALID;
}

/* An encrypted key must fail, not ask on the terminal. */
static int
no_password(char *out, int size, int is_write, void *ctx)
{
    (void)out, (void)size, (void)is_write, (void)ctx;
    return -1;
}

static enum status
read_ca(struct maker *m, const char *cert_pem, const char *key_pem)
{
    BIO *cert = BIO_new_mem_buf(cert_pem, -1);
    BIO *key = BIO_new_mem_buf(key_pem, -1);
    enum status st = ST_OK;
    m->ca = PEM_read_bio_X509(cert, NULL, no_password, NULL);
    m->ca_key = PEM_read_bio_PrivateKey(key, NULL, no_password, NULL);
    if (m->ca == NULL)
        st = complain(m->why, "the CA's certificate cannot be read");
    else if (m->ca_key == NULL)
        st = complain(m->why, "the CA's key cannot be read, or is encrypted");
    else if (X509_check_ca(m->ca) != 1)
        st = complain(m->why, "that is no CA's certificate: it may not sign others");
    else if (X509_check_private_key(m->ca, m->ca_key) != 1)
        st = complain(m->why, "the CA's key is not that of its certificate");
    else if (X509_cmp_current_time(X509_get0_notAfter(m->ca)) < 0)
        st = complain(m->why, "the CA's certificate has expired");
    BIO_free(cert);
    BIO_free(key);
    return st;
}

static bool
is_address(const char *text)
{
    struct in6_addr a;
    return inet_pton(AF_INET, text, &a) == 1 || inet_pton(AF_INET6, text, &a) == 1;
}

/* Letters, digits, '-', '.', '_', and one wildcard in front. */
static bool
is_host_name(const char *text)
{
    size_t size = strlen(text);
    if (strncmp(text, "*.", 2) == 0)
        text += 2;
    if (size == 0 || size > 253 || text[0] == '.' || text[0] == '-' || text[0] == '\0')
        return false;
    return strspn(text, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == strlen(text);
}

static enum status
check_request(const struct cert_request *r, char why[CERT_WHY_MAX])
{
    if (r->name_count > CERT_NAMES_MAX || r->days > CERT_DAYS_MAX ||
        (r->kind == CERT_NODE && (r->node_id == 0 || r->node_id > CERT_NODE_ID_MAX)) ||
        (r->kind == CERT_CLIENT && r->name_count == 0)) {
        (void)snprintf(why, CERT_WHY_MAX, "too many names, none, or no such node id");
        return ST_RANGE;
    }
    if (r->common != NULL && strlen(r->common) > CERT_COMMON_BYTES) {
        (void)snprintf(why, CERT_WHY_MAX, "the common name is longer than %d bytes",
                       CERT_COMMON_BYTES);
        return ST_RANGE;
    }
    for (size_t i = 0; i < r->name_count; i++)
        if (!is_address(r->names[i]) && !is_host_name(r->names[i])) {
            (void)snprintf(why, CERT_WHY_MAX, "not a host name or address: %.100s",
                           r->names[i]);
            return ST_RANGE;
        }
    return ST_OK;
}

/* The names of the certificate as OpenSSL's configuration text: "DNS:a,IP:b". All were
 * checked, so none of them can add to it. */
static bool
put_names(const struct cert_request *r, char *out, size_t size)
{
    size_t at = 0;
    int n = 0;
    if (r->kind == CERT_NODE)
        n = snprintf(out, size, "DNS:node-%llu.holdfast.internal",
                     (unsigned long long)r->node_id);
    for (size_t i = 0; i < r->name_count && n >= 0; i++) {
        at += (size_t)n;
        n = snprintf(out + at, size - at, "%s%s:%s", at > 0 ? "," : "",
                     is_address(r->names[i]) ? "IP" : "DNS", r->names[i]);
        if (n < 0 || (size_t)n >= size - at)
            return false;
    }
    return n >= 0;
}

static bool
add_extension(struct maker *m, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, m->ca != NULL ? m->ca : m->cert, m->cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool is_good = extension != NULL && X509_add_ext(m->cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_good;
}

static bool
add_extensions(struct maker *m)
{
    char names[NAMES_BYTES];
    const struct cert_request *r = m->request;
    bool is_ca = r->kind == CERT_CA;
    if (!add_extension(m, NID_basic_constraints,
                       is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE") ||
        !add_extension(m, NID_key_usage,
                       is_ca ? "critical,keyCertSign,cRLSign"
                             : "critical,digitalSignature") ||
        !add_extension(m, NID_subject_key_identifier, "hash") ||
        !add_extension(m, NID_authority_key_identifier, "keyid:always"))
        return false;
    if (is_ca)
        return true;
    return add_extension(m, NID_ext_key_usage,
                         r->kind == CERT_NODE ? "serverAuth,clientAuth"
                                              : "serverAuth") &&
           put_names(r, names, sizeof names) &&
           add_extension(m, NID_subject_alt_name, names);
}

static bool
set_subject(struct maker *m)
{
    char common[CERT_COMMON_BYTES + 1];
    const struct cert_request *r = m->request;
    X509_NAME *subject = X509_get_subject_name(m->cert);
    if (r->common != NULL)
        (void)snprintf(common, sizeof common, "%s", r->common);
    else if (r->kind == CERT_CA)
        (void)snprintf(common, sizeof common, "Holdfast CA");
    else if (r->kind == CERT_NODE)
        (void)snprintf(common, sizeof common, "holdfast-node-%llu",
                       (unsigned long long)r->node_id);
    else /* the SANs count; a name that is too long is cut here */
        (void)snprintf(common, sizeof common, "%s", r->names[0]);
    return X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
                                      (const unsigned char *)common, -1, -1, 0) == 1 &&
           X509_set_issuer_name(m->cert, m->ca != NULL ? X509_get_subject_name(m->ca)
                                                       : subject) == 1;
}

/* From an hour ago on; never longer than the CA. */
static bool
set_validity(struct maker *m)
{
    uint64_t days = m->request->days;
    if (days == 0)
        days = m->request->kind == CERT_CA ? CERT_CA_DAYS : CERT_NODE_DAYS;
    time_t end = time(NULL) + (time_t)(days * DAY_SECS);
    if (X509_gmtime_adj(X509_getm_notBefore(m->cert), -EARLY_SECS) == NULL ||
        ASN1_TIME_set(X509_getm_notAfter(m->cert), end) == NULL)
        return false;
    if (m->ca == NULL ||
        ASN1_TIME_compare(X509_get0_notAfter(m->cert), X509_get0_notAfter(m->ca)) <= 0)
        return true;
    return X509_set1_notAfter(m->cert, X509_get0_notAfter(m->ca)) == 1;
}

static bool
set_serial(X509 *cert)
{
    BIGNUM *serial = BN_new();
    bool is_good = serial != NULL && BN_rand(serial, SERIAL_BITS, 0, 0) == 1 &&
                   BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(cert)) != NULL;
    BN_free(serial);
    return is_good;
}

static char *
take_text(BIO *bio)
{
    char *data = NULL;
    long size = BIO_get_mem_data(bio, &data);
    char *text = mem_alloc((size_t)size + 1);
    memcpy(text, data, (size_t)size);
    text[size] = '\0';
    return text;
}

static enum status
write_pair(struct maker *m, struct cert_pair *ret_pair)
{
    BIO *cert = BIO_new(BIO_s_mem());
    BIO *key = BIO_new(BIO_s_secmem());
    enum status st = ST_OK;
    if (cert == NULL || key == NULL || PEM_write_bio_X509(cert, m->cert) != 1 ||
        PEM_write_bio_PrivateKey(key, m->key, NULL, NULL, 0, NULL, NULL) != 1) {
        st = complain(m->why, "writing PEM");
    } else {
        ret_pair->cert_pem = take_text(cert);
        ret_pair->key_pem = take_text(key);
    }
    BIO_free(cert);
    BIO_free(key);
    return st;
}

static enum status
make(struct maker *m, struct cert_pair *ret_pair)
{
    m->key = EVP_EC_gen("P-256");
    m->cert = X509_new();
    if (m->key == NULL || m->cert == NULL || X509_set_version(m->cert, 2) != 1 ||
        X509_set_pubkey(m->cert, m->key) != 1 || !set_serial(m->cert) ||
        !set_subject(m) || !set_validity(m) || !add_extensions(m) ||
        X509_sign(m->cert, m->ca != NULL ? m->ca_key : m->key, EVP_sha256()) == 0)
        return complain(m->why, "the certificate cannot be made");
    return write_pair(m, ret_pair);
}

enum status
cert_make(const struct cert_request *request,
          const char *ca_cert_pem,
          const char *ca_key_pem,
          char why[CERT_WHY_MAX],
          struct cert_pair *ret_pair)
{
    struct maker m = {.request = request, .why = why};
    why[0] = '\0';
    ERR_clear_error();
    enum status st = check_request(request, why);
    if (st == ST_OK && request->kind != CERT_CA)
        st = read_ca(&m, ca_cert_pem, ca_key_pem);
    if (st == ST_OK)
        st = make(&m, ret_pair);
    X509_free(m.ca);
    X509_free(m.cert);
    EVP_PKEY_free(m.ca_key);
    EVP_PKEY_free(m.key);
    return st;
}

enum status
cert_make_node(uint64_t id,
               const char *ca_cert_file,
               const char *ca_key_file,
               char why[CERT_WHY_MAX],
               struct cert_pair *ret_pair)
{
    const struct cert_request request = {.kind = CERT_NODE, .node_id = id};
    char *cert = NULL;
    char *key = NULL;
    enum status st = cert_read_file(ca_cert_file, why, &cert);
    if (st == ST_OK)
        st = cert_read_file(ca_key_file, why, &key);
    if (st == ST_OK)
        st = cert_make(&request, cert, key, why, ret_pair);
    if (key != NULL)
        OPENSSL_cleanse(key, strlen(key));
    mem_free(key);
    mem_free(cert);
    return st;
}

static bool
is_same_authority(X509 *a, X509 *b)
{
    return X509_NAME_cmp(X509_get_subject_name(a), X509_get_subject_name(b)) == 0 &&
           EVP_PKEY_eq(X509_get0_pubkey(a), X509_get0_pubkey(b)) == 1;
}

bool
cert_is_trusted(const char *ca_cert_pem, const char *trusted_pem)
{
    BIO *one = BIO_new_mem_buf(ca_cert_pem, -1);
    BIO *all = BIO_new_mem_buf(trusted_pem, -1);
    X509 *ca = PEM_read_bio_X509(one, NULL, no_password, NULL);
    X509 *trusted = NULL;
    bool is_trusted = false;
    while (ca != NULL && !is_trusted && /* bound: the text */
           (trusted = PEM_read_bio_X509(all, NULL, no_password, NULL)) != NULL) {
        is_trusted = is_same_authority(ca, trusted);
        X509_free(trusted);
    }
    ERR_clear_error();
    X509_free(ca);
    BIO_free(one);
    BIO_free(all);
    return is_trusted;
}

void
cert_pair_fini(struct cert_pair *pair)
{
    if (pair->key_pem != NULL)
        OPENSSL_cleanse(pair->key_pem, strlen(pair->key_pem));
    mem_free(pair->key_pem);
    mem_free(pair->cert_pem);
    *pair = (struct cert_pair){0};
}

enum status
cert_read_file(const char *path, char why[CERT_WHY_MAX], char **ret_text)
{
    struct bytes text = {0};
    enum status st = file_read(path, FILE_BYTES_MAX, &text);
    if (st != ST_OK) {
        (void)snprintf(why, CERT_WHY_MAX, "%.180s: %s", path,
                       strerror(st == ST_RANGE ? EFBIG : errno));
        bytes_fini(&text);
        return ST_IO;
    }
    bytes_put_u8(&text, 0);
    *ret_text = (char *)text.data;
    return ST_OK;
}
