/* Opening and closing a data directory; completions. */
#include "raft/disk.h"

#include "raft/disk_int.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static void
close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void
free_done(struct disk_done *done)
{
    mem_free(done->meta);
    mem_free(done);
}

void
disk_free(struct disk *d)
{
    struct mail *next;
    disk_stop_threads(d);
    for (struct mail *m = mailbox_take(&d->done); m != NULL; m = next) {
        next = m->next;
        free_done((struct disk_done *)m);
    }
    disk_forget_fds(d);
    for (int i = 0; i < DISK_IMAGES_MAX; i++)
        close_fd(&d->images[i].fd);
    blob_put(d->chunk);
    close_fd(&d->meta_fd[0]);
    close_fd(&d->meta_fd[1]);
    close_fd(&d->snap_fd);
    close_fd(&d->log_fd);
    close_fd(&d->lock_fd);
    close_fd(&d->dir_fd);
    mem_free(d->rlog.found.entries);
    mem_free(d->places);
    mem_free(d->segments);
    mem_free(d->dir);
    mem_free(d);
}

struct disk *
disk_new(const struct disk_options *o)
{
    struct disk *d = mem_calloc(1, sizeof *d);
    size_t size = strlen(o->dir) + 1;
    d->dir = mem_alloc(size);
    memcpy(d->dir, o->dir, size);
    d->node_id = o->node_id;
    d->cluster = get_u64(o->cluster_id);
    d->segment_bytes = o->segment_bytes == 0 ? DISK_SEGMENT_BYTES : o->segment_bytes;
    assert(d->segment_bytes >= 4096);
    d->bell = o->bell;
    d->bell_ctx = o->bell_ctx;
    d->salvage_cb = o->salvage_cb;
    d->progress_cb = o->progress_cb;
    d->progress_ctx = o->progress_ctx;
    disk_fill_system(&d->sys, o->sys);
    d->rlog.ops = &disk_ops;
    d->rlog.ctx = d;
    d->dir_fd = d->log_fd = d->snap_fd = d->lock_fd = -1;
    d->meta_fd[0] = d->meta_fd[1] = d->read_fd = -1;
    for (int i = 0; i < DISK_IMAGES_MAX; i++)
        d->images[i].fd = -1;
    d->places_mask = 1023;
    d->places = mem_calloc(d->places_mask + 1, sizeof *d->places);
    d->first = 1;
    mailbox_init(&d->done);
    return d;
}

enum status
disk_open_directory(struct disk *d, struct disk_error *e)
{
    struct stat stat;
    d->dir_fd = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->dir_fd < 0 && errno != ENOENT) {
        disk_error_set(e, "%s: %s", d->dir, strerror(errno));
        return ST_IO;
    }
    bool is_there = d->dir_fd >= 0;
    if (is_there && fstatat(d->dir_fd, "initialising", &stat, 0) == 0)
        is_there = false;
    if (is_there && fstatat(d->dir_fd, "meta-1", &stat, 0) != 0 &&
        fstatat(d->dir_fd, "meta-2", &stat, 0) != 0)
        is_there = false;
    if (!is_there) {
        disk_error_set(
            e,
            "%s: no data here; in a new cluster run: holdfastctl data init; if it was "
            "a member: not data init, see REPLACING in holdfast-cluster(7)",
            d->dir);
        return ST_NOTFOUND;
    }
    return ST_OK;
}

static enum status
open_folder(struct disk *d, const char *name, int *ret_fd, struct disk_error *e)
{
    *ret_fd = openat(d->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_fd >= 0)
        return ST_OK;
    enum status st = errno == ENOENT ? ST_CORRUPT : ST_IO;
    disk_error_set(e, "%s/%s: %s", d->dir, name, strerror(errno));
    disk_error_place(e, "", name, 0);
    return st;
}

enum status
disk_open_folders(struct disk *d, struct disk_error *e)
{
    enum status st = open_folder(d, "log", &d->log_fd, e);
    return st != ST_OK ? st : open_folder(d, "snapshots", &d->snap_fd, e);
}

static void
tell_salvaged(const struct disk *d)
{
    char name[DISK_NAME_MAX];
    for (uint32_t i = 0; i < d->salvaged_count; i++) {
        const struct disk_salvaged *s = &d->salvaged[i];
        disk_segment_name(s->segment, name);
        log_event(LOG_WARN, "disk.body_damaged",
                  "file=log/%s offset=%" PRIu64 " index=%" PRIu64 " consequence=%s",
                  name, s->offset, s->index,
                  log_quote("the message is a dead letter, as damaged"));
    }
}

/* What is appended now goes into a segment of its own: nothing stale is behind it. */
static enum status
begin_segment(struct disk *d, struct disk_error *e)
{
    if (getrandom(&d->salt_base, sizeof d->salt_base, 0) != sizeof d->salt_base) {
        disk_error_set(e, "getrandom: %s", strerror(errno));
        return ST_IO;
    }
    struct segment_head head = {.number = d->next_segment,
                                .salt = disk_salt(d->salt_base, d->next_segment),
                                .cluster = d->cluster,
                                .node_id = d->node_id};
    int fd = disk_make_segment(&d->sys, d->log_fd, &head, d->segment_bytes);
    if (fd < 0 && disk_errno_status(errno) == ST_FULL) {
        atomic_store(&d->is_full, true);
        fd = disk_reserve_segment(d, &head);
    }
    if (fd < 0 && disk_errno_status(errno) != ST_FULL) {
        disk_error_set(e, "%s/log: %s", d->dir, strerror(errno));
        return ST_IO;
    }
    if (!disk_start_threads(d)) {
        if (fd >= 0)
            close(fd);
        disk_error_set(e, "threads: %s", strerror(errno));
        return ST_IO;
    }
    /* Without room it begins all the same: what is appended waits. */
    struct disk_job *ready = disk_job_new(fd < 0 ? JOB_PREPARE : JOB_READY, 0);
    ready->segment = head.number;
    ready->salt = head.salt;
    ready->bytes = d->segment_bytes;
    ready->fd = fd;
    disk_post(fd < 0 ? &d->helper : &d->writer, ready);
    struct disk_job *rotate = disk_job_new(JOB_ROTATE, 0);
    rotate->segment = head.number;
    disk_post(&d->writer, rotate);
    disk_add_segment(d, head.number, head.salt, d->segment_bytes);
    d->offset = SEGMENT_HEAD_BYTES;
    d->next_segment++;
    disk_prepare_next(d);
    return ST_OK;
}

/* Whose directory it is, and that its log is where it belongs. */
static enum status
open_place(struct disk *d, const struct disk_options *o, struct disk_error *e)
{
    char aside[DISK_ASIDE_NAME_BYTES];
    enum status st = disk_open_directory(d, e);
    if (st == ST_OK)
        st = disk_lock(d, e);
    if (st == ST_OK)
        st = disk_read_meta(d, e);
    if (st == ST_OK)
        st = disk_check_owner(d, o, e);
    if (st == ST_OK && d->meta.rejoin == DISK_REJOIN_MOVING)
        st = disk_finish_aside(d, aside, e);
    return st == ST_OK ? disk_open_folders(d, e) : st;
}

static enum status
open_disk(struct disk *d, const struct disk_options *o, struct disk_error *e)
{
    struct disk_scan scan;
    enum status st = open_place(d, o, e);
    if (st == ST_OK)
        disk_reserve_open(d, o->segment_bytes == 0);
    if (st == ST_OK)
        st = disk_read_boot(d, o->boot_id, e);
    if (st == ST_OK)
        st = disk_find_images(d, e);
    if (st != ST_OK)
        return st;
    st = disk_scan_log(d, &scan, e);
    if (st != ST_OK)
        return st;
    st = disk_settle_found(d, &scan, e);
    disk_scan_fini(&scan);
    if (st != ST_OK)
        return st;
    tell_salvaged(d);
    memset(d->boot.boot_id, 0, sizeof d->boot.boot_id);
    memcpy(d->boot.boot_id, o->boot_id, strlen(o->boot_id));
    d->boot.is_clean = false;
    d->boot.number = 0;
    st = disk_write_meta(d); /* heals a copy that was damaged */
    if (st == ST_OK)
        st = disk_write_boot(d);
    if (st != ST_OK) {
        disk_error_set(e, "%s: %s", d->dir, strerror(errno));
        return st;
    }
    return begin_segment(d, e);
}

enum status
disk_open(const struct disk_options *options,
          struct disk **ret_disk,
          struct disk_error *ret_error)
{
    memset(ret_error, 0, sizeof *ret_error);
    if (strlen(options->boot_id) > DISK_BOOT_ID_MAX) {
        disk_error_set(ret_error, "the boot id is longer than %d", DISK_BOOT_ID_MAX);
        return ST_INVALID;
    }
    struct disk *d = disk_new(options);
    enum status st = open_disk(d, options, ret_error);
    if (st == ST_OK)
        *ret_disk = d;
    else
        disk_free(d);
    return st;
}

/* What came in last: was everything synced, and did nothing fail? */
static bool
all_is_synced(struct disk *d)
{
    bool is_synced = d->synced_position == d->position && !d->is_failed;
    struct mail *next;
    for (struct mail *m = mailbox_take(&d->done); m != NULL; m = next) {
        struct disk_done *done = (struct disk_done *)m;
        next = m->next;
        if (done->kind == DONE_SYNCED && done->position == d->position && !d->is_failed)
            is_synced = true;
        if (done->kind == DONE_FAILED)
            is_synced = false;
        free_done(done);
    }
    return is_synced;
}

enum status
disk_close(struct disk *d, bool is_clean)
{
    enum status st = ST_OK;
    if (d == NULL)
        return ST_OK;
    if (is_clean && d->position > 0)
        d->rlog.ops->sync(d);
    disk_stop_threads(d);
    if (is_clean) {
        st = all_is_synced(d) ? ST_OK : ST_IO;
        d->boot.is_clean = true;
        d->boot.number = d->number_base + d->position;
        if (st == ST_OK)
            st = disk_write_boot(d);
    }
    disk_free(d);
    return st;
}

struct rlog_disk *
disk_rlog(struct disk *d)
{
    return &d->rlog;
}

bool
disk_is_crashed(const struct disk *d)
{
    return d->boot.is_crashed;
}

bool
disk_is_rejoining(const struct disk *d)
{
    return d->meta.rejoin != DISK_REJOIN_NONE;
}

enum status
disk_distrust(struct disk *d)
{
    d->meta.rejoin = DISK_REJOIN_WAITING;
    return disk_write_meta(d);
}

bool
disk_is_joining(const struct disk *d)
{
    return d->meta.rejoin == DISK_REJOIN_JOINING;
}

const struct disk_error *
disk_damage(const struct disk *d)
{
    return &d->damage;
}

static void
deliver_image(struct disk *d,
              struct rlog *r,
              const struct disk_done *done,
              uint64_t now_ms)
{
    uint64_t now = done->is_incoming ? d->incoming_generation : d->local_generation;
    if (done->generation != now)
        return; /* cancelled meanwhile */
    if (done->event == RLOG_SNAPSHOT_STORED) {
        disk_add_image(d, done->meta);
        d->is_newest_good = true;
    }
    if (done->event == RLOG_SNAPSHOT_REFUSED)
        d->is_incoming = false;
    rlog_on_snapshot(r, done->event, done->meta, done->bytes, now_ms);
    disk_reap_images(d);
}

static void
deliver(struct disk *d, struct rlog *r, const struct disk_done *done, uint64_t now_ms)
{
    switch (done->kind) {
    case DONE_WRITTEN:
        rlog_on_written(r, done->position, now_ms);
        break;
    case DONE_SYNCED:
        if (done->position > d->synced_position)
            d->synced_position = done->position;
        histogram_observe(&d->syncs, done->micros);
        rlog_on_synced(r, done->position, now_ms);
        break;
    case DONE_IMAGE:
        deliver_image(d, r, done, now_ms);
        break;
    case DONE_INSTALLED:
        d->is_incoming = false;
        d->incoming_generation++;
        disk_add_image(d, done->meta);
        d->is_newest_good = true;
        rlog_on_snapshot(r, RLOG_SNAPSHOT_INSTALLED, done->meta, 0, now_ms);
        disk_reap_images(d);
        break;
    case DONE_FAILED:
        d->is_failed = true;
        rlog_on_failed(r, done->why, done->text);
        break;
    }
}

void
disk_deliver(struct disk *d, struct rlog *r, uint64_t now_ms)
{
    struct mail *next;
    for (struct mail *m = mailbox_take(&d->done); m != NULL; m = next) {
        struct disk_done *done = (struct disk_done *)m;
        next = m->next;
        /* Written twice in a row: the later one says it all. */
        bool is_stale = done->kind == DONE_WRITTEN && next != NULL &&
                        ((struct disk_done *)next)->kind == DONE_WRITTEN;
        if (!d->is_failed && !is_stale)
            deliver(d, r, done, now_ms);
        free_done(done);
    }
}

void
disk_get_status(struct disk *d, struct disk_status *ret_status)
{
    memset(ret_status, 0, sizeof *ret_status);
    ret_status->segment_count = d->segment_count;
    for (size_t i = 0; i < d->segment_count; i++)
        ret_status->log_bytes += d->segments[i].bytes;
    ret_status->waiting_bytes = atomic_load(&d->waiting_bytes);
    ret_status->syncs = d->syncs;
    ret_status->free_bytes = atomic_load(&d->free_bytes);
    ret_status->reserve_bytes = atomic_load(&d->reserve_bytes);
    ret_status->capacity_bytes = d->capacity_bytes;
    ret_status->is_full = atomic_load(&d->is_full);
}
