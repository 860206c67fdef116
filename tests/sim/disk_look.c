/* The modelled disk: what disturbs it, and what the oracle asks. */
#include "disk.h"

/* A node that was paused meanwhile does not know yet that there is room again. */
#define FULL_BELIEVED_US 6000000
#define RESERVE          120 /* records */

void
sim_disk_stall(struct sim_disk *d, uint64_t until_us)
{
    d->stall_until_us = until_us;
}

void
sim_disk_slow(struct sim_disk *d, uint64_t until_us, uint64_t sync_ms)
{
    d->slow_until_us = until_us;
    d->slow_ms = sync_ms;
}

void
sim_disk_fill(struct sim_disk *d, uint64_t until_us)
{
    d->full_until_us = until_us;
    d->reserve_left = RESERVE;
}

bool
sim_disk_was_full(const struct sim_disk *d)
{
    return d->full_until_us != 0 &&
           d->sim->now_us < d->full_until_us + FULL_BELIEVED_US;
}

bool
sim_disk_is_disturbed(const struct sim_disk *d)
{
    uint64_t now = d->sim->now_us;
    return now < d->stall_until_us || now < d->slow_until_us ||
           now < d->full_until_us || now < d->busy_until_us;
}

/* --- to look at --- */

bool
sim_disk_claim(struct sim_disk *d, uint64_t index)
{
    uint64_t covered = sim_disk_snapshot(d);
    if (d->claimed < covered)
        d->claimed = covered;
    while (d->claimed < index) {
        const struct rlog_entry *e = sim_disk_entry(d, d->claimed + 1);
        if (e == NULL)
            return false;
        bool is_synced = e->is_sync || e->type != RLOG_COMMAND;
        uint64_t synced = d->synced < d->lost_from ? d->synced : d->lost_from;
        if (sim_disk_record(d, d->claimed + 1) >= (is_synced ? synced : d->written))
            return false;
        d->claimed++;
    }
    return true;
}

void
sim_disk_get_term(const struct sim_disk *d, uint64_t *ret_term, uint64_t *ret_vote)
{
    *ret_term = d->term;
    *ret_vote = d->vote;
}

uint64_t
sim_disk_snapshot(const struct sim_disk *d)
{
    return d->image_count > 0 ? d->images[0].meta.index : 0;
}

uint64_t
sim_disk_last(const struct sim_disk *d)
{
    return d->view_first + d->view_count - 1;
}
