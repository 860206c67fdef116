/* Plans made from a seed: single faults with weights that each seed has of its own
 * (some kinds do not happen at all), and scripts of several that look for one weakness.
 */
#include "plan.h"

#include <string.h>

struct maker {
    const struct plan_options *options;
    struct plan *plan;
    uint64_t random;
    uint64_t now_ms;
};

static uint64_t
draw(struct maker *k)
{
    uint64_t z = (k->random += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t
range(struct maker *k, uint64_t least, uint64_t most)
{
    return least + draw(k) % (most - least + 1);
}

static bool
chance(struct maker *k, uint32_t permille)
{
    return draw(k) % 1000 < permille;
}

static struct who
node(uint64_t id)
{
    return (struct who){WHO_NODE, (uint32_t)id};
}

static struct who
marked(uint32_t number)
{
    return (struct who){WHO_MARKED, number};
}

static const struct who nobody = {WHO_NOBODY, 0};
static const struct who leader = {WHO_LEADER, 0};
static const struct who it = {WHO_IT, 0};
static const struct who peer = {WHO_PEER, 0};

static struct who
a_follower(struct maker *k)
{
    uint64_t others = k->options->nodes > 1 ? k->options->nodes - 1 : 1;
    return (struct who){WHO_FOLLOWER, (uint32_t)range(k, 1, others)};
}

static struct who
a_node(struct maker *k)
{
    uint64_t most = k->options->nodes + (k->options->has_members ? 2 : 0);
    return node(range(k, 1, most > 5 ? 5 : most));
}

static struct who
anybody(struct maker *k)
{
    uint64_t x = range(k, 1, 10);
    if (x <= 4)
        return leader;
    return x <= 7 ? a_follower(k) : a_node(k);
}

/* after_ms from now; the fault for more to be filled in. */
static struct fault *
put(struct maker *k,
    uint64_t after_ms,
    enum fault_kind kind,
    struct who who,
    uint64_t length_ms)
{
    static struct fault spare;
    struct plan *plan = k->plan;
    if (plan->count == PLAN_FAULTS_MAX)
        return &spare;
    struct fault *f = &plan->faults[plan->count++];
    *f = (struct fault){.at_ms = k->now_ms + after_ms,
                        .nth = 1,
                        .kind = kind,
                        .who = who,
                        .length_ms = length_ms};
    return f;
}

static void
on(struct fault *f, enum trigger trigger, uint64_t nth, uint64_t delay_ms)
{
    f->trigger = trigger;
    f->nth = (uint32_t)nth;
    f->delay_ms = (uint32_t)delay_ms;
}

static uint64_t
down_ms(struct maker *k)
{
    return chance(k, 150) ? range(k, 2500, 7000) : range(k, 20, 2500);
}

static uint64_t
pause_ms(struct maker *k)
{
    if (chance(k, 200))
        return range(k, 2500, 6000);
    return chance(k, 500) ? range(k, 10, 400) : range(k, 10, 4000);
}

static uint64_t
cut_ms(struct maker *k)
{
    return chance(k, 300) ? range(k, 20, 300) : range(k, 100, 3000);
}

/* What stops a node for a moment, of the kinds that need no permission. */
static struct fault *
put_stop(struct maker *k, uint64_t after_ms, struct who who)
{
    switch (range(k, 0, 5)) {
    case 0:
        return put(k, after_ms, FAULT_KILL, who, down_ms(k));
    case 1:
        return put(k, after_ms, FAULT_PAUSE, who, pause_ms(k));
    case 2:
        return put(k, after_ms, FAULT_MUTE, who, cut_ms(k));
    case 3:
        return put(k, after_ms, FAULT_DEAF, who, cut_ms(k));
    default:
        return put(k, after_ms, FAULT_ISOLATE, who, cut_ms(k));
    }
}

/* --- single faults --- */

static void
kill_some(struct maker *k)
{
    uint32_t permille = chance(k, 500) ? 1000 : 600;
    bool is_machine = k->options->is_chaos && chance(k, 500);
    for (uint64_t i = 1; i <= k->options->nodes; i++)
        if (chance(k, permille))
            put(k, 0, is_machine ? FAULT_CRASH : FAULT_KILL, node(i), down_ms(k));
}

static void
cut_some(struct maker *k)
{
    uint64_t most = k->options->nodes + (k->options->has_members ? 1 : 0);
    for (uint64_t i = 1; i <= most; i++)
        for (uint64_t j = 1; j <= most; j++)
            if (i != j && chance(k, 250))
                put(k, 0, FAULT_CUT, node(i), cut_ms(k))->peer = node(j);
}

static int64_t
a_jump(struct maker *k)
{
    if (chance(k, 500))
        return (int64_t)range(k, 0, 7200000) - 3600000;
    return (int64_t)range(k, 0, 2 * 86400000u) - 86400000;
}

enum length { LENGTH_NONE, LENGTH_DOWN, LENGTH_PAUSE, LENGTH_CUT, LENGTH_RANGE };

/* What a single fault of each kind looks like. */
struct shape {
    bool has_who;
    enum length length;
    uint32_t least_ms, most_ms; /* LENGTH_RANGE */
    uint32_t least, most;       /* value */
};

static const struct shape shapes[FAULT_KIND_COUNT] = {
    [FAULT_KILL] = {true, LENGTH_DOWN, 0, 0, 0, 0},
    [FAULT_CRASH] = {true, LENGTH_DOWN, 0, 0, 0, 0},
    [FAULT_FLIP] = {true, LENGTH_RANGE, 20, 1500, 0, 0},
    [FAULT_EIO] = {true, LENGTH_DOWN, 0, 0, 0, 0},
    [FAULT_PAUSE] = {true, LENGTH_PAUSE, 0, 0, 0, 0},
    [FAULT_ISOLATE] = {true, LENGTH_CUT, 0, 0, 0, 0},
    [FAULT_MUTE] = {true, LENGTH_CUT, 0, 0, 0, 0},
    [FAULT_DEAF] = {true, LENGTH_CUT, 0, 0, 0, 0},
    [FAULT_CUT] = {true, LENGTH_CUT, 0, 0, 0, 0},
    [FAULT_FLAP] = {true, LENGTH_RANGE, 500, 4000, 20, 500},
    [FAULT_UNCUT] = {false, LENGTH_NONE, 0, 0, 0, 0},
    [FAULT_LOSS] = {false, LENGTH_RANGE, 100, 4000, 5, 300},
    [FAULT_SLOW] = {false, LENGTH_RANGE, 100, 4000, 5, 300},
    [FAULT_TWICE] = {false, LENGTH_RANGE, 100, 4000, 5, 300},
    [FAULT_SHUFFLE] = {false, LENGTH_RANGE, 100, 4000, 5, 300},
    [FAULT_STALL] = {true, LENGTH_RANGE, 100, 2500, 0, 0},
    [FAULT_SLUGGISH] = {true, LENGTH_RANGE, 500, 4000, 100, 3000},
    [FAULT_FULL] = {true, LENGTH_RANGE, 100, 3000, 0, 0},
    [FAULT_JUMP] = {true, LENGTH_NONE, 0, 0, 0, 0},
    [FAULT_TRANSFER] = {false, LENGTH_NONE, 0, 0, 0, 0},
    [FAULT_CLIENTS] = {false, LENGTH_NONE, 0, 0, 1, 3},
    [FAULT_GROW] = {false, LENGTH_NONE, 0, 0, 0, 0},
    [FAULT_SHRINK] = {true, LENGTH_NONE, 0, 0, 0, 1},
    [FAULT_REPLACE] = {true, LENGTH_NONE, 0, 0, 0, 1},
};

static uint64_t
a_length(struct maker *k, const struct shape *shape)
{
    switch (shape->length) {
    case LENGTH_NONE:
        break;
    case LENGTH_DOWN:
        return down_ms(k);
    case LENGTH_PAUSE:
        return pause_ms(k);
    case LENGTH_CUT:
        return cut_ms(k);
    case LENGTH_RANGE:
        return range(k, shape->least_ms, shape->most_ms);
    }
    return 0;
}

static void
put_single(struct maker *k, enum fault_kind kind)
{
    const struct shape *shape = &shapes[kind];
    if (kind == FAULT_CUT && chance(k, 400)) {
        cut_some(k);
        return;
    }
    struct who who = shape->has_who ? anybody(k) : nobody;
    struct fault *f = put(k, 0, kind, who, a_length(k, shape));
    if (shape->most > 0)
        f->value = (int64_t)range(k, shape->least, shape->most);
    if (kind == FAULT_CUT)
        f->peer = a_node(k);
    if (kind == FAULT_JUMP)
        f->value = a_jump(k);
    if (kind == FAULT_TRANSFER && chance(k, 500))
        f->who = a_node(k);
}

/* --- scripts --- */

/* What hangs on one machine: a follower is cut off, the other loses its machine and
 * comes back, and must then do without the leader: after a while, or as soon as its
 * gate opens. */
static void
squeeze(struct maker *k)
{
    uint64_t cut = range(k, 20, 300);
    uint64_t gap = range(k, 10, 200);
    uint64_t out = range(k, 500, 2500);
    put(k, 0, FAULT_UNCUT, nobody, 0);
    put(k, 0, FAULT_MARK, leader, 0);
    put(k, 0, FAULT_ISOLATE, marked(2), cut + gap);
    bool is_flip = chance(k, 300);
    put(k, cut, is_flip ? FAULT_FLIP : FAULT_CRASH, marked(1), range(k, 5, 100));
    if (is_flip && chance(k, 700)) {
        on(put_stop(k, cut, marked(0)), TRIGGER_INSTALLED, 1, range(k, 0, 3));
    } else if (chance(k, 600)) {
        on(put_stop(k, 0, marked(0)), TRIGGER_GATE, 1, chance(k, 700) ? 0 : 1);
    } else if (k->options->is_chaos && chance(k, 500)) {
        put(k, cut + gap, chance(k, 500) ? FAULT_CRASH : FAULT_KILL, marked(0), out);
    } else {
        put(k, cut + gap, chance(k, 300) ? FAULT_PAUSE : FAULT_ISOLATE, marked(0), out);
    }
    k->now_ms += cut + gap + out;
}

/* A follower falls behind until it needs a snapshot, and the transfer is cut. */
static void
lag(struct maker *k)
{
    uint64_t away = range(k, 800, 3500);
    put(k, 0, FAULT_MARK, leader, 0);
    put(k, 0, FAULT_ISOLATE, marked((uint32_t)range(k, 1, 2)), away);
    for (uint64_t i = range(k, 1, 3); i > 0; i--) {
        struct who who = chance(k, 500) ? it : peer;
        struct fault *f = chance(k, 300) ? put(k, away, FAULT_CRASH, who, down_ms(k))
                                         : put_stop(k, away, who);
        if (chance(k, 400)) {
            f->kind = chance(k, 500) ? FAULT_CRASH : FAULT_KILL;
            f->who = it;
            on(f, chance(k, 700) ? TRIGGER_INSTALLING : TRIGGER_INSTALLED, 1, 0);
        } else {
            on(f, TRIGGER_CHUNK, range(k, 1, 30), range(k, 0, 2));
        }
        if (f->length_ms > 1500)
            f->length_ms = range(k, 20, 1500);
    }
    k->now_ms += away;
}

/* Around elections: who votes or is elected does not stay. */
static void
upset(struct maker *k)
{
    static const enum trigger triggers[] = {TRIGGER_VOTE, TRIGGER_ELECTED,
                                            TRIGGER_SERVING, TRIGGER_START,
                                            TRIGGER_TRUNCATE};
    put_stop(k, 0, leader);
    for (uint64_t i = range(k, 1, 4); i > 0; i--) {
        enum trigger trigger =
            triggers[range(k, 0, sizeof triggers / sizeof triggers[0] - 1)];
        struct who who = trigger == TRIGGER_VOTE && chance(k, 300) ? peer : it;
        struct fault *f = chance(k, 400) ? put(k, 0, FAULT_CRASH, who, range(k, 5, 200))
                                         : put_stop(k, 0, who);
        on(f, trigger, range(k, 1, 2),
           chance(k, 600) ? range(k, 0, 3) : range(k, 0, 60));
    }
    k->now_ms += range(k, 300, 1500);
}

/* Two machines crash and forget what they had only written, while the third, which has
 * applied it, is away for longer than the gate's grace may be. */
static void
forget(struct maker *k)
{
    uint64_t away = range(k, 1500, 3500);
    uint32_t witness = (uint32_t)range(k, 0, 2);
    put(k, 0, FAULT_UNCUT, nobody, 0);
    put(k, 0, FAULT_MARK, leader, 0);
    for (uint32_t i = 0; i < 3; i++)
        put(k, 0, i == witness ? FAULT_ISOLATE : FAULT_CRASH, marked(i),
            i == witness ? away : range(k, 5, 100));
    k->now_ms += away;
}

/* In the middle of a change of members. */
static void
change(struct maker *k)
{
    static const enum fault_kind kinds[] = {FAULT_GROW, FAULT_SHRINK, FAULT_REPLACE};
    put(k, 0, kinds[range(k, 0, 2)], anybody(k), 0)->value = chance(k, 500);
    for (uint64_t i = range(k, 1, 3); i > 0; i--) {
        struct fault *f = chance(k, 250) ? put(k, 0, FAULT_CRASH, it, range(k, 5, 300))
                                         : put_stop(k, 0, it);
        on(f, chance(k, 600) ? TRIGGER_CHANGE : TRIGGER_CHANGED, range(k, 1, 3),
           chance(k, 700) ? range(k, 0, 3) : range(k, 0, 100));
        if (chance(k, 200))
            f->who = a_follower(k);
    }
    k->now_ms += range(k, 200, 1500);
}

enum script {
    SCRIPT_SQUEEZE,
    SCRIPT_LAG,
    SCRIPT_UPSET,
    SCRIPT_FORGET,
    SCRIPT_CHANGE,
    SCRIPT_MANY,
};

#define KINDS (FAULT_KIND_COUNT + SCRIPT_MANY + 1)

static void
put_kind(struct maker *k, uint32_t kind)
{
    switch (kind - FAULT_KIND_COUNT) {
    case SCRIPT_SQUEEZE:
        squeeze(k);
        break;
    case SCRIPT_LAG:
        lag(k);
        break;
    case SCRIPT_UPSET:
        upset(k);
        break;
    case SCRIPT_FORGET:
        forget(k);
        break;
    case SCRIPT_CHANGE:
        change(k);
        break;
    case SCRIPT_MANY:
        kill_some(k);
        break;
    default:
        put_single(k, (enum fault_kind)kind);
        break;
    }
}

static uint64_t
weight(const struct plan_options *o, uint32_t kind)
{
    uint64_t z = (o->seed * KINDS + kind) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    uint64_t x = (z ^ (z >> 27)) % 8;
    bool is_change = kind == FAULT_GROW || kind == FAULT_SHRINK ||
                     kind == FAULT_REPLACE || kind == FAULT_KIND_COUNT + SCRIPT_CHANGE;
    bool is_for_three = kind == FAULT_FLIP || kind == FAULT_KIND_COUNT + SCRIPT_SQUEEZE;
    if (kind == FAULT_MARK || (is_change && !o->has_members) ||
        (is_for_three && o->nodes < 3))
        return 0;
    if (kind == FAULT_KIND_COUNT + SCRIPT_FORGET && !o->is_chaos)
        return 0;
    if (kind == FAULT_UNCUT)
        return 5;
    if (kind == FAULT_TRANSFER)
        return x;
    if (kind >= FAULT_KIND_COUNT)
        return 3 * x;
    return x < 3 ? 0 : x - 2;
}

void
plan_make(const struct plan_options *options, struct plan *ret_plan)
{
    struct maker k = {.options = options,
                      .plan = ret_plan,
                      .random = options->seed * 2654435761u + 977,
                      .now_ms = 1500};
    uint64_t sum = 0;
    ret_plan->count = 0;
    for (uint32_t kind = 0; kind < KINDS; kind++)
        sum += weight(options, kind);
    while (k.now_ms < options->duration_ms) {
        uint64_t x = range(&k, 0, sum - 1);
        uint32_t kind = 0;
        while (x >= weight(options, kind))
            x -= weight(options, kind++);
        put_kind(&k, kind);
        k.now_ms += range(&k, 30, chance(&k, 300) ? 2000 : 600);
    }
}
