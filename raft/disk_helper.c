/* The helper thread: segments made ahead and removed, snapshots written, the reserve
 * kept. Whatever is slow and must not delay the log. Making a segment goes before
 * everything else; when the disk is full it comes out of the reserve, and when that is
 * used up it is tried again until there is room. */
#include "raft/disk_int.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FULL_LOOK_MS 200
#define LOOK_MS      1000 /* somebody else may fill the disk */

struct helper {
    struct disk *d;
    struct disk_job *first;
    struct disk_job **last;
    struct disk_job *prepare; /* segments still to be made, oldest first */
    struct image_writer *local;
    struct image_writer *incoming;
    uint64_t look_ms; /* when it is looked at the room again */
    bool is_quitting;
};

static bool
is_failed(const struct helper *h)
{
    return atomic_load(&h->d->is_broken);
}

static void
add_prepare(struct helper *h, struct disk_job *job)
{
    struct disk_job **at = &h->prepare;
    while (*at != NULL)
        at = (struct disk_job **)&(*at)->mail.next;
    *at = job;
}

static void
forget_below(struct helper *h, uint64_t number)
{
    while (h->prepare != NULL && h->prepare->segment < number) {
        struct disk_job *job = h->prepare;
        h->prepare = (struct disk_job *)job->mail.next;
        disk_job_free(job);
    }
}

static void
take_mail(struct helper *h)
{
    struct mail *next;
    for (struct mail *m = mailbox_take(&h->d->helper.box); m != NULL; m = next) {
        struct disk_job *job = (struct disk_job *)m;
        next = m->next;
        m->next = NULL;
        if (job->kind == JOB_PREPARE) {
            add_prepare(h, job);
        } else if (job->kind == JOB_FORGET) {
            forget_below(h, job->segment);
            disk_job_free(job);
        } else if (job->kind == JOB_QUIT) {
            h->is_quitting = true;
            disk_job_free(job);
        } else {
            *h->last = job;
            h->last = (struct disk_job **)&m->next;
        }
    }
}

/* False: no room, later. */
static bool
make_segment(struct helper *h, struct disk_job *job)
{
    struct disk *d = h->d;
    struct segment_head head = {.number = job->segment,
                                .salt = job->salt,
                                .cluster = d->cluster,
                                .node_id = d->node_id};
    int fd = disk_make_segment(&d->sys, d->log_fd, &head, job->bytes);
    if (fd < 0 && disk_errno_status(errno) == ST_FULL) {
        atomic_store(&d->is_full, true);
        fd = disk_reserve_segment(d, &head);
    }
    if (fd < 0 && disk_errno_status(errno) == ST_FULL)
        return false;
    if (fd < 0) {
        disk_report_failure(d, "making a segment of the log", errno);
        return true;
    }
    struct disk_job *ready = disk_job_new(JOB_READY, 0);
    ready->segment = job->segment;
    ready->salt = job->salt;
    ready->fd = fd;
    disk_post(&d->writer, ready);
    return true;
}

static void
make_segments(struct helper *h)
{
    while (h->prepare != NULL && !is_failed(h) && !h->is_quitting) {
        struct disk_job *job = h->prepare;
        if (!make_segment(h, job))
            return;
        h->prepare = (struct disk_job *)job->mail.next;
        disk_job_free(job);
    }
}

/* One at a time and each durably, the oldest first: what is left is an end of it. */
static void
remove_segment(struct helper *h, uint64_t number)
{
    char name[DISK_NAME_MAX];
    disk_segment_name(number, name);
    if ((unlinkat(h->d->log_fd, name, 0) != 0 && errno != ENOENT) ||
        fsync(h->d->log_fd) != 0) {
        disk_report_failure(h->d, "removing a segment of the log", errno);
    }
}

static void
run_job(struct helper *h, struct disk_job *job)
{
    char name[DISK_NAME_MAX];
    struct image_writer *w = job->is_incoming ? h->incoming : h->local;
    switch (job->kind) {
    case JOB_REMOVE_SEGMENT:
        remove_segment(h, job->segment);
        break;
    case JOB_IMAGE_BEGIN:
        image_writer_begin(w, job);
        break;
    case JOB_IMAGE_WRITE:
        image_writer_write(w, job);
        if (!job->is_incoming)
            atomic_fetch_sub(&h->d->image_backlog, job->one.size);
        break;
    case JOB_IMAGE_FINISH:
        image_writer_finish(w, job);
        break;
    case JOB_IMAGE_CANCEL:
        image_writer_cancel(w, job->generation);
        break;
    case JOB_IMAGE_REMOVE:
        disk_image_name(job->meta, name);
        unlinkat(h->d->snap_fd, name, 0);
        break;
    case JOB_APPEND:
    case JOB_SYNC:
    case JOB_ROTATE:
    case JOB_READY:
    case JOB_SYNCED:
    case JOB_INSTALL:
    case JOB_NOTE:
    case JOB_PREPARE:
    case JOB_FORGET:
    case JOB_QUIT:
        abort(); /* jobs of the writer */
        break;
    }
}

static void
tend(struct helper *h)
{
    uint64_t now_ms = disk_micros_now() / 1000;
    bool is_due = now_ms >= h->look_ms || atomic_load(&h->d->is_starved);
    if (is_failed(h) || h->is_quitting || !is_due)
        return;
    disk_reserve_tend(h->d, h->prepare != NULL);
    h->look_ms = now_ms + (atomic_load(&h->d->is_full) ? FULL_LOOK_MS : LOOK_MS);
}

static void
wait_for_mail(struct helper *h)
{
    uint64_t wait_ms = atomic_load(&h->d->is_full) ? FULL_LOOK_MS : LOOK_MS;
    if (h->first == NULL)
        (void)disk_wait_bell(&h->d->helper, is_failed(h) ? 0 : wait_ms);
}

static void
drop_all(struct disk_job *job)
{
    struct disk_job *next;
    for (; job != NULL; job = next) {
        next = (struct disk_job *)job->mail.next;
        disk_job_free(job);
    }
}

void *
disk_helper_run(void *ctx)
{
    struct helper *h = mem_calloc(1, sizeof *h);
    h->d = ctx;
    h->last = &h->first;
    h->local = image_writer_new(h->d, false);
    h->incoming = image_writer_new(h->d, true);
    while (!h->is_quitting) {
        wait_for_mail(h);
        take_mail(h);
        make_segments(h);
        tend(h);
        struct disk_job *job = h->first;
        if (job == NULL || h->is_quitting)
            continue;
        h->first = (struct disk_job *)job->mail.next;
        if (h->first == NULL)
            h->last = &h->first;
        if (!is_failed(h))
            run_job(h, job);
        disk_job_free(job);
    }
    image_writer_free(h->local);
    image_writer_free(h->incoming);
    drop_all(h->first);
    drop_all(h->prepare);
    mem_free(h);
    return NULL;
}
