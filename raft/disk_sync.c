/* The syncer thread: one fdatasync at a time, so that the log can be written meanwhile.
 */
#include "raft/disk_int.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

static uint64_t
micros_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int
disk_timed_sync(struct disk *d, int fd, uint64_t *ret_micros)
{
    uint64_t from = micros_now();
    if (d->sys.fdatasync(fd) != 0)
        return -1;
    *ret_micros = micros_now() - from;
    return 0;
}

static void
sync_one(struct disk *d, struct disk_job *job)
{
    uint64_t micros;
    if (atomic_load(&d->is_broken))
        return;
    if (disk_timed_sync(d, job->fd, &micros) != 0) {
        disk_report_failure(d, "syncing the log", errno);
        return;
    }
    struct disk_done *done = disk_done_new(DONE_SYNCED);
    done->position = job->position;
    done->micros = micros;
    disk_report(d, done);
    struct disk_job *back = disk_job_new(JOB_SYNCED, 0);
    back->position = job->position;
    disk_post(&d->writer, back);
}

void *
disk_syncer_run(void *ctx)
{
    struct disk *d = ctx;
    bool is_quitting = false;
    while (!is_quitting) {
        while (sem_wait(&d->syncer.bell) != 0)
            assert(errno == EINTR);
        struct mail *next;
        for (struct mail *m = mailbox_take(&d->syncer.box); m != NULL; m = next) {
            struct disk_job *job = (struct disk_job *)m;
            next = m->next;
            if (job->kind == JOB_QUIT)
                is_quitting = true;
            else
                sync_one(d, job);
            disk_job_free(job);
        }
    }
    return NULL;
}
