/* Replica: what comes from the peers, and the time that they tell each other. */
#include "broker/broker.h"
#include "server/replica_int.h"

uint64_t
replica_wall_ms(const struct replica *r)
{
    return timekeeper_wall_ms(&r->time, r->own_wall_ms, r->now_ms);
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

void
replica_peer_up(struct replica *r, uint64_t peer, uint64_t now_ms)
{
    timekeeper_up(&r->time, peer);
    tell_time(r, peer); /* before the log has anything to say */
    rlog_peer_up(r->rlog, peer, now_ms);
}

void
replica_peer_down(struct replica *r, uint64_t peer, bool was_refused, uint64_t now_ms)
{
    timekeeper_down(&r->time, peer);
    rlog_peer_down(r->rlog, peer, was_refused, now_ms);
}

enum status
replica_receive(
    struct replica *r, uint64_t peer, uint8_t kind, struct blob *body, uint64_t now_ms)
{
    if (kind == TIMEKEEPER_FRAME)
        return timekeeper_hear(&r->time, peer, blob_slice(body), now_ms);
    return rlog_receive(r->rlog, peer, kind, body, now_ms);
}
