/* One event into the Raft library, and its update carried out.
 *
 * The order inside an update is the point of this file (raft-notes 9.4):
 *
 *   term and vote -> durable
 *   snapshot      -> install begins, everything outstanding is void
 *   entries       -> appended to the stream
 *   state         -> cursors, hand-over, barrier
 *   messages      -> frames
 *   then, outside: role, apply, gate, sync
 */
#include "raft/rlog_int.h"

#include <assert.h>
#include <string.h>

static const struct rlog_source no_source;

/* R1: term and vote are durable before any message of this or a later update leaves,
 * and before any entry of that term is written. Raft 3.8. */
static bool
store_term(struct rlog *r, const struct raft_update *u)
{
    unsigned flags = RAFT_UPDATE_CURRENT_TERM | RAFT_UPDATE_VOTED_FOR;
    if ((u->flags & flags) == 0 || !rlog_guard_is_on(RLOG_GUARD_R1))
        return true;
    enum status st = r->disk->ops->write_term(r->disk->ctx, raft_current_term(&r->raft),
                                              raft_voted_for(&r->raft));
    if (st == ST_OK)
        return true;
    rlog_fatal(r, st, "term and vote could not be written");
    return false;
}

/* The entries of an update are the array of the event, a slice of it, or the library's
 * own barrier of a new leader. */
static bool
take_entries(struct rlog *r, const struct raft_update *u, const struct rlog_source *src)
{
    uint64_t index = u->entries.index;
    /* G5: the library's commit index can move back, and then it does not notice that
     * the leader replaces what was committed. */
    if (index <= r->log.last && index <= r->commit && rlog_guard_is_on(RLOG_GUARD_G5)) {
        rlog_fatal(r, ST_CONFLICT,
                   "the leader replaces entries that were committed here");
        return false;
    }
    if (u->entries.batch == &r->raft.barrier) {
        struct rlog_entry barrier = {.index = index,
                                     .term = u->entries.batch[0].term,
                                     .type = RLOG_BARRIER,
                                     .is_sync = true};
        assert(u->entries.n == 1);
        raft_free(u->entries.batch[0].batch);
        rlog_store_entries(r, index, &barrier, 1);
        return true;
    }
    assert(src->raft_entries != NULL && u->entries.batch >= src->raft_entries);
    const struct rlog_entry *entries =
        src->entries + (u->entries.batch - src->raft_entries);
    assert(entries[0].index == index && entries[0].term == u->entries.batch[0].term);
    rlog_store_entries(r, index, entries, u->entries.n);
    return true;
}

static void
change_state(struct rlog *r)
{
    r->handover = RLOG_HANDOVER_NONE;
    rlog_offer_stop_all(r);
    rlog_reset_cursors(r);
    if (rlog_is_leader(r))
        rlog_fast_stop(r);
}

static void
carry_out(struct rlog *r, struct raft_update *u, const struct rlog_source *src)
{
    if (!store_term(r, u))
        return;
    if ((u->flags & RAFT_UPDATE_SNAPSHOT) != 0)
        rlog_install_begin(r, u);
    if ((u->flags & RAFT_UPDATE_ENTRIES) != 0 && !take_entries(r, u, src))
        return;
    /* G5: the highest ever seen, also when the library's goes back. */
    if (raft_commit_index(&r->raft) > r->commit || !rlog_guard_is_on(RLOG_GUARD_G5))
        r->commit = raft_commit_index(&r->raft);
    if ((u->flags & RAFT_UPDATE_STATE) != 0)
        change_state(r);
    /* R2: a leader's messages may leave before its own write; a follower's answers are
     * made by the library only for what we reported as stored. */
    if ((u->flags & RAFT_UPDATE_MESSAGES) != 0)
        for (unsigned i = 0; i < u->messages.n && !r->is_stopped; i++)
            rlog_send_message(r, &u->messages.batch[i], src);
    /* G2: every term begins with an entry of its own; the library makes one only when
     * something is uncommitted. */
    if ((u->flags & RAFT_UPDATE_STATE) != 0 && rlog_is_leader(r) &&
        (u->flags & RAFT_UPDATE_ENTRIES) == 0 && rlog_guard_is_on(RLOG_GUARD_G2))
        rlog_submit_barrier(r);
}

int
rlog_try_step(struct rlog *r, struct raft_event *event, const struct rlog_source *src)
{
    struct raft_update update;
    memset(&update, 0, sizeof update);
    if (r->is_stopped)
        return RAFT_CANCELED;
    event->time = r->now_ms + r->clock_offset_ms;
    event->capacity = 0;
    int rv = raft_step(&r->raft, event, &update);
    if (rv == 0)
        carry_out(r, &update, src == NULL ? &no_source : src);
    return rv;
}

void
rlog_step(struct rlog *r, struct raft_event *event, const struct rlog_source *src)
{
    int rv = rlog_try_step(r, event, src);
    if (rv == 0 || rv == RAFT_CANCELED)
        return;
    if (rv == RAFT_SHUTDOWN)
        rlog_fatal(r, ST_CONFLICT, "a committed entry conflicts with the leader's log");
    else
        rlog_fatal(r, ST_CORRUPT, raft_strerror(rv));
}

bool
rlog_load_entry(struct rlog *r, uint64_t index, struct rlog_entry *ret_entry)
{
    if (rlog_entries_cached(&r->log, index, ret_entry)) {
        if (ret_entry->blob != NULL)
            blob_get(ret_entry->blob);
        return true;
    }
    assert(rlog_entries_has(&r->log, index));
    const struct rlog_row *row = rlog_entries_row(&r->log, index);
    struct rlog_entry e;
    enum status st = r->disk->ops->read(r->disk->ctx, index, &e);
    if (st != ST_OK) {
        rlog_fatal(r, st, "an entry of the log could not be read");
        return false;
    }
    if (e.index != index || e.term != row->term || e.size != row->size ||
        e.type != row->type) {
        if (e.blob != NULL)
            blob_put(e.blob);
        rlog_fatal(r, ST_CORRUPT, "the log on disk holds another entry");
        return false;
    }
    *ret_entry = e;
    return true;
}

/* A committed change: the library must hear of it before later entries (raft-notes 2,
 * CONFIGURATION). */
static void
apply_change(struct rlog *r, const struct rlog_entry *e)
{
    if (rlog_members_decode(rlog_payload(e), &r->members) != ST_OK) {
        rlog_fatal(r, ST_CORRUPT, "a committed membership entry is malformed");
        return;
    }
    r->members_index = e->index;
    struct raft_event event;
    memset(&event, 0, sizeof event);
    event.type = RAFT_CONFIGURATION;
    event.configuration.index = e->index;
    rlog_members_to_raft(&r->members, &event.configuration.conf);
    rlog_step(r, &event, NULL);
    for (int i = 0; i < RLOG_PEERS_MAX && rlog_is_leader(r); i++)
        rlog_pump(r, &r->peers[i]); /* it was kept from one that loses its vote */
}

/* True when there was something to tell. An entry is never applied under an older role
 * than it was committed in: a deposed leader would take another's entries for its own.
 */
static bool
tell_role(struct rlog *r)
{
    enum rlog_role role = RLOG_FOLLOWER;
    if (r->raft.state == RAFT_LEADER)
        role = RLOG_LEADER;
    else if (r->raft.state == RAFT_CANDIDATE)
        role = RLOG_CANDIDATE;
    uint64_t term = raft_current_term(&r->raft);
    uint64_t leader = rlog_known_leader(r);
    if (r->is_stopped ||
        (role == r->told_role && term == r->told_term && leader == r->told_leader))
        return false;
    r->told_role = role;
    r->told_term = term;
    r->told_leader = leader;
    r->callbacks.role_cb(r->callbacks.ctx, role, term, leader);
    return true;
}

/* R7: what is committed and present, in order, never while a snapshot is installed. */
static void
apply_some(struct rlog *r)
{
    uint64_t count = 0;
    uint64_t bytes = 0;
    r->has_more_to_apply = false;
    while (!r->is_installing && !r->is_stopped) {
        tell_role(r);
        uint64_t end = r->commit < r->log.last ? r->commit : r->log.last;
        if (!rlog_guard_is_on(RLOG_GUARD_R7))
            end = r->log.last;
        if (r->applied >= end)
            break;
        if (count >= RLOG_APPLY_ENTRIES || bytes >= RLOG_APPLY_BYTES) {
            r->has_more_to_apply = true;
            break;
        }
        struct rlog_entry e;
        if (!rlog_load_entry(r, r->applied + 1, &e))
            return;
        r->applied = e.index;
        rlog_chain_add(r, &e);
        if (e.type == RLOG_CHANGE)
            apply_change(r, &e);
        if (!r->is_stopped)
            r->callbacks.apply_cb(r->callbacks.ctx, &e);
        count++;
        bytes += e.size;
        blob_put(e.blob);
    }
    /* Kept in memory: all that is not applied or not yet on disk, and the newest. */
    uint64_t keep_from = r->applied + 1;
    if (r->synced + 1 < keep_from)
        keep_from = r->synced + 1;
    rlog_entries_evict(&r->log, keep_from, LIMIT_LOG_CACHE_BYTES);
}

void
rlog_settle(struct rlog *r)
{
    if (r->is_settling || r->is_opening)
        return;
    r->is_settling = true;
    rlog_look_at_disk(r);
    do {
        tell_role(r);
        apply_some(r);
        if (!r->is_stopped)
            rlog_gate_check(r);
        if (!r->is_stopped)
            rlog_tick_handover(r);
    } while (tell_role(r));
    if (!r->is_stopped)
        rlog_ask_sync(r);
    r->is_settling = false;
}
