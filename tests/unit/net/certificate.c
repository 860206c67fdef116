/* Certificate: P-256, self-signed, by the OpenSSL API. */
#include "certificate.h"

#include <check.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>

static void
write_files(const char *dir, X509 *cert, EVP_PKEY *key)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/cert.pem", dir);
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(PEM_write_X509(out, cert), 1);
    fclose(out);
    snprintf(path, sizeof(path), "%s/key.pem", dir);
    out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(out);
}

void
certificate_make(const char *dir, int days_from, int days_to)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    ck_assert(key != NULL && cert != NULL);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_time_adj_ex(X509_getm_notBefore(cert), days_from, 0, NULL);
    X509_time_adj_ex(X509_getm_notAfter(cert), days_to, 0, NULL);
    X509_set_pubkey(cert, key);
    X509_NAME *name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    ck_assert_int_gt(X509_sign(cert, key, EVP_sha256()), 0);
    write_files(dir, cert, key);
    X509_free(cert);
    EVP_PKEY_free(key);
}
