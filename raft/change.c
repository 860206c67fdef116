/* Change: see change.h. */
#include "raft/change.h"

#include "raft/members.h"

#include <string.h>

static const struct rlog_peer_status *
find_peer(const struct rlog_status *leader, uint64_t id)
{
    for (uint32_t i = 0; i < leader->peer_count; i++)
        if (leader->peers[i].id == id)
            return &leader->peers[i];
    return NULL;
}

/* Up, and it has the members that are in force. */
static bool
is_with_us(const struct rlog_status *leader, uint64_t now_index, uint64_t id)
{
    const struct rlog_peer_status *p = find_peer(leader, id);
    if (id == leader->id)
        return true;
    return p != NULL && p->is_connected && p->match_index >= now_index;
}

/* Would next have a majority of its voters with us? */
static bool
can_go_on(const struct rlog_status *leader,
          uint64_t now_index,
          const struct rlog_members *next)
{
    uint32_t voters = 0;
    uint32_t with_us = 0;
    for (uint32_t i = 0; i < next->count; i++) {
        if (!next->members[i].is_voter)
            continue;
        voters++;
        with_us += is_with_us(leader, now_index, next->members[i].id);
    }
    return with_us > voters / 2;
}

/* All that are up have the members that are in force. */
static bool
has_settled(const struct rlog_status *leader, uint64_t now_index)
{
    for (uint32_t i = 0; i < leader->peer_count; i++)
        if (leader->peers[i].is_connected && leader->peers[i].is_voter &&
            leader->peers[i].match_index < now_index)
            return false;
    return leader->commit_index >= now_index;
}

static struct rlog_member *
find_mutable(struct rlog_members *m, uint64_t id)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (m->members[i].id == id)
            return &m->members[i];
    return NULL;
}

static void
drop(struct rlog_members *m, uint64_t id)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->count; i++)
        if (m->members[i].id != id)
            m->members[count++] = m->members[i];
    m->count = count;
}

static bool
set_address(struct rlog_member *member, const char *address)
{
    size_t size = strlen(address);
    if (size == 0 || size >= sizeof member->address)
        return false;
    memset(member->address, 0, sizeof member->address);
    memcpy(member->address, address, size);
    return true;
}

static enum rlog_change_state
add_standby(const struct rlog_change *change, struct rlog_members *next)
{
    struct rlog_member member = {.id = change->id};
    if (next->count == RLOG_MEMBERS_MAX || change->address == NULL ||
        !set_address(&member, change->address))
        return RLOG_CHANGE_IMPOSSIBLE;
    next->members[next->count++] = member;
    rlog_members_sort(next);
    return RLOG_CHANGE_STEP;
}

static enum rlog_change_state
promote(const struct rlog_status *leader,
        uint64_t now_index,
        struct rlog_member *member,
        struct rlog_members *next)
{
    const struct rlog_peer_status *p = find_peer(leader, member->id);
    if (p == NULL || !p->is_connected)
        return RLOG_CHANGE_APART;
    /* With its gate closed it would vote for nobody: were it the one that is needed
     * after the leader's end, nobody could be elected. */
    if (p->match_index < now_index ||
        p->match_index + RLOG_CHANGE_NEAR < leader->last_index || p->is_gated)
        return RLOG_CHANGE_CATCHING;
    member->is_voter = true;
    return can_go_on(leader, now_index, next) ? RLOG_CHANGE_STEP : RLOG_CHANGE_TOO_FEW;
}

static enum rlog_change_state
bring_in(const struct rlog_status *leader,
         uint64_t now_index,
         const struct rlog_change *change,
         struct rlog_members *next)
{
    struct rlog_member *member = find_mutable(next, change->id);
    if (member == NULL)
        return add_standby(change, next);
    if (change->address != NULL && strcmp(member->address, change->address) != 0)
        return set_address(member, change->address) ? RLOG_CHANGE_STEP
                                                    : RLOG_CHANGE_IMPOSSIBLE;
    if (member->is_voter || change->wish == RLOG_WISH_STANDBY)
        return RLOG_CHANGE_DONE;
    return promote(leader, now_index, member, next);
}

static enum rlog_change_state
take_out(const struct rlog_status *leader,
         uint64_t now_index,
         const struct rlog_change *change,
         struct rlog_members *next)
{
    struct rlog_member *member = find_mutable(next, change->id);
    if (member == NULL)
        return RLOG_CHANGE_DONE;
    if (member->is_voter && rlog_members_voters(next) == 1)
        return RLOG_CHANGE_IMPOSSIBLE;
    if (change->id == leader->id)
        return RLOG_CHANGE_LEADS;
    const struct rlog_peer_status *p = find_peer(leader, change->id);
    if (member->is_voter && p != NULL && p->is_connected)
        member->is_voter = false; /* it is to know that it has no vote */
    else
        drop(next, change->id);
    return can_go_on(leader, now_index, next) ? RLOG_CHANGE_STEP : RLOG_CHANGE_TOO_FEW;
}

enum rlog_change_state
rlog_change_next(const struct rlog_status *leader,
                 const struct rlog_members *now,
                 uint64_t now_index,
                 const struct rlog_change *change,
                 struct rlog_members *ret_next)
{
    *ret_next = *now;
    if (!has_settled(leader, now_index))
        return RLOG_CHANGE_BUSY;
    enum rlog_change_state state = change->wish == RLOG_WISH_GONE
                                       ? take_out(leader, now_index, change, ret_next)
                                       : bring_in(leader, now_index, change, ret_next);
    if (state == RLOG_CHANGE_STEP && rlog_members_check(ret_next) != ST_OK)
        return RLOG_CHANGE_IMPOSSIBLE;
    return state;
}

const char *
rlog_change_name(enum rlog_change_state state)
{
    static const char *const names[] = {
        "done",
        "proposed",
        "the step before is not with all nodes yet",
        "the node is not connected",
        "catching up",
        "too few of the voters that would be left are up",
        "the node leads",
        "not possible",
    };
    return names[state];
}
