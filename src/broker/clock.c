/* Clock: see the header. The slew works in whole milliseconds: monotonic time is saved
 * up, and each CLOCK_SLEW_PARTS of it move cluster time by one, never more back than
 * this tick has moved it forward. */
#include "broker/clock.h"

#include <assert.h>
#include <string.h>

#define COUNT_MOST 0xfffu /* rand_a has 12 bits */

void
clock_init(struct clock *c,
           uint64_t seed,
           void (*random_cb)(void *ctx, void *out, size_t size),
           void *random_ctx)
{
    *c = (struct clock){
        .seed = seed,
        .random_cb = random_cb,
        .random_ctx = random_ctx,
    };
}

void
clock_start(struct clock *c, uint64_t now_ms, uint64_t time_ms, uint64_t floor_ms)
{
    c->mono_ms = now_ms;
    c->time_ms = c->before_ms = time_ms;
    c->slew_ms = 0;
    c->floor_ms = floor_ms;
    /* Ids of an earlier term that nobody was told may be far ahead of the floor. */
    c->last_ms = 0;
    c->last_count = 0;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint16_t
clock_behind_secs(uint64_t time_ms, uint64_t wall_ms)
{
    uint64_t behind_ms = wall_ms > time_ms ? wall_ms - time_ms : 0;
    return (uint16_t)least(behind_ms / 1000 + (behind_ms % 1000 != 0), UINT16_MAX);
}

void
clock_tick(struct clock *c, uint64_t now_ms, uint64_t wall_ms)
{
    uint64_t elapsed_ms = now_ms > c->mono_ms ? now_ms - c->mono_ms : 0;
    uint64_t time_ms = c->time_ms + elapsed_ms;
    c->mono_ms += elapsed_ms;
    c->before_ms = c->time_ms;
    c->slew_ms += elapsed_ms;
    uint64_t step_ms = c->slew_ms / CLOCK_SLEW_PARTS;
    if (wall_ms > time_ms) {
        step_ms = least(step_ms, wall_ms - time_ms);
        time_ms += step_ms;
    } else {
        step_ms = least(least(step_ms, time_ms - wall_ms), elapsed_ms);
        time_ms -= step_ms;
    }
    c->slew_ms -= step_ms * CLOCK_SLEW_PARTS;
    /* What was not needed is not kept for a later jump. */
    c->slew_ms = least(c->slew_ms, CLOCK_SLEW_PARTS);
    assert(time_ms >= c->time_ms);
    c->time_ms = time_ms;
    c->behind_secs = clock_behind_secs(time_ms, wall_ms);
}

uint64_t
clock_to_mono(const struct clock *c, uint64_t at_ms)
{
    if (at_ms <= c->time_ms)
        return c->mono_ms;
    uint64_t left_ms = at_ms - c->time_ms;
    left_ms -= left_ms / CLOCK_SLEW_PARTS; /* the slew may be helping */
    return left_ms > UINT64_MAX - c->mono_ms ? UINT64_MAX : c->mono_ms + left_ms;
}

static uint64_t
mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t
random_word(struct clock *c)
{
    if (c->random_left == 0) {
        if (c->random_cb != NULL) {
            c->random_cb(c->random_ctx, c->random, sizeof c->random);
        } else {
            for (unsigned i = 0; i < CLOCK_RANDOM_WORDS; i++)
                c->random[i] = mix(c->seed += UINT64_C(0x9e3779b97f4a7c15));
        }
        c->random_left = CLOCK_RANDOM_WORDS;
    }
    uint64_t *word = &c->random[--c->random_left];
    uint64_t value = *word;
    *word = 0; /* ids to come cannot be read from memory that was used */
    return value;
}

struct uuid
clock_message_id(struct clock *c)
{
    uint64_t ms = c->time_ms > c->floor_ms ? c->time_ms : c->floor_ms + 1;
    if (ms > c->last_ms) {
        c->last_ms = ms;
        c->last_count = 0;
    } else if (c->last_count < COUNT_MOST) {
        c->last_count++;
    } else {
        c->last_ms++;
        c->last_count = 0;
    }
    return uuid7_make(c->last_ms, c->last_count, random_word(c));
}

struct uuid
clock_session_id(struct clock *c)
{
    uint16_t high = (uint16_t)(random_word(c) & COUNT_MOST);
    return uuid7_make(c->time_ms, high, random_word(c));
}
