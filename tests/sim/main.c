/* The simulator's command line: many seeds, each in a process of its own. */
#include "sim.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX 64
#define CPU_SECS 120 /* of one seed */

static const char *const mutant_names[MUTANT_COUNT] = {
    [MUTANT_NONE] = "none",   [MUTANT_SYNC] = "sync", [MUTANT_VOTE] = "vote",
    [MUTANT_APPLY] = "apply", [MUTANT_GATE] = "gate", [MUTANT_FROZEN] = "frozen",
    [MUTANT_ACK] = "ack",     [MUTANT_BUMP] = "bump", [MUTANT_TERM] = "term",
    [MUTANT_STALE] = "stale", [MUTANT_G1] = "g1",     [MUTANT_G4] = "g4",
    [MUTANT_R8] = "r8",
};

struct settings {
    struct sim_options options;
    uint64_t from;
    uint64_t seeds;
    uint64_t minutes;
    uint64_t jobs;
    bool has_seeds;
    bool is_single; /* --seed: in this process */
    bool is_both;   /* modes */
    bool wants_trace;
};

struct job {
    pid_t pid; /* 0: free */
    int fd;
    uint64_t seed;
    char text[8192];
    size_t size;
};

struct run {
    const struct settings *settings;
    const char *program;
    struct job jobs[JOBS_MAX];
    uint64_t next;
    uint64_t passed;
    uint64_t failed;
    uint64_t first_failed; /* how many seeds until then */
    uint64_t end_secs;
    struct sim_counts total;
};

static void
usage(void)
{
    (void)fprintf(
        stderr,
        "usage: holdfast-sim [--seeds N] [--from S] [--minutes M] [--nodes 1|3|5]\n"
        "                    [--mode kills|chaos|both] [--duration-ms D]\n"
        "                    [--mutant sync|vote|apply|gate|frozen] [--jobs N]\n"
        "                    [--seed S] [--verbose] [--trace]\n");
    exit(2);
}

static uint64_t
number(const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        usage();
    return value;
}

static void
set_mode(struct settings *t, const char *name)
{
    t->is_both = strcmp(name, "both") == 0;
    if (strcmp(name, "kills") == 0)
        t->options.mode = MODE_KILLS;
    else if (strcmp(name, "chaos") == 0)
        t->options.mode = MODE_CHAOS;
    else if (!t->is_both)
        usage();
}

static void
set_mutant(struct settings *t, const char *name)
{
    for (int i = 0; i < MUTANT_COUNT; i++)
        if (strcmp(name, mutant_names[i]) == 0) {
            t->options.mutant = (enum sim_mutant)i;
            return;
        }
    usage();
}

static void
set_value(struct settings *t, const char *name, const char *value)
{
    if (strcmp(name, "--mode") == 0) {
        set_mode(t, value);
    } else if (strcmp(name, "--mutant") == 0) {
        set_mutant(t, value);
    } else if (strcmp(name, "--seeds") == 0) {
        t->seeds = number(value);
        t->has_seeds = true;
    } else if (strcmp(name, "--seed") == 0) {
        t->from = number(value);
        t->is_single = true;
    } else if (strcmp(name, "--from") == 0) {
        t->from = number(value);
    } else if (strcmp(name, "--minutes") == 0) {
        t->minutes = number(value);
    } else if (strcmp(name, "--nodes") == 0) {
        t->options.nodes = number(value);
    } else if (strcmp(name, "--duration-ms") == 0) {
        t->options.duration_ms = number(value);
    } else if (strcmp(name, "--jobs") == 0) {
        t->jobs = number(value);
    } else {
        usage();
    }
}

static void
parse(struct settings *t, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            t->options.is_verbose = true;
        else if (strcmp(argv[i], "--trace") == 0)
            t->wants_trace = true;
        else if (i + 1 < argc)
            set_value(t, argv[i], argv[i + 1]), i++;
        else
            usage();
    }
    if (t->options.nodes == 0 || t->options.nodes > SIM_NODES_MAX)
        usage();
    if (t->options.mutant != MUTANT_NONE && !t->has_seeds)
        t->seeds = 5000;
    else if (t->minutes > 0 && !t->has_seeds)
        t->seeds = UINT64_MAX - t->from;
    if (t->jobs == 0 || t->jobs > JOBS_MAX)
        t->jobs = 1;
}

static enum sim_mode
mode_of(const struct settings *t, uint64_t seed)
{
    if (t->is_both)
        return seed % 2 == 0 ? MODE_KILLS : MODE_CHAOS;
    return t->options.mode;
}

static void
run_one(const struct settings *t, uint64_t seed, struct sim_result *ret_result)
{
    struct sim_options options = t->options;
    options.seed = seed;
    options.mode = mode_of(t, seed);
    sim_run(&options, ret_result);
}

static void
print_counts(const struct sim_counts *c)
{
    (void)printf("elections %llu, reigns %llu, kills %llu, machine crashes %llu, "
                 "pauses %llu, cuts "
                 "%llu, stalls %llu, transfers %llu, jumps %llu, client cuts %llu\n",
                 (unsigned long long)c->elections, (unsigned long long)c->reigns,
                 (unsigned long long)c->kills, (unsigned long long)c->crashes,
                 (unsigned long long)c->pauses, (unsigned long long)c->cuts,
                 (unsigned long long)c->stalls, (unsigned long long)c->transfers,
                 (unsigned long long)c->jumps, (unsigned long long)c->client_cuts);
    (void)printf(
        "freezes %llu, snapshots %llu, installs %llu, fatal errors %llu, wipes "
        "%llu\n",
        (unsigned long long)c->freezes, (unsigned long long)c->snapshots,
        (unsigned long long)c->installs, (unsigned long long)c->fatals,
        (unsigned long long)c->wipes);
    (void)printf(
        "confirmed: durability 0 %llu, 1 %llu, 2 %llu; settled %llu; deliveries %llu; "
        "resumed %llu, refused %llu; reads %llu of %llu commands\n",
        (unsigned long long)c->published[0], (unsigned long long)c->published[1],
        (unsigned long long)c->published[2], (unsigned long long)c->settled,
        (unsigned long long)c->delivered, (unsigned long long)c->resumed,
        (unsigned long long)c->resumes_refused, (unsigned long long)c->reads,
        (unsigned long long)c->admin);
}

static void
add_counts(struct sim_counts *total, const struct sim_counts *one)
{
    uint64_t *to = (uint64_t *)(void *)total;
    const uint64_t *from = (const uint64_t *)(const void *)one;
    for (size_t i = 0; i < sizeof *total / sizeof *to; i++)
        to[i] += from[i];
}

/* --- one seed in a process of its own --- */

static void
child(const struct settings *t, uint64_t seed, int fd)
{
    struct rlimit limit = {CPU_SECS, CPU_SECS};
    struct rlimit no_core = {0, 0};
    struct sim_result result = {0};
    (void)setrlimit(RLIMIT_CPU, &limit);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)dup2(fd, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    run_one(t, seed, &result);
    (void)fflush(stdout);
    if (write(fd, &result.counts, sizeof result.counts) != sizeof result.counts)
        _exit(4);
    _exit(0);
}

static void
start(struct run *run, struct job *job)
{
    int ends[2];
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(2);
    }
    job->seed = run->next++;
    job->size = 0;
    (void)fflush(stdout);
    job->pid = fork();
    if (job->pid < 0) {
        perror("fork");
        exit(2);
    }
    if (job->pid == 0) {
        (void)close(ends[0]);
        child(run->settings, job->seed, ends[1]);
    }
    (void)close(ends[1]);
    job->fd = ends[0];
}

static void
print_failure(const struct run *run, const struct job *job, int status)
{
    const struct settings *t = run->settings;
    (void)printf("FAIL seed %llu:", (unsigned long long)job->seed);
    if (WIFSIGNALED(status))
        (void)printf(" signal %d%s", WTERMSIG(status),
                     WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL
                         ? " (too much CPU time)"
                         : "");
    (void)printf("\n%.*s", (int)job->size, job->text);
    (void)printf("rerun: %s --seed %llu --mode %s --nodes %llu --duration-ms %llu%s%s "
                 "--verbose\n",
                 run->program, (unsigned long long)job->seed,
                 mode_of(t, job->seed) == MODE_KILLS ? "kills" : "chaos",
                 (unsigned long long)t->options.nodes,
                 (unsigned long long)t->options.duration_ms,
                 t->options.mutant == MUTANT_NONE ? "" : " --mutant ",
                 t->options.mutant == MUTANT_NONE ? ""
                                                  : mutant_names[t->options.mutant]);
    (void)fflush(stdout);
}

static void
finish(struct run *run, struct job *job)
{
    int status = 0;
    struct sim_counts counts;
    (void)close(job->fd);
    while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
        ;
    job->pid = 0;
    if (status == 0 && job->size >= sizeof counts) {
        memcpy(&counts, job->text + job->size - sizeof counts, sizeof counts);
        add_counts(&run->total, &counts);
        run->passed++;
        return;
    }
    if (run->failed++ == 0)
        run->first_failed = job->seed - run->settings->from + 1;
    if (run->settings->options.mutant == MUTANT_NONE || run->failed == 1)
        print_failure(run, job, status);
}

/* Keeps the last bytes: the reason, or the counts. */
static void
take_output(struct run *run, struct job *job)
{
    char piece[4096];
    ssize_t size = read(job->fd, piece, sizeof piece);
    if (size <= 0) {
        finish(run, job);
        return;
    }
    size_t count = (size_t)size;
    if (job->size + count > sizeof job->text) {
        size_t keep = sizeof job->text / 2;
        memmove(job->text, job->text + job->size - keep, keep);
        job->size = keep;
    }
    memcpy(job->text + job->size, piece, count);
    job->size += count;
}

static uint64_t
now_secs(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec;
}

static bool
has_more(const struct run *run)
{
    const struct settings *t = run->settings;
    if (t->options.mutant != MUTANT_NONE && run->failed > 0)
        return false;
    if (run->end_secs != 0 && now_secs() >= run->end_secs)
        return false;
    return run->next - t->from < t->seeds;
}

static void
run_all(struct run *run)
{
    struct pollfd fds[JOBS_MAX];
    for (;;) { /* bound: the seeds */
        nfds_t count = 0;
        for (uint64_t i = 0; i < run->settings->jobs; i++) {
            struct job *job = &run->jobs[i];
            if (job->pid == 0 && has_more(run))
                start(run, job);
            if (job->pid != 0)
                fds[count++] = (struct pollfd){.fd = job->fd, .events = POLLIN};
        }
        if (count == 0)
            return;
        (void)poll(fds, count, -1);
        for (uint64_t i = 0; i < run->settings->jobs; i++)
            for (nfds_t j = 0; j < count; j++)
                if (run->jobs[i].pid != 0 && run->jobs[i].fd == fds[j].fd &&
                    fds[j].revents != 0) {
                    fds[j].revents = 0;
                    take_output(run, &run->jobs[i]);
                }
    }
}

static int
run_single(const struct settings *t)
{
    struct sim_result result = {0};
    run_one(t, t->from, &result);
    print_counts(&result.counts);
    if (t->wants_trace)
        (void)printf("trace %016llx of %llu events\n", (unsigned long long)result.trace,
                     (unsigned long long)result.events);
    (void)printf("1 passed, 0 failed\n");
    return 0;
}

static int
report(const struct run *run)
{
    const struct settings *t = run->settings;
    if (t->options.mutant != MUTANT_NONE) {
        const char *name = mutant_names[t->options.mutant];
        if (run->failed > 0)
            (void)printf("mutant %s: caught after %llu seeds\n1 passed, 0 failed\n",
                         name, (unsigned long long)run->first_failed);
        else
            (void)printf("mutant %s: not caught by %llu seeds\n0 passed, 1 failed\n",
                         name, (unsigned long long)run->passed);
        return run->failed > 0 ? 0 : 1;
    }
    double secs = (double)(t->options.duration_ms + SIM_QUIET_US / 1000) / 1000.0;
    (void)printf("simulated %.1f hours of %llu nodes\n",
                 secs * (double)run->passed / 3600.0,
                 (unsigned long long)t->options.nodes);
    print_counts(&run->total);
    (void)printf("%llu passed, %llu failed\n", (unsigned long long)run->passed,
                 (unsigned long long)run->failed);
    return run->failed > 0 ? 1 : 0;
}

int
main(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct settings t = {
        .options = {.nodes = 3, .duration_ms = 10000},
        .from = 1,
        .seeds = 200,
        .jobs = cores > 0 ? (uint64_t)cores : 1,
        .is_both = true,
    };
    static struct run run;
    parse(&t, argc, argv);
    if (t.is_single)
        return run_single(&t);
    run.settings = &t;
    run.program = argv[0];
    run.next = t.from;
    run.end_secs = t.minutes > 0 ? now_secs() + t.minutes * 60 : 0;
    run_all(&run);
    return report(&run);
}
