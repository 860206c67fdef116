/* Operator: adds and removes nodes, one at a time, by the steps that the server takes
 * (raft/change.h). A new node starts with an empty directory made to join. A node that
 * was removed goes on for a while, then its data is deleted.
 *
 * What is wanted is kept until it is done, through whatever happens to leaders. */
#include "base/mem.h"
#include "checker.h"
#include "raft/change.h"
#include "raft/rlog_members.h"
#include "sim.h"

#include <stdio.h>
#include <string.h>

#define WISHES_MAX 8
#define VOTERS_MIN 3

struct wish {
    uint32_t node;
    bool is_removal;
};

struct sim_operator {
    struct wish wishes[WISHES_MAX]; /* the first is under way */
    uint32_t count;
    uint64_t leave_us[SIM_NODES_MAX + 1]; /* removed: when its process ends, 0 = not */
};

/* --- wishes --- */

static bool
is_wanted(const struct sim_operator *o, uint32_t node)
{
    for (uint32_t i = 0; i < o->count; i++)
        if (o->wishes[i].node == node)
            return true;
    return false;
}

static uint32_t
find_spare(const struct sim *s)
{
    for (uint32_t i = 1; i <= s->node_count; i++)
        if (!s->nodes[i].is_member && !s->nodes[i].is_alive &&
            s->operator->leave_us[i] == 0 && !is_wanted(s->operator, i))
            return i;
    return 0;
}

/* When all that is wanted is done. */
static uint32_t
members_then(const struct sim *s)
{
    const struct sim_operator *o = s->operator;
    uint32_t count = 0;
    for (uint32_t i = 1; i <= s->node_count; i++)
        count += s->nodes[i].is_member;
    for (uint32_t i = 0; i < o->count; i++) {
        if (o->wishes[i].is_removal)
            count--;
        else if (!s->nodes[o->wishes[i].node].is_member)
            count++;
    }
    return count;
}

static bool
wish(struct sim_operator *o, uint32_t node, bool is_removal)
{
    if (o->count == WISHES_MAX)
        return false;
    o->wishes[o->count++] = (struct wish){.node = node, .is_removal = is_removal};
    return true;
}

bool
sim_operator_ask(struct sim *s, enum fault_kind kind, const struct sim_node *n)
{
    struct sim_operator *o = s->operator;
    bool is_removal = kind != FAULT_GROW;
    if (!s->options.has_members || o->count + 2 > WISHES_MAX)
        return false;
    if (is_removal && (n == NULL || !n->is_member || is_wanted(o, n->id)))
        return false;
    if (kind != FAULT_SHRINK) {
        uint32_t spare = find_spare(s);
        if (spare == 0 || !wish(o, spare, false))
            return false;
    } else if (members_then(s) <= VOTERS_MIN) {
        return false;
    }
    return !is_removal || wish(o, n->id, true);
}

bool
sim_operator_is_idle(const struct sim *s)
{
    const struct sim_operator *o = s->operator;
    for (uint32_t i = 1; i <= s->node_count; i++)
        if (o->leave_us[i] != 0)
            return false;
    return o->count == 0;
}

/* --- steps --- */

static void
propose(struct sim *s, struct sim_node *leader, const struct rlog_members *m)
{
    char text[64] = "";
    uint64_t index = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, " %u%s",
                       (unsigned)m->members[i].id,
                       m->members[i].is_voter ? "" : "(stand-by)");
    }
    enum status st = rlog_change_members(replica_rlog(leader->replica), m, &index);
    sim_log(s, "n%u proposes members%s: %s at %llu", leader->id, text, status_name(st),
            (unsigned long long)index);
    if (st == ST_OK) {
        s->counts.members++;
        sim_trigger(s, TRIGGER_CHANGE, leader->id, 0);
    }
    if (!leader->is_dying)
        sim_node_wake(s, leader);
}

static void
done(struct sim_operator *o)
{
    o->count--;
    memmove(&o->wishes[0], &o->wishes[1], o->count * sizeof o->wishes[0]);
}

/* What was removed and has had its time: stopped, and all of it deleted. */
static void
clear_away(struct sim *s)
{
    struct sim_operator *o = s->operator;
    for (uint32_t i = 1; i <= s->node_count; i++) {
        struct sim_node *n = &s->nodes[i];
        if (o->leave_us[i] == 0 || s->now_us < o->leave_us[i])
            continue;
        o->leave_us[i] = 0;
        if (n->is_alive)
            sim_node_kill(s, n, false);
        n->incarnation++; /* nor is it started again */
        n->is_crashed = n->is_blank = n->is_joining = n->is_failing = false;
        sim_log(s, "n%u is deleted", n->id);
        sim_disk_wipe(n->disk, true);
        oracle_forget(s->oracle, n);
    }
}

/* A new machine: its data directory was made to join. */
static void
bring_up(struct sim *s, struct sim_node *n)
{
    n->is_member = true;
    if (n->is_alive)
        return;
    sim_disk_wipe(n->disk, true);
    n->is_joining = true;
    sim_node_start(s, n);
}

static void
finish(struct sim *s)
{
    const struct wish *w = &s->operator->wishes[0];
    if (w->is_removal) {
        s->nodes[w->node].is_member = false;
        s->operator->leave_us[w->node] =
            s->now_us +(sim_chance(s, 300) ? 1 : sim_range(s, 10000, 1500000));
    }
    done(s->operator);
}

static void
go_on(struct sim *s)
{
    struct sim_node *leader = sim_leader(s);
    const struct wish *w = &s->operator->wishes[0];
    struct rlog_status log;
    struct rlog_members now;
    struct rlog_members next;
    char address[32];
    struct rlog_change change = {.wish =
                                     w->is_removal ? RLOG_WISH_GONE : RLOG_WISH_VOTER,
                                 .id = w->node,
                                 .address = w->is_removal ? NULL : address};
    if (!w->is_removal && !s->nodes[w->node].is_member) {
        bring_up(s, &s->nodes[w->node]);
        return;
    }
    if (leader == NULL || leader->is_dying)
        return;
    (void)snprintf(address, sizeof address, "node-%u:1", w->node);
    struct rlog *r = replica_rlog(leader->replica);
    rlog_get_status(r, &log);
    uint64_t index = rlog_newest_members(r, &now);
    enum rlog_change_state state = rlog_change_next(&log, &now, index, &change, &next);
    if (state == RLOG_CHANGE_DONE)
        finish(s);
    else if (state == RLOG_CHANGE_STEP)
        propose(s, leader, &next);
    else if (state == RLOG_CHANGE_LEADS &&
             replica_transfer(leader->replica, 0, sim_node_now_ms(s)) == ST_OK &&
             !leader->is_dying)
        sim_node_wake(s, leader);
}

void
sim_operator_event(struct sim *s)
{
    const struct sim_operator *o = s->operator;
    clear_away(s);
    /* After the heal nothing new is begun. */
    if (s->is_healed && o->count > 0 &&
        (o->wishes[0].is_removal || s->nodes[o->wishes[0].node].is_member))
        s->operator->count = 1;
    else if (s->is_healed)
        s->operator->count = 0;
    if (o->count > 0)
        go_on(s);
    sim_push(s, s->now_us + sim_range(s, 20000, 120000),
             &(struct sim_event){.type = EVENT_OPERATOR});
}

void
sim_operator_open(struct sim *s)
{
    s->operator= mem_calloc(1, sizeof *s->operator);
    if (s->options.has_members)
        sim_push(s, 1000000, &(struct sim_event){.type = EVENT_OPERATOR});
}

void
sim_operator_close(struct sim *s)
{
    mem_free(s->operator);
}
