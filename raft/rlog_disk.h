/* The disk under a replicated log: what rlog asks of it and what it reports back.
 *
 * Two implementations: raft/disk.h (files, a writer thread, a snapshot thread) and the
 * simulator's. rlog calls the operations from the core thread only; completions are
 * delivered on the core thread too, from outside of any rlog call, through the
 * rlog_on_...() functions below and never from inside an operation.
 *
 * The log is one stream of records. append() puts records at its end; a record whose
 * index is <= the last one replaces that entry and all behind it. A stream position is
 * the number of records appended since open: append() of n entries moves it by n.
 * Everything found at open is at position 0: present, and durable (open syncs it).
 *
 *   rlog_on_written(p)   the first p records survive the death of the process
 *   rlog_on_synced(p)    the first p records survive a power cut
 *
 * Both only grow, may skip, and a position may be reported synced without having been
 * reported written before (it is written then).
 *
 * There is no failing completion. A write or sync that failed is reported once by
 * rlog_on_failed() and nothing is reported after it; nothing is tried again. */
#ifndef HF_RAFT_RLOG_DISK_H
#define HF_RAFT_RLOG_DISK_H

#include "raft/rlog.h"

/* What a snapshot is of. */
struct rlog_snapshot_meta {
    uint64_t index; /* last entry in it; 0 = there is no snapshot */
    uint64_t term;
    uint64_t chain;              /* rlog_status.chain at index */
    uint64_t members_index;      /* of the entry that holds members */
    struct rlog_members members; /* last committed configuration at or below index */
    uint64_t size_bytes;         /* of the image; 0 when begun, set when finished */
    uint32_t crc;                /* CRC-32C of the image; as above */
};

/* One entry of the log found at open, without its payload. */
struct rlog_found_entry {
    uint64_t term;
    uint32_t size;
    uint8_t type; /* enum rlog_type */
    bool is_sync;
};

/* What was there at open. Rule R9 is the disk's: a log that neither holds the entry
 * (snapshot.index, snapshot.term) nor starts right behind it was discarded. */
struct rlog_found {
    uint64_t term;
    uint64_t vote;
    struct rlog_snapshot_meta snapshot;
    uint64_t first_index; /* of entries[0]; snapshot.index + 1 when there are none */
    uint64_t count;
    struct rlog_found_entry *entries; /* the disk's; may be freed by found_done() */
};

struct rlog_disk_ops {
    /* Durable when it returns. Anything but ST_OK is the end. */
    enum status (*write_term)(void *ctx, uint64_t term, uint64_t vote);

    /* Appends count entries (consecutive indexes, the first at most last + 1). Takes a
     * reference of each blob. Asynchronous: rlog_on_written(). */
    void (*append)(void *ctx, const struct rlog_entry *entries, uint32_t count);
    /* Asks that all records appended so far become durable: rlog_on_synced() with at
     * least this position follows. May be asked while another one runs. */
    void (*sync)(void *ctx);
    /* An entry of the log whose record is written, with its payload, checked; the
     * caller gets a reference of ret_entry->blob. Synchronous, bounded by the size of
     * one entry. ST_CORRUPT or ST_IO is the end. */
    enum status (*read)(void *ctx, uint64_t index, struct rlog_entry *ret_entry);
    /* Entries below keep_first are not needed any more. What is removed, and when, is
     * the disk's choice: a later open may find some of them again. */
    void (*trim)(void *ctx, uint64_t keep_first);

    /* A local snapshot, one at a time: begin, pieces (takes the blob), then finish,
     * which ends in RLOG_SNAPSHOT_STORED or _FAILED, or cancel, which ends it here: no
     * completion of it comes after. An incoming one may run beside it. */
    void (*snapshot_begin)(void *ctx, const struct rlog_snapshot_meta *meta);
    void (*snapshot_write)(void *ctx, struct blob *piece);
    void (*snapshot_finish)(void *ctx);
    void (*snapshot_cancel)(void *ctx);
    uint64_t (*snapshot_backlog)(void *ctx); /* bytes of pieces not yet written */

    /* A snapshot from the leader: begin, pieces in order (each [offset, offset + size)
     * of blob; takes a reference), RLOG_SNAPSHOT_PIECE for each written; finish ends in
     * RLOG_SNAPSHOT_COMPLETE (verified against meta's size and crc, durable, not in
     * force) or _FAILED. cancel forgets it at any time before install, also when
     * there is none; no completion of it comes after. */
    void (*incoming_begin)(void *ctx, const struct rlog_snapshot_meta *meta);
    void (*incoming_write)(void *ctx,
                           struct blob *blob,
                           uint32_t offset,
                           uint32_t size);
    void (*incoming_finish)(void *ctx);
    void (*incoming_cancel)(void *ctx);
    /* Puts the complete incoming snapshot in force and discards the whole log, behind
     * all records appended so far, as one atomic step: RLOG_SNAPSHOT_INSTALLED. The
     * next append is at meta.index + 1. A local snapshot was cancelled before. */
    void (*incoming_install)(void *ctx);

    /* At most max bytes (the caller's max <= LIMIT_SNAPSHOT_CHUNK) of the image of the
     * snapshot at index, checked; size 0 at the end. ST_NOTFOUND: it is no longer
     * there (the newest always is; so are those held). */
    enum status (*snapshot_read)(void *ctx,
                                 uint64_t index,
                                 uint64_t offset,
                                 size_t max,
                                 struct blob **ret_piece);
    /* Keeps a snapshot readable when a newer one comes; counted. */
    void (*snapshot_hold)(void *ctx, uint64_t index);
    void (*snapshot_release)(void *ctx, uint64_t index);

    /* rlog has taken what it needs out of found. */
    void (*found_done)(void *ctx);
    /* The restart gate is open: a machine crash before this start is history, and the
     * next start is gated only if the machine crashes again. Until then every start
     * must be (rlog_options.is_crashed, is_rejoining). May be NULL. */
    void (*gate_opened)(void *ctx);
    /* How it does; often asked. NULL: always well. */
    void (*health)(void *ctx, struct rlog_disk_health *ret_health);
};

struct rlog_disk {
    const struct rlog_disk_ops *ops;
    void *ctx;
    struct rlog_found found;
};

enum rlog_snapshot_event {
    RLOG_SNAPSHOT_STORED,    /* local: durable and the newest; meta filled */
    RLOG_SNAPSHOT_FAILED,    /* local: not kept (no room on the disk) */
    RLOG_SNAPSHOT_PIECE,     /* incoming: written up to bytes */
    RLOG_SNAPSHOT_COMPLETE,  /* incoming: all there, right and durable */
    RLOG_SNAPSHOT_REFUSED,   /* incoming: wrong size or checksum, or no room; gone */
    RLOG_SNAPSHOT_INSTALLED, /* incoming: in force, the log is empty behind it */
};

/* What happened to a snapshot, on the core thread. meta: of that snapshot, size and crc
 * filled in for STORED, COMPLETE and INSTALLED. bytes: for PIECE. */
void rlog_on_snapshot(struct rlog *r,
                      enum rlog_snapshot_event event,
                      const struct rlog_snapshot_meta *meta,
                      uint64_t bytes,
                      uint64_t now_ms);
/* The disk failed: fatal_cb is called with this; nothing may follow. */
void rlog_on_failed(struct rlog *r, enum status why, const char *what);
/* rlog_on_written() and rlog_on_synced() are in raft/rlog.h. */

#endif
