/* Config check: see the header. */
#include "server/config_check.h"

#include "cluster/tls.h"
#include "server/exit.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool
complain(const struct config *c, const char *key, const char *file, const char *what)
{
    (void)fprintf(stderr, "holdfastd: %s: %s: %s: %s\n", c->file, key, file, what);
    return false;
}

static const char *
library_error(void)
{
    unsigned long code = ERR_peek_error(); /* the first one is the cause */
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    return reason == NULL ? "unknown" : reason;
}

static bool
is_readable(const struct config *c, const char *key, const char *file)
{
    char byte;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    bool is_good = fd >= 0 && read(fd, &byte, 1) >= 0;
    if (!is_good)
        (void)complain(c, key, file, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return is_good;
}

static int
no_passphrase(char *out, int size, int is_write, void *ctx)
{
    (void)out;
    (void)size;
    (void)is_write;
    (void)ctx;
    return 0;
}

/* A pair that belongs together. */
static bool
check_pair(const struct config *c, SSL_CTX *context)
{
    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(context, c->client_cert) != 1)
        return complain(c, "client-cert", c->client_cert, library_error());
    if (SSL_CTX_use_PrivateKey_file(context, c->client_key, SSL_FILETYPE_PEM) == 1 &&
        SSL_CTX_check_private_key(context) == 1)
        return true;
    bool is_other = ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH ||
                    ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_TYPE_MISMATCH;
    return complain(c, "client-key", c->client_key,
                    is_other ? "it is not the key of client-cert" : library_error());
}

static bool
check_client_files(const struct config *c)
{
    bool is_good = is_readable(c, "client-cert", c->client_cert);
    is_good = is_readable(c, "client-key", c->client_key) && is_good;
    if (!is_good)
        return false;
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL)
        return complain(c, "client-cert", c->client_cert, "out of memory");
    is_good = check_pair(c, context);
    SSL_CTX_free(context);
    return is_good;
}

static bool
check_cluster_files(const struct config *c)
{
    const struct cluster_tls_options options = {.id = c->node_id,
                                                .ca_file = c->cluster_ca,
                                                .cert_file = c->cluster_cert,
                                                .key_file = c->cluster_key};
    struct tls *t = NULL;
    char why[TLS_WHY_MAX];
    bool is_good = is_readable(c, "cluster-ca", c->cluster_ca);
    is_good = is_readable(c, "cluster-cert", c->cluster_cert) && is_good;
    is_good = is_readable(c, "cluster-key", c->cluster_key) && is_good;
    if (!is_good)
        return false;
    if (cluster_tls_open(&options, why, &t) != ST_OK) {
        (void)fprintf(stderr,
                      "holdfastd: %s: cluster-ca, cluster-cert, cluster-key: "
                      "%s\n",
                      c->file, why);
        return false;
    }
    cluster_tls_free(t);
    return true;
}

int
config_check(const struct config *c)
{
    bool is_good = check_client_files(c);
    is_good = check_cluster_files(c) && is_good;
    if (!is_good)
        return EXIT_FAILED;
    (void)printf("%s: good\n", c->file);
    return EXIT_DONE;
}
