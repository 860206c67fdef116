/* Certificates for tests, made with OpenSSL's library: no program, no fixture that
 * expires. P-256 keys. Everything aborts on failure. */
#ifndef HF_TESTS_CLUSTER_CERTS_H
#define HF_TESTS_CLUSTER_CERTS_H

#include <openssl/x509.h>

#include <stdbool.h>

struct test_ca {
    EVP_PKEY *key;
    X509 *cert;
};

struct test_cert {
    const char *name;  /* SAN DNS */
    const char *usage; /* extended key usage; NULL: none */
    long from_s;       /* validity, relative to now */
    long to_s;
};

#define TEST_USAGE_BOTH "serverAuth,clientAuth"

void test_ca_init(struct test_ca *ca, const char *name);
void test_ca_fini(struct test_ca *ca);
void test_ca_write(const struct test_ca *ca, const char *path);
void test_ca_issue(const struct test_ca *ca,
                   const struct test_cert *cert,
                   const char *cert_path,
                   const char *key_path);
/* The usual one: the name of node id, both usages, a day. */
void test_ca_issue_node(const struct test_ca *ca,
                        unsigned id,
                        const char *cert_path,
                        const char *key_path);

#endif
