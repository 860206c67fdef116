/* Making a data directory: what raft/disk_init.c and raft/disk_seed.c share. */
#ifndef HF_RAFT_DISK_MAKE_H
#define HF_RAFT_DISK_MAKE_H

#include "raft/disk_format.h"

/* From here on the directory is there and counts as none... ST_EXISTS: it holds
 * something that no broken attempt left. ret_dir_fd is the caller's. */
enum status
disk_begin_directory(const char *dir, int *ret_dir_fd, struct disk_error *e) MUST_USE;
/* Log and snapshots, both empty. -1 with errno. */
int disk_make_folders(int dir_fd);
/* ...until here, when all of it is durable. */
enum status disk_finish_directory(const char *dir,
                                  int dir_fd,
                                  const struct disk_meta *meta,
                                  const struct disk_boot *boot,
                                  struct disk_error *e) MUST_USE;

/* Sorts the members of a new cluster. ST_INVALID: they are not right, or node_id is no
 * voter among them. */
enum status disk_sort_first_members(struct rlog_members *members,
                                    uint64_t node_id,
                                    struct disk_error *e) MUST_USE;

#endif
