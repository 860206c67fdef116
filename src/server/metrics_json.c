/* Metrics JSON: the document of /status, for people and scripts. Pure. */
#include "server/metrics.h"

#include "base/json.h"

static void
put_peer(struct json_writer *w,
         const struct metrics *m,
         const struct rlog_peer_status *p)
{
    const struct rlog_status *log = &m->replica.log;
    bool is_leader = log->role == RLOG_LEADER;
    json_object_begin(w, NULL);
    json_put_u64(w, "id", p->id);
    json_put_bool(w, "voter", p->is_voter);
    json_put_bool(w, "connected", p->is_connected);
    if (is_leader) {
        json_put_u64(w, "match_index", p->match_index);
        json_put_u64(w, "lag", rlog_peer_lag(log, p));
    }
    json_object_end(w);
}

static void
put_cluster(struct json_writer *w, const struct metrics *m)
{
    json_array_begin(w, "members");
    for (uint32_t i = 0; i < m->members.count; i++) {
        json_object_begin(w, NULL);
        json_put_u64(w, "id", m->members.members[i].id);
        json_put_bool(w, "voter", m->members.members[i].is_voter);
        json_put_string(w, "address", m->members.members[i].address);
        json_object_end(w);
    }
    json_array_end(w);
    json_array_begin(w, "peers");
    for (uint32_t i = 0; i < m->replica.log.peer_count; i++)
        put_peer(w, m, &m->replica.log.peers[i]);
    json_array_end(w);
}

static void
put_queue(struct json_writer *w, const struct metrics *m, const struct metrics_queue *q)
{
    json_object_begin(w, NULL);
    json_put_string(w, "queue", q->name);
    json_put_u64(w, "messages", q->counts.messages);
    json_put_u64(w, "held", q->counts.held);
    json_put_u64(w, "dead_letter", q->counts.dead);
    json_put_u64(w, "durable", q->counts.durable);
    json_put_u64(w, "saved_sessions", q->counts.saved_sessions);
    json_put_u64(w, "memory_bytes", q->counts.memory_bytes);
    if (m->replica.log.role == RLOG_LEADER) {
        json_put_u64(w, "delayed", q->delayed);
        json_put_u64(w, "publishers", q->connections[0][ROLE_PUBLISHER]);
        json_put_u64(w, "subscribers", q->connections[0][ROLE_SUBSCRIBER]);
        json_put_u64(w, "administrators", q->connections[0][ROLE_ADMIN]);
    }
    json_object_end(w);
}

void
metrics_json(const struct metrics *m, struct bytes *out)
{
    const struct rlog_status *log = &m->replica.log;
    const char *not_ready = metrics_not_ready(m);
    struct json_writer w;
    json_write_begin(&w, out);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "node", m->node_id);
    json_put_string(&w, "version", PACKAGE_VERSION);
    json_put_string(&w, "role", rlog_role_name(log->role));
    json_put_u64(&w, "leader", log->leader);
    json_put_u64(&w, "term", log->term);
    json_put_u64(&w, "last_index", log->last_index);
    json_put_u64(&w, "commit_index", log->commit_index);
    json_put_u64(&w, "applied_index", log->applied_index);
    json_put_u64(&w, "snapshot_index", log->snapshot_index);
    json_put_bool(&w, "serving", m->replica.is_serving);
    json_put_bool(&w, "ready", not_ready == NULL);
    if (not_ready != NULL)
        json_put_string(&w, "not_ready", not_ready);
    json_put_string(&w, "gate", log->is_gated ? "closed" : "open");
    json_put_bool(&w, "disk_full", m->disk.is_full || log->is_full);
    put_cluster(&w, m);
    json_array_begin(&w, "queues");
    for (uint32_t i = 0; i < m->queue_count; i++)
        put_queue(&w, m, &m->queues[i]);
    json_array_end(&w);
    json_object_end(&w);
    bytes_put_text(out, "\n");
}
