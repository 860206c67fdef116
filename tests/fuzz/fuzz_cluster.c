/* Fuzz target of cluster/intake, cluster/frame and raft/wire: what other nodes send.
 *
 *   0  u8   bit 0: checksums are put right; bit 1: the limit is that of a hello; the
 *           rest: size of a piece, less one
 *   1  ...  frames
 *
 * Besides not crashing: every frame that is whole comes out, and every cut gives the
 * same, also when bodies are read in place; nothing is allocated that the limit does
 * not allow; and a body that a decoder takes is exactly what its encoder makes of the
 * result. */
#include "base/crc32c.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cluster/intake.h"
#include "raft/members.h"
#include "raft/wire.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define APPEND_HEAD       48
#define APPEND_ENTRY      24
#define CHUNK_HEAD        40
#define MAX_BYTES         (64u << 10)
#define FRAMES_PLUS_BYTES 256u /* of a blob, beside its body */

static struct rlog_entry entries[RLOG_WIRE_ENTRIES_MAX];

static void
fix_append(uint8_t *body, size_t size)
{
    if (size < APPEND_HEAD)
        return;
    size_t count = get_u32(body + 4);
    if (count > (size - APPEND_HEAD) / APPEND_ENTRY)
        return;
    size_t at = APPEND_HEAD + count * APPEND_ENTRY;
    for (size_t i = 0; i < count; i++) {
        uint8_t *head = body + APPEND_HEAD + i * APPEND_ENTRY;
        size_t payload = get_u32(head + 8);
        if (payload > size - at)
            return;
        put_u32(head + 12, crc32c(0, body + at, payload));
        at += payload;
    }
}

/* The checksums inside of bodies, then those of frames. */
static void
fix_frames(uint8_t *data, size_t size)
{
    while (size >= FRAME_HEAD_BYTES) {
        uint8_t *body = data + FRAME_HEAD_BYTES;
        size_t count = get_u32(data);
        if (count > size - FRAME_HEAD_BYTES)
            break;
        if (data[4] == RLOG_FRAME_APPEND)
            fix_append(body, count);
        if (data[4] == RLOG_FRAME_SNAPSHOT_CHUNK && count > CHUNK_HEAD)
            put_u32(body + 36, crc32c(0, body + CHUNK_HEAD, count - CHUNK_HEAD));
        put_u32(data + 8, crc32c(crc32c(0, data, 8), body, count));
        data = body + count;
        size -= FRAME_HEAD_BYTES + count;
    }
}

/* How many frames there are to be had, when all checksums are right. */
static uint32_t
count_frames(struct slice data, uint32_t max_bytes)
{
    uint32_t count = 0;
    while (data.size >= FRAME_HEAD_BYTES) {
        const uint8_t *head = data.data;
        size_t size = FRAME_HEAD_BYTES + (size_t)get_u32(head);
        if (head[4] == 0 || (head[5] | head[6] | head[7]) != 0 ||
            get_u32(head) > max_bytes || size > data.size)
            break;
        data = slice_of(head + size, data.size - size);
        count++;
    }
    return count;
}

static void
check_entry(const struct rlog_entry *e, const struct blob *frame)
{
    struct rlog_members members;
    struct bytes again = {0};
    require(e->size == 0 || (e->blob == frame && e->offset <= frame->size &&
                             e->size <= frame->size - e->offset));
    if (e->type == RLOG_CHANGE) {
        require(rlog_members_decode(rlog_payload(e), &members) == ST_OK);
        rlog_members_encode(&members, &again);
        require(slice_equal(slice_of(again.data, again.size), rlog_payload(e)));
    }
    bytes_fini(&again);
}

static bool
append_again(struct blob *frame, struct bytes *out)
{
    struct raft_append_entries m;
    uint64_t stamp_ms;
    if (rlog_wire_get_append(frame, &m, &stamp_ms, entries) != ST_OK)
        return false;
    require(m.n_entries <= RLOG_WIRE_ENTRIES_MAX && m.term > 0);
    rlog_wire_put_append(out, &m, stamp_ms, entries, m.n_entries);
    uint64_t term = m.prev_log_term;
    for (uint32_t i = 0; i < m.n_entries; i++) {
        require(entries[i].index == m.prev_log_index + 1 + i);
        require(entries[i].term >= term && entries[i].term <= m.term);
        term = entries[i].term;
        check_entry(&entries[i], frame);
        bytes_put_slice(out, rlog_payload(&entries[i]));
    }
    return true;
}

static bool
append_result_again(struct slice body, struct bytes *out)
{
    struct raft_append_entries_result m;
    uint64_t stamp_ms;
    uint8_t disk;
    if (rlog_wire_get_append_result(body, &m, &stamp_ms, &disk) != ST_OK)
        return false;
    rlog_wire_put_append_result(out, &m, stamp_ms, disk);
    return true;
}

static bool
vote_again(struct slice body, struct bytes *out)
{
    struct raft_request_vote m;
    if (rlog_wire_get_vote(body, &m) != ST_OK)
        return false;
    rlog_wire_put_vote(out, &m);
    return true;
}

static bool
vote_result_again(struct slice body, struct bytes *out)
{
    struct raft_request_vote_result m;
    if (rlog_wire_get_vote_result(body, &m) != ST_OK)
        return false;
    rlog_wire_put_vote_result(out, &m);
    return true;
}

static bool
timeout_now_again(struct slice body, struct bytes *out)
{
    struct raft_timeout_now m;
    if (rlog_wire_get_timeout_now(body, &m) != ST_OK)
        return false;
    rlog_wire_put_timeout_now(out, &m);
    return true;
}

static bool
position_again(struct slice body, struct bytes *out)
{
    struct rlog_position p;
    if (rlog_wire_get_position(body, &p) != ST_OK)
        return false;
    rlog_wire_put_position(out, &p);
    return true;
}

static bool
offer_again(struct slice body, struct bytes *out)
{
    struct rlog_snapshot_meta meta;
    uint64_t term;
    if (rlog_wire_get_offer(body, &term, &meta) != ST_OK)
        return false;
    rlog_wire_put_offer(out, term, &meta);
    return true;
}

static bool
chunk_again(struct slice body, struct bytes *out)
{
    struct rlog_chunk c;
    if (rlog_wire_get_chunk(body, &c) != ST_OK)
        return false;
    require(c.size > 0 && c.at <= body.size && c.size == body.size - c.at);
    rlog_wire_put_chunk(out, &c);
    bytes_put(out, body.data + c.at, c.size);
    return true;
}

static bool
snapshot_ack_again(struct slice body, struct bytes *out)
{
    struct rlog_snapshot_ack a;
    if (rlog_wire_get_snapshot_ack(body, &a) != ST_OK)
        return false;
    rlog_wire_put_snapshot_ack(out, &a);
    return true;
}

/* What later versions add behind a hello is not read, so only its beginning is back. */
static bool
hello_again(struct slice body, struct bytes *out)
{
    struct frame_hello hello;
    enum status status = frame_hello_read(body, &hello);
    require(status == ST_OK || status == ST_INVALID || status == ST_VERSION);
    if (status != ST_INVALID)
        require(hello.node != 0);
    if (status == ST_VERSION)
        require(hello.version < FRAME_VERSION_OLDEST);
    if (status != ST_OK)
        return false;
    require(memchr(hello.client_address, 0, sizeof hello.client_address) != NULL);
    frame_hello_put(out, &hello);
    /* One of the first version ends behind the client's address. */
    size_t first = FRAME_HELLO_BYTES_MIN + strlen(hello.client_address);
    if (body.size < first + 10)
        out->size = first;
    require(out->size <= body.size);
    bytes_put(out, body.data + out->size, body.size - out->size);
    return true;
}

static void
check_body(uint8_t kind, struct blob *body)
{
    struct slice s = blob_slice(body);
    struct bytes out = {0};
    bool is_taken = false;
    if (kind == RLOG_FRAME_APPEND)
        is_taken = append_again(body, &out);
    else if (kind == RLOG_FRAME_APPEND_RESULT)
        is_taken = append_result_again(s, &out);
    else if (kind == RLOG_FRAME_VOTE)
        is_taken = vote_again(s, &out);
    else if (kind == RLOG_FRAME_VOTE_RESULT)
        is_taken = vote_result_again(s, &out);
    else if (kind == RLOG_FRAME_TIMEOUT_NOW)
        is_taken = timeout_now_again(s, &out);
    else if (kind == RLOG_FRAME_POSITION)
        is_taken = position_again(s, &out);
    else if (kind == RLOG_FRAME_SNAPSHOT_OFFER)
        is_taken = offer_again(s, &out);
    else if (kind == RLOG_FRAME_SNAPSHOT_CHUNK)
        is_taken = chunk_again(s, &out);
    else if (kind == RLOG_FRAME_SNAPSHOT_ACK)
        is_taken = snapshot_ack_again(s, &out);
    else if (kind == FRAME_HELLO)
        is_taken = hello_again(s, &out);
    else if (kind == FRAME_REFUSAL)
        require(frame_refusal_name(frame_refusal_read(s)) != NULL);
    require(!is_taken || slice_equal(slice_of(out.data, out.size), s));
    bytes_fini(&out);
}

struct outcome {
    uint32_t crc; /* of all frames */
    uint32_t frames;
    enum status status;
};

static void
add_frame(struct outcome *o, uint8_t kind, struct slice body)
{
    o->crc = crc32c(o->crc, &kind, 1);
    o->crc = crc32c(o->crc, body.data, body.size);
    o->frames++;
}

/* Takes a piece; in_place: what belongs to a body goes straight there. */
static enum status
take_piece(struct intake *in, struct slice *rest, bool in_place)
{
    size_t room;
    uint8_t *to = intake_room(in, &room);
    if (!in_place || room == 0)
        return intake_take(in, rest);
    size_t count = rest->size < room ? rest->size : room;
    memcpy(to, rest->data, count);
    intake_fill(in, count);
    *rest = slice_of(rest->data + count, rest->size - count);
    return ST_OK;
}

static enum status
take_frames(struct intake *in, struct slice rest, bool in_place, struct outcome *o)
{
    enum status status = ST_OK;
    while (status == ST_OK && rest.size > 0) {
        status = take_piece(in, &rest, in_place);
        uint8_t kind = 0;
        struct blob *body = NULL;
        while (status == ST_OK && (status = intake_next(in, &kind, &body)) == ST_OK) {
            require(kind != 0 && body->size <= in->max_bytes);
            add_frame(o, kind, blob_slice(body));
            check_body(kind, body);
            blob_put(body);
        }
        if (status == ST_AGAIN)
            status = ST_OK;
    }
    return status;
}

static struct outcome
take_all(struct slice data, uint32_t max_bytes, size_t piece, bool in_place)
{
    struct outcome o = {0, 0, ST_OK};
    struct intake in;
    size_t before = allocated_bytes();
    intake_init(&in, max_bytes);
    for (size_t at = 0; at < data.size && o.status == ST_OK; at += piece) {
        size_t count = data.size - at < piece ? data.size - at : piece;
        uint8_t *copy = mem_alloc(count); /* exact, for the address sanitizer */
        memcpy(copy, data.data + at, count);
        o.status = take_frames(&in, slice_of(copy, count), in_place, &o);
        mem_free(copy);
        require(allocated_bytes() <= before + max_bytes + FRAMES_PLUS_BYTES);
    }
    intake_fini(&in);
    require(allocated_bytes() <= before);
    return o;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    uint32_t max_bytes = (data[0] & 2) != 0 ? FRAME_HELLO_BYTES_MAX : MAX_BYTES;
    size_t piece = (size_t)(data[0] >> 2) + 1;
    struct bytes in = {0};
    bytes_put(&in, data + 1, size - 1);
    if ((data[0] & 1) != 0)
        fix_frames(in.data, in.size);
    struct slice frames = slice_of(in.data, in.size);
    struct outcome whole = take_all(frames, max_bytes, size, false);
    struct outcome cut = take_all(frames, max_bytes, piece, false);
    struct outcome placed = take_all(frames, max_bytes, piece, true);
    if ((data[0] & 1) != 0)
        require(whole.frames == count_frames(frames, max_bytes));
    require(whole.crc == cut.crc && whole.frames == cut.frames);
    require(whole.crc == placed.crc && whole.frames == placed.frames);
    require(whole.status == cut.status && whole.status == placed.status);
    require(whole.status == ST_OK || whole.status == ST_INVALID ||
            whole.status == ST_RANGE || whole.status == ST_CORRUPT);
    bytes_fini(&in);
    return 0;
}
