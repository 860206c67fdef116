/* Outgoing frames: see outframe.h. */
#include "cluster/outframe.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "cluster/frame.h"

#include <assert.h>

size_t
outframe_size(const struct rlog_frame *frame)
{
    size_t size = frame->head.size;
    for (uint32_t i = 0; i < frame->count; i++)
        size += frame->entries[i].size;
    return size;
}

enum status
outframe_put(struct outq *q, const struct rlog_frame *frame)
{
    size_t size = outframe_size(frame);
    assert(size <= LIMIT_FRAME_BYTES);
    if (!outq_has_room(q, FRAME_HEAD_BYTES + size))
        return ST_AGAIN;

    uint8_t head[FRAME_HEAD_BYTES];
    uint32_t crc = frame_head_begin(head, frame->kind, (uint32_t)size);
    crc = crc32c(crc, frame->head.data, frame->head.size);
    for (uint32_t i = 0; i < frame->count; i++) {
        struct slice payload = rlog_payload(&frame->entries[i]);
        crc = crc32c(crc, payload.data, payload.size);
    }
    frame_head_end(head, crc);
    outq_put(q, slice_of(head, sizeof head));
    outq_put(q, frame->head);
    for (uint32_t i = 0; i < frame->count; i++) {
        const struct rlog_entry *e = &frame->entries[i];
        outq_put_blob(q, e->blob, e->offset, e->size);
    }
    return ST_OK;
}

void
outframe_put_own(struct outq *q, uint8_t kind, struct slice body)
{
    uint8_t head[FRAME_HEAD_BYTES];
    uint32_t crc = frame_head_begin(head, kind, (uint32_t)body.size);
    frame_head_end(head, crc32c(crc, body.data, body.size));
    outq_put(q, slice_of(head, sizeof head));
    outq_put(q, body);
}
