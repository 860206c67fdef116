/* Replica: see replica.h for the states and invariants.
 *
 * Not here: what is decided (src/broker), what is kept (src/queue), when an entry
 * counts as stored (raft/). The turn of the loop is the unit: events come in, then
 * end_turn() submits what the broker decided, then take_parcels() lets out what may
 * leave. */
#include "server/replica.h"

#include "base/limits.h"
#include "base/mem.h"
#include "broker/clock.h"
#include "queue/journal.h"
#include "queue/level.h"
#include "raft/guard.h"
#include "server/replica_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define LEADER_TURN_MS 100 /* a leader's loop turns at least this often */

void
replica_event(struct replica *r, const char *name, uint64_t number)
{
    char fields[64];
    (void)snprintf(fields, sizeof fields, "term=%llu index=%llu",
                   (unsigned long long)r->term, (unsigned long long)number);
    r->callbacks.event_cb(r->callbacks.ctx, name, fields);
}

static void
tell_route(struct replica *r)
{
    r->callbacks.route_cb(r->callbacks.ctx, r->phase == PHASE_LEADING, r->leader);
}

/* Drops what the broker decided and could not commit. The refused submit and the loss
 * of leadership both end here. */
static void
stop_leading(struct replica *r, enum phase next)
{
    bool was_leading = r->phase == PHASE_LEADING;
    if (r->has_waiting)
        blob_put(r->waiting.entry);
    r->has_waiting = false;
    r->phase = next;
    r->epoch_index = 0;
    r->is_frozen = false;
    r->thaw_batch = 0;
    r->imaging.is_wanted = false;
    r->handover.step = HANDOVER_NONE;
    if (was_leading) {
        uint64_t time_ms = broker_cluster_time_ms(r->broker); /* of this turn's tick */
        broker_stop_leading(r->broker);
        state_skip(r->state, r->last_applied);  /* entries that are not commands */
        if (r->time.known_term <= r->lead_term) /* no newer leader was heard */
            timekeeper_note(&r->time, r->lead_term, time_ms, r->now_ms);
        assert(r->state->applied == r->last_applied && r->state->journal == NULL);
        replica_event(r, "leader.ended", r->last_applied);
    }
}

/* CLAIMING: all that was submitted before has come back by apply, so the state's stamp
 * is the last one of the log and EPOCH's can be no less. */
static void
try_epoch(struct replica *r)
{
    struct bytes entry = {0};
    struct record record = {.type = RECORD_EPOCH, .leader = r->id};
    if (r->phase != PHASE_CLAIMING || r->last_applied < r->last_submitted ||
        (!r->has_own_term && rlog_guard_is_on(RLOG_GUARD_EPOCH)))
        return;
    uint64_t time_ms = replica_cluster_ms(r);
    if (time_ms <= r->state->stamp_ms)
        time_ms = r->state->stamp_ms + 1;
    entry_begin(&entry, time_ms);
    entry_set_behind(&entry, clock_behind_secs(time_ms, replica_latest_wall_ms(r)));
    entry_add(&entry, &record);
    struct blob *payload = blob_copy(slice_of(entry.data, entry.size));
    bytes_fini(&entry);
    r->phase = PHASE_CLAIMED;
    if (rlog_submit(r->rlog, payload, false, &r->epoch_index) != ST_OK) {
        if (r->phase == PHASE_CLAIMED)
            r->phase = PHASE_CLAIMING; /* again at the next turn */
        r->epoch_index = 0;
        return;
    }
    r->last_submitted = r->epoch_index;
}

static void
begin_leading(struct replica *r)
{
    assert(r->phase == PHASE_CLAIMED && r->state->journal == NULL);
    r->phase = PHASE_LEADING;
    r->lead_count++;
    r->move_at_ms = r->now_ms + REPLICA_FIRST_MOVE_MS;
    r->last_turn_ms = r->now_ms;
    uint64_t time_ms = replica_cluster_ms(r);
    broker_lead(r->broker, r->now_ms, time_ms);
    timekeeper_note(&r->time, r->term, time_ms, r->now_ms);
    r->lead_term = r->term;
    r->time.sent_ms = 0; /* the peers are told at the next turn */
    replica_event(r, "leader.serving", r->last_applied);
    tell_route(r);
}

/* The cluster's level was raised above what this program knows. */
static void
stop_too_old(struct replica *r)
{
    char needs[LEVEL_TEXT_BYTES];
    level_describe("level", r->state->level, HF_LEVEL_NOW, needs);
    r->callbacks.fatal_cb(r->callbacks.ctx, ST_VERSION, needs);
}

static void
apply_cb(void *ctx, const struct rlog_entry *entry)
{
    struct replica *r = ctx;
    r->last_applied = entry->index;
    if (entry->term == r->term)
        r->has_own_term = true;
    if (r->phase == PHASE_LEADING) {
        /* Ours: applied when it was proposed. */
        broker_committed(r->broker, entry->index);
        return;
    }
    if (entry->type != RLOG_COMMAND) {
        state_skip(r->state, entry->index);
        return;
    }
    if (entry->index != r->epoch_index)
        timekeeper_applied(&r->time, entry->term);
    /* What this process read from its own disk was in another's memory, and is gone. */
    if (r->phase == PHASE_CLAIMED && entry->index == r->epoch_index &&
        r->passed_on_index > r->opened_index)
        state_inherit(r->state);
    state_apply(r->state, entry->index, rlog_payload(entry));
    if (!state_is_readable(r->state)) {
        stop_too_old(r);
        return;
    }
    if (r->state->has_passed_on)
        r->passed_on_index = entry->index;
    if (r->phase == PHASE_CLAIMED && entry->index == r->epoch_index)
        begin_leading(r);
}

static void
role_cb(void *ctx, enum rlog_role role, uint64_t term, uint64_t leader)
{
    struct replica *r = ctx;
    bool was_leader = r->role == RLOG_LEADER && r->term == term;
    if (term != r->term)
        r->has_own_term = false;
    r->term = term;
    r->leader = leader;
    r->role = role;
    if (role == RLOG_LEADER && !was_leader) {
        if (r->phase != PHASE_FOLLOWING)
            stop_leading(r, PHASE_CLAIMING);
        r->phase = PHASE_CLAIMING;
        r->last_submitted = 0; /* the own-term entry comes after all old ones */
        replica_event(r, "leader.elected", r->last_applied);
    } else if (role != RLOG_LEADER && r->phase != PHASE_FOLLOWING) {
        stop_leading(r, PHASE_FOLLOWING);
    }
    tell_route(r);
}

static void
fatal_cb(void *ctx, enum status why, const char *what)
{
    struct replica *r = ctx;
    r->callbacks.fatal_cb(r->callbacks.ctx, why, what);
}

static void
send_cb(void *ctx, uint64_t peer, const struct rlog_frame *frame)
{
    struct replica *r = ctx;
    r->callbacks.send_cb(r->callbacks.ctx, peer, frame);
}

enum status
replica_open(const struct replica_options *options,
             struct rlog_disk *disk,
             const struct replica_callbacks *callbacks,
             uint64_t now_ms,
             uint64_t own_wall_ms,
             struct replica **ret_replica)
{
    struct replica *r = mem_calloc(1, sizeof *r);
    r->callbacks = *callbacks;
    r->id = options->rlog.id;
    r->election_ms = options->rlog.election_ms;
    imaging_init(&r->imaging, options->snapshot_bytes);
    r->now_ms = r->last_turn_ms = now_ms;
    r->own_wall_ms = own_wall_ms;
    r->role = RLOG_FOLLOWER;
    r->state = state_new();
    r->broker = broker_new(r->state, &options->broker);
    const struct rlog_callbacks log_callbacks = {
        .send_cb = send_cb,
        .apply_cb = apply_cb,
        .role_cb = role_cb,
        .restore_cb = replica_restore_cb,
        .fatal_cb = fatal_cb,
        .ctx = r,
    };
    enum status st = rlog_open(&options->rlog, disk, &log_callbacks, now_ms, &r->rlog);
    if (st != ST_OK) {
        replica_close(r);
        return st;
    }
    struct rlog_status status;
    rlog_get_status(r->rlog, &status);
    r->opened_index = status.last_index;
    r->restore.is_open = true;
    *ret_replica = r;
    return ST_OK;
}

void
replica_close(struct replica *r)
{
    if (r == NULL)
        return;
    if (r->rlog != NULL)
        imaging_cancel(&r->imaging, r->rlog);
    imaging_cancel_load(&r->imaging);
    if (r->phase == PHASE_LEADING)
        stop_leading(r, PHASE_FOLLOWING);
    broker_free(r->broker);
    rlog_close(r->rlog);
    state_free(r->state);
    state_free(r->restore.old);
    mem_free(r);
}

/* P3. A stopped or cut-off leader must not speak before it has shown that it still
 * leads. */
static void
check_frozen(struct replica *r, uint64_t now_ms)
{
    struct rlog_status status;
    if (r->phase != PHASE_LEADING)
        return;
    rlog_get_status(r->rlog, &status);
    bool is_late = now_ms - r->last_turn_ms > r->election_ms / 2;
    bool is_alone = now_ms > status.majority_heard_ms &&
                    now_ms - status.majority_heard_ms > r->election_ms;
    if (!is_late && !is_alone)
        return;
    if (is_late || !r->is_frozen)
        r->thaw_batch = 0; /* one made before the gap proves nothing */
    if (!r->is_frozen)
        replica_event(r, "leader.frozen", r->last_applied);
    r->is_frozen = true;
    broker_hold(r->broker, true);
}

static void
check_thawed(struct replica *r)
{
    if (!r->is_frozen || r->phase != PHASE_LEADING)
        return;
    if (r->thaw_batch == 0) {
        r->thaw_batch = broker_barrier(r->broker);
        return;
    }
    if (broker_committed_batch(r->broker) < r->thaw_batch)
        return;
    r->is_frozen = false;
    r->thaw_batch = 0;
    broker_hold(r->broker, false);
    replica_event(r, "leader.thawed", r->last_applied);
}

void
replica_tick(struct replica *r, uint64_t now_ms, uint64_t own_wall_ms)
{
    r->now_ms = now_ms;
    r->own_wall_ms = own_wall_ms;
    timekeeper_seen(&r->time, now_ms);
    replica_tell_time(r);
    check_frozen(r, now_ms);
    r->last_turn_ms = now_ms;
    if (now_ms >= rlog_deadline(r->rlog))
        rlog_tick(r->rlog, now_ms);
    replica_watch_disk(r);
    try_epoch(r);
    if (r->phase == PHASE_LEADING && !replica_is_handing_over(r))
        broker_tick(r->broker, now_ms, replica_latest_wall_ms(r));
}

enum status
replica_transfer(struct replica *r, uint64_t target, uint64_t now_ms)
{
    uint64_t left_behind = 0;
    if (r->phase != PHASE_LEADING)
        return rlog_transfer(r->rlog, target, now_ms);
    enum status st =
        handover_begin(&r->handover, r->rlog, r->broker, target, &left_behind);
    if (left_behind > 0)
        replica_event(r, "leader.left_behind", left_behind);
    return st;
}

bool
replica_is_handing_over(const struct replica *r)
{
    return r->handover.step != HANDOVER_NONE;
}

bool
replica_takes_requests(const struct replica *r)
{
    return !r->imaging.is_wanted && !r->has_waiting && !replica_is_handing_over(r) &&
           broker_open_bytes(r->broker) < LIMIT_ENTRY_BYTES;
}

void
replica_handle(struct replica *r, struct parcel *parcel)
{
    broker_handle(r->broker, parcel);
}

/* One batch to the log. False: no more now. */
static bool
submit_one(struct replica *r)
{
    uint64_t index = 0;
    if (!r->has_waiting && !broker_take_batch(r->broker, r->now_ms, &r->waiting))
        return false;
    r->has_waiting = false;
    struct batch batch = r->waiting;
    /* The log takes a reference in every case; ours is for another try. */
    enum status st = rlog_submit(r->rlog, blob_get(batch.entry), batch.is_sync, &index);
    if (r->phase != PHASE_LEADING) { /* lost inside the call */
        blob_put(batch.entry);
        return false;
    }
    if (st == ST_AGAIN) {
        r->waiting = batch;
        r->has_waiting = true;
        return false;
    }
    blob_put(batch.entry);
    if (st != ST_OK) {
        stop_leading(r, PHASE_CLAIMING);
        tell_route(r);
        return false;
    }
    r->last_submitted = index;
    broker_submitted(r->broker, batch.number, index);
    return true;
}

/* P4. */
static void
try_begin_image(struct replica *r)
{
    if (!replica_is_image_due(r))
        return;
    r->imaging.is_wanted = r->phase == PHASE_LEADING;
    bool is_settled = r->phase == PHASE_FOLLOWING;
    if (r->phase == PHASE_LEADING)
        is_settled = r->last_applied >= r->last_submitted && !r->has_waiting &&
                     broker_is_settled(r->broker);
    if (!is_settled || !imaging_begin(&r->imaging, r->rlog, r->state))
        return;
    r->is_image_watched = true;
    replica_event(r, "snapshot.begun", r->imaging.index);
}

void
replica_end_turn(struct replica *r, uint64_t now_ms)
{
    r->now_ms = now_ms;
    check_thawed(r);
    while (r->phase == PHASE_LEADING && submit_one(r))
        ; /* bound: batches of one turn */
    if (r->phase == PHASE_LEADING)
        handover_go_on(&r->handover, r->rlog, r->broker,
                       !r->has_waiting && broker_is_settled(r->broker), now_ms);
    try_epoch(r);
    replica_go_on_restoring(r);
    try_begin_image(r);
    if (imaging_go_on(&r->imaging, r->rlog))
        replica_event(r, "snapshot.encoded", r->imaging.index);
    replica_watch_agreement(r);
}

void
replica_take_parcels(struct replica *r, uint64_t now_ms, struct mail_chain *out)
{
    check_frozen(r, now_ms);
    check_thawed(r);
    broker_take_parcels(r->broker, out);
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t
replica_deadline(const struct replica *r)
{
    uint64_t at = rlog_deadline(r->rlog);
    if (r->phase == PHASE_LEADING) {
        at = least(at, r->now_ms + LEADER_TURN_MS);
        at = least(at, broker_deadline(r->broker));
        if (r->is_frozen && r->thaw_batch == 0)
            at = r->now_ms;
    }
    if (r->phase == PHASE_CLAIMING && r->has_own_term)
        at = least(at, r->now_ms + LEADER_TURN_MS);
    if (r->imaging.image != NULL)
        at = least(at, r->now_ms + 1);
    return least(at, replica_restore_deadline(r));
}
