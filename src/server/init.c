/* Init: see init.h. */
#include "server/init.h"

#include "base/json.h"
#include "raft/disk.h"
#include "raft/members.h"
#include "server/data.h"
#include "server/exit.h"

#include <stdio.h>

void
init_say(const struct config *c, bool is_json, const char *what)
{
    struct bytes out = {0};
    struct json_writer w;
    if (is_json) {
        json_write_begin(&w, &out);
        json_object_begin(&w, NULL);
        json_put_u64(&w, "node", c->node_id);
        json_put_string(&w, "data_dir", c->data_dir);
        json_put_string(&w, "made", what);
        json_object_end(&w);
    } else {
        bytes_printf(&out, "node %llu: %s is made, for %s",
                     (unsigned long long)c->node_id, c->data_dir, what);
    }
    (void)printf("%.*s\n", (int)out.size, (const char *)out.data);
    bytes_fini(&out);
}

int
init_data(const struct config *c, bool is_json)
{
    uint8_t cluster_id[DISK_CLUSTER_ID_BYTES];
    struct disk_error error;
    if (rlog_members_find(&c->initial_cluster, c->node_id) == NULL) {
        (void)fprintf(stderr, "holdfastd: %s: node-id %llu is not in initial-cluster\n",
                      c->file, (unsigned long long)c->node_id);
        return EXIT_FAILED;
    }
    config_cluster_id(c, cluster_id);
    enum status st =
        disk_init(c->data_dir, c->node_id, cluster_id, &c->initial_cluster, &error);
    if (st != ST_OK)
        return data_fail(st, &error);
    init_say(c, is_json, "a new cluster");
    return EXIT_DONE;
}
