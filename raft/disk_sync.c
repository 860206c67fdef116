/* The syncer thread: one fdatasync at a time, so that the log can be written meanwhile.
 */
#include "raft/disk_int.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

uint64_t
disk_micros_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void
disk_begin_busy(struct disk *d, enum disk_busy who)
{
    atomic_store(&d->busy_since_us[who], disk_micros_now());
}

uint64_t
disk_end_busy(struct disk *d, enum disk_busy who)
{
    uint64_t took = disk_micros_now() - atomic_load(&d->busy_since_us[who]);
    uint64_t most = atomic_load(&d->busy_most_us);
    while (took > most && !atomic_compare_exchange_weak(&d->busy_most_us, &most, took))
        ; /* bound: two threads and the looks of the core */
    atomic_store(&d->busy_since_us[who], 0);
    return took;
}

void
disk_look_at_health(void *ctx, struct rlog_disk_health *ret_health)
{
    struct disk *d = ctx;
    uint64_t most = atomic_exchange(&d->busy_most_us, 0);
    for (int i = 0; i < DISK_BUSY_COUNT; i++) {
        uint64_t since = atomic_load(&d->busy_since_us[i]);
        uint64_t now = since == 0 ? 0 : disk_micros_now();
        if (now > since && now - since > most)
            most = now - since;
    }
    ret_health->is_full = atomic_load(&d->is_full);
    ret_health->busy_ms = most / 1000;
}

int
disk_timed_sync(struct disk *d, enum disk_busy who, int fd, uint64_t *ret_micros)
{
    disk_begin_busy(d, who);
    int rv = d->sys.fdatasync(fd);
    int error = errno;
    *ret_micros = disk_end_busy(d, who);
    errno = error;
    return rv;
}

static void
sync_one(struct disk *d, struct disk_job *job)
{
    uint64_t micros;
    if (atomic_load(&d->is_broken))
        return;
    if (disk_timed_sync(d, DISK_BUSY_SYNCER, job->fd, &micros) != 0) {
        disk_report_failure(d, "syncing the log", errno);
        return;
    }
    struct disk_done *done = disk_done_new(DONE_SYNCED);
    done->position = job->position;
    done->micros = micros;
    disk_report(d, done);
    struct disk_job *back = disk_job_new(JOB_SYNCED, 0);
    back->position = job->position;
    back->micros = micros;
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
