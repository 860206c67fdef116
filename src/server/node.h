/* Node: one running holdfastd: everything hangs off it, so that a test can run several
 * in one process. The core thread is the one that calls node_run(). */
#ifndef HF_SERVER_NODE_H
#define HF_SERVER_NODE_H

#include "cluster/cluster.h"
#include "net/net.h"
#include "raft/disk.h"
#include "server/auth.h"
#include "server/config.h"
#include "server/metrics.h"
#include "server/notify.h"
#include "server/progress.h"
#include "server/rejoin.h"
#include "server/replica.h"

#include <uv.h>

struct backup;
struct control;
struct directory_row;
struct pages;

/* How far it has come (node_start.c). */
struct start {
    struct progress progress;
    uint64_t replay_from; /* applied when the log was opened */
    uint64_t replay_to;   /* and its last entry */
    bool is_replaying;
};

struct node {
    struct config *config;   /* borrowed */
    struct trouble *trouble; /* borrowed: filled in when the log is damaged */
    uv_loop_t loop;
    uv_prepare_t prepare;
    uv_timer_t timer;
    uv_async_t bell; /* net mail, disk completions, verified passwords */
    uv_signal_t signals[3];
    struct disk *disk;
    struct replica *replica;
    struct cluster *cluster;
    struct net *net;
    struct auth *auth;
    struct control *control;
    struct backup *backup; /* being taken, or NULL */
    uint32_t origin; /* of what the data directory was restored from; 0: it was not */
    struct pages *pages; /* or NULL: no http-listen */
    struct watch watch;
    struct mailbox box;
    struct mail *mail; /* taken out of the box, not yet handled */
    struct net_target route;
    uint64_t members_stamp; /* of those that cluster knows */
    uint64_t members_committed;
    uint64_t
        members_at_ms; /* when the others' refusals and levels are looked at next */
    bool is_removed;   /* the others turn it away */
    uint64_t directory_version;
    struct directory_row *directory; /* the queues that net knows */
    size_t directory_count;
    uint64_t traffic_at_ms; /* when their bytes are looked at next */
    uint64_t machine_memory_bytes;
    uint64_t certificates_at_ms; /* when their ends are looked at next */
    uint64_t stop_until_ms;      /* to hand over; 0: not stopping */
    uint64_t drain_until_ms;     /* 0: not draining */
    struct notify notify;
    struct start start;
    bool is_failed; /* fail-stop: the process must exit with 1 */
    bool is_route_dirty;
    bool was_disk_full; /* as the log was told */
    bool was_disk_slow;
};

uint64_t node_now_ms(void);  /* monotonic */
uint64_t node_wall_ms(void); /* UNIX */

/* Opens everything in the order disk, log, cluster, net, control; logs what failed and
 * leaves nothing behind. Here and later, until node_close(): a log that is damaged or
 * contradicts the cluster's is told in *trouble and not logged. */
enum status node_open(struct config *config,
                      struct trouble *trouble,
                      struct node **ret_node) MUST_USE;
/* Runs until it is stopped by a signal or by a failure. 0 or 1 for exit(). */
int node_run(struct node *n);
void node_close(struct node *n);
/* Begins an orderly stop: hands leadership over, drains, then node_run returns. */
void node_stop(struct node *n);

#endif
