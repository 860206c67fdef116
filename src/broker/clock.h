/* Clock: cluster time and the ids made from it.
 *
 * Cluster time is the last stamp in the log plus this leader's monotonic time since.
 * The wall clock only slews it, by one part in two thousand: a jump of the wall clock
 * releases no delayed message early and ends no session.
 *
 * A message's id is a UUID version 7 whose ms is the cluster time, or more when needed:
 * above the floor of this term and never below the id before. Ids in the same ms count
 * in rand_a; the counter's overflow takes the next ms. Pure: time and random bytes come
 * in. */
#ifndef HF_BROKER_CLOCK_H
#define HF_BROKER_CLOCK_H

#include "base/uuid.h"

#define CLOCK_SLEW_PARTS   2000u /* ms of monotonic time for each ms of slew */
#define CLOCK_RANDOM_WORDS 64

struct clock {
    uint64_t mono_ms;     /* monotonic time of the last tick */
    uint64_t time_ms;     /* cluster time of the last tick */
    uint64_t before_ms;   /* and of the one before */
    uint16_t behind_secs; /* clock_behind_secs() of the last tick */
    uint64_t slew_ms;     /* monotonic time that may still be used for slewing */
    uint64_t floor_ms;    /* ids are above it */
    uint64_t last_ms;     /* of the last message id */
    uint16_t last_count;
    void (*random_cb)(void *ctx, void *out, size_t size);
    void *random_ctx;
    uint64_t seed; /* without random_cb */
    uint64_t random[CLOCK_RANDOM_WORDS];
    unsigned random_left;
};

/* random_cb NULL: numbers from seed (tests, the simulator). */
void clock_init(struct clock *c,
                uint64_t seed,
                void (*random_cb)(void *ctx, void *out, size_t size),
                void *random_ctx);
/* A term begins: cluster time is time_ms at monotonic now_ms. */
void clock_start(struct clock *c, uint64_t now_ms, uint64_t time_ms, uint64_t floor_ms);
/* By how much time_ms is behind, in s rounded up, at most 65535. */
uint16_t clock_behind_secs(uint64_t time_ms, uint64_t wall_ms);
/* Neither time goes back, whatever comes in. */
void clock_tick(struct clock *c, uint64_t now_ms, uint64_t wall_ms);
/* Monotonic time at which cluster time is at_ms, at least now; may be a little early.
 */
uint64_t clock_to_mono(const struct clock *c, uint64_t at_ms);

/* Above every id made before, and 62 random bits. */
struct uuid clock_message_id(struct clock *c);
/* 74 random bits. */
struct uuid clock_session_id(struct clock *c);

#endif
