/* Bytes of the files in a data directory (tables in man/holdfast-files.5). Pure. */
#ifndef HF_RAFT_DISK_FORMAT_H
#define HF_RAFT_DISK_FORMAT_H

#include "base/limits.h"
#include "raft/disk.h"

#define SEGMENT_HEAD_BYTES 64
#define RECORD_HEAD_BYTES  48
#define META_BYTES         128
#define BOOT_BYTES         256
#define IMAGE_HEAD_BYTES   4096
#define IMAGE_CHUNK_HEAD   8
#define IMAGE_CHUNK_BYTES  LIMIT_SNAPSHOT_CHUNK

struct segment_head {
    uint64_t number;
    uint64_t salt;
    uint64_t cluster; /* first eight bytes of the cluster id */
    uint64_t node_id;
};

/* Record types beside enum rlog_type. */
#define RECORD_MARK                                                                    \
    4 /* no entry: only says what is synced; overwritten by the next                   \
       */

struct record_head {
    uint32_t size;
    uint32_t crc; /* of the payload */
    uint8_t type;
    bool is_sync;
    uint64_t number; /* of the record in the stream; of the last one, for a mark */
    uint64_t index;
    uint64_t term;
    uint64_t synced; /* highest record number known to be synced when it was written */
};

/* A log that was set aside (raft/disk_aside.c), or is that of a new node. In meta, not
 * in boot: there are two copies of it, and to forget this would open the restart gate
 * too early. */
enum disk_rejoin {
    DISK_REJOIN_NONE = 0,
    DISK_REJOIN_MOVING = 1,  /* log and snapshots are on their way to aside */
    DISK_REJOIN_WAITING = 2, /* what was acknowledged is not all here again */
    DISK_REJOIN_JOINING = 3, /* a new node: the same, and it never had anything */
};

struct disk_meta {
    uint64_t sequence;
    uint64_t node_id;
    uint8_t cluster_id[DISK_CLUSTER_ID_BYTES];
    uint64_t term;
    uint64_t vote;
    enum disk_rejoin rejoin;
};

struct disk_boot {
    bool is_clean; /* stopped with everything synced */
    bool
        is_crashed; /* the machine crashed, and the restart gate has not opened since */
    uint64_t number; /* last record, when clean */
    char boot_id[DISK_BOOT_ID_MAX + 1];
};

static inline size_t
record_bytes(size_t payload_size)
{
    return RECORD_HEAD_BYTES + ((payload_size + 7) & ~(size_t)7);
}

void segment_head_put(uint8_t out[SEGMENT_HEAD_BYTES], const struct segment_head *h);
enum status segment_head_get(const uint8_t *in, struct segment_head *h) MUST_USE;
void record_head_put(uint8_t out[RECORD_HEAD_BYTES],
                     const struct record_head *h,
                     uint64_t salt);
/* False: not a record of this segment. */
bool record_head_get(const uint8_t *in, uint64_t salt, struct record_head *h) MUST_USE;
void disk_meta_put(uint8_t out[META_BYTES], const struct disk_meta *m);
enum status disk_meta_get(const uint8_t in[META_BYTES], struct disk_meta *m) MUST_USE;
void disk_boot_put(uint8_t out[BOOT_BYTES], const struct disk_boot *b);
enum status disk_boot_get(const uint8_t in[BOOT_BYTES], struct disk_boot *b) MUST_USE;
void image_head_put(uint8_t out[IMAGE_HEAD_BYTES],
                    const struct rlog_snapshot_meta *m,
                    uint64_t cluster);
enum status image_head_get(const uint8_t in[IMAGE_HEAD_BYTES],
                           struct rlog_snapshot_meta *m,
                           uint64_t *ret_cluster) MUST_USE;
void image_chunk_put(uint8_t out[IMAGE_CHUNK_HEAD],
                     uint64_t chunk,
                     const void *data,
                     uint32_t size);
/* True when data is what the head says. */
bool image_chunk_check(const uint8_t in[IMAGE_CHUNK_HEAD],
                       uint64_t chunk,
                       const void *data,
                       uint32_t size);
/* Size of the whole file for an image of so many bytes. */
uint64_t image_file_bytes(uint64_t image_bytes);
static inline uint64_t
image_chunk_offset(uint64_t chunk)
{
    return IMAGE_HEAD_BYTES + chunk * (IMAGE_CHUNK_HEAD + IMAGE_CHUNK_BYTES);
}

#endif
