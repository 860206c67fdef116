/* Backup: verifying one, and taking one queue out of it: see backup.h. */
#include "server/backup.h"

#include "base/crc32c.h"
#include "server/backup_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void
print_text(const struct backup_options *o, const struct loaded *l)
{
    char cluster[33];
    char when[32] = "";
    struct tm tm;
    time_t seconds = (time_t)(l->info.time_ms / 1000);
    const struct backup_totals t = backup_count(l->state);
    backup_hex(l->info.cluster_id, sizeof l->info.cluster_id, cluster);
    if (gmtime_r(&seconds, &tm) != NULL)
        (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    (void)printf("%s: good, %llu bytes\n"
                 "taken %s at entry %llu, by node %llu (holdfastd %s)\n"
                 "cluster %s\n"
                 "queues: %u; messages: %llu, of them held: %llu, dead: %llu; "
                 "saved sessions: %llu\n",
                 backup_name(o), (unsigned long long)l->file_bytes, when,
                 (unsigned long long)l->info.index, (unsigned long long)l->info.node_id,
                 l->info.version, cluster, l->state->queue_count,
                 (unsigned long long)t.messages, (unsigned long long)t.held,
                 (unsigned long long)t.dead, (unsigned long long)t.saved_sessions);
    LIST_FOREACH (node, &l->state->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        (void)printf("queue %-24s %10llu messages %8llu held %8llu dead\n", q->name,
                     (unsigned long long)q->counts.messages,
                     (unsigned long long)q->counts.held,
                     (unsigned long long)q->counts.dead);
    }
}

int
backup_check(const struct backup_options *options)
{
    struct loaded l = {0};
    int code = backup_load(options, &l);
    if (code != EXIT_DONE)
        return code;
    if (options->is_json)
        backup_print_json(options, &l, NULL);
    else
        print_text(options, &l);
    state_free(l.state);
    return EXIT_DONE;
}

/* --- one queue of it --- */

struct cutter {
    const struct backup_options *options;
    struct backup_writer writer;
    struct bytes out;
    struct backup_info *info;
    int fd;
};

/* The first time over, only its size and checksum are wanted: the head has them. */
static int
measure(void *ctx, struct slice piece)
{
    struct backup_info *info = ctx;
    info->image_bytes += piece.size;
    info->image_crc = crc32c(info->image_crc, piece.data, piece.size);
    return 0;
}

static int
write_out(struct cutter *c)
{
    const uint8_t *at = c->out.data;
    size_t left = c->out.size;
    while (left > 0) { /* bound: out */
        ssize_t n = write(c->fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return backup_fail(c->options, EXIT_FAILED, "%s: %s", c->options->to,
                               strerror(errno));
        at += n;
        left -= (size_t)n;
    }
    bytes_clear(&c->out);
    return 0;
}

static int
put_piece(void *ctx, struct slice piece)
{
    struct cutter *c = ctx;
    backup_put_chunk(&c->writer, piece, &c->out);
    return write_out(c);
}

static int
write_cut(struct cutter *c, struct state *s)
{
    backup_put_head(&c->writer, c->info, &c->out);
    int code = write_out(c);
    if (code == 0)
        code = backup_each_piece(s, put_piece, c);
    if (code == 0) {
        backup_put_end(&c->writer, &c->out);
        code = write_out(c);
    }
    if (code == 0 && fsync(c->fd) != 0)
        code = backup_fail(c->options, EXIT_FAILED, "%s: %s", c->options->to,
                           strerror(errno));
    return code;
}

int
backup_cut(const struct backup_options *options)
{
    struct loaded l = {0};
    int code = backup_load(options, &l);
    if (code != EXIT_DONE)
        return code;
    code = backup_keep_queue(options, &l);
    if (code == EXIT_DONE) {
        struct cutter c = {.options = options, .info = &l.info};
        l.info.image_bytes = 0;
        l.info.image_crc = 0;
        (void)backup_each_piece(l.state, measure, &l.info);
        c.fd = open(options->to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (c.fd < 0)
            code = backup_fail(options, errno == EEXIST ? EXIT_EXISTS : EXIT_FAILED,
                               "%s: %s", options->to, strerror(errno));
        else
            code = write_cut(&c, l.state);
        if (c.fd >= 0)
            (void)close(c.fd);
        if (c.fd >= 0 && code != EXIT_DONE)
            (void)unlink(options->to);
        bytes_fini(&c.out);
    }
    state_free(l.state);
    return code;
}
