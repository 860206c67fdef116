/* Seed: a snapshot as a thing of its own: reading one that lies in a data directory
 * while its node runs (backup), and a data directory that begins with one (restore).
 *
 * A directory that was made so has a file "origin": a digest of what it was made from.
 * Nodes that were not made from the same must not form a cluster; whoever connects them
 * compares it. */
#ifndef HF_RAFT_DISK_SEED_H
#define HF_RAFT_DISK_SEED_H

#include "raft/disk.h"

#define DISK_ORIGIN_BYTES 16

/* --- reading a snapshot --- */

struct disk_picture;

/* The snapshot of that index. It stays readable when the node has newer ones and
 * removes it. ST_NOTFOUND, ST_CORRUPT, ST_IO. */
enum status disk_picture_open(const char *dir,
                              uint64_t index,
                              struct disk_picture **ret_picture) MUST_USE;
void disk_picture_close(struct disk_picture *p); /* NULL is fine */
/* Borrowed. */
const struct rlog_snapshot_meta *disk_picture_meta(const struct disk_picture *p);
/* The next piece of the image, checked, borrowed until the next call; empty at its end:
 * then the whole was checked, too. Any thread, one at a time. ST_CORRUPT, ST_IO. */
enum status disk_picture_next(struct disk_picture *p, struct slice *ret_piece) MUST_USE;

/* --- making a data directory --- */

struct disk_seed;

struct disk_seed_options {
    const char *dir;
    uint64_t node_id;
    uint8_t cluster_id[DISK_CLUSTER_ID_BYTES];
    struct rlog_members members; /* all voters, node_id among them */
    uint64_t index;              /* of the snapshot, as are term and chain */
    uint64_t term;
    uint64_t chain;
};

/* May a data directory be made there? It is not there, is empty, or has what an attempt
 * left that was broken off. ST_EXISTS, ST_IO. */
enum status disk_check_unused(const char *dir, struct disk_error *ret_error) MUST_USE;
/* As disk_init(): ST_EXISTS: dir holds something; ST_INVALID: the members are not
 * right; ST_FULL, ST_IO. Until disk_seed_finish() the directory counts as none, and
 * making it can be repeated. */
enum status disk_seed_begin(const struct disk_seed_options *options,
                            struct disk_seed **ret_seed,
                            struct disk_error *ret_error) MUST_USE;
/* The image in order; pieces of exactly LIMIT_SNAPSHOT_CHUNK but for the last. */
enum status disk_seed_write(struct disk_seed *s,
                            struct slice piece,
                            struct disk_error *ret_error) MUST_USE;
/* All of it is durable, and the directory is one. s is freed in every case. */
enum status disk_seed_finish(struct disk_seed *s,
                             const uint8_t origin[DISK_ORIGIN_BYTES],
                             struct disk_error *ret_error) MUST_USE;
void disk_seed_abandon(struct disk_seed *s); /* NULL is fine */

/* ST_NOTFOUND: it was not made from a snapshot. ST_CORRUPT, ST_IO. */
enum status disk_read_origin(const char *dir,
                             uint8_t ret_origin[DISK_ORIGIN_BYTES]) MUST_USE;

#endif
