/* The restart gate (raft-notes 6): a node whose machine crashed may have lost a tail
 * that it had acknowledged as written. It neither votes nor stands until
 *
 *   - an entry of a leader's own term is committed, reached and synced here; or
 *   - it has seen, since its start, where the logs of all voters end: then it may vote
 *     for, or be, a candidate at least as good as the best of them; or
 *   - no leader was heard for grace_ms.
 *
 * A node that rejoins after its log was set aside has lost also what it had synced: for
 * it only the first counts (raft-notes 6). While the gate is closed everything is
 * synced.
 *
 * The other side of a lost tail is the leader: it never lowers a match index within its
 * term, so it would count for ever what is gone. It notices when the peer, on a new
 * link, says where its log ends. */
#include "raft/rlog_int.h"
#include "raft/rlog_members.h"

#include <assert.h>
#include <string.h>

static void
extend_grace(struct rlog *r)
{
    if (r->options.grace_ms != 0 && !r->gate.is_strict)
        r->gate.deadline_ms = r->now_ms + r->options.grace_ms;
}

void
rlog_gate_close(struct rlog *r)
{
    r->gate.is_closed = rlog_guard_is_on(RLOG_GUARD_GATE);
    r->gate.is_strict =
        r->options.is_rejoining && rlog_guard_is_on(RLOG_GUARD_GATE_STRICT);
    r->gate.target = 0;
    r->gate.deadline_ms = UINT64_MAX;
    extend_grace(r);
    r->gate.told_ms = r->now_ms;
}

uint64_t
rlog_members_committed(const struct rlog *r)
{
    return r->members_index;
}

bool
rlog_is_new(const struct rlog *r)
{
    return !r->is_stopped && !r->options.is_rejoining && r->snapshot.index == 0 &&
           r->log.last <= 1 && raft_current_term(&r->raft) <= 1;
}

bool
rlog_distrust(struct rlog *r)
{
    if (!rlog_is_new(r))
        return false;
    r->options.is_rejoining = true;
    rlog_gate_close(r);
    return true;
}

static bool
as_good(uint64_t term, uint64_t index, uint64_t than_term, uint64_t than_index)
{
    return term > than_term || (term == than_term && index >= than_index);
}

/* The best of all voters' logs and ours; false while one is unknown. A node without a
 * vote by its own log has lost nothing that counted: what made it one was synced. */
static bool
best_of_all(struct rlog *r, uint64_t *ret_term, uint64_t *ret_index)
{
    uint64_t term = rlog_last_term(r);
    uint64_t index = r->log.last;
    bool has_voters = false;
    if (r->gate.is_strict || !rlog_guard_is_on(RLOG_GUARD_GATE_RELAX))
        return false;
    for (unsigned i = 0; i < r->raft.configuration.n; i++) {
        const struct raft_server *s = &r->raft.configuration.servers[i];
        if (s->role != RAFT_VOTER)
            continue;
        has_voters = true;
        if (s->id == r->options.id)
            continue;
        const struct rlog_peer *p = rlog_peer_find(r, s->id);
        if (p == NULL || !p->has_position)
            return false;
        if (!as_good(term, index, p->position.last_term, p->position.last_index)) {
            term = p->position.last_term;
            index = p->position.last_index;
        }
    }
    *ret_term = term;
    *ret_index = index;
    return has_voters;
}

bool
rlog_gate_may_vote(struct rlog *r, uint64_t last_term, uint64_t last_index)
{
    uint64_t term;
    uint64_t index;
    if (!r->gate.is_closed)
        return true;
    return best_of_all(r, &term, &index) && as_good(last_term, last_index, term, index);
}

/* The library's own timer, which would forget a silent leader, does not fire while the
 * gate is closed: without this a leader that was heard once and is gone would keep the
 * node from voting until the grace has passed. */
bool
rlog_gate_misses_leader(const struct rlog *r)
{
    return r->gate.is_closed && r->now_ms - r->gate.heard_ms >= r->options.election_ms;
}

bool
rlog_gate_may_stand(struct rlog *r)
{
    /* A candidate shows what it has stored. */
    return rlog_gate_may_vote(r, rlog_term_of(r, r->stored), r->stored);
}

void
rlog_gate_heard(struct rlog *r, uint64_t term, uint64_t leader_commit)
{
    if (!r->gate.is_closed)
        return;
    extend_grace(r);
    r->gate.heard_ms = r->now_ms;
    /* A new leader's commit index is low before an entry of its own is committed. */
    bool is_own_term = rlog_term_of(r, leader_commit) == term ||
                       !rlog_guard_is_on(RLOG_GUARD_GATE_TERM);
    if (r->gate.target == 0 && r->commit >= leader_commit && is_own_term)
        r->gate.target = leader_commit;
}

static void
open_gate(struct rlog *r)
{
    r->gate.is_closed = false;
    if (r->disk->ops->gate_opened != NULL)
        r->disk->ops->gate_opened(r->disk->ctx);
}

void
rlog_gate_check(struct rlog *r)
{
    if (!r->gate.is_closed || r->is_installing)
        return;
    /* Elected through the relaxed rule: the first commit of the own term opens it. */
    if (rlog_is_leader(r) && rlog_term_of(r, r->commit) == raft_current_term(&r->raft))
        r->gate.target = r->commit;
    if (r->gate.target == 0 || r->commit < r->gate.target || r->synced < r->gate.target)
        return;
    open_gate(r);
    for (int i = 0; i < RLOG_PEERS_MAX; i++)
        if (r->peers[i].is_connected)
            rlog_tell_position(r, r->peers[i].id, false);
}

void
rlog_tell_position(struct rlog *r, uint64_t peer, bool is_answer)
{
    struct rlog_position position = {
        .last_term = rlog_last_term(r),
        .last_index = r->log.last,
        .is_gated = r->gate.is_closed,
        .is_answer = is_answer,
    };
    bytes_clear(&r->head);
    rlog_wire_put_position(&r->head, &position);
    rlog_send_frame(r, peer, RLOG_FRAME_POSITION, NULL, 0);
}

/* Frames of a peer come in order, and a link that is replaced is closed before the new
 * one is read: what it had acknowledged to us in this term was in its log when it sent
 * this. If it is not, it is lost. */
static bool
has_lost_tail(struct rlog *r, uint64_t peer, const struct rlog_position *position)
{
    raft_index match = 0;
    return rlog_is_leader(r) && rlog_guard_is_on(RLOG_GUARD_LOST_TAIL) &&
           raft_match_index(&r->raft, peer, &match) == 0 &&
           position->last_index < match;
}

/* The term ends, as if the peer had said that there is a newer one: the next leader
 * begins to count anew (raft-notes 6, "Alternative"). */
static void
end_term(struct rlog *r, uint64_t peer)
{
    struct raft_event event;
    struct raft_message m;
    memset(&event, 0, sizeof event);
    memset(&m, 0, sizeof m);
    m.type = RAFT_APPEND_ENTRIES_RESULT;
    m.server_id = peer;
    m.server_address = "peer";
    m.append_entries_result.version = 2;
    m.append_entries_result.term = raft_current_term(&r->raft) + 1;
    event.type = RAFT_RECEIVE;
    event.receive.message = &m;
    rlog_step(r, &event, NULL);
}

void
rlog_gate_position(struct rlog *r,
                   struct rlog_peer *p,
                   const struct rlog_position *position)
{
    p->has_position = true;
    p->is_open = !position->is_gated;
    p->position = *position;
    if (has_lost_tail(r, p->id, position))
        end_term(r, p->id);
    if (position->is_gated && !position->is_answer)
        rlog_tell_position(r, p->id, true);
    rlog_fast_boot(r);
}

/* A leader gives a stand-by its vote only when it knows that its gate is open. What was
 * said when it opened may have been lost. */
static void
tell_as_stand_by(struct rlog *r)
{
    const struct raft_server *self = rlog_server(r, r->options.id);
    const struct rlog_peer *leader = rlog_peer_find(r, rlog_known_leader(r));
    if (self == NULL || self->role == RAFT_VOTER || leader == NULL ||
        !leader->is_connected || r->now_ms < r->gate.told_ms + r->options.election_ms)
        return;
    r->gate.told_ms = r->now_ms;
    rlog_tell_position(r, leader->id, false);
}

void
rlog_tick_gate(struct rlog *r)
{
    if (!r->gate.is_closed) {
        tell_as_stand_by(r);
        return;
    }
    if (r->now_ms >= r->gate.deadline_ms) {
        open_gate(r);
        return;
    }
    if (r->now_ms < r->gate.told_ms + r->options.heartbeat_ms)
        return;
    bool is_changed =
        r->gate.told_index != r->log.last || r->gate.told_term != rlog_last_term(r);
    r->gate.told_ms = r->now_ms;
    for (int i = 0; i < RLOG_PEERS_MAX; i++) {
        const struct rlog_peer *p = &r->peers[i];
        if (p->is_connected && (is_changed || !p->has_position))
            rlog_tell_position(r, p->id, false);
    }
    r->gate.told_index = r->log.last;
    r->gate.told_term = rlog_last_term(r);
}

enum status
rlog_found_members(const struct rlog_disk *disk, struct rlog_members *ret_members)
{
    const struct rlog_found *found = &disk->found;
    uint64_t i = found->count;
    *ret_members = found->snapshot.members;
    while (i > 0 && found->entries[i - 1].type != RLOG_CHANGE)
        i--;
    if (i == 0)
        return ret_members->count > 0 ? ST_OK : ST_NOTFOUND;
    struct rlog_entry e;
    enum status st = disk->ops->read(disk->ctx, found->first_index + i - 1, &e);
    if (st == ST_OK) {
        st = rlog_members_decode(rlog_payload(&e), ret_members);
        blob_put(e.blob);
    }
    return st;
}

static bool
is_sole_voter(struct rlog *r)
{
    struct rlog_members members;
    enum status st = rlog_found_members(r->disk, &members);
    if (st == ST_CORRUPT || st == ST_IO)
        rlog_fatal(r, st, "the entry with the members could not be read");
    return st == ST_OK && rlog_members_is_sole_voter(&members, r->options.id);
}

/* A start that raises the term. After a machine crash, because a leader never lowers a
 * match index within its term (raft-notes 6, lost tails). And of a sole voter, because
 * the library makes it leader again in the term that it led before: what it had sent
 * but not written would come a second time, with other contents. */
bool
rlog_raise_term(struct rlog *r, uint64_t *term, uint64_t *vote)
{
    if (*term == 0 || r->is_stopped)
        return !r->is_stopped;
    bool is_raised = (r->options.is_crashed || r->options.is_rejoining) &&
                     rlog_guard_is_on(RLOG_GUARD_GATE_BUMP);
    if (is_sole_voter(r))
        is_raised = true;
    if (!is_raised)
        return !r->is_stopped;
    (*term)++;
    *vote = 0;
    enum status st = r->disk->ops->write_term(r->disk->ctx, *term, *vote);
    if (st != ST_OK)
        rlog_fatal(r, st, "the raised term could not be written");
    return st == ST_OK;
}
