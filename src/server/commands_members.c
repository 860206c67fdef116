/* Commands: who belongs to the cluster: cluster members, add, remove, invite.
 *
 * A change is a row of steps (raft/change.h), and each command takes the next one and
 * says what is so; who wants the whole change asks again until done is true
 * (holdfastctl does). Nothing is remembered in between: after a change of leaders, or
 * when it was interrupted, it is asked for again. */
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "cluster/address.h"
#include "raft/change.h"
#include "raft/members.h"
#include "raft/rlog_members.h"
#include "server/commands.h"
#include "server/commands_args.h"
#include "server/node_members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CA_BYTES_MAX 65536

/* --- members --- */

static bool
is_up(const struct node *n, uint64_t id)
{
    struct cluster_peer_info info;
    return id == n->config->node_id ||
           (cluster_peer(n->cluster, id, &info) == ST_OK && info.is_connected);
}

/* Of a node that was not taken in yet all others are what its configuration says. */
static const char *
role_of(const struct node *n, const struct rlog_status *s, const struct rlog_member *m)
{
    if (node_is_joining(n))
        return m->id == n->config->node_id ? "joining" : "unknown";
    if (m->id == s->leader)
        return "leader";
    return m->is_voter ? "voter" : "stand-by";
}

static const struct rlog_peer_status *
find_peer(const struct rlog_status *s, uint64_t id)
{
    for (uint32_t i = 0; i < s->peer_count; i++)
        if (s->peers[i].id == id)
            return &s->peers[i];
    return NULL;
}

static void
put_member(struct json_writer *w,
           struct node *n,
           const struct rlog_status *s,
           const struct rlog_member *m)
{
    const struct rlog_peer_status *p = find_peer(s, m->id);
    json_object_begin(w, NULL);
    json_put_u64(w, "id", m->id);
    json_put_string(w, "address", m->address);
    json_put_string(w, "role", role_of(n, s, m));
    json_put_bool(w, "connected", is_up(n, m->id));
    if (s->role == RLOG_LEADER && p != NULL && p->is_connected && m->id != s->id)
        json_put_u64(w, "lag", rlog_peer_lag(s, p));
    json_object_end(w);
}

static void
run_members(struct command *command)
{
    struct node *n = command->node;
    struct rlog_members members;
    struct replica_status s;
    struct json_writer w;
    char note[120] = "";
    node_members(n, &members);
    replica_get_status(n->replica, &s);
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "node", n->config->node_id);
    json_put_u64(&w, "leader", s.log.leader);
    json_array_begin(&w, "members");
    for (uint32_t i = 0; i < members.count; i++)
        put_member(&w, n, &s.log, &members.members[i]);
    json_array_end(&w);
    if (node_is_joining(n))
        (void)snprintf(note, sizeof note,
                       "node %llu is no member yet: it waits to be added (cluster add "
                       "%llu)",
                       (unsigned long long)n->config->node_id,
                       (unsigned long long)n->config->node_id);
    if (note[0] != '\0')
        json_put_string(&w, "note", note);
    json_object_end(&w);
    for (uint32_t i = 0; i < members.count; i++) {
        const struct rlog_member *m = &members.members[i];
        bytes_printf(&command->text, "%s%llu  %-9s %-12s %s", i > 0 ? "\n" : "",
                     (unsigned long long)m->id, role_of(n, &s.log, m),
                     is_up(n, m->id) ? "up" : "not reached", m->address);
    }
    if (note[0] != '\0')
        bytes_printf(&command->text, "\n%s", note);
    command_done(command);
}

/* --- changes --- */

static const char *
state_word(enum rlog_change_state state)
{
    static const char *const words[] = {"done",  "proposed",    "settling",
                                        "apart", "catching-up", "too-few",
                                        "leads", "impossible"};
    return words[state];
}

static void
say_change(struct command *command,
           const struct rlog_status *s,
           const struct rlog_change *change,
           enum rlog_change_state state)
{
    const struct rlog_peer_status *p = find_peer(s, change->id);
    bool is_connected = p != NULL && p->is_connected;
    uint64_t lag = is_connected ? rlog_peer_lag(s, p) : 0;
    struct json_writer w;
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "id", change->id);
    json_put_bool(&w, "done", state == RLOG_CHANGE_DONE);
    json_put_string(&w, "state", state_word(state));
    json_put_string(&w, "what", rlog_change_name(state));
    json_put_bool(&w, "connected", is_connected);
    json_put_bool(&w, "caught_up", is_connected && lag <= RLOG_CHANGE_NEAR);
    json_put_u64(&w, "lag", lag);
    json_put_u64(&w, "leader", s->id);
    json_object_end(&w);
    if (state == RLOG_CHANGE_DONE)
        bytes_printf(&command->text, "node %llu is %s", (unsigned long long)change->id,
                     change->wish == RLOG_WISH_GONE      ? "no member"
                     : change->wish == RLOG_WISH_STANDBY ? "a member"
                                                         : "a voter");
    else
        bytes_printf(&command->text, "node %llu: %s", (unsigned long long)change->id,
                     rlog_change_name(state));
    command_done(command);
}

static void
refuse_change(struct command *command,
              const struct rlog_members *now,
              const struct rlog_change *change)
{
    unsigned long long id = (unsigned long long)change->id;
    bool is_member = rlog_members_find(now, change->id) != NULL;
    if (change->wish == RLOG_WISH_GONE)
        command_fail(command, EXIT_REFUSED, "node %llu is the last voter", id);
    else if (!is_member && change->address == NULL)
        command_fail(command, EXIT_USAGE,
                     "node %llu is not a member yet: its HOST:PORT is wanted", id);
    else if (!is_member && now->count == RLOG_MEMBERS_MAX)
        command_fail(command, EXIT_REFUSED,
                     "node %llu cannot be added: there are %d members already", id,
                     RLOG_MEMBERS_MAX);
    else
        command_fail(command, EXIT_REFUSED,
                     "node %llu cannot be added: another member has that address", id);
}

/* Takes the next step towards it. */
static void
take_step(struct command *command, const struct rlog_change *change)
{
    struct rlog *log = replica_rlog(command->node->replica);
    struct rlog_status s;
    struct rlog_members now;
    struct rlog_members next;
    uint64_t index = rlog_newest_members(log, &now);
    rlog_get_status(log, &s);
    enum rlog_change_state state = rlog_change_next(&s, &now, index, change, &next);
    if (state == RLOG_CHANGE_IMPOSSIBLE) {
        refuse_change(command, &now, change);
        return;
    }
    if (state == RLOG_CHANGE_LEADS &&
        replica_transfer(command->node->replica, 0, node_now_ms()) == ST_OK)
        log_event(LOG_INFO, "leader.step_down", "to=0 cause=removal");
    if (state == RLOG_CHANGE_STEP) {
        enum status st = rlog_change_members(log, &next, &index);
        if (st == ST_AGAIN)
            state = RLOG_CHANGE_BUSY;
        else if (st != ST_OK) {
            command_fail(command, st == ST_NOTLEADER ? EXIT_NO_LEADER : EXIT_FAILED,
                         "the change was refused: %s", status_name(st));
            return;
        } else
            log_event(LOG_INFO, "cluster.change", "node=%llu index=%llu members=%u",
                      (unsigned long long)change->id, (unsigned long long)index,
                      (unsigned)next.count);
    }
    say_change(command, &s, change, state);
}

/* It goes into lists and log lines, and is dialled. */
static bool
is_address(const char *text)
{
    struct address address;
    for (const char *p = text; *p != '\0'; p++)
        if (*p <= ' ' || *p > '~' || *p == ',' || *p == '=')
            return false;
    return address_parse(text, &address) == ST_OK && address.host[0] != '\0' &&
           strtol(address.port, NULL, 10) > 0 &&
           strlen(text) < sizeof((struct rlog_member *)0)->address;
}

static void
run_add(struct command *command)
{
    struct rlog_change change = {.wish = RLOG_WISH_VOTER};
    bool is_good = command_parse_id(command->argv[2], &change.id);
    for (size_t i = 3; i < command->argc && is_good; i++) {
        if (strcmp(command->argv[i], "--stand-by") == 0)
            change.wish = RLOG_WISH_STANDBY;
        else if (strcmp(command->argv[i], "--no-wait") == 0)
            continue; /* holdfastctl's: the node never waits */
        else if (i == 3 && is_address(command->argv[i]))
            change.address = command->argv[i];
        else
            is_good = false;
    }
    if (is_good)
        take_step(command, &change);
    else
        command_fail(command, EXIT_USAGE,
                     "usage: cluster add ID [HOST:PORT] [--stand-by]");
}

static void
run_remove(struct command *command)
{
    struct rlog_change change = {.wish = RLOG_WISH_GONE};
    if (command_parse_id(command->argv[2], &change.id))
        take_step(command, &change);
    else
        command_fail(command, EXIT_USAGE, "usage: cluster remove ID");
}

/* --- level --- */

static void
show_level(struct command *command, uint32_t level)
{
    struct node *n = command->node;
    struct rlog_members members;
    struct json_writer w;
    node_members(n, &members);
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "level", level);
    json_put_u64(&w, "possible", node_least_level(n));
    json_array_begin(&w, "members");
    bytes_printf(&command->text, "level %u; all members read up to %u", (unsigned)level,
                 (unsigned)node_least_level(n));
    for (uint32_t i = 0; i < members.count; i++) {
        uint32_t reads = node_level_of(n, members.members[i].id);
        json_object_begin(&w, NULL);
        json_put_u64(&w, "id", members.members[i].id);
        json_put_u64(&w, "reads", reads);
        json_object_end(&w);
        if (reads == 0)
            bytes_printf(&command->text, "; node %llu was not heard",
                         (unsigned long long)members.members[i].id);
    }
    json_array_end(&w);
    json_object_end(&w);
}

/* Going back to an older version is not possible after it. */
static void
run_level(struct command *command)
{
    struct node *n = command->node;
    struct broker *b = replica_broker(n->replica);
    uint64_t level = 0;
    uint64_t batch = 0;
    if (command->argc == 2) {
        show_level(command, broker_level(b));
        command_done(command);
        return;
    }
    if (!command_read_number(command->argv[2], &level)) {
        command_fail(command, EXIT_USAGE, "usage: cluster level [N]");
        return;
    }
    if (level > node_least_level(n)) {
        command_fail(command, EXIT_REFUSED,
                     "not every member reads level %llu: all must be up, and run a "
                     "version that does (cluster level shows which)",
                     (unsigned long long)level);
        return;
    }
    if (level < broker_level(b)) {
        command_fail(command, EXIT_REFUSED,
                     "the level is %u, and never goes down: what was written at it is "
                     "not read by older versions",
                     (unsigned)broker_level(b));
        return;
    }
    enum status st = broker_raise_level(b, (uint32_t)level, &batch);
    if (st != ST_OK && st != ST_EXISTS) {
        command_fail(command, st == ST_NOTLEADER ? EXIT_NO_LEADER : EXIT_FAILED,
                     "the level was not raised: %s", status_name(st));
        return;
    }
    show_level(command, broker_level(b));
    if (st == ST_EXISTS) {
        command_done(command);
        return;
    }
    log_event(LOG_INFO, "cluster.level", "level=%u cause=operator", (unsigned)level);
    command_wait_batch(command, batch);
}

/* --- invite --- */

static void
put_peers(struct json_writer *w, const struct node *n, uint64_t id, const char *address)
{
    struct rlog_members members;
    struct bytes text = {0};
    node_members(n, &members);
    for (uint32_t i = 0; i < members.count; i++)
        if (members.members[i].id != id)
            bytes_printf(&text, "%llu=%s,", (unsigned long long)members.members[i].id,
                         members.members[i].address);
    bytes_printf(&text, "%llu=%s", (unsigned long long)id, address);
    json_put_text(w, "initial_cluster", slice_of(text.data, text.size));
    bytes_fini(&text);
}

/* What a new node must know; its certificate is holdfastctl's to add. */
static void
run_invite(struct command *command)
{
    struct node *n = command->node;
    struct bytes ca = {0};
    struct json_writer w;
    uint64_t id = 0;
    if (!command_parse_id(command->argv[2], &id) || !is_address(command->argv[3])) {
        command_fail(command, EXIT_USAGE, "usage: cluster invite ID HOST:PORT");
        return;
    }
    enum status st = file_read(n->config->cluster_ca, CA_BYTES_MAX, &ca);
    if (st != ST_OK) {
        bytes_fini(&ca);
        command_fail(command, EXIT_FAILED, "%s: %s", n->config->cluster_ca,
                     st == ST_RANGE ? "too long" : strerror(errno));
        return;
    }
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "invite", 1);
    json_put_u64(&w, "node", id);
    json_put_string(&w, "address", command->argv[3]);
    json_put_string(&w, "cluster_token", n->config->cluster_token);
    put_peers(&w, n, id, command->argv[3]);
    json_put_text(&w, "ca", slice_of(ca.data, ca.size));
    json_object_end(&w);
    bytes_fini(&ca);
    command_done(command);
}

const struct command_info COMMANDS_MEMBERS[] = {
    {"cluster", "members", COMMAND_AT_LEADER_IF_ANY, 0, 0, run_members,
     "cluster members"},
    {"cluster", "add", COMMAND_AT_LEADER, 1, 4, run_add,
     "cluster add ID [HOST:PORT] [--stand-by]"},
    {"cluster", "remove", COMMAND_AT_LEADER, 1, 2, run_remove, "cluster remove ID"},
    {"cluster", "level", COMMAND_AT_LEADER, 0, 1, run_level, "cluster level [N]"},
    {"cluster", "invite", COMMAND_HERE, 2, 2, run_invite,
     "cluster invite ID HOST:PORT"},
    {.noun = NULL},
};
