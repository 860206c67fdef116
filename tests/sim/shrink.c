/* Shrinking: from a plan that fails to a small one that fails in the same way. Whole
 * parts of it are left out, halves, then quarters, at last single faults (ddmin); then
 * what is left is halved in time. Each try is run in a few worlds: what is left out
 * changes all that is drawn after it, and what fails may want another chance. */
#include "runner.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define WORLDS   4   /* for one try */
#define RUNS_MAX 600 /* for all */

struct shrinker {
    const struct run_settings *settings;
    struct sim_options options;
    struct plan plan; /* the smallest that fails, in options.world */
    struct plan tried;
    struct run_outcome outcome;
    char kind[64]; /* how it fails */
    int signal;
    uint32_t runs;
};

/* "VIOLATION at 12.3 ms: no-loss: .." is of the kind no-loss. */
static void
kind_of(const struct run_outcome *outcome, char *out, size_t size)
{
    char why[200];
    run_why(outcome, why, sizeof why);
    const char *from = strstr(why, " ms: ");
    from = from == NULL ? why : from + 5;
    (void)snprintf(out, size, "%.*s", (int)strcspn(from, ":0123456789"), from);
}

static bool
fails(struct shrinker *k)
{
    char kind[sizeof k->kind];
    struct sim_options options = k->options;
    options.plan = &k->tried;
    for (int i = 0; i < WORLDS && k->runs < RUNS_MAX; i++) {
        options.world = k->options.world + (uint64_t)i * 1000003;
        k->runs++;
        run_one(&options, &k->outcome);
        if (k->outcome.is_good)
            continue;
        kind_of(&k->outcome, kind, sizeof kind);
        if (strcmp(kind, k->kind) != 0)
            continue;
        k->options.world = options.world;
        k->plan = k->tried;
        return true;
    }
    return false;
}

/* All but [from, to). */
static bool
can_go(struct shrinker *k, uint32_t from, uint32_t to)
{
    k->tried = k->plan;
    memmove(&k->tried.faults[from], &k->tried.faults[to],
            (k->tried.count - to) * sizeof k->tried.faults[0]);
    k->tried.count -= to - from;
    return fails(k);
}

static void
leave_out(struct shrinker *k)
{
    uint32_t size = (k->plan.count + 1) / 2;
    while (size > 0 && k->plan.count > 0) {
        bool is_smaller = false;
        for (uint32_t from = 0; from < k->plan.count;) {
            uint32_t to = from + size < k->plan.count ? from + size : k->plan.count;
            if (can_go(k, from, to))
                is_smaller = true;
            else
                from = to;
        }
        if (!is_smaller)
            size /= 2;
        else if (size > k->plan.count)
            size = k->plan.count;
    }
}

/* Halves one number of a fault as often as it goes. */
static void
halve(struct shrinker *k, uint32_t i, int which)
{
    for (int left = 12; left > 0; left--) {
        k->tried = k->plan;
        struct fault *f = &k->tried.faults[i];
        if (which == 0 && f->length_ms > 1)
            f->length_ms /= 2;
        else if (which == 1 && (f->value > 1 || f->value < -1))
            f->value /= 2;
        else if (which == 2 && f->nth > 1)
            f->nth /= 2;
        else if (which == 3 && f->delay_ms > 0)
            f->delay_ms /= 2;
        else
            return;
        if (!fails(k))
            return;
    }
}

static void
shorten(struct shrinker *k)
{
    uint64_t last_ms = 0;
    for (uint32_t i = 0; i < k->plan.count; i++)
        for (int which = 0; which < 4; which++)
            halve(k, i, which);
    for (uint32_t i = 0; i < k->plan.count; i++)
        if (k->plan.faults[i].at_ms > last_ms)
            last_ms = k->plan.faults[i].at_ms;
    uint64_t old_ms = k->options.duration_ms;
    k->tried = k->plan;
    k->options.duration_ms = last_ms + 1500;
    if (k->options.duration_ms >= old_ms || !fails(k))
        k->options.duration_ms = old_ms;
}

static void
print_last_lines(const char *text, int lines)
{
    const char *at = text + strlen(text);
    while (at > text && lines > 0)
        lines -= *--at == '\n' && at[1] != '\0';
    (void)printf("%s", *at == '\n' ? at + 1 : at);
}

static void
report(struct shrinker *k)
{
    char line[160];
    (void)printf("the smallest plan found (%u runs):\n", k->runs);
    for (uint32_t i = 0; i < k->plan.count; i++) {
        fault_print(&k->plan.faults[i], line, sizeof line);
        (void)printf("    %s\n", line);
    }
    k->options.plan = &k->plan;
    k->options.detail = DETAIL_ALL;
    run_one(&k->options, &k->outcome);
    (void)printf("its last lines:\n");
    print_last_lines(k->outcome.text, 40);
    (void)printf("replay: ");
    run_command(k->settings, &k->options);
}

void
shrink(const struct run_settings *t, const struct sim_options *options)
{
    struct shrinker *k = mem_calloc(1, sizeof *k);
    k->settings = t;
    k->options = *options;
    run_plan(options, &k->plan);
    run_one(options, &k->outcome);
    if (k->outcome.is_good) {
        (void)printf("it passes: there is nothing to shrink\n");
    } else {
        kind_of(&k->outcome, k->kind, sizeof k->kind);
        leave_out(k);
        shorten(k);
        report(k);
    }
    mem_free(k);
}
