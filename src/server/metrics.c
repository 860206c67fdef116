/* Metrics: see metrics.h. Gathering costs the core O(queues), at most once for each
 * snapshot that was asked for, and there is one at a time. */
#include "server/metrics.h"

#include "base/mem.h"
#include "server/node.h"
#include "server/node_members.h"

#include <assert.h>
#include <string.h>

#define NS_PER_US 1000

/* --- what the core watches --- */

static void
watch_leader(struct watch *w, const struct rlog_status *log)
{
    if (log->leader == 0 || (log->leader == w->leader && log->term == w->term))
        return;
    w->leader_changes_total += w->leader != 0;
    w->leader = log->leader;
    w->term = log->term;
}

static void
watch_committed(struct watch *w, const struct rlog_status *log, uint64_t now_ns)
{
    while (w->count > 0 && w->samples[w->first].index <= log->commit_index) {
        uint64_t took_ns = now_ns - w->samples[w->first].at_ns;
        histogram_observe(&w->commits, took_ns / NS_PER_US);
        w->first = (w->first + 1) % WATCH_SAMPLES;
        w->count--;
    }
}

static void
watch_submitted(struct watch *w, const struct rlog_status *log, uint64_t now_ns)
{
    if (log->last_index <= w->last_index)
        return;
    w->last_index = log->last_index;
    if (w->count == WATCH_SAMPLES)
        return;
    size_t i = (w->first + w->count++) % WATCH_SAMPLES;
    w->samples[i].index = log->last_index;
    w->samples[i].at_ns = now_ns;
}

void
watch_turn(struct watch *w, const struct rlog_status *log, uint64_t now_ns)
{
    watch_leader(w, log);
    if (log->role != RLOG_LEADER) {
        w->count = 0;
        w->last_index = log->last_index;
        return;
    }
    watch_committed(w, log, now_ns);
    watch_submitted(w, log, now_ns);
}

/* --- the snapshot --- */

/* Ids ascend with the time of receipt. */
static uint64_t
oldest_age_ms(const struct queue *q, uint64_t now_ms)
{
    const struct tree_node *first = tree_first(&q->messages);
    if (first == NULL)
        return 0;
    const struct message *m = CONTAINER_OF(first, struct message, in_ids);
    return now_ms > m->received_ms ? now_ms - m->received_ms : 0;
}

static uint64_t
backlog_age_ms(const struct queue *q, uint64_t now_ms)
{
    const struct tree_node *first = tree_first(&q->waiting);
    if (first == NULL)
        return 0;
    const struct message *m = CONTAINER_OF(first, struct message, in_waiting);
    return now_ms > m->ready_ms ? now_ms - m->ready_ms : 0;
}

static void
take_queue(const struct broker *b,
           const struct queue *q,
           uint64_t now_ms,
           struct metrics_queue *to)
{
    struct queue_live live;
    broker_queue_live(b, q, &live);
    memcpy(to->name, q->name, sizeof to->name);
    to->counts = q->counts;
    to->totals = q->totals;
    to->delayed = live.columns[7];
    uint64_t elsewhere = q->counts.held + q->counts.dead + to->delayed;
    to->waiting = q->counts.messages > elsewhere ? q->counts.messages - elsewhere : 0;
    to->oldest_age_ms = oldest_age_ms(q, now_ms);
    to->backlog_age_ms = backlog_age_ms(q, now_ms);
    to->max_messages = q->settings[SETTING_MAX_MESSAGES];
    to->max_bytes = q->settings[SETTING_MAX_MESSAGES_MEMORY];
    to->connections[0][ROLE_PUBLISHER] = live.columns[1];
    to->connections[0][ROLE_SUBSCRIBER] = live.columns[2];
    to->connections[0][ROLE_ADMIN] = live.columns[4];
    to->connections[1][ROLE_PUBLISHER] = live.copy_publishers;
    to->connections[1][ROLE_SUBSCRIBER] = live.copy_subscribers;
}

struct metrics *
metrics_take(struct node *n)
{
    const struct state *s = replica_state(n->replica);
    const struct broker *b = replica_broker(n->replica);
    assert(s->queue_count <= LIMIT_QUEUES);
    struct metrics *m =
        mem_calloc(1, sizeof *m + s->queue_count * sizeof(struct metrics_queue));
    m->node_id = n->config->node_id;
    replica_get_status(n->replica, &m->replica);
    m->agreed_index = replica_agreed_index(n->replica);
    disk_get_status(n->disk, &m->disk);
    net_get_counts(n->net, &m->net);
    m->watch = n->watch;
    rlog_get_members(replica_rlog(n->replica), &m->members);
    m->is_relaying = n->route.route == NET_RELAY;
    m->is_stopping = n->stop_until_ms != 0;
    m->membership = node_membership(n);
    m->client_certificate_s = (int64_t)net_certificate_expires_secs(n->net);
    m->cluster_certificate_s = cluster_certificate_expires_s(n->cluster);
    for (unsigned code = BROKER_CODE_FIRST; code < BROKER_CODE_END; code++)
        m->refusals[code - BROKER_CODE_FIRST] = broker_refusals(b, code);
    uint64_t now_ms = broker_is_leading(b) ? broker_cluster_time_ms(b) : node_wall_ms();
    LIST_FOREACH (node, &s->queues)
        take_queue(b, CONTAINER_OF(node, struct queue, in_state), now_ms,
                   &m->queues[m->queue_count++]);
    return m;
}

void
metrics_free(struct metrics *m)
{
    mem_free(m);
}

const char *
metrics_not_ready(const struct metrics *m)
{
    const struct rlog_status *log = &m->replica.log;
    if (m->is_stopping)
        return "the node is stopping";
    if (m->membership != NULL && strcmp(m->membership, "joining") == 0)
        return "this node is new and was not taken in yet: holdfastctl cluster add";
    if (m->membership != NULL && strcmp(m->membership, "removed") == 0)
        return "this node was removed from the cluster";
    if (log->is_gated)
        return "the restart gate is closed: this node waits for a leader";
    if (log->leader == 0)
        return "no leader is known";
    if (log->role == RLOG_LEADER && m->replica.is_frozen)
        return "this node leads, and has not heard from a majority of late";
    if (log->role == RLOG_LEADER && !m->replica.is_serving)
        return "this node leads, and is about to serve";
    if (log->role != RLOG_LEADER && !m->is_relaying)
        return "the leader's address is not known yet";
    return NULL;
}
