/* Arguments: see the header. */
#include "server/commands_args.h"

#include "queue/level.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_MOST 1000000000u

static const struct {
    const char *name;
    enum command_option option;
    bool has_value;
} OPTIONS[] = {
    {"--queue", COMMAND_QUEUE, true},  {"--all", COMMAND_ALL, false},
    {"--count", COMMAND_COUNT, true},  {"--filter", COMMAND_FILTER, true},
    {"--dry-run", COMMAND_DRY, false}, {"--close", COMMAND_CLOSE, false},
};

bool
command_read_number(const char *text, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || number >= RECORD_NUMBER_LIMIT / 10)
            return false;
        number = number * 10 + (uint64_t)(*p - '0');
    }
    *ret_number = number;
    return number > 0;
}

bool
command_read_id(const char *text, struct uuid *ret_id)
{
    return uuid_parse(slice_from_text(text), ret_id) == ST_OK;
}

static bool
read_count(const char *text, uint32_t *ret_count)
{
    uint64_t count = 0;
    if (!command_read_number(text, &count) || count > COUNT_MOST)
        return false;
    *ret_count = (uint32_t)count;
    return true;
}

/* False: the value is wrong. */
static bool
set_option(struct command_args *args, enum command_option option, const char *value)
{
    switch (option) {
    case COMMAND_QUEUE:
        args->queue = value;
        return true;
    case COMMAND_ALL:
        args->is_all = true;
        return true;
    case COMMAND_COUNT:
        return read_count(value, &args->count);
    case COMMAND_FILTER:
        args->filter = value;
        return true;
    case COMMAND_DRY:
        args->is_dry = true;
        return true;
    case COMMAND_CLOSE:
        args->is_close = true;
        return true;
    }
    return false;
}

/* An option at argv[*at], which moves to its value. False: none of ours. */
static bool
read_option(const struct command *command,
            unsigned options,
            size_t *at,
            struct command_args *args)
{
    for (size_t i = 0; i < sizeof OPTIONS / sizeof OPTIONS[0]; i++) {
        if (strcmp(command->argv[*at], OPTIONS[i].name) != 0 ||
            (options & OPTIONS[i].option) == 0)
            continue;
        if (OPTIONS[i].has_value && ++*at == command->argc)
            return false;
        return set_option(args, OPTIONS[i].option, command->argv[*at]);
    }
    return false;
}

bool
command_read_args(struct command *command,
                  unsigned options,
                  struct command_args *ret_args)
{
    struct command_args args = {.word = NULL};
    for (size_t i = 2; i < command->argc; i++) {
        const char *word = command->argv[i];
        bool is_option = strncmp(word, "--", 2) == 0;
        if (is_option && read_option(command, options, &i, &args))
            continue;
        if (is_option || args.word != NULL) {
            command_fail(command, EXIT_USAGE, "'%s' cannot stand here", word);
            return false;
        }
        args.word = word;
    }
    *ret_args = args;
    return true;
}

const struct queue *
command_find_queue(struct command *command, const struct command_args *args)
{
    const struct state *s = replica_state(command->node->replica);
    const struct queue *q = NULL;
    if (args->queue != NULL) {
        q = state_queue_by_name(s, slice_from_text(args->queue));
        if (q == NULL)
            command_fail(command, EXIT_NOT_FOUND, "there is no queue '%s'",
                         args->queue);
    } else if (s->queue_count == 1) {
        q = CONTAINER_OF(list_first(&s->queues), struct queue, in_state);
    } else {
        command_fail(command, s->queue_count == 0 ? EXIT_NOT_FOUND : EXIT_USAGE,
                     s->queue_count == 0 ? "there is no queue"
                                         : "which queue? name it with --queue");
    }
    return q;
}

void
command_fail_status(struct command *command, enum status st, const char *not_found)
{
    if (st == ST_NOTFOUND)
        command_fail(command, EXIT_NOT_FOUND, "%s", not_found);
    else if (st == ST_VERSION)
        command_fail(command, EXIT_REFUSED,
                     "the cluster is at a level that does not have this: when all "
                     "nodes run this version, raise it with 'holdfastctl cluster "
                     "level %d'",
                     HF_LEVEL_SWEEPS);
    else if (st == ST_FULL)
        command_fail(command, EXIT_REFUSED,
                     "there is no room on the disks of a majority: what makes the log "
                     "grow has to wait");
    else if (st == ST_CORRUPT)
        command_fail(command, EXIT_REFUSED,
                     "the body of the message is damaged: it cannot be redriven");
    else
        command_fail(command, st == ST_NOTLEADER ? EXIT_NO_LEADER : EXIT_FAILED,
                     "not done: %s", status_name(st));
}

void
command_time(uint64_t ms, char ret_text[COMMAND_TIME_BYTES])
{
    time_t secs = (time_t)(ms / 1000);
    struct tm tm;
    char text[COMMAND_TIME_BYTES];
    if (gmtime_r(&secs, &tm) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        text[0] = '\0';
    (void)snprintf(ret_text, COMMAND_TIME_BYTES, "%.24s.%03uZ", text,
                   (unsigned)(ms % 1000));
}

void
command_list(struct command *command, const char *name, command_put_cb *put_cb)
{
    const struct state *s = replica_state(command->node->replica);
    struct command_args args;
    struct json_writer w;
    if (!command_read_args(command, COMMAND_QUEUE, &args))
        return;
    const struct queue *only = NULL;
    if (args.queue != NULL && (only = command_find_queue(command, &args)) == NULL)
        return;
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_array_begin(&w, name);
    LIST_FOREACH (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        if (only == NULL || only == q)
            put_cb(command, &w, q);
    }
    json_array_end(&w);
    json_object_end(&w);
    command_done(command);
}
