/* The real disk of a replicated log: a data directory.
 *
 *   lock             held while the directory is open
 *   meta-1, meta-2   term, vote, node id, cluster id: two copies, one after the other
 *   boot             boot id of the machine at the last start; was the stop clean
 *   log/N.seg        segments of the record stream
 *   snapshots/       INDEX-TERM.snap, chunked
 *   reserve-N        room for the time when the disk is full
 *   aside-DATE/      log and snapshots that were found damaged, kept for people
 *
 * man/holdfast-files.5 has the bytes. The core thread plans where each record goes and
 * calls the operations; the writer thread writes the log; the syncer thread syncs it;
 * the helper thread makes segments ahead, removes old ones and writes snapshots. They
 * share nothing but mailboxes. Completions ring the bell and wait for disk_deliver().
 *
 * A write or sync that fails is the end of it all: it is reported once, nothing is
 * tried again and nothing written after it. Only when there is no room is what comes
 * next taken from the reserve (raft/disk_reserve.c), and when that is used up, too, it
 * waits for room: until there is some, appends are not completed. */
#ifndef HF_RAFT_DISK_H
#define HF_RAFT_DISK_H

#include "base/histogram.h"
#include "raft/rlog_disk.h"

#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>

struct disk;

#define DISK_CLUSTER_ID_BYTES 16
#define DISK_BOOT_ID_MAX      127
#define DISK_SEGMENT_BYTES    (16u << 20)

#define DISK_ASIDES_MAX       8
#define DISK_ASIDES_PER_HOUR  3
#define DISK_ASIDE_NAME_BYTES 40

/* What went wrong, for the log line: names the file and, for damage, the offset. The
 * rest is about damage (ST_CORRUPT). */
struct disk_error {
    char text[320];
    char file[64];   /* below the directory; "" when it is not in one place */
    uint64_t offset; /* in it */
    bool is_final;   /* term and vote are lost: nothing is to be guessed */
    struct rlog_members members; /* as far as could be read; count 0: not at all */
};

/* The system calls whose failures are tested; NULL members are the real ones. The
 * second three are those of setting aside. */
struct disk_sys {
    ssize_t (*pwritev)(int fd, const struct iovec *iov, int count, off_t offset);
    int (*fdatasync)(int fd);
    int (*fallocate)(int fd, int mode, off_t offset, off_t size);
    int (*fsync)(int fd);
    int (*mkdirat)(int dir_fd, const char *name, mode_t mode);
    int (*renameat)(int from_fd, const char *from, int to_fd, const char *to);
    int (*fstatvfs)(int fd, struct statvfs *ret_stat);
};

struct disk_options {
    const char *dir;
    uint64_t node_id;
    uint8_t cluster_id[DISK_CLUSTER_ID_BYTES];
    const char *boot_id;  /* of the running machine; at most DISK_BOOT_ID_MAX */
    size_t segment_bytes; /* 0 = DISK_SEGMENT_BYTES, less on a small file system */
    /* Called on another thread when there is something for disk_deliver(). */
    void (*bell)(void *ctx);
    void *bell_ctx;
    const struct disk_sys *sys; /* NULL = the system's */
    /* Of a payload whose checksum is not crc: is all of it as it was written but for
     * bodies of messages? Then the record counts. NULL: no record does. */
    bool (*salvage_cb)(struct slice payload, uint32_t crc);
    /* While it opens: so many segments of the log are read. NULL is fine. */
    void (*progress_cb)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
};

/* Makes a new data directory of a cluster's first members (all voters; sorted by id
 * here): term 1 and entry 1, the same bytes on every node. ST_EXISTS: dir holds
 * something. ST_INVALID: the members are not right, or node_id is not one of them.
 * ST_FULL, ST_IO. After a failure it can be repeated. */
enum status disk_init(const char *dir,
                      uint64_t node_id,
                      const uint8_t cluster_id[DISK_CLUSTER_ID_BYTES],
                      const struct rlog_members *members,
                      struct disk_error *ret_error) MUST_USE;

/* The same for a node that is to join: with nothing in it (disk_is_joining). */
enum status disk_join(const char *dir,
                      uint64_t node_id,
                      const uint8_t cluster_id[DISK_CLUSTER_ID_BYTES],
                      struct disk_error *ret_error) MUST_USE;

/* Opens it and checks all that is in it; a torn tail is cut, all found is synced.
 *
 *   ST_NOTFOUND  no data there (run holdfastctl data init)
 *   ST_DENIED    it belongs to another node or cluster
 *   ST_EXISTS    another process has it open
 *   ST_CORRUPT   damaged; nothing was changed
 *   ST_VERSION   written by a newer version
 *   ST_FULL, ST_IO */
enum status disk_open(const struct disk_options *options,
                      struct disk **ret_disk,
                      struct disk_error *ret_error) MUST_USE;
/* is_clean: everything is synced and the stop marked as clean; ST_IO when that failed.
 * Otherwise as little as a killed process would do. NULL is fine. After rlog_close().
 * The bell may ring until it returns. */
enum status disk_close(struct disk *d, bool is_clean);

struct rlog_disk *disk_rlog(struct disk *d);
/* The machine crashed since the last clean stop: rlog_options.is_crashed. */
bool disk_is_crashed(const struct disk *d);
/* The log was set aside, and what had been acknowledged is not all here again. */
bool disk_is_rejoining(const struct disk *d);
bool disk_is_joining(const struct disk *d); /* the same, since disk_join() */
enum status disk_distrust(struct disk *d);  /* is_rejoining from now on; durable */
/* Where the last read that gave ST_CORRUPT found damage; borrowed. */
const struct disk_error *disk_damage(const struct disk *d);

/* Moves log and snapshots of a closed directory into aside-DATE, beside a file that
 * says why; ret_name is its name. The next open finds an empty log that waits for the
 * other members (disk_is_rejoining). Term and vote stay; nothing is ever removed. Ends
 * half-way: the next open finishes it. Of options: dir, node_id, cluster_id, sys.
 *
 *   ST_RANGE  DISK_ASIDES_MAX are kept already
 *   ST_AGAIN  DISK_ASIDES_PER_HOUR were made within the hour
 *   and as disk_open() */
enum status disk_set_aside(const struct disk_options *options,
                           const char *why,
                           char ret_name[DISK_ASIDE_NAME_BYTES],
                           struct disk_error *ret_error) MUST_USE;
/* Hands over what the threads completed. Core thread, not inside an rlog call. */
void disk_deliver(struct disk *d, struct rlog *r, uint64_t now_ms);

struct disk_status {
    uint64_t segment_count;
    uint64_t log_bytes;     /* of segment files */
    uint64_t waiting_bytes; /* appended, not yet written */
    struct histogram syncs; /* how long each took */
    uint64_t free_bytes;    /* when it was last looked at */
    uint64_t reserve_bytes;
    uint64_t capacity_bytes; /* of the file system; 0 = not known */
    bool is_full; /* what is written comes out of the reserve, or soon will */
};

void disk_get_status(struct disk *d, struct disk_status *ret_status);

#endif
