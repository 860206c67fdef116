/* Messages of the Raft library to frames.
 *
 * Votes and results go out as they are, but for the fields that guards G1 and G10
 * correct. AppendEntries go through a cursor per peer. The library counts entries as
 * sent when it emits the message (want); we hand them to the transport in frames of
 * bounded size while the peer's window of unacknowledged bytes has room (sent), and the
 * rest as acknowledgements come in. R6: nothing is shortened: want stays, and nothing
 * behind sent is claimed to have been sent, heartbeats included.
 *
 * R5: what waits between sent and want is only an index range. That is safe because a
 * leader never replaces entries of its own log: the range is dropped when the role or
 * the term changes. */
#include "raft/rlog_int.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

void
rlog_send_frame(struct rlog *r,
                uint64_t peer,
                enum rlog_frame_kind kind,
                const struct rlog_entry *entries,
                uint32_t count)
{
    struct rlog_frame frame = {
        .kind = (uint8_t)kind,
        .head = slice_of(r->head.data, r->head.size),
        .entries = entries,
        .count = count,
    };
    r->callbacks.send_cb(r->callbacks.ctx, peer, &frame);
}

void
rlog_reset_cursors(struct rlog *r)
{
    if (!rlog_guard_is_on(RLOG_GUARD_R5))
        return;
    for (int i = 0; i < RLOG_PEERS_MAX; i++) {
        struct rlog_peer *p = &r->peers[i];
        p->sent = p->want = p->acked = 0;
        p->must_rewind = true;
        p->heard_ms = 0;
        p->has_told = p->is_full = p->is_slow = false;
        p->commit_sent = 0;
        p->progress_ms = r->now_ms;
    }
}

static void
send_append(struct rlog *r,
            struct rlog_peer *p,
            uint64_t prev,
            uint64_t prev_term,
            const struct rlog_entry *entries,
            uint32_t count)
{
    /* The commit index is bounded by the end of this message, so that an old library
     * on the other side never moves its own back (G5). */
    uint64_t end = prev + count;
    struct raft_append_entries m = {
        .term = raft_current_term(&r->raft),
        .prev_log_index = prev,
        .prev_log_term = prev_term,
        .leader_commit = r->commit < end ? r->commit : end,
    };
    bytes_clear(&r->head);
    rlog_wire_put_append(&r->head, &m, r->now_ms, entries, count);
    p->sent_ms = r->now_ms;
    p->commit_sent = m.leader_commit;
    rlog_send_frame(r, p->id, RLOG_FRAME_APPEND, entries, count);
}

/* The last index that may be sent to a peer now. An entry that takes its vote is kept
 * from it until it is committed, which it can be without the peer: by its own newest
 * configuration the peer would not stand, and were it the only one to have the entry
 * when the leader is lost, it would refuse all the others and nobody could be elected.
 */
static uint64_t
send_limit(const struct rlog *r, const struct rlog_peer *p)
{
    uint64_t change = r->raft.configuration_uncommitted_index;
    if (change == 0 || p->want < change || !rlog_guard_is_on(RLOG_GUARD_DEMOTED))
        return p->want;
    const struct rlog_member *was = rlog_members_find(&r->members, p->id);
    if (was == NULL || !was->is_voter)
        return p->want;
    const struct raft_server *is = rlog_server(r, p->id);
    return is != NULL && is->role == RAFT_VOTER ? p->want : change - 1;
}

/* As many entries behind p->sent, up to limit, as one frame takes: by bytes, at least
 * one, and a membership change alone (G3). Returns how many, with references. */
static uint32_t
collect(struct rlog *r, const struct rlog_peer *p, uint64_t limit)
{
    uint32_t count = 0;
    uint64_t bytes = 0;
    while (count < RLOG_INFLIGHT_ENTRIES && p->sent + count < limit) {
        uint64_t index = p->sent + count + 1;
        if (!rlog_entries_has(&r->log, index))
            break;
        const struct rlog_row *row = rlog_entries_row(&r->log, index);
        if (count > 0 &&
            (bytes + row->size > LIMIT_AE_BYTES || row->type == RLOG_CHANGE))
            break;
        if (!rlog_load_entry(r, index, &r->send_entries[count]))
            break;
        bytes += row->size;
        count++;
        if (row->type == RLOG_CHANGE && rlog_guard_is_on(RLOG_GUARD_G3))
            break;
    }
    return count;
}

static uint64_t
unacknowledged(const struct rlog *r, const struct rlog_peer *p)
{
    if (p->sent <= p->acked)
        return 0;
    return rlog_entries_bytes(&r->log, p->sent) - rlog_entries_bytes(&r->log, p->acked);
}

void
rlog_pump(struct rlog *r, struct rlog_peer *p)
{
    uint64_t limit = send_limit(r, p);
    while (p->sent < limit && rlog_is_leader(r) && !r->is_stopped) {
        uint64_t out = unacknowledged(r, p);
        if (out > 0 && out >= RLOG_PEER_WINDOW_BYTES)
            return;
        uint64_t prev_term = rlog_term_of(r, p->sent);
        uint32_t count = 0;
        if (p->sent == 0 || prev_term != 0)
            count = collect(r, p, limit);
        if (count == 0) {
            /* Trimmed meanwhile: the library will send a snapshot. */
            p->sent = p->want;
            return;
        }
        if (!r->is_stopped)
            send_append(r, p, p->sent, prev_term, r->send_entries, count);
        for (uint32_t i = 0; i < count; i++)
            blob_put(r->send_entries[i].blob);
        p->sent += count;
        /* R6's mutant: what did not fit is forgotten. */
        if (!rlog_guard_is_on(RLOG_GUARD_R6))
            p->sent = p->want;
    }
}

/* An empty AppendEntries at what was really sent. */
void
rlog_send_heartbeat(struct rlog *r, struct rlog_peer *p)
{
    uint64_t prev = p->sent;
    uint64_t term = rlog_term_of(r, prev);
    if (term == 0)
        prev = 0;
    send_append(r, p, prev, term, NULL, 0);
}

static void
send_entries(struct rlog *r,
             struct rlog_peer *p,
             const struct raft_append_entries *m,
             const struct rlog_source *src)
{
    uint64_t end = m->prev_log_index + m->n_entries;
    uint64_t sent_before = p->sent;
    bool is_stuck =
        p->sent > p->acked && r->now_ms - p->progress_ms >= r->options.election_ms;
    /* The library probes by sending the same range again at every heartbeat. Over a
     * link that keeps order that is only needed when the peer said no, the link was
     * down, or nothing came back for long. */
    if (p->must_rewind || src->rejecting == p->id || m->prev_log_index > p->want ||
        is_stuck) {
        p->must_rewind = false;
        p->sent = sent_before = m->prev_log_index;
        p->want = end;
        p->progress_ms = r->now_ms;
        if (p->acked > p->sent)
            p->acked = p->sent;
    } else if (end > p->want) {
        p->want = end;
    }
    rlog_pump(r, p);
    if (p->sent != sent_before || r->is_stopped)
        return;
    /* With a full window the library emits an empty message at every submit. */
    if (src->is_submit && r->now_ms - p->sent_ms < r->options.heartbeat_ms / 2)
        return;
    if (m->prev_log_index <= p->sent)
        send_append(r, p, m->prev_log_index, m->prev_log_term, NULL, 0);
    else
        rlog_send_heartbeat(r, p);
}

static uint8_t
disk_flags(const struct rlog *r)
{
    return (uint8_t)((r->is_full ? RLOG_WIRE_FULL : 0) |
                     (rlog_is_slow(r) ? RLOG_WIRE_SLOW : 0));
}

void
rlog_send_result(struct rlog *r, uint64_t peer, uint64_t last_log_index)
{
    struct raft_append_entries_result m = {
        .version = 2,
        .term = raft_current_term(&r->raft),
        .last_log_index = last_log_index,
    };
    bytes_clear(&r->head);
    rlog_wire_put_append_result(&r->head, &m, r->leader_stamp_ms, disk_flags(r));
    rlog_send_frame(r, peer, RLOG_FRAME_APPEND_RESULT, NULL, 0);
}

static void
send_append_result(struct rlog *r,
                   const struct raft_message *message,
                   const struct rlog_source *src)
{
    struct raft_append_entries_result m = message->append_entries_result;
    /* G1: the answer to a message of an older term carries an index that the library
     * never set. Nothing was accepted; our term is all that the sender needs. */
    if (src->is_stale && rlog_guard_is_on(RLOG_GUARD_G1))
        m.rejected = m.last_log_index = 0;
    bytes_clear(&r->head);
    rlog_wire_put_append_result(&r->head, &m, src->is_stale ? 0 : r->leader_stamp_ms,
                                disk_flags(r));
    rlog_send_frame(r, message->server_id, RLOG_FRAME_APPEND_RESULT, NULL, 0);
}

static void
send_vote_result(struct rlog *r, const struct raft_message *message)
{
    struct raft_request_vote_result m = message->request_vote_result;
    /* G10: a pre-vote refusal echoes the candidate's term; with ours it learns that it
     * is behind and catches up. */
    if (m.pre_vote && !m.vote_granted && m.term < raft_current_term(&r->raft) &&
        rlog_guard_is_on(RLOG_GUARD_G10))
        m.term = raft_current_term(&r->raft);
    rlog_wire_put_vote_result(&r->head, &m);
    rlog_send_frame(r, message->server_id, RLOG_FRAME_VOTE_RESULT, NULL, 0);
}

void
rlog_send_message(struct rlog *r,
                  const struct raft_message *m,
                  const struct rlog_source *src)
{
    assert(m->server_id != 0 && m->server_id != r->options.id);
    bytes_clear(&r->head);
    switch (m->type) {
    case RAFT_APPEND_ENTRIES:
        send_entries(r, rlog_peer(r, m->server_id), &m->append_entries, src);
        break;
    case RAFT_APPEND_ENTRIES_RESULT:
        send_append_result(r, m, src);
        break;
    case RAFT_REQUEST_VOTE:
        rlog_wire_put_vote(&r->head, &m->request_vote);
        rlog_send_frame(r, m->server_id, RLOG_FRAME_VOTE, NULL, 0);
        break;
    case RAFT_REQUEST_VOTE_RESULT:
        send_vote_result(r, m);
        break;
    case RAFT_INSTALL_SNAPSHOT:
        rlog_offer_start(r, rlog_peer(r, m->server_id), m->install_snapshot.last_index);
        break;
    case RAFT_TIMEOUT_NOW:
        rlog_wire_put_timeout_now(&r->head, &m->timeout_now);
        rlog_send_frame(r, m->server_id, RLOG_FRAME_TIMEOUT_NOW, NULL, 0);
        break;
    }
}
