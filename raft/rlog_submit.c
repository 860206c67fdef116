/* Entries of our own: commands, the barrier of a new term, membership changes; and the
 * hand-over of leadership. */
#include "raft/rlog_int.h"

#include "base/crc32c.h"

#include <assert.h>
#include <string.h>

/* G9: what is submitted is always one entry, so that a refused change leaves nothing
 * of its batch behind in the library. (Two of them: the guard's mutant.) */
static enum status
submit_some(struct rlog *r, struct rlog_entry *e, unsigned count)
{
    struct raft_entry entries[2];
    struct raft_event event;
    memset(entries, 0, sizeof entries);
    memset(&event, 0, sizeof event);
    assert(count >= 1 && count <= 2);
    for (unsigned i = 0; i < count; i++) {
        e[i].index = r->log.last + 1 + i;
        e[i].term = raft_current_term(&r->raft);
        entries[i].term = e[i].term;
        entries[i].type = (enum raft_entry_type)e[i].type;
        entries[i].buf.base =
            e[i].size > 0 ? e[i].blob->data + e[i].offset : rlog_heap_batch();
        entries[i].buf.len = e[i].size > 0 ? e[i].size : RLOG_NO_PAYLOAD_BYTES;
        entries[i].batch = rlog_heap_batch();
    }
    event.type = RAFT_SUBMIT;
    event.submit.entries = entries;
    event.submit.n = count;
    struct rlog_source src = {.raft_entries = entries, .entries = e, .is_submit = true};
    int rv = rlog_try_step(r, &event, &src);
    if (rv == 0)
        return ST_OK;
    if (rv == RAFT_NOTLEADER || rv == RAFT_CANCELED)
        return ST_NOTLEADER;
    if (rv == RAFT_CANTCHANGE)
        return ST_AGAIN;
    rlog_fatal(r, ST_CORRUPT, raft_strerror(rv));
    return ST_NOTLEADER;
}

static enum status
submit(struct rlog *r, struct rlog_entry *e)
{
    return submit_some(r, e, 1);
}

void
rlog_submit_barrier(struct rlog *r)
{
    struct rlog_entry barrier = {.type = RLOG_BARRIER, .is_sync = true};
    enum status st = submit(r, &barrier);
    assert(st == ST_OK || r->is_stopped);
    (void)st;
}

static bool
window_has_room(const struct rlog *r, size_t size)
{
    uint64_t commit = r->commit < r->log.last ? r->commit : r->log.last;
    if (r->log.last - commit >= RLOG_UNCOMMITTED_ENTRIES)
        return false;
    uint64_t bytes =
        rlog_entries_bytes(&r->log, r->log.last) - rlog_entries_bytes(&r->log, commit);
    return bytes == 0 || bytes + size <= RLOG_UNCOMMITTED_BYTES;
}

enum status
rlog_submit(struct rlog *r, struct blob *payload, bool is_sync, uint64_t *ret_index)
{
    enum status st = ST_OK;
    if (r->is_stopped || !rlog_is_leader(r) || r->handover != RLOG_HANDOVER_NONE)
        st = ST_NOTLEADER;
    else if (payload->size > LIMIT_ENTRY_BYTES)
        st = ST_RANGE;
    else if (!window_has_room(r, payload->size))
        st = ST_AGAIN;
    if (st == ST_OK) {
        struct rlog_entry e = {
            .type = RLOG_COMMAND,
            .is_sync = is_sync,
            .crc = crc32c(0, payload->data, payload->size),
            .blob = payload,
            .size = payload->size,
        };
        st = submit(r, &e);
        if (st == ST_OK)
            *ret_index = e.index;
    }
    blob_put(payload);
    rlog_settle(r);
    return st;
}

/* Whether a may become b in one step: at most one voter more, less or changed. */
static bool
is_one_step(const struct rlog_members *a, const struct rlog_members *b)
{
    unsigned changes = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct rlog_member *was = &a->members[i];
        const struct rlog_member *is = rlog_members_find(b, was->id);
        bool still = is != NULL && is->is_voter;
        if (was->is_voter != still)
            changes++;
    }
    for (uint32_t i = 0; i < b->count; i++)
        if (b->members[i].is_voter && rlog_members_find(a, b->members[i].id) == NULL)
            changes++;
    bool has_voter = false;
    for (uint32_t i = 0; i < b->count; i++)
        has_voter = has_voter || b->members[i].is_voter;
    return changes <= 1 && has_voter;
}

enum status
rlog_change_members(struct rlog *r,
                    const struct rlog_members *members,
                    uint64_t *ret_index)
{
    if (r->is_stopped || !rlog_is_leader(r) || r->handover != RLOG_HANDOVER_NONE)
        return ST_NOTLEADER;
    /* G2: no change before an entry of this term is committed. */
    if (rlog_guard_is_on(RLOG_GUARD_G2) &&
        rlog_term_of(r, r->commit) != raft_current_term(&r->raft))
        return ST_AGAIN;
    if (r->raft.configuration_uncommitted_index != 0 && rlog_guard_is_on(RLOG_GUARD_G9))
        return ST_AGAIN;
    if (rlog_members_check(members) != ST_OK || !is_one_step(&r->members, members))
        return ST_INVALID;
    struct bytes payload = {0};
    rlog_members_encode(members, &payload);
    struct rlog_entry e = {
        .type = RLOG_CHANGE,
        .is_sync = true,
        .crc = crc32c(0, payload.data, payload.size),
        .blob = blob_copy(slice_of(payload.data, payload.size)),
        .size = (uint32_t)payload.size,
    };
    bytes_fini(&payload);
    struct rlog_entry both[2] = {{.type = RLOG_BARRIER, .is_sync = true}, e};
    enum status st =
        rlog_guard_is_on(RLOG_GUARD_G9) ? submit(r, &e) : submit_some(r, both, 2);
    if (st == ST_OK)
        *ret_index = e.index;
    blob_put(e.blob);
    rlog_settle(r);
    return st;
}

void
rlog_round(struct rlog *r, uint64_t now_ms)
{
    rlog_note_time(r, now_ms);
    if (r->is_stopped || !rlog_is_leader(r))
        return;
    for (unsigned i = 0; i < r->raft.configuration.n && !r->is_stopped; i++) {
        uint64_t id = r->raft.configuration.servers[i].id;
        if (id != r->options.id)
            rlog_send_heartbeat(r, rlog_peer(r, id));
    }
}

static bool
can_take_over(const struct rlog *r, uint64_t id, uint64_t *ret_match)
{
    const struct rlog_peer *p = rlog_peer_look(r, id);
    raft_index match = 0;
    if (id == r->options.id || p == NULL || !p->is_connected ||
        raft_match_index(&r->raft, id, &match) != 0)
        return false;
    *ret_match = match;
    return true;
}

uint64_t
rlog_choose_target(const struct rlog *r, uint64_t wanted)
{
    uint64_t best = 0;
    uint64_t best_match = 0;
    bool is_best_well = false;
    for (unsigned i = 0; i < r->raft.configuration.n; i++) {
        const struct raft_server *s = &r->raft.configuration.servers[i];
        uint64_t match;
        if (s->role != RAFT_VOTER || (wanted != 0 && s->id != wanted) ||
            !can_take_over(r, s->id, &match))
            continue;
        const struct rlog_peer *p = rlog_peer_look(r, s->id);
        bool is_well = !p->is_full && !p->is_slow;
        if (best != 0 && (is_well != is_best_well ? is_best_well : match <= best_match))
            continue;
        best = s->id;
        best_match = match;
        is_best_well = is_well;
    }
    return best;
}

enum status
rlog_can_transfer(struct rlog *r, uint64_t target)
{
    if (r->is_stopped || !rlog_is_leader(r))
        return ST_NOTLEADER;
    if (r->handover != RLOG_HANDOVER_NONE)
        return ST_AGAIN;
    return rlog_choose_target(r, target) == 0 ? ST_NOTFOUND : ST_OK;
}

enum status
rlog_transfer(struct rlog *r, uint64_t target, uint64_t now_ms)
{
    rlog_note_time(r, now_ms);
    enum status st = rlog_can_transfer(r, target);
    if (st != ST_OK)
        return st;
    r->handover = RLOG_HANDOVER_DRAINING;
    r->handover_target = rlog_choose_target(r, target);
    r->handover_until_ms = r->now_ms + r->options.election_ms;
    rlog_settle(r);
    return ST_OK;
}

/* Drain first: with entries in flight the library tells the target too early, the
 * target ignores it, and it is never told again (raft-notes 4, Transfer). */
void
rlog_tick_handover(struct rlog *r)
{
    if (r->handover == RLOG_HANDOVER_NONE)
        return;
    raft_index match = 0;
    bool is_over = r->now_ms >= r->handover_until_ms || !rlog_is_leader(r) ||
                   raft_match_index(&r->raft, r->handover_target, &match) != 0;
    /* Once sent, the library refuses submits until its own time-out ends it. */
    if (is_over && r->handover == RLOG_HANDOVER_SENT && rlog_is_leader(r) &&
        raft_transferee(&r->raft) != 0) {
        r->handover_until_ms = r->now_ms + r->options.heartbeat_ms;
        return;
    }
    if (is_over) {
        r->handover = RLOG_HANDOVER_NONE;
        return;
    }
    if (r->handover != RLOG_HANDOVER_DRAINING || match != r->log.last)
        return;
    struct raft_event event;
    memset(&event, 0, sizeof event);
    event.type = RAFT_TRANSFER;
    event.transfer.server_id = r->handover_target;
    r->handover = RLOG_HANDOVER_SENT;
    r->handover_until_ms = r->now_ms + r->options.election_ms;
    int rv = rlog_try_step(r, &event, NULL);
    if (rv == RAFT_NOTLEADER || rv == RAFT_NOTFOUND || rv == RAFT_BADID)
        r->handover = RLOG_HANDOVER_NONE;
    else if (rv != 0 && rv != RAFT_CANCELED)
        rlog_fatal(r, ST_CORRUPT, raft_strerror(rv));
}
