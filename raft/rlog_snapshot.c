/* Snapshots taken here, and snapshots received from the leader.
 *
 * An incoming one goes to the disk piece by piece beside the running log. Only when it
 * is complete, checked and durable does the library hear of it, as one INSTALL_SNAPSHOT
 * message of the leader's term; only when the library wants it is it put in force.
 *
 *   offer -> pieces -> COMPLETE -> library -> install -> INSTALLED -> restore
 *
 * Restoring takes as many turns as the user wants: until it says that it is done, the
 * snapshot is being installed, so nothing is applied, stored or offered. A crash in
 * between starts with the new snapshot, which is in force on the disk.
 */
#include "raft/rlog_int.h"

#include <assert.h>
#include <string.h>

/* ---- local ---- */

enum status
rlog_snapshot_begin(struct rlog *r, uint64_t *ret_index)
{
    /* R8: only at an applied index that is stored here, and growing. */
    if (r->is_stopped || r->is_taking || r->is_installing || r->applied > r->stored ||
        r->applied == 0)
        return ST_AGAIN;
    if (r->applied <= r->snapshot.index)
        return ST_EXISTS;
    memset(&r->taking, 0, sizeof r->taking);
    r->taking.index = r->applied;
    r->taking.term = rlog_term_of(r, r->applied);
    r->taking.chain = r->chain;
    r->taking.members = r->members;
    r->taking.members_index = r->members_index;
    assert(r->taking.term != 0 && r->members_index != 0);
    r->is_taking = true;
    r->is_taking_finished = false;
    r->disk->ops->snapshot_begin(r->disk->ctx, &r->taking);
    *ret_index = r->applied;
    return ST_OK;
}

void
rlog_snapshot_write(struct rlog *r, struct blob *piece)
{
    if (!r->is_taking || r->is_stopped) {
        blob_put(piece); /* it was cancelled by an install */
        return;
    }
    assert(!r->is_taking_finished);
    r->disk->ops->snapshot_write(r->disk->ctx, piece);
}

void
rlog_snapshot_finish(struct rlog *r)
{
    if (!r->is_taking || r->is_stopped)
        return;
    r->is_taking_finished = true;
    r->disk->ops->snapshot_finish(r->disk->ctx);
}

void
rlog_snapshot_cancel(struct rlog *r)
{
    if (!r->is_taking)
        return;
    r->is_taking = false;
    r->disk->ops->snapshot_cancel(r->disk->ctx);
}

bool
rlog_snapshot_is_running(const struct rlog *r)
{
    return r->is_taking;
}

uint64_t
rlog_snapshot_backlog_bytes(const struct rlog *r)
{
    return r->disk->ops->snapshot_backlog(r->disk->ctx);
}

uint64_t
rlog_snapshot_bytes(const struct rlog *r)
{
    return r->snapshot.size_bytes;
}

enum status
rlog_snapshot_read(struct rlog *r, uint64_t offset, size_t max, struct blob **ret_piece)
{
    if (max > LIMIT_SNAPSHOT_CHUNK)
        max = LIMIT_SNAPSHOT_CHUNK;
    return r->disk->ops->snapshot_read(r->disk->ctx, r->snapshot.index, offset, max,
                                       ret_piece);
}

static void
set_snapshot(struct rlog *r, const struct rlog_snapshot_meta *meta)
{
    uint64_t old = r->snapshot.index;
    r->snapshot = *meta;
    r->disk->ops->snapshot_hold(r->disk->ctx, meta->index);
    if (old != 0)
        r->disk->ops->snapshot_release(r->disk->ctx, old);
}

/* Entries kept behind a snapshot: enough for every peer that the library may still
 * send entries to, and what fits in LIMIT_TRAILING_BYTES. */
static unsigned
trailing(const struct rlog *r, uint64_t index)
{
    uint64_t count = RLOG_TRAILING_ENTRIES;
    uint64_t end = rlog_entries_bytes(&r->log, index);
    while (!r->is_full && count < RLOG_TRAILING_MAX && index > count &&
           index - count > r->log.first &&
           end - rlog_entries_bytes(&r->log, index - count - 1) <= LIMIT_TRAILING_BYTES)
        count++;
    return (unsigned)count;
}

/* A local snapshot is durable: the library and the log let go of what it covers. */
static void
snapshot_stored(struct rlog *r, const struct rlog_snapshot_meta *meta)
{
    assert(meta->index > r->snapshot.index && rlog_entries_has(&r->log, meta->index));
    struct raft_event event;
    memset(&event, 0, sizeof event);
    set_snapshot(r, meta);
    event.type = RAFT_SNAPSHOT;
    event.snapshot.metadata.index = meta->index;
    event.snapshot.metadata.term = meta->term;
    event.snapshot.metadata.configuration_index = meta->members_index;
    rlog_members_to_raft(&meta->members, &event.snapshot.metadata.configuration);
    event.snapshot.trailing = trailing(r, meta->index);
    rlog_step(r, &event, NULL);
    if (r->is_stopped)
        return;
    rlog_entries_trim(&r->log, r->raft.trail.offset + 1);
    r->disk->ops->trim(r->disk->ctx, r->log.first);
}

void
rlog_receive_local(struct rlog *r,
                   enum rlog_snapshot_event event,
                   const struct rlog_snapshot_meta *meta)
{
    /* R8: one that an install overtook was cancelled and is not fed. */
    if (!r->is_taking && rlog_guard_is_on(RLOG_GUARD_R8))
        return;
    r->is_taking = false;
    if (event == RLOG_SNAPSHOT_STORED)
        snapshot_stored(r, meta);
}

/* ---- incoming ---- */

static void
answer(struct rlog *r,
       uint64_t peer,
       const struct rlog_snapshot_meta *meta,
       uint64_t next,
       enum rlog_snapshot_answer how)
{
    struct rlog_snapshot_ack ack = {
        .index = meta->index, .snapshot_term = meta->term, .next = next, .answer = how};
    bytes_clear(&r->head);
    rlog_wire_put_snapshot_ack(&r->head, &ack);
    rlog_send_frame(r, peer, RLOG_FRAME_SNAPSHOT_ACK, NULL, 0);
}

static void
drop_incoming(struct rlog *r)
{
    if (r->incoming.is_active)
        r->disk->ops->incoming_cancel(r->disk->ctx);
    r->incoming.is_active = false;
}

/* The library decides: it answers at once when it has all that is in the snapshot, or
 * asks for the install. G12: never while one is being installed (the library would
 * neither keep nor free the configuration). */
static void
feed_install(struct rlog *r,
             uint64_t peer,
             uint64_t term,
             const struct rlog_snapshot_meta *meta)
{
    struct raft_message m;
    struct raft_event event;
    assert(!r->is_installing);
    memset(&m, 0, sizeof m);
    memset(&event, 0, sizeof event);
    m.type = RAFT_INSTALL_SNAPSHOT;
    m.server_id = peer;
    m.server_address = "peer";
    m.install_snapshot.term = term;
    m.install_snapshot.last_index = meta->index;
    m.install_snapshot.last_term = meta->term;
    m.install_snapshot.conf_index = meta->members_index;
    rlog_members_to_raft(&meta->members, &m.install_snapshot.conf);
    event.type = RAFT_RECEIVE;
    event.receive.message = &m;
    struct rlog_source src = {.is_stale = term < raft_current_term(&r->raft)};
    rlog_step(r, &event, &src);
}

static bool
has_all_of(const struct rlog *r, const struct rlog_snapshot_meta *meta)
{
    return r->snapshot.index >= meta->index ||
           rlog_entries_term(&r->log, meta->index) == meta->term;
}

static bool
is_same_image(const struct rlog_snapshot_meta *a, const struct rlog_snapshot_meta *b)
{
    return a->index == b->index && a->term == b->term &&
           a->size_bytes == b->size_bytes && a->crc == b->crc;
}

static void
finish_incoming(struct rlog *r)
{
    if (r->incoming.is_finishing || r->incoming.written < r->incoming.meta.size_bytes)
        return;
    r->incoming.is_finishing = true;
    r->disk->ops->incoming_finish(r->disk->ctx);
}

void
rlog_receive_offer(struct rlog *r,
                   uint64_t peer,
                   uint64_t term,
                   const struct rlog_snapshot_meta *meta)
{
    if (term < raft_current_term(&r->raft) || r->is_installing)
        return; /* heartbeats tell an old leader */
    if (has_all_of(r, meta)) {
        drop_incoming(r);
        answer(r, peer, meta, meta->size_bytes, RLOG_SNAPSHOT_DONE);
        feed_install(r, peer, term, meta);
        return;
    }
    struct rlog_incoming *in = &r->incoming;
    if (in->is_active && is_same_image(&in->meta, meta)) {
        /* A new connection, or a new leader with the same image: go on where it is. */
        in->peer = peer;
        in->term = term;
        in->meta = *meta;
    } else {
        drop_incoming(r);
        memset(in, 0, sizeof *in);
        in->is_active = true;
        in->peer = peer;
        in->term = term;
        in->meta = *meta;
        r->disk->ops->incoming_begin(r->disk->ctx, meta);
        finish_incoming(r); /* an empty image */
    }
    answer(r, peer, &in->meta, in->received, RLOG_SNAPSHOT_GO_ON);
}

void
rlog_receive_chunk(struct rlog *r,
                   uint64_t peer,
                   const struct rlog_chunk *chunk,
                   struct blob *frame)
{
    struct rlog_incoming *in = &r->incoming;
    if (!in->is_active || in->peer != peer || in->is_finishing ||
        in->meta.index != chunk->index || in->meta.term != chunk->snapshot_term) {
        struct rlog_snapshot_meta other = {.index = chunk->index,
                                           .term = chunk->snapshot_term};
        if (!in->is_active && !r->is_installing)
            answer(r, peer, &other, 0, RLOG_SNAPSHOT_GIVE_UP);
        return;
    }
    if (chunk->offset != in->received) {
        if (chunk->offset > in->received) /* one was lost: from here again */
            answer(r, peer, &in->meta, in->received, RLOG_SNAPSHOT_GO_ON);
        return;
    }
    if (chunk->size > in->meta.size_bytes - in->received) {
        answer(r, peer, &in->meta, 0, RLOG_SNAPSHOT_GIVE_UP);
        drop_incoming(r);
        return;
    }
    in->received += chunk->size;
    r->disk->ops->incoming_write(r->disk->ctx, frame, chunk->at, chunk->size);
}

static void
piece_written(struct rlog *r, uint64_t bytes)
{
    struct rlog_incoming *in = &r->incoming;
    if (!in->is_active || bytes <= in->written)
        return;
    assert(bytes <= in->received);
    in->written = bytes;
    answer(r, in->peer, &in->meta, in->written, RLOG_SNAPSHOT_GO_ON);
    finish_incoming(r);
}

static void
incoming_complete(struct rlog *r)
{
    struct rlog_incoming *in = &r->incoming;
    if (!in->is_active || r->is_installing)
        return;
    answer(r, in->peer, &in->meta, in->meta.size_bytes, RLOG_SNAPSHOT_DONE);
    feed_install(r, in->peer, in->term, &in->meta);
    if (!r->is_installing && !r->is_stopped)
        drop_incoming(r); /* the library has answered the leader */
}

/* From inside of the step: R4, R7, R8. Everything outstanding belongs to a log that is
 * to go; applying stops; a local snapshot that is under way is worth nothing. */
void
rlog_install_begin(struct rlog *r, struct raft_update *u)
{
    assert(r->incoming.is_active && !r->is_installing);
    assert(u->snapshot.metadata.index == r->incoming.meta.index);
    assert(u->snapshot.chunk.base == NULL);
    if (rlog_guard_is_on(RLOG_GUARD_R8))
        rlog_snapshot_cancel(r);
    r->is_installing = true;
    r->install_configuration = u->snapshot.metadata.configuration;
    r->disk->ops->incoming_install(r->disk->ctx);
}

/* The user's state is that of the snapshot: the library hears that it is in force. */
static void
restored(struct rlog *r, enum status st)
{
    const struct rlog_snapshot_meta *meta = &r->snapshot;
    assert(r->is_installing && r->is_restoring && st != ST_AGAIN);
    r->is_restoring = false;
    if (st != ST_OK) {
        rlog_fatal(r, st, "the received snapshot could not be restored");
        return;
    }
    r->applied = meta->index;
    rlog_chain_reset(r, meta->index, meta->chain);
    struct raft_event event;
    memset(&event, 0, sizeof event);
    event.type = RAFT_PERSISTED_SNAPSHOT;
    event.persisted_snapshot.metadata.index = meta->index;
    event.persisted_snapshot.metadata.term = meta->term;
    event.persisted_snapshot.metadata.configuration_index = meta->members_index;
    event.persisted_snapshot.metadata.configuration = r->install_configuration;
    event.persisted_snapshot.last = true;
    r->is_installing = false;
    rlog_step(r, &event, NULL);
}

static void
incoming_installed(struct rlog *r, const struct rlog_snapshot_meta *meta)
{
    assert(r->is_installing && meta->index == r->incoming.meta.index);
    r->incoming.is_active = false;
    rlog_entries_reset(&r->log, meta->index + 1);
    r->written_position = r->synced_position = r->asked_position = r->position;
    r->sync_at_ms = UINT64_MAX;
    r->stored = r->synced = meta->index;
    if (r->commit < meta->index)
        r->commit = meta->index;
    r->members = meta->members;
    r->members_index = meta->members_index;
    set_snapshot(r, meta);
    r->is_restoring = true;
    enum status st = r->callbacks.restore_cb(r->callbacks.ctx, meta->index, meta->term);
    if (st != ST_AGAIN)
        restored(r, st);
}

void
rlog_restored(struct rlog *r, enum status st, uint64_t now_ms)
{
    rlog_note_time(r, now_ms);
    if (r->is_stopped)
        return;
    restored(r, st);
    rlog_settle(r);
}

void
rlog_on_snapshot(struct rlog *r,
                 enum rlog_snapshot_event event,
                 const struct rlog_snapshot_meta *meta,
                 uint64_t bytes,
                 uint64_t now_ms)
{
    rlog_note_time(r, now_ms);
    if (r->is_stopped)
        return;
    switch (event) {
    case RLOG_SNAPSHOT_STORED:
    case RLOG_SNAPSHOT_FAILED:
        rlog_receive_local(r, event, meta);
        break;
    case RLOG_SNAPSHOT_PIECE:
        piece_written(r, bytes);
        break;
    case RLOG_SNAPSHOT_COMPLETE:
        incoming_complete(r);
        break;
    case RLOG_SNAPSHOT_REFUSED:
        if (r->incoming.is_active)
            answer(r, r->incoming.peer, &r->incoming.meta, 0, RLOG_SNAPSHOT_GIVE_UP);
        r->incoming.is_active = false;
        break;
    case RLOG_SNAPSHOT_INSTALLED:
        incoming_installed(r, meta);
        break;
    }
    rlog_settle(r);
}
