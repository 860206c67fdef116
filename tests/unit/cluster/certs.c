/* Certificates for tests: see certs.h. */
#include "certs.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void
need(bool is_good)
{
    if (!is_good)
        abort();
}

static void
add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    need(extension != NULL);
    need(X509_add_ext(cert, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

/* Everything but extensions and signature. */
static X509 *
blank(EVP_PKEY *key, const char *name, X509 *issuer, const struct test_cert *options)
{
    static long serial = 1;
    X509 *cert = X509_new();
    need(cert != NULL);
    need(X509_set_version(cert, 2) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++);
    X509_gmtime_adj(X509_getm_notBefore(cert), options->from_s);
    X509_gmtime_adj(X509_getm_notAfter(cert), options->to_s);
    X509_NAME *subject = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name,
                               -1, -1, 0);
    X509_set_issuer_name(cert,
                         issuer == NULL ? subject : X509_get_subject_name(issuer));
    need(X509_set_pubkey(cert, key) == 1);
    return cert;
}

void
test_ca_init(struct test_ca *ca, const char *name)
{
    struct test_cert options = {.from_s = -3600, .to_s = 86400};
    ca->key = EVP_EC_gen("P-256");
    need(ca->key != NULL);
    ca->cert = blank(ca->key, name, NULL, &options);
    add_extension(ca->cert, ca->cert, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(ca->cert, ca->cert, NID_key_usage, "critical,keyCertSign,cRLSign");
    need(X509_sign(ca->cert, ca->key, EVP_sha256()) > 0);
}

void
test_ca_fini(struct test_ca *ca)
{
    EVP_PKEY_free(ca->key);
    X509_free(ca->cert);
}

static void
write_cert(X509 *cert, const char *path)
{
    FILE *f = fopen(path, "w");
    need(f != NULL);
    need(PEM_write_X509(f, cert) == 1);
    need(fclose(f) == 0);
}

void
test_ca_write(const struct test_ca *ca, const char *path)
{
    write_cert(ca->cert, path);
}

void
test_ca_issue(const struct test_ca *ca,
              const struct test_cert *options,
              const char *cert_path,
              const char *key_path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    need(key != NULL);
    /* The common name is another node's: it must not be looked at. */
    X509 *cert = blank(key, "node-9.holdfast.internal", ca->cert, options);
    char san[128];
    snprintf(san, sizeof san, "DNS:%s", options->name);
    add_extension(cert, ca->cert, NID_subject_alt_name, san);
    add_extension(cert, ca->cert, NID_basic_constraints, "critical,CA:FALSE");
    if (options->usage != NULL)
        add_extension(cert, ca->cert, NID_ext_key_usage, options->usage);
    need(X509_sign(cert, ca->key, EVP_sha256()) > 0);
    write_cert(cert, cert_path);

    FILE *f = fopen(key_path, "w");
    need(f != NULL);
    need(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1);
    need(fclose(f) == 0);
    chmod(key_path, 0600);
    X509_free(cert);
    EVP_PKEY_free(key);
}

void
test_ca_issue_node(const struct test_ca *ca,
                   unsigned id,
                   const char *cert_path,
                   const char *key_path)
{
    char name[64];
    snprintf(name, sizeof name, "node-%u.holdfast.internal", id);
    struct test_cert options = {name, TEST_USAGE_BOTH, -3600, 86400};
    test_ca_issue(ca, &options, cert_path, key_path);
}
