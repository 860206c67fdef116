#include "raft/disk_format.h"

#include "base/crc32c.h"
#include "raft/wire.h"

#include <assert.h>
#include <string.h>

#define FORMAT_VERSION 1

static const uint8_t segment_magic[8] = "HFSEGMNT";
static const uint8_t meta_magic[8] = "HFMETADT";
static const uint8_t boot_magic[8] = "HFBOOTID";
static const uint8_t image_magic[8] = "HFSNAPSH";

/* Magic and version; ST_VERSION only for what carries our magic and a good checksum. */
static enum status
check_frame(const uint8_t *in, size_t size, const uint8_t magic[8])
{
    if (memcmp(in, magic, 8) != 0 || crc32c(0, in, size - 4) != get_u32(in + size - 4))
        return ST_CORRUPT;
    return get_u32(in + 8) == FORMAT_VERSION ? ST_OK : ST_VERSION;
}

static void
put_frame(uint8_t *out, size_t size, const uint8_t magic[8])
{
    memcpy(out, magic, 8);
    put_u32(out + 8, FORMAT_VERSION);
    put_u32(out + size - 4, crc32c(0, out, size - 4));
}

void
segment_head_put(uint8_t out[SEGMENT_HEAD_BYTES], const struct segment_head *h)
{
    memset(out, 0, SEGMENT_HEAD_BYTES);
    put_u64(out + 16, h->number);
    put_u64(out + 24, h->salt);
    put_u64(out + 32, h->cluster);
    put_u64(out + 40, h->node_id);
    put_frame(out, SEGMENT_HEAD_BYTES, segment_magic);
}

enum status
segment_head_get(const uint8_t *in, struct segment_head *h)
{
    enum status st = check_frame(in, SEGMENT_HEAD_BYTES, segment_magic);
    if (st != ST_OK)
        return st;
    h->number = get_u64(in + 16);
    h->salt = get_u64(in + 24);
    h->cluster = get_u64(in + 32);
    h->node_id = get_u64(in + 40);
    return ST_OK;
}

static uint32_t
record_crc(const uint8_t *head, uint64_t salt)
{
    uint8_t bytes[8];
    put_u64(bytes, salt);
    return crc32c(crc32c(0, bytes, sizeof bytes), head + 4, RECORD_HEAD_BYTES - 4);
}

void
record_head_put(uint8_t out[RECORD_HEAD_BYTES],
                const struct record_head *h,
                uint64_t salt)
{
    put_u32(out + 4, h->size);
    put_u32(out + 8, h->crc);
    out[12] = h->type;
    out[13] = h->is_sync ? 1 : 0;
    out[14] = out[15] = 0;
    put_u64(out + 16, h->number);
    put_u64(out + 24, h->index);
    put_u64(out + 32, h->term);
    put_u64(out + 40, h->synced);
    put_u32(out, record_crc(out, salt));
}

bool
record_head_get(const uint8_t *in, uint64_t salt, struct record_head *h)
{
    if (in[12] < RLOG_COMMAND || in[12] > RECORD_MARK || in[13] > 1 ||
        get_u32(in + 4) > LIMIT_ENTRY_BYTES || get_u32(in) != record_crc(in, salt))
        return false;
    h->size = get_u32(in + 4);
    h->crc = get_u32(in + 8);
    h->type = in[12];
    h->is_sync = in[13] == 1;
    h->number = get_u64(in + 16);
    h->index = get_u64(in + 24);
    h->term = get_u64(in + 32);
    h->synced = get_u64(in + 40);
    return true;
}

void
disk_meta_put(uint8_t out[META_BYTES], const struct disk_meta *m)
{
    memset(out, 0, META_BYTES);
    put_u64(out + 16, m->sequence);
    put_u64(out + 24, m->node_id);
    memcpy(out + 32, m->cluster_id, DISK_CLUSTER_ID_BYTES);
    put_u64(out + 48, m->term);
    put_u64(out + 56, m->vote);
    out[64] = (uint8_t)m->rejoin;
    put_frame(out, META_BYTES, meta_magic);
}

enum status
disk_meta_get(const uint8_t in[META_BYTES], struct disk_meta *m)
{
    enum status st = check_frame(in, META_BYTES, meta_magic);
    if (st != ST_OK)
        return st;
    m->sequence = get_u64(in + 16);
    m->node_id = get_u64(in + 24);
    memcpy(m->cluster_id, in + 32, DISK_CLUSTER_ID_BYTES);
    m->term = get_u64(in + 48);
    m->vote = get_u64(in + 56);
    if (in[64] > DISK_REJOIN_JOINING)
        return ST_VERSION;
    m->rejoin = (enum disk_rejoin)in[64];
    return ST_OK;
}

void
disk_boot_put(uint8_t out[BOOT_BYTES], const struct disk_boot *b)
{
    memset(out, 0, BOOT_BYTES);
    out[16] = b->is_clean ? 1 : 0;
    out[17] = b->is_crashed ? 1 : 0;
    put_u64(out + 24, b->number);
    memcpy(out + 32, b->boot_id, strnlen(b->boot_id, DISK_BOOT_ID_MAX));
    put_frame(out, BOOT_BYTES, boot_magic);
}

enum status
disk_boot_get(const uint8_t in[BOOT_BYTES], struct disk_boot *b)
{
    enum status st = check_frame(in, BOOT_BYTES, boot_magic);
    if (st != ST_OK)
        return st;
    memset(b, 0, sizeof *b);
    b->is_clean = in[16] != 0;
    b->is_crashed = in[17] != 0;
    b->number = get_u64(in + 24);
    memcpy(b->boot_id, in + 32, DISK_BOOT_ID_MAX);
    return ST_OK;
}

void
image_head_put(uint8_t out[IMAGE_HEAD_BYTES],
               const struct rlog_snapshot_meta *m,
               uint64_t cluster)
{
    struct bytes meta = {0};
    rlog_meta_put(&meta, m);
    assert(meta.size + 64 <= IMAGE_HEAD_BYTES);
    memset(out, 0, IMAGE_HEAD_BYTES);
    put_u32(out + 12, IMAGE_CHUNK_BYTES);
    put_u64(out + 16, cluster);
    put_u32(out + 24, (uint32_t)meta.size);
    memcpy(out + 32, meta.data, meta.size);
    bytes_fini(&meta);
    put_frame(out, IMAGE_HEAD_BYTES, image_magic);
}

enum status
image_head_get(const uint8_t in[IMAGE_HEAD_BYTES],
               struct rlog_snapshot_meta *m,
               uint64_t *ret_cluster)
{
    enum status st = check_frame(in, IMAGE_HEAD_BYTES, image_magic);
    if (st != ST_OK)
        return st;
    size_t size = get_u32(in + 24);
    if (get_u32(in + 12) != IMAGE_CHUNK_BYTES || size > IMAGE_HEAD_BYTES - 64)
        return ST_CORRUPT;
    struct reader r = reader_of(slice_of(in + 32, size));
    if (rlog_meta_get(&r, m) != ST_OK || !reader_done(&r))
        return ST_CORRUPT;
    *ret_cluster = get_u64(in + 16);
    return ST_OK;
}

/* The number of the chunk is in its checksum, so that two cannot change places. */
static uint32_t
chunk_crc(uint64_t chunk, const void *data, uint32_t size)
{
    uint8_t number[8];
    put_u64(number, chunk);
    return crc32c(crc32c(0, number, sizeof number), data, size);
}

void
image_chunk_put(uint8_t out[IMAGE_CHUNK_HEAD],
                uint64_t chunk,
                const void *data,
                uint32_t size)
{
    put_u32(out, size);
    put_u32(out + 4, chunk_crc(chunk, data, size));
}

bool
image_chunk_check(const uint8_t in[IMAGE_CHUNK_HEAD],
                  uint64_t chunk,
                  const void *data,
                  uint32_t size)
{
    return get_u32(in) == size && get_u32(in + 4) == chunk_crc(chunk, data, size);
}

uint64_t
image_file_bytes(uint64_t image_bytes)
{
    uint64_t full = image_bytes / IMAGE_CHUNK_BYTES;
    uint64_t rest = image_bytes % IMAGE_CHUNK_BYTES;
    return image_chunk_offset(full) + (rest > 0 ? IMAGE_CHUNK_HEAD + rest : 0);
}
