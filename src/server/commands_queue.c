/* Commands: the noun queue: making, showing and deleting queues. */
#include "base/json.h"
#include "base/mem.h"
#include "server/auth.h"
#include "server/commands.h"
#include "server/node_members.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

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
    json_put_u64(w, "received_total", q->totals.received);
    json_put_u64(w, "delivered_total", q->totals.delivered);
    json_put_u64(w, "acked_total", q->totals.acked);
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
        bytes_printf(&command->text, "\n  %-10s  username %-*s  password %s",
                     LOGIN_NAMES[i],
                     (int)(strlen(command->argv[2]) + strlen("-subscriber")),
                     c->names[i], c->passwords[i]);
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
    node_raise_first_level(n);
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

const struct command_info COMMANDS_QUEUE[] = {
    {"queue", "create", COMMAND_AT_LEADER, 1, 3, run_queue_create,
     "queue create NAME [--tier standard|dev]"},
    {"queue", "list", COMMAND_AT_LEADER, 0, 0, run_queue_list, "queue list"},
    {"queue", "show", COMMAND_AT_LEADER, 1, 1, run_queue_show, "queue show NAME"},
    {"queue", "delete", COMMAND_AT_LEADER, 1, 1, run_queue_delete, "queue delete NAME"},
    {.noun = NULL},
};
