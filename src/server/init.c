/* Init: see init.h. */
#include "server/init.h"

#include "raft/disk.h"
#include "raft/members.h"
#include "server/data.h"
#include "server/exit.h"

#include <stdio.h>

int
init_data(const struct config *c)
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
    return st == ST_OK ? EXIT_DONE : data_fail(st, &error);
}
