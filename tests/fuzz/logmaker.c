/* Log maker: see logmaker.h. */
#include "tests/fuzz/logmaker.h"

#include "base/crc32c.h"

#include <string.h>

#define TAIL_BYTES 64 /* zeros behind the last record of a segment */

static uint64_t
salt_of(uint32_t segment)
{
    return UINT64_C(0x1234567800000000) + segment;
}

static void
begin_segment(struct logmaker *m)
{
    struct bytes *b = &m->segments[m->segment_count];
    struct segment_head head = {.number = m->segment_count + 1,
                                .salt = salt_of(m->segment_count),
                                .cluster = MAKER_CLUSTER,
                                .node_id = MAKER_NODE};
    segment_head_put(bytes_extend(b, SEGMENT_HEAD_BYTES), &head);
    m->segment_count++;
}

static void
end_segment(struct logmaker *m)
{
    struct bytes *b = &m->segments[m->segment_count - 1];
    memset(bytes_extend(b, TAIL_BYTES), 0, TAIL_BYTES);
}

static void
put_record(struct logmaker *m, struct record_head *head, const uint8_t *payload)
{
    uint32_t segment = m->segment_count - 1;
    struct bytes *b = &m->segments[segment];
    struct made_record *made =
        &m->records[head->type == RECORD_MARK ? m->count : m->count++];
    head->synced = m->synced;
    head->crc = crc32c(0, payload, head->size);
    *made = (struct made_record){.segment = segment,
                                 .offset = (uint32_t)b->size,
                                 .head = *head,
                                 .is_head_whole = true,
                                 .is_whole = true};
    size_t size = record_bytes(head->size);
    uint8_t *out = bytes_extend(b, size);
    memset(out, 0, size);
    record_head_put(out, head, salt_of(segment));
    if (head->size > 0)
        memcpy(out + RECORD_HEAD_BYTES, payload, head->size);
}

static void
run_script(struct logmaker *m, struct slice script)
{
    static const uint8_t payload[32] = "thirty-one bytes of some payload";
    uint64_t index = 0;
    uint64_t term = 1;
    for (size_t i = 0; i < script.size && m->count < MAKER_RECORDS; i++) {
        uint8_t operation = script.data[i] & 7;
        uint8_t argument = script.data[i] >> 3;
        if (operation == 0) {
            if (m->segment_count == MAKER_SEGMENTS)
                continue;
            end_segment(m);
            begin_segment(m);
        } else if (operation == 1) {
            m->synced = m->count;
        } else if (operation == 2) {
            index -= argument < index ? argument : 0;
            term++;
        } else {
            struct record_head head = {.type = RLOG_COMMAND,
                                       .is_sync = (operation & 1) != 0,
                                       .size = argument,
                                       .number = m->count + 1,
                                       .index = ++index,
                                       .term = term};
            put_record(m, &head, payload);
        }
    }
}

void
logmaker_init(struct logmaker *m, struct slice script)
{
    memset(m, 0, sizeof *m);
    begin_segment(m);
    run_script(m, script);
    m->has_mark = m->count > 0 && script.size % 2 == 1;
    if (m->has_mark) {
        m->synced = m->count;
        struct record_head head = {.type = RECORD_MARK, .number = m->count};
        put_record(m, &head, NULL);
    }
    end_segment(m);
}

void
logmaker_fini(struct logmaker *m)
{
    for (uint32_t i = 0; i < m->segment_count; i++)
        bytes_fini(&m->segments[i]);
}

/* Bytes [from, to) of a segment have changed. */
static void
note_change(struct logmaker *m, uint32_t segment, size_t from, size_t to)
{
    if (from < SEGMENT_HEAD_BYTES) {
        m->is_head_damaged = true;
        m->damaged = segment;
    }
    for (uint32_t i = 0; i < m->count + m->has_mark; i++) {
        struct made_record *made = &m->records[i];
        size_t head = made->offset;
        size_t payload = head + RECORD_HEAD_BYTES;
        if (made->segment != segment)
            continue;
        if (from < payload && to > head)
            made->is_head_whole = made->is_whole = false;
        if (from < payload + made->head.size && to > payload)
            made->is_whole = false;
    }
}

void
logmaker_damage(struct logmaker *m, const struct damage_at *at)
{
    uint32_t segment = at->segment % m->segment_count;
    struct bytes *b = &m->segments[segment];
    size_t offset = at->offset % b->size;
    switch (at->kind) {
    case DAMAGE_NONE:
        break;
    case DAMAGE_FLIP:
        b->data[offset] ^= (uint8_t)(1u << at->size % 8);
        note_change(m, segment, offset, offset + 1);
        break;
    case DAMAGE_ZERO:
        for (size_t i = offset; i < b->size && i < offset + at->size; i++) {
            if (b->data[i] != 0)
                note_change(m, segment, i, i + 1);
            b->data[i] = 0;
        }
        break;
    case DAMAGE_CUT:
        note_change(m, segment, offset, b->size);
        b->size = offset;
        break;
    }
}

/* A process that was killed leaves a beginning of what it wrote, never the end. */
static bool
is_written_to_its_end(const struct logmaker *m, const struct made_record *made)
{
    const struct bytes *b = &m->segments[made->segment];
    size_t end = made->offset + RECORD_HEAD_BYTES + made->head.size;
    return made->is_head_whole && made->head.size > 0 && end <= b->size &&
           b->data[end - 1] != 0;
}

/* Whether something that is left says that the record was synced. */
static bool
is_known_synced(const struct logmaker *m, const struct made_record *lost, bool crashed)
{
    uint64_t number = lost->head.number;
    if (!crashed && is_written_to_its_end(m, lost))
        return true;
    for (uint32_t i = 0; i < m->count + m->has_mark; i++) {
        const struct made_record *made = &m->records[i];
        bool is_mark = made->head.type == RECORD_MARK;
        if (made->is_head_whole && made->head.synced >= number)
            return true;
        if (is_mark && made->is_head_whole && made->head.number >= number)
            return true;
        bool is_behind = !is_mark && made->is_whole && made->head.number > number;
        if (is_behind && (!crashed || made->segment > lost->segment))
            return true;
    }
    return false;
}

/* The last segment, with nothing behind its head: made ahead, and not yet used. */
static bool
is_made_ahead(const struct logmaker *m, uint32_t segment)
{
    const struct bytes *b = &m->segments[segment];
    size_t at = SEGMENT_HEAD_BYTES;
    while (at < b->size && b->data[at] == 0)
        at++;
    return segment + 1 == m->segment_count && b->size >= SEGMENT_HEAD_BYTES &&
           at >= b->size;
}

uint32_t
logmaker_expected(const struct logmaker *m, bool is_crashed, uint64_t clean_number)
{
    uint32_t kept = 0;
    if (m->is_head_damaged && !is_made_ahead(m, m->damaged))
        return UINT32_MAX;
    while (kept < m->count && m->records[kept].is_whole)
        kept++;
    if (kept < clean_number)
        return UINT32_MAX;
    if (kept < m->count && is_known_synced(m, &m->records[kept], is_crashed))
        return UINT32_MAX;
    return kept;
}
