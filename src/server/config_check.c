/* Config check: see the header. */
#include "server/config_check.h"

#include "cluster/tls.h"
#include "net/tls.h"
#include "server/exit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool
complain(const struct config *c, const char *key, const char *file, const char *what)
{
    (void)fprintf(stderr, "holdfastd: %s: %s: %s: %s\n", c->file, key, file, what);
    return false;
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

static bool
check_client_files(const struct config *c)
{
    struct tls_fault fault;
    bool is_good = is_readable(c, "client-cert", c->client_cert);
    is_good = is_readable(c, "client-key", c->client_key) && is_good;
    if (!is_good)
        return false;
    if (tls_check(c->client_cert, c->client_key, &fault) == ST_OK)
        return true;
    bool is_key = fault.file == c->client_key;
    return complain(c, is_key ? "client-key" : "client-cert",
                    is_key ? c->client_key : c->client_cert,
                    fault.is_mismatch ? "it is not the key of client-cert"
                                      : fault.reason);
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
