/* Agreement: see the header. */
#include "server/agreement.h"

#include "raft/members.h"
#include "raft/rlog_chain.h"
#include "raft/rlog_members.h"

#define AGREEMENT_VERSION 1u
#define INDEX_LIMIT       (UINT64_C(1) << 62)

static uint32_t
find(const struct agreement *a, uint64_t peer)
{
    uint32_t i = 0;
    while (i < a->count && a->peers[i].id != peer)
        i++;
    return i;
}

void
agreement_up(struct agreement *a, uint64_t peer)
{
    uint32_t i = find(a, peer);
    if (i == RLOG_MEMBERS_MAX)
        return;
    if (i == a->count)
        a->count++;
    a->peers[i] = (struct agreement_peer){.id = peer};
}

void
agreement_down(struct agreement *a, uint64_t peer)
{
    uint32_t i = find(a, peer);
    if (i < a->count)
        a->peers[i] = a->peers[--a->count];
}

enum status
agreement_hear(struct agreement *a, uint64_t peer, struct slice body)
{
    struct reader r = reader_of(body);
    uint64_t version = read_u64(&r); /* and seven zeros */
    uint64_t index = read_u64(&r);
    uint64_t chain = read_u64(&r);
    uint64_t majority_index = read_u64(&r);
    if (!reader_done(&r) || version != AGREEMENT_VERSION || index >= INDEX_LIMIT ||
        majority_index > index)
        return ST_INVALID;
    uint32_t i = find(a, peer);
    if (i == a->count)
        return ST_OK;
    struct agreement_peer *p = &a->peers[i];
    p->majority_index = majority_index;
    /* One that this node has not reached stays: it may be behind for long, and would
     * never reach the newest. */
    if (p->index == 0) {
        p->index = index;
        p->chain = chain;
    }
    return ST_OK;
}

void
agreement_put(const struct agreement *a,
              const struct rlog *log,
              uint8_t out[AGREEMENT_FRAME_BYTES])
{
    uint64_t chain = 0;
    uint64_t index = rlog_applied(log);
    if (!rlog_chain_at(log, index, &chain))
        index = 0;
    put_u64(out, AGREEMENT_VERSION);
    put_u64(out + 8, index);
    put_u64(out + 16, chain);
    put_u64(out + 24, index == 0 ? 0 : agreement_majority_index(a, log));
}

static void
compare(struct agreement *a,
        struct agreement_peer *p,
        const struct rlog *log,
        uint64_t now_ms)
{
    uint64_t chain;
    uint64_t index = p->index;
    if (index == 0 || index > rlog_applied(log))
        return;
    p->index = 0;
    if (!rlog_chain_at(log, index, &chain))
        return; /* too long ago: the next one */
    if (chain == p->chain) {
        p->differs_index = 0; /* it, or this node, got everything anew */
        if (index > p->same_index)
            p->same_index = index;
    } else if (p->differs_index == 0) {
        p->differs_index = index;
        p->differs_at_ms = now_ms;
        p->is_unsaid = true;
        a->differences_total++;
    }
}

void
agreement_compare(struct agreement *a, const struct rlog *log, uint64_t now_ms)
{
    for (uint32_t i = 0; i < a->count; i++)
        compare(a, &a->peers[i], log, now_ms);
}

bool
agreement_take_news(struct agreement *a, struct agreement_peer *ret_peer)
{
    uint32_t i = 0;
    while (i < a->count && !a->peers[i].is_unsaid)
        i++;
    if (i == a->count)
        return false;
    a->peers[i].is_unsaid = false;
    *ret_peer = a->peers[i];
    return true;
}

/* How far this node and that voter are known to have the same. */
static uint64_t
same_as(const struct agreement *a,
        const struct rlog *log,
        uint64_t voter,
        uint64_t self)
{
    if (voter == self)
        return rlog_applied(log);
    uint32_t i = find(a, voter);
    return i < a->count ? a->peers[i].same_index : 0;
}

uint64_t
agreement_majority_index(const struct agreement *a, const struct rlog *log)
{
    struct rlog_members members;
    struct rlog_status s;
    uint64_t sorted[RLOG_MEMBERS_MAX];
    uint32_t count = 0;
    rlog_get_status(log, &s);
    (void)rlog_newest_members(log, &members);
    for (uint32_t i = 0; i < members.count; i++) {
        if (!members.members[i].is_voter)
            continue;
        uint64_t index = same_as(a, log, members.members[i].id, s.id);
        uint32_t at = count++;
        for (; at > 0 && sorted[at - 1] < index; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = index;
    }
    return count == 0 ? 0 : sorted[count / 2];
}

enum agreement_verdict
agreement_verdict(const struct agreement *a, const struct rlog *log, uint64_t now_ms)
{
    struct rlog_members members;
    struct rlog_status s;
    bool is_unclear = false;
    uint32_t differing = 0;
    for (uint32_t i = 0; i < a->count; i++)
        differing += a->peers[i].differs_index != 0;
    if (differing == 0)
        return AGREEMENT_GOES_ON;
    rlog_get_status(log, &s);
    (void)rlog_newest_members(log, &members);
    uint64_t ours = agreement_majority_index(a, log);
    for (uint32_t i = 0; i < a->count; i++) {
        const struct agreement_peer *p = &a->peers[i];
        const struct rlog_member *member = rlog_members_find(&members, p->id);
        /* Who is no member may be one of a cluster that went another way. */
        if (p->differs_index == 0 || member == NULL || !member->is_voter)
            continue;
        if (p->majority_index >= p->differs_index)
            return AGREEMENT_OUTVOTED;
        if (p->id == s.leader && ours < p->differs_index &&
            now_ms - p->differs_at_ms >= AGREEMENT_UNCLEAR_MS)
            is_unclear = true;
    }
    return is_unclear ? AGREEMENT_UNCLEAR : AGREEMENT_GOES_ON;
}
