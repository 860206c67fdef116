/* Nemesis: what goes wrong, until the heal. The seed weighs the kinds of faults.
 *
 * MODE_KILLS promises nothing lost of durability 1 when one machine at a time goes
 * down: a machine crashes only when all others are up and have recovered, and while one
 * recovers no process is killed. */
#include "raft/rlog.h"
#include "sim.h"

#include <string.h>

enum fault {
    FAULT_KILL_ANY,
    FAULT_KILL_LEADER,
    FAULT_KILL_FOLLOWER,
    FAULT_KILL_MANY,
    FAULT_CRASH,
    FAULT_CUT_SOME,
    FAULT_CUT_OFF,
    FAULT_CUT_LEADER,
    FAULT_UNCUT,
    FAULT_LOSS,
    FAULT_PAUSE,
    FAULT_PAUSE_LEADER,
    FAULT_STALL,
    FAULT_JUMP,
    FAULT_TRANSFER,
    FAULT_CLIENTS,
    FAULT_SQUEEZE,
    FAULT_COUNT,
};

static bool
all_well(const struct sim *s)
{
    for (uint32_t i = 1; i <= s->options.nodes; i++)
        if (!s->nodes[i].is_alive || s->nodes[i].is_crashed)
            return false;
    return true;
}

static bool
one_recovers(const struct sim *s)
{
    for (uint32_t i = 1; i <= s->options.nodes; i++)
        if (s->nodes[i].is_crashed)
            return true;
    return false;
}

static void
take_down(struct sim *s, struct sim_node *n, bool is_machine)
{
    bool is_kills = s->options.mode == MODE_KILLS;
    if (!n->is_alive || (is_kills && one_recovers(s)))
        return;
    if (is_kills && is_machine && (!all_well(s) || s->options.nodes == 1))
        return;
    sim_node_kill(s, n, is_machine);
    if (is_machine)
        s->counts.crashes++;
    else
        s->counts.kills++;
    uint64_t down_us = sim_chance(s, 150) ? sim_range(s, 2500000, 7000000)
                                          : sim_range(s, 20000, 2500000);
    if (s->squeeze != 0)
        down_us = sim_range(s, 5000, 100000);
    sim_push(s, s->now_us + down_us,
             &(struct sim_event){.type = EVENT_RESTART,
                                 .target = n->id,
                                 .incarnation = n->incarnation});
}

static void
pause_node(struct sim *s, struct sim_node *n)
{
    uint64_t length =
        sim_chance(s, 500) ? sim_range(s, 10000, 400000) : sim_range(s, 10000, 4000000);
    if (sim_chance(s, 200))
        length = sim_range(s, 2500000, 6000000);
    if (!n->is_alive || s->now_us < n->backlog_us || s->now_us < n->paused_until_us)
        return;
    sim_log(s, "n%u stops for %llu ms", n->id, (unsigned long long)length / 1000);
    n->paused_until_us = s->now_us + length;
    s->counts.pauses++;
    sim_conns_paused(s, n, length);
}

static void
cut_node(struct sim *s, struct sim_node *n, uint32_t permille)
{
    for (uint32_t i = 1; i <= s->options.nodes; i++) {
        s->is_cut[n->id][i] = sim_chance(s, permille);
        s->is_cut[i][n->id] = sim_chance(s, permille);
    }
    sim_log(s, "n%u is cut off (%u)", n->id, permille);
    s->counts.cuts++;
}

static void
transfer(struct sim *s, struct sim_node *leader)
{
    uint64_t target = sim_chance(s, 500) ? 0 : sim_range(s, 1, s->options.nodes);
    if (target == leader->id)
        target = 0;
    enum status st =
        rlog_transfer(replica_rlog(leader->replica), target, sim_node_now_ms(s));
    sim_log(s, "n%u hands over to %llu: %s", leader->id, (unsigned long long)target,
            status_name(st));
    s->counts.transfers += st == ST_OK;
    sim_node_wake(s, leader);
}

static void
jump(struct sim *s, struct sim_node *n)
{
    uint64_t by = sim_range(s, 0, 7200000);
    n->clock_skew_ms = by; /* the others are near 3,600,000 or 0 */
    sim_log(s, "n%u wall clock +%llu ms", n->id, (unsigned long long)by);
    s->counts.jumps++;
}

static void
lose(struct sim *s)
{
    s->drop_permille = sim_chance(s, 500) ? 0 : (uint32_t)sim_range(s, 0, 200);
    s->slow_permille = sim_chance(s, 500) ? 5 : (uint32_t)sim_range(s, 0, 200);
    sim_log(s, "links: %u lost, %u slow", s->drop_permille, s->slow_permille);
}

static void
cut_some(struct sim *s)
{
    for (uint32_t i = 1; i <= s->options.nodes; i++)
        for (uint32_t j = 1; j <= s->options.nodes; j++)
            s->is_cut[i][j] = sim_chance(s, 250);
    sim_log(s, "some links are cut");
    s->counts.cuts++;
}

static void
kill_many(struct sim *s, bool is_machine)
{
    uint32_t permille = sim_chance(s, 500) ? 1000 : 600;
    for (uint32_t i = 1; i <= s->options.nodes; i++)
        if (sim_chance(s, permille))
            take_down(s, &s->nodes[i], is_machine);
}

static void
push_next(struct sim *s)
{
    uint64_t wait = sim_range(s, 30000, sim_chance(s, 300) ? 2000000 : 600000);
    sim_push(s, s->now_us + wait, &(struct sim_event){.type = EVENT_NEMESIS});
}

/* Four steps that look for what hangs on one machine: a follower is cut off, the other
 * loses its machine and comes back, and must then do without the leader. */
static void
squeeze(struct sim *s)
{
    uint64_t wait = 0;
    struct sim_node *leader = &s->nodes[s->squeeze_leader];
    uint32_t other = s->squeeze_leader % 3 + 1;
    uint32_t last = other % 3 + 1;
    switch (s->squeeze) {
    case 1:
        cut_node(s, &s->nodes[last], 1000);
        wait = sim_range(s, 20000, 300000);
        break;
    case 2:
        take_down(s, &s->nodes[other], true);
        wait = sim_range(s, 10000, 200000);
        break;
    case 3:
        memset(s->is_cut, 0, sizeof s->is_cut);
        if (s->options.mode == MODE_CHAOS && sim_chance(s, 500))
            take_down(s, leader, sim_chance(s, 500));
        else if (sim_chance(s, 300))
            pause_node(s, leader);
        else
            cut_node(s, leader, 1000);
        wait = sim_range(s, 500000, 2500000);
        break;
    default:
        memset(s->is_cut, 0, sizeof s->is_cut);
        s->squeeze = 0;
        push_next(s);
        return;
    }
    s->squeeze++;
    sim_push(s, s->now_us + wait, &(struct sim_event){.type = EVENT_NEMESIS});
}

static void
begin_squeeze(struct sim *s, const struct sim_node *leader)
{
    if (s->options.nodes != 3 || !all_well(s))
        return;
    s->squeeze = 1;
    s->squeeze_leader = leader->id;
    memset(s->is_cut, 0, sizeof s->is_cut);
}

static void
do_fault(struct sim *s, enum fault fault)
{
    struct sim_node *n = &s->nodes[sim_range(s, 1, s->options.nodes)];
    struct sim_node *leader = sim_leader(s);
    switch (fault) {
    case FAULT_KILL_LEADER:
        if (leader != NULL)
            take_down(s, leader, false);
        break;
    case FAULT_KILL_FOLLOWER:
        if (n == leader)
            break;
        take_down(s, n, false);
        break;
    case FAULT_KILL_ANY:
        take_down(s, n, false);
        break;
    case FAULT_KILL_MANY:
        kill_many(s, s->options.mode == MODE_CHAOS && sim_chance(s, 500));
        break;
    case FAULT_CRASH:
        take_down(s, n, true);
        break;
    case FAULT_CUT_SOME:
        cut_some(s);
        break;
    case FAULT_CUT_OFF:
        cut_node(s, n, 700);
        break;
    case FAULT_CUT_LEADER:
        if (leader != NULL)
            cut_node(s, leader, 1000);
        break;
    case FAULT_UNCUT:
        memset(s->is_cut, 0, sizeof s->is_cut);
        break;
    case FAULT_LOSS:
        lose(s);
        break;
    case FAULT_PAUSE:
        pause_node(s, n);
        break;
    case FAULT_PAUSE_LEADER:
        if (leader != NULL)
            pause_node(s, leader);
        break;
    case FAULT_STALL:
        s->stop_disk_until_us[n->id] = s->now_us + sim_range(s, 100000, 2500000);
        s->counts.stalls++;
        break;
    case FAULT_JUMP:
        jump(s, n);
        break;
    case FAULT_TRANSFER:
        if (leader != NULL)
            transfer(s, leader);
        break;
    case FAULT_CLIENTS:
        for (uint64_t i = sim_range(s, 1, 3); i > 0; i--)
            sim_conns_cut_one(s);
        s->counts.client_cuts++;
        break;
    case FAULT_SQUEEZE:
        if (leader != NULL)
            begin_squeeze(s, leader);
        break;
    case FAULT_COUNT:
        break;
    }
}

/* Each seed has its own weights: some kinds do not happen at all. */
static uint64_t
weight(const struct sim *s, uint32_t fault)
{
    uint64_t z = (s->options.seed * FAULT_COUNT + fault) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    uint64_t x = (z ^ (z >> 27)) % 8;
    if (fault == FAULT_UNCUT)
        return 6;
    return x < 2 ? 0 : x - 1;
}

void
sim_nemesis(struct sim *s)
{
    uint64_t sum = 0;
    if (s->is_healed)
        return;
    if (s->squeeze != 0) {
        squeeze(s);
        return;
    }
    for (uint32_t f = 0; f < FAULT_COUNT; f++)
        sum += weight(s, f);
    uint64_t x = sim_range(s, 0, sum - 1);
    uint32_t fault = 0;
    while (x >= weight(s, fault))
        x -= weight(s, fault++);
    do_fault(s, (enum fault)fault);
    push_next(s);
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
    sim_log(s, "heal");
    memset(s->is_cut, 0, sizeof s->is_cut);
    s->drop_permille = 0;
    s->slow_permille = 5;
    sim_push(s, s->now_us + SIM_STOP_US, &(struct sim_event){.type = EVENT_HEAL});
}
