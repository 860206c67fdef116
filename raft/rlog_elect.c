/* When TIMEOUT fires, and the fast election.
 *
 * The library's own timer is E to 2E after the last word of the leader. When the
 * leader's process is known to be gone (its sockets refused or reset us) a follower
 * does not wait: it moves its Raft clock forward to raft_timeout() and fires. The
 * others do the same, each 0 to 20 ms later, because their links were reset too. The
 * first to fire is refused by those that still know a leader; the second finds a first
 * that knows none, and wins; and a candidate that was refused fires again 15 to 40 ms
 * later, a few times. Pre-vote (dissertation 9.6) keeps a node that merely lost its own
 * link from disturbing a living leader.
 *
 * A cluster that starts whole has no leader whose silence could be waited out: there
 * the best log stands as soon as a majority is connected.
 *
 * A silent machine resets nothing. There the first time-out is the library's; a
 * follower that is then asked for a pre-vote and has itself not heard the leader for
 * E/3 does not wait for its own timer, so that one round is enough (a leader's death
 * costs 2E and not 4E). */
#include "raft/rlog_int.h"

#include <assert.h>
#include <string.h>

#define RETRY_MIN_MS    15
#define RETRY_SPREAD_MS 26
#define LEFTOVER_MS     50 /* in sockets, after the leader's death is known */

static uint64_t
raft_clock(const struct rlog *r)
{
    return r->now_ms + r->clock_offset_ms;
}

void
rlog_fire_timeout(struct rlog *r)
{
    struct raft_event event;
    memset(&event, 0, sizeof event);
    event.type = RAFT_TIMEOUT;
    r->fired_ms = r->now_ms;
    rlog_step(r, &event, NULL);
}

void
rlog_fast_start(struct rlog *r, uint64_t wait_ms, uint32_t tries)
{
    if (r->gate.is_closed && !rlog_gate_may_stand(r))
        return;
    r->fast.until_ms = r->now_ms + r->options.election_ms;
    r->fast.next_ms = r->now_ms + wait_ms;
    r->fast.tries_left = tries;
    r->fast.leader = rlog_known_leader(r);
    r->fast.term = raft_current_term(&r->raft);
}

void
rlog_fast_stop(struct rlog *r)
{
    r->fast.until_ms = 0;
}

/* AppendEntries came. The dead leader's last ones may still be in a socket when its
 * end is known already; later ones, or another leader's, say that there is life. */
void
rlog_fast_heard(struct rlog *r, uint64_t peer)
{
    if (r->fast.until_ms == 0)
        return;
    uint64_t started_ms = r->fast.until_ms - r->options.election_ms;
    if (peer != r->fast.leader || r->now_ms >= started_ms + LEFTOVER_MS)
        rlog_fast_stop(r);
    else if (r->fast.next_ms < r->now_ms + RLOG_TIMEOUT_PAUSE_MS)
        r->fast.next_ms = r->now_ms + RLOG_TIMEOUT_PAUSE_MS;
}

void
rlog_fast_asked(struct rlog *r)
{
    if (r->raft.state != RAFT_FOLLOWER || rlog_known_leader(r) == 0 ||
        r->fast.until_ms != 0)
        return;
    uint64_t silent_ms = r->options.election_ms / 3;
    if (silent_ms < 3 * r->options.heartbeat_ms)
        silent_ms = 3 * r->options.heartbeat_ms;
    if (r->now_ms - r->leader_heard_ms >= silent_ms)
        rlog_fast_start(r, 0, 1);
}

void
rlog_fast_refused(struct rlog *r)
{
    if (r->raft.state == RAFT_CANDIDATE && r->fast.until_ms == 0)
        rlog_fast_start(r, 2 * RETRY_MIN_MS + rlog_random(r, RETRY_SPREAD_MS), 3);
}

/* A cluster that starts whole: nobody has a leader to wait for. Once a majority of the
 * voters has said where its log ends, the best of them (of equals the one with the
 * lowest id) stands at once, also one that had begun to stand when it was alone. Where
 * there is a leader after all, pre-vote refuses. */
void
rlog_fast_boot(struct rlog *r)
{
    uint64_t last_term = rlog_last_term(r);
    unsigned voters = 0;
    unsigned known = 0;
    bool is_voter = false;
    if (r->leader_heard_ms != 0 || rlog_is_leader(r) || rlog_known_leader(r) != 0 ||
        r->fast.until_ms != 0)
        return;
    for (unsigned i = 0; i < r->raft.configuration.n; i++) {
        const struct raft_server *s = &r->raft.configuration.servers[i];
        if (s->role != RAFT_VOTER)
            continue;
        voters++;
        if (s->id == r->options.id) {
            is_voter = true;
            continue;
        }
        const struct rlog_peer *p = rlog_peer_find(r, s->id);
        if (p == NULL || !p->has_position || !p->is_connected)
            continue;
        known++;
        const struct rlog_position *at = &p->position;
        if (at->last_term > last_term ||
            (at->last_term == last_term && at->last_index > r->log.last) ||
            (at->last_term == last_term && at->last_index == r->log.last &&
             s->id < r->options.id && !at->is_gated))
            return;
    }
    if (is_voter && known + 1 > voters / 2)
        rlog_fast_start(r, rlog_random(r, 21), 3);
}

/* True when there is nothing left to hurry for. */
static bool
fast_is_over(const struct rlog *r)
{
    if (r->fast.tries_left == 0 || r->now_ms >= r->fast.until_ms || rlog_is_leader(r))
        return true;
    /* Our vote of a new term is given to another, who is about to win. */
    uint64_t vote = raft_voted_for(&r->raft);
    return r->raft.state == RAFT_FOLLOWER && rlog_known_leader(r) == 0 && vote != 0 &&
           vote != r->options.id && raft_current_term(&r->raft) > r->fast.term;
}

static void
tick_fast(struct rlog *r)
{
    if (r->fast.until_ms == 0)
        return;
    if (fast_is_over(r) || !rlog_gate_may_stand(r)) {
        rlog_fast_stop(r);
        return;
    }
    if (r->now_ms < r->fast.next_ms)
        return;
    /* With entries still on their way to the disk the library would only wind up its
     * timer again. */
    if (r->is_installing || r->stored < r->log.last) {
        r->fast.next_ms = r->now_ms + RLOG_TIMEOUT_PAUSE_MS;
        return;
    }
    r->fast.tries_left--;
    r->fast.next_ms = r->now_ms + RETRY_MIN_MS + rlog_random(r, RETRY_SPREAD_MS);
    uint64_t due = raft_timeout(&r->raft);
    if (due > raft_clock(r))
        r->clock_offset_ms += due - raft_clock(r);
    rlog_fire_timeout(r);
}

void
rlog_tick_election(struct rlog *r)
{
    tick_fast(r);
    if (r->is_stopped || raft_clock(r) < raft_timeout(&r->raft))
        return;
    /* G8: for a node that takes no part the timeout stays in the past for ever. */
    if (r->fired_ms != 0 && r->now_ms < r->fired_ms + RLOG_TIMEOUT_PAUSE_MS &&
        rlog_guard_is_on(RLOG_GUARD_G8))
        return;
    if (!rlog_is_leader(r) && !rlog_gate_may_stand(r)) {
        r->fired_ms = r->now_ms; /* look again later */
        return;
    }
    rlog_fire_timeout(r);
}

uint64_t
rlog_election_deadline(const struct rlog *r)
{
    uint64_t due = raft_timeout(&r->raft);
    uint64_t at = due > r->clock_offset_ms ? due - r->clock_offset_ms : 0;
    if (at < r->fired_ms + RLOG_TIMEOUT_PAUSE_MS && rlog_guard_is_on(RLOG_GUARD_G8))
        at = r->fired_ms + RLOG_TIMEOUT_PAUSE_MS;
    if (r->fast.until_ms != 0 && r->fast.next_ms < at)
        at = r->fast.next_ms;
    return at;
}

void
rlog_peer_up(struct rlog *r, uint64_t peer, uint64_t now_ms)
{
    rlog_note_time(r, now_ms);
    if (r->is_stopped || peer == r->options.id)
        return;
    struct rlog_peer *p = rlog_peer(r, peer);
    p->is_connected = true;
    rlog_tell_position(r, peer, false);
    if (rlog_is_leader(r) && rlog_server(r, peer) != NULL) {
        /* So that the peer says at once where it is. */
        rlog_send_heartbeat(r, p);
        p->must_rewind = true;
        rlog_offer_resume(r, p);
    }
    rlog_fast_boot(r); /* what it said may have come before the link to it was up */
    rlog_settle(r);
}

void
rlog_peer_down(struct rlog *r, uint64_t peer, bool was_refused, uint64_t now_ms)
{
    rlog_note_time(r, now_ms);
    if (r->is_stopped || peer == r->options.id)
        return;
    struct rlog_peer *p = rlog_peer(r, peer);
    p->is_connected = p->is_open = false;
    p->must_rewind = true;
    /* The leader's process is gone: its own time-out is all that we would wait for. */
    if (was_refused && r->raft.state == RAFT_FOLLOWER && rlog_known_leader(r) == peer)
        rlog_fast_start(r, rlog_random(r, 21), 10);
    rlog_settle(r);
}
