/* Commands: the noun msg: what holdfastctl asks of a node about messages that are not
 * dead. (Reading and adding them is an administrator's, over wss.) */
#include "base/json.h"
#include "broker/story.h"
#include "queue/sweep.h"
#include "server/commands_bulk.h"

static void
run_msg_purge(struct command *command)
{
    struct command_args args;
    if (!command_read_args(command,
                           COMMAND_QUEUE | COMMAND_ALL | COMMAND_COUNT |
                               COMMAND_FILTER | COMMAND_DRY,
                           &args))
        return;
    if (args.word != NULL) {
        command_fail(command, EXIT_USAGE, "'%s' cannot stand here", args.word);
        return;
    }
    command_bulk(command, &args, false,
                 args.is_all ? SWEEP_WAITING | SWEEP_HELD : SWEEP_WAITING);
}

static void
put_event(struct command *command, struct json_writer *w, const struct story_event *e)
{
    char time[COMMAND_TIME_BYTES] = "-";
    if (e->at_ms != 0)
        command_time(e->at_ms, time);
    json_object_begin(w, NULL);
    if (e->at_ms != 0)
        json_put_u64(w, "at_ms", e->at_ms);
    json_put_string(w, "event", e->name);
    if (e->reason[0] != '\0')
        json_put_string(w, "reason", e->reason);
    if (e->session != 0)
        json_put_u64(w, "session", e->session);
    json_object_end(w);
    bytes_printf(&command->text, "\n%-24s  %s", time, e->name);
    if (e->reason[0] != '\0')
        bytes_printf(&command->text, " (%s)", e->reason);
    if (e->session != 0)
        bytes_printf(&command->text, ", session %llu", (unsigned long long)e->session);
}

static void
put_story(struct command *command,
          const struct queue *q,
          const struct message_story *story)
{
    char id[UUID_TEXT_SIZE + 1] = {0};
    struct json_writer w;
    uuid_format(&story->id, id);
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "queue", q->name);
    json_put_string(&w, "id", id);
    json_put_string(&w, "place", story->place);
    json_put_u64(&w, "deliveries", story->deliveries);
    json_put_u64(&w, "dropped", story->dropped);
    json_array_begin(&w, "events");
    bytes_printf(&command->text, "message %s in queue %s: %s, deliveries %u", id,
                 q->name, story->place, story->deliveries);
    for (uint32_t i = 0; i < story->count; i++) {
        put_event(command, &w, &story->events[i]);
        if (story->dropped > 0 && i == TRAIL_FIRST)
            bytes_printf(&command->text, "\n%-24s  (%u events are not kept)", "...",
                         story->dropped);
    }
    json_array_end(&w);
    json_object_end(&w);
}

static void
run_msg_history(struct command *command)
{
    struct broker *b = replica_broker(command->node->replica);
    struct command_args args;
    struct uuid id;
    struct message_story story;
    if (!command_read_args(command, COMMAND_QUEUE, &args))
        return;
    if (args.word == NULL || !command_read_id(args.word, &id)) {
        command_fail(command, EXIT_USAGE, "the id of a message is wanted");
        return;
    }
    const struct queue *q = command_find_queue(command, &args);
    if (q == NULL)
        return;
    const struct message *m = queue_message(q, &id);
    if (m == NULL) {
        command_fail(command, EXIT_NOT_FOUND, "there is no message %s in queue %s",
                     args.word, q->name);
        return;
    }
    message_story(m, broker_cluster_time_ms(b), &story);
    put_story(command, q, &story);
    command_wait_batch(command, broker_barrier(b)); /* this node still leads */
}

const struct command_info COMMANDS_MSG[] = {
    {"msg", "purge", COMMAND_AT_LEADER, 0, 9, run_msg_purge,
     "msg purge [--queue NAME] [--all] [--count N] [--filter key=KEY] [--dry-run]"},
    {"msg", "history", COMMAND_AT_LEADER, 1, 3, run_msg_history,
     "msg history ID [--queue NAME]"},
    {.noun = NULL},
};
