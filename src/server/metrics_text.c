/* Metrics text: the families of /metrics, in the order in which people read them. Pure:
 * a snapshot in, text out. Names are for ever: add, do not rename. */
#include "server/metrics.h"

#include "proto/prometheus.h"

#include <stddef.h>

static const char *const ROLE_NAMES[ROLE_COUNT] = {"publisher", "subscriber", "admin"};
static const char *const TYPE_NAMES[] = {"distribute", "copy"};
static const char *const REASON_NAMES[DEAD_REASONS] = {NULL, "nack", "moved",
                                                       "damaged"};

/* --- this process --- */

static void
put_build(struct prom *p, const struct metrics *m)
{
    prom_family(p, "holdfast_build_info", PROM_GAUGE,
                "Version and node id of this process; always 1.");
    prom_begin(p);
    prom_label(p, "version", PACKAGE_VERSION);
    prom_label_u64(p, "node", m->node_id);
    prom_u64(p, 1);
}

static void
put_process(struct prom *p, const struct process_status *s)
{
    prom_family(p, "process_cpu_seconds_total", PROM_COUNTER,
                "User and system CPU time spent in seconds.");
    prom_begin(p);
    prom_seconds_of_us(p, s->cpu_us);
    prom_family(p, "process_start_time_seconds", PROM_GAUGE,
                "Start time of the process since the UNIX epoch in seconds.");
    prom_begin(p);
    prom_seconds_of_ms(p, s->start_ms);
    prom_single(p, "process_resident_memory_bytes", PROM_GAUGE,
                "Resident memory size in bytes.", s->resident_bytes);
    prom_single(p, "process_virtual_memory_bytes", PROM_GAUGE,
                "Virtual memory size in bytes.", s->virtual_bytes);
    prom_single(p, "process_open_fds", PROM_GAUGE, "Number of open file descriptors.",
                s->open_fds);
    prom_single(p, "process_max_fds", PROM_GAUGE,
                "Maximum number of open file descriptors; 0 without a limit.",
                s->max_fds);
    prom_single(p, "process_threads", PROM_GAUGE, "Number of threads.", s->threads);
}

static void
put_certificates(struct prom *p, const struct metrics *m)
{
    prom_family(p, "holdfast_certificate_not_after_seconds", PROM_GAUGE,
                "UNIX time at which the certificate in use ends.");
    prom_begin(p);
    prom_label(p, "use", "client");
    prom_i64(p, m->client_certificate_s);
    prom_begin(p);
    prom_label(p, "use", "cluster");
    prom_i64(p, m->cluster_certificate_s);
}

/* --- clients --- */

static void
put_closes(struct prom *p, const struct net_counts *net)
{
    static const char *const codes[] = {"1000", "1002", "1007", "1008",
                                        "1009", "1011", "none", "client"};
    _Static_assert(sizeof codes / sizeof codes[0] ==
                       sizeof net->closes_total / sizeof net->closes_total[0],
                   "as in net.h");
    prom_family(p, "holdfast_connections_closed_total", PROM_COUNTER,
                "Clients' connections closed, by close code; none: without a close "
                "frame of ours, client: by the client's own.");
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        prom_begin(p);
        prom_label(p, "code", codes[i]);
        prom_u64(p, net->closes_total[i]);
    }
}

/* Codes that never came have no line; there are as many as the manual has. */
static void
put_refusals(struct prom *p, const struct metrics *m)
{
    prom_family(p, "holdfast_requests_refused_total", PROM_COUNTER,
                "Requests refused by this node as the leader, by failure code.");
    for (unsigned i = 0; i < BROKER_CODE_END - BROKER_CODE_FIRST; i++) {
        if (m->refusals[i] == 0)
            continue;
        prom_begin(p);
        prom_label_u64(p, "code", i + BROKER_CODE_FIRST);
        prom_u64(p, m->refusals[i]);
    }
}

static void
put_net(struct prom *p, const struct metrics *m)
{
    const struct net_counts *net = &m->net;
    prom_family(p, "holdfast_connections", PROM_GAUGE,
                "Open connections of clients: served here, or relayed to the leader.");
    prom_begin(p);
    prom_label(p, "kind", "served");
    prom_u64(p, net->open_clients);
    prom_begin(p);
    prom_label(p, "kind", "relayed");
    prom_u64(p, net->open_relays);
    prom_single(p, "holdfast_pending_logins", PROM_GAUGE,
                "Connections that have not logged in.", net->pending_logins);
    prom_single(p, "holdfast_connections_accepted_total", PROM_COUNTER,
                "Connections accepted from clients.", net->accepted_total);
    prom_single(p, "holdfast_network_receive_bytes_total", PROM_COUNTER,
                "Bytes read from clients' sockets.", net->received_bytes_total);
    prom_single(p, "holdfast_network_transmit_bytes_total", PROM_COUNTER,
                "Bytes written to clients' sockets.", net->sent_bytes_total);
    prom_single(p, "holdfast_slow_clients_dropped_total", PROM_COUNTER,
                "Connections dropped because their write queue was full.",
                net->dropped_slow_total);
    put_closes(p, net);
    put_refusals(p, m);
}

/* --- queues --- */

struct queue_family {
    const char *name;
    const char *help;
    size_t offset; /* of a uint64_t in struct metrics_queue */
};

#define FIELD(field) offsetof(struct metrics_queue, field)

static const struct queue_family GAUGES[] = {
    {"holdfast_queue_bytes",
     "Memory that messages take, as max-messages-memory counts.",
     FIELD(counts.memory_bytes)},
    {"holdfast_queue_durable_messages", "Messages of durability 1 and 2.",
     FIELD(counts.durable)},
    {"holdfast_queue_saved_sessions", "Sessions of subscribers that are away.",
     FIELD(counts.saved_sessions)},
    {"holdfast_queue_messages_limit", "The setting max-messages.", FIELD(max_messages)},
    {"holdfast_queue_bytes_limit", "The setting max-messages-memory.",
     FIELD(max_bytes)},
};

static const struct queue_family COUNTERS[] = {
    {"holdfast_queue_received_bytes_total", "Bytes of bodies published.",
     FIELD(totals.received_bytes)},
    {"holdfast_queue_redelivered_total",
     "Messages given to a subscriber that had been given before.",
     FIELD(totals.redelivered)},
    {"holdfast_queue_acked_total", "Messages acknowledged.", FIELD(totals.acked)},
    {"holdfast_queue_nacked_total", "Messages refused by a subscriber.",
     FIELD(totals.nacked)},
    {"holdfast_queue_returned_total", "Messages given back by sessions that ended.",
     FIELD(totals.returned)},
    {"holdfast_queue_redriven_total", "Dead letters put back among the waiting.",
     FIELD(totals.redriven)},
    {"holdfast_queue_deleted_total", "Messages deleted by administrators.",
     FIELD(totals.deleted)},
};
#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static void
begin_queue(struct prom *p, const struct metrics_queue *q)
{
    prom_begin(p);
    prom_label(p, "queue", q->name);
}

static void
put_families(struct prom *p,
             const struct metrics *m,
             const struct queue_family *families,
             size_t count,
             enum prom_type type)
{
    for (size_t i = 0; i < count; i++) {
        prom_family(p, families[i].name, type, families[i].help);
        for (uint32_t k = 0; k < m->queue_count; k++) {
            const struct metrics_queue *q = &m->queues[k];
            begin_queue(p, q);
            prom_u64(p, *(const uint64_t *)(const void *)((const char *)q +
                                                          families[i].offset));
        }
    }
}

static void
put_state(struct prom *p,
          const struct metrics_queue *q,
          const char *state,
          uint64_t value)
{
    begin_queue(p, q);
    prom_label(p, "state", state);
    prom_u64(p, value);
}

static void
put_messages(struct prom *p, const struct metrics *m, uint32_t count)
{
    prom_family(p, "holdfast_queue_messages", PROM_GAUGE,
                "Messages: waiting for a subscriber, held by one, delayed, or dead "
                "letters.");
    for (uint32_t i = 0; i < count; i++) {
        const struct metrics_queue *q = &m->queues[i];
        put_state(p, q, "waiting", q->waiting);
        put_state(p, q, "held", q->counts.held);
        put_state(p, q, "delayed", q->delayed);
        put_state(p, q, "dead", q->counts.dead);
    }
    prom_family(p, "holdfast_queue_oldest_message_age_seconds", PROM_GAUGE,
                "Since the receipt of the oldest message that is not a dead letter.");
    for (uint32_t i = 0; i < count; i++) {
        begin_queue(p, &m->queues[i]);
        prom_seconds_of_ms(p, m->queues[i].oldest_age_ms);
    }
    prom_family(p, "holdfast_queue_backlog_age_seconds", PROM_GAUGE,
                "For how long the first message in the line has been waiting.");
    for (uint32_t i = 0; i < count; i++) {
        begin_queue(p, &m->queues[i]);
        prom_seconds_of_ms(p, m->queues[i].backlog_age_ms);
    }
}

static void
put_queue_connections(struct prom *p, const struct metrics *m, uint32_t count)
{
    prom_family(p, "holdfast_queue_connections", PROM_GAUGE,
                "Clients that are logged in, by role and type.");
    for (uint32_t i = 0; i < count; i++) {
        for (unsigned type = 0; type < COUNT_OF(TYPE_NAMES); type++) {
            for (unsigned role = 0; role < ROLE_COUNT; role++) {
                begin_queue(p, &m->queues[i]);
                prom_label(p, "role", ROLE_NAMES[role]);
                prom_label(p, "type", TYPE_NAMES[type]);
                prom_u64(p, m->queues[i].connections[type][role]);
            }
        }
    }
}

/* is_total: how many became dead letters; else how many there are. */
static void
put_reasons(struct prom *p, const struct metrics_queue *q, bool is_total)
{
    for (unsigned reason = 1; reason < DEAD_REASONS; reason++) {
        begin_queue(p, q);
        prom_label(p, "reason", REASON_NAMES[reason]);
        prom_u64(p, is_total ? q->totals.dead_for[reason] : q->counts.dead_for[reason]);
    }
}

static void
put_by_type(struct prom *p, const struct metrics_queue *q, uint64_t kept, uint64_t copy)
{
    begin_queue(p, q);
    prom_label(p, "type", TYPE_NAMES[0]);
    prom_u64(p, kept);
    begin_queue(p, q);
    prom_label(p, "type", TYPE_NAMES[1]);
    prom_u64(p, copy);
}

static void
put_queue_totals(struct prom *p, const struct metrics *m)
{
    prom_family(p, "holdfast_queue_received_total", PROM_COUNTER,
                "Messages published, by type.");
    for (uint32_t i = 0; i < m->queue_count; i++)
        put_by_type(p, &m->queues[i], m->queues[i].totals.received,
                    m->queues[i].totals.copy_received);
    prom_family(p, "holdfast_queue_delivered_total", PROM_COUNTER,
                "Messages given to subscribers, by type.");
    for (uint32_t i = 0; i < m->queue_count; i++)
        put_by_type(p, &m->queues[i], m->queues[i].totals.delivered,
                    m->queues[i].totals.copy_delivered);
    put_families(p, m, COUNTERS, COUNT_OF(COUNTERS), PROM_COUNTER);
    prom_family(p, "holdfast_queue_dead_lettered_total", PROM_COUNTER,
                "Messages that became dead letters, by reason.");
    for (uint32_t i = 0; i < m->queue_count; i++)
        put_reasons(p, &m->queues[i], true);
}

static void
put_queues(struct prom *p, const struct metrics *m)
{
    struct metrics none = {.queue_count = 0};
    bool is_leader = m->replica.log.role == RLOG_LEADER;
    uint32_t count = is_leader ? m->queue_count : 0;
    prom_single(p, "holdfast_queues", PROM_GAUGE, "Queues of the cluster.",
                m->queue_count);
    put_messages(p, m, count);
    put_queue_connections(p, m, count);
    prom_family(p, "holdfast_queue_dead_letters", PROM_GAUGE,
                "Dead letters there are, by reason.");
    for (uint32_t i = 0; i < count; i++)
        put_reasons(p, &m->queues[i], false);
    put_families(p, is_leader ? m : &none, GAUGES, COUNT_OF(GAUGES), PROM_GAUGE);
    put_queue_totals(p, m);
}

/* --- the log and the cluster --- */

static void
put_role(struct prom *p, const struct metrics *m)
{
    prom_family(p, "holdfast_raft_role", PROM_GAUGE,
                "1 for the role that this node has.");
    for (unsigned i = 0; i <= RLOG_STOPPED; i++) {
        prom_begin(p);
        prom_label(p, "role", rlog_role_name((enum rlog_role)i));
        prom_u64(p, (unsigned)m->replica.log.role == i);
    }
    prom_single(p, "holdfast_raft_leader_id", PROM_GAUGE,
                "Id of the leader that this node knows; 0 without one.",
                m->replica.log.leader);
    prom_single(p, "holdfast_ready", PROM_GAUGE,
                "1 when clients may come to this node, as /readyz says.",
                metrics_not_ready(m) == NULL);
    prom_single(p, "holdfast_serving", PROM_GAUGE, "1 on the leader while it serves.",
                m->replica.is_serving);
}

static void
put_indexes(struct prom *p, const struct rlog_status *log)
{
    prom_single(p, "holdfast_raft_term", PROM_GAUGE, "Term.", log->term);
    prom_single(p, "holdfast_raft_last_index", PROM_GAUGE,
                "Index of the last entry in this node's log.", log->last_index);
    prom_single(p, "holdfast_raft_commit_index", PROM_GAUGE,
                "Index of the last entry known to be committed.", log->commit_index);
    prom_single(p, "holdfast_raft_applied_index", PROM_GAUGE,
                "Index of the last entry applied.", log->applied_index);
    prom_single(p, "holdfast_raft_snapshot_index", PROM_GAUGE,
                "Index of the newest snapshot; 0 without one.", log->snapshot_index);
    prom_single(p, "holdfast_raft_gated", PROM_GAUGE,
                "1 while the restart gate is closed.", log->is_gated);
}

static void
put_peers(struct prom *p, const struct rlog_status *log)
{
    prom_family(p, "holdfast_raft_peer_up", PROM_GAUGE,
                "1 when this node can send to the peer.");
    for (uint32_t i = 0; i < log->peer_count; i++) {
        prom_begin(p);
        prom_label_u64(p, "peer", log->peers[i].id);
        prom_u64(p, log->peers[i].is_connected);
    }
    prom_family(p, "holdfast_raft_peer_lag_entries", PROM_GAUGE,
                "Leader: entries that the peer has not stored.");
    for (uint32_t i = 0; log->role == RLOG_LEADER && i < log->peer_count; i++) {
        prom_begin(p);
        prom_label_u64(p, "peer", log->peers[i].id);
        prom_u64(p, rlog_peer_lag(log, &log->peers[i]));
    }
}

static void
put_raft(struct prom *p, const struct metrics *m)
{
    put_role(p, m);
    put_indexes(p, &m->replica.log);
    put_peers(p, &m->replica.log);
    prom_single(p, "holdfast_raft_leader_changes_total", PROM_COUNTER,
                "Changes of leader that this node has seen.",
                m->watch.leader_changes_total);
    prom_single(
        p, "holdfast_raft_agreed_index", PROM_GAUGE,
        "Index up to which a majority is known to have applied the same as this "
        "node; 0 when none is.",
        m->agreed_index);
    prom_single(p, "holdfast_raft_differences_total", PROM_COUNTER,
                "Peers that were found to have applied something else than this node.",
                m->replica.differences_total);
    prom_single(p, "holdfast_raft_snapshots_taken_total", PROM_COUNTER,
                "Snapshots of its state that this node has made.",
                m->replica.images_total);
    prom_single(p, "holdfast_raft_snapshots_installed_total", PROM_COUNTER,
                "Snapshots of the leader that took the place of the state.",
                m->replica.restores_total);
    prom_family(p, "holdfast_raft_commit_latency_seconds", PROM_HISTOGRAM,
                "Leader: from the submit of an entry to its commit, one entry a turn.");
    prom_histogram(p, &m->watch.commits);
}

static void
put_disk(struct prom *p, const struct metrics *m)
{
    const struct disk_status *d = &m->disk;
    prom_family(p, "holdfast_disk_sync_latency_seconds", PROM_HISTOGRAM,
                "Duration of each sync of the log.");
    prom_histogram(p, &d->syncs);
    prom_single(p, "holdfast_disk_log_bytes", PROM_GAUGE, "Size of the log's files.",
                d->log_bytes);
    prom_single(p, "holdfast_disk_log_segments", PROM_GAUGE, "Files of the log.",
                d->segment_count);
    prom_single(p, "holdfast_disk_waiting_bytes", PROM_GAUGE,
                "Bytes appended to the log and not yet written.", d->waiting_bytes);
    prom_single(p, "holdfast_disk_free_bytes", PROM_GAUGE,
                "Free space of the data directory when it was last looked at.",
                d->free_bytes);
    prom_single(p, "holdfast_disk_reserve_bytes", PROM_GAUGE,
                "Space kept for the time when the disk is full.", d->reserve_bytes);
    prom_single(p, "holdfast_disk_full", PROM_GAUGE,
                "1 while this node's disk has no room for more log.",
                d->is_full || m->replica.log.is_full);
    prom_single(p, "holdfast_disk_slow", PROM_GAUGE,
                "1 while writes or syncs of this node's disk take too long.",
                m->replica.log.is_slow);
}

void
metrics_text(const struct metrics *m,
             const struct process_status *process,
             struct bytes *out)
{
    struct prom p;
    prom_init(&p, out);
    put_build(&p, m);
    put_raft(&p, m);
    put_disk(&p, m);
    put_net(&p, m);
    put_queues(&p, m);
    put_certificates(&p, m);
    put_process(&p, process);
}
