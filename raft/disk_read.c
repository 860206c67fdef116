/* Reading entries and snapshot images, on the core thread: one record or one chunk at a
 * time, checked. */
#include "raft/disk_int.h"

#include "base/crc32c.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

void
disk_forget_fds(struct disk *d)
{
    if (d->read_fd >= 0)
        close(d->read_fd);
    d->read_fd = -1;
    d->read_segment = 0;
}

/* Remembers where, for whoever stops because of it. */
static enum status
damaged(struct disk *d,
        const char *folder,
        const char *name,
        uint64_t offset,
        const char *what)
{
    disk_error_set(&d->damage, "%s/%s/%s: at %" PRIu64 ": %s", d->dir, folder, name,
                   offset, what);
    disk_error_place(&d->damage, folder, name, offset);
    return ST_CORRUPT;
}

static const struct disk_segment *
find_segment(const struct disk *d, uint64_t number)
{
    size_t low = 0;
    size_t high = d->segment_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (d->segments[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low < d->segment_count && d->segments[low].number == number);
    return &d->segments[low];
}

enum status
disk_read_entry(void *ctx, uint64_t index, struct rlog_entry *ret_entry)
{
    struct disk *d = ctx;
    uint8_t head[RECORD_HEAD_BYTES];
    char name[DISK_NAME_MAX];
    struct record_head h;
    if (index < d->first || index > d->last)
        return ST_CORRUPT;
    const struct disk_place *place = &d->places[index & d->places_mask];
    const struct disk_segment *segment = find_segment(d, place->segment);
    disk_segment_name(place->segment, name);
    if (d->read_fd < 0 || d->read_segment != place->segment) {
        disk_forget_fds(d);
        d->read_fd = openat(d->log_fd, name, O_RDONLY | O_CLOEXEC);
        d->read_segment = place->segment;
        if (d->read_fd < 0)
            return ST_IO;
    }
    int rv = disk_read_at(d->read_fd, head, sizeof head, place->offset);
    if (rv < 0)
        return ST_IO;
    if (rv > 0 || !record_head_get(head, segment->salt, &h) || h.index != index ||
        h.size != place->size)
        return damaged(d, "log", name, place->offset, "damaged head of a record");
    struct blob *blob = h.size == 0 ? NULL : blob_new(h.size);
    if (blob != NULL)
        rv = disk_read_at(d->read_fd, blob->data, h.size,
                          place->offset + RECORD_HEAD_BYTES);
    uint32_t crc = rv != 0 || blob == NULL ? 0 : crc32c(0, blob->data, h.size);
    if (rv != 0 ||
        (crc != h.crc && !disk_is_salvaged(d, place->segment, place->offset))) {
        blob_put(blob);
        return rv < 0 ? ST_IO
                      : damaged(d, "log", name, place->offset, "damaged record");
    }
    *ret_entry = (struct rlog_entry){
        .index = index,
        .term = h.term,
        .type = (enum rlog_type)h.type,
        .is_sync = h.is_sync,
        .crc = crc, /* of what is there, when it was salvaged */
        .blob = blob,
        .size = h.size,
    };
    return ST_OK;
}

struct disk_image *
disk_image_find(struct disk *d, uint64_t index)
{
    for (int i = 0; i < DISK_IMAGES_MAX; i++)
        if (d->images[i].meta.index == index)
            return &d->images[i];
    return NULL;
}

static void
drop_chunk(struct disk *d)
{
    blob_put(d->chunk);
    d->chunk = NULL;
}

void
disk_add_image(struct disk *d, const struct rlog_snapshot_meta *meta)
{
    struct disk_image *image = disk_image_find(d, meta->index);
    if (image == NULL)
        image = disk_image_find(d, 0);
    /* As many as there are peers can be held, and the newest: there is room. */
    assert(image != NULL);
    if (image->meta.index != 0 && image->fd >= 0)
        close(image->fd);
    image->meta = *meta;
    image->fd = -1;
    d->newest = meta->index;
    drop_chunk(d);
}

void
disk_reap_images(struct disk *d)
{
    for (int i = 0; i < DISK_IMAGES_MAX; i++) {
        struct disk_image *image = &d->images[i];
        if (image->meta.index == 0 || image->meta.index == d->newest ||
            image->holds > 0 || !d->is_newest_good)
            continue;
        struct disk_job *job = disk_job_new(JOB_IMAGE_REMOVE, 0);
        job->meta = mem_alloc(sizeof *job->meta);
        *job->meta = image->meta;
        disk_post(&d->helper, job);
        if (image->fd >= 0)
            close(image->fd);
        memset(image, 0, sizeof *image);
        image->fd = -1;
    }
}

/* The chunk with its checksum, kept until another is read. */
static enum status
load_chunk(struct disk *d, struct disk_image *image, uint64_t chunk)
{
    char name[DISK_NAME_MAX];
    uint8_t head[IMAGE_CHUNK_HEAD];
    uint64_t left = image->meta.size_bytes - chunk * IMAGE_CHUNK_BYTES;
    uint32_t size = left < IMAGE_CHUNK_BYTES ? (uint32_t)left : IMAGE_CHUNK_BYTES;
    if (d->chunk != NULL && d->chunk_image == image->meta.index &&
        d->chunk_number == chunk)
        return ST_OK;
    drop_chunk(d);
    disk_image_name(&image->meta, name);
    if (image->fd < 0) {
        image->fd = openat(d->snap_fd, name, O_RDONLY | O_CLOEXEC);
        if (image->fd < 0)
            return ST_IO;
    }
    struct blob *blob = blob_new(size);
    int rv = disk_read_at(image->fd, head, sizeof head, image_chunk_offset(chunk));
    if (rv == 0)
        rv = disk_read_at(image->fd, blob->data, size,
                          image_chunk_offset(chunk) + IMAGE_CHUNK_HEAD);
    if (rv != 0 || !image_chunk_check(head, chunk, blob->data, size)) {
        blob_put(blob);
        return rv < 0 ? ST_IO
                      : damaged(d, "snapshots", name, image_chunk_offset(chunk),
                                "damaged chunk");
    }
    d->chunk = blob;
    d->chunk_image = image->meta.index;
    d->chunk_number = chunk;
    return ST_OK;
}

enum status
disk_read_image(
    void *ctx, uint64_t index, uint64_t offset, size_t max, struct blob **ret_piece)
{
    struct disk *d = ctx;
    struct disk_image *image = index == 0 ? NULL : disk_image_find(d, index);
    assert(max > 0 && max <= IMAGE_CHUNK_BYTES);
    if (image == NULL)
        return ST_NOTFOUND;
    if (offset >= image->meta.size_bytes) {
        *ret_piece = blob_new(0);
        return ST_OK;
    }
    enum status st = load_chunk(d, image, offset / IMAGE_CHUNK_BYTES);
    if (st != ST_OK)
        return st;
    size_t from = offset % IMAGE_CHUNK_BYTES;
    size_t left = d->chunk->size - from;
    if (from == 0 && left <= max)
        *ret_piece = blob_get(d->chunk);
    else
        *ret_piece =
            blob_copy(slice_of(d->chunk->data + from, left < max ? left : max));
    return ST_OK;
}
