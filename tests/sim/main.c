/* The simulator's command line. */
#include "base/mem.h"
#include "runner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
usage(void)
{
    (void)fputs(
        "usage: holdfast-sim [--seeds N] [--from S] [--minutes M] [--jobs N]\n"
        "                    [--mode kills|chaos|both] [--nodes 1|3|5|mixed]\n"
        "                    [--members on|off|mixed] [--duration-ms D]\n"
        "                    [--mutant NAME] [--no-shrink]\n"
        "       holdfast-sim --seed S [--world W] [--plan PLAN] [--mode ..] [..]\n"
        "                    [--brief|--verbose|--frames] [--shrink] [--digest]\n"
        "       holdfast-sim --mutants [--seeds N] [--jobs N]\n"
        "       holdfast-sim --print-plan --seed S [..]\n",
        stderr);
    exit(2);
}

enum action { ACTION_MANY, ACTION_SINGLE, ACTION_MUTANTS, ACTION_PLAN, ACTION_SHRINK };

struct command {
    struct run_settings run;
    enum action action;
    bool has_seeds;
    bool wants_digest;
    struct plan plan;
};

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
set_mode(struct run_settings *t, const char *name)
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
set_members(struct run_settings *t, const char *name)
{
    t->is_mixed = strcmp(name, "mixed") == 0;
    t->options.has_members = strcmp(name, "on") == 0;
    if (!t->is_mixed && !t->options.has_members && strcmp(name, "off") != 0)
        usage();
}

static void
set_plan(struct command *c, const char *text)
{
    const char *wrong = NULL;
    if (!plan_parse(text, &c->plan, &wrong)) {
        (void)fprintf(stderr, "not a plan, from here on: %s\n", wrong);
        exit(2);
    }
    c->run.options.plan = &c->plan;
}

static void
set_value(struct command *c, const char *name, const char *value)
{
    struct run_settings *t = &c->run;
    if (strcmp(name, "--mode") == 0) {
        set_mode(t, value);
    } else if (strcmp(name, "--members") == 0) {
        set_members(t, value);
    } else if (strcmp(name, "--plan") == 0) {
        set_plan(c, value);
    } else if (strcmp(name, "--mutant") == 0) {
        t->options.mutant = mutant_find(value);
        if (t->options.mutant == NULL)
            usage();
    } else if (strcmp(name, "--seeds") == 0) {
        t->seeds = number(value);
        c->has_seeds = true;
    } else if (strcmp(name, "--seed") == 0) {
        t->from = number(value);
        if (c->action == ACTION_MANY)
            c->action = ACTION_SINGLE;
    } else if (strcmp(name, "--world") == 0) {
        t->options.world = number(value);
        t->is_world_fixed = true;
    } else if (strcmp(name, "--from") == 0) {
        t->from = number(value);
    } else if (strcmp(name, "--minutes") == 0) {
        t->minutes = number(value);
    } else if (strcmp(name, "--nodes") == 0) {
        t->options.nodes = strcmp(value, "mixed") == 0 ? 0 : number(value);
    } else if (strcmp(name, "--duration-ms") == 0) {
        t->options.duration_ms = number(value);
    } else if (strcmp(name, "--jobs") == 0) {
        t->jobs = number(value);
    } else {
        usage();
    }
}

/* True: it has no value. */
static bool
set_flag(struct command *c, const char *name)
{
    if (strcmp(name, "--verbose") == 0)
        c->run.options.detail = DETAIL_ALL;
    else if (strcmp(name, "--brief") == 0)
        c->run.options.detail = DETAIL_NODES;
    else if (strcmp(name, "--frames") == 0)
        c->run.options.detail = DETAIL_FRAMES;
    else if (strcmp(name, "--digest") == 0)
        c->wants_digest = true;
    else if (strcmp(name, "--mutants") == 0)
        c->action = ACTION_MUTANTS;
    else if (strcmp(name, "--print-plan") == 0)
        c->action = ACTION_PLAN;
    else if (strcmp(name, "--shrink") == 0)
        c->action = ACTION_SHRINK;
    else if (strcmp(name, "--no-shrink") == 0)
        c->run.wants_shrink = false;
    else
        return false;
    return true;
}

static void
parse(struct command *c, int argc, char **argv)
{
    struct run_settings *t = &c->run;
    for (int i = 1; i < argc; i++) {
        if (set_flag(c, argv[i]))
            continue;
        if (i + 1 == argc)
            usage();
        set_value(c, argv[i], argv[i + 1]);
        i++;
    }
    if (t->options.nodes > SIM_NODES_MAX || t->options.nodes == 2)
        usage();
    if (t->options.mutant != NULL && !c->has_seeds)
        t->seeds = 2000;
    else if (t->minutes > 0 && !c->has_seeds)
        t->seeds = UINT64_MAX - t->from;
    if (t->jobs == 0 || t->jobs > RUN_JOBS_MAX)
        t->jobs = 1;
}

/* --- what came of it --- */

static void
print_faults(const struct sim_counts *c)
{
    const char *comma = "";
    (void)printf("faults: ");
    for (int i = 0; i < FAULT_KIND_COUNT; i++) {
        if (i == FAULT_MARK || c->faults[i] == 0)
            continue;
        (void)printf("%s%s %llu", comma, fault_name((enum fault_kind)i),
                     (unsigned long long)c->faults[i]);
        comma = ", ";
    }
    (void)printf("; %llu by triggers, %llu passed over\n",
                 (unsigned long long)c->triggered, (unsigned long long)c->passed_over);
}

static void
print_counts(const struct sim_counts *c)
{
    (void)printf("nodes: elections %llu, reigns %llu, freezes %llu, gates opened %llu, "
                 "torn tails %llu, rejoined blank %llu, member changes %llu, snapshots "
                 "%llu (refused %llu), installs %llu, fatal errors %llu\n",
                 (unsigned long long)c->elections, (unsigned long long)c->reigns,
                 (unsigned long long)c->freezes, (unsigned long long)c->gates,
                 (unsigned long long)c->torn, (unsigned long long)c->rejoins,
                 (unsigned long long)c->members, (unsigned long long)c->snapshots,
                 (unsigned long long)c->snapshots_refused,
                 (unsigned long long)c->installs, (unsigned long long)c->fatals);
    (void)printf("clients: confirmed of durability 0 %llu, 1 %llu, 2 %llu; no room "
                 "%llu; settled %llu; deliveries %llu; resumed %llu (refused %llu); "
                 "commands %llu "
                 "(reads %llu); redriven %llu; copies %llu (delivered %llu)\n",
                 (unsigned long long)c->published[0],
                 (unsigned long long)c->published[1],
                 (unsigned long long)c->published[2], (unsigned long long)c->no_room,
                 (unsigned long long)c->settled, (unsigned long long)c->delivered,
                 (unsigned long long)c->resumed, (unsigned long long)c->resumes_refused,
                 (unsigned long long)c->admin, (unsigned long long)c->reads,
                 (unsigned long long)c->redriven, (unsigned long long)c->copies,
                 (unsigned long long)c->copies_delivered);
    print_faults(c);
}

static int
do_single(const struct command *c)
{
    struct sim_options options;
    struct sim_result result = {0};
    run_options(&c->run, c->run.from, &options);
    sim_run(&options, &result);
    print_counts(&result.counts);
    if (c->wants_digest)
        (void)printf("trace %016llx of %llu events\n", (unsigned long long)result.trace,
                     (unsigned long long)result.events);
    (void)printf("1 passed, 0 failed\n");
    return 0;
}

static int
do_many(const struct run_settings *t)
{
    struct run_total total;
    run_many(t, &total);
    print_counts(&total.counts);
    (void)printf(
        "seeds %llu to %llu: %.1f simulated hours, %llu entries committed, %llu "
        "events; %llu seeds run twice, with the same trace\n",
        (unsigned long long)t->from,
        (unsigned long long)(t->from + total.passed + total.failed - 1),
        (double)total.counts.virtual_ms / 3600000.0,
        (unsigned long long)total.counts.entries,
        (unsigned long long)total.counts.events, (unsigned long long)total.repeated);
    (void)printf("%llu passed, %llu failed\n", (unsigned long long)total.passed,
                 (unsigned long long)total.failed);
    return total.failed > 0 || total.passed == 0 ? 1 : 0;
}

static bool
find_mutant(struct command *c, const struct mutant *m)
{
    struct run_settings t = c->run;
    struct run_total total;
    t.options.mutant = m;
    if (m->needs_members) {
        t.is_mixed = false;
        t.options.has_members = true;
    }
    if (m->needs_chaos) {
        t.is_both = false;
        t.options.mode = MODE_CHAOS;
    }
    if (m->plan != NULL) {
        set_plan(c, m->plan);
        t.options.plan = &c->plan;
        t.options.nodes = 3;
    }
    run_many(&t, &total);
    if (total.failed > 0)
        (void)printf("mutant %-7s found by %s %4llu: %s; %s\n", m->name,
                     m->plan == NULL ? "seed" : "its plan in world",
                     (unsigned long long)total.first_failed, m->what, total.first_why);
    else
        (void)printf("mutant %-7s NOT found by %llu seeds: %s\n", m->name,
                     (unsigned long long)total.passed, m->what);
    (void)fflush(stdout);
    return total.failed > 0;
}

static int
do_mutant(struct command *c)
{
    bool is_found = find_mutant(c, c->run.options.mutant);
    (void)printf("%d passed, %d failed\n", is_found, !is_found);
    return is_found ? 0 : 1;
}

static int
do_mutants(struct command *c)
{
    uint64_t found = 0;
    if (!c->has_seeds)
        c->run.seeds = 1500;
    for (size_t i = 0; i < mutant_count(); i++)
        found += find_mutant(c, mutant_at(i));
    (void)printf("%llu passed, %llu failed\n", (unsigned long long)found,
                 (unsigned long long)(mutant_count() - found));
    return found == mutant_count() ? 0 : 1;
}

static int
do_plan(const struct command *c)
{
    struct sim_options options;
    run_options(&c->run, c->run.from, &options);
    struct plan *plan = mem_calloc(1, sizeof *plan);
    run_plan(&options, plan);
    char *text = plan_print(plan);
    (void)printf("%s\n", text);
    mem_free(text);
    mem_free(plan);
    return 0;
}

int
main(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    static struct command c;
    c.run = (struct run_settings){
        .program = argv[0],
        .options = {.duration_ms = 10000},
        .from = 1,
        .seeds = 200,
        .jobs = cores > 0 ? (uint64_t)cores : 1,
        .is_both = true,
        .is_mixed = true,
        .wants_shrink = true,
    };
    parse(&c, argc, argv);
    switch (c.action) {
    case ACTION_SINGLE:
        return do_single(&c);
    case ACTION_MUTANTS:
        return do_mutants(&c);
    case ACTION_PLAN:
        return do_plan(&c);
    case ACTION_SHRINK:
        run_options(&c.run, c.run.from, &c.run.options);
        shrink(&c.run, &c.run.options);
        return 0;
    case ACTION_MANY:
        break;
    }
    return c.run.options.mutant != NULL ? do_mutant(&c) : do_many(&c.run);
}
