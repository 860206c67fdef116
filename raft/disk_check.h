/* Examining a stopped node's data directory, and mending that of a node that no other
 * can help: holdfastctl data check and data repair. */
#ifndef HF_RAFT_DISK_CHECK_H
#define HF_RAFT_DISK_CHECK_H

#include "raft/disk.h"

enum disk_file_kind {
    DISK_FILE_META,
    DISK_FILE_BOOT,
    DISK_FILE_SEGMENT,
    DISK_FILE_SNAPSHOT,
    DISK_FILE_ASIDE, /* a directory that was set aside: not looked into */
};

struct disk_finding {
    enum disk_file_kind kind;
    char file[64]; /* below the directory */
    bool is_damaged;
    char what[200]; /* for people */
    uint64_t size_bytes;
    uint64_t records;     /* segment: whole ones, from the first on */
    uint64_t first_index; /* segment: of their entries; 0 = there are none */
    uint64_t last_index;  /* the same; snapshot: its index */
    uint64_t term;        /* of last_index; meta: the node's */
    bool has_offset;
    uint64_t offset; /* damage, or the torn tail, begins here */
};

/* What a start would say, and what is known of the node. */
struct disk_verdict {
    enum status why; /* ST_OK: it would start */
    struct disk_error error;
    uint64_t node_id; /* 0: unknown */
    uint64_t term;
    uint64_t vote;
    struct rlog_members members; /* newest in log or snapshot; count 0: unknown */
    uint64_t first_index;        /* of the log as far as it is whole; 0: empty */
    uint64_t last_index;
    uint64_t snapshot_index; /* of the newest good one */
    uint32_t damaged_bodies; /* entries that count although bodies are damaged */
    bool is_torn;            /* a start would cut something off */
    bool is_crashed;         /* it would be gated */
    bool is_rejoining;
    uint32_t damaged_files; /* also of those that a start does not need */
};

/* Looks at everything and changes nothing. Of options: dir, boot_id, salvage_cb. Tells
 * each file once. ST_OK: it was examined, whatever was found. ST_NOTFOUND: no data
 * there; ST_EXISTS: a process has it open; ST_IO, ST_NOMEM: ret_verdict->error. */
enum status disk_check(const struct disk_options *options,
                       void (*found_cb)(void *ctx, const struct disk_finding *finding),
                       void *ctx,
                       struct disk_verdict *ret_verdict) MUST_USE;

/* What mending would do. Nothing of it when none is set and is_possible. */
struct disk_mend {
    bool is_possible;
    bool by_others; /* the other members have it all: the node needs only to start */
    bool is_meta;   /* both copies are damaged: a new term */
    uint64_t term;
    bool drops_images;    /* damaged snapshots, those above keep_image */
    uint64_t keep_image;  /* index of the one that is used then; 0: the log has all */
    uint64_t drop_below;  /* segments below are not needed; 0 none */
    uint64_t cut_segment; /* the log ends there, at cut_offset (0: before it); 0 none */
    uint64_t cut_offset;
    bool is_boot;        /* only the mark of the last stop is wrong */
    uint64_t lost_first; /* entries that are lost; 0: none */
    uint64_t lost_last;  /* as far as can be seen */
    char why[320];       /* what is wrong, or why it is not possible */
};

/* Works it out. Of options: dir, boot_id, salvage_cb, and node_id and cluster_id when
 * they are known (needed for is_meta). Statuses as disk_check(). */
enum status disk_mend_plan(const struct disk_options *options,
                           struct disk_mend *ret_mend,
                           struct disk_error *ret_error) MUST_USE;
/* Does it, after everything it changes was put into ret_aside. A failure leaves what
 * can be planned anew. */
enum status disk_mend_do(const struct disk_options *options,
                         const struct disk_mend *to_mend,
                         char ret_aside[DISK_ASIDE_NAME_BYTES],
                         struct disk_error *ret_error) MUST_USE;

#endif
