/* Commands: the noun dlq: dead letters go back among the waiting, or for good. */
#include "base/json.h"
#include "queue/sweep.h"
#include "server/commands_bulk.h"

static void
redrive_one(struct command *command, const struct command_args *args)
{
    const struct queue *q = command_find_queue(command, args);
    struct uuid id;
    uint64_t batch = 0;
    struct json_writer w;
    if (q == NULL)
        return;
    if (!command_read_id(args->word, &id)) {
        command_fail(command, EXIT_USAGE, "'%s' is not the id of a message",
                     args->word);
        return;
    }
    const struct message *m = queue_message(q, &id);
    bool is_there = m != NULL && m->place == PLACE_DEAD;
    enum status st = is_there ? ST_OK : ST_NOTFOUND;
    struct broker *b = replica_broker(command->node->replica);
    if (is_there && args->is_dry)
        batch = broker_barrier(b);
    else if (is_there)
        st = broker_redrive(b, slice_from_text(q->name), &id, &batch);
    if (st != ST_OK) {
        command_fail_status(command, st, "there is no such message in the DLQ");
        return;
    }
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "queue", q->name);
    json_put_string(&w, "id", args->word);
    json_put_u64(&w, "redriven", 1);
    json_put_bool(&w, "dry_run", args->is_dry);
    json_object_end(&w);
    bytes_printf(&command->text, "%s %s in queue %s",
                 args->is_dry ? "would be redriven:" : "redriven:", args->word,
                 q->name);
    command_wait_batch(command, batch);
}

static void
run_dlq_redrive(struct command *command)
{
    struct command_args args;
    if (!command_read_args(command,
                           COMMAND_QUEUE | COMMAND_ALL | COMMAND_COUNT |
                               COMMAND_FILTER | COMMAND_DRY,
                           &args))
        return;
    if ((args.word != NULL) + args.is_all + (args.count > 0) != 1 ||
        (args.word != NULL && args.filter != NULL)) {
        command_fail(command, EXIT_USAGE,
                     "one of ID, --all and --count is wanted; --filter goes with the "
                     "last two");
        return;
    }
    if (args.word != NULL)
        redrive_one(command, &args);
    else
        command_bulk(command, &args, true, SWEEP_DEAD);
}

static void
run_dlq_purge(struct command *command)
{
    struct command_args args;
    if (!command_read_args(command,
                           COMMAND_QUEUE | COMMAND_COUNT | COMMAND_FILTER | COMMAND_DRY,
                           &args))
        return;
    if (args.word != NULL) {
        command_fail(command, EXIT_USAGE, "'%s' cannot stand here", args.word);
        return;
    }
    command_bulk(command, &args, false, SWEEP_DEAD);
}

const struct command_info COMMANDS_DLQ[] = {
    {"dlq", "redrive", COMMAND_AT_LEADER, 1, 9, run_dlq_redrive,
     "dlq redrive ID|--all|--count N [--queue NAME] [--filter NAME=VALUE,...] "
     "[--dry-run]"},
    {"dlq", "purge", COMMAND_AT_LEADER, 0, 8, run_dlq_purge,
     "dlq purge [--queue NAME] [--count N] [--filter NAME=VALUE,...] [--dry-run]"},
    {.noun = NULL},
};
