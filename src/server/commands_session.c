/* Commands: the noun session: subscribers' sessions, connected and saved. A session is
 * named by its number: its id is what a subscriber resumes it with, and is shown to
 * nobody. */
#include "base/json.h"
#include "broker/operate.h"
#include "server/commands_args.h"

#define SESSIONS_MOST 20000 /* in one answer, which has LIMIT_CONTROL_LINE_BYTES */

static void
put_session(struct command *command, struct json_writer *w, const struct session *x)
{
    char since[COMMAND_TIME_BYTES];
    bool is_live = broker_session_is_live(x);
    uint64_t since_ms = x->is_saved ? x->saved_ms : uuid7_ms(&x->id);
    command_time(since_ms, since);
    json_object_begin(w, NULL);
    json_put_string(w, "queue", x->queue->name);
    json_put_u64(w, "session", x->number);
    json_put_string(w, "state", is_live ? "connected" : "saved");
    json_put_u64(w, "since_ms", since_ms);
    json_put_u64(w, "held", x->held_count);
    json_put_u64(w, "capacity", x->capacity);
    json_object_end(w);
    bytes_printf(&command->text, "%s%-24s %8llu  %-9s since %s  holds %u of %u",
                 command->text.size > 0 ? "\n" : "", x->queue->name,
                 (unsigned long long)x->number, is_live ? "connected" : "saved", since,
                 x->held_count, x->capacity);
}

static void
list_of_queue(struct command *command, struct json_writer *w, const struct queue *q)
{
    uint32_t left = SESSIONS_MOST;
    struct tree_node *n = tree_first(&q->line);
    for (; n != NULL && left > 0 && command->json.size < LIMIT_CONTROL_LINE_BYTES / 4;
         n = tree_next(n), left--)
        put_session(command, w, CONTAINER_OF(n, struct session, in_line));
    if (n != NULL)
        bytes_printf(&command->text, "\n... and more in queue %s", q->name);
}

static void
run_session_list(struct command *command)
{
    command_list(command, "sessions", list_of_queue);
}

static void
run_session_end(struct command *command)
{
    struct command_args args;
    uint64_t number = 0;
    uint64_t batch = 0;
    struct json_writer w;
    if (!command_read_args(command, COMMAND_QUEUE, &args))
        return;
    if (args.word == NULL || !command_read_number(args.word, &number)) {
        command_fail(command, EXIT_USAGE,
                     "the number of a session is wanted: see 'session list'");
        return;
    }
    const struct queue *q = command_find_queue(command, &args);
    if (q == NULL)
        return;
    const struct session *x = queue_session_by_number(q, number);
    uint32_t held = x == NULL ? 0 : x->held_count;
    enum status st = broker_end_session(replica_broker(command->node->replica),
                                        slice_from_text(q->name), number, &batch);
    if (st != ST_OK) {
        command_fail_status(command, st, "there is no such session");
        return;
    }
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "queue", q->name);
    json_put_u64(&w, "session", number);
    json_put_u64(&w, "returned", held);
    json_object_end(&w);
    bytes_printf(&command->text,
                 "session %llu of queue %s is ended; messages "
                 "returned: %u",
                 (unsigned long long)number, q->name, held);
    command_wait_batch(command, batch);
}

const struct command_info COMMANDS_SESSION[] = {
    {"session", "list", COMMAND_AT_LEADER, 0, 2, run_session_list,
     "session list [--queue NAME]"},
    {"session", "end", COMMAND_AT_LEADER, 1, 3, run_session_end,
     "session end NUMBER [--queue NAME]"},
    {.noun = NULL},
};
