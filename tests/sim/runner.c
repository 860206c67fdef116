/* Runner: see the header. A run's process writes what it has to say, and at the end of
 * a good one its result, into a pipe. */
#include "runner.h"

#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CPU_SECS     120 /* of one run */
#define REPEAT_EVERY 64  /* every so often a run is done twice */

struct job {
    pid_t pid; /* 0: free */
    int fd;
    uint64_t number;
    bool is_again; /* the second time: the trace must be the same */
    uint64_t trace;
    size_t size;
    struct run_outcome outcome;
};

struct pool {
    const struct run_settings *settings;
    struct job *jobs;
    struct run_total *total;
    uint64_t next;
    uint64_t end_secs; /* 0: no limit */
};

/* --- what a number says --- */

void
run_plan(const struct sim_options *o, struct plan *ret_plan)
{
    const struct plan_options options = {
        .seed = o->seed,
        .duration_ms = o->duration_ms,
        .nodes = o->nodes,
        .has_members = o->has_members,
        .is_chaos = o->mode == MODE_CHAOS,
    };
    if (o->plan != NULL)
        *ret_plan = *o->plan;
    else
        plan_make(&options, ret_plan);
}

void
run_options(const struct run_settings *t,
            uint64_t number,
            struct sim_options *ret_options)
{
    struct sim_options o = t->options;
    uint64_t x = number / 2 % 20;
    if (!t->is_seed_fixed)
        o.seed = number;
    if (!t->is_world_fixed)
        o.world = number;
    if (o.nodes == 0)
        o.nodes = x == 7 ? 1 : x == 3 || x == 13 ? 5 : 3;
    if (t->is_mixed)
        o.has_members = o.nodes > 1 && x % 5 < 2;
    if (t->is_both)
        o.mode = number % 2 == 0 ? MODE_KILLS : MODE_CHAOS;
    *ret_options = o;
}

void
run_command(const struct run_settings *t, const struct sim_options *o)
{
    (void)printf("%s --seed %llu --world %llu --mode %s --nodes %llu --members %s "
                 "--duration-ms %llu",
                 t->program, (unsigned long long)o->seed, (unsigned long long)o->world,
                 o->mode == MODE_KILLS ? "kills" : "chaos",
                 (unsigned long long)o->nodes, o->has_members ? "on" : "off",
                 (unsigned long long)o->duration_ms);
    if (o->mutant != NULL)
        (void)printf(" --mutant %s", o->mutant->name);
    if (o->plan != NULL) {
        char *text = plan_print(o->plan);
        (void)printf(" --plan '%s'", text);
        mem_free(text);
    }
    (void)printf(" --verbose\n");
}

void
run_why(const struct run_outcome *outcome, char *out, size_t size)
{
    const char *found = strstr(outcome->text, "VIOLATION");
    const char *claim = strstr(outcome->text, "Assertion");
    if (found == NULL)
        found = claim;
    int length = found == NULL ? 0 : (int)strcspn(found, "\n");
    if (found != NULL)
        (void)snprintf(out, size, "%.*s", length, found);
    else if (WIFSIGNALED(outcome->status))
        (void)snprintf(out, size, "signal %d", WTERMSIG(outcome->status));
    else
        (void)snprintf(out, size, "exit status %d", WEXITSTATUS(outcome->status));
}

/* --- a process --- */

static void
child(const struct sim_options *options, int fd)
{
    struct rlimit limit = {CPU_SECS, CPU_SECS};
    struct rlimit no_core = {0, 0};
    struct sim_result result = {0};
    (void)setrlimit(RLIMIT_CPU, &limit);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)dup2(fd, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    sim_run(options, &result);
    (void)fflush(stdout);
    if (write(fd, &result, sizeof result) != (ssize_t)sizeof result)
        _exit(4);
    _exit(0);
}

static void
start(struct job *job, const struct sim_options *options)
{
    int ends[2];
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(2);
    }
    job->size = 0;
    (void)fflush(stdout);
    job->pid = fork();
    if (job->pid < 0) {
        perror("fork");
        exit(2);
    }
    if (job->pid == 0) {
        (void)close(ends[0]);
        child(options, ends[1]);
    }
    (void)close(ends[1]);
    job->fd = ends[0];
}

static void
finish(struct job *job)
{
    struct run_outcome *o = &job->outcome;
    (void)close(job->fd);
    while (waitpid(job->pid, &o->status, 0) < 0 && errno == EINTR)
        ;
    job->pid = 0;
    o->is_good = o->status == 0 && job->size >= sizeof o->result;
    if (o->is_good)
        memcpy(&o->result, o->text + job->size - sizeof o->result, sizeof o->result);
    o->text[job->size] = '\0';
}

/* Keeps the last bytes. True at the end. */
static bool
take_output(struct job *job)
{
    char piece[4096];
    char *text = job->outcome.text;
    ssize_t size = read(job->fd, piece, sizeof piece);
    if (size <= 0) {
        finish(job);
        return true;
    }
    size_t count = (size_t)size;
    if (job->size + count >= RUN_TEXT_BYTES) {
        size_t keep = RUN_TEXT_BYTES / 2;
        memmove(text, text + job->size - keep, keep);
        job->size = keep;
    }
    memcpy(text + job->size, piece, count);
    job->size += count;
    return false;
}

void
run_one(const struct sim_options *options, struct run_outcome *ret_outcome)
{
    struct job *job = mem_calloc(1, sizeof *job);
    start(job, options);
    while (!take_output(job))
        ;
    *ret_outcome = job->outcome;
    mem_free(job);
}

/* --- many --- */

static void
add_counts(struct sim_counts *total, const struct sim_counts *one)
{
    uint64_t *to = (uint64_t *)(void *)total;
    const uint64_t *from = (const uint64_t *)(const void *)one;
    for (size_t i = 0; i < sizeof *total / sizeof *to; i++)
        to[i] += from[i];
}

static void
print_failure(const struct run_settings *t, const struct job *job, const char *why)
{
    struct sim_options options;
    run_options(t, job->number, &options);
    (void)printf("FAIL seed %llu: %s\n", (unsigned long long)job->number, why);
    (void)printf("rerun: ");
    run_command(t, &options);
    if (t->wants_shrink && !job->is_again)
        shrink(t, &options);
    (void)fflush(stdout);
}

/* A plan that is printed can be read and is the same: what a report says can be
 * replayed. */
static bool
can_be_replayed(const struct sim_options *options)
{
    static struct plan plan;
    static struct plan again;
    const char *wrong;
    run_plan(options, &plan);
    char *text = plan_print(&plan);
    bool is_same = plan_parse(text, &again, &wrong);
    if (is_same) {
        char *text_again = plan_print(&again);
        is_same = strcmp(text, text_again) == 0;
        mem_free(text_again);
    }
    mem_free(text);
    return is_same;
}

static void
begin(struct pool *pool, struct job *job, uint64_t number, bool is_again)
{
    struct sim_options options;
    job->number = number;
    job->is_again = is_again;
    run_options(pool->settings, number, &options);
    if (options.plan == NULL && !can_be_replayed(&options)) {
        (void)fprintf(stderr, "the plan of seed %llu cannot be replayed\n",
                      (unsigned long long)options.seed);
        exit(2);
    }
    start(job, &options);
}

static void
account(struct pool *pool, struct job *job)
{
    const struct run_settings *t = pool->settings;
    struct run_total *total = pool->total;
    struct run_outcome *o = &job->outcome;
    char why[sizeof total->first_why];
    if (o->is_good && job->is_again && o->result.trace == job->trace) {
        total->repeated++;
        return;
    }
    if (o->is_good && !job->is_again) {
        add_counts(&total->counts, &o->result.counts);
        total->passed++;
        if ((job->number - t->from) % REPEAT_EVERY == 0 && t->options.mutant == NULL) {
            job->trace = o->result.trace;
            begin(pool, job, job->number, true);
        }
        return;
    }
    run_why(o, why, sizeof why);
    if (job->is_again)
        (void)snprintf(why, sizeof why, "the same seed has another trace");
    if (total->failed++ == 0) {
        total->first_failed = job->number - t->from + 1;
        memcpy(total->first_why, why, sizeof why);
    }
    if (t->options.mutant == NULL)
        print_failure(t, job, why);
}

static uint64_t
now_secs(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec;
}

static bool
has_more(const struct pool *pool)
{
    const struct run_settings *t = pool->settings;
    if (t->options.mutant != NULL && pool->total->failed > 0)
        return false;
    if (pool->end_secs != 0 && now_secs() >= pool->end_secs)
        return false;
    return pool->next - t->from < t->seeds;
}

static void
look(struct pool *pool, const struct pollfd *fds, nfds_t count)
{
    for (uint64_t i = 0; i < pool->settings->jobs; i++)
        for (nfds_t j = 0; j < count; j++)
            if (pool->jobs[i].pid != 0 && pool->jobs[i].fd == fds[j].fd &&
                fds[j].revents != 0 && take_output(&pool->jobs[i])) {
                account(pool, &pool->jobs[i]);
                break;
            }
}

void
run_many(const struct run_settings *t, struct run_total *ret_total)
{
    struct pollfd fds[RUN_JOBS_MAX];
    struct pool pool = {
        .settings = t,
        .jobs = mem_calloc(t->jobs, sizeof *pool.jobs),
        .total = ret_total,
        .next = t->from,
        .end_secs = t->minutes > 0 ? now_secs() + t->minutes * 60 : 0,
    };
    memset(ret_total, 0, sizeof *ret_total);
    for (;;) { /* bound: the seeds */
        nfds_t count = 0;
        for (uint64_t i = 0; i < t->jobs; i++) {
            struct job *job = &pool.jobs[i];
            if (job->pid == 0 && has_more(&pool))
                begin(&pool, job, pool.next++, false);
            if (job->pid != 0)
                fds[count++] = (struct pollfd){.fd = job->fd, .events = POLLIN};
        }
        if (count == 0)
            break;
        (void)poll(fds, count, -1);
        look(&pool, fds, count);
    }
    mem_free(pool.jobs);
}
