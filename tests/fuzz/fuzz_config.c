/* Fuzz target of server/config: the configuration file.
 *
 * The input is the file. Besides not crashing: read twice is the same; what is refused
 * is said with the file's name, and an unknown key with the line it stands in; what is
 * taken is in range, has no byte that a text cannot have, and written down again reads
 * as the same. */
#include "server/config.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ERROR_BYTES 320
/* What still fits into a line with its key. */
#define ITEM_BYTES  170

static char path[64];
static int file = -1;

static void
write_file(struct slice text)
{
    require(ftruncate(file, 0) == 0);
    require(pwrite(file, text.data, text.size, 0) == (ssize_t)text.size);
}

static enum status
read_file(char error[ERROR_BYTES], struct config **ret_config)
{
    memset(error, 0x55, ERROR_BYTES);
    error[0] = '\0';
    *ret_config = NULL;
    return config_read(path, error, ERROR_BYTES, ret_config);
}

static void
put_text(struct bytes *out, const char *key, const char *value)
{
    if (value != NULL)
        bytes_printf(out, "%s=%s\n", key, value);
}

static void
put_number(struct bytes *out, const char *key, uint64_t value)
{
    bytes_printf(out, "%s=%llu\n", key, (unsigned long long)value);
}

static void
put_members(struct bytes *out, const struct rlog_members *members)
{
    for (uint32_t i = 0; i < members->count; i++)
        bytes_printf(out, "initial-cluster=%llu=%s\n",
                     (unsigned long long)members->members[i].id,
                     members->members[i].address);
}

/* The config as a file, every key. */
static void
put_config(struct bytes *out, const struct config *c)
{
    put_number(out, "node-id", c->node_id);
    put_text(out, "cluster-token", c->cluster_token);
    put_members(out, &c->initial_cluster);
    put_text(out, "data-dir", c->data_dir);
    for (size_t i = 0; i < c->client_listen_count; i++)
        put_text(out, "client-listen", c->client_listen[i]);
    put_text(out, "client-advertise", c->client_advertise);
    put_text(out, "cluster-listen", c->cluster_listen);
    put_text(out, "http-listen", c->http_listen);
    put_text(out, "control-socket", c->control_socket);
    put_text(out, "client-cert", c->client_cert);
    put_text(out, "client-key", c->client_key);
    put_text(out, "cluster-ca", c->cluster_ca);
    put_text(out, "cluster-cert", c->cluster_cert);
    put_text(out, "cluster-key", c->cluster_key);
    put_text(out, "default-queue", c->default_queue);
    put_text(out, "queue-domain", c->queue_domain);
    put_text(out, "allowed-origins", c->allowed_origins);
    put_text(out, "log-file", c->log_file);
    put_text(out, "boot-id-file", c->boot_id_file);
    put_text(out, "instance-type", c->instance_type);
    put_text(out, "region", c->region);
    put_number(out, "network-threads", c->network_threads);
    put_number(out, "election-ms", c->election_ms);
    put_number(out, "heartbeat-ms", c->heartbeat_ms);
    put_number(out, "recovery-grace-secs", c->recovery_grace_secs);
    put_number(out, "drain-secs", c->drain_secs);
    if (c->snapshot_min_bytes != 0)
        put_number(out, "snapshot-min-bytes", c->snapshot_min_bytes);
    put_text(out, "log-level", log_level_name(c->log_level));
    put_text(out, "log-format", log_format_name(c->log_format));
    for (unsigned id = 0; id < SETTING_COUNT; id++)
        if (c->has_setting[id])
            put_number(out, setting_info((enum setting_id)id)->name, c->settings[id]);
}

static void
check_range(const struct config *c)
{
    require(c->initial_cluster.count >= 1 &&
            c->initial_cluster.count <= RLOG_MEMBERS_MAX);
    for (uint32_t i = 0; i < c->initial_cluster.count; i++) {
        const struct rlog_member *m = &c->initial_cluster.members[i];
        require(m->id > 0 && strchr(m->address, ':') != NULL);
        for (uint32_t j = 0; j < i; j++)
            require(c->initial_cluster.members[j].id != m->id);
    }
    require(c->client_listen_count >= 1);
    require(c->client_listen_count <= CONFIG_LISTEN_MAX);
    require(c->cluster_token[0] != '\0' && c->data_dir[0] != '\0');
    require(c->heartbeat_ms * 3 <= c->election_ms && c->election_ms <= 60000);
    require(c->network_threads <= 64 && c->drain_secs <= 600);
    require(c->log_level <= LOG_DEBUG && c->log_format <= LOG_JSON);
    for (unsigned id = 0; id < SETTING_COUNT; id++)
        require(!c->has_setting[id] || c->settings[id] > 0);
}

static bool
fits_lines(const struct config *c)
{
    for (size_t i = 0; i < c->client_listen_count; i++)
        if (strlen(c->client_listen[i]) > ITEM_BYTES)
            return false;
    return strlen(c->control_socket) <= ITEM_BYTES &&
           strlen(c->client_advertise) <= ITEM_BYTES;
}

/* Written down and read, it is what it was. */
static void
check_again(const struct config *c)
{
    char error[ERROR_BYTES];
    struct config *back;
    struct bytes first = {0};
    struct bytes second = {0};
    put_config(&first, c);
    struct slice text = slice_of(first.data, first.size);
    write_file(text);
    require(read_file(error, &back) == ST_OK);
    put_config(&second, back);
    require(slice_equal(text, slice_of(second.data, second.size)));
    config_free(back);
    bytes_fini(&first);
    bytes_fini(&second);
}

/* The n-th line, from 1; empty when there is none. */
static struct slice
find_line(struct slice text, unsigned long n)
{
    while (n > 1 && text.size > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t size = end == NULL ? text.size : (size_t)(end - text.data) + 1;
        text = slice_of(text.data + size, text.size - size);
        n--;
    }
    const uint8_t *end = text.size == 0 ? NULL : memchr(text.data, '\n', text.size);
    return end == NULL ? text : slice_of(text.data, (size_t)(end - text.data));
}

/* "PATH:LINE: unknown key 'NAME'": NAME begins that line, or what it is continued by.
 */
static void
check_place(const char *error, struct slice text)
{
    static const char unknown[] = ": unknown key '";
    char *rest = NULL;
    const char *at = error + strlen(path);
    if (at[0] != ':')
        return;
    unsigned long n = strtoul(at + 1, &rest, 10);
    if (rest == at + 1 || strncmp(rest, unknown, sizeof unknown - 1) != 0)
        return;
    const char *name = rest + sizeof unknown - 1;
    const char *end = strrchr(name, '\'');
    size_t size = end == NULL ? strlen(name) : (size_t)(end - name);
    require(n >= 1);
    struct slice line = find_line(text, n);
    bool is_there =
        size == 0 || (line.size > 0 && (line.data[0] == ' ' || line.data[0] == '\t'));
    is_there = is_there || memmem(line.data, line.size, name, size) != NULL;
    require(is_there);
}

static void
check_refusal(const char *error, enum status status, struct slice text)
{
    require(status == ST_INVALID);
    require(memchr(error, '\0', ERROR_BYTES) != NULL);
    require(strncmp(error, path, strlen(path)) == 0);
    require(error[strlen(path)] == ':' && strlen(error) > strlen(path) + 2);
    check_place(error, text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[ERROR_BYTES];
    char error_again[ERROR_BYTES];
    struct config *c;
    struct config *again;
    if (file < 0) {
        file = memfd_create("holdfast.conf", MFD_CLOEXEC);
        require(file >= 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    write_file(slice_of(data, size));
    enum status status = read_file(error, &c);
    require(read_file(error_again, &again) == status);
    require(strcmp(error, error_again) == 0);
    if (status == ST_OK) {
        require(memchr(data, '\0', size) == NULL);
        check_range(c);
        if (fits_lines(c))
            check_again(c);
    } else {
        require(c == NULL && again == NULL);
        check_refusal(error, status, slice_of(data, size));
    }
    config_free(c);
    config_free(again);
    return 0;
}
