/* Backup file: see backup_file.h. */
#include "server/backup_file.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/disk_format.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define HEAD_MAGIC      "HFBACKUP"
#define END_MAGIC       "HFBACKND"
#define MAGIC_BYTES     8
#define FILE_VERSION    1
#define IMAGE_BYTES_MAX (UINT64_C(1) << 50)

enum part {
    PART_HEAD,
    PART_CHUNK_HEAD,
    PART_CHUNK,
    PART_END,
    PART_NOTHING, /* nothing may follow */
};

struct backup_reader {
    enum status (*image_cb)(void *ctx, struct slice image);
    void *ctx;
    enum status status; /* the first failure, which stays */
    enum part part;
    uint64_t offset; /* in the file, where the present part begins */
    uint64_t chunk;  /* its number */
    uint64_t left;   /* bytes of the image still to come */
    uint32_t crc;    /* of the file so far */
    uint32_t image_crc;
    uint32_t chunk_bytes;
    uint8_t chunk_head[IMAGE_CHUNK_HEAD];
    struct bytes pending; /* of the present part */
    struct backup_info info;
    struct backup_counts counts;
    char why[BACKUP_WHY_BYTES];
};

/* --- writing --- */

uint64_t
backup_file_bytes(uint64_t image_bytes)
{
    uint64_t chunks = (image_bytes + IMAGE_CHUNK_BYTES - 1) / IMAGE_CHUNK_BYTES;
    return BACKUP_HEAD_BYTES + chunks * IMAGE_CHUNK_HEAD + image_bytes +
           BACKUP_END_BYTES;
}

static void
count_bytes(struct backup_writer *w, const struct bytes *out, size_t from)
{
    w->crc = crc32c(w->crc, out->data + from, out->size - from);
    w->size += out->size - from;
}

void
backup_put_head(struct backup_writer *w,
                const struct backup_info *info,
                struct bytes *out)
{
    size_t from = out->size;
    *w = (struct backup_writer){0};
    bytes_put(out, HEAD_MAGIC, MAGIC_BYTES);
    bytes_put_u32(out, FILE_VERSION);
    bytes_put_u32(out, IMAGE_CHUNK_BYTES);
    bytes_put(out, info->cluster_id, sizeof info->cluster_id);
    bytes_put_u64(out, info->node_id);
    bytes_put_u64(out, info->index);
    bytes_put_u64(out, info->term);
    bytes_put_u64(out, info->chain);
    bytes_put_u64(out, info->time_ms);
    bytes_put_u64(out, info->image_bytes);
    bytes_put_u32(out, info->image_crc);
    bytes_put_u32(out, 0);
    bytes_put(out, info->queue, sizeof info->queue);
    bytes_put(out, info->version, sizeof info->version);
    size_t zeros = BACKUP_HEAD_BYTES - 4 - (out->size - from);
    memset(bytes_extend(out, zeros), 0, zeros);
    bytes_put_u32(out, crc32c(0, out->data + from, BACKUP_HEAD_BYTES - 4));
    count_bytes(w, out, from);
}

/* Keeps the last bytes of the image: its end, with the counts. */
static void
keep_tail(struct backup_writer *w, struct slice image)
{
    size_t size = sizeof w->tail;
    if (image.size < size) {
        memmove(w->tail, w->tail + image.size, size - image.size);
        size = image.size;
    }
    memcpy(w->tail + sizeof w->tail - size, slice_end(image) - size, size);
}

void
backup_put_chunk(struct backup_writer *w, struct slice image, struct bytes *out)
{
    size_t from = out->size;
    assert(image.size > 0 && image.size <= IMAGE_CHUNK_BYTES);
    image_chunk_put(bytes_extend(out, IMAGE_CHUNK_HEAD), w->chunk, image.data,
                    (uint32_t)image.size);
    bytes_put_slice(out, image);
    keep_tail(w, image);
    w->chunk++;
    count_bytes(w, out, from);
}

void
backup_put_end(struct backup_writer *w, struct bytes *out)
{
    size_t from = out->size;
    bytes_put(out, END_MAGIC, MAGIC_BYTES);
    bytes_put_u64(out, w->size + BACKUP_END_BYTES);
    bytes_put(out, w->tail, sizeof w->tail);
    bytes_put_u32(out, w->crc);
    bytes_put_u32(out, crc32c(0, out->data + from, BACKUP_END_BYTES - 4));
    count_bytes(w, out, from);
}

/* --- reading --- */

struct backup_reader *
backup_reader_new(enum status (*image_cb)(void *ctx, struct slice image), void *ctx)
{
    struct backup_reader *r = mem_calloc(1, sizeof *r);
    r->image_cb = image_cb;
    r->ctx = ctx;
    return r;
}

void
backup_reader_free(struct backup_reader *r)
{
    if (r == NULL)
        return;
    bytes_fini(&r->pending);
    mem_free(r);
}

static enum status
fail(struct backup_reader *r, enum status st, const char *what)
{
    (void)snprintf(r->why, sizeof r->why, "at offset %llu: %s",
                   (unsigned long long)r->offset, what);
    r->status = st;
    return st;
}

static bool
is_zero(struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] != 0)
            return false;
    return true;
}

static bool
is_text(const char *field, size_t size)
{
    size_t length = strnlen(field, size);
    return length < size && is_zero(slice_of(field + length, size - length));
}

static enum status
take_head(struct backup_reader *r, struct slice s)
{
    struct reader in = reader_of(s);
    struct backup_info *i = &r->info;
    if (memcmp(s.data, HEAD_MAGIC, MAGIC_BYTES) != 0)
        return fail(r, ST_CORRUPT, "this is no backup of Holdfast");
    if (get_u32(s.data + BACKUP_HEAD_BYTES - 4) !=
        crc32c(0, s.data, BACKUP_HEAD_BYTES - 4))
        return fail(r, ST_CORRUPT, "the head is damaged");
    (void)read_slice(&in, MAGIC_BYTES);
    if (read_u32(&in) != FILE_VERSION || read_u32(&in) != IMAGE_CHUNK_BYTES)
        return fail(r, ST_VERSION, "written by a newer version");
    read_copy(&in, i->cluster_id, sizeof i->cluster_id);
    i->node_id = read_u64(&in);
    i->index = read_u64(&in);
    i->term = read_u64(&in);
    i->chain = read_u64(&in);
    i->time_ms = read_u64(&in);
    i->image_bytes = read_u64(&in);
    i->image_crc = read_u32(&in);
    bool is_good = read_u32(&in) == 0;
    read_copy(&in, i->queue, sizeof i->queue);
    read_copy(&in, i->version, sizeof i->version);
    struct slice rest = read_slice(&in, reader_left(&in) - 4);
    if (!is_good || !is_zero(rest) || !is_text(i->queue, sizeof i->queue) ||
        !is_text(i->version, sizeof i->version) || i->index == 0 || i->term == 0 ||
        i->index >= UINT64_C(1) << 62 || i->term >= UINT64_C(1) << 62 ||
        i->image_bytes < sizeof r->counts || i->image_bytes > IMAGE_BYTES_MAX)
        return fail(r, ST_CORRUPT, "the head says what cannot be");
    r->left = i->image_bytes;
    r->part = PART_CHUNK_HEAD;
    return ST_OK;
}

static enum status
take_chunk_head(struct backup_reader *r, struct slice s)
{
    uint64_t want = r->left < IMAGE_CHUNK_BYTES ? r->left : IMAGE_CHUNK_BYTES;
    memcpy(r->chunk_head, s.data, sizeof r->chunk_head);
    r->chunk_bytes = get_u32(s.data);
    if (r->chunk_bytes != want)
        return fail(r, ST_CORRUPT, "damaged: a piece of another size is due here");
    r->part = PART_CHUNK;
    return ST_OK;
}

static enum status
take_chunk(struct backup_reader *r, struct slice s)
{
    if (!image_chunk_check(r->chunk_head, r->chunk, s.data, r->chunk_bytes))
        return fail(r, ST_CORRUPT, "damaged: not what its checksum says");
    r->image_crc = crc32c(r->image_crc, s.data, s.size);
    enum status st = r->image_cb(r->ctx, s);
    if (st != ST_OK)
        return fail(r, st, "the image in it cannot be read from here on");
    r->chunk++;
    r->left -= s.size;
    r->part = r->left > 0 ? PART_CHUNK_HEAD : PART_END;
    return ST_OK;
}

static enum status
take_end(struct backup_reader *r, struct slice s)
{
    struct reader in = reader_of(s);
    struct backup_counts *c = &r->counts;
    if (memcmp(s.data, END_MAGIC, MAGIC_BYTES) != 0 ||
        get_u32(s.data + BACKUP_END_BYTES - 4) !=
            crc32c(0, s.data, BACKUP_END_BYTES - 4))
        return fail(r, ST_CORRUPT, "the end is damaged");
    (void)read_slice(&in, MAGIC_BYTES);
    uint64_t size = read_u64(&in);
    c->queues = read_u64(&in);
    c->sessions = read_u64(&in);
    c->history = read_u64(&in);
    c->messages = read_u64(&in);
    c->digest = read_u64(&in);
    if (size != r->offset + BACKUP_END_BYTES || read_u32(&in) != r->crc ||
        r->image_crc != r->info.image_crc)
        return fail(r, ST_CORRUPT, "the end is not that of this file");
    r->part = PART_NOTHING;
    return ST_OK;
}

static size_t
part_size(const struct backup_reader *r)
{
    switch (r->part) {
    case PART_HEAD:
        return BACKUP_HEAD_BYTES;
    case PART_CHUNK_HEAD:
        return IMAGE_CHUNK_HEAD;
    case PART_CHUNK:
        return r->chunk_bytes;
    case PART_END:
        return BACKUP_END_BYTES;
    case PART_NOTHING:
        break;
    }
    return 0;
}

static enum status
take_part(struct backup_reader *r, struct slice s)
{
    enum status st = ST_CORRUPT;
    switch (r->part) {
    case PART_HEAD:
        st = take_head(r, s);
        break;
    case PART_CHUNK_HEAD:
        st = take_chunk_head(r, s);
        break;
    case PART_CHUNK:
        st = take_chunk(r, s);
        break;
    case PART_END:
        st = take_end(r, s);
        break;
    case PART_NOTHING:
        break;
    }
    r->crc = crc32c(r->crc, s.data, s.size);
    r->offset += s.size;
    return st;
}

enum status
backup_reader_feed(struct backup_reader *r, struct slice piece)
{
    while (r->status == ST_OK && piece.size > 0) { /* bound: the piece */
        size_t size = part_size(r);
        if (size == 0)
            return fail(r, ST_CORRUPT, "something follows the end");
        size_t lacks = size - r->pending.size;
        size_t part = piece.size < lacks ? piece.size : lacks;
        if (r->pending.size == 0 && part == size) {
            (void)take_part(r, slice_of(piece.data, size));
        } else {
            bytes_put(&r->pending, piece.data, part);
            if (r->pending.size == size) {
                (void)take_part(r, slice_of(r->pending.data, size));
                bytes_clear(&r->pending);
            }
        }
        piece = slice_of(piece.data + part, piece.size - part);
    }
    return r->status;
}

enum status
backup_reader_finish(struct backup_reader *r)
{
    if (r->status != ST_OK || r->part == PART_NOTHING)
        return r->status;
    r->offset += r->pending.size;
    return fail(r, ST_CORRUPT, "the file ends here: it is incomplete");
}

const struct backup_info *
backup_reader_info(const struct backup_reader *r)
{
    return r->part == PART_HEAD ? NULL : &r->info;
}

const struct backup_counts *
backup_reader_counts(const struct backup_reader *r)
{
    return &r->counts;
}

const char *
backup_reader_why(const struct backup_reader *r)
{
    return r->why;
}
