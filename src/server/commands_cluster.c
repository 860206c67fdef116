/* Commands: the noun cluster: what this node says of the cluster, and hand-over. */
#include "base/json.h"
#include "base/log.h"
#include "raft/members.h"
#include "server/commands.h"
#include "server/node_members.h"

#include <stdio.h>
#include <string.h>

static void
put_peers(struct json_writer *w, const struct rlog_status *s)
{
    json_array_begin(w, "peers");
    for (uint32_t i = 0; i < s->peer_count; i++) {
        const struct rlog_peer_status *p = &s->peers[i];
        json_object_begin(w, NULL);
        json_put_u64(w, "id", p->id);
        json_put_bool(w, "voter", p->is_voter);
        json_put_bool(w, "connected", p->is_connected);
        json_put_u64(w, "match_index", s->role == RLOG_LEADER ? p->match_index : 0);
        json_put_u64(w, "lag", rlog_peer_lag(s, p));
        json_put_bool(w, "disk_full", p->is_full);
        json_put_bool(w, "disk_slow", p->is_slow);
        json_object_end(w);
    }
    json_array_end(w);
}

static void
put_disk(struct json_writer *w, struct node *n, const struct rlog_status *s)
{
    struct disk_status d;
    disk_get_status(n->disk, &d);
    json_put_bool(w, "disk_full", s->is_full);
    json_put_bool(w, "disk_slow", s->is_slow);
    json_put_u64(w, "disk_free_bytes", d.free_bytes);
    json_put_u64(w, "reserve_bytes", d.reserve_bytes);
    json_put_bool(w, "room", s->has_room);
}

static void
run_status(struct command *command)
{
    struct node *n = command->node;
    struct replica_status s;
    struct json_writer w;
    replica_get_status(n->replica, &s);
    bool is_ready = s.is_serving || n->route.route == NET_RELAY;
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "node", n->config->node_id);
    json_put_string(&w, "role", rlog_role_name(s.log.role));
    json_put_string(&w, "member", node_membership(n));
    json_put_u64(&w, "leader", s.log.leader);
    json_put_u64(&w, "term", s.log.term);
    json_put_u64(&w, "first_index", s.log.first_index);
    json_put_u64(&w, "last_index", s.log.last_index);
    json_put_u64(&w, "commit_index", s.log.commit_index);
    json_put_u64(&w, "applied_index", s.log.applied_index);
    json_put_u64(&w, "snapshot_index", s.log.snapshot_index);
    char chain[17];
    (void)snprintf(chain, sizeof chain, "%016llx", (unsigned long long)s.log.chain);
    json_put_string(&w, "chain", chain);
    json_put_bool(&w, "serving", s.is_serving);
    json_put_bool(&w, "ready", is_ready);
    json_put_string(&w, "gate", s.log.is_gated ? "closed" : "open");
    json_put_bool(&w, "rejoining", s.log.is_rejoining);
    json_put_u64(&w, "level", broker_level(replica_broker(n->replica)));
    put_disk(&w, n, &s.log);
    json_put_string(&w, "version", PACKAGE_VERSION);
    put_peers(&w, &s.log);
    json_object_end(&w);
    bytes_printf(&command->text, "node %llu: %s, term %llu, leader ",
                 (unsigned long long)n->config->node_id, rlog_role_name(s.log.role),
                 (unsigned long long)s.log.term);
    if (s.log.leader != 0)
        bytes_printf(&command->text, "%llu", (unsigned long long)s.log.leader);
    else
        bytes_put_text(&command->text, "none");
    bytes_printf(&command->text, ", commit %llu, applied %llu%s%s%s%s",
                 (unsigned long long)s.log.commit_index,
                 (unsigned long long)s.log.applied_index,
                 n->is_removed ? ", REMOVED: the other nodes turn it away"
                 : s.log.is_rejoining
                     ? ", rejoining: restart gate closed until all is here again"
                 : s.log.is_gated ? ", restart gate closed"
                                  : "",
                 s.is_frozen ? ", frozen" : "", s.log.is_full ? ", disk full" : "",
                 s.log.is_slow ? ", disk slow" : "");
    command_done(command);
}

static void
run_leader(struct command *command)
{
    struct replica_status s;
    struct json_writer w;
    replica_get_status(command->node->replica, &s);
    if (s.log.leader == 0) {
        command_fail(command, EXIT_NO_LEADER, "no leader is known now");
        return;
    }
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "leader", s.log.leader);
    json_put_u64(&w, "term", s.log.term);
    json_object_end(&w);
    bytes_printf(&command->text, "%llu", (unsigned long long)s.log.leader);
    command_done(command);
}

/* Two nodes that applied the same entries have the same. It walks the whole state. */
static void
run_digest(struct command *command)
{
    const struct state *s = replica_state(command->node->replica);
    struct json_writer w;
    char digest[17];
    (void)snprintf(digest, sizeof digest, "%016llx",
                   (unsigned long long)state_digest(s));
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "node", command->node->config->node_id);
    json_put_u64(&w, "applied_index", s->applied);
    json_put_string(&w, "digest", digest);
    json_object_end(&w);
    bytes_printf(&command->text, "%s at entry %llu", digest,
                 (unsigned long long)s->applied);
    command_done(command);
}

static void
run_step_down(struct command *command)
{
    struct node *n = command->node;
    uint64_t to = 0;
    if (command->argc != 2 &&
        (command->argc != 4 || strcmp(command->argv[2], "--to") != 0 ||
         !command_parse_id(command->argv[3], &to))) {
        command_fail(command, EXIT_USAGE, "usage: cluster step-down [--to ID]");
        return;
    }
    struct rlog_members members;
    node_members(n, &members);
    if (to != 0 && rlog_members_find(&members, to) == NULL) {
        command_fail(command, EXIT_NOT_FOUND, "node %llu is not a member",
                     (unsigned long long)to);
        return;
    }
    enum status st = replica_transfer(n->replica, to, node_now_ms());
    if (st != ST_OK) {
        command_fail(command, st == ST_NOTLEADER ? EXIT_NO_LEADER : EXIT_REFUSED,
                     "leadership cannot be handed over: %s",
                     st == ST_AGAIN      ? "it is being handed over already"
                     : st != ST_NOTFOUND ? status_name(st)
                     : to != 0 ? "that node has no vote, is not reached or far behind"
                               : "no other voter is reached and near enough");
        return;
    }
    log_event(LOG_INFO, "leader.step_down", "to=%llu cause=operator",
              (unsigned long long)to);
    bytes_put_text(&command->text, "leadership is being handed over");
    command_done(command);
}

const struct command_info COMMANDS_CLUSTER[] = {
    {"cluster", "status", COMMAND_HERE, 0, 0, run_status, "cluster status"},
    {"cluster", "leader", COMMAND_HERE, 0, 0, run_leader, "cluster leader"},
    {"cluster", "digest", COMMAND_HERE, 0, 0, run_digest, "cluster digest"},
    {"cluster", "step-down", COMMAND_AT_LEADER, 0, 2, run_step_down,
     "cluster step-down [--to ID]"},
    {.noun = NULL},
};
