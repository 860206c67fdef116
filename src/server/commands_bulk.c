/* Bulk: see the header.
 *
 * One record has what LIMIT_SWEEP_MESSAGES messages that are looked at give, so that
 * neither the leader nor a follower is busy with it for long. A record is done whole or
 * not at all; the command as a whole may end between two of them when leadership is
 * lost, and what is done then stays done. Messages that come while it runs have greater
 * ids than those it is about, and are left alone. */
#include "server/commands_bulk.h"

#include "base/json.h"
#include "base/mem.h"
#include "broker/operate.h"
#include "queue/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTER_MOST 256

struct bulk_job {
    struct bulk bulk;
    struct bulk_result result; /* of the last step */
    uint64_t done;
    uint32_t records;
    uint32_t left; /* of --count; 0 and is_all: no limit */
    bool is_all;
    bool is_dry;
    char queue[LIMIT_QUEUE_NAME_BYTES + 1];
    char filter[FILTER_MOST]; /* what bulk.key points into */
};

static bool
read_reason(struct bulk *bulk, const char *value)
{
    static const char *const names[DEAD_REASONS] = {
        [DEAD_NACK] = "nack", [DEAD_MOVED] = "moved", [DEAD_DAMAGED] = "damaged"};
    for (unsigned i = DEAD_NACK; i < DEAD_REASONS; i++)
        if (strcmp(names[i], value) == 0)
            bulk->reasons |= (uint8_t)(1u << i);
    return bulk->reasons != 0;
}

static bool
read_older(struct bulk *bulk, const char *value, uint64_t now_ms)
{
    char *end = NULL;
    unsigned long long secs = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || secs == 0 ||
        secs > RECORD_TIME_LIMIT / 1000)
        return false;
    bulk->before_ms = 1000 * secs < now_ms ? now_ms - 1000 * secs : 1;
    return true;
}

/* One NAME=VALUE; dead letters have them all, others the key alone. */
static bool
read_filter(struct bulk *bulk, char *pair, uint64_t now_ms)
{
    char *value = strchr(pair, '=');
    bool is_dead = bulk->places == SWEEP_DEAD;
    if (value == NULL || value[1] == '\0')
        return false;
    *value++ = '\0';
    if (strcmp(pair, "key") == 0) {
        bulk->key = slice_from_text(value);
        return bulk->key.size <= LIMIT_KEY_BYTES;
    }
    if (is_dead && strcmp(pair, "reason") == 0)
        return read_reason(bulk, value);
    return is_dead && strcmp(pair, "older") == 0 && read_older(bulk, value, now_ms);
}

static bool
read_filters(struct bulk_job *job, const char *filter, uint64_t now_ms)
{
    char *rest = NULL;
    if (strlen(filter) >= sizeof job->filter)
        return false;
    memcpy(job->filter, filter, strlen(filter) + 1);
    char *pair = strtok_r(job->filter, ",", &rest);
    bool is_good = pair != NULL;
    for (; is_good && pair != NULL; pair = strtok_r(NULL, ",", &rest))
        is_good = read_filter(&job->bulk, pair, now_ms);
    return is_good;
}

static void
answer(struct command *command, const struct bulk_job *job)
{
    const char *verb = job->bulk.is_redrive ? "redriven" : "purged";
    struct json_writer w;
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "queue", job->queue);
    json_put_u64(&w, verb, job->done);
    json_put_u64(&w, "records", job->records);
    json_put_bool(&w, "dry_run", job->is_dry);
    json_object_end(&w);
    bytes_printf(&command->text, "%s%s: %llu message%s in queue %s",
                 job->is_dry ? "would be " : "", verb, (unsigned long long)job->done,
                 job->done == 1 ? "" : "s", job->queue);
    command_done(command);
}

static void step(struct command *command);

/* A step is committed. */
static void
step_done_cb(struct command *command)
{
    struct bulk_job *job = command->job;
    const struct bulk_result *result = &job->result;
    job->done += result->count;
    job->records += result->count > 0;
    job->left -= result->count;
    if (!result->has_more || (!job->is_all && job->left == 0)) {
        answer(command, job);
        return;
    }
    job->bulk.after = result->seen;
    job->bulk.last = result->last;
    job->bulk.has_after = job->bulk.has_last = true;
    step(command);
}

static void
step(struct command *command)
{
    struct bulk_job *job = command->job;
    job->bulk.most = job->is_all ? 0 : job->left;
    enum status st =
        broker_bulk(replica_broker(command->node->replica), slice_from_text(job->queue),
                    &job->bulk, job->is_dry, &job->result);
    if (st != ST_OK) {
        command_fail_status(command, st, "the queue is gone");
        return;
    }
    command->then_cb = step_done_cb;
    command->deadline_ms = node_now_ms() + CONTROL_DEADLINE_MS;
    command_wait_batch(command, job->result.batch);
}

void
command_bulk(struct command *command,
             const struct command_args *args,
             bool is_redrive,
             uint8_t places)
{
    struct broker *b = replica_broker(command->node->replica);
    const struct queue *q = command_find_queue(command, args);
    if (q == NULL)
        return;
    struct bulk_job *job = mem_calloc(1, sizeof *job);
    command->job = job; /* freed with it */
    job->bulk.is_redrive = is_redrive;
    job->bulk.places = places;
    job->is_all = args->count == 0;
    job->left = args->count;
    job->is_dry = args->is_dry;
    (void)snprintf(job->queue, sizeof job->queue, "%s", q->name);
    if (args->filter != NULL &&
        !read_filters(job, args->filter, broker_cluster_time_ms(b))) {
        command_fail(command, EXIT_USAGE,
                     places == SWEEP_DEAD
                         ? "--filter takes reason=nack|moved|damaged, key=PUBLISHERKEY "
                           "and older=SECONDS, with commas between"
                         : "--filter takes key=PUBLISHERKEY");
        return;
    }
    step(command);
}
