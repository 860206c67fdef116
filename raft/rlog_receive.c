/* Frames of peers to events. raft/wire.h has checked each frame by itself; here is what
 * depends on our state, and the guards of the input. */
#include "raft/rlog_int.h"

#include <assert.h>
#include <string.h>

/* Further above ours than any real cluster gets: the next election would wrap. */
#define TERM_AHEAD_MAX (UINT64_C(1) << 32)

static const char peer_address[] = "peer";

static bool
term_is_sane(const struct rlog *r, uint64_t term)
{
    return term <= raft_current_term(&r->raft) + TERM_AHEAD_MAX;
}

static void
feed(struct rlog *r,
     uint64_t peer,
     struct raft_message *m,
     const struct rlog_source *src)
{
    struct raft_event event;
    memset(&event, 0, sizeof event);
    m->server_id = peer;
    m->server_address = peer_address;
    event.type = RAFT_RECEIVE;
    event.receive.message = m;
    rlog_step(r, &event, src);
}

/* One AppendEntries with entries [from, from + count) of in_entries. */
static void
feed_append(struct rlog *r,
            uint64_t peer,
            const struct raft_append_entries *ae,
            uint32_t from,
            uint32_t count)
{
    struct raft_message m;
    memset(&m, 0, sizeof m);
    m.type = RAFT_APPEND_ENTRIES;
    m.append_entries = *ae;
    m.append_entries.entries = r->raft_entries;
    m.append_entries.n_entries = count;
    if (from > 0) {
        m.append_entries.prev_log_index = r->in_entries[from - 1].index;
        m.append_entries.prev_log_term = r->in_entries[from - 1].term;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct rlog_entry *e = &r->in_entries[from + i];
        struct raft_entry *out = &r->raft_entries[i];
        out->term = e->term;
        out->type = (enum raft_entry_type)e->type;
        out->batch = rlog_heap_batch();
        out->buf.base = e->size > 0 ? e->blob->data + e->offset : rlog_heap_batch();
        out->buf.len = e->size > 0 ? e->size : RLOG_NO_PAYLOAD_BYTES;
    }
    struct rlog_source src = {
        .raft_entries = r->raft_entries,
        .entries = r->in_entries + from,
        .is_stale = ae->term < raft_current_term(&r->raft),
    };
    feed(r, peer, &m, &src);
}

/* G6: entries from below our first one: the library would take them as new ones at the
 * end of the log. What we have below is committed, so the leader has it too; where both
 * know that, we say so, and the leader goes on from there. */
static bool
is_below_log(struct rlog *r, uint64_t peer, const struct raft_append_entries *ae)
{
    if (ae->n_entries == 0 || ae->prev_log_index + 1 >= r->log.first ||
        !rlog_guard_is_on(RLOG_GUARD_G6))
        return false;
    uint64_t known = ae->leader_commit < r->commit ? ae->leader_commit : r->commit;
    if (known > r->stored)
        known = r->stored;
    if (ae->term == raft_current_term(&r->raft) && rlog_known_leader(r) == peer &&
        known > ae->prev_log_index && !r->is_installing)
        rlog_send_result(r, peer, known);
    return true;
}

/* Terms never go down along a log. So a leader that shows, at or below our snapshot, a
 * term above that of the snapshot's last entry does not have that entry, which was
 * committed here. Without this its messages would be dropped (G6) for as long as its
 * log is the shorter one. */
static bool
is_behind_snapshot(const struct rlog *r, const struct raft_append_entries *ae)
{
    const struct rlog_snapshot_meta *s = &r->snapshot;
    uint64_t at = ae->prev_log_index + ae->n_entries;
    if (at > s->index)
        at = s->index;
    if (at < ae->prev_log_index || !rlog_guard_is_on(RLOG_GUARD_AHEAD))
        return false;
    uint64_t term = at == ae->prev_log_index
                        ? ae->prev_log_term
                        : r->in_entries[at - ae->prev_log_index - 1].term;
    return term > s->term || (at == s->index && term != s->term);
}

static enum status
receive_append(struct rlog *r, uint64_t peer, struct blob *frame)
{
    struct raft_append_entries ae;
    uint64_t stamp_ms;
    enum status st = rlog_wire_get_append(frame, &ae, &stamp_ms, r->in_entries);
    uint64_t term = raft_current_term(&r->raft);
    if (st != ST_OK || !term_is_sane(r, ae.term) ||
        (rlog_is_leader(r) && ae.term == term))
        return ST_INVALID;
    if (ae.term >= term) {
        r->leader_stamp_ms = stamp_ms;
        r->leader_heard_ms = r->now_ms;
        rlog_fast_heard(r, peer);
    }
    if (ae.term >= term && is_behind_snapshot(r, &ae)) {
        rlog_fatal(r, ST_CONFLICT, "the snapshot here conflicts with the leader's log");
        return ST_OK;
    }
    if (is_below_log(r, peer, &ae))
        return ST_OK;
    /* G3: the library records a change at the index of the first new entry of its
     * message; so each change begins a message of its own. */
    uint32_t from = 0;
    do {
        uint32_t end = from + 1;
        while (end < ae.n_entries && (r->in_entries[end].type != RLOG_CHANGE ||
                                      !rlog_guard_is_on(RLOG_GUARD_G3)))
            end++;
        if (end > ae.n_entries)
            end = ae.n_entries;
        feed_append(r, peer, &ae, from, end - from);
        from = end;
    } while (from < ae.n_entries && !r->is_stopped);
    if (!r->is_stopped && ae.term >= term)
        rlog_gate_heard(r, ae.term, ae.leader_commit);
    return ST_OK;
}

/* G4: rejections below what the peer had confirmed come late or twice, or the peer has
 * trimmed its log; the library would move next below match and stop. False: drop it. */
static bool
bound_rejection(struct rlog *r, uint64_t peer, struct raft_append_entries_result *m)
{
    raft_index match = 0;
    if (m->rejected == 0 || !rlog_guard_is_on(RLOG_GUARD_G4) ||
        raft_match_index(&r->raft, peer, &match) != 0 || m->last_log_index >= match)
        return true;
    if (m->rejected <= match)
        return false;
    m->last_log_index = match;
    return true;
}

static void
note_answer(struct rlog *r,
            struct rlog_peer *p,
            const struct raft_append_entries_result *m,
            uint64_t stamp_ms)
{
    if (stamp_ms > p->heard_ms && stamp_ms <= r->now_ms)
        p->heard_ms = stamp_ms;
    if (m->rejected != 0 || m->last_log_index <= p->acked)
        return;
    p->acked = m->last_log_index;
    p->progress_ms = r->now_ms;
    if (p->sent < p->acked)
        p->sent = p->acked;
    if (p->want < p->sent)
        p->want = p->sent;
}

static enum status
receive_append_result(struct rlog *r, uint64_t peer, struct slice body)
{
    struct raft_message m;
    uint64_t stamp_ms;
    uint8_t disk;
    memset(&m, 0, sizeof m);
    m.type = RAFT_APPEND_ENTRIES_RESULT;
    struct raft_append_entries_result *result = &m.append_entries_result;
    if (rlog_wire_get_append_result(body, result, &stamp_ms, &disk) != ST_OK ||
        !term_is_sane(r, result->term))
        return ST_INVALID;
    if (!rlog_is_leader(r))
        return ST_OK;
    struct rlog_peer *p = rlog_peer(r, peer);
    struct rlog_source src = {0};
    if (result->term == raft_current_term(&r->raft)) {
        /* Nobody can have stored more of our term than we made. */
        if (result->rejected == 0 && result->last_log_index > r->log.last &&
            rlog_guard_is_on(RLOG_GUARD_G1))
            return ST_INVALID;
        p->has_told = true;
        p->is_full = (disk & RLOG_WIRE_FULL) != 0;
        p->is_slow = (disk & RLOG_WIRE_SLOW) != 0;
        note_answer(r, p, result, stamp_ms);
        if (!bound_rejection(r, peer, result))
            return ST_OK;
        src.rejecting = result->rejected != 0 ? peer : 0;
    }
    feed(r, peer, &m, &src);
    rlog_pump(r, p);
    return ST_OK;
}

/* Who may vote is for the candidate to know: it asks the voters of its own newest
 * configuration, which may have one that we have not got. The library refuses a vote
 * by ours (Raft 4.1 says otherwise); a cluster whose last change made this node a voter
 * would wait for it for ever. Nor does the library let a node without a vote forget a
 * silent leader. */
static void
feed_vote(struct rlog *r, uint64_t peer, struct raft_message *m)
{
    struct raft_server *self = rlog_server(r, r->options.id);
    if (self == NULL || self->role == RAFT_VOTER ||
        !rlog_guard_is_on(RLOG_GUARD_STAND_BY)) {
        feed(r, peer, m, NULL);
        return;
    }
    int role = self->role;
    if (r->now_ms - r->leader_heard_ms >= r->options.election_ms)
        m->request_vote.disrupt_leader = true;
    self->role = RAFT_VOTER;
    feed(r, peer, m, NULL); /* a vote changes no configuration */
    self->role = role;
}

static enum status
receive_vote(struct rlog *r, uint64_t peer, struct slice body)
{
    struct raft_message m;
    memset(&m, 0, sizeof m);
    m.type = RAFT_REQUEST_VOTE;
    if (rlog_wire_get_vote(body, &m.request_vote) != ST_OK ||
        !term_is_sane(r, m.request_vote.term) || m.request_vote.candidate_id != peer)
        return ST_INVALID;
    if (!rlog_gate_may_vote(r, m.request_vote.last_log_term,
                            m.request_vote.last_log_index))
        return ST_OK;
    if (rlog_gate_misses_leader(r))
        m.request_vote.disrupt_leader = true;
    feed_vote(r, peer, &m);
    if (m.request_vote.pre_vote && !r->is_stopped)
        rlog_fast_asked(r);
    return ST_OK;
}

static enum status
receive_vote_result(struct rlog *r, uint64_t peer, struct slice body)
{
    struct raft_message m;
    memset(&m, 0, sizeof m);
    m.type = RAFT_REQUEST_VOTE_RESULT;
    if (rlog_wire_get_vote_result(body, &m.request_vote_result) != ST_OK ||
        !term_is_sane(r, m.request_vote_result.term))
        return ST_INVALID;
    /* G11: in other states the library reads a candidate's fields that are not there.
     */
    if (r->raft.state != RAFT_CANDIDATE && rlog_guard_is_on(RLOG_GUARD_G11))
        return ST_OK;
    /* A pre-vote for a term that we never asked for: the library asserts on it. */
    if (m.request_vote_result.vote_granted &&
        m.request_vote_result.term > raft_current_term(&r->raft) + 1)
        return ST_INVALID;
    feed(r, peer, &m, NULL);
    if (m.request_vote_result.pre_vote && !m.request_vote_result.vote_granted &&
        !r->is_stopped)
        rlog_fast_refused(r);
    return ST_OK;
}

static enum status
receive_timeout_now(struct rlog *r, uint64_t peer, struct slice body)
{
    struct raft_message m;
    memset(&m, 0, sizeof m);
    m.type = RAFT_TIMEOUT_NOW;
    if (rlog_wire_get_timeout_now(body, &m.timeout_now) != ST_OK ||
        !term_is_sane(r, m.timeout_now.term))
        return ST_INVALID;
    if (r->gate.is_closed && rlog_guard_is_on(RLOG_GUARD_GATE))
        return ST_OK;
    feed(r, peer, &m, NULL);
    return ST_OK;
}

static enum status
receive_position(struct rlog *r, uint64_t peer, struct slice body)
{
    struct rlog_position position;
    if (rlog_wire_get_position(body, &position) != ST_OK)
        return ST_INVALID;
    rlog_gate_position(r, rlog_peer(r, peer), &position);
    return ST_OK;
}

static enum status
receive_offer(struct rlog *r, uint64_t peer, struct slice body)
{
    struct rlog_snapshot_meta meta;
    uint64_t term;
    if (rlog_wire_get_offer(body, &term, &meta) != ST_OK || !term_is_sane(r, term) ||
        (rlog_is_leader(r) && term == raft_current_term(&r->raft)))
        return ST_INVALID;
    rlog_receive_offer(r, peer, term, &meta);
    return ST_OK;
}

static enum status
receive_chunk(struct rlog *r, uint64_t peer, struct blob *frame)
{
    struct rlog_chunk chunk;
    if (rlog_wire_get_chunk(blob_slice(frame), &chunk) != ST_OK)
        return ST_INVALID;
    rlog_receive_chunk(r, peer, &chunk, frame);
    return ST_OK;
}

static enum status
receive_snapshot_ack(struct rlog *r, uint64_t peer, struct slice body)
{
    struct rlog_snapshot_ack ack;
    if (rlog_wire_get_snapshot_ack(body, &ack) != ST_OK)
        return ST_INVALID;
    rlog_offer_answered(r, rlog_peer(r, peer), &ack);
    return ST_OK;
}

static enum status
receive(struct rlog *r, uint64_t peer, enum rlog_frame_kind kind, struct blob *frame)
{
    struct slice body = blob_slice(frame);
    switch (kind) {
    case RLOG_FRAME_APPEND:
        return receive_append(r, peer, frame);
    case RLOG_FRAME_APPEND_RESULT:
        return receive_append_result(r, peer, body);
    case RLOG_FRAME_VOTE:
        return receive_vote(r, peer, body);
    case RLOG_FRAME_VOTE_RESULT:
        return receive_vote_result(r, peer, body);
    case RLOG_FRAME_TIMEOUT_NOW:
        return receive_timeout_now(r, peer, body);
    case RLOG_FRAME_POSITION:
        return receive_position(r, peer, body);
    case RLOG_FRAME_SNAPSHOT_OFFER:
        return receive_offer(r, peer, body);
    case RLOG_FRAME_SNAPSHOT_CHUNK:
        return receive_chunk(r, peer, frame);
    case RLOG_FRAME_SNAPSHOT_ACK:
        return receive_snapshot_ack(r, peer, body);
    }
    return ST_INVALID; /* a kind that this version does not know */
}

enum status
rlog_receive(
    struct rlog *r, uint64_t peer, uint8_t kind, struct blob *frame, uint64_t now_ms)
{
    rlog_note_time(r, now_ms);
    if (r->is_stopped)
        return ST_CLOSED;
    if (peer == 0 || peer == r->options.id)
        return ST_INVALID;
    enum status st = receive(r, peer, (enum rlog_frame_kind)kind, frame);
    rlog_settle(r);
    return st;
}
