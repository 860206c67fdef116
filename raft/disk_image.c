/* Writing a snapshot file, on the helper thread: chunks as they fill, a sync every few
 * MiB so that the last one is short, the head at the end, then the name. */
#include "raft/disk_int.h"

#include "base/crc32c.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SYNC_EVERY_BYTES (8u << 20)

struct image_writer {
    struct disk *d;
    bool is_incoming;
    int fd; /* -1: none under way */
    uint64_t generation;
    struct rlog_snapshot_meta meta;
    uint8_t *chunk; /* IMAGE_CHUNK_HEAD + IMAGE_CHUNK_BYTES */
    uint32_t chunk_size;
    uint64_t chunk_number;
    uint64_t size;
    uint32_t crc;
    uint64_t unsynced;
};

struct image_writer *
image_writer_new(struct disk *d, bool is_incoming)
{
    struct image_writer *w = mem_calloc(1, sizeof *w);
    w->d = d;
    w->is_incoming = is_incoming;
    w->fd = -1;
    w->chunk = mem_alloc(IMAGE_CHUNK_HEAD + IMAGE_CHUNK_BYTES);
    return w;
}

static void
discard(struct image_writer *w)
{
    if (w->fd < 0)
        return;
    close(w->fd);
    w->fd = -1;
    unlinkat(w->d->snap_fd, disk_temporary_name(w->is_incoming), 0);
}

void
image_writer_free(struct image_writer *w)
{
    discard(w);
    mem_free(w->chunk);
    mem_free(w);
}

static void
report(struct image_writer *w, enum rlog_snapshot_event event, uint64_t bytes)
{
    struct disk_done *done = disk_done_new(DONE_IMAGE);
    done->event = event;
    done->is_incoming = w->is_incoming;
    done->generation = w->generation;
    done->bytes = bytes;
    done->meta = mem_alloc(sizeof *done->meta);
    *done->meta = w->meta;
    disk_report(w->d, done);
}

/* No room is no disaster for a snapshot; anything else is. */
static void
fail(struct image_writer *w)
{
    int error = errno;
    discard(w);
    if (disk_errno_status(error) != ST_FULL)
        disk_report_failure(w->d, "writing a snapshot", error);
    else
        report(w, w->is_incoming ? RLOG_SNAPSHOT_REFUSED : RLOG_SNAPSHOT_FAILED, 0);
}

void
image_writer_begin(struct image_writer *w, struct disk_job *job)
{
    discard(w);
    w->generation = job->generation;
    w->meta = *job->meta;
    w->chunk_size = 0;
    w->chunk_number = 0;
    w->size = 0;
    w->crc = 0;
    w->unsynced = 0;
    w->fd = openat(w->d->snap_fd, disk_temporary_name(w->is_incoming),
                   O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (w->fd < 0)
        fail(w);
}

/* When there is no room the reserve makes some: a snapshot is what lets go of the log.
 */
static bool
write_at(struct image_writer *w, const void *data, size_t size, uint64_t offset)
{
    int rv = disk_write_at(&w->d->sys, w->fd, data, size, offset);
    while (rv != 0 && disk_errno_status(errno) == ST_FULL) { /* bound: its files */
        if (!disk_reserve_give(w->d)) {
            errno = ENOSPC;
            return false;
        }
        rv = disk_write_at(&w->d->sys, w->fd, data, size, offset);
    }
    return rv == 0;
}

static bool
flush_chunk(struct image_writer *w)
{
    const struct disk_sys *sys = &w->d->sys;
    if (w->chunk_size == 0)
        return true;
    image_chunk_put(w->chunk, w->chunk_number, w->chunk + IMAGE_CHUNK_HEAD,
                    w->chunk_size);
    if (!write_at(w, w->chunk, IMAGE_CHUNK_HEAD + w->chunk_size,
                  image_chunk_offset(w->chunk_number)))
        return false;
    w->chunk_number++;
    w->unsynced += w->chunk_size;
    w->chunk_size = 0;
    if (w->unsynced < SYNC_EVERY_BYTES)
        return true;
    w->unsynced = 0;
    return sys->fdatasync(w->fd) == 0;
}

void
image_writer_write(struct image_writer *w, struct disk_job *job)
{
    if (w->fd < 0 || job->generation != w->generation)
        return;
    const uint8_t *data = job->one.blob->data + job->one.offset;
    uint32_t left = job->one.size;
    w->crc = crc32c(w->crc, data, left);
    w->size += left;
    while (left > 0) {
        uint32_t room = IMAGE_CHUNK_BYTES - w->chunk_size;
        uint32_t take = left < room ? left : room;
        memcpy(w->chunk + IMAGE_CHUNK_HEAD + w->chunk_size, data, take);
        w->chunk_size += take;
        data += take;
        left -= take;
        if (w->chunk_size == IMAGE_CHUNK_BYTES && !flush_chunk(w)) {
            fail(w);
            return;
        }
    }
    if (w->is_incoming)
        report(w, RLOG_SNAPSHOT_PIECE, w->size);
}

/* Reads all of it again: what the old snapshot is given up for must be good. */
static bool
is_readable(struct image_writer *w)
{
    uint64_t left = w->meta.size_bytes;
    for (uint64_t chunk = 0; left > 0; chunk++) {
        uint32_t size = left < IMAGE_CHUNK_BYTES ? (uint32_t)left : IMAGE_CHUNK_BYTES;
        if (disk_read_at(w->fd, w->chunk, IMAGE_CHUNK_HEAD + size,
                         image_chunk_offset(chunk)) != 0 ||
            !image_chunk_check(w->chunk, chunk, w->chunk + IMAGE_CHUNK_HEAD, size))
            return false;
        left -= size;
    }
    return true;
}

static bool
write_head(struct image_writer *w)
{
    uint8_t head[IMAGE_HEAD_BYTES];
    image_head_put(head, &w->meta, w->d->cluster);
    return write_at(w, head, sizeof head, 0) && w->d->sys.fdatasync(w->fd) == 0;
}

static void
finish_local(struct image_writer *w)
{
    char name[DISK_NAME_MAX];
    w->meta.size_bytes = w->size;
    w->meta.crc = w->crc;
    disk_image_name(&w->meta, name);
    if (!write_head(w)) {
        fail(w);
        return;
    }
    if (!is_readable(w)) {
        errno = EIO;
        fail(w);
        return;
    }
    if (renameat(w->d->snap_fd, disk_temporary_name(false), w->d->snap_fd, name) != 0 ||
        fsync(w->d->snap_fd) != 0) {
        fail(w);
        return;
    }
    close(w->fd);
    w->fd = -1;
    report(w, RLOG_SNAPSHOT_STORED, 0);
}

void
image_writer_finish(struct image_writer *w, struct disk_job *job)
{
    if (w->fd < 0 || job->generation != w->generation)
        return;
    if (!flush_chunk(w)) {
        fail(w);
        return;
    }
    if (!w->is_incoming) {
        finish_local(w);
        return;
    }
    if (w->size != w->meta.size_bytes || w->crc != w->meta.crc) {
        discard(w);
        report(w, RLOG_SNAPSHOT_REFUSED, 0);
        return;
    }
    if (!write_head(w)) {
        fail(w);
        return;
    }
    close(w->fd); /* the writer thread gives it its name */
    w->fd = -1;
    report(w, RLOG_SNAPSHOT_COMPLETE, 0);
}

void
image_writer_cancel(struct image_writer *w, uint64_t generation)
{
    if (w->fd >= 0 && generation == w->generation)
        discard(w);
    else if (w->fd < 0 && generation == w->generation && w->is_incoming)
        unlinkat(w->d->snap_fd, disk_temporary_name(true), 0);
}
