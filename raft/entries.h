/* The log as rlog sees it: a row for every entry and the payloads of the newest.
 *
 * Rows are for all entries of the log, first..last: term, size, how much it takes to
 * count as stored and where in the disk's stream it is. Payloads are kept for
 * cached_first..last; older ones are read from the disk. Not thread-safe, no I/O. */
#ifndef HF_RAFT_ENTRIES_H
#define HF_RAFT_ENTRIES_H

#include "raft/rlog.h"

/* Of an entry beside its payload: the head and the padding of its record on the disk
 * (raft/disk_format.h), and about as much in memory. Counted with every entry, so that
 * many small ones are bounded like few large ones. */
#define RLOG_ENTRY_OVERHEAD 64

struct rlog_row {
    uint64_t term;
    uint64_t end_bytes; /* this entry's and all before it, ever, with the overhead */
    uint64_t position;  /* in the record stream: counts when position <= the mark */
    uint32_t size;
    uint8_t type;
    bool is_sync; /* counts when synced, not when written */
};

struct rlog_cached {
    struct blob *blob;
    uint32_t offset;
    uint32_t crc;
};

struct rlog_entries {
    uint64_t first; /* index of the first row; last + 1 when there are none */
    uint64_t last;
    uint64_t base_bytes;   /* end_bytes of the entry before first */
    struct rlog_row *rows; /* ring: rows[index & mask] */
    uint64_t mask;
    uint64_t cached_first;
    uint64_t cached_bytes;
    struct rlog_cached *cached; /* ring */
    uint64_t cached_mask;
};

/* An empty log whose next entry is first. */
void rlog_entries_init(struct rlog_entries *e, uint64_t first);
void rlog_entries_fini(struct rlog_entries *e);

/* A row without payload, found at open: position 0. Only while nothing is cached. */
void rlog_entries_load(struct rlog_entries *e,
                       uint64_t term,
                       enum rlog_type type,
                       bool is_sync,
                       uint32_t size);
/* entry->index must be last + 1. Takes a reference of its blob. */
void rlog_entries_append(struct rlog_entries *e,
                         const struct rlog_entry *entry,
                         uint64_t position);
/* Drops index and all behind it; index > first - 1. */
void rlog_entries_truncate(struct rlog_entries *e, uint64_t index);
/* Drops all below keep_first (at most last + 1). */
void rlog_entries_trim(struct rlog_entries *e, uint64_t keep_first);
/* Drops everything; the next entry is first. */
void rlog_entries_reset(struct rlog_entries *e, uint64_t first);
/* Drops the oldest payloads below keep_from while more than limit_bytes are held. */
void
rlog_entries_evict(struct rlog_entries *e, uint64_t keep_from, uint64_t limit_bytes);

static inline bool
rlog_entries_has(const struct rlog_entries *e, uint64_t index)
{
    return index >= e->first && index <= e->last;
}

/* index must be there. */
static inline const struct rlog_row *
rlog_entries_row(const struct rlog_entries *e, uint64_t index)
{
    return &e->rows[index & e->mask];
}

/* 0 when it is not there. */
uint64_t rlog_entries_term(const struct rlog_entries *e, uint64_t index);
/* Bytes, with the overhead, up to and with index; index >= first - 1 (less is taken as
 * that). */
uint64_t rlog_entries_bytes(const struct rlog_entries *e, uint64_t index);
/* True and borrowed (no reference) when its payload is in memory. */
bool rlog_entries_cached(const struct rlog_entries *e,
                         uint64_t index,
                         struct rlog_entry *ret_entry);

#endif
