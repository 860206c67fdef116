/* The writer thread: writes records, goes from segment to segment, has them synced.
 *
 * Whatever waits is gathered: one writev for all appends that follow each other in a
 * segment. What arrives meanwhile is gathered next. A sync is done by a thread of its
 * own, one at a time, so that what only needs to be written goes on during it; the next
 * one covers all that was written meanwhile. When entries come one by one and all are
 * to be synced, this thread does it itself: two threads less to wake for each. After
 * the first failure nothing is written any more. Only when there is no room does a
 * write wait where it is until there is: a segment has its room from the start, unless
 * the file system cannot allocate or a record is larger than a segment. */
#include "raft/disk_int.h"

#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GATHER_MAX     1024 /* IOV_MAX */
#define GATHER_BYTES   (4u << 20)
#define STUCK_RETRY_MS 100
#define MARK_AFTER_MS  20 /* of idleness */
/* Syncs are done here while none took longer, and nothing came for a while that need
 * only be written and would wait for one. */
#define OWN_SYNC_US    2000
#define ALL_SYNCED_US  100000

struct writer {
    struct disk *d;
    struct disk_job *first; /* waiting, oldest first */
    struct disk_job **last;
    struct disk_job *ready; /* segments made ahead, linked by mail.next */
    int fd;
    uint64_t segment;
    uint64_t salt;
    /* Gathered and not yet written. */
    struct iovec iov[GATHER_MAX];
    int iov_count;
    uint64_t gather_offset;
    uint64_t gather_bytes;
    struct disk_left left; /* stuck: what is still to be written of it */
    bool is_stuck;
    struct disk_job *gathered; /* whose blobs the iov points into */
    uint64_t offset;           /* end of what is planned in the segment */
    uint64_t position;         /* of the last record gathered */
    uint64_t number;
    uint64_t written;
    uint64_t synced;
    uint64_t wanted;         /* a sync up to here was asked for */
    uint64_t sync_us;        /* how long the last one took */
    uint64_t unsynced_at_us; /* when an entry came that need only be written */
    uint32_t appends;        /* jobs since the last sync was begun */
    bool is_awaited;         /* gathered: such an entry */
    bool is_syncing;         /* the syncer has one */
    bool is_mark_due;
    bool is_quitting;
};

static const uint8_t padding[8];

static void
fail(struct writer *w, const char *what)
{
    disk_report_failure(w->d, what, errno);
}

static bool
is_failed(const struct writer *w)
{
    return atomic_load(&w->d->is_broken);
}

static void
report(struct writer *w, enum disk_done_kind kind, uint64_t position, uint64_t micros)
{
    struct disk_done *done = disk_done_new(kind);
    done->position = position;
    done->micros = micros;
    disk_report(w->d, done);
}

/* False: there is no room. */
static bool
write_gathered(struct writer *w)
{
    if (!w->is_stuck)
        w->left = (struct disk_left){w->iov, w->iov_count, w->gather_offset};
    disk_begin_busy(w->d, DISK_BUSY_WRITER);
    int rv = disk_write_on(&w->d->sys, w->fd, &w->left);
    int error = errno;
    (void)disk_end_busy(w->d, DISK_BUSY_WRITER);
    w->is_stuck = rv != 0 && disk_errno_status(error) == ST_FULL;
    atomic_store(&w->d->is_starved, w->is_stuck);
    if (w->is_stuck) {
        atomic_store(&w->d->is_full, true);
        sem_post(&w->d->helper.bell);
        return false;
    }
    errno = error;
    if (rv != 0)
        fail(w, "writing the log");
    return true;
}

/* False: it must wait for room. */
static bool
flush(struct writer *w)
{
    if (w->iov_count > 0 && !is_failed(w) && !write_gathered(w))
        return false;
    atomic_fetch_sub(&w->d->waiting_bytes, w->gather_bytes);
    w->iov_count = 0;
    w->gather_bytes = 0;
    struct disk_job *next;
    for (struct disk_job *job = w->gathered; job != NULL; job = next) {
        next = (struct disk_job *)job->mail.next;
        disk_job_free(job);
    }
    w->gathered = NULL;
    if (!is_failed(w) && w->position > w->written) {
        w->written = w->position;
        if (w->is_awaited)
            report(w, DONE_WRITTEN, w->written, 0);
        w->is_awaited = false;
    }
    return true;
}

static void
add(struct writer *w, const void *data, size_t size)
{
    w->iov[w->iov_count++] =
        (struct iovec){.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    w->gather_bytes += size;
}

/* Takes the job unless it must wait (false). */
static bool
append(struct writer *w, struct disk_job *job)
{
    assert(job->count * 3 <= GATHER_MAX);
    if (is_failed(w)) {
        atomic_fetch_sub(&w->d->waiting_bytes, job->bytes);
        disk_job_free(job);
        return true;
    }
    assert(job->segment == w->segment);
    if ((w->is_stuck || w->iov_count + (int)job->count * 3 > GATHER_MAX ||
         w->gather_bytes >= GATHER_BYTES) &&
        !flush(w))
        return false;
    if (w->iov_count == 0)
        w->gather_offset = job->offset;
    assert(w->gather_offset + w->gather_bytes == job->offset);
    for (uint32_t i = 0; i < job->count; i++) {
        const struct disk_record *r = &job->records[i];
        add(w, r->head, sizeof r->head);
        if (r->size > 0)
            add(w, r->blob->data + r->offset, r->size);
        if (r->size % 8 != 0)
            add(w, padding, 8 - r->size % 8);
    }
    w->offset = job->offset + job->bytes;
    w->position = job->position;
    w->number = job->number;
    w->appends++;
    if (job->has_unsynced) {
        w->is_awaited = true;
        w->unsynced_at_us = disk_micros_now();
    }
    job->mail.next = (struct mail *)w->gathered;
    w->gathered = job;
    return true;
}

/* Here and now. */
static void
sync_segment(struct writer *w)
{
    if (is_failed(w) || w->fd < 0 || w->synced >= w->written)
        return;
    w->appends = 0;
    if (disk_timed_sync(w->d, DISK_BUSY_WRITER, w->fd, &w->sync_us) != 0) {
        fail(w, "syncing the log");
        return;
    }
    w->synced = w->written;
    w->is_mark_due = true;
    report(w, DONE_SYNCED, w->synced, w->sync_us);
}

static bool
has_mail(const struct writer *w)
{
    return atomic_load(&w->d->writer.box.top) != NULL;
}

static bool
is_own_sync_best(const struct writer *w)
{
    return w->appends <= 1 && w->sync_us <= OWN_SYNC_US && !w->is_syncing &&
           !has_mail(w) && disk_micros_now() - w->unsynced_at_us > ALL_SYNCED_US;
}

static void
ask_syncer(struct writer *w)
{
    if (is_failed(w) || w->fd < 0 || w->is_syncing || w->synced >= w->written)
        return;
    struct disk_job *job = disk_job_new(JOB_SYNC, 0);
    job->fd = fcntl(w->fd, F_DUPFD_CLOEXEC, 0);
    job->position = w->written;
    if (job->fd < 0) { /* no descriptors left: it takes its time here */
        disk_job_free(job);
        sync_segment(w);
        return;
    }
    w->is_syncing = true;
    w->appends = 0;
    disk_post(&w->d->syncer, job);
}

/* Behind the last record, when nothing waits: up to where everything is synced. The
 * next record goes over it. It is what tells a damaged last record from a torn one. */
static void
write_mark(struct writer *w)
{
    uint8_t head[RECORD_HEAD_BYTES];
    if (is_failed(w) || w->fd < 0 || w->synced != w->position || w->number == 0 ||
        w->offset + RECORD_HEAD_BYTES > w->d->segment_bytes)
        return;
    struct record_head mark = {
        .type = RECORD_MARK, .number = w->number, .synced = w->number};
    record_head_put(head, &mark, w->salt);
    if (disk_write_at(&w->d->sys, w->fd, head, sizeof head, w->offset) != 0)
        fail(w, "writing the log");
}

/* Made for a log that is gone. */
static void
drop_ready(struct writer *w, uint64_t below)
{
    char name[DISK_NAME_MAX];
    struct disk_job **at = &w->ready;
    while (*at != NULL) {
        struct disk_job *job = *at;
        if (job->segment >= below) {
            at = (struct disk_job **)&job->mail.next;
            continue;
        }
        *at = (struct disk_job *)job->mail.next;
        disk_segment_name(job->segment, name);
        disk_job_free(job);
        if ((unlinkat(w->d->log_fd, name, 0) != 0 && errno != ENOENT) ||
            fsync(w->d->log_fd) != 0)
            fail(w, "removing a segment of the log");
    }
}

/* False: the segment is not made yet, or the one before is not written. */
static bool
rotate(struct writer *w, struct disk_job *job)
{
    struct disk_job **at = &w->ready;
    if (!flush(w))
        return false;
    while (*at != NULL && (*at)->segment != job->segment)
        at = (struct disk_job **)&(*at)->mail.next;
    if (*at == NULL)
        return is_failed(w);
    struct disk_job *ready = *at;
    *at = (struct disk_job *)ready->mail.next;
    /* The old segment is whole before the new one is used: so a bad record in it is
     * damage as soon as there is one in a later segment. */
    sync_segment(w);
    if (w->fd >= 0)
        close(w->fd);
    w->fd = ready->fd;
    ready->fd = -1;
    w->segment = ready->segment;
    w->salt = ready->salt;
    w->offset = SEGMENT_HEAD_BYTES;
    drop_ready(w, w->segment);
    disk_job_free(ready);
    return true;
}

/* What could not be written belongs to a log that goes. */
static void
forget_gathered(struct writer *w)
{
    w->iov_count = 0;
    w->is_stuck = false;
    atomic_store(&w->d->is_starved, false);
    w->position = w->written;
    (void)flush(w);
}

/* The incoming snapshot in force, then the old log away, the newest segment first: what
 * is left at any moment is a beginning of the old log, which R9 recognises. */
static void
install(struct writer *w, struct disk_job *job)
{
    char name[DISK_NAME_MAX];
    struct disk *d = w->d;
    if (!flush(w))
        forget_gathered(w);
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    w->synced = w->written;
    if (is_failed(w))
        return;
    disk_image_name(job->meta, name);
    if (renameat(d->snap_fd, disk_temporary_name(true), d->snap_fd, name) != 0 ||
        fsync(d->snap_fd) != 0) {
        fail(w, "installing a snapshot");
        return;
    }
    for (uint32_t i = job->count; i-- > 0;) {
        disk_segment_name(get_u64(job->records[i].head), name);
        if ((unlinkat(d->log_fd, name, 0) != 0 && errno != ENOENT) ||
            fsync(d->log_fd) != 0) {
            fail(w, "removing the log before a snapshot");
            return;
        }
    }
}

/* False: it must wait. Otherwise the job is done with. */
static bool
run_job(struct writer *w, struct disk_job *job)
{
    struct disk_done *done;
    switch (job->kind) {
    case JOB_APPEND:
        return append(w, job);
    case JOB_SYNC:
        w->wanted = job->position;
        break;
    case JOB_ROTATE:
        if (!rotate(w, job))
            return false;
        break;
    case JOB_INSTALL:
        install(w, job);
        break;
    case JOB_NOTE:
        done = disk_done_new(DONE_INSTALLED);
        done->meta = job->meta;
        job->meta = NULL;
        if (is_failed(w)) {
            mem_free(done->meta);
            mem_free(done);
        } else {
            disk_report(w->d, done);
        }
        break;
    case JOB_QUIT:
        w->is_quitting = true;
        break;
    case JOB_READY:
    case JOB_SYNCED:
    case JOB_PREPARE:
    case JOB_FORGET:
    case JOB_REMOVE_SEGMENT:
    case JOB_IMAGE_BEGIN:
    case JOB_IMAGE_WRITE:
    case JOB_IMAGE_FINISH:
    case JOB_IMAGE_CANCEL:
    case JOB_IMAGE_REMOVE:
        abort(); /* jobs of the helper */
        break;
    }
    disk_job_free(job);
    return true;
}

static void
take_mail(struct writer *w)
{
    struct mail *next;
    for (struct mail *m = mailbox_take(&w->d->writer.box); m != NULL; m = next) {
        struct disk_job *job = (struct disk_job *)m;
        next = m->next;
        m->next = NULL;
        if (job->kind == JOB_SYNCED) {
            w->is_syncing = false;
            w->is_mark_due = true;
            w->sync_us = job->micros;
            if (job->position > w->synced)
                w->synced = job->position;
            disk_job_free(job);
        } else if (job->kind == JOB_READY) {
            m->next = (struct mail *)w->ready;
            w->ready = job;
        } else {
            if (job->kind == JOB_QUIT)
                w->is_quitting = true; /* also when something before it must wait */
            *w->last = job;
            w->last = (struct disk_job **)&m->next;
        }
    }
}

/* Before an install nothing needs to be written any more: what it waits for in vain
 * may be the room that the install makes. False: there is none. */
static bool
skip_to_install(struct writer *w)
{
    struct disk_job *job = w->first;
    while (job != NULL && job->kind != JOB_INSTALL)
        job = (struct disk_job *)job->mail.next;
    if (job == NULL)
        return false;
    while (w->first != job) {
        struct disk_job *gone = w->first;
        w->first = (struct disk_job *)gone->mail.next;
        if (gone->kind == JOB_APPEND)
            atomic_fetch_sub(&w->d->waiting_bytes, gone->bytes);
        disk_job_free(gone);
    }
    return true;
}

static void
run_waiting(struct writer *w, bool is_idle)
{
    while (w->first != NULL) {
        struct disk_job *job = w->first;
        struct disk_job *next = (struct disk_job *)job->mail.next;
        if (!run_job(w, job)) {
            if (skip_to_install(w))
                continue;
            break;
        }
        w->first = next;
        if (next == NULL)
            w->last = &w->first;
    }
    if (!flush(w))
        return;
    if (w->wanted > w->synced && (w->is_quitting || is_own_sync_best(w)))
        sync_segment(w);
    else if (w->wanted > w->synced)
        ask_syncer(w);
    if (w->is_mark_due && (is_idle || w->is_quitting) && w->first == NULL &&
        !has_mail(w)) {
        w->is_mark_due = false;
        write_mark(w);
    }
}

void *
disk_writer_run(void *ctx)
{
    struct writer *w = mem_calloc(1, sizeof *w);
    w->d = ctx;
    w->last = &w->first;
    w->fd = -1;
    while (!w->is_quitting) {
        uint64_t wait_ms = w->is_stuck ? STUCK_RETRY_MS : 0;
        if (w->is_mark_due && !w->is_stuck)
            wait_ms = MARK_AFTER_MS;
        bool is_rung = disk_wait_bell(&w->d->writer, wait_ms);
        take_mail(w);
        run_waiting(w, !is_rung);
    }
    struct disk_job *next;
    for (struct disk_job *job = w->first; job != NULL; job = next) {
        next = (struct disk_job *)job->mail.next;
        disk_job_free(job);
    }
    for (struct disk_job *job = w->ready; job != NULL; job = next) {
        next = (struct disk_job *)job->mail.next;
        disk_job_free(job);
    }
    for (struct disk_job *job = w->gathered; job != NULL; job = next) {
        next = (struct disk_job *)job->mail.next;
        disk_job_free(job); /* stuck to the end */
    }
    if (w->fd >= 0)
        close(w->fd);
    mem_free(w);
    return NULL;
}
