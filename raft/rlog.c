/* The replicated log of one node: opening on what the disk found, time, peers, status.
 * raft/rlog_int.h says which file does what. */
#include "raft/rlog.h"

#include "raft/rlog_int.h"
#include "raft/rlog_members.h"
#include "raft/rlog_room.h"

#include "base/mem.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void
rlog_fatal(struct rlog *r, enum status why, const char *what)
{
    if (r->is_stopped)
        return;
    r->is_stopped = true;
    r->open_status = why;
    if (!r->is_opening)
        r->callbacks.fatal_cb(r->callbacks.ctx, why, what);
}

void
rlog_note_time(struct rlog *r, uint64_t now_ms)
{
    /* The library asserts that time does not go back. */
    if (now_ms > r->now_ms)
        r->now_ms = now_ms;
}

uint64_t
rlog_now_ms(const struct rlog *r)
{
    return r->now_ms;
}

uint64_t
rlog_random(struct rlog *r, uint64_t below)
{
    uint64_t z = (r->random += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % below;
}

uint64_t
rlog_term_of(const struct rlog *r, uint64_t index)
{
    if (index != 0 && index == r->snapshot.index)
        return r->snapshot.term;
    return rlog_entries_term(&r->log, index);
}

uint64_t
rlog_last_term(const struct rlog *r)
{
    return rlog_term_of(r, r->log.last);
}

bool
rlog_is_leader(const struct rlog *r)
{
    return r->raft.state == RAFT_LEADER;
}

uint64_t
rlog_known_leader(const struct rlog *r)
{
    if (r->raft.state == RAFT_LEADER)
        return r->options.id;
    if (r->raft.state == RAFT_FOLLOWER)
        return r->raft.follower_state.current_leader.id;
    return 0;
}

const struct rlog_peer *
rlog_peer_look(const struct rlog *r, uint64_t id)
{
    for (int i = 0; i < RLOG_PEERS_MAX; i++)
        if (r->peers[i].id == id)
            return &r->peers[i];
    return NULL;
}

struct rlog_peer *
rlog_peer_find(struct rlog *r, uint64_t id)
{
    const struct rlog_peer *p = rlog_peer_look(r, id);
    return p == NULL ? NULL : &r->peers[p - r->peers];
}

struct raft_server *
rlog_server(const struct rlog *r, uint64_t id)
{
    for (unsigned i = 0; i < r->raft.configuration.n; i++)
        if (r->raft.configuration.servers[i].id == id)
            return &r->raft.configuration.servers[i];
    return NULL;
}

struct rlog_peer *
rlog_peer(struct rlog *r, uint64_t id)
{
    struct rlog_peer *p = rlog_peer_find(r, id);
    assert(id != 0 && id != r->options.id);
    if (p != NULL)
        return p;
    for (int i = 0; i < RLOG_PEERS_MAX && p == NULL; i++)
        if (r->peers[i].id == 0)
            p = &r->peers[i];
    /* More rows than members: one of a former member is free. */
    for (int i = 0; i < RLOG_PEERS_MAX && p == NULL; i++)
        if (rlog_server(r, r->peers[i].id) == NULL)
            p = &r->peers[i];
    assert(p != NULL);
    rlog_offer_stop(r, p);
    memset(p, 0, sizeof *p);
    p->id = id;
    p->must_rewind = true;
    p->progress_ms = r->now_ms;
    return p;
}

static void
start_library(struct rlog *r)
{
    const struct rlog_options *o = &r->options;
    rlog_heap_install();
    memset(&r->raft, 0, sizeof r->raft);
    int rv = raft_init(&r->raft, NULL, NULL, o->id, "self");
    assert(rv == 0);
    (void)rv;
    r->is_started = true;
    r->raft.tracer = NULL;
    raft_seed(&r->raft, (unsigned)rlog_random(r, UINT32_MAX));
    raft_set_election_timeout(&r->raft, (unsigned)o->election_ms);
    raft_set_heartbeat_timeout(&r->raft, (unsigned)o->heartbeat_ms);
    raft_set_install_snapshot_timeout(&r->raft, (unsigned)(5 * o->election_ms));
    raft_set_pre_vote(&r->raft, true);
    raft_set_max_inflight_entries(&r->raft, RLOG_INFLIGHT_ENTRIES);
}

/* The library reads the payload of membership entries only. */
static bool
load_changes(struct rlog *r, struct raft_entry *entries, struct blob **blobs)
{
    const struct rlog_found *found = &r->disk->found;
    for (uint64_t i = 0; i < found->count; i++) {
        entries[i].term = found->entries[i].term;
        entries[i].type = (enum raft_entry_type)found->entries[i].type;
        entries[i].batch = rlog_heap_batch();
        entries[i].buf.base = rlog_heap_batch();
        entries[i].buf.len = RLOG_NO_PAYLOAD_BYTES;
        if (found->entries[i].type != RLOG_CHANGE)
            continue;
        struct rlog_entry e;
        struct rlog_members members;
        if (!rlog_load_entry(r, found->first_index + i, &e))
            return false;
        blobs[i] = e.blob;
        if (rlog_members_decode(rlog_payload(&e), &members) != ST_OK) {
            rlog_fatal(r, ST_CORRUPT, "a membership entry of the log is malformed");
            return false;
        }
        entries[i].buf.base = e.blob->data + e.offset;
        entries[i].buf.len = e.size;
    }
    return true;
}

static void
feed_start(struct rlog *r, uint64_t term, uint64_t vote)
{
    const struct rlog_found *found = &r->disk->found;
    struct raft_entry *entries = mem_calloc(found->count + 1, sizeof *entries);
    struct blob **blobs = mem_calloc(found->count + 1, sizeof *blobs);
    struct raft_snapshot_metadata metadata;
    struct raft_event event;
    memset(&event, 0, sizeof event);
    event.type = RAFT_START;
    event.start.term = term;
    event.start.voted_for = vote;
    event.start.start_index = found->first_index;
    event.start.entries = entries;
    event.start.n_entries = (unsigned)found->count;
    if (load_changes(r, entries, blobs)) {
        if (r->snapshot.index != 0) {
            metadata.index = r->snapshot.index;
            metadata.term = r->snapshot.term;
            metadata.configuration_index = r->snapshot.members_index;
            rlog_members_to_raft(&r->snapshot.members, &metadata.configuration);
            event.start.metadata = &metadata;
        }
        rlog_step(r, &event, NULL);
    }
    for (uint64_t i = 0; i < found->count; i++)
        blob_put(blobs[i]);
    mem_free(blobs);
    mem_free(entries);
}

static void
take_found(struct rlog *r)
{
    const struct rlog_found *found = &r->disk->found;
    rlog_entries_init(&r->log, found->first_index);
    for (uint64_t i = 0; i < found->count; i++)
        rlog_entries_load(&r->log, found->entries[i].term,
                          (enum rlog_type)found->entries[i].type,
                          found->entries[i].is_sync, found->entries[i].size);
    r->stored = r->synced = r->log.last;
    r->snapshot = found->snapshot;
    r->sync_at_ms = UINT64_MAX;
    if (r->snapshot.index == 0)
        return;
    r->applied = r->commit = r->snapshot.index;
    rlog_chain_reset(r, r->snapshot.index, r->snapshot.chain);
    r->members = r->snapshot.members;
    r->members_index = r->snapshot.members_index;
    r->disk->ops->snapshot_hold(r->disk->ctx, r->snapshot.index);
}

/* What must hold of a log for START (raft-notes 2). With a term it can be empty when it
 * was set aside, and of a new member that has only heard of a term. */
static bool
found_is_sane(const struct rlog_found *f, bool is_rejoining)
{
    uint64_t last = f->first_index + f->count - 1;
    if (f->first_index == 0 || f->count > UINT32_MAX)
        return false;
    if (is_rejoining && f->term == 0)
        return false;
    if (f->snapshot.index == 0)
        return f->first_index == 1 &&
               (f->count == 0 || f->entries[0].type == RLOG_CHANGE) &&
               (f->count == 0 || f->term > 0);
    return f->term > 0 && f->first_index <= f->snapshot.index + 1 &&
           last >= f->snapshot.index;
}

static void
open_log(struct rlog *r)
{
    const struct rlog_found *found = &r->disk->found;
    uint64_t term = found->term;
    uint64_t vote = found->vote;
    take_found(r);
    if ((r->options.is_crashed || r->options.is_rejoining) && found->term > 0)
        rlog_gate_close(r);
    if (!rlog_raise_term(r, &term, &vote))
        return;
    if (r->snapshot.index != 0) {
        enum status st = r->callbacks.restore_cb(r->callbacks.ctx, r->snapshot.index,
                                                 r->snapshot.term);
        if (st != ST_OK) {
            rlog_fatal(r, st, "the snapshot could not be restored");
            return;
        }
    }
    start_library(r);
    feed_start(r, term, vote);
}

enum status
rlog_open(const struct rlog_options *options,
          struct rlog_disk *disk,
          const struct rlog_callbacks *callbacks,
          uint64_t now_ms,
          struct rlog **ret_rlog)
{
    assert(options->id != 0 && options->election_ms > 0 && options->heartbeat_ms > 0);
    assert(options->heartbeat_ms < options->election_ms);
    if (!found_is_sane(&disk->found, options->is_rejoining))
        return ST_CORRUPT;
    struct rlog *r = mem_calloc(1, sizeof *r);
    r->options = *options;
    r->callbacks = *callbacks;
    r->disk = disk;
    r->now_ms = now_ms;
    r->random = options->seed;
    r->is_opening = true;
    r->told_role = RLOG_FOLLOWER;
    r->in_entries = mem_calloc(RLOG_WIRE_ENTRIES_MAX, sizeof *r->in_entries);
    r->raft_entries = mem_calloc(RLOG_WIRE_ENTRIES_MAX, sizeof *r->raft_entries);
    r->send_entries = mem_calloc(RLOG_INFLIGHT_ENTRIES, sizeof *r->send_entries);
    *ret_rlog = r;
    open_log(r);
    disk->ops->found_done(disk->ctx);
    r->is_opening = false;
    if (!r->is_stopped) {
        r->has_more_to_apply = true; /* the first tick is due at once */
        return ST_OK;
    }
    enum status st = r->open_status;
    *ret_rlog = NULL;
    rlog_close(r);
    return st;
}

void
rlog_close(struct rlog *r)
{
    if (r == NULL)
        return;
    r->is_stopped = true;
    for (int i = 0; i < RLOG_PEERS_MAX; i++)
        rlog_offer_stop(r, &r->peers[i]);
    if (r->snapshot.index != 0)
        r->disk->ops->snapshot_release(r->disk->ctx, r->snapshot.index);
    if (r->is_taking)
        r->disk->ops->snapshot_cancel(r->disk->ctx);
    if (r->incoming.is_active && !r->is_installing)
        r->disk->ops->incoming_cancel(r->disk->ctx);
    if (r->is_installing)
        raft_configuration_close(&r->install_configuration);
    if (r->is_started)
        raft_close(&r->raft, NULL);
    rlog_entries_fini(&r->log);
    bytes_fini(&r->head);
    mem_free(r->in_entries);
    mem_free(r->raft_entries);
    mem_free(r->send_entries);
    mem_free(r);
}

void
rlog_tick(struct rlog *r, uint64_t now_ms)
{
    rlog_note_time(r, now_ms);
    if (r->is_stopped)
        return;
    rlog_tick_sync(r);
    rlog_tick_election(r);
    rlog_tick_gate(r);
    rlog_tick_offers(r);
    rlog_settle(r);
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t
rlog_deadline(const struct rlog *r)
{
    if (r->is_stopped)
        return UINT64_MAX;
    if (r->has_more_to_apply)
        return r->now_ms;
    uint64_t at = earlier(rlog_election_deadline(r), r->sync_at_ms);
    if (r->handover != RLOG_HANDOVER_NONE)
        at = earlier(at, r->handover_until_ms);
    if (r->gate.is_closed)
        at = earlier(at, earlier(r->gate.deadline_ms,
                                 r->gate.told_ms + r->options.heartbeat_ms));
    at = earlier(at, rlog_offer_deadline(r));
    if (r->disk->ops->health != NULL)
        at = earlier(at, r->looked_ms + r->options.heartbeat_ms);
    return at > r->now_ms ? at : r->now_ms;
}

static uint64_t
majority_heard(const struct rlog *r)
{
    uint64_t heard[RLOG_PEERS_MAX + 1];
    unsigned count = 0;
    for (unsigned i = 0; i < r->raft.configuration.n; i++) {
        const struct raft_server *s = &r->raft.configuration.servers[i];
        if (s->role != RAFT_VOTER || count == RLOG_PEERS_MAX)
            continue;
        /* Itself it hears always, also long after the last call. */
        uint64_t ms = s->id == r->options.id ? UINT64_MAX / 2 : 0;
        for (int k = 0; k < RLOG_PEERS_MAX; k++)
            if (r->peers[k].id == s->id)
                ms = r->peers[k].heard_ms;
        unsigned j = count++;
        for (; j > 0 && heard[j - 1] < ms; j--)
            heard[j] = heard[j - 1];
        heard[j] = ms;
    }
    return count == 0 ? 0 : heard[count / 2];
}

static void
fill_peers(const struct rlog *r, struct rlog_status *s)
{
    for (unsigned i = 0; i < r->raft.configuration.n && i < RLOG_MEMBERS_MAX; i++) {
        const struct raft_server *server = &r->raft.configuration.servers[i];
        if (server->id == r->options.id)
            continue;
        struct rlog_peer_status *out = &s->peers[s->peer_count++];
        out->id = server->id;
        out->is_voter = server->role == RAFT_VOTER;
        for (int j = 0; j < RLOG_PEERS_MAX; j++)
            if (r->peers[j].id == server->id) {
                out->is_connected = r->peers[j].is_connected;
                out->is_full = r->peers[j].is_full;
                out->is_slow = r->peers[j].is_slow;
                out->is_gated = !r->peers[j].is_open;
                out->last_heard_ms = r->peers[j].heard_ms;
            }
        raft_index match = 0;
        if (rlog_is_leader(r) && raft_match_index(&r->raft, server->id, &match) == 0)
            out->match_index = match;
    }
}

void
rlog_get_status(const struct rlog *r, struct rlog_status *ret_status)
{
    struct rlog_status s;
    memset(&s, 0, sizeof s);
    s.role = r->raft.state == RAFT_LEADER      ? RLOG_LEADER
             : r->raft.state == RAFT_CANDIDATE ? RLOG_CANDIDATE
                                               : RLOG_FOLLOWER;
    if (r->is_stopped)
        s.role = RLOG_STOPPED;
    s.id = r->options.id;
    s.term = raft_current_term(&r->raft);
    s.leader = r->is_stopped ? 0 : rlog_known_leader(r);
    s.first_index = r->log.first;
    s.last_index = r->log.last;
    s.stored_index = r->stored;
    s.commit_index = r->commit;
    s.applied_index = r->applied;
    s.snapshot_index = r->snapshot.index;
    s.chain = r->chain;
    s.is_gated = r->gate.is_closed;
    s.is_rejoining = r->gate.is_closed && r->gate.is_strict;
    s.is_transferring = r->handover != RLOG_HANDOVER_NONE;
    s.is_full = r->is_full;
    s.is_slow = rlog_is_slow(r);
    s.has_room = rlog_has_room(r);
    s.majority_heard_ms = s.role == RLOG_LEADER ? majority_heard(r) : 0;
    fill_peers(r, &s);
    *ret_status = s;
}

void
rlog_get_members(const struct rlog *r, struct rlog_members *ret_members)
{
    *ret_members = r->members;
}

static uint64_t
newest_members_index(const struct rlog *r)
{
    return r->raft.configuration_uncommitted_index != 0
               ? r->raft.configuration_uncommitted_index
               : r->raft.configuration_committed_index;
}

uint64_t
rlog_newest_members(const struct rlog *r, struct rlog_members *ret_members)
{
    memset(ret_members, 0, sizeof *ret_members);
    for (unsigned i = 0; i < r->raft.configuration.n && i < RLOG_MEMBERS_MAX; i++) {
        const struct raft_server *server = &r->raft.configuration.servers[i];
        struct rlog_member *member = &ret_members->members[ret_members->count++];
        member->id = server->id;
        member->is_voter = server->role == RAFT_VOTER;
        (void)snprintf(member->address, sizeof member->address, "%s", server->address);
    }
    return ret_members->count > 0 ? newest_members_index(r) : 0;
}

uint64_t
rlog_members_stamp(const struct rlog *r)
{
    uint64_t index = newest_members_index(r);
    return rlog_term_of(r, index) << 40 ^ index;
}

uint64_t
rlog_log_bytes(const struct rlog *r)
{
    uint64_t from = r->snapshot.index < r->log.last ? r->snapshot.index : r->log.last;
    return rlog_entries_bytes(&r->log, r->log.last) - rlog_entries_bytes(&r->log, from);
}

const char *
rlog_role_name(enum rlog_role role)
{
    static const char *const names[RLOG_STOPPED + 1] = {"follower", "candidate",
                                                        "leader", "stopped"};
    return names[role];
}

uint64_t
rlog_peer_lag(const struct rlog_status *s, const struct rlog_peer_status *p)
{
    bool is_behind = s->role == RLOG_LEADER && s->last_index > p->match_index;
    return is_behind ? s->last_index - p->match_index : 0;
}
