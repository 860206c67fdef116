/* Backup: reading one into a state: see backup_load.h. */
#include "server/backup_load.h"

#include "base/json.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES   (1u << 20)
#define STEP_OBJECTS 4096

int
backup_fail(const struct backup_options *o, int code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fprintf(stderr, "holdfastd: %s\n", text);
    if (o->is_json) {
        struct bytes out = {0};
        struct json_writer w;
        json_write_begin(&w, &out);
        json_object_begin(&w, NULL);
        json_put_string(&w, "error", text);
        json_put_u64(&w, "exit", (uint64_t)code);
        json_object_end(&w);
        (void)printf("%.*s\n", (int)out.size, (const char *)out.data);
        bytes_fini(&out);
    }
    return code;
}

/* --- reading --- */

static enum status
feed_cb(void *ctx, struct slice image)
{
    enum status st = image_loader_feed(ctx, image);
    mem_load_step();
    return st;
}

/* 0, or what to exit with: it was said. */
static int
read_file(const struct backup_options *o,
          int fd,
          struct backup_reader *r,
          const struct image_loader *loader)
{
    uint8_t *buffer = mem_alloc(READ_BYTES);
    enum status st = ST_OK;
    ssize_t n = 1;
    while (st == ST_OK && n > 0) { /* bound: the file */
        n = read(fd, buffer, READ_BYTES);
        if (n > 0)
            st = backup_reader_feed(r, slice_of(buffer, (size_t)n));
    }
    int error = errno;
    mem_free(buffer);
    if (n < 0)
        return backup_fail(o, EXIT_FAILED, "%s: %s", backup_name(o), strerror(error));
    if (st == ST_OK)
        st = backup_reader_finish(r);
    if (st == ST_VERSION && backup_reader_info(r) != NULL)
        return backup_fail(o, EXIT_FAILED, "%s: %s", backup_name(o),
                           image_loader_needs(loader));
    if (st != ST_OK)
        return backup_fail(o, EXIT_FAILED, "%s: %s", backup_name(o),
                           backup_reader_why(r));
    return EXIT_DONE;
}

static int
check_state(const struct backup_options *o, const struct loaded *l)
{
    const char *wrong = state_check(l->state);
    if (wrong == NULL && l->state->applied > l->info.index)
        wrong = "its index is below that of its state";
    if (wrong == NULL && l->counts.digest != state_digest(l->state))
        wrong = "its end is not that of its state";
    if (wrong == NULL && l->counts.queues != l->state->queue_count)
        wrong = "its end counts other queues";
    return wrong == NULL
               ? EXIT_DONE
               : backup_fail(o, EXIT_FAILED, "%s: the state in it is wrong: %s",
                             backup_name(o), wrong);
}

int
backup_load(const struct backup_options *o, struct loaded *ret_loaded)
{
    struct loaded l = {0};
    int fd = open(o->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return backup_fail(o, errno == ENOENT ? EXIT_NOT_FOUND : EXIT_FAILED, "%s: %s",
                           backup_name(o), strerror(errno));
    mem_load_begin();
    struct image_loader *loader = image_loader_new();
    struct backup_reader *r = backup_reader_new(feed_cb, loader);
    int code = read_file(o, fd, r, loader);
    (void)close(fd);
    if (code == EXIT_DONE) {
        l.info = *backup_reader_info(r);
        l.counts = *backup_reader_counts(r);
        l.file_bytes = backup_file_bytes(l.info.image_bytes);
        if (image_loader_finish(loader, &l.state) != ST_OK)
            code = backup_fail(o, EXIT_FAILED, "%s: the image in it is not whole",
                               backup_name(o));
    } else {
        image_loader_free(loader);
    }
    mem_load_end();
    backup_reader_free(r);
    if (code == EXIT_DONE)
        code = check_state(o, &l);
    if (code == EXIT_DONE)
        *ret_loaded = l;
    else
        state_free(l.state);
    return code;
}

int
backup_keep_queue(const struct backup_options *o, struct loaded *l)
{
    struct state *s = l->state;
    if (o->queue == NULL)
        return EXIT_DONE;
    if (state_queue_by_name(s, slice_from_text(o->queue)) == NULL)
        return backup_fail(o, EXIT_NOT_FOUND, "%s: there is no queue '%s' in it",
                           backup_name(o), o->queue);
    LIST_FOREACH_SAFE (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        struct record record = {.type = RECORD_QUEUE_DELETE, .queue = q->number};
        if (strcmp(q->name, o->queue) != 0)
            state_apply_record(s, &record, s->stamp_ms);
    }
    memset(l->info.queue, 0, sizeof l->info.queue);
    (void)snprintf(l->info.queue, sizeof l->info.queue, "%s", o->queue);
    return EXIT_DONE;
}

int
backup_each_piece(struct state *s, int (*put)(void *ctx, struct slice piece), void *ctx)
{
    struct image *image = image_begin(s);
    int code = 0;
    while (code == 0 && !image_is_done(image)) { /* bound: the state */
        struct blob *piece;
        image_step(image, STEP_OBJECTS);
        while ((piece = image_next(image)) != NULL) {
            if (code == 0)
                code = put(ctx, blob_slice(piece));
            blob_put(piece);
        }
    }
    image_end(image);
    return code;
}

/* --- saying what is in it --- */

struct backup_totals
backup_count(const struct state *s)
{
    struct backup_totals t = {0};
    LIST_FOREACH (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        t.messages += q->counts.messages;
        t.held += q->counts.held;
        t.dead += q->counts.dead;
        t.saved_sessions += q->counts.saved_sessions;
    }
    return t;
}

void
backup_hex(const uint8_t *bytes, size_t size, char *out)
{
    for (size_t i = 0; i < size; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void
put_queues(struct json_writer *w, const struct state *s)
{
    json_array_begin(w, "queues");
    LIST_FOREACH (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        json_object_begin(w, NULL);
        json_put_string(w, "queue", q->name);
        json_put_u64(w, "messages", q->counts.messages);
        json_put_u64(w, "held", q->counts.held);
        json_put_u64(w, "dead_letter", q->counts.dead);
        json_put_u64(w, "saved_sessions", q->counts.saved_sessions);
        json_object_end(w);
    }
    json_array_end(w);
}

void
backup_print_json(const struct backup_options *o,
                  const struct loaded *l,
                  const char *origin)
{
    char cluster[33];
    struct bytes out = {0};
    struct json_writer w;
    const struct backup_totals t = backup_count(l->state);
    backup_hex(l->info.cluster_id, sizeof l->info.cluster_id, cluster);
    json_write_begin(&w, &out);
    json_object_begin(&w, NULL);
    json_put_string(&w, "file", backup_name(o));
    json_put_u64(&w, "size_bytes", l->file_bytes);
    json_put_string(&w, "cluster", cluster);
    json_put_u64(&w, "node", l->info.node_id);
    json_put_u64(&w, "index", l->info.index);
    json_put_u64(&w, "term", l->info.term);
    json_put_u64(&w, "time_ms", l->info.time_ms);
    json_put_u64(&w, "level", l->state->level);
    json_put_string(&w, "version", l->info.version);
    json_put_bool(&w, "all_queues", l->info.queue[0] == '\0');
    json_put_u64(&w, "messages", t.messages);
    json_put_u64(&w, "held", t.held);
    json_put_u64(&w, "dead_letter", t.dead);
    json_put_u64(&w, "saved_sessions", t.saved_sessions);
    put_queues(&w, l->state);
    if (origin != NULL)
        json_put_string(&w, "origin", origin);
    json_object_end(&w);
    (void)printf("%.*s\n", (int)out.size, (const char *)out.data);
    bytes_fini(&out);
}
