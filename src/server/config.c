/* Config: see config.h. One table of keys drives parsing and checking; inih reads the
 * lines. */
#include "server/config.h"

#include "base/mem.h"
#include "cluster/address.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES  190 /* inih cuts lines at 200 bytes */
#define BLANKS          " \t\r\v\f"
#define PORT_DIGITS_MAX 5

enum key_type {
    KEY_TEXT,
    KEY_ADDRESS, /* host:port */
    KEY_NUMBER,
    KEY_LISTEN,
    KEY_MEMBERS,
    KEY_LEVEL,
    KEY_FORMAT,
};

struct key {
    const char *name;
    enum key_type type;
    size_t offset;
    uint64_t least;
    uint64_t most;
    bool is_required;
};

#define TEXT_KEY(name, field, required)                                                \
    {                                                                                  \
        name, KEY_TEXT, offsetof(struct config, field), 0, 0, required                 \
    }
#define NUMBER_KEY(name, field, least, most, required)                                 \
    {                                                                                  \
        name, KEY_NUMBER, offsetof(struct config, field), least, most, required        \
    }

static const struct key KEYS[] = {
    NUMBER_KEY("node-id", node_id, 1, NODE_ID_MAX, true),
    TEXT_KEY("cluster-token", cluster_token, true),
    {"initial-cluster", KEY_MEMBERS, offsetof(struct config, initial_cluster), 0, 0,
     true},
    TEXT_KEY("data-dir", data_dir, true),
    {"client-listen", KEY_LISTEN, offsetof(struct config, client_listen), 0, 0, true},
    TEXT_KEY("client-advertise", client_advertise, false),
    {"cluster-listen", KEY_ADDRESS, offsetof(struct config, cluster_listen), 0, 0,
     true},
    TEXT_KEY("http-listen", http_listen, false),
    TEXT_KEY("control-socket", control_socket, false),
    TEXT_KEY("client-cert", client_cert, true),
    TEXT_KEY("client-key", client_key, true),
    TEXT_KEY("cluster-ca", cluster_ca, true),
    TEXT_KEY("cluster-cert", cluster_cert, true),
    TEXT_KEY("cluster-key", cluster_key, true),
    TEXT_KEY("default-queue", default_queue, false),
    TEXT_KEY("queue-domain", queue_domain, false),
    TEXT_KEY("allowed-origins", allowed_origins, false),
    TEXT_KEY("log-file", log_file, false),
    TEXT_KEY("boot-id-file", boot_id_file, false),
    TEXT_KEY("instance-type", instance_type, false),
    TEXT_KEY("region", region, false),
    NUMBER_KEY("network-threads", network_threads, 0, 64, false),
    NUMBER_KEY("election-ms", election_ms, 100, 60000, false),
    NUMBER_KEY("heartbeat-ms", heartbeat_ms, 10, 10000, false),
    NUMBER_KEY("recovery-grace-secs", recovery_grace_secs, 1, 86400, false),
    NUMBER_KEY("drain-secs", drain_secs, 0, 600, false),
    NUMBER_KEY("snapshot-min-bytes", snapshot_min_bytes, 4096, 1ull << 40, false),
    {"log-level", KEY_LEVEL, offsetof(struct config, log_level), 0, 0, false},
    {"log-format", KEY_FORMAT, offsetof(struct config, log_format), 0, 0, false},
};
#define KEY_COUNT (sizeof KEYS / sizeof KEYS[0])

struct reading {
    struct config *config;
    FILE *file;
    int line;       /* the one that was read last */
    int bad_line;   /* where what happened */
    char what[200]; /* the first error of a key, a value or a section */
    bool seen[KEY_COUNT];
};

static char *
copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

static bool
fail(struct reading *r, const char *format, const char *name, const char *value)
{
    if (r->what[0] == '\0') {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(r->what, sizeof r->what, format, name, value);
#pragma GCC diagnostic pop
        r->bad_line = r->line;
    }
    return false;
}

static bool
parse_number(const char *text, uint64_t *ret_value)
{
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *ret_value = v;
    return true;
}

/* Without the blanks around it, which the item may have in a list. */
static char *
trim(char *item)
{
    item += strspn(item, BLANKS);
    size_t size = strlen(item);
    while (size > 0 && strchr(BLANKS, item[size - 1]) != NULL)
        item[--size] = '\0';
    return item;
}

static bool
is_address(const char *text)
{
    struct address address;
    return address_parse(text, &address) == ST_OK;
}

/* "1=host:port,2=host:port": appends. */
static bool
parse_members(struct rlog_members *members, char *text)
{
    char *rest = text;
    char *item;
    while ((item = strsep(&rest, ",")) != NULL) { /* bound: the line */
        char *equals = strchr(item, '=');
        struct rlog_member m = {.is_voter = true};
        if (equals == NULL || members->count == RLOG_MEMBERS_MAX)
            return false;
        *equals = '\0';
        const char *address = trim(equals + 1);
        if (!parse_number(trim(item), &m.id) || m.id == 0 || !is_address(address) ||
            strlen(address) >= sizeof m.address)
            return false;
        for (uint32_t i = 0; i < members->count; i++)
            if (members->members[i].id == m.id)
                return false;
        memcpy(m.address, address, strlen(address) + 1);
        members->members[members->count++] = m;
    }
    return true;
}

static bool
parse_listen(struct config *c, char *text)
{
    char *rest = text;
    char *item;
    while ((item = strsep(&rest, ",")) != NULL) { /* bound: the line */
        item = trim(item);
        if (!is_address(item) || c->client_listen_count == CONFIG_LISTEN_MAX)
            return false;
        c->client_listen[c->client_listen_count++] = copy_text(item);
    }
    return true;
}

static bool
set_key(struct reading *r, const struct key *key, const char *value)
{
    void *field = (char *)r->config + key->offset;
    char *scratch = copy_text(value);
    bool is_good = true;
    switch (key->type) {
    case KEY_ADDRESS:
    case KEY_TEXT:
        is_good = key->type != KEY_ADDRESS || is_address(value);
        mem_free(*(char **)field);
        *(char **)field = copy_text(value);
        is_good = is_good && (value[0] != '\0' || !key->is_required);
        break;
    case KEY_NUMBER:
        is_good = parse_number(value, field) && *(uint64_t *)field >= key->least &&
                  *(uint64_t *)field <= key->most;
        break;
    case KEY_LISTEN:
        is_good = parse_listen(r->config, scratch);
        break;
    case KEY_MEMBERS:
        is_good = parse_members(field, scratch);
        break;
    case KEY_LEVEL:
        is_good = log_level_parse(value, field) == ST_OK;
        break;
    case KEY_FORMAT:
        is_good = log_format_parse(value, field) == ST_OK;
        break;
    }
    mem_free(scratch);
    return is_good || fail(r, "%s: bad value '%s'", key->name, value);
}

static bool
set_setting(struct reading *r, const char *name, const char *value)
{
    enum setting_id id = setting_find(slice_from_text(name));
    uint64_t number = 0;
    if (id == SETTING_COUNT || id == SETTING_LOG_LEVEL)
        return fail(r, "unknown key '%s'%.0s", name, value);
    if (!parse_number(value, &number) || number == 0)
        return fail(r, "%s: bad value '%s': a whole number above 0 is wanted", name,
                    value);
    r->config->settings[id] = number;
    r->config->has_setting[id] = true;
    return true;
}

static int
line_cb(void *ctx, const char *section, const char *name, const char *value)
{
    struct reading *r = ctx;
    if (section[0] != '\0')
        return fail(r, "section '[%s]': there are no sections%.0s", section, "");
    if (value == NULL)
        value = "";
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(KEYS[i].name, name) != 0)
            continue;
        if (r->seen[i] && KEYS[i].type != KEY_LISTEN && KEYS[i].type != KEY_MEMBERS)
            return fail(r, "%s stands twice%.0s", name, "");
        r->seen[i] = true;
        return set_key(r, &KEYS[i], value);
    }
    return set_setting(r, name, value);
}

static void
set_default(char **field, const char *text)
{
    if (*field == NULL)
        *field = copy_text(text);
}

/* A port alone is one of this machine. */
static void
complete_http_listen(struct config *c)
{
    uint64_t port;
    char text[32];
    if (c->http_listen == NULL || !parse_number(c->http_listen, &port) ||
        strlen(c->http_listen) > PORT_DIGITS_MAX)
        return;
    (void)snprintf(text, sizeof text, "127.0.0.1:%s", c->http_listen);
    mem_free(c->http_listen);
    c->http_listen = copy_text(text);
}

/* Two with one address are one node, and the cluster would wait for the other. */
static enum status
check_members(const struct config *c, char *error, size_t error_size)
{
    const struct rlog_members *m = &c->initial_cluster;
    for (uint32_t i = 0; i < m->count; i++)
        for (uint32_t j = i + 1; j < m->count; j++)
            if (strcmp(m->members[i].address, m->members[j].address) == 0) {
                (void)snprintf(error, error_size,
                               "%s: initial-cluster: nodes %llu and %llu have the same "
                               "address %s",
                               c->file, (unsigned long long)m->members[i].id,
                               (unsigned long long)m->members[j].id,
                               m->members[i].address);
                return ST_INVALID;
            }
    return ST_OK;
}

static enum status
fill_defaults(struct config *c, const bool *seen, char *error, size_t error_size)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (KEYS[i].is_required && !seen[i]) {
            (void)snprintf(error, error_size, "%s: %s is missing", c->file,
                           KEYS[i].name);
            return ST_INVALID;
        }
    if (check_members(c, error, error_size) != ST_OK)
        return ST_INVALID;
    complete_http_listen(c);
    if (c->http_listen != NULL && !is_address(c->http_listen)) {
        (void)snprintf(error, error_size, "%s: http-listen: bad value '%s'", c->file,
                       c->http_listen);
        return ST_INVALID;
    }
    set_default(&c->client_advertise, c->client_listen[0]);
    if (c->control_socket == NULL) {
        size_t size = strlen(c->data_dir) + sizeof "/control.sock";
        c->control_socket = mem_alloc(size);
        (void)snprintf(c->control_socket, size, "%s/control.sock", c->data_dir);
    }
    set_default(&c->default_queue, "");
    set_default(&c->queue_domain, "");
    set_default(&c->allowed_origins, "");
    set_default(&c->log_file, "");
    set_default(&c->boot_id_file, CONFIG_BOOT_ID_FILE);
    set_default(&c->instance_type, "self-hosted");
    set_default(&c->region, "local");
    if (c->heartbeat_ms * 3 > c->election_ms) {
        (void)snprintf(error, error_size,
                       "%s: election-ms must be at least three times heartbeat-ms",
                       c->file);
        return ST_INVALID;
    }
    return ST_OK;
}

/* inih cuts long lines, and lines with a NUL, in silence; say it instead. NULL: there
 * is none. */
static const char *
find_cut_line(FILE *f, unsigned *ret_line)
{
    unsigned width = 0;
    int ch;
    *ret_line = 1;
    while ((ch = fgetc(f)) != EOF) { /* bound: the file */
        if (ch == '\n') {
            ++*ret_line;
            width = 0;
        } else if (ch == '\0') {
            return "a NUL byte";
        } else if (++width > LINE_MAX_BYTES) {
            return "the line is too long (list keys may be repeated)";
        }
    }
    rewind(f);
    return NULL;
}

/* Lines for inih, counted: it says only where its first error was. */
static char *
next_line(char *line, int size, void *ctx)
{
    struct reading *r = ctx;
    r->line++;
    return fgets(line, size, r->file);
}

static enum status
parse_file(FILE *f, struct config *c, char *error, size_t error_size)
{
    struct reading r = {.config = c, .file = f};
    unsigned line;
    const char *cut = find_cut_line(f, &line);
    if (cut != NULL) {
        (void)snprintf(error, error_size, "%s:%u: %s", c->file, line, cut);
        return ST_INVALID;
    }
    int bad_line = ini_parse_stream(next_line, &r, line_cb, &r);
    if (bad_line != 0) {
        (void)snprintf(error, error_size, "%s:%d: %s", c->file, bad_line,
                       r.bad_line == bad_line ? r.what : "'key = value' is wanted");
        return ST_INVALID;
    }
    return fill_defaults(c, r.seen, error, error_size);
}

enum status
config_read(const char *path,
            char *error,
            size_t error_size,
            struct config **ret_config)
{
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        (void)snprintf(error, error_size, "%s: %s", path, strerror(errno));
        return ST_NOTFOUND;
    }
    struct config *c = mem_calloc(1, sizeof *c);
    c->file = copy_text(path);
    c->election_ms = 1000;
    c->heartbeat_ms = 100;
    c->recovery_grace_secs = 30;
    c->drain_secs = 5;
    c->log_level = LOG_INFO;
    enum status st = parse_file(f, c, error, error_size);
    (void)fclose(f);
    if (st != ST_OK) {
        config_free(c);
        return st;
    }
    *ret_config = c;
    return ST_OK;
}

void
config_free(struct config *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (KEYS[i].type == KEY_TEXT || KEYS[i].type == KEY_ADDRESS)
            mem_free(*(char **)(void *)((char *)c + KEYS[i].offset));
    for (size_t i = 0; i < c->client_listen_count; i++)
        mem_free(c->client_listen[i]);
    mem_free(c->file);
    mem_free(c);
}

enum status
config_boot_id(const char *file, char *out, size_t size)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    int error = n == 0 ? ENODATA : errno;
    if (fd >= 0)
        (void)close(fd);
    errno = error;
    if (n <= 0)
        return ST_IO;
    out[n] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    return ST_OK;
}

void
config_cluster_id(const struct config *c, uint8_t ret_id[16])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_Digest(c->cluster_token, strlen(c->cluster_token), digest, &size,
                   EVP_sha256(), NULL) != 1 ||
        size < 16)
        abort(); /* SHA-256 cannot fail but for memory */
    memcpy(ret_id, digest, 16);
}
