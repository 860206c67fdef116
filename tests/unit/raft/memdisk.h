/* A disk in memory for the unit tests of the replicated log: struct rlog_disk whose
 * completions come when the test says so, and that can lose its unsynced tail. */
#ifndef HF_TESTS_MEMDISK_H
#define HF_TESTS_MEMDISK_H

#include "raft/rlog_disk.h"

struct mem_record {
    struct rlog_entry entry;
};

struct mem_image {
    struct rlog_snapshot_meta meta;
    struct bytes data;
    unsigned holds;
};

#define MEM_IMAGES 8

struct memdisk {
    struct rlog_disk disk;
    uint64_t term;
    uint64_t vote;
    unsigned term_writes;
    struct mem_record *records; /* the stream since open or install */
    size_t count;
    size_t capacity;
    uint64_t base; /* position of records[0] - 1 */
    uint64_t keep_first;
    uint64_t written;
    uint64_t synced;
    uint64_t sync_asked;
    unsigned syncs;
    struct mem_image images[MEM_IMAGES]; /* index 0 = free */
    uint64_t newest;
    bool is_taking;
    bool is_take_finished;
    struct mem_image taking;
    bool is_receiving;
    bool is_receive_finished;
    bool is_installing;
    struct mem_image receiving;
    uint64_t receive_reported;
    bool fail_term;
    unsigned reads;
    unsigned trims;
    unsigned installs;
    unsigned gates_opened;
    struct rlog_disk_health health;
};

/* An empty disk with the bootstrap entry. */
void memdisk_init(struct memdisk *d, const struct rlog_members *members);
void memdisk_fini(struct memdisk *d);
/* Fills disk.found from what is there; everything found is synced. */
void memdisk_open(struct memdisk *d);
/* Ends a life: a killed process keeps what was appended up to keep records of the
 * stream's end (all when keep is large), a crashed machine what was synced. */
void memdisk_kill(struct memdisk *d);
void memdisk_crash(struct memdisk *d);
/* Log and snapshots are set aside; term and vote stay. Between two lives. */
void memdisk_wipe(struct memdisk *d);

void memdisk_write(struct memdisk *d, struct rlog *r, uint64_t now_ms);
void memdisk_sync(struct memdisk *d, struct rlog *r, uint64_t now_ms); /* if asked */
void memdisk_snapshots(struct memdisk *d, struct rlog *r, uint64_t now_ms);
void memdisk_deliver(struct memdisk *d, struct rlog *r, uint64_t now_ms); /* all */

#endif
