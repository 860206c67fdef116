/* Commands: the noun backup: a snapshot of this node as a stream to holdfastctl.
 *
 *   ASKING    the leader says up to which entry everything is that was confirmed, and
 *             that it leads still
 *   APPLYING  this node is not yet as far
 *   IMAGING   nor is its newest snapshot: one is taken, as others are (imaging.h)
 *   then      that file, which stays readable whatever becomes of it, goes out as a
 *             backup (backup_file.h), and the command is done
 *
 * So a backup costs the node one snapshot, and a reader that is slow costs nothing but
 * the room of that file. One at a time up to there. */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "raft/disk_seed.h"
#include "server/backup_file.h"
#include "server/commands.h"
#include "server/control_stream.h"

#include <stdio.h>
#include <string.h>

#define APPLY_MS     30000
#define IMAGE_MS     60000 /* without any progress */
#define PROGRESS_MS  500
#define PIECE_CHUNKS 4
#define NODES_ASK    "position" /* the verb that is for nodes, not for people */

enum backup_stage {
    BACKUP_ASKING,
    BACKUP_APPLYING,
    BACKUP_IMAGING,
};

struct backup {
    struct node *node;
    struct command *command;
    enum backup_stage stage;
    uint64_t index;       /* the state must be that after this entry, or later */
    uint64_t time_ms;     /* when it was asked for */
    uint64_t deadline_ms; /* of the stage */
    uint64_t told_ms;     /* progress, last */
    uint64_t failed;      /* images that had, before ours was asked for */
    uint64_t bytes;       /* of the image, last */
};

/* --- the stream --- */

struct backup_source {
    struct disk_picture *picture;
    struct backup_writer writer;
    struct backup_info info;
    bool has_head;
    bool has_end;
};

static enum status
fill_cb(void *ctx, struct bytes *out)
{
    struct backup_source *s = ctx;
    struct slice piece;
    if (s->has_end)
        return ST_OK;
    if (!s->has_head)
        backup_put_head(&s->writer, &s->info, out);
    s->has_head = true;
    for (int i = 0; i < PIECE_CHUNKS; i++) {
        enum status st = disk_picture_next(s->picture, &piece);
        if (st != ST_OK)
            return st;
        if (piece.size == 0) {
            backup_put_end(&s->writer, out);
            s->has_end = true;
            return ST_OK;
        }
        backup_put_chunk(&s->writer, piece, out);
    }
    return ST_OK;
}

static void
free_cb(void *ctx)
{
    struct backup_source *s = ctx;
    disk_picture_close(s->picture);
    mem_free(s);
}

static struct control_stream *
stream_of(const struct backup *b, struct disk_picture *picture)
{
    const struct rlog_snapshot_meta *meta = disk_picture_meta(picture);
    struct backup_source *s = mem_calloc(1, sizeof *s);
    s->picture = picture;
    s->info = (struct backup_info){
        .node_id = b->node->config->node_id,
        .index = meta->index,
        .term = meta->term,
        .chain = meta->chain,
        .time_ms = b->time_ms,
        .image_bytes = meta->size_bytes,
        .image_crc = meta->crc,
    };
    config_cluster_id(b->node->config, s->info.cluster_id);
    (void)snprintf(s->info.version, sizeof s->info.version, "%s", PACKAGE_VERSION);
    const struct control_stream_source source = {
        .total_bytes = backup_file_bytes(meta->size_bytes),
        .fill_cb = fill_cb,
        .free_cb = free_cb,
        .ctx = s,
    };
    return control_stream_new(&b->node->loop, &source);
}

/* --- the stages --- */

/* Takes the job off the node; its command is the caller's to end. */
static struct command *
end(struct backup *b)
{
    struct command *command = b->command;
    b->node->backup = NULL;
    mem_free(b);
    return command;
}

static void
begin_stream(struct backup *b, uint64_t index)
{
    struct disk_picture *picture = NULL;
    struct json_writer w;
    enum status st = disk_picture_open(b->node->config->data_dir, index, &picture);
    if (st != ST_OK) {
        command_fail(end(b), EXIT_FAILED, "the snapshot of entry %llu: %s",
                     (unsigned long long)index, status_name(st));
        return;
    }
    const struct rlog_snapshot_meta *meta = disk_picture_meta(picture);
    b->command->stream = stream_of(b, picture);
    log_event(LOG_INFO, "backup.begun", "index=%llu bytes=%llu",
              (unsigned long long)meta->index, (unsigned long long)meta->size_bytes);
    json_write_begin(&w, &b->command->json);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "node", b->node->config->node_id);
    json_put_u64(&w, "index", meta->index);
    json_put_u64(&w, "term", meta->term);
    json_put_u64(&w, "time_ms", b->time_ms);
    json_object_end(&w);
    command_done(end(b));
}

static void
tell(struct backup *b, uint64_t now_ms)
{
    struct bytes json = {0};
    struct json_writer w;
    struct command *command = b->command;
    if (command->progress_cb == NULL || now_ms - b->told_ms < PROGRESS_MS)
        return;
    b->told_ms = now_ms;
    json_write_begin(&w, &json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "stage", b->stage == BACKUP_IMAGING ? "snapshot" : "waiting");
    json_put_u64(&w, "bytes", b->bytes);
    json_object_end(&w);
    command->progress_cb(command->done_ctx, slice_of(json.data, json.size));
    bytes_fini(&json);
}

static void
go_on_applying(struct backup *b, const struct replica_status *s, uint64_t now_ms)
{
    if (s->log.applied_index >= b->index) {
        b->stage = BACKUP_IMAGING;
        b->failed = s->images_failed;
        b->deadline_ms = now_ms + IMAGE_MS;
        replica_want_image(b->node->replica, b->index);
    } else if (now_ms >= b->deadline_ms) {
        command_fail(end(b), EXIT_NO_LEADER,
                     "this node still lacks entries up to %llu: it is at %llu",
                     (unsigned long long)b->index,
                     (unsigned long long)s->log.applied_index);
    }
}

static void
go_on_imaging(struct backup *b, const struct replica_status *s, uint64_t now_ms)
{
    if (s->image_bytes != b->bytes)
        b->deadline_ms = now_ms + IMAGE_MS;
    b->bytes = s->image_bytes;
    if (s->log.snapshot_index >= b->index)
        begin_stream(b, s->log.snapshot_index);
    else if (s->images_failed != b->failed)
        command_fail(end(b), EXIT_FAILED,
                     "no snapshot could be taken: the disk of this node has no room "
                     "for one more");
    else if (now_ms >= b->deadline_ms)
        command_fail(end(b), EXIT_FAILED, "no snapshot could be taken for %d s",
                     IMAGE_MS / 1000);
}

void
backup_turn(struct node *n, uint64_t now_ms)
{
    struct replica_status status;
    struct backup *b = n->backup;
    if (b == NULL)
        return;
    tell(b, now_ms);
    replica_get_status(n->replica, &status);
    switch (b->stage) {
    case BACKUP_ASKING: /* the question has a deadline of its own */
        break;
    case BACKUP_APPLYING:
        go_on_applying(b, &status, now_ms);
        break;
    case BACKUP_IMAGING:
        go_on_imaging(b, &status, now_ms);
        break;
    }
}

void
backup_stop(struct node *n)
{
    if (n->backup != NULL && n->backup->stage != BACKUP_ASKING)
        command_fail(end(n->backup), EXIT_FAILED, "the node is stopping");
}

static enum status
read_index(const struct command *answer, uint64_t *ret_index)
{
    struct json_object *o = mem_calloc(1, sizeof *o);
    enum status st = ST_INVALID;
    int64_t index = 0;
    json_object_init(o);
    if (json_parse(o, slice_of(answer->json.data, answer->json.size)) ==
        JSON_IS_OBJECT) {
        const struct json_member *m = json_find(o, "index");
        if (m != NULL && json_whole(m->value, &index) == ST_OK && index > 0)
            st = ST_OK;
    }
    json_object_fini(o);
    mem_free(o);
    *ret_index = (uint64_t)index;
    return st;
}

static void
asked_cb(void *ctx, struct command *answer)
{
    struct backup *b = ctx;
    if (answer->exit != EXIT_DONE) {
        command_fail(end(b), answer->exit, "%.*s", (int)answer->text.size,
                     (const char *)answer->text.data);
    } else if (read_index(answer, &b->index) != ST_OK) {
        command_fail(end(b), EXIT_FAILED, "the leader's answer cannot be read");
    } else {
        b->stage = BACKUP_APPLYING;
        b->deadline_ms = node_now_ms() + APPLY_MS;
    }
}

static void
run_stream(struct command *command)
{
    struct node *n = command->node;
    if (n->backup != NULL) {
        command_fail(
            command, EXIT_EXISTS,
            "a backup is being taken on this node already: try again later, or "
            "on another node");
        return;
    }
    struct backup *b = mem_calloc(1, sizeof *b);
    b->node = n;
    b->command = command;
    b->time_ms = node_wall_ms();
    n->backup = b;
    control_ask_leader(n, "{\"argv\":[\"backup\",\"position\"]}", asked_cb, b);
}

/* Everything confirmed until now is in entries up to here, and when the batch is
 * committed this node led until then. */
static void
run_position(struct command *command)
{
    struct node *n = command->node;
    struct json_writer w;
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "index", replica_state(n->replica)->applied);
    json_object_end(&w);
    command_wait_batch(command, broker_barrier(replica_broker(n->replica)));
}

const struct command_info COMMANDS_BACKUP[] = {
    {"backup", "stream", COMMAND_HERE, 0, 0, run_stream, "backup stream"},
    {"backup", NODES_ASK, COMMAND_AT_LEADER, 0, 0, run_position, "backup position"},
    {.noun = NULL},
};
