/* Replica: what the disks' room and speed mean for it: publishing stops while no
 * majority has room, leadership goes to a node with a better disk, and a full disk asks
 * for a snapshot early, because that is what lets go of the log. */
#include "raft/rlog_room.h"
#include "server/replica_int.h"

#include <stdio.h>

#define IMAGE_RETRY_MS 5000  /* after one that had no room */
#define IMAGE_AGAIN_MS 10000 /* on a full disk: between two for what is kept */
#define IMAGE_PART     16    /* of the least log size for a snapshot: on a full disk */
#define MOVE_RETRY_MS  5000

static void
move(struct replica *r, uint64_t target)
{
    char fields[96];
    struct rlog_status status;
    rlog_get_status(r->rlog, &status);
    r->move_at_ms = r->now_ms + MOVE_RETRY_MS;
    if (replica_transfer(r, target, r->now_ms) != ST_OK)
        return;
    (void)snprintf(fields, sizeof fields, "term=%llu to=%llu why=%s",
                   (unsigned long long)r->term, (unsigned long long)target,
                   status.is_full ? "disk_full" : "disk_slow");
    r->callbacks.event_cb(r->callbacks.ctx, "leader.moves", fields);
}

/* One that is not running any more has become the newest, or there was no room. */
static void
watch_image(struct replica *r)
{
    struct rlog_status status;
    if (!r->is_image_watched || rlog_snapshot_is_running(r->rlog))
        return;
    r->is_image_watched = false;
    imaging_cancel(&r->imaging, r->rlog); /* the rest of it is not wanted */
    rlog_get_status(r->rlog, &status);
    r->image_again_ms = r->now_ms + IMAGE_AGAIN_MS;
    if (status.snapshot_index >= r->imaging.index)
        return;
    r->image_retry_ms = r->now_ms + IMAGE_RETRY_MS;
    r->images_failed++;
    r->image_floor = 0;
    replica_event(r, "snapshot.abandoned", r->imaging.index);
}

void
replica_watch_disk(struct replica *r)
{
    watch_image(r);
    if (r->phase != PHASE_LEADING)
        return;
    broker_set_room(r->broker, rlog_has_room(r->rlog));
    uint64_t target = rlog_better_leader(r->rlog);
    if (target != 0 && r->now_ms >= r->move_at_ms && !replica_is_handing_over(r))
        move(r, target);
}

void
replica_want_image(struct replica *r, uint64_t index)
{
    if (index > r->image_floor)
        r->image_floor = index;
}

/* One was asked for, and all that it must include is applied. */
static bool
is_image_asked_for(const struct replica *r)
{
    struct rlog_status status;
    if (r->image_floor == 0 || r->last_applied < r->image_floor ||
        r->imaging.image != NULL || rlog_snapshot_is_running(r->rlog))
        return false;
    rlog_get_status(r->rlog, &status);
    return status.snapshot_index < r->image_floor;
}

bool
replica_is_image_due(const struct replica *r)
{
    const struct imaging *m = &r->imaging;
    if (r->now_ms < r->image_retry_ms)
        return false;
    if (imaging_is_due(m, r->rlog) || is_image_asked_for(r))
        return true;
    uint64_t least = m->least_bytes / IMAGE_PART;
    if (m->bytes > least)
        least = m->bytes;
    if (m->image != NULL || !rlog_is_full(r->rlog) || rlog_snapshot_is_running(r->rlog))
        return false;
    /* On a full disk less is kept behind a snapshot: another one lets go of it. */
    bool keeps_much = rlog_log_bytes(r->rlog) > 0 && r->now_ms >= r->image_again_ms &&
                      rlog_kept_bytes(r->rlog) >= least;
    return keeps_much || rlog_log_bytes(r->rlog) >= least;
}
