/* Replica: what comes from the peers, and what they tell each other: the time, and what
 * they have applied. */
#include "broker/broker.h"
#include "raft/rlog_chain.h"
#include "server/replica_int.h"

#include <stdio.h>

uint64_t
replica_wall_ms(const struct replica *r)
{
    return timekeeper_wall_ms(&r->time, r->own_wall_ms, r->now_ms);
}

uint64_t
replica_latest_wall_ms(const struct replica *r)
{
    return replica_wall_ms(r) + timekeeper_doubt_ms(&r->time);
}

uint64_t
replica_cluster_ms(const struct replica *r)
{
    return timekeeper_cluster_ms(&r->time, r->state->stamp_ms, r->state->behind_secs,
                                 replica_wall_ms(r), r->now_ms);
}

/* A leader's time is that of its last tick, as now_ms is. */
static void
tell_time(struct replica *r, uint64_t peer)
{
    uint8_t body[TIMEKEEPER_FRAME_BYTES];
    bool is_leading = r->phase == PHASE_LEADING;
    uint64_t time_ms = 0;
    uint64_t term = is_leading ? r->lead_term : r->time.known_term;
    if (is_leading)
        time_ms = broker_cluster_time_ms(r->broker);
    else if (r->time.known_ms != 0)
        time_ms = replica_cluster_ms(r);
    timekeeper_put(body, r->own_wall_ms, time_ms, term, is_leading);
    const struct rlog_frame frame = {.kind = TIMEKEEPER_FRAME,
                                     .head = slice_of(body, sizeof body)};
    r->callbacks.send_cb(r->callbacks.ctx, peer, &frame);
}

void
replica_tell_time(struct replica *r)
{
    if (r->time.sent_ms != 0 && r->now_ms - r->time.sent_ms < TIMEKEEPER_EVERY_MS)
        return;
    r->time.sent_ms = r->now_ms;
    for (uint32_t i = 0; i < r->time.count; i++)
        tell_time(r, r->time.peers[i].id);
}

static void
tell_chain(struct replica *r, uint64_t peer)
{
    uint8_t body[AGREEMENT_FRAME_BYTES];
    agreement_put(&r->agreement, r->rlog, body);
    const struct rlog_frame frame = {.kind = AGREEMENT_FRAME,
                                     .head = slice_of(body, sizeof body)};
    r->callbacks.send_cb(r->callbacks.ctx, peer, &frame);
}

static void
say_difference(struct replica *r, const struct agreement_peer *p)
{
    char fields[200];
    uint64_t own = 0;
    (void)rlog_chain_at(r->rlog, p->differs_index, &own);
    (void)snprintf(fields, sizeof fields,
                   "peer=%llu index=%llu chain=%016llx its_chain=%016llx "
                   "consequence=\"whom a majority contradicts ends\"",
                   (unsigned long long)p->id, (unsigned long long)p->differs_index,
                   (unsigned long long)own, (unsigned long long)p->chain);
    r->callbacks.event_cb(r->callbacks.ctx, "chain.differs", fields);
}

static void
end_disowned(struct replica *r, enum status why, const char *what)
{
    r->is_disowned = true;
    r->callbacks.fatal_cb(r->callbacks.ctx, why, what);
}

void
replica_watch_agreement(struct replica *r)
{
    struct agreement *a = &r->agreement;
    struct agreement_peer peer;
    if (r->is_disowned)
        return;
    agreement_compare(a, r->rlog, r->now_ms);
    while (agreement_take_news(a, &peer)) /* bound: the peers */
        say_difference(r, &peer);
    switch (agreement_verdict(a, r->rlog, r->now_ms)) {
    case AGREEMENT_GOES_ON:
        break;
    case AGREEMENT_OUTVOTED:
        end_disowned(r, ST_CONFLICT,
                     "a majority has applied something else than this node");
        return;
    case AGREEMENT_UNCLEAR:
        end_disowned(r, ST_CORRUPT,
                     "this node and the leader have applied different entries, and no "
                     "majority says who is right; in a new cluster initial-cluster is "
                     "not the same on all nodes; else compare their chain (cluster "
                     "status) and replace the wrong one");
        return;
    }
    if (a->sent_ms != 0 && r->now_ms - a->sent_ms < AGREEMENT_EVERY_MS)
        return;
    a->sent_ms = r->now_ms;
    for (uint32_t i = 0; i < a->count; i++)
        tell_chain(r, a->peers[i].id);
}

void
replica_peer_up(struct replica *r, uint64_t peer, uint64_t now_ms)
{
    timekeeper_up(&r->time, peer);
    tell_time(r, peer); /* before the log has anything to say */
    agreement_up(&r->agreement, peer);
    tell_chain(r, peer);
    rlog_peer_up(r->rlog, peer, now_ms);
}

void
replica_peer_down(struct replica *r, uint64_t peer, bool was_refused, uint64_t now_ms)
{
    timekeeper_down(&r->time, peer);
    agreement_down(&r->agreement, peer);
    rlog_peer_down(r->rlog, peer, was_refused, now_ms);
}

enum status
replica_receive(
    struct replica *r, uint64_t peer, uint8_t kind, struct blob *body, uint64_t now_ms)
{
    timekeeper_seen(&r->time, now_ms);
    if (kind == TIMEKEEPER_FRAME)
        return timekeeper_hear(&r->time, peer, blob_slice(body), now_ms);
    if (kind == AGREEMENT_FRAME)
        return agreement_hear(&r->agreement, peer, blob_slice(body));
    return rlog_receive(r->rlog, peer, kind, body, now_ms);
}
