/* A snapshot on its way to a peer: offer, answer with the offset to begin at, chunks
 * with a window, each acknowledged when the peer has written it. The leader serves
 * meanwhile: all transfers together send LIMIT_SNAPSHOT_RATE bytes a second at most,
 * one chunk at a time (a chunk costs the core thread a good part of a millisecond).
 *
 * The image that is sent is held on the disk for as long as the transfer lives, also
 * when a newer snapshot comes. A broken link does not end it: when the peer is back
 * the offer is repeated, and the peer says where it had got to. */
#include "raft/rlog_int.h"

#include "base/crc32c.h"

#include <assert.h>
#include <string.h>

static void
send_offer(struct rlog *r, struct rlog_peer *p)
{
    struct rlog_outgoing *out = &p->out;
    out->is_answered = false;
    out->offered_ms = r->now_ms;
    bytes_clear(&r->head);
    rlog_wire_put_offer(&r->head, out->term, &out->meta);
    rlog_send_frame(r, p->id, RLOG_FRAME_SNAPSHOT_OFFER, NULL, 0);
}

void
rlog_offer_start(struct rlog *r, struct rlog_peer *p, uint64_t index)
{
    struct rlog_outgoing *out = &p->out;
    /* G12: the library repeats INSTALL_SNAPSHOT all through a transfer. */
    if (out->is_active && out->term == raft_current_term(&r->raft) &&
        r->now_ms - out->progress_ms < 3 * r->options.election_ms &&
        rlog_guard_is_on(RLOG_GUARD_G12))
        return;
    if (out->is_active && out->meta.index == index &&
        out->term == raft_current_term(&r->raft)) {
        out->progress_ms = r->now_ms;
        send_offer(r, p);
        return;
    }
    rlog_offer_stop(r, p);
    assert(index == r->snapshot.index);
    memset(out, 0, sizeof *out);
    out->is_active = true;
    out->term = raft_current_term(&r->raft);
    out->meta = r->snapshot;
    out->progress_ms = r->now_ms;
    r->disk->ops->snapshot_hold(r->disk->ctx, index);
    send_offer(r, p);
}

void
rlog_offer_stop(struct rlog *r, struct rlog_peer *p)
{
    if (p->out.is_active)
        r->disk->ops->snapshot_release(r->disk->ctx, p->out.meta.index);
    p->out.is_active = false;
}

void
rlog_offer_stop_all(struct rlog *r)
{
    for (int i = 0; i < RLOG_PEERS_MAX; i++)
        rlog_offer_stop(r, &r->peers[i]);
}

/* What may be sent now; a chunk may overdraw it. */
static bool
has_credit(struct rlog *r)
{
    uint64_t earned = (r->now_ms - r->credit_ms) * (LIMIT_SNAPSHOT_RATE / 1000);
    r->credit_ms = r->now_ms;
    if (earned >
        LIMIT_SNAPSHOT_CHUNK) /* the pause between two transfers earns nothing */
        earned = LIMIT_SNAPSHOT_CHUNK;
    r->credit_bytes += (int64_t)earned;
    if (r->credit_bytes > (int64_t)LIMIT_SNAPSHOT_CHUNK)
        r->credit_bytes = LIMIT_SNAPSHOT_CHUNK;
    return r->credit_bytes > 0;
}

/* It has something to send, and the peer room for it. */
static bool
is_sending(const struct rlog_peer *p)
{
    const struct rlog_outgoing *out = &p->out;
    return out->is_active && out->is_answered && p->is_connected &&
           out->next < out->meta.size_bytes &&
           out->next - out->acked < RLOG_SNAPSHOT_WINDOW;
}

static void
send_chunks(struct rlog *r, struct rlog_peer *p)
{
    struct rlog_outgoing *out = &p->out;
    while (is_sending(p) && !r->is_stopped && has_credit(r)) {
        struct blob *piece = NULL;
        enum status st = r->disk->ops->snapshot_read(
            r->disk->ctx, out->meta.index, out->next, LIMIT_SNAPSHOT_CHUNK, &piece);
        if (st != ST_OK || piece->size == 0) {
            if (st == ST_OK)
                blob_put(piece);
            rlog_fatal(r, st == ST_OK ? ST_CORRUPT : st,
                       "the snapshot could not be read");
            return;
        }
        struct rlog_chunk chunk = {
            .term = out->term,
            .index = out->meta.index,
            .snapshot_term = out->meta.term,
            .offset = out->next,
            .size = piece->size,
            .crc = crc32c(0, piece->data, piece->size),
        };
        struct rlog_entry payload = {.blob = piece, .size = piece->size};
        bytes_clear(&r->head);
        rlog_wire_put_chunk(&r->head, &chunk);
        rlog_send_frame(r, p->id, RLOG_FRAME_SNAPSHOT_CHUNK, &payload, 1);
        out->next += piece->size;
        r->credit_bytes -= piece->size;
        blob_put(piece);
    }
}

void
rlog_offer_answered(struct rlog *r,
                    struct rlog_peer *p,
                    const struct rlog_snapshot_ack *ack)
{
    struct rlog_outgoing *out = &p->out;
    if (!out->is_active || ack->index != out->meta.index ||
        ack->snapshot_term != out->meta.term || ack->next > out->meta.size_bytes)
        return;
    switch (ack->answer) {
    case RLOG_SNAPSHOT_GIVE_UP:
    case RLOG_SNAPSHOT_DONE:
        /* Done: the library hears of it by an AppendEntries result. */
        rlog_offer_stop(r, p);
        return;
    case RLOG_SNAPSHOT_GO_ON:
        break;
    }
    if (!out->is_answered) {
        out->is_answered = true;
        out->next = out->acked = ack->next;
    }
    if (ack->next >= out->acked)
        out->progress_ms = r->now_ms;
    /* Behind what was sent and nothing of it on the way any more: sent again. */
    if (ack->next > out->acked)
        out->acked = ack->next;
    if (out->next < out->acked)
        out->next = out->acked;
    send_chunks(r, p);
}

void
rlog_offer_resume(struct rlog *r, struct rlog_peer *p)
{
    if (p->out.is_active)
        send_offer(r, p);
}

/* Half an election timeout without an answer: the offer again; the peer says from
 * where. */
void
rlog_tick_offers(struct rlog *r)
{
    uint64_t wait_ms = r->options.election_ms / 2;
    for (int i = 0; i < RLOG_PEERS_MAX; i++) {
        struct rlog_peer *p = &r->peers[i];
        if (!p->out.is_active || !p->is_connected)
            continue;
        send_chunks(r, p);
        if (r->now_ms - p->out.progress_ms >= wait_ms &&
            r->now_ms - p->out.offered_ms >= wait_ms)
            send_offer(r, p);
    }
}

static uint64_t
credit_at(const struct rlog *r)
{
    if (r->credit_bytes > 0)
        return r->now_ms;
    return r->credit_ms + (uint64_t)(-r->credit_bytes) / (LIMIT_SNAPSHOT_RATE / 1000) +
           1;
}

uint64_t
rlog_offer_deadline(const struct rlog *r)
{
    uint64_t at = UINT64_MAX;
    uint64_t wait_ms = r->options.election_ms / 2;
    for (int i = 0; i < RLOG_PEERS_MAX; i++) {
        const struct rlog_peer *p = &r->peers[i];
        if (!p->out.is_active || !p->is_connected)
            continue;
        uint64_t since = p->out.progress_ms > p->out.offered_ms ? p->out.progress_ms
                                                                : p->out.offered_ms;
        if (since + wait_ms < at)
            at = since + wait_ms;
        if (is_sending(p) && credit_at(r) < at)
            at = credit_at(r);
    }
    return at;
}
