/* Join: see join.h. */
#include "server/join.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "raft/disk.h"
#include "server/data.h"
#include "server/exit.h"
#include "server/init.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INVITE_BYTES_MAX (256u << 10)

static int fail(const char *format, ...) PRINTF_LIKE(1, 2);

static int
fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fputs("holdfastd: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputs("\n", stderr);
    va_end(args);
    return EXIT_FAILED;
}

/* A string of the invitation with a final NUL; false: it has none. */
static bool
find_text(const struct json_object *o, const char *key, struct bytes *ret_text)
{
    const struct json_member *m = json_find(o, key);
    if (m == NULL || m->type != JSON_STRING ||
        json_unescape(m->value, ret_text) != ST_OK)
        return false;
    bytes_put_u8(ret_text, 0);
    return strlen((const char *)ret_text->data) + 1 == ret_text->size;
}

/* A file that is there counts, whatever it is: the start says whether it is good. */
static int
put_file(const struct json_object *o, const char *key, const char *path)
{
    struct bytes text = {0};
    int code = EXIT_DONE;
    if (access(path, F_OK) != 0) {
        if (!find_text(o, key, &text))
            code = fail("%s is not there, and the invitation has none (cluster invite "
                        "with --ca-cert and --ca-key makes one)",
                        path);
        else if (file_make(path, slice_of(text.data, text.size - 1)) != ST_OK)
            code = fail("%s: %s", path, strerror(errno));
    }
    bytes_fini(&text);
    return code;
}

static int
check_names(const struct json_object *o, const struct config *c)
{
    const struct json_member *node = json_find(o, "node");
    struct bytes token = {0};
    int64_t id = 0;
    int code = EXIT_DONE;
    if (node == NULL || json_whole(node->value, &id) != ST_OK ||
        !find_text(o, "cluster_token", &token))
        code = fail("this is not an invitation");
    else if (id != (int64_t)c->node_id)
        code = fail("%s: node-id is %llu, the invitation is for node %lld", c->file,
                    (unsigned long long)c->node_id, (long long)id);
    else if (strcmp((const char *)token.data, c->cluster_token) != 0)
        code = fail("%s: cluster-token is another than the invitation's: put\n"
                    "cluster-token = %s",
                    c->file, (const char *)token.data);
    bytes_fini(&token);
    return code;
}

static bool
has_peers(const struct config *c)
{
    for (uint32_t i = 0; i < c->initial_cluster.count; i++)
        if (c->initial_cluster.members[i].id != c->node_id)
            return true;
    return false;
}

static bool
is_named(const struct config *c, uint64_t id, const char *address)
{
    for (uint32_t i = 0; i < c->initial_cluster.count; i++)
        if (c->initial_cluster.members[i].id == id)
            return strcmp(c->initial_cluster.members[i].address, address) == 0;
    return false;
}

/* The node dials those of initial-cluster until it has been told the members, so all
 * that are there now must be in it. peers: "1=host:port,2=host:port", ours among them.
 */
static int
check_peers(const struct config *c, char *peers)
{
    int code = EXIT_DONE;
    char *rest = peers;
    char *item;
    while ((item = strsep(&rest, ",")) != NULL) { /* bound: the text */
        char *address = strchr(item, '=');
        if (address == NULL)
            return fail("this is not an invitation");
        *address++ = '\0';
        uint64_t id = strtoull(item, NULL, 10);
        if (id == c->node_id || is_named(c, id, address))
            continue;
        if (code == EXIT_DONE)
            code = fail("%s: initial-cluster does not name all members that are there: "
                        "add",
                        c->file);
        (void)fprintf(stderr, "initial-cluster = %s=%s\n", item, address);
    }
    return code;
}

static int
check_names_of_peers(const struct json_object *o, const struct config *c)
{
    struct bytes peers = {0};
    int code;
    if (find_text(o, "initial_cluster", &peers))
        code = check_peers(c, (char *)peers.data);
    else
        code = fail("this is not an invitation");
    bytes_fini(&peers);
    return code;
}

static int
use_invite(const struct config *c, struct slice text)
{
    struct json_object *o = mem_calloc(1, sizeof *o);
    int code = EXIT_FAILED;
    json_object_init(o);
    if (!utf8_is_valid(text) || json_parse(o, text) != JSON_IS_OBJECT)
        (void)fail("this is not an invitation");
    else
        code = check_names(o, c);
    if (code == EXIT_DONE)
        code = check_names_of_peers(o, c);
    if (code == EXIT_DONE)
        code = put_file(o, "ca", c->cluster_ca);
    if (code == EXIT_DONE)
        code = put_file(o, "cert", c->cluster_cert);
    if (code == EXIT_DONE)
        code = put_file(o, "key", c->cluster_key);
    json_object_fini(o);
    mem_free(o);
    return code;
}

int
join_cluster(const struct config *c, const char *invite, bool is_json)
{
    uint8_t cluster_id[DISK_CLUSTER_ID_BYTES];
    struct disk_error error;
    struct bytes text = {0};
    int code = EXIT_DONE;
    if (invite != NULL) {
        enum status st = file_read(invite, INVITE_BYTES_MAX, &text);
        if (st != ST_OK)
            code =
                fail("%s: %s", invite,
                     st == ST_RANGE ? "too long for an invitation" : strerror(errno));
        else
            code = use_invite(c, slice_of(text.data, text.size));
        bytes_fini(&text);
    } else if (!has_peers(c)) {
        code = fail("%s: initial-cluster must name members that are there", c->file);
    }
    if (code != EXIT_DONE)
        return code;
    config_cluster_id(c, cluster_id);
    enum status st = disk_join(c->data_dir, c->node_id, cluster_id, &error);
    if (st != ST_OK)
        return data_fail(st, &error);
    init_say(c, is_json, "a cluster that takes it in");
    return EXIT_DONE;
}
