/* The operations of struct rlog_disk on the real disk. The core thread decides where
 * every record goes (segment, offset) and what is removed; the threads only do it. */
#include "raft/disk_int.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define RECORDS_PER_JOB 256

static enum status
op_write_term(void *ctx, uint64_t term, uint64_t vote)
{
    struct disk *d = ctx;
    assert(term >= d->meta.term);
    d->meta.term = term;
    d->meta.vote = vote;
    return disk_write_meta(d);
}

void
disk_add_segment(struct disk *d, uint64_t number, uint64_t salt, uint64_t bytes)
{
    assert(d->segment_count == 0 || d->segments[d->segment_count - 1].number < number);
    if (d->segment_count == d->segment_capacity) {
        d->segment_capacity = d->segment_capacity == 0 ? 16 : d->segment_capacity * 2;
        d->segments =
            mem_realloc(d->segments, d->segment_capacity * sizeof *d->segments);
    }
    d->segments[d->segment_count++] = (struct disk_segment){number, salt, bytes};
}

void
disk_prepare_next(struct disk *d)
{
    struct disk_job *job = disk_job_new(JOB_PREPARE, 0);
    job->segment = d->next_segment;
    job->salt = disk_salt(d->salt_base, job->segment);
    job->bytes = d->segment_bytes;
    disk_post(&d->helper, job);
}

static void
rotate(struct disk *d)
{
    struct disk_job *job = disk_job_new(JOB_ROTATE, 0);
    job->segment = d->next_segment;
    disk_add_segment(d, d->next_segment, disk_salt(d->salt_base, d->next_segment),
                     d->segment_bytes);
    d->offset = SEGMENT_HEAD_BYTES;
    d->next_segment++;
    disk_post(&d->writer, job);
    disk_prepare_next(d);
}

void
disk_set_place(struct disk *d, uint64_t index, const struct disk_place *place)
{
    assert(index >= d->first && index <= d->last + 1);
    if (index - d->first > d->places_mask) {
        uint64_t mask = d->places_mask * 2 + 1;
        struct disk_place *places = mem_calloc(mask + 1, sizeof *places);
        for (uint64_t i = d->first; i < index; i++)
            places[i & mask] = d->places[i & d->places_mask];
        mem_free(d->places);
        d->places = places;
        d->places_mask = mask;
    }
    d->places[index & d->places_mask] = *place;
    d->last = index;
}

/* How many of entries go into the present segment now. */
static uint32_t
count_fitting(const struct disk *d, const struct rlog_entry *entries, uint32_t count)
{
    uint64_t offset = d->offset;
    uint32_t n = 0;
    for (; n < count && n < RECORDS_PER_JOB; n++) {
        uint64_t end = offset + record_bytes(entries[n].size);
        /* A record larger than a segment has one for itself. */
        if (end > d->segment_bytes && offset != SEGMENT_HEAD_BYTES)
            break;
        offset = end;
    }
    return n;
}

static void
post_append(struct disk *d, const struct rlog_entry *entries, uint32_t count)
{
    const struct disk_segment *segment = &d->segments[d->segment_count - 1];
    struct disk_job *job = disk_job_new(JOB_APPEND, count);
    job->segment = segment->number;
    job->offset = d->offset;
    for (uint32_t i = 0; i < count; i++) {
        const struct rlog_entry *e = &entries[i];
        struct disk_record *r = &job->records[i];
        struct disk_place place = {segment->number, (uint32_t)d->offset, e->size};
        d->position++;
        job->has_unsynced = job->has_unsynced || !e->is_sync;
        struct record_head head = {
            .size = e->size,
            .crc = e->crc,
            .type = (uint8_t)e->type,
            .is_sync = e->is_sync,
            .number = d->number_base + d->position,
            .index = e->index,
            .term = e->term,
            .synced = d->number_base + d->synced_position,
        };
        record_head_put(r->head, &head, segment->salt);
        r->blob = e->size == 0 ? NULL : blob_get(e->blob);
        r->offset = e->offset;
        r->size = e->size;
        disk_set_place(d, e->index, &place);
        d->offset += record_bytes(e->size);
    }
    job->bytes = d->offset - job->offset;
    job->position = d->position;
    job->number = d->number_base + d->position;
    atomic_fetch_add(&d->waiting_bytes, job->bytes);
    disk_post(&d->writer, job);
}

static void
op_append(void *ctx, const struct rlog_entry *entries, uint32_t count)
{
    struct disk *d = ctx;
    while (count > 0) {
        uint32_t n = count_fitting(d, entries, count);
        if (n == 0) {
            rotate(d);
            continue;
        }
        post_append(d, entries, n);
        entries += n;
        count -= n;
    }
}

static void
op_sync(void *ctx)
{
    struct disk *d = ctx;
    struct disk_job *job = disk_job_new(JOB_SYNC, 0);
    job->position = d->position;
    disk_post(&d->writer, job);
}

static void
op_trim(void *ctx, uint64_t keep_first)
{
    struct disk *d = ctx;
    uint64_t keep = d->segments[d->segment_count - 1].number;
    if (keep_first > d->first && keep_first <= d->last + 1)
        d->first = keep_first;
    if (d->first <= d->last)
        keep = d->places[d->first & d->places_mask].segment;
    size_t gone = 0;
    for (; d->segments[gone].number < keep; gone++) {
        struct disk_job *job = disk_job_new(JOB_REMOVE_SEGMENT, 0);
        job->segment = d->segments[gone].number;
        disk_post(&d->helper, job);
    }
    d->segment_count -= gone;
    memmove(d->segments, d->segments + gone, d->segment_count * sizeof *d->segments);
    if (d->read_segment < keep)
        disk_forget_fds(d);
}

/* ---- snapshots ---- */

static struct disk_job *
image_job(struct disk *d, enum disk_job_kind kind, bool is_incoming)
{
    struct disk_job *job = disk_job_new(kind, 0);
    job->is_incoming = is_incoming;
    job->generation = is_incoming ? d->incoming_generation : d->local_generation;
    return job;
}

static struct rlog_snapshot_meta *
copy_meta(const struct rlog_snapshot_meta *meta)
{
    struct rlog_snapshot_meta *copy = mem_alloc(sizeof *copy);
    *copy = *meta;
    return copy;
}

static void
op_snapshot_begin(void *ctx, const struct rlog_snapshot_meta *meta)
{
    struct disk *d = ctx;
    d->local_generation++;
    struct disk_job *job = image_job(d, JOB_IMAGE_BEGIN, false);
    job->meta = copy_meta(meta);
    disk_post(&d->helper, job);
}

static void
op_snapshot_write(void *ctx, struct blob *piece)
{
    struct disk *d = ctx;
    struct disk_job *job = image_job(d, JOB_IMAGE_WRITE, false);
    job->one.blob = piece;
    job->one.size = piece->size;
    atomic_fetch_add(&d->image_backlog, piece->size);
    disk_post(&d->helper, job);
}

static void
op_snapshot_finish(void *ctx)
{
    struct disk *d = ctx;
    disk_post(&d->helper, image_job(d, JOB_IMAGE_FINISH, false));
}

static void
op_snapshot_cancel(void *ctx)
{
    struct disk *d = ctx;
    disk_post(&d->helper, image_job(d, JOB_IMAGE_CANCEL, false));
    d->local_generation++;
}

static uint64_t
op_snapshot_backlog(void *ctx)
{
    struct disk *d = ctx;
    return atomic_load(&d->image_backlog);
}

static void
op_incoming_begin(void *ctx, const struct rlog_snapshot_meta *meta)
{
    struct disk *d = ctx;
    assert(!d->is_incoming);
    d->is_incoming = true;
    d->incoming = *meta;
    d->incoming_generation++;
    struct disk_job *job = image_job(d, JOB_IMAGE_BEGIN, true);
    job->meta = copy_meta(meta);
    disk_post(&d->helper, job);
}

static void
op_incoming_write(void *ctx, struct blob *blob, uint32_t offset, uint32_t size)
{
    struct disk *d = ctx;
    struct disk_job *job = image_job(d, JOB_IMAGE_WRITE, true);
    assert(d->is_incoming);
    job->one.blob = blob_get(blob);
    job->one.offset = offset;
    job->one.size = size;
    disk_post(&d->helper, job);
}

static void
op_incoming_finish(void *ctx)
{
    struct disk *d = ctx;
    disk_post(&d->helper, image_job(d, JOB_IMAGE_FINISH, true));
}

static void
op_incoming_cancel(void *ctx)
{
    struct disk *d = ctx;
    if (!d->is_incoming)
        return;
    disk_post(&d->helper, image_job(d, JOB_IMAGE_CANCEL, true));
    d->incoming_generation++;
    d->is_incoming = false;
}

static void
op_incoming_install(void *ctx)
{
    struct disk *d = ctx;
    assert(d->is_incoming);
    struct disk_job *job = disk_job_new(JOB_INSTALL, (uint32_t)d->segment_count);
    for (size_t i = 0; i < d->segment_count; i++) {
        memset(&job->records[i], 0, sizeof job->records[i]);
        put_u64(job->records[i].head, d->segments[i].number);
    }
    job->meta = copy_meta(&d->incoming);
    disk_post(&d->writer, job);
    /* Behind it: now the writer waits for none of these. */
    job = disk_job_new(JOB_FORGET, 0);
    job->segment = d->next_segment;
    disk_post(&d->helper, job);
    disk_forget_fds(d);
    d->segment_count = 0;
    d->first = d->incoming.index + 1;
    d->last = d->incoming.index;
    rotate(d);
    job = disk_job_new(JOB_NOTE, 0);
    job->meta = copy_meta(&d->incoming);
    disk_post(&d->writer, job);
}

static void
op_snapshot_hold(void *ctx, uint64_t index)
{
    struct disk_image *image = disk_image_find(ctx, index);
    assert(index != 0 && image != NULL);
    image->holds++;
}

static void
op_snapshot_release(void *ctx, uint64_t index)
{
    struct disk_image *image = disk_image_find(ctx, index);
    assert(index != 0 && image != NULL && image->holds > 0);
    image->holds--;
    disk_reap_images(ctx);
}

static void
op_found_done(void *ctx)
{
    struct disk *d = ctx;
    mem_free(d->rlog.found.entries);
    d->rlog.found.entries = NULL;
}

static void
op_gate_opened(void *ctx)
{
    struct disk *d = ctx;
    /* Not written, here and below: the next start is gated for nothing, that is all. */
    if (d->meta.rejoin != DISK_REJOIN_NONE) {
        enum disk_rejoin was = d->meta.rejoin;
        d->meta.rejoin = DISK_REJOIN_NONE;
        if (disk_write_meta(d) != ST_OK) {
            d->meta.rejoin = was;
            return;
        }
        log_event(LOG_INFO, "disk.rejoined", "last_index=%" PRIu64, d->last);
    }
    if (!d->boot.is_crashed)
        return;
    d->boot.is_crashed = false;
    if (disk_write_boot(d) != ST_OK)
        d->boot.is_crashed = true;
}

const struct rlog_disk_ops disk_ops = {
    .write_term = op_write_term,
    .append = op_append,
    .sync = op_sync,
    .read = disk_read_entry,
    .trim = op_trim,
    .snapshot_begin = op_snapshot_begin,
    .snapshot_write = op_snapshot_write,
    .snapshot_finish = op_snapshot_finish,
    .snapshot_cancel = op_snapshot_cancel,
    .snapshot_backlog = op_snapshot_backlog,
    .incoming_begin = op_incoming_begin,
    .incoming_write = op_incoming_write,
    .incoming_finish = op_incoming_finish,
    .incoming_cancel = op_incoming_cancel,
    .incoming_install = op_incoming_install,
    .snapshot_read = disk_read_image,
    .snapshot_hold = op_snapshot_hold,
    .snapshot_release = op_snapshot_release,
    .found_done = op_found_done,
    .gate_opened = op_gate_opened,
    .health = disk_look_at_health,
};
