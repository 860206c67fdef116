/* Outgoing queue: see outq.h.
 *
 * Invariants: bytes = what is left of gather + the sizes of all pieces; no piece is
 * empty; the gathered bytes come before the first piece. Memory: pieces by reference
 * are larger than OUTQ_COPY_MAX, so the ring has at most about two places per 2 KiB of
 * limit_bytes. */
#include "cluster/outq.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

void
outq_init(struct outq *q, size_t limit_bytes)
{
    *q = (struct outq){.limit_bytes = limit_bytes};
}

static struct outq_piece *
piece_at(const struct outq *q, size_t position)
{
    return &q->pieces[(q->first + position) & (q->capacity - 1)];
}

void
outq_fini(struct outq *q)
{
    for (size_t i = 0; i < q->count; i++)
        blob_put(piece_at(q, i)->blob);
    mem_free(q->pieces);
    mem_free(q->gather);
    blob_put(q->chunk);
    *q = (struct outq){0};
}

bool
outq_has_room(const struct outq *q, size_t frame_bytes)
{
    return q->bytes == 0 || q->bytes + frame_bytes <= q->limit_bytes;
}

/* Doubles the ring and straightens it. */
static void
grow(struct outq *q)
{
    size_t capacity = q->capacity == 0 ? 16 : q->capacity * 2;
    struct outq_piece *pieces = mem_alloc(capacity * sizeof *pieces);
    for (size_t i = 0; i < q->count; i++)
        pieces[i] = *piece_at(q, i);
    mem_free(q->pieces);
    q->pieces = pieces;
    q->capacity = capacity;
    q->first = 0;
}

/* Takes the caller's reference of blob. */
static void
push(struct outq *q, struct blob *blob, uint32_t offset, uint32_t size)
{
    if (q->count == q->capacity)
        grow(q);
    *piece_at(q, q->count) = (struct outq_piece){blob, offset, size};
    q->count++;
}

/* A chunk with free room: the present one, emptied when nobody refers to it any more,
 * or a new one. */
static void
need_chunk(struct outq *q)
{
    if (q->chunk != NULL && q->count == 0 &&
        atomic_load_explicit(&q->chunk->refs, memory_order_acquire) == 1)
        q->chunk_used = 0;
    if (q->chunk != NULL && q->chunk_used < q->chunk->size)
        return;
    blob_put(q->chunk);
    q->chunk = blob_new(OUTQ_GATHER_BYTES);
    q->chunk_used = 0;
}

void
outq_put(struct outq *q, struct slice bytes)
{
    q->bytes += bytes.size;
    while (bytes.size > 0) {
        need_chunk(q);
        uint32_t room = q->chunk->size - q->chunk_used;
        uint32_t count = bytes.size < room ? (uint32_t)bytes.size : room;
        memcpy(q->chunk->data + q->chunk_used, bytes.data, count);
        struct outq_piece *last = q->count == 0 ? NULL : piece_at(q, q->count - 1);
        if (last != NULL && last->blob == q->chunk &&
            last->offset + last->size == q->chunk_used)
            last->size += count;
        else
            push(q, blob_get(q->chunk), q->chunk_used, count);
        q->chunk_used += count;
        bytes = slice_of(bytes.data + count, bytes.size - count);
    }
}

void
outq_put_blob(struct outq *q, struct blob *blob, uint32_t offset, uint32_t size)
{
    if (size == 0)
        return;
    assert(offset <= blob->size && size <= blob->size - offset);
    if (size <= OUTQ_COPY_MAX) {
        outq_put(q, slice_of(blob->data + offset, size));
        return;
    }
    push(q, blob_get(blob), offset, size);
    q->bytes += size;
}

/* Takes count bytes off the first piece. */
static void
shrink_first(struct outq *q, uint32_t count)
{
    struct outq_piece *piece = piece_at(q, 0);
    assert(count <= piece->size);
    piece->offset += count;
    piece->size -= count;
    if (piece->size > 0)
        return;
    blob_put(piece->blob);
    q->first = (q->first + 1) & (q->capacity - 1);
    q->count--;
}

/* Moves pieces, the last one perhaps in part, into the gather buffer. */
static void
gather(struct outq *q)
{
    if (q->gather == NULL)
        q->gather = mem_alloc(OUTQ_GATHER_BYTES);
    q->gather_size = q->gather_done = 0;
    while (q->count > 0 && q->gather_size < OUTQ_GATHER_BYTES) {
        const struct outq_piece *piece = piece_at(q, 0);
        uint32_t room = OUTQ_GATHER_BYTES - q->gather_size;
        uint32_t count = piece->size < room ? piece->size : room;
        memcpy(q->gather + q->gather_size, piece->blob->data + piece->offset, count);
        q->gather_size += count;
        shrink_first(q, count);
    }
}

struct slice
outq_front(struct outq *q)
{
    if (q->gather_done == q->gather_size && q->count > 0) {
        const struct outq_piece *piece = piece_at(q, 0);
        if (q->count == 1 || piece->size >= OUTQ_GATHER_BYTES)
            return slice_of(piece->blob->data + piece->offset, piece->size);
        gather(q);
    }
    return slice_of(q->gather == NULL ? (const uint8_t *)""
                                      : q->gather + q->gather_done,
                    q->gather_size - q->gather_done);
}

void
outq_consume(struct outq *q, size_t count)
{
    assert(count <= q->bytes);
    q->bytes -= count;
    if (q->gather_done < q->gather_size) {
        assert(count <= q->gather_size - q->gather_done);
        q->gather_done += (uint32_t)count;
    } else if (count > 0) {
        shrink_first(q, (uint32_t)count);
    }
}
