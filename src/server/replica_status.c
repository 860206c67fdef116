/* Replica: what can be asked. */
#include "server/replica_int.h"

#include <string.h>

void
replica_get_status(const struct replica *r, struct replica_status *ret_status)
{
    memset(ret_status, 0, sizeof *ret_status);
    rlog_get_status(r->rlog, &ret_status->log);
    ret_status->is_serving = r->phase == PHASE_LEADING && !r->is_frozen;
    ret_status->is_frozen = r->is_frozen;
    ret_status->digest_index = r->state->applied;
    ret_status->images_total = r->imaging.images_total;
    ret_status->images_failed = r->images_failed;
    ret_status->image_bytes = r->imaging.image != NULL ? r->imaging.bytes + 1 : 0;
    ret_status->restores_total = r->restore.total;
    ret_status->differences_total = r->agreement.differences_total;
}

uint64_t
replica_agreed_index(const struct replica *r)
{
    return agreement_majority_index(&r->agreement, r->rlog);
}

struct rlog *
replica_rlog(struct replica *r)
{
    return r->rlog;
}

struct state *
replica_state(struct replica *r)
{
    return r->state;
}

struct broker *
replica_broker(struct replica *r)
{
    return r->broker;
}

uint64_t
replica_lead_count(const struct replica *r)
{
    return r->lead_count;
}

enum status
replica_batch_status(const struct replica *r, uint64_t lead_count, uint64_t batch)
{
    if (r->phase != PHASE_LEADING || r->lead_count != lead_count)
        return ST_CLOSED;
    return broker_committed_batch(r->broker) >= batch ? ST_OK : ST_AGAIN;
}
