/* A real data directory under one single-node replicated log, in a temporary place. */
#ifndef HF_TESTS_DISKRIG_H
#define HF_TESTS_DISKRIG_H

#include "raft/disk.h"

struct diskrig {
    char dir[64];
    char boot_id[32];
    size_t segment_bytes;
    const struct disk_sys *sys;
    bool (*salvage_cb)(struct slice payload, uint32_t crc);
    struct disk *disk;
    struct rlog *r;
    struct disk_error error;
    int bell_fd;
    uint64_t now_ms;
    uint64_t applied;
    uint64_t state;
    uint64_t restored; /* index of the last restore */
    enum rlog_role role;
    enum status fatal;
    char fatal_text[200];
};

void diskrig_init(struct diskrig *g); /* makes the directory: node 1 of 1 */
void diskrig_fini(struct diskrig *g); /* removes it */
/* Opens the disk and the log and becomes leader. */
enum status diskrig_open(struct diskrig *g);
enum status diskrig_open_disk(struct diskrig *g); /* the disk alone */
void diskrig_close(struct diskrig *g, bool is_clean);
/* Runs until everything submitted is applied and nothing more comes, or it failed. */
void diskrig_settle(struct diskrig *g);
void diskrig_poll(struct diskrig *g, int wait_ms);
uint64_t diskrig_submit(struct diskrig *g, size_t size, bool is_sync);
uint64_t diskrig_last(struct diskrig *g);
void diskrig_snapshot(struct diskrig *g, size_t size);

/* Files of the directory, by path below it. */
uint8_t *diskrig_read(struct diskrig *g, const char *path, size_t *ret_size);
void diskrig_write(struct diskrig *g, const char *path, const void *data, size_t size);
bool diskrig_exists(struct diskrig *g, const char *path);
/* The n-th name below sub, sorted; false when there are fewer. */
bool diskrig_name(struct diskrig *g, const char *sub, unsigned n, char out[64]);
unsigned diskrig_count(struct diskrig *g, const char *sub);
void diskrig_unlink_all(struct diskrig *g, const char *sub);
void diskrig_remove(const char *dir); /* a whole tree */
void diskrig_copy(struct diskrig *to, struct diskrig *from);

#endif
