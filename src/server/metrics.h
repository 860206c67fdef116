/* Metrics: what a node tells of itself: gathered by the core thread into one snapshot,
 * written as text by whoever asked for it, on another thread.
 *
 * Nothing is counted with a lock or an atomic on the way of a message: the broker's
 * numbers are the core thread's own, the network threads publish theirs once a turn. */
#ifndef HF_SERVER_METRICS_H
#define HF_SERVER_METRICS_H

#include "net/net.h"
#include "net/ops.h"
#include "raft/disk.h"
#include "server/process.h"
#include "server/replica.h"

struct node;

/* --- what the core thread watches --- */

#define WATCH_SAMPLES 256

/* Commit latency: one entry of each turn, from its submit to its commit. */
struct watch {
    struct histogram commits;
    struct {
        uint64_t index;
        uint64_t at_ns;
    } samples[WATCH_SAMPLES]; /* not yet committed; a ring */
    size_t first;
    size_t count;
    uint64_t last_index; /* seen at the end of the last turn */
    uint64_t leader;     /* last one known, not 0 */
    uint64_t term;       /* its */
    uint64_t leader_changes_total;
};

/* At the end of a turn, when its entries are submitted. */
void watch_turn(struct watch *w, const struct rlog_status *log, uint64_t now_ns);

/* --- the snapshot --- */

struct metrics_queue {
    char name[64];
    struct queue_counts counts;
    struct queue_totals totals;
    uint64_t waiting; /* ready to be delivered */
    uint64_t delayed;
    uint64_t oldest_age_ms;  /* since receipt, of those that wait or are held */
    uint64_t backlog_age_ms; /* for how long the first in the line could have left */
    uint64_t max_messages;
    uint64_t max_bytes;
    uint64_t connections[2][ROLE_COUNT]; /* distribute, copy */
};

struct metrics {
    struct ops_snapshot snapshot; /* first */
    uint64_t node_id;
    struct replica_status replica;
    uint64_t agreed_index; /* replica_agreed_index() */
    struct disk_status disk;
    struct net_counts net;
    struct watch watch;
    struct rlog_members members;
    bool is_relaying;
    bool is_stopping;
    const char *membership;       /* node_membership(); a literal */
    int64_t client_certificate_s; /* UNIX time at which it ends */
    int64_t cluster_certificate_s;
    uint64_t refusals[BROKER_CODE_END - BROKER_CODE_FIRST];
    uint32_t queue_count; /* at most LIMIT_QUEUES */
    struct metrics_queue queues[];
};

/* Core thread. */
struct metrics *metrics_take(struct node *n);
void metrics_free(struct metrics *m); /* NULL is fine */

/* May clients come to this node? NULL, or why not. */
const char *metrics_not_ready(const struct metrics *m);

/* Prometheus' text format. Queues' gauges are the leader's, so that sums over nodes
 * count nothing twice; all else is of this process. */
void metrics_text(const struct metrics *m,
                  const struct process_status *process,
                  struct bytes *out);
/* The document of /status. */
void metrics_json(const struct metrics *m, struct bytes *out);

#endif
