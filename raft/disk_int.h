/* Inside the real disk: its structure, its jobs, and what its files offer each other.
 *
 *   disk.c         open and close
 *   disk_plan.c    the operations: where records go, jobs (core thread)
 *   disk_read.c    reading entries and images (core thread)
 *   disk_deliver.c completions (core thread)
 *   disk_boot.c    lock, meta and boot files (core thread)
 *   disk_aside.c   setting a damaged log aside
 *   disk_check.c   examining a directory; disk_mend.c mending that of a lone node
 *   disk_init.c    a new data directory
 *   disk_scan.c    what is in the segments at open; torn tail or damage
 *   disk_repair.c  what open changes, once everything is known to be good
 *   disk_writer.c  the writer thread; disk_sync.c the syncer thread
 *   disk_reserve.c room for the time when the disk is full
 *   disk_helper.c  the helper thread; disk_image.c writes its snapshots
 *   disk_file.c    small files, directories, names
 *   disk_format.c  bytes
 */
#ifndef HF_RAFT_DISK_INT_H
#define HF_RAFT_DISK_INT_H

#include "raft/disk_jobs.h"

#include <pthread.h>
#include <semaphore.h>

#define DISK_IMAGES_MAX   16
#define DISK_TERM_UNKNOWN UINT64_MAX
#define DISK_SALVAGED_MAX 64 /* records with damaged bodies in one log */

/* Where an entry is. */
struct disk_place {
    uint64_t segment;
    uint32_t offset; /* of the record's head */
    uint32_t size;   /* of the payload */
};

struct disk_segment {
    uint64_t number;
    uint64_t salt;
    uint64_t bytes; /* of the file */
};

/* A record whose payload is not what its checksum says, and counts all the same. */
struct disk_salvaged {
    uint64_t segment;
    uint64_t offset;
    uint64_t index;
};

/* A complete snapshot. */
struct disk_image {
    struct rlog_snapshot_meta meta; /* index 0: the row is free */
    int fd;                         /* -1 until it is first read */
    unsigned holds;
};

struct disk_thread {
    pthread_t thread;
    bool is_running;
    struct mailbox box;
    sem_t bell;
};

struct disk {
    struct rlog_disk rlog;
    struct disk_sys sys;
    char *dir;
    uint64_t node_id;
    uint64_t cluster; /* first eight bytes of its id */
    size_t segment_bytes;
    void (*bell)(void *ctx);
    void *bell_ctx;
    int dir_fd;
    int log_fd;
    int snap_fd;
    int lock_fd;
    int meta_fd[2];
    struct disk_meta meta;
    struct disk_boot boot;
    struct disk_error damage; /* found by the last read that gave ST_CORRUPT */
    bool (*salvage_cb)(struct slice payload, uint32_t crc);
    void (*progress_cb)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    struct disk_salvaged salvaged[DISK_SALVAGED_MAX];
    uint32_t salvaged_count;
    /* For mending: what a scan would find if the log were cut so. */
    uint64_t scan_from;   /* segments below are passed over */
    uint64_t scan_until;  /* the last one; 0 = all */
    uint64_t scan_offset; /* where it ends */

    /* Core thread: the log as planned. */
    uint64_t first;
    uint64_t last;
    struct disk_place *places; /* ring */
    uint64_t places_mask;
    struct disk_segment *segments; /* ascending; the last one is written */
    size_t segment_count;
    size_t segment_capacity;
    uint64_t salt_base;
    uint64_t next_segment; /* number of the one that is made ahead */
    uint64_t offset;       /* in the last segment */
    uint64_t position;
    uint64_t number_base; /* number of a record is this + its position */
    uint64_t synced_position;
    int read_fd;
    uint64_t read_segment;

    /* Core thread: snapshots. */
    struct disk_image images[DISK_IMAGES_MAX];
    uint64_t newest;
    bool is_newest_good; /* written and read back by this process */
    uint64_t local_generation;
    uint64_t incoming_generation;
    bool is_incoming;
    struct rlog_snapshot_meta incoming;
    struct blob *chunk; /* last one read */
    uint64_t chunk_image;
    uint64_t chunk_number;

    struct disk_thread writer;
    struct disk_thread helper;
    struct disk_thread syncer;
    struct mailbox done;
    bool is_failed; /* delivered */
    _Atomic uint64_t waiting_bytes;
    _Atomic uint64_t image_backlog;
    _Atomic bool is_full;
    _Atomic bool is_starved; /* the writer stands in the middle of a write */
    _Atomic uint64_t busy_since_us[DISK_BUSY_COUNT]; /* a write or sync runs; 0 */
    _Atomic uint64_t busy_most_us; /* the longest one since the last look */
    uint64_t capacity_bytes;
    uint32_t reserve; /* which of its files are there, bits: the helper thread's */
    uint32_t reserve_want;
    _Atomic uint64_t free_bytes;
    _Atomic uint64_t reserve_bytes;
    _Atomic bool is_broken; /* a failure was reported: nothing is written any more */
    struct histogram syncs;
};

#include "raft/disk_parts.h"

#endif
