/* Replica: a snapshot becomes the state. When the node starts that is done at once;
 * later piece by piece, one a turn, with a pause between: meanwhile the node answers
 * its peers, and the state it had goes on being what it was. The one it had is then
 * taken apart in steps too. */
#include "server/replica_int.h"

#include <assert.h>

#define PAUSE_MS     2    /* between two steps: the other processes of the machine */
#define FREE_OBJECTS 1000 /* of the old state, in one step */

static void
put_in_force(struct replica *r, struct state *fresh)
{
    uint64_t index = r->imaging.load_index;
    imaging_cancel(&r->imaging, r->rlog);
    struct state *old = r->state;
    r->state = fresh;
    state_skip(fresh, index);
    fresh->directory_version = old->directory_version + 1;
    broker_set_state(r->broker, fresh);
    state_free(r->restore.old);
    r->restore.old = old;
    r->last_applied = index;
    r->restore.total += r->restore.is_open;
    replica_event(r, "snapshot.restored", index);
}

static enum status
load_some(struct replica *r)
{
    struct state *fresh = NULL;
    enum status st = imaging_go_on_loading(&r->imaging, r->rlog, &fresh);
    if (st == ST_OK)
        put_in_force(r, fresh);
    else if (st == ST_VERSION)
        r->callbacks.fatal_cb(r->callbacks.ctx, st, r->imaging.needs);
    return st;
}

enum status
replica_restore_cb(void *ctx, uint64_t index, uint64_t term)
{
    struct replica *r = ctx;
    enum status st = ST_AGAIN;
    (void)term;
    assert(r->phase == PHASE_FOLLOWING);
    imaging_begin_load(&r->imaging, r->rlog, index);
    if (r->restore.is_open) {
        replica_event(r, "snapshot.restoring", index);
        return ST_AGAIN;
    }
    while (st == ST_AGAIN) { /* bound: the image's size */
        if (r->callbacks.progress_cb != NULL)
            r->callbacks.progress_cb(r->callbacks.ctx, r->imaging.load_offset,
                                     rlog_snapshot_bytes(r->rlog));
        st = load_some(r);
    }
    return st;
}

void
replica_go_on_restoring(struct replica *r)
{
    if (r->now_ms < r->restore.next_ms)
        return;
    if (r->imaging.loader != NULL) {
        enum status st = load_some(r);
        if (st != ST_AGAIN)
            rlog_restored(r->rlog, st, r->now_ms);
    } else if (r->restore.old != NULL &&
               state_take_apart(r->restore.old, FREE_OBJECTS)) {
        r->restore.old = NULL;
    }
    r->restore.next_ms = r->now_ms + PAUSE_MS;
}

uint64_t
replica_restore_deadline(const struct replica *r)
{
    bool is_busy = r->imaging.loader != NULL || r->restore.old != NULL;
    return is_busy ? r->restore.next_ms : UINT64_MAX;
}
