/* The chain of what was applied: see the header. */
#include "raft/rlog_chain.h"

#include "raft/rlog_int.h"

#include <assert.h>

void
rlog_chain_reset(struct rlog *r, uint64_t index, uint64_t chain)
{
    r->chain_from = index;
    r->chain = r->chains[index % RLOG_CHAINS] = chain;
}

void
rlog_chain_add(struct rlog *r, const struct rlog_entry *e)
{
    uint64_t in[3] = {e->index, e->term, (uint64_t)e->crc << 8 | (uint64_t)e->type};
    uint64_t chain = r->chain;
    assert(e->index > r->chain_from);
    for (int i = 0; i < 3; i++) {
        uint64_t z = (chain ^ in[i]) * UINT64_C(0x9E3779B97F4A7C15);
        z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
        chain = z ^ (z >> 31);
    }
    if (!rlog_guard_is_on(RLOG_GUARD_CHAIN) && r->options.id == 2 && e->index == 100)
        chain++;
    r->chain = r->chains[e->index % RLOG_CHAINS] = chain;
}

bool
rlog_chain_at(const struct rlog *r, uint64_t index, uint64_t *ret_chain)
{
    if (index < r->chain_from || index > r->applied ||
        r->applied - index >= RLOG_CHAINS)
        return false;
    *ret_chain = r->chains[index % RLOG_CHAINS];
    return true;
}

uint64_t
rlog_applied(const struct rlog *r)
{
    return r->applied;
}
