/* Init: see init.h. */
#include "server/init.h"

#include "raft/disk.h"

#include <stdio.h>

int
init_data(const struct config *c)
{
    uint8_t cluster_id[DISK_CLUSTER_ID_BYTES];
    struct disk_error error;
    config_cluster_id(c, cluster_id);
    if (disk_init(c->data_dir, c->node_id, cluster_id, &c->initial_cluster, &error) !=
        ST_OK) {
        (void)fprintf(stderr, "holdfastd: %s\n", error.text);
        return 1;
    }
    return 0;
}
