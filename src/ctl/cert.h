/* Certificates for those who have no CA of their own: ECDSA P-256, made with OpenSSL.
 *
 * A node's certificate is as cluster/tls.h demands: SAN DNS:node-<id>.holdfast.internal
 * and both extended key usages. Nothing here writes files (src/ctl/cert_files.c does).
 */
#ifndef HF_CTL_CERT_H
#define HF_CTL_CERT_H

#include "base/bytes.h"

#define CERT_NAMES_MAX    32
#define CERT_WHY_MAX      256
#define CERT_CA_DAYS      3650 /* unless something else is asked for */
#define CERT_NODE_DAYS    365
#define CERT_DAYS_MAX     36500
#define CERT_NODE_ID_MAX  INT64_MAX
#define CERT_COMMON_BYTES 64 /* X.520: the longest common name */

enum cert_kind {
    CERT_CA,
    CERT_NODE,   /* between nodes: serverAuth and clientAuth */
    CERT_CLIENT, /* of the client port: serverAuth */
};

/* What to make. Texts are borrowed. */
struct cert_request {
    enum cert_kind kind;
    uint64_t node_id;                  /* CERT_NODE */
    const char *common;                /* common name; NULL: after the kind */
    const char *names[CERT_NAMES_MAX]; /* more SANs: host names or addresses */
    size_t name_count;
    uint64_t days; /* 0: the default of its kind; never longer than its CA */
};

/* Both as PEM with a final NUL; cert_pair_fini() wipes the key. */
struct cert_pair {
    char *cert_pem;
    char *key_pem;
};

/* ca_cert_pem and ca_key_pem: of the CA that signs; both NULL for CERT_CA, which signs
 * itself. ST_RANGE, ST_INVALID: why says what is wrong with the request or with the CA.
 */
enum status cert_make(const struct cert_request *request,
                      const char *ca_cert_pem,
                      const char *ca_key_pem,
                      char why[CERT_WHY_MAX],
                      struct cert_pair *ret_pair) MUST_USE;
/* A certificate of node id, signed by the CA in two files. ST_INVALID, ST_IO: why. */
enum status cert_make_node(uint64_t id,
                           const char *ca_cert_file,
                           const char *ca_key_file,
                           char why[CERT_WHY_MAX],
                           struct cert_pair *ret_pair) MUST_USE;
void cert_pair_fini(struct cert_pair *pair);

/* Is what that CA signs trusted by whom trusts those in trusted_pem, of which there may
 * be several? It is one of them, or has the name and the key of one. */
bool cert_is_trusted(const char *ca_cert_pem, const char *trusted_pem);

/* A whole file of at most a MiB, with a final NUL; the caller frees it (mem_free). */
enum status
cert_read_file(const char *path, char why[CERT_WHY_MAX], char **ret_text) MUST_USE;

#endif
