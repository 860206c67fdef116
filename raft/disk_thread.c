/* Mail between the threads of a disk, and their starting and stopping. */
#include "raft/disk_int.h"

#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct disk_job *
disk_job_new(enum disk_job_kind kind, uint32_t count)
{
    struct disk_job *job = mem_alloc(sizeof *job + count * sizeof job->records[0]);
    memset(job, 0, sizeof *job);
    job->kind = kind;
    job->count = count;
    job->fd = -1;
    return job;
}

void
disk_job_free(struct disk_job *job)
{
    if (job->kind == JOB_APPEND)
        for (uint32_t i = 0; i < job->count; i++)
            blob_put(job->records[i].blob);
    blob_put(job->one.blob);
    if (job->fd >= 0)
        close(job->fd);
    mem_free(job->meta);
    mem_free(job);
}

void
disk_post(struct disk_thread *t, struct disk_job *job)
{
    struct mail_chain chain = {0};
    mail_chain_add(&chain, &job->mail);
    if (mailbox_put(&t->box, &chain))
        sem_post(&t->bell);
}

bool
disk_wait_bell(struct disk_thread *t, uint64_t wait_ms)
{
    struct timespec until;
    if (wait_ms == 0) {
        while (sem_wait(&t->bell) != 0)
            assert(errno == EINTR);
        return true;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(wait_ms / 1000);
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (sem_clockwait(&t->bell, CLOCK_MONOTONIC, &until) == 0)
        return true;
    assert(errno == EINTR || errno == ETIMEDOUT);
    return false;
}

struct disk_done *
disk_done_new(enum disk_done_kind kind)
{
    struct disk_done *done = mem_calloc(1, sizeof *done);
    done->kind = kind;
    return done;
}

void
disk_report(struct disk *d, struct disk_done *done)
{
    struct mail_chain chain = {0};
    mail_chain_add(&chain, &done->mail);
    if (mailbox_put(&d->done, &chain) && d->bell != NULL)
        d->bell(d->bell_ctx);
}

void
disk_report_failure(struct disk *d, const char *what, int error)
{
    if (atomic_exchange(&d->is_broken, true))
        return; /* the first one is told */
    struct disk_done *done = disk_done_new(DONE_FAILED);
    done->why = disk_errno_status(error);
    snprintf(done->text, sizeof done->text, "%s: %s", what, strerror(error));
    disk_report(d, done);
}

static bool
start_thread(struct disk *d, struct disk_thread *t, void *(*run)(void *))
{
    sigset_t all;
    sigset_t old;
    mailbox_init(&t->box);
    if (sem_init(&t->bell, 0, 0) != 0)
        return false;
    /* Signals are the main thread's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    t->is_running = pthread_create(&t->thread, NULL, run, d) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!t->is_running)
        sem_destroy(&t->bell);
    return t->is_running;
}

bool
disk_start_threads(struct disk *d)
{
    return start_thread(d, &d->writer, disk_writer_run) &&
           start_thread(d, &d->helper, disk_helper_run) &&
           start_thread(d, &d->syncer, disk_syncer_run);
}

static void
free_mail(struct disk_thread *t)
{
    struct mail *next;
    for (struct mail *m = mailbox_take(&t->box); m != NULL; m = next) {
        next = m->next;
        disk_job_free((struct disk_job *)m);
    }
    sem_destroy(&t->bell);
}

void
disk_stop_threads(struct disk *d)
{
    struct disk_thread *threads[3] = {&d->writer, &d->helper, &d->syncer};
    for (int i = 0; i < 3; i++)
        if (threads[i]->is_running)
            disk_post(threads[i], disk_job_new(JOB_QUIT, 0));
    for (int i = 0; i < 3; i++)
        if (threads[i]->is_running)
            pthread_join(threads[i]->thread, NULL);
    /* One may have sent to another that was gone already. */
    for (int i = 0; i < 3; i++)
        if (threads[i]->is_running)
            free_mail(threads[i]);
    for (int i = 0; i < 3; i++)
        threads[i]->is_running = false;
}
