/* Bodies of the raft frames. All integers are little-endian; unused bytes are zero and
 * checked to be. A term, index or size at or above 2^62 is refused here, so that sums
 * of two never wrap anywhere behind. */
#include "raft/wire.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "raft/members.h"

#include <assert.h>
#include <string.h>

#define FLAG_PRE_VOTE 1u
#define FLAG_DISRUPT  2u
#define FLAG_GRANTED  2u
#define FLAG_GATED    1u
#define FLAG_ANSWER   2u

#define VERSION_VOTE          2 /* raft-notes 4, "version/features" */
#define VERSION_VOTE_RESULT   2
#define VERSION_APPEND        0
#define VERSION_APPEND_RESULT 2
#define VERSION_TIMEOUT_NOW   0
#define VERSION_POSITION      1
#define VERSION_SNAPSHOT      1

static void
put_zeros(struct bytes *out, size_t count)
{
    memset(bytes_extend(out, count), 0, count);
}

static void
read_zeros(struct reader *r, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (read_u8(r) != 0)
            r->bad = true;
}

/* A term, index or size: bounded, so that arithmetic cannot wrap. */
static uint64_t
read_number(struct reader *r)
{
    uint64_t v = read_u64(r);
    if (v >= RLOG_WIRE_INDEX_MAX)
        r->bad = true;
    return v;
}

static void
read_version(struct reader *r, uint8_t version)
{
    if (read_u8(r) != version)
        r->bad = true;
}

static uint8_t
read_flags(struct reader *r, uint8_t known)
{
    uint8_t flags = read_u8(r);
    if ((flags & ~known) != 0)
        r->bad = true;
    return flags;
}

void
rlog_wire_put_append(struct bytes *out,
                     const struct raft_append_entries *m,
                     uint64_t stamp_ms,
                     const struct rlog_entry *entries,
                     uint32_t count)
{
    assert(count <= RLOG_WIRE_ENTRIES_MAX);
    bytes_put_u8(out, VERSION_APPEND);
    put_zeros(out, 3);
    bytes_put_u32(out, count);
    bytes_put_u64(out, m->term);
    bytes_put_u64(out, m->prev_log_index);
    bytes_put_u64(out, m->prev_log_term);
    bytes_put_u64(out, m->leader_commit);
    bytes_put_u64(out, stamp_ms);
    for (uint32_t i = 0; i < count; i++) {
        bytes_put_u64(out, entries[i].term);
        bytes_put_u32(out, entries[i].size);
        bytes_put_u32(out, entries[i].crc);
        bytes_put_u8(out, (uint8_t)entries[i].type);
        bytes_put_u8(out, entries[i].is_sync ? 1 : 0);
        put_zeros(out, 6);
    }
}

static void
read_entry(struct reader *r, struct rlog_entry *e, uint64_t index)
{
    memset(e, 0, sizeof *e);
    e->index = index;
    e->term = read_number(r);
    e->size = read_u32(r);
    e->crc = read_u32(r);
    uint8_t type = read_u8(r);
    uint8_t is_sync = read_u8(r);
    read_zeros(r, 6);
    if (type < RLOG_COMMAND || type > RLOG_CHANGE || is_sync > 1 ||
        e->size > LIMIT_ENTRY_BYTES)
        r->bad = true;
    else
        e->type = (enum rlog_type)type;
    e->is_sync = is_sync == 1;
    /* A barrier is empty, and barriers and changes always count when synced. */
    if (e->type == RLOG_BARRIER && (e->size != 0 || !e->is_sync))
        r->bad = true;
    if (e->type == RLOG_CHANGE && !e->is_sync)
        r->bad = true;
}

/* The payload of e is next in the frame. */
static enum status
take_payload(struct reader *r, struct blob *frame, struct rlog_entry *e)
{
    struct slice payload = read_slice(r, e->size);
    if (r->bad || crc32c(0, payload.data, payload.size) != e->crc)
        return ST_INVALID;
    struct rlog_members members;
    if (e->type == RLOG_CHANGE && rlog_members_decode(payload, &members) != ST_OK)
        return ST_INVALID;
    if (e->size > 0) {
        e->blob = frame;
        e->offset = (uint32_t)(payload.data - frame->data);
    }
    return ST_OK;
}

enum status
rlog_wire_get_append(struct blob *frame,
                     struct raft_append_entries *m,
                     uint64_t *ret_stamp_ms,
                     struct rlog_entry *entries)
{
    struct reader r = reader_of(blob_slice(frame));
    memset(m, 0, sizeof *m);
    read_version(&r, VERSION_APPEND);
    read_zeros(&r, 3);
    uint32_t count = read_u32(&r);
    m->version = VERSION_APPEND;
    m->term = read_number(&r);
    m->prev_log_index = read_number(&r);
    m->prev_log_term = read_number(&r);
    m->leader_commit = read_number(&r);
    uint64_t stamp_ms = read_u64(&r);
    if (r.bad || count > RLOG_WIRE_ENTRIES_MAX || m->term == 0 ||
        (m->prev_log_index == 0) != (m->prev_log_term == 0) ||
        m->prev_log_term > m->term)
        return ST_INVALID;
    uint64_t term = m->prev_log_term == 0 ? 1 : m->prev_log_term;
    for (uint32_t i = 0; i < count; i++) {
        read_entry(&r, &entries[i], m->prev_log_index + 1 + i);
        if (r.bad || entries[i].term < term || entries[i].term > m->term)
            return ST_INVALID;
        term = entries[i].term;
    }
    for (uint32_t i = 0; i < count; i++)
        if (take_payload(&r, frame, &entries[i]) != ST_OK)
            return ST_INVALID;
    if (!reader_done(&r))
        return ST_INVALID;
    m->n_entries = count;
    *ret_stamp_ms = stamp_ms;
    return ST_OK;
}

void
rlog_wire_put_append_result(struct bytes *out,
                            const struct raft_append_entries_result *m,
                            uint64_t stamp_ms,
                            uint8_t disk)
{
    bytes_put_u8(out, m->version);
    bytes_put_u8(out, disk);
    bytes_put_u16(out, m->features);
    bytes_put_u16(out, m->capacity);
    put_zeros(out, 2);
    bytes_put_u64(out, m->term);
    bytes_put_u64(out, m->rejected);
    bytes_put_u64(out, m->last_log_index);
    bytes_put_u64(out, stamp_ms);
}

enum status
rlog_wire_get_append_result(struct slice body,
                            struct raft_append_entries_result *m,
                            uint64_t *ret_stamp_ms,
                            uint8_t *ret_disk)
{
    struct reader r = reader_of(body);
    memset(m, 0, sizeof *m);
    read_version(&r, VERSION_APPEND_RESULT);
    m->version = VERSION_APPEND_RESULT;
    uint8_t disk = read_flags(&r, RLOG_WIRE_FULL | RLOG_WIRE_SLOW);
    m->features = read_u16(&r);
    m->capacity = read_u16(&r);
    read_zeros(&r, 2);
    m->term = read_number(&r);
    m->rejected = read_number(&r);
    m->last_log_index = read_number(&r);
    uint64_t stamp_ms = read_u64(&r);
    if (!reader_done(&r) || m->term == 0 ||
        (m->rejected > 0 && m->last_log_index >= m->rejected))
        return ST_INVALID;
    *ret_stamp_ms = stamp_ms;
    *ret_disk = disk;
    return ST_OK;
}

void
rlog_wire_put_vote(struct bytes *out, const struct raft_request_vote *m)
{
    bytes_put_u8(out, m->version);
    bytes_put_u8(out, (uint8_t)((m->pre_vote ? FLAG_PRE_VOTE : 0) |
                                (m->disrupt_leader ? FLAG_DISRUPT : 0)));
    put_zeros(out, 6);
    bytes_put_u64(out, m->term);
    bytes_put_u64(out, m->candidate_id);
    bytes_put_u64(out, m->last_log_index);
    bytes_put_u64(out, m->last_log_term);
}

enum status
rlog_wire_get_vote(struct slice body, struct raft_request_vote *m)
{
    struct reader r = reader_of(body);
    memset(m, 0, sizeof *m);
    read_version(&r, VERSION_VOTE);
    m->version = VERSION_VOTE;
    uint8_t flags = read_flags(&r, FLAG_PRE_VOTE | FLAG_DISRUPT);
    read_zeros(&r, 6);
    m->pre_vote = (flags & FLAG_PRE_VOTE) != 0;
    m->disrupt_leader = (flags & FLAG_DISRUPT) != 0;
    m->term = read_number(&r);
    m->candidate_id = read_u64(&r);
    m->last_log_index = read_number(&r);
    m->last_log_term = read_number(&r);
    if (!reader_done(&r) || m->term == 0 || m->candidate_id == 0 ||
        (m->last_log_index == 0) != (m->last_log_term == 0) ||
        m->last_log_term > m->term)
        return ST_INVALID;
    return ST_OK;
}

void
rlog_wire_put_vote_result(struct bytes *out, const struct raft_request_vote_result *m)
{
    bytes_put_u8(out, m->version);
    bytes_put_u8(out, (uint8_t)((m->pre_vote ? FLAG_PRE_VOTE : 0) |
                                (m->vote_granted ? FLAG_GRANTED : 0)));
    bytes_put_u16(out, m->features);
    bytes_put_u16(out, m->capacity);
    put_zeros(out, 2);
    bytes_put_u64(out, m->term);
}

enum status
rlog_wire_get_vote_result(struct slice body, struct raft_request_vote_result *m)
{
    struct reader r = reader_of(body);
    memset(m, 0, sizeof *m);
    read_version(&r, VERSION_VOTE_RESULT);
    m->version = VERSION_VOTE_RESULT;
    uint8_t flags = read_flags(&r, FLAG_PRE_VOTE | FLAG_GRANTED);
    m->features = read_u16(&r);
    m->capacity = read_u16(&r);
    read_zeros(&r, 2);
    m->term = read_number(&r);
    m->pre_vote = (flags & FLAG_PRE_VOTE) != 0;
    m->vote_granted = (flags & FLAG_GRANTED) != 0;
    if (!reader_done(&r) || m->term == 0)
        return ST_INVALID;
    return ST_OK;
}

void
rlog_wire_put_timeout_now(struct bytes *out, const struct raft_timeout_now *m)
{
    bytes_put_u8(out, m->version);
    put_zeros(out, 7);
    bytes_put_u64(out, m->term);
    bytes_put_u64(out, m->last_log_index);
    bytes_put_u64(out, m->last_log_term);
}

enum status
rlog_wire_get_timeout_now(struct slice body, struct raft_timeout_now *m)
{
    struct reader r = reader_of(body);
    memset(m, 0, sizeof *m);
    read_version(&r, VERSION_TIMEOUT_NOW);
    read_zeros(&r, 7);
    m->term = read_number(&r);
    m->last_log_index = read_number(&r);
    m->last_log_term = read_number(&r);
    if (!reader_done(&r) || m->term == 0 || m->last_log_term > m->term)
        return ST_INVALID;
    return ST_OK;
}

void
rlog_wire_put_position(struct bytes *out, const struct rlog_position *p)
{
    bytes_put_u8(out, VERSION_POSITION);
    bytes_put_u8(out, (uint8_t)((p->is_gated ? FLAG_GATED : 0) |
                                (p->is_answer ? FLAG_ANSWER : 0)));
    put_zeros(out, 6);
    bytes_put_u64(out, p->last_term);
    bytes_put_u64(out, p->last_index);
}

enum status
rlog_wire_get_position(struct slice body, struct rlog_position *p)
{
    struct reader r = reader_of(body);
    memset(p, 0, sizeof *p);
    read_version(&r, VERSION_POSITION);
    uint8_t flags = read_flags(&r, FLAG_GATED | FLAG_ANSWER);
    read_zeros(&r, 6);
    p->is_gated = (flags & FLAG_GATED) != 0;
    p->is_answer = (flags & FLAG_ANSWER) != 0;
    p->last_term = read_number(&r);
    p->last_index = read_number(&r);
    return reader_done(&r) ? ST_OK : ST_INVALID;
}
