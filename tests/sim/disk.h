/* The modelled disk, inside: for disk.c and disk_snapshot.c alone. */
#ifndef HF_SIM_DISK_H
#define HF_SIM_DISK_H

#include "sim.h"

#define SIM_IMAGES 8

struct sim_record {
    struct rlog_entry entry; /* holds a reference */
};

struct sim_image {
    struct rlog_snapshot_meta meta; /* index 0: none */
    struct bytes data;
    uint32_t holds;
};

struct sim_disk {
    struct sim *sim;
    uint32_t node;
    struct rlog_disk rlog_disk;
    uint64_t term, vote;           /* durable */
    uint64_t late_term, late_vote; /* BROKEN_VOTE: not yet durable */
    struct sim_record *records; /* the stream since the last truncation of the model */
    uint64_t count;             /* records in the stream */
    uint64_t capacity;
    uint64_t base;        /* records that were there at open: position 0 */
    uint64_t written;     /* of count */
    uint64_t synced;      /* of count */
    uint64_t lost_from;   /* BROKEN_R10: a failed sync lost what is behind it */
    uint64_t keep_first;  /* entries below were trimmed */
    uint64_t least_first; /* and those below this are not in the stream any more */
    uint64_t *view;       /* index - view_first -> record number */
    uint64_t view_first, view_count, view_capacity;
    struct sim_image images[SIM_IMAGES]; /* [0] is in force; older ones while held */
    uint32_t image_count;
    struct sim_image local; /* being written */
    struct sim_image incoming;
    uint64_t local_generation, incoming_generation;
    bool is_local_finished; /* it is whole: a death may find it in force, or not */
    bool is_installing;     /* so is the incoming one, with the log or without */
    uint64_t busy_until_us;
    uint64_t written_us; /* when the last append is written */
    uint64_t stall_until_us;
    uint64_t slow_until_us, slow_ms; /* a sync then takes so long */
    uint64_t full_until_us;
    uint64_t reserve_left; /* records that a full disk still takes */
    uint64_t sync_began_us;
    uint64_t claimed;          /* up to here sim_disk_claim() has looked */
    uint64_t install_position; /* what is before it in the stream was discarded */
    bool is_syncing;
    bool wants_sync;
};

/* disk.c */
void sim_disk_push(struct sim_disk *d,
                   enum sim_event_type type,
                   uint64_t at_us,
                   uint64_t number,
                   void *object);
/* A disk's work ends after what it did before; it takes least to most. */
uint64_t sim_disk_done_at(struct sim_disk *d, uint64_t least_us, uint64_t most_us);
/* The record that holds index, which must be in the view. */
uint64_t sim_disk_record(const struct sim_disk *d, uint64_t index);
/* The log is discarded; the next entry is first. */
void sim_disk_discard(struct sim_disk *d, uint64_t first);

/* disk_snapshot.c: operations of struct rlog_disk_ops. */
void sim_snapshot_begin(void *ctx, const struct rlog_snapshot_meta *meta);
void sim_snapshot_write(void *ctx, struct blob *piece);
void sim_snapshot_finish(void *ctx);
void sim_snapshot_cancel(void *ctx);
uint64_t sim_snapshot_backlog(void *ctx);
void sim_incoming_begin(void *ctx, const struct rlog_snapshot_meta *meta);
void sim_incoming_write(void *ctx, struct blob *blob, uint32_t offset, uint32_t size);
void sim_incoming_finish(void *ctx);
void sim_incoming_cancel(void *ctx);
void sim_incoming_install(void *ctx);
enum status sim_snapshot_read(
    void *ctx, uint64_t index, uint64_t offset, size_t max, struct blob **ret_piece);
void sim_snapshot_hold(void *ctx, uint64_t index);
void sim_snapshot_release(void *ctx, uint64_t index);
void sim_snapshot_event(struct sim_disk *d,
                        const struct sim_snapshot_event *e,
                        struct rlog *rlog,
                        uint64_t now_ms);
/* The process ended: what was under way is gone or just done, nothing is held. */
void sim_snapshots_stop(struct sim_disk *d);
void sim_snapshots_drop(struct sim_disk *d); /* all of them */

#endif
