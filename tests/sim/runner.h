/* Runner: worlds in processes of their own, one or many at a time. */
#ifndef HF_SIM_RUNNER_H
#define HF_SIM_RUNNER_H

#include "sim.h"

#define RUN_TEXT_BYTES 16384
#define RUN_JOBS_MAX   64

/* Which runs: what is not fixed depends on the seed. */
struct run_settings {
    const char *program;
    struct sim_options options; /* seed, world, nodes 0: by the seed */
    uint64_t from;
    uint64_t seeds;
    uint64_t minutes; /* 0: no limit */
    uint64_t jobs;
    bool is_both;        /* modes */
    bool is_mixed;       /* has_members */
    bool is_world_fixed; /* options.world is */
    bool is_seed_fixed;  /* options.seed is, and the numbers are worlds */
    bool wants_shrink;
};

struct run_outcome {
    bool is_good;
    int status;                /* of the process, as by waitpid() */
    struct sim_result result;  /* when good */
    char text[RUN_TEXT_BYTES]; /* else the last that it said */
};

/* All that a number of the range says. */
void run_options(const struct run_settings *t,
                 uint64_t number,
                 struct sim_options *ret_options);
/* The plan that it follows. */
void run_plan(const struct sim_options *options, struct plan *ret_plan);
/* Runs it in a process of its own, to the end. */
void run_one(const struct sim_options *options, struct run_outcome *ret_outcome);
/* In words: why it was not good. */
void run_why(const struct run_outcome *outcome, char *out, size_t size);
/* The command that runs it again. plan: printed when it is not the seed's own. */
void run_command(const struct run_settings *t, const struct sim_options *options);

struct run_total {
    uint64_t passed;
    uint64_t failed;
    uint64_t repeated;     /* runs done twice, with the same trace */
    uint64_t first_failed; /* how many until then */
    char first_why[200];
    struct sim_counts counts;
};
/* All of the range; with a mutant only until one fails. Prints what fails. */
void run_many(const struct run_settings *t, struct run_total *ret_total);

/* shrink.c: the smallest plan that it finds and that still fails in the same way;
 * prints it. */
void shrink(const struct run_settings *t, const struct sim_options *options);

#endif
