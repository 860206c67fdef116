/* Bodies of the snapshot frames, and the snapshot meta that files use too. */
#include "raft/wire.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "raft/members.h"

#include <assert.h>
#include <string.h>

#define VERSION_SNAPSHOT 1

static uint64_t
read_number(struct reader *r)
{
    uint64_t v = read_u64(r);
    if (v >= RLOG_WIRE_INDEX_MAX)
        r->bad = true;
    return v;
}

void
rlog_meta_put(struct bytes *out, const struct rlog_snapshot_meta *meta)
{
    struct bytes members = {0};
    rlog_members_encode(&meta->members, &members);
    bytes_put_u64(out, meta->index);
    bytes_put_u64(out, meta->term);
    bytes_put_u64(out, meta->chain);
    bytes_put_u64(out, meta->members_index);
    bytes_put_u64(out, meta->size_bytes);
    bytes_put_u32(out, meta->crc);
    bytes_put_block(out, slice_of(members.data, members.size));
    bytes_fini(&members);
}

enum status
rlog_meta_get(struct reader *r, struct rlog_snapshot_meta *meta)
{
    memset(meta, 0, sizeof *meta);
    meta->index = read_number(r);
    meta->term = read_number(r);
    meta->chain = read_u64(r);
    meta->members_index = read_number(r);
    meta->size_bytes = read_number(r);
    meta->crc = read_u32(r);
    struct slice members = read_block(r, RLOG_META_BYTES_MAX);
    if (r->bad || meta->index == 0 || meta->term == 0 || meta->members_index == 0 ||
        meta->members_index > meta->index)
        return ST_INVALID;
    return rlog_members_decode(members, &meta->members);
}

void
rlog_wire_put_offer(struct bytes *out,
                    uint64_t term,
                    const struct rlog_snapshot_meta *meta)
{
    bytes_put_u64(out, VERSION_SNAPSHOT);
    bytes_put_u64(out, term);
    rlog_meta_put(out, meta);
}

enum status
rlog_wire_get_offer(struct slice body,
                    uint64_t *ret_term,
                    struct rlog_snapshot_meta *meta)
{
    struct reader r = reader_of(body);
    uint64_t version = read_u64(&r);
    uint64_t term = read_number(&r);
    if (r.bad || version != VERSION_SNAPSHOT || term == 0)
        return ST_INVALID;
    struct rlog_snapshot_meta m;
    if (rlog_meta_get(&r, &m) != ST_OK || !reader_done(&r) || m.term > term)
        return ST_INVALID;
    *meta = m;
    *ret_term = term;
    return ST_OK;
}

void
rlog_wire_put_chunk(struct bytes *out, const struct rlog_chunk *c)
{
    bytes_put_u64(out, c->term);
    bytes_put_u64(out, c->index);
    bytes_put_u64(out, c->snapshot_term);
    bytes_put_u64(out, c->offset);
    bytes_put_u32(out, c->size);
    bytes_put_u32(out, c->crc);
}

enum status
rlog_wire_get_chunk(struct slice body, struct rlog_chunk *c)
{
    struct reader r = reader_of(body);
    memset(c, 0, sizeof *c);
    c->term = read_number(&r);
    c->index = read_number(&r);
    c->snapshot_term = read_number(&r);
    c->offset = read_number(&r);
    c->size = read_u32(&r);
    c->crc = read_u32(&r);
    if (r.bad || c->term == 0 || c->index == 0 || c->size == 0 ||
        c->size > LIMIT_SNAPSHOT_CHUNK)
        return ST_INVALID;
    struct slice data = read_slice(&r, c->size);
    if (!reader_done(&r) || crc32c(0, data.data, data.size) != c->crc)
        return ST_INVALID;
    c->at = (uint32_t)(data.data - body.data);
    return ST_OK;
}

void
rlog_wire_put_snapshot_ack(struct bytes *out, const struct rlog_snapshot_ack *a)
{
    bytes_put_u64(out, a->index);
    bytes_put_u64(out, a->snapshot_term);
    bytes_put_u64(out, a->next);
    bytes_put_u64(out, (uint64_t)a->answer);
}

enum status
rlog_wire_get_snapshot_ack(struct slice body, struct rlog_snapshot_ack *a)
{
    struct reader r = reader_of(body);
    memset(a, 0, sizeof *a);
    a->index = read_number(&r);
    a->snapshot_term = read_number(&r);
    a->next = read_number(&r);
    uint64_t answer = read_u64(&r);
    if (!reader_done(&r) || answer > RLOG_SNAPSHOT_DONE)
        return ST_INVALID;
    a->answer = (enum rlog_snapshot_answer)answer;
    return ST_OK;
}
