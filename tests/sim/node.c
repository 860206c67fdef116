/* Nodes: start, kill, pause, and the turn of the loop. */
#include "sim.h"

#include "base/mem.h"
#include "checker.h"
#include "queue/level.h"

#include <stdio.h>
#include <string.h>

uint64_t
sim_node_now_ms(const struct sim *s)
{
    return 1000 + s->now_us / 1000;
}

static uint64_t
wall_ms(const struct sim *s, const struct sim_node *n)
{
    return (uint64_t)(INT64_C(1790000000000) + (int64_t)(s->now_us / 1000) +
                      n->clock_skew_ms);
}

static void
send_cb(void *ctx, uint64_t peer, const struct rlog_frame *frame)
{
    struct sim_node *n = ctx;
    sim_link_send(n->sim, n->id, peer, frame);
}

static void
begin_reign(struct sim *s, struct sim_node *n)
{
    n->reign = ++s->reign_count;
    if (s->reign_count >= s->reign_capacity) {
        s->reign_capacity = s->reign_capacity == 0 ? 64 : s->reign_capacity * 2;
        s->reigns = mem_realloc(s->reigns, s->reign_capacity * sizeof *s->reigns);
    }
    s->reigns[n->reign] = (struct sim_reign){.began_us = s->now_us};
    s->counts.reigns++;
    sim_log(s, "n%u cluster time is %lld ms behind", n->id,
            (long long)(1790000000000 + s->now_us / 1000) -
                (long long)broker_cluster_time_ms(replica_broker(n->replica)));
    sim_trigger(s, TRIGGER_SERVING, n->id, 0);
}

static void
end_reign(struct sim *s, struct sim_node *n)
{
    if (n->reign != 0)
        s->reigns[n->reign].ended_us = s->now_us;
    n->reign = 0;
}

static void
route_cb(void *ctx, bool is_serving, uint64_t leader)
{
    struct sim_node *n = ctx;
    struct sim *s = n->sim;
    uint64_t old_leader = n->known_leader;
    n->known_leader = leader;
    if (is_serving && !n->is_serving)
        begin_reign(s, n);
    if (!is_serving && n->is_serving) {
        end_reign(s, n);
        sim_conns_hang_up(s, n, false);
    }
    n->is_serving = is_serving;
    if (leader != old_leader)
        sim_conns_end_relays(s, n);
}

static void
fatal_cb(void *ctx, enum status why, const char *what)
{
    struct sim_node *n = ctx;
    struct sim *s = n->sim;
    /* After several machine crashes a node may have applied what is gone. */
    if (!n->is_failing && (s->options.mode == MODE_KILLS || s->machine_crashes == 0))
        sim_violation(s, "node %u: fatal: %s: %s", n->id, status_name(why), what);
    sim_log(s, "n%u fatal: %s: %s", n->id, status_name(why), what);
    s->counts.fatals++;
    n->fatal_count++;
    n->is_dying = true;
    sim_push(s, s->now_us,
             &(struct sim_event){
                 .type = EVENT_DIE, .target = n->id, .incarnation = n->incarnation});
}

static void
elected(struct sim *s, struct sim_node *n)
{
    s->counts.elections++;
    oracle_elected(s->oracle, s, n);
    sim_trigger(s, TRIGGER_ELECTED, n->id, 0);
}

static void
event_cb(void *ctx, const char *event, const char *fields)
{
    struct sim_node *n = ctx;
    struct sim *s = n->sim;
    sim_log(s, "n%u %s %s", n->id, event, fields);
    if (strcmp(event, "leader.elected") == 0)
        elected(s, n);
    if (strcmp(event, "snapshot.encoded") == 0)
        s->counts.snapshots++;
    if (strcmp(event, "leader.frozen") == 0)
        s->counts.freezes++;
    /* replica is NULL while it opens: that is a restart, not an install. */
    if (strcmp(event, "snapshot.restored") == 0 && n->replica != NULL) {
        s->counts.installs++;
        s->has_restarted = true;
    }
    /* Here the state is exactly what is committed, on a leader too. */
    if (n->replica != NULL && (strcmp(event, "snapshot.begun") == 0 ||
                               strcmp(event, "snapshot.restored") == 0))
        checker_digest(s->checker, s, n);
}

static void
random_cb(void *ctx, void *out, size_t size)
{
    struct sim_node *n = ctx;
    uint8_t *at = out;
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)sim_random(n->sim);
}

static uint64_t
grace_ms(const struct sim *s)
{
    /* Short in some seeds, so that data is lost that may be lost. */
    return s->options.mode == MODE_CHAOS ? s->grace_ms : 0;
}

static void
open_replica(struct sim *s, struct sim_node *n)
{
    const struct replica_options options = {
        .rlog =
            {
                .id = n->id,
                .election_ms = SIM_ELECTION_MS,
                .heartbeat_ms = SIM_ELECTION_MS / 5,
                .sync_ms = 50,
                .grace_ms = grace_ms(s),
                .seed = sim_random(s),
                .is_crashed =
                    n->is_crashed && !(n->is_blank && mutant_breaks(BROKEN_REJOIN)),
                .is_rejoining =
                    (n->is_blank || n->is_joining) && !mutant_breaks(BROKEN_REJOIN),
            },
        .broker =
            {
                .seed = sim_random(s),
                .machine_memory_bytes = 1u << 30,
                .random_cb = random_cb,
                .random_ctx = n,
            },
        .snapshot_bytes = 30000,
    };
    const struct replica_callbacks callbacks = {
        .send_cb = send_cb,
        .route_cb = route_cb,
        .fatal_cb = fatal_cb,
        .event_cb = event_cb,
        .ctx = n,
    };
    struct rlog_disk *disk = sim_disk_open(n->disk);
    enum status st = replica_open(&options, disk, &callbacks, sim_node_now_ms(s),
                                  wall_ms(s, n), &n->replica);
    if (st != ST_OK)
        sim_violation(s, "node %u does not start: %s", n->id, status_name(st));
}

void
sim_node_start(struct sim *s, struct sim_node *n)
{
    n->incarnation++;
    n->started_us = n->last_turn_us = s->now_us;
    n->members_index = n->seen_applied = 0;
    s->has_restarted = s->has_restarted || s->now_us > 0;
    n->is_alive = true;
    n->is_dying = false;
    n->is_serving = false;
    n->known_leader = 0;
    n->turn_at_us = UINT64_MAX;
    n->paused_until_us = n->backlog_us = 0;
    memset(n->is_linked, 0, sizeof n->is_linked);
    memset(n->sees, 0, sizeof n->sees);
    sim_log(s, "n%u start%s", n->id, n->is_crashed ? " after a machine crash" : "");
    open_replica(s, n);
    n->seen_applied = sim_disk_snapshot(n->disk);
    sim_links_update(s);
    sim_node_wake(s, n);
    sim_trigger(s, TRIGGER_START, n->id, 0);
}

void
sim_node_kill(struct sim *s, struct sim_node *n, bool is_machine)
{
    sim_log(s, "n%u %s", n->id, is_machine ? "MACHINE CRASH" : "kill");
    n->is_alive = false;
    n->is_serving = n->is_failing = false;
    end_reign(s, n);
    if (is_machine)
        n->is_crashed = true;
    sim_conns_hang_up(s, n, true);
    struct list_node *node;
    while ((node = list_pop_front(&n->parcels)) != NULL)
        parcel_free(CONTAINER_OF(node, struct parcel, in_queue));
    replica_close(n->replica);
    n->replica = NULL;
    sim_disk_stop(n->disk, is_machine);
    sim_links_update(s);
}

void
sim_node_set_aside(struct sim *s, struct sim_node *n)
{
    sim_log(s, "n%u data is set aside", n->id);
    sim_disk_wipe(n->disk, false);
    n->is_crashed = n->is_blank = true;
    n->fatal_count = 0;
    s->counts.rejoins++;
}

void
sim_node_set_clock(struct sim *s, struct sim_node *n, int64_t skew_ms)
{
    n->clock_skew_ms = skew_ms;
    if (skew_ms < s->skew_least_ms)
        s->skew_least_ms = skew_ms;
    if (skew_ms > s->skew_most_ms)
        s->skew_most_ms = skew_ms;
}

static bool
another_is_blank(const struct sim *s, const struct sim_node *n)
{
    for (uint32_t i = 1; i <= s->node_count; i++)
        if (i != n->id && s->nodes[i].is_blank)
            return true;
    return false;
}

/* What an operator does (raft-notes 6): the first times, start again; then move the
 * data aside, keep term and vote, and come back blank and gated; never on two nodes at
 * once. After a sync that failed nothing that was not synced counts. */
void
sim_node_die(struct sim *s, struct sim_node *n)
{
    bool is_failing = n->is_failing;
    bool is_worthless = !is_failing && n->fatal_count > 2 && !another_is_blank(s, n) &&
                        sim_operator_is_idle(s);
    uint64_t down_us = n->restart_us != 0 ? n->restart_us : sim_range(s, 20000, 500000);
    n->restart_us = 0;
    sim_node_kill(s, n, is_failing);
    s->machine_crashes += is_failing;
    if (is_worthless)
        sim_node_set_aside(s, n);
    sim_push(s, s->now_us + down_us,
             &(struct sim_event){.type = EVENT_RESTART,
                                 .target = n->id,
                                 .incarnation = n->incarnation});
}

static void
schedule_turn(struct sim *s, struct sim_node *n, uint64_t at_us)
{
    if (n->turn_at_us <= at_us)
        return;
    n->turn_at_us = at_us;
    sim_push(s, at_us,
             &(struct sim_event){.type = EVENT_TURN,
                                 .target = n->id,
                                 .incarnation = n->incarnation,
                                 .number = ++n->turn_number});
}

void
sim_node_wake(struct sim *s, struct sim_node *n)
{
    schedule_turn(s, n, s->now_us + sim_range(s, 5, 60));
}

struct queue *
sim_queue(struct sim_node *n)
{
    return state_queue_by_name(replica_state(n->replica), slice_from_text("demo"));
}

struct sim_node *
sim_leader(struct sim *s)
{
    for (uint32_t i = 1; i <= s->node_count; i++)
        if (s->nodes[i].is_alive && s->nodes[i].is_serving && !s->nodes[i].is_dying &&
            s->now_us >= s->nodes[i].paused_until_us)
            return &s->nodes[i];
    return NULL;
}

static void
create_queue(struct sim *s, struct sim_node *n)
{
    struct queue_spec spec = {.name = slice_from_text("demo")};
    if (s->has_queue || !n->is_serving)
        return;
    if (sim_queue(n) != NULL) {
        if (replica_batch_status(n->replica, s->queue_lead, s->queue_batch) == ST_OK ||
            replica_lead_count(n->replica) != s->queue_lead || s->queue_node != n->id)
            s->has_queue = true;
        return;
    }
    settings_defaults(TIER_STANDARD, 1u << 30, spec.settings);
    spec.settings[SETTING_SAVED_SESSION_TIMEOUT_SECS] = SIM_SAVED_SECS;
    if (s->is_paced)
        spec.settings[SETTING_MAX_WRITE_QUEUE_BYTES] = 64 << 10;
    for (int i = 0; i < ROLE_COUNT; i++) {
        spec.logins[i].username_size = 1;
        spec.logins[i].username[0] = 'x';
    }
    struct broker *b = replica_broker(n->replica); /* each second world: at level 1 */
    if (s->options.world % 2 == 1 && broker_level(b) < HF_LEVEL_NOW &&
        broker_raise_level(b, HF_LEVEL_NOW, &s->queue_batch) != ST_OK)
        sim_violation(s, "the level cannot be raised");
    s->queue_node = n->id;
    s->queue_lead = replica_lead_count(n->replica);
    if (broker_create_queue(b, &spec, &s->queue_batch) != ST_OK)
        sim_violation(s, "the queue cannot be made");
}

static void
answer_passwords(struct sim_node *n)
{
    struct broker *b = replica_broker(n->replica);
    struct verify v;
    if (replica_is_handing_over(n->replica))
        return;
    while (broker_take_verify(b, &v))
        broker_verified(b, v.conn, true);
}

/* P3, by the simulator's own reckoning: a leader that was stopped, or has been alone,
 * must show first that it still leads. */
static void
check_silent(struct sim *s, struct sim_node *n)
{
    struct rlog_status log;
    uint64_t now_ms = sim_node_now_ms(s);
    rlog_get_status(replica_rlog(n->replica), &log);
    uint64_t gap_us = s->now_us - n->last_turn_us;
    if (gap_us > SIM_ELECTION_MS * 500 + 1000)
        sim_violation(s, "silent: node %u speaks after a gap of %llu us", n->id,
                      (unsigned long long)gap_us);
    if (log.role == RLOG_LEADER && now_ms > log.majority_heard_ms + SIM_ELECTION_MS)
        sim_violation(s, "silent: node %u speaks, a majority was heard %llu ms ago",
                      n->id, (unsigned long long)(now_ms - log.majority_heard_ms));
}

static void
let_out(struct sim *s, struct sim_node *n)
{
    struct mail_chain chain = {0};
    if (mutant_breaks(BROKEN_FROZEN)) {
        broker_hold(replica_broker(n->replica), false);
        broker_take_parcels(replica_broker(n->replica), &chain);
    } else {
        replica_take_parcels(n->replica, sim_node_now_ms(s), &chain);
    }
    struct mail *mail = chain.first;
    if (mail != NULL)
        check_silent(s, n);
    while (mail != NULL) {
        struct mail *next = mail->next;
        sim_conns_deliver(s, n, (struct parcel *)(void *)mail);
        mail = next;
    }
}

/* The net threads ended what is no longer there. */
static void
take_requests(struct sim *s, struct sim_node *n)
{
    struct list_node *node;
    while (replica_takes_requests(n->replica) && !n->is_dying &&
           (node = list_pop_front(&n->parcels)) != NULL)
        replica_handle(n->replica, CONTAINER_OF(node, struct parcel, in_queue));
    answer_passwords(n);
    (void)s;
}

/* What others wait for. */
static void
watch(struct sim *s, struct sim_node *n)
{
    struct rlog_status log;
    rlog_get_status(replica_rlog(n->replica), &log);
    if (!log.is_gated && (n->is_crashed || n->is_blank || n->is_joining)) {
        sim_log(s, "n%u has recovered", n->id);
        n->is_crashed = n->is_blank = n->is_joining = false;
        s->counts.gates++;
        sim_trigger(s, TRIGGER_GATE, n->id, 0);
    }
    oracle_applied(s->oracle, s, n, &log);
}

static void
after_turn(struct sim *s, struct sim_node *n)
{
    n->turns++;
    if (n->turns % 256 == 0)
        checker_node(s->checker, s, n);
    watch(s, n);
    if (s->now_us > n->started_us + 3000000)
        n->fatal_count = 0;
    uint64_t at = replica_deadline(n->replica);
    uint64_t now = sim_node_now_ms(s);
    uint64_t delay_us = at > now ? (at - now) * 1000 : 200;
    if (delay_us > 1000000)
        delay_us = 1000000;
    schedule_turn(s, n, s->now_us + delay_us);
}

static void
turn(struct sim *s, struct sim_node *n)
{
    n->turn_at_us = UINT64_MAX;
    replica_tick(n->replica, sim_node_now_ms(s), wall_ms(s, n));
    if (n->is_dying)
        return;
    create_queue(s, n);
    take_requests(s, n);
    replica_end_turn(n->replica, sim_node_now_ms(s));
    if (n->is_dying)
        return;
    let_out(s, n);
    n->last_turn_us = s->now_us;
    after_turn(s, n);
}

/* What a dead process has sent still arrives until its end is noticed. */
static void
take_frame(struct sim *s, struct sim_node *n, const struct sim_frame *f)
{
    const struct sim_node *from = &s->nodes[f->from];
    bool is_dead = !from->is_alive || from->incarnation != f->from_incarnation;
    if (sim_is_cut(s, f->from, n->id) || (is_dead && !n->sees[f->from]))
        return;
    if (replica_receive(n->replica, f->from, f->kind, f->body, sim_node_now_ms(s)) !=
        ST_OK)
        sim_violation(s, "node %u refuses a frame of kind %u of node %u", n->id,
                      f->kind, f->from);
}

static void
take_link(struct sim *s, struct sim_node *n, uint64_t number)
{
    uint64_t peer = number & 0xffffffff;
    n->sees[peer] = (number >> 32 & 1) != 0;
    if (n->sees[peer])
        replica_peer_up(n->replica, peer, sim_node_now_ms(s));
    else
        replica_peer_down(n->replica, peer, (number >> 33 & 1) != 0,
                          sim_node_now_ms(s));
}

static void
take_request(struct sim *s, struct sim_node *n, struct sim_event *e)
{
    struct parcel *parcel = e->object;
    if (!sim_conns_admit(s, n, parcel))
        return;
    list_push_back(&n->parcels, &parcel->in_queue);
    e->object = NULL;
}

void
sim_node_event(struct sim *s, struct sim_node *n, struct sim_event *e)
{
    if (e->type == EVENT_TURN) {
        if (e->number == n->turn_number)
            turn(s, n);
        return;
    }
    if (e->type == EVENT_FRAME)
        take_frame(s, n, e->object);
    else if (e->type == EVENT_LINK)
        take_link(s, n, e->number);
    else if (e->type == EVENT_REQUEST)
        take_request(s, n, e);
    else
        sim_disk_event(n->disk, e, replica_rlog(n->replica), sim_node_now_ms(s));
    if (n->is_dying)
        return;
    if (n->is_crashed || n->is_blank || n->is_joining)
        watch(s, n);
    sim_node_wake(s, n);
}
