/* World: virtual time, the order of events, randomness, and the run of one seed. */
#include "sim.h"

#include "base/map.h"
#include "base/mem.h"
#include "checker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t
sim_random(struct sim *s)
{
    uint64_t z = (s->random += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t
sim_range(struct sim *s, uint64_t least, uint64_t most)
{
    return least + sim_random(s) % (most - least + 1);
}

bool
sim_chance(struct sim *s, uint32_t permille)
{
    return sim_random(s) % 1000 < permille;
}

static bool
is_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void
insert(struct sim *s, const struct sim_event *event)
{
    if (s->heap_count == s->heap_capacity) {
        s->heap_capacity = s->heap_capacity == 0 ? 1024 : s->heap_capacity * 2;
        s->heap = mem_realloc(s->heap, s->heap_capacity * sizeof *s->heap);
    }
    struct sim_event e = *event;
    size_t i = s->heap_count++;
    while (i > 0 && is_before(&e, &s->heap[(i - 1) / 2])) {
        s->heap[i] = s->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->heap[i] = e;
}

void
sim_push(struct sim *s, uint64_t at_us, const struct sim_event *event)
{
    struct sim_event e = *event;
    e.at_us = at_us;
    e.order = s->order++;
    insert(s, &e);
}

/* Later, in its old order among the others: links and disks must not be reordered. */
static void
put_off(struct sim *s, uint64_t at_us, struct sim_event *event)
{
    struct sim_event e = *event;
    e.at_us = at_us;
    insert(s, &e);
    event->object = NULL;
}

static struct sim_event
pop(struct sim *s)
{
    struct sim_event top = s->heap[0];
    struct sim_event e = s->heap[--s->heap_count];
    size_t i = 0;
    for (size_t c; (c = 2 * i + 1) < s->heap_count; i = c) {
        if (c + 1 < s->heap_count && is_before(&s->heap[c + 1], &s->heap[c]))
            c++;
        if (!is_before(&s->heap[c], &e))
            break;
        s->heap[i] = s->heap[c];
    }
    if (s->heap_count > 0)
        s->heap[i] = e;
    return top;
}

PRINTF_LIKE(2, 0)
static void
print_line(const struct sim *s, const char *format, va_list args)
{
    (void)printf("%10.3f ", (double)s->now_us / 1000.0);
    (void)vprintf(format, args);
    (void)putchar('\n');
}

void
sim_log(struct sim *s, const char *format, ...)
{
    va_list args;
    if (s->options.detail < DETAIL_NODES)
        return;
    va_start(args, format);
    print_line(s, format, args);
    va_end(args);
}

void
sim_say(struct sim *s, const char *format, ...)
{
    va_list args;
    if (s->options.detail < DETAIL_ALL)
        return;
    va_start(args, format);
    print_line(s, format, args);
    va_end(args);
}

void
sim_violation(struct sim *s, const char *format, ...)
{
    va_list args;
    (void)printf("VIOLATION at %.3f ms: ", (double)s->now_us / 1000.0);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)putchar('\n');
    (void)fflush(stdout);
    _exit(3);
}

static void
trace(struct sim *s, const struct sim_event *e)
{
    uint64_t z = s->trace ^ (e->at_us * 31 + e->type) ^ ((uint64_t)e->target << 48) ^
                 (e->number << 20);
    z *= UINT64_C(0x9E3779B97F4A7C15);
    s->trace = z ^ (z >> 29);
    s->event_count++;
}

static void
free_object(struct sim_event *e)
{
    if (e->type == EVENT_FRAME && e->object != NULL)
        blob_put(((struct sim_frame *)e->object)->body);
    if (e->type == EVENT_REQUEST || e->type == EVENT_PARCEL)
        parcel_free(e->object);
    else
        mem_free(e->object);
    e->object = NULL;
}

/* A node that stops finds all that came meanwhile when it goes on: in order, one after
 * the other, with turns of its loop in between. */
static bool
wait_for_node(struct sim *s, struct sim_node *n, struct sim_event *e)
{
    bool is_behind = e->type != EVENT_TURN && !e->is_late && s->now_us < n->backlog_us;
    if (s->now_us >= n->paused_until_us && !is_behind)
        return false;
    if (n->backlog_us < n->paused_until_us)
        n->backlog_us = n->paused_until_us;
    uint64_t at = n->backlog_us;
    if (e->type == EVENT_TURN)
        at = n->paused_until_us;
    else
        n->backlog_us += sim_range(s, 1, 40);
    e->is_late = true;
    put_off(s, at, e);
    return true;
}

static void
dispatch(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes[e->target < SIM_NODES_MAX + 1 ? e->target : 0];
    switch (e->type) {
    case EVENT_FRAME:
    case EVENT_TURN:
    case EVENT_WRITTEN:
    case EVENT_SYNCED:
    case EVENT_SNAPSHOT:
    case EVENT_LINK:
    case EVENT_REQUEST:
        if (n->is_alive && !n->is_dying && n->incarnation == e->incarnation &&
            !wait_for_node(s, n, e))
            sim_node_event(s, n, e);
        break;
    case EVENT_PARCEL:
    case EVENT_HANGUP:
    case EVENT_CLIENT:
        sim_client_event(s, e);
        break;
    case EVENT_FAULT:
        sim_fault(s, e);
        break;
    case EVENT_RESTART:
        if (!n->is_alive && n->incarnation == e->incarnation)
            sim_node_start(s, n);
        break;
    case EVENT_DIE:
        if (n->is_alive && n->incarnation == e->incarnation)
            sim_node_die(s, n);
        break;
    case EVENT_OPERATOR:
        sim_operator_event(s);
        break;
    case EVENT_CHECK:
        checker_look(s->checker, s);
        break;
    case EVENT_HEAL:
        sim_heal(s);
        break;
    case EVENT_END:
        break;
    }
}

static void
open_world(struct sim *s)
{
    struct rlog_members members = {0};
    int64_t skew = sim_chance(s, 500) ? 3000 : 20;
    for (uint32_t i = 1; i <= s->options.nodes; i++) {
        struct rlog_member *m = &members.members[members.count++];
        m->id = i;
        m->is_voter = true;
        (void)snprintf(m->address, sizeof m->address, "node-%u:1", i);
    }
    for (uint32_t i = 1; i <= s->node_count; i++) {
        struct sim_node *n = &s->nodes[i];
        n->sim = s;
        n->id = i;
        list_init(&n->parcels);
        n->disk = sim_disk_new(s, i);
        n->is_member = i <= s->options.nodes;
        if (n->is_member)
            sim_disk_format(n->disk, &members);
        sim_node_set_clock(s, n, (int64_t)sim_range(s, 0, (uint64_t)skew));
    }
    for (uint32_t i = 1; i <= s->options.nodes; i++)
        sim_node_start(s, &s->nodes[i]);
}

static void
close_world(struct sim *s)
{
    for (uint32_t i = 1; i <= s->node_count; i++) {
        if (s->nodes[i].is_alive)
            sim_node_kill(s, &s->nodes[i], false);
        sim_disk_free(s->nodes[i].disk);
    }
    while (s->heap_count > 0) {
        struct sim_event e = pop(s);
        free_object(&e);
    }
    sim_clients_close(s);
    sim_conns_free(s);
    sim_operator_close(s);
    sim_nemesis_close(s);
    oracle_free(s->oracle);
    checker_free(s->checker);
    mem_free(s->reigns);
    mem_free(s->heap);
}

static void
run_events(struct sim *s)
{
    unsigned tries = 0;
    for (;;) { /* bound: EVENT_END */
        struct sim_event e = pop(s);
        s->now_us = e.at_us;
        trace(s, &e);
        if (e.type == EVENT_END && (tries == 50 || checker_is_quiet(s)))
            return;
        if (e.type == EVENT_END) {
            tries++;
            sim_push(s, s->now_us + 20000, &e);
            continue;
        }
        dispatch(s, &e);
        if (e.object != NULL)
            free_object(&e);
    }
}

static struct sim *
make_world(const struct sim_options *options)
{
    struct sim *s = mem_calloc(1, sizeof *s);
    s->options = *options;
    s->random = options->world * 2654435761u + 88172645463325252u;
    s->node_count = (uint32_t)options->nodes;
    if (options->has_members)
        s->node_count =
            s->node_count + 2 < SIM_NODES_MAX ? s->node_count + 2 : SIM_NODES_MAX;
    s->is_paced = sim_chance(s, 150);
    s->is_busy = sim_chance(s, 250);
    s->is_lazy = sim_chance(s, 400);
    s->grace_ms = sim_chance(s, 500) ? 6000 : sim_range(s, 100, 1500);
    map_seed(1, 2);
    mutant_set(options->mutant);
    s->checker = checker_new();
    s->oracle = oracle_new();
    sim_nemesis_open(s);
    sim_operator_open(s);
    open_world(s);
    sim_clients_open(s);
    return s;
}

void
sim_run(const struct sim_options *options, struct sim_result *ret_result)
{
    struct sim *s = make_world(options);
    uint64_t heal_us = options->duration_ms * 1000;
    sim_push(s, 500000, &(struct sim_event){.type = EVENT_CHECK});
    sim_push(s, heal_us, &(struct sim_event){.type = EVENT_HEAL});
    sim_push(s, heal_us + SIM_QUIET_US, &(struct sim_event){.type = EVENT_END});
    run_events(s);
    checker_finish(s->checker, s);
    s->counts.virtual_ms = s->now_us / 1000;
    s->counts.events = s->event_count;
    s->counts.entries = oracle_entries(s->oracle);
    ret_result->trace = s->trace;
    ret_result->events = s->event_count;
    ret_result->counts = s->counts;
    close_world(s);
    mem_free(s);
}
