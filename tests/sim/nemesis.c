/* Nemesis: carries out the plan (plan.h), until the heal.
 *
 * MODE_KILLS promises nothing lost of durability 1 when one machine at a time goes
 * down, whatever happens to processes: a machine crashes only when all others have
 * recovered from the like. Data is set aside on one node at a time in both modes: on
 * two it may be the last copy; and not during a change of members, when one more may
 * not know yet that it has a vote (raft-notes 8, known limits). What is not allowed, or
 * not possible, is passed over. */
#include "base/mem.h"
#include "raft/rlog.h"
#include "sim.h"

#include <string.h>

#define WEATHERS 4 /* LOSS, SLOW, TWICE, SHUFFLE */

struct sim_nemesis {
    struct plan plan;
    uint32_t seen[PLAN_FAULTS_MAX]; /* of the trigger, since its time */
    bool is_awaited[TRIGGER_COUNT];
    uint64_t cut_until_us[SIM_NODES_MAX + 1][SIM_NODES_MAX + 1];
    uint64_t flap_until_us[SIM_NODES_MAX + 1];
    uint64_t flap_us[SIM_NODES_MAX + 1];
    uint64_t weather_until_us[WEATHERS];
    uint32_t weather[WEATHERS];
    uint32_t marked;
};

/* A fault that is carried out, and on whom. */
struct deed {
    const struct fault *fault;
    struct sim_node *who;  /* NULL: nobody */
    struct sim_node *peer; /* the same */
};

/* --- who --- */

/* It has lost what it had, or may have, and has not all of it again. */
static bool
is_lossy(const struct sim_node *n)
{
    return n->is_crashed || n->is_failing || n->is_blank;
}

static bool
one_is_lossy(const struct sim *s)
{
    for (uint32_t i = 1; i <= s->node_count; i++)
        if (is_lossy(&s->nodes[i]))
            return true;
    return false;
}

static uint32_t
member_count(const struct sim *s)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i <= s->node_count; i++)
        count += s->nodes[i].is_member;
    return count;
}

/* The k-th member behind that node, by id and round. */
static struct sim_node *
behind(struct sim *s, uint32_t id, uint32_t k)
{
    uint32_t members = member_count(s);
    if (members == 0 || k == 0)
        return k == 0 && id != 0 ? &s->nodes[id] : NULL;
    for (uint32_t left = (k - 1) % members + 1; left > 0;) {
        id = id % s->node_count + 1;
        left -= s->nodes[id].is_member;
    }
    return &s->nodes[id];
}

static struct sim_node *
resolve(struct sim *s, struct who who, uint32_t it, uint32_t peer)
{
    struct sim_node *leader = sim_leader(s);
    switch (who.kind) {
    case WHO_NODE:
        return who.number >= 1 && who.number <= s->node_count ? &s->nodes[who.number]
                                                              : NULL;
    case WHO_LEADER:
        return leader;
    case WHO_FOLLOWER:
        return leader == NULL ? NULL : behind(s, leader->id, who.number);
    case WHO_MARKED:
        return s->nemesis->marked == 0 ? NULL
                                       : behind(s, s->nemesis->marked, who.number);
    case WHO_IT:
        return it == 0 ? NULL : &s->nodes[it];
    case WHO_PEER:
        return peer == 0 ? NULL : &s->nodes[peer];
    case WHO_NOBODY:
    case WHO_ALL:
        break;
    }
    return NULL;
}

/* --- processes and machines --- */

static void
restart_in(struct sim *s, const struct sim_node *n, uint64_t us)
{
    sim_push(s, s->now_us + us,
             &(struct sim_event){.type = EVENT_RESTART,
                                 .target = n->id,
                                 .incarnation = n->incarnation});
}

static bool
may_fall(const struct sim *s, const struct sim_node *n, bool is_machine)
{
    if (n == NULL || !n->is_alive || n->is_dying)
        return false;
    if (s->options.mode == MODE_CHAOS || !is_machine)
        return true;
    return !one_is_lossy(s) && member_count(s) >= 3;
}

static bool
take_down(struct sim *s, const struct deed *d, bool is_machine)
{
    if (!may_fall(s, d->who, is_machine))
        return false;
    sim_node_kill(s, d->who, is_machine);
    s->machine_crashes += is_machine;
    restart_in(s, d->who, d->fault->length_ms * 1000);
    return true;
}

/* Found at the next start: what is left of the data is worth nothing. */
static bool
flip(struct sim *s, const struct deed *d)
{
    if (d->who == NULL || !d->who->is_member || one_is_lossy(s) ||
        member_count(s) < 3 || !sim_operator_is_idle(s))
        return false;
    if (d->who->is_alive)
        sim_node_kill(s, d->who, false);
    sim_node_set_aside(s, d->who);
    restart_in(s, d->who, d->fault->length_ms * 1000);
    return true;
}

static bool
fail_sync(struct sim *s, const struct deed *d)
{
    if (!may_fall(s, d->who, true) || d->who->is_failing)
        return false;
    d->who->is_failing = true;
    d->who->restart_us = d->fault->length_ms * 1000;
    return true;
}

static bool
pause_node(struct sim *s, const struct deed *d)
{
    struct sim_node *n = d->who;
    uint64_t length_us = d->fault->length_ms * 1000;
    if (n == NULL || !n->is_alive || s->now_us < n->backlog_us ||
        s->now_us < n->paused_until_us)
        return false;
    n->paused_until_us = s->now_us + length_us;
    sim_conns_paused(s, n, length_us);
    return true;
}

/* --- links --- */

bool
sim_is_cut(const struct sim *s, uint32_t from, uint32_t to)
{
    const struct sim_nemesis *x = s->nemesis;
    uint64_t now = s->now_us;
    if (now < x->cut_until_us[from][to])
        return true;
    return (now < x->flap_until_us[from] && now / x->flap_us[from] % 2 == 0) ||
           (now < x->flap_until_us[to] && now / x->flap_us[to] % 2 == 0);
}

static void
cut(struct sim *s, uint32_t from, uint32_t to, uint64_t length_ms)
{
    uint64_t until_us = s->now_us + length_ms * 1000;
    if (s->nemesis->cut_until_us[from][to] < until_us)
        s->nemesis->cut_until_us[from][to] = until_us;
}

static bool
isolate(struct sim *s, const struct deed *d, bool is_from, bool is_to)
{
    if (d->who == NULL)
        return false;
    for (uint32_t i = 1; i <= s->node_count; i++) {
        if (is_from)
            cut(s, d->who->id, i, d->fault->length_ms);
        if (is_to)
            cut(s, i, d->who->id, d->fault->length_ms);
    }
    return true;
}

static bool
cut_one(struct sim *s, const struct deed *d)
{
    if (d->who == NULL || d->peer == NULL)
        return false;
    cut(s, d->who->id, d->peer->id, d->fault->length_ms);
    return true;
}

static bool
flap(struct sim *s, const struct deed *d)
{
    if (d->who == NULL || d->fault->value <= 0)
        return false;
    s->nemesis->flap_until_us[d->who->id] = s->now_us + d->fault->length_ms * 1000;
    s->nemesis->flap_us[d->who->id] = (uint64_t)d->fault->value * 1000;
    return true;
}

static bool
uncut(struct sim *s)
{
    memset(s->nemesis->cut_until_us, 0, sizeof s->nemesis->cut_until_us);
    memset(s->nemesis->flap_until_us, 0, sizeof s->nemesis->flap_until_us);
    return true;
}

static bool
set_weather(struct sim *s, const struct fault *f)
{
    uint32_t i = f->kind - FAULT_LOSS;
    s->nemesis->weather_until_us[i] = s->now_us + f->length_ms * 1000;
    s->nemesis->weather[i] = (uint32_t)f->value;
    return true;
}

uint32_t
sim_weather(const struct sim *s, enum fault_kind kind)
{
    uint32_t i = kind - FAULT_LOSS;
    uint32_t permille =
        s->now_us < s->nemesis->weather_until_us[i] ? s->nemesis->weather[i] : 0;
    return kind == FAULT_SLOW && permille < 5 ? 5 : permille;
}

/* --- the rest --- */

static bool
disturb_disk(struct sim *s, const struct deed *d)
{
    uint64_t until_us = s->now_us + d->fault->length_ms * 1000;
    if (d->who == NULL)
        return false;
    if (d->fault->kind == FAULT_STALL)
        sim_disk_stall(d->who->disk, until_us);
    else if (d->fault->kind == FAULT_FULL)
        sim_disk_fill(d->who->disk, until_us);
    else
        sim_disk_slow(d->who->disk, until_us, (uint64_t)d->fault->value);
    return true;
}

static bool
jump(struct sim *s, const struct deed *d)
{
    if (d->who == NULL)
        return false;
    sim_node_set_clock(s, d->who, d->fault->value);
    return true;
}

static bool
transfer(struct sim *s, const struct deed *d)
{
    struct sim_node *leader = sim_leader(s);
    if (leader == NULL || leader->is_dying)
        return false;
    uint64_t target = d->who == NULL || d->who == leader ? 0 : d->who->id;
    enum status st = replica_transfer(leader->replica, target, sim_node_now_ms(s));
    if (!leader->is_dying)
        sim_node_wake(s, leader);
    return st == ST_OK;
}

static bool
cut_clients(struct sim *s, const struct fault *f)
{
    for (int64_t i = 0; i < f->value; i++)
        sim_conns_cut_one(s);
    return true;
}

static bool
carry_out(struct sim *s, const struct deed *d)
{
    switch (d->fault->kind) {
    case FAULT_KILL:
        return take_down(s, d, false);
    case FAULT_CRASH:
        return take_down(s, d, true);
    case FAULT_FLIP:
        return flip(s, d);
    case FAULT_EIO:
        return fail_sync(s, d);
    case FAULT_PAUSE:
        return pause_node(s, d);
    case FAULT_ISOLATE:
        return isolate(s, d, true, true);
    case FAULT_MUTE:
        return isolate(s, d, true, false);
    case FAULT_DEAF:
        return isolate(s, d, false, true);
    case FAULT_CUT:
        return cut_one(s, d);
    case FAULT_FLAP:
        return flap(s, d);
    case FAULT_UNCUT:
        return uncut(s);
    case FAULT_LOSS:
    case FAULT_SLOW:
    case FAULT_TWICE:
    case FAULT_SHUFFLE:
        return set_weather(s, d->fault);
    case FAULT_STALL:
    case FAULT_SLUGGISH:
    case FAULT_FULL:
        return disturb_disk(s, d);
    case FAULT_JUMP:
        return jump(s, d);
    case FAULT_TRANSFER:
        return transfer(s, d);
    case FAULT_CLIENTS:
        return cut_clients(s, d->fault);
    case FAULT_MARK:
        s->nemesis->marked = d->who == NULL ? 0 : d->who->id;
        return d->who != NULL;
    case FAULT_GROW:
    case FAULT_SHRINK:
    case FAULT_REPLACE:
        return sim_operator_ask(s, d->fault->kind, d->who);
    case FAULT_KIND_COUNT:
        break;
    }
    return false;
}

static void
attempt(struct sim *s, struct deed d)
{
    char text[160];
    fault_print(d.fault, text, sizeof text);
    sim_log(s, "!! %s%s%.*s", text, d.who == NULL ? "" : ": n", d.who == NULL ? 0 : 1,
            d.who == NULL ? "" : &"012345"[d.who->id]);
    if (!carry_out(s, &d)) {
        sim_log(s, "!! passed over");
        s->counts.passed_over++;
        return;
    }
    s->counts.faults[d.fault->kind]++;
    s->counts.triggered += d.fault->trigger != TRIGGER_NONE;
}

/* number: the fault, then it and its peer. */
void
sim_fault(struct sim *s, const struct sim_event *event)
{
    const struct fault *f = &s->nemesis->plan.faults[event->number & 0xffffff];
    uint32_t it = (uint32_t)(event->number >> 24) & 0xf;
    uint32_t peer = (uint32_t)(event->number >> 28) & 0xf;
    struct deed d = {.fault = f};
    if (s->is_healed)
        return;
    d.peer = resolve(s, f->peer, it, peer);
    if (f->who.kind != WHO_ALL) {
        d.who = resolve(s, f->who, it, peer);
        attempt(s, d);
        return;
    }
    for (uint32_t i = 1; i <= s->node_count; i++) {
        d.who = &s->nodes[i];
        if (d.who->is_member)
            attempt(s, d);
    }
}

static void
push_fault(struct sim *s, uint64_t at_us, uint32_t i, uint32_t it, uint32_t peer)
{
    sim_push(
        s, at_us,
        &(struct sim_event){.type = EVENT_FAULT,
                            .number = i | (uint64_t)it << 24 | (uint64_t)peer << 28});
}

void
sim_trigger(struct sim *s, enum trigger trigger, uint32_t it, uint32_t peer)
{
    struct sim_nemesis *x = s->nemesis;
    if (s->is_healed || !x->is_awaited[trigger])
        return;
    for (uint32_t i = 0; i < x->plan.count; i++) {
        const struct fault *f = &x->plan.faults[i];
        if (f->trigger != trigger || s->now_us < f->at_ms * 1000)
            continue;
        if (++x->seen[i] == f->nth)
            push_fault(s, s->now_us + f->delay_ms * 1000, i, it, peer);
    }
}

void
sim_nemesis_open(struct sim *s)
{
    struct sim_nemesis *x = mem_calloc(1, sizeof *x);
    const struct plan_options options = {
        .seed = s->options.seed,
        .duration_ms = s->options.duration_ms,
        .nodes = s->options.nodes,
        .has_members = s->options.has_members,
        .is_chaos = s->options.mode == MODE_CHAOS,
    };
    s->nemesis = x;
    if (s->options.plan != NULL)
        x->plan = *s->options.plan;
    else
        plan_make(&options, &x->plan);
    for (uint32_t i = 0; i < x->plan.count; i++) {
        const struct fault *f = &x->plan.faults[i];
        x->is_awaited[f->trigger] = true;
        if (f->trigger == TRIGGER_NONE)
            push_fault(s, f->at_ms * 1000, i, 0, 0);
    }
}

void
sim_nemesis_close(struct sim *s)
{
    mem_free(s->nemesis);
}

/* Twice: first the faults end, then publishing does. */
void
sim_heal(struct sim *s)
{
    if (s->is_healed) {
        s->is_stopping = true;
        return;
    }
    s->is_healed = true;
    sim_log(s, "!! heal");
    (void)uncut(s);
    memset(s->nemesis->weather_until_us, 0, sizeof s->nemesis->weather_until_us);
    sim_push(s, s->now_us + SIM_STOP_US, &(struct sim_event){.type = EVENT_HEAL});
}
