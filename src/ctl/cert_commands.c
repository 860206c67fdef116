/* cert ca, cert node, cert client-tls, cert show: certificates for those who have no CA
 * of their own. Keys are readable by their owner alone, and nothing is written over
 * without --yes. */
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "ctl/cert.h"
#include "ctl/cert_show.h"
#include "ctl/commands.h"
#include "ctl/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CA_NAME_BYTES 48 /* of its folder, in the common name */

struct paths {
    char cert[PATH_MAX];
    char key[PATH_MAX];
};

/* --- files --- */

static enum ctl_exit
fail_file(const struct options *o, const char *path)
{
    if (errno == EEXIST)
        return ctl_fail(o, CTL_EXISTS, "%s exists: --yes replaces it", path);
    return ctl_fail_file(o, path);
}

static enum ctl_exit
set_paths(const struct options *o, const char *dir, const char *name, struct paths *p)
{
    if (snprintf(p->cert, sizeof p->cert, "%s/%s.pem", dir, name) >= PATH_MAX ||
        snprintf(p->key, sizeof p->key, "%s/%s.key", dir, name) >= PATH_MAX)
        return ctl_fail(o, CTL_USAGE, "the path is too long");
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return fail_file(o, dir);
    errno = EEXIST;
    if (!o->is_sure && access(p->cert, F_OK) == 0)
        return fail_file(o, p->cert);
    errno = EEXIST;
    if (!o->is_sure && access(p->key, F_OK) == 0)
        return fail_file(o, p->key);
    return CTL_DONE;
}

static bool
write_text(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) { /* bound: the text */
        ssize_t n = write(fd, text, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text += n;
        left -= (size_t)n;
    }
    return true;
}

/* The whole file or none; not over another unless --yes. */
static enum ctl_exit
write_file(const struct options *o, const char *path, const char *text, mode_t mode)
{
    char temporary[PATH_MAX + 8];
    (void)snprintf(temporary, sizeof temporary, "%s.tmp", path);
    (void)unlink(temporary);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return fail_file(o, temporary);
    bool is_good = write_text(fd, text) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    int error = errno;
    (void)close(fd);
    errno = error;
    if (is_good)
        is_good = renameat2(AT_FDCWD, temporary, AT_FDCWD, path,
                            o->is_sure ? 0 : RENAME_NOREPLACE) == 0;
    if (is_good)
        return CTL_DONE;
    enum ctl_exit code = fail_file(o, path);
    (void)unlink(temporary);
    return code;
}

static void
answer(const struct options *o, const struct paths *p, const char *pem)
{
    struct bytes json = {0};
    struct bytes text = {0};
    struct bytes about = {0};
    struct json_writer w;
    json_write_begin(&w, &json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "cert", p->cert);
    json_put_string(&w, "key", p->key);
    (void)cert_describe(pem, "certificates", &w, &about);
    json_object_end(&w);
    bytes_printf(&text, "%s\n%s\n", p->cert, p->key);
    bytes_put(&text, about.data, about.size);
    ctl_answer(o, slice_of(json.data, json.size), slice_of(text.data, text.size));
    bytes_fini(&json);
    bytes_fini(&text);
    bytes_fini(&about);
}

/* Makes, writes and shows it. */
static enum ctl_exit
make(const struct options *o,
     const struct cert_request *request,
     const struct paths *paths,
     const char *ca_cert,
     const char *ca_key)
{
    char why[CERT_WHY_MAX];
    struct cert_pair pair = {0};
    enum status st = cert_make(request, ca_cert, ca_key, why, &pair);
    if (st != ST_OK)
        return ctl_fail(o, st == ST_RANGE ? CTL_USAGE : CTL_FAILED, "%s", why);
    enum ctl_exit code = write_file(o, paths->key, pair.key_pem, 0600);
    if (code == CTL_DONE)
        code = write_file(o, paths->cert, pair.cert_pem, 0644);
    if (code == CTL_DONE)
        answer(o, paths, pair.cert_pem);
    cert_pair_fini(&pair);
    return code;
}

/* --- commands --- */

/* names borrows from copy, which is cut at the commas. */
static enum ctl_exit
split_names(const struct options *o, char *copy, struct cert_request *r)
{
    char *rest = copy;
    char *name;
    while (copy != NULL && (name = strsep(&rest, ", ")) != NULL) {
        if (name[0] == '\0')
            continue;
        if (r->name_count == CERT_NAMES_MAX)
            return ctl_fail(o, CTL_USAGE, "more than %d names", CERT_NAMES_MAX);
        r->names[r->name_count++] = name;
    }
    return CTL_DONE;
}

static enum ctl_exit
make_signed(const struct options *o, struct cert_request *r, const char *name)
{
    char why[CERT_WHY_MAX];
    struct paths paths;
    char *ca_cert = NULL;
    char *ca_key = NULL;
    char *names = o->dns != NULL ? strdup(o->dns) : NULL;
    enum ctl_exit code = CTL_DONE;
    r->days = o->days;
    if (o->ca_cert == NULL || o->ca_key == NULL || o->out == NULL)
        code = ctl_fail(o, CTL_USAGE, "--ca-cert, --ca-key and --out are wanted");
    if (code == CTL_DONE)
        code = split_names(o, names, r);
    if (code == CTL_DONE)
        code = ctl_check_file(o, o->ca_cert);
    if (code == CTL_DONE)
        code = ctl_check_file(o, o->ca_key);
    if (code == CTL_DONE && (cert_read_file(o->ca_cert, why, &ca_cert) != ST_OK ||
                             cert_read_file(o->ca_key, why, &ca_key) != ST_OK))
        code = ctl_fail(o, CTL_FAILED, "%s", why);
    if (code == CTL_DONE)
        code = set_paths(o, o->out, name, &paths);
    if (code == CTL_DONE)
        code = make(o, r, &paths, ca_cert, ca_key);
    if (ca_key != NULL)
        OPENSSL_cleanse(ca_key, strlen(ca_key));
    mem_free(ca_key);
    mem_free(ca_cert);
    free(names);
    return code;
}

enum ctl_exit
ctl_cert_ca(const struct options *o, int argc, char **argv)
{
    struct cert_request request = {.kind = CERT_CA, .days = o->days};
    struct paths paths;
    char common[CERT_COMMON_BYTES + 1];
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", argv[0]);
    const char *name = basename(folder);
    if (name[0] != '/' && name[0] != '.' && strlen(name) <= CA_NAME_BYTES &&
        utf8_is_valid(slice_from_text(name))) {
        (void)snprintf(common, sizeof common, "Holdfast CA %.48s", name);
        request.common = common;
    }
    (void)argc;
    enum ctl_exit code = set_paths(o, argv[0], "ca", &paths);
    return code == CTL_DONE ? make(o, &request, &paths, NULL, NULL) : code;
}

enum ctl_exit
ctl_cert_node(const struct options *o, int argc, char **argv)
{
    struct cert_request request = {.kind = CERT_NODE};
    char name[64];
    char *end = NULL;
    (void)argc;
    errno = 0;
    request.node_id = strtoull(argv[0], &end, 10);
    if (argv[0][0] < '1' || argv[0][0] > '9' || *end != '\0' || errno != 0 ||
        request.node_id > CERT_NODE_ID_MAX)
        return ctl_fail(o, CTL_USAGE, "'%s' is no node id", argv[0]);
    (void)snprintf(name, sizeof name, "node-%llu", (unsigned long long)request.node_id);
    return make_signed(o, &request, name);
}

enum ctl_exit
ctl_cert_client_tls(const struct options *o, int argc, char **argv)
{
    struct cert_request request = {.kind = CERT_CLIENT};
    (void)argc;
    (void)argv;
    if (o->dns == NULL)
        return ctl_fail(o, CTL_USAGE,
                        "--dns is wanted: the names that clients connect to");
    return make_signed(o, &request, "client-tls");
}

enum ctl_exit
ctl_cert_show(const struct options *o, int argc, char **argv)
{
    char why[CERT_WHY_MAX];
    char *pem = NULL;
    struct bytes json = {0};
    struct bytes text = {0};
    struct json_writer w;
    (void)argc;
    enum ctl_exit code = ctl_check_file(o, argv[0]);
    if (code != CTL_DONE)
        return code;
    if (cert_read_file(argv[0], why, &pem) != ST_OK)
        return ctl_fail(o, CTL_FAILED, "%s", why);
    json_write_begin(&w, &json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "file", argv[0]);
    size_t count = cert_describe(pem, "certificates", &w, &text);
    json_object_end(&w);
    if (count == 0)
        code = ctl_fail(o, CTL_FAILED, "%s: there is no certificate in it", argv[0]);
    else
        ctl_answer(o, slice_of(json.data, json.size), slice_of(text.data, text.size));
    bytes_fini(&json);
    bytes_fini(&text);
    mem_free(pem);
    return code;
}
