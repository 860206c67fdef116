/* Commands: what holdfastctl can ask of a node, one function each, one table. */
#include "base/json.h"
#include "base/mem.h"
#include "server/auth.h"
#include "server/control.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

typedef void command_cb(struct command *command);

struct command_info {
    const char *noun;
    const char *verb;
    bool needs_leader;
    size_t min_args; /* behind the verb */
    size_t max_args;
    command_cb *run_cb;
    const char *usage;
};

/* --- cluster --- */

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
    bytes_printf(
        &command->text, ", commit %llu, applied %llu%s%s%s%s",
        (unsigned long long)s.log.commit_index, (unsigned long long)s.log.applied_index,
        s.log.is_rejoining ? ", rejoining: restart gate closed until all is here again"
        : s.log.is_gated   ? ", restart gate closed"
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

static bool
parse_id(const char *text, uint64_t *ret_id)
{
    uint64_t id = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || id > 1000000)
            return false;
        id = id * 10 + (uint64_t)(*p - '0');
    }
    *ret_id = id;
    return text[0] != '\0';
}

static void
run_step_down(struct command *command)
{
    struct node *n = command->node;
    uint64_t to = 0;
    if (command->argc != 2 &&
        (command->argc != 4 || strcmp(command->argv[2], "--to") != 0 ||
         !parse_id(command->argv[3], &to))) {
        command_fail(command, EXIT_USAGE, "usage: cluster step-down [--to ID]");
        return;
    }
    enum status st = replica_transfer(n->replica, to, node_now_ms());
    if (st != ST_OK) {
        command_fail(command, EXIT_FAILED, "leadership cannot be handed over: %s",
                     status_name(st));
        return;
    }
    log_event(LOG_INFO, "leader.step_down", "to=%llu cause=operator",
              (unsigned long long)to);
    bytes_put_text(&command->text, "leadership is being handed over");
    command_done(command);
}

/* --- queues --- */

static void
put_queue(struct json_writer *w, const struct node *n, const struct queue *q)
{
    struct queue_live live;
    static const char *const columns[STATS_COLUMNS] = {
        "messages",       "publishers",     "subscribers",
        "saved_sessions", "administrators", "unacknowledged",
        "dead_letter",    "delayed",        "durable"};
    broker_queue_live(replica_broker(n->replica), q, &live);
    json_put_string(w, "queue", q->name);
    json_put_string(w, "tier", q->tier == TIER_DEV ? "dev" : "standard");
    for (size_t i = 0; i < STATS_COLUMNS; i++)
        json_put_u64(w, columns[i], live.columns[i]);
    json_put_u64(w, "memory_bytes", q->counts.memory_bytes);
    json_object_begin(w, "settings");
    for (int i = 0; i < SETTING_COUNT; i++)
        json_put_u64(w, setting_info((enum setting_id)i)->name, q->settings[i]);
    json_object_end(w);
}

static void
run_queue_list(struct command *command)
{
    struct node *n = command->node;
    const struct state *s = replica_state(n->replica);
    struct json_writer w;
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "queues");
    LIST_FOREACH (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        json_object_begin(&w, NULL);
        put_queue(&w, n, q);
        json_object_end(&w);
        bytes_printf(&command->text, "%s%-24s %10llu messages %8llu held %8llu dead",
                     command->text.size > 0 ? "\n" : "", q->name,
                     (unsigned long long)q->counts.messages,
                     (unsigned long long)q->counts.held,
                     (unsigned long long)q->counts.dead);
    }
    json_array_end(&w);
    json_object_end(&w);
    command_done(command);
}

static void
run_queue_show(struct command *command)
{
    struct node *n = command->node;
    const struct queue *q = state_queue_by_name(replica_state(n->replica),
                                                slice_from_text(command->argv[2]));
    struct json_writer w;
    if (q == NULL) {
        command_fail(command, EXIT_NOT_FOUND, "there is no queue '%s'",
                     command->argv[2]);
        return;
    }
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    put_queue(&w, n, q);
    json_object_end(&w);
    bytes_printf(
        &command->text,
        "queue %s (%s)\nmessages %llu, held %llu, dead letters %llu, memory %llu "
        "bytes",
        q->name, q->tier == TIER_DEV ? "dev" : "standard",
        (unsigned long long)q->counts.messages, (unsigned long long)q->counts.held,
        (unsigned long long)q->counts.dead, (unsigned long long)q->counts.memory_bytes);
    for (int i = 0; i < SETTING_COUNT; i++)
        bytes_printf(&command->text, "\n%-28s %llu",
                     setting_info((enum setting_id)i)->name,
                     (unsigned long long)q->settings[i]);
    command_done(command);
}

static void
run_queue_delete(struct command *command)
{
    uint64_t batch = 0;
    enum status st = broker_delete_queue(replica_broker(command->node->replica),
                                         slice_from_text(command->argv[2]), &batch);
    if (st == ST_NOTFOUND)
        command_fail(command, EXIT_NOT_FOUND, "there is no queue '%s'",
                     command->argv[2]);
    else if (st != ST_OK)
        command_fail(command, EXIT_NO_LEADER, "not deleted: %s", status_name(st));
    if (st != ST_OK)
        return;
    bytes_printf(&command->text, "queue %s is deleted", command->argv[2]);
    command_wait_batch(command, batch);
}

/* A queue's logins take 0.3 s of scrypt: libuv's pool makes them. */
struct creation {
    uv_work_t work;
    struct command *command;
    enum queue_tier tier;
    enum status status;
    struct login_secret logins[ROLE_COUNT];
    char names[ROLE_COUNT][80];
    char passwords[ROLE_COUNT][33];
};

static const char *const LOGIN_NAMES[ROLE_COUNT] = {"publisher", "subscriber", "admin"};

static void
create_work_cb(uv_work_t *work)
{
    struct creation *c = work->data;
    for (int i = 0; i < ROLE_COUNT && c->status == ST_OK; i++) {
        auth_make_password(c->passwords[i]);
        c->status = auth_make_secret(slice_from_text(c->names[i]),
                                     slice_from_text(c->passwords[i]), &c->logins[i]);
    }
}

static void
creation_free(struct creation *c)
{
    OPENSSL_cleanse(c->passwords, sizeof c->passwords);
    mem_free(c);
}

static void
describe_creation(const struct creation *c)
{
    struct command *command = c->command;
    const struct config *config = command->node->config;
    struct json_writer w;
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "queue", command->argv[2]);
    char host[320];
    (void)snprintf(host, sizeof host, "%s%s%s", command->argv[2],
                   config->queue_domain[0] != '\0' ? "." : "", config->queue_domain);
    json_put_string(&w, "host", host);
    json_object_begin(&w, "logins");
    bytes_printf(&command->text,
                 "queue %s is created; its host name is %s\n"
                 "These logins are shown once, and cannot be shown again:",
                 command->argv[2], host);
    for (int i = 0; i < ROLE_COUNT; i++) {
        json_object_begin(&w, LOGIN_NAMES[i]);
        json_put_string(&w, "username", c->names[i]);
        json_put_string(&w, "password", c->passwords[i]);
        json_object_end(&w);
        bytes_printf(&command->text, "\n  %-10s  username %s  password %s",
                     LOGIN_NAMES[i], c->names[i], c->passwords[i]);
    }
    json_object_end(&w);
    json_object_end(&w);
}

static void
create_done_cb(uv_work_t *work, int cancelled)
{
    struct creation *c = work->data;
    struct command *command = c->command;
    struct node *n = command->node;
    struct queue_spec spec = {.name = slice_from_text(command->argv[2]),
                              .tier = c->tier};
    uint64_t batch = 0;
    if (cancelled != 0 || c->status != ST_OK || n->control == NULL) {
        command_fail(command, EXIT_FAILED,
                     n->control == NULL ? "the node is stopping"
                                        : "the logins could not be made");
        creation_free(c);
        return;
    }
    memcpy(spec.logins, c->logins, sizeof spec.logins);
    settings_defaults(c->tier, n->machine_memory_bytes, spec.settings);
    for (int i = 0; i < SETTING_COUNT; i++)
        if (n->config->has_setting[i])
            spec.settings[i] = n->config->settings[i];
    spec.settings[SETTING_LOG_LEVEL] = n->config->log_level;
    enum status st = broker_create_queue(replica_broker(n->replica), &spec, &batch);
    if (st == ST_OK) {
        describe_creation(c);
        command_wait_batch(command, batch);
    } else if (st == ST_EXISTS) {
        command_fail(command, EXIT_EXISTS, "there is a queue '%s' already",
                     command->argv[2]);
    } else if (st == ST_INVALID) {
        command_fail(
            command, EXIT_USAGE,
            "'%s' cannot be a queue's name: 1 to 63 of a-z, 0-9 and -, and no - "
            "at the ends",
            command->argv[2]);
    } else {
        command_fail(command, st == ST_NOTLEADER ? EXIT_NO_LEADER : EXIT_FAILED,
                     "not created: %s", status_name(st));
    }
    creation_free(c);
}

static void
run_queue_create(struct command *command)
{
    enum queue_tier tier = TIER_STANDARD;
    bool is_good = command->argc == 3 || command->argc == 5;
    if (command->argc == 5) {
        is_good = strcmp(command->argv[3], "--tier") == 0;
        if (strcmp(command->argv[4], "dev") == 0)
            tier = TIER_DEV;
        else
            is_good = is_good && strcmp(command->argv[4], "standard") == 0;
    }
    if (!is_good || strlen(command->argv[2]) > LIMIT_QUEUE_NAME_BYTES) {
        command_fail(command, EXIT_USAGE,
                     "usage: queue create NAME [--tier standard|dev]; NAME has at most "
                     "63 characters");
        return;
    }
    struct creation *c = mem_calloc(1, sizeof *c);
    c->command = command;
    c->tier = tier;
    c->work.data = c;
    for (int i = 0; i < ROLE_COUNT; i++)
        (void)snprintf(c->names[i], sizeof c->names[i], "%s-%s", command->argv[2],
                       LOGIN_NAMES[i]);
    (void)uv_queue_work(&command->node->loop, &c->work, create_work_cb, create_done_cb);
}

/* --- the table --- */

static const struct command_info COMMANDS[] = {
    {"cluster", "status", false, 0, 0, run_status, "cluster status"},
    {"cluster", "leader", false, 0, 0, run_leader, "cluster leader"},
    {"cluster", "digest", false, 0, 0, run_digest, "cluster digest"},
    {"cluster", "step-down", true, 0, 2, run_step_down, "cluster step-down [--to ID]"},
    {"queue", "create", true, 1, 3, run_queue_create,
     "queue create NAME [--tier standard|dev]"},
    {"queue", "list", true, 0, 0, run_queue_list, "queue list"},
    {"queue", "show", true, 1, 1, run_queue_show, "queue show NAME"},
    {"queue", "delete", true, 1, 1, run_queue_delete, "queue delete NAME"},
};
#define COMMAND_COUNT (sizeof COMMANDS / sizeof COMMANDS[0])

static const struct command_info *
find(const struct command *command)
{
    if (command->argc < 2)
        return NULL;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(COMMANDS[i].noun, command->argv[0]) == 0 &&
            strcmp(COMMANDS[i].verb, command->argv[1]) == 0)
            return &COMMANDS[i];
    return NULL;
}

bool
command_needs_leader(const struct command *command)
{
    const struct command_info *info = find(command);
    return info != NULL && info->needs_leader;
}

void
command_run(struct command *command)
{
    const struct command_info *info = find(command);
    if (info == NULL) {
        command_fail(command, EXIT_USAGE, "there is no command '%s %s'",
                     command->argc > 0 ? command->argv[0] : "",
                     command->argc > 1 ? command->argv[1] : "");
        return;
    }
    if (command->argc - 2 < info->min_args || command->argc - 2 > info->max_args) {
        command_fail(command, EXIT_USAGE, "usage: %s", info->usage);
        return;
    }
    info->run_cb(command);
}
