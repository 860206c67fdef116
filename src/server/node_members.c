/* Node: see node_members.h. */
#include "server/node_members.h"

#include "cluster/frame.h"
#include "queue/level.h"
#include "raft/members.h"
#include "raft/rlog_members.h"
#include "server/known_logins.h"

#include <stdio.h>
#include <string.h>

#define LOOK_EVERY_MS 200

void
node_members(const struct node *n, struct rlog_members *ret_members)
{
    if (rlog_newest_members(replica_rlog(n->replica), ret_members) == 0)
        *ret_members = n->config->initial_cluster;
}

bool
node_is_joining(const struct node *n)
{
    struct rlog_members members;
    return disk_is_joining(n->disk) &&
           rlog_newest_members(replica_rlog(n->replica), &members) == 0;
}

uint64_t
node_features(const struct node *n)
{
    return CLUSTER_FEATURE_LOGINS | CLUSTER_FEATURE_AGREEMENT |
           CLUSTER_FEATURE_LEVEL(HF_LEVEL_NOW) | CLUSTER_FEATURE_ORIGIN(n->origin) |
           (node_is_joining(n) ? CLUSTER_FEATURE_BLANK : 0) |
           (rlog_is_new(replica_rlog(n->replica)) ? CLUSTER_FEATURE_NEW : 0);
}

static void
log_members(const struct rlog_members *m)
{
    char text[RLOG_MEMBERS_MAX * 160] = "";
    size_t size = 0;
    for (uint32_t i = 0; i < m->count && size < sizeof text; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%llu=%s%s",
                                 i > 0 ? "," : "", (unsigned long long)m->members[i].id,
                                 m->members[i].address,
                                 m->members[i].is_voter ? "" : " (stand-by)");
    log_event(LOG_INFO, "cluster.members", "count=%u members=%s", (unsigned)m->count,
              log_quote(text));
}

static void
follow_members(struct node *n)
{
    struct rlog_members members;
    uint64_t stamp = rlog_members_stamp(replica_rlog(n->replica));
    uint64_t committed = rlog_members_committed(replica_rlog(n->replica));
    if (stamp == n->members_stamp && committed == n->members_committed)
        return;
    node_members(n, &members);
    if (stamp != n->members_stamp)
        log_members(&members);
    n->members_stamp = stamp;
    n->members_committed = committed;
    cluster_set_members_index(n->cluster, committed);
    cluster_set_members(n->cluster, &members);
    cluster_set_features(n->cluster, node_features(n));
    n->is_route_dirty = true;
}

/* It was never told: who is removed is cut off. But the others turn it away by name:
 * more than half of them, and it reaches none. */
static bool
is_turned_away(const struct node *n)
{
    struct rlog_members members;
    uint32_t others = 0;
    uint32_t refusals = 0;
    node_members(n, &members);
    for (uint32_t i = 0; i < members.count; i++) {
        struct cluster_peer_info info;
        if (cluster_peer(n->cluster, members.members[i].id, &info) != ST_OK)
            continue; /* itself */
        if (info.is_connected)
            return false;
        others++;
        refusals += info.refusal == FRAME_REFUSE_UNKNOWN;
    }
    return refusals > others / 2;
}

static void
watch_removal(struct node *n)
{
    bool is_removed = !node_is_joining(n) && is_turned_away(n);
    if (is_removed == n->is_removed)
        return;
    n->is_removed = is_removed;
    n->is_route_dirty = true;
    if (is_removed)
        log_event(LOG_ERROR, "cluster.removed", "what=%s consequence=%s",
                  log_quote("the other nodes say that this one is not a member"),
                  log_quote("no clients are taken; stop it, or join anew with an empty "
                            "data directory"));
    else
        log_event(LOG_INFO, "cluster.taken_back", "self=%llu",
                  (unsigned long long)n->config->node_id);
}

uint32_t
node_level_of(const struct node *n, uint64_t id)
{
    struct cluster_peer_info info;
    if (id == n->config->node_id)
        return HF_LEVEL_NOW;
    if (cluster_peer(n->cluster, id, &info) != ST_OK || info.version == 0)
        return 0;
    return cluster_feature_level(info.features);
}

uint32_t
node_least_level(const struct node *n)
{
    struct rlog_members members;
    uint32_t least = HF_LEVEL_NOW;
    node_members(n, &members);
    for (uint32_t i = 0; i < members.count; i++) {
        uint32_t level = node_level_of(n, members.members[i].id);
        if (level < HF_LEVEL_FIRST)
            level = HF_LEVEL_FIRST;
        least = level < least ? level : least;
    }
    return least;
}

void
node_raise_first_level(struct node *n)
{
    struct replica_status s;
    struct broker *b = replica_broker(n->replica);
    uint64_t batch = 0;
    replica_get_status(n->replica, &s);
    uint32_t least = node_least_level(n);
    if (!s.is_serving || replica_is_handing_over(n->replica) ||
        !broker_is_new_cluster(b) || broker_level(b) >= least)
        return;
    if (broker_raise_level(b, least, &batch) == ST_OK)
        log_event(LOG_INFO, "cluster.level", "level=%u cause=%s", (unsigned)least,
                  log_quote("new cluster"));
}

void
node_watch_members(struct node *n, uint64_t now_ms)
{
    follow_members(n);
    if (now_ms < n->members_at_ms)
        return;
    n->members_at_ms = now_ms + LOOK_EVERY_MS;
    cluster_set_features(n->cluster, node_features(n)); /* no longer new */
    watch_removal(n);
    node_raise_first_level(n);
}

const char *
node_membership(const struct node *n)
{
    struct rlog_members members;
    node_members(n, &members);
    const struct rlog_member *self = rlog_members_find(&members, n->config->node_id);
    if (node_is_joining(n))
        return "joining";
    if (self == NULL || n->is_removed)
        return "removed";
    return self->is_voter ? "voter" : "stand-by";
}

void
node_met_peer(struct node *n, uint64_t peer)
{
    struct cluster_peer_info info;
    if (cluster_peer(n->cluster, peer, &info) != ST_OK ||
        (info.features & (CLUSTER_FEATURE_NEW | CLUSTER_FEATURE_BLANK)) != 0 ||
        !rlog_distrust(replica_rlog(n->replica)))
        return;
    log_event(LOG_WARN, "log.distrusted", "peer=%llu what=%s consequence=%s",
              (unsigned long long)peer,
              log_quote("this node has only what data init made, and the cluster has "
                        "more"),
              log_quote("no vote before all is here"));
    if (disk_distrust(n->disk) != ST_OK) {
        log_event(LOG_ERROR, "node.fatal", "what=%s consequence=exiting",
                  log_quote("meta cannot be written"));
        n->is_failed = true;
        uv_stop(&n->loop);
    }
}

bool
node_peer_takes(const struct node *n, uint64_t peer, uint64_t feature)
{
    struct cluster_peer_info info;
    return cluster_peer(n->cluster, peer, &info) == ST_OK &&
           (info.features & feature) != 0;
}

static void
tell_logins(struct node *n, uint64_t peer, const struct bytes *body)
{
    if (node_peer_takes(n, peer, CLUSTER_FEATURE_LOGINS))
        cluster_send_user(n->cluster, peer, KNOWN_LOGINS_FRAME,
                          slice_of(body->data, body->size));
}

void
node_tell_logins(struct node *n, uint64_t peer)
{
    struct bytes body = {0};
    auth_put_known(n->auth, &body);
    tell_logins(n, peer, &body);
    bytes_fini(&body);
}

void
node_tell_new_logins(struct node *n)
{
    struct bytes body = {0};
    struct rlog_members members;
    if (!auth_put_news(n->auth, &body))
        return;
    node_members(n, &members);
    for (uint32_t i = 0; i < members.count; i++)
        tell_logins(n, members.members[i].id, &body);
    bytes_fini(&body);
}
