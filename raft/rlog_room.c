/* Room and speed of the members' disks.
 *
 * A disk that was slow counts as slow for a while: leadership that went away because of
 * it does not come back at once. */
#include "raft/rlog_room.h"

#include "raft/rlog_int.h"

#define SLOW_MS      1000 /* a single write or sync */
#define SLOW_HOLD_MS 30000
#define ROUNDS       3

void
rlog_look_at_disk(struct rlog *r)
{
    struct rlog_disk_health health = {0};
    if (r->disk->ops->health == NULL || r->looked_ms == r->now_ms)
        return;
    r->looked_ms = r->now_ms;
    r->disk->ops->health(r->disk->ctx, &health);
    r->is_full = health.is_full;
    if (health.busy_ms >= SLOW_MS) {
        r->slow_until_ms = r->now_ms + SLOW_HOLD_MS;
        r->slow_ms = health.busy_ms;
    }
    if (!r->is_full && !rlog_is_slow(r))
        r->ill_since_ms = 0;
    else if (r->ill_since_ms == 0)
        r->ill_since_ms = r->now_ms;
}

bool
rlog_is_full(const struct rlog *r)
{
    return r->is_full;
}

bool
rlog_is_slow(const struct rlog *r)
{
    return r->now_ms < r->slow_until_ms;
}

uint64_t
rlog_kept_bytes(const struct rlog *r)
{
    return rlog_entries_bytes(&r->log, r->log.last) -
           rlog_entries_bytes(&r->log, r->log.first - 1);
}

uint64_t
rlog_slow_ms(const struct rlog *r)
{
    return rlog_is_slow(r) ? r->slow_ms : 0;
}

bool
rlog_has_room(const struct rlog *r)
{
    unsigned voters = 0;
    unsigned full = 0;
    unsigned able = 0;
    for (unsigned i = 0; i < r->raft.configuration.n; i++) {
        const struct raft_server *s = &r->raft.configuration.servers[i];
        if (s->role != RAFT_VOTER)
            continue;
        const struct rlog_peer *p = rlog_peer_look(r, s->id);
        bool is_self = s->id == r->options.id;
        voters++;
        if (is_self ? r->is_full : p != NULL && p->is_full)
            full++;
        else if (is_self || (p != NULL && p->is_connected))
            able++;
    }
    return full == 0 || able > voters / 2;
}

uint64_t
rlog_better_leader(const struct rlog *r)
{
    /* What strikes all at once has been told by all before anybody moves. */
    if (r->is_stopped || !rlog_is_leader(r) || r->handover != RLOG_HANDOVER_NONE ||
        r->ill_since_ms == 0 ||
        r->now_ms < r->ill_since_ms + ROUNDS * r->options.heartbeat_ms)
        return 0;
    uint64_t target = rlog_choose_target(r, 0);
    const struct rlog_peer *p = target == 0 ? NULL : rlog_peer_look(r, target);
    raft_index match = 0;
    bool is_better = p != NULL && p->has_told && !p->is_full && !p->is_slow &&
                     raft_match_index(&r->raft, target, &match) == 0 &&
                     match >= r->commit;
    return is_better ? target : 0;
}
