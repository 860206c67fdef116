/* What the scan of a log's segments finds; part of raft/disk_int.h. */
#ifndef HF_RAFT_DISK_SCAN_H
#define HF_RAFT_DISK_SCAN_H

#include "raft/disk_int.h"

struct disk_scan_entry {
    struct disk_place place;
    uint64_t term;
    uint8_t type;
    bool is_sync;
};

struct disk_scan {
    uint64_t first; /* index of entries[0] */
    uint64_t count;
    struct disk_scan_entry *entries;
    uint64_t capacity;
    struct disk_segment *segments; /* those with a file, ascending */
    size_t segment_count;
    uint64_t number;      /* last record; 0 = none */
    uint64_t marked;      /* highest record number said to be synced */
    size_t tail;          /* segments[tail] holds the last record */
    uint64_t tail_offset; /* behind it */
    bool is_torn;         /* something bad was behind it */
    bool has_record;
    struct rlog_members members; /* of the last members entry; count 0: there is none */
    bool has_bad;                /* ST_CORRUPT because of the record here: */
    uint64_t bad_segment;
    uint64_t bad_offset;
};

/* Reads every segment; changes nothing. ST_CORRUPT names file and offset. */
enum status
disk_scan_log(struct disk *d, struct disk_scan *s, struct disk_error *e) MUST_USE;
void disk_scan_fini(struct disk_scan *s);
/* Their names, in order. */
enum status
disk_list_segments(struct disk *d, struct disk_scan *s, struct disk_error *e) MUST_USE;
/* The whole file, which the caller frees; fills in segment->bytes. */
enum status disk_load_segment(struct disk *d,
                              struct disk_segment *segment,
                              uint8_t **ret_bytes,
                              struct disk_error *e) MUST_USE;
/* Its head; fills in segment->salt. */
enum status disk_check_segment(struct disk *d,
                               struct disk_segment *segment,
                               const uint8_t *bytes,
                               struct disk_error *e) MUST_USE;
/* The record at offset when it is whole, or counts as that. */
bool disk_get_record(const struct disk *d,
                     const struct disk_segment *segment,
                     const uint8_t *bytes,
                     uint64_t offset,
                     struct record_head *h) MUST_USE;
bool disk_is_salvaged(const struct disk *d, uint64_t segment, uint64_t offset);

#endif
