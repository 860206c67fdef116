/* What the files of the real disk offer each other; part of raft/disk_int.h. */
#ifndef HF_RAFT_DISK_PARTS_H
#define HF_RAFT_DISK_PARTS_H

#include "raft/disk_int.h"
#include "raft/disk_scan.h"

struct disk_scan;

/* disk.c: what has to do with a directory that is not opened as a log. */
struct disk *disk_new(const struct disk_options *o);
void disk_free(struct disk *d);
enum status disk_open_directory(struct disk *d, struct disk_error *e) MUST_USE;
enum status disk_open_folders(struct disk *d, struct disk_error *e) MUST_USE;

/* disk_file.c: 0 or -1 with errno, unless said. Names are relative to a directory fd.
 */
void disk_error_set(struct disk_error *e, const char *format, ...) PRINTF_LIKE(2, 3);
/* Where the damage is: folder may be "". */
void disk_error_place(struct disk_error *e,
                      const char *folder,
                      const char *name,
                      uint64_t at);
enum status disk_errno_status(int error); /* ENOSPC, EDQUOT: ST_FULL; else ST_IO */
void disk_segment_name(uint64_t number, char out[DISK_NAME_MAX]);
void disk_image_name(const struct rlog_snapshot_meta *m, char out[DISK_NAME_MAX]);
const char *disk_temporary_name(bool is_incoming);
bool disk_segment_parse(const char *name, uint64_t *ret_number);
bool disk_image_parse(const char *name, uint64_t *ret_index, uint64_t *ret_term);
/* What is left of a write: after a failure it can go on with it. */
struct disk_left {
    struct iovec *iov;
    int count;
    uint64_t offset;
};
int disk_write_on(const struct disk_sys *sys, int fd, struct disk_left *left);
int disk_write_at(
    const struct disk_sys *sys, int fd, const void *data, size_t size, uint64_t offset);
/* Reads exactly size bytes; 1 when the file ends before. */
int disk_read_at(int fd, void *data, size_t size, uint64_t offset);
/* The file's bytes appear under name as a whole, durably. */
int disk_replace_file(const struct disk_sys *sys,
                      int dir_fd,
                      const char *name,
                      const void *data,
                      size_t size);
/* A segment with its head, allocated and durable under its name. -1 with errno. */
int disk_make_segment(const struct disk_sys *sys,
                      int log_fd,
                      const struct segment_head *head,
                      uint64_t bytes);
/* The same of "next.tmp", open as fd; takes fd. */
int disk_finish_segment(const struct disk_sys *sys,
                        int log_fd,
                        int fd,
                        const struct segment_head *head);
uint64_t disk_salt(uint64_t base, uint64_t number);
void disk_fill_system(struct disk_sys *out, const struct disk_sys *in);

/* disk_boot.c */
enum status disk_lock(struct disk *d, struct disk_error *e) MUST_USE;
enum status disk_read_meta(struct disk *d, struct disk_error *e) MUST_USE;
enum status disk_check_owner(struct disk *d,
                             const struct disk_options *o,
                             struct disk_error *e) MUST_USE;
enum status disk_write_meta(struct disk *d) MUST_USE;
enum status
disk_read_boot(struct disk *d, const char *boot_id, struct disk_error *e) MUST_USE;
enum status disk_write_boot(struct disk *d) MUST_USE;

/* disk_aside.c: makes a name that is not taken; finishes what was begun. */
enum status disk_finish_aside(struct disk *d,
                              char ret_name[DISK_ASIDE_NAME_BYTES],
                              struct disk_error *e) MUST_USE;
bool disk_aside_parse(const char *name, int64_t *ret_time);
enum status
disk_check_asides(struct disk *d, bool is_hourly, struct disk_error *e) MUST_USE;
/* "aside" with why and the small files; then its name by date. */
enum status
disk_make_aside(struct disk *d, const char *why, struct disk_error *e) MUST_USE;
enum status disk_name_aside(struct disk *d,
                            char ret_name[DISK_ASIDE_NAME_BYTES],
                            struct disk_error *e) MUST_USE;

/* disk_check.c */
struct disk_finding;
enum status disk_open_to_look(struct disk *d,
                              const struct disk_options *o,
                              struct disk_error *ret_meta_error,
                              struct disk_error *e) MUST_USE;
/* The index of the last whole record behind the first place that has none; 0. */
uint64_t disk_walk_segment(const struct disk *d,
                           const struct disk_segment *segment,
                           const uint8_t *bytes,
                           struct disk_finding *f);

/* disk_reserve.c; -1 with errno. is_size_free: segments may be made smaller. */
void disk_reserve_open(struct disk *d, bool is_size_free);
int disk_reserve_segment(struct disk *d, const struct segment_head *head);
/* One file is removed; false: there is none left. */
bool disk_reserve_give(struct disk *d);
/* Makes what is missing, and d->is_full. is_log_waiting: a segment is missing. */
void disk_reserve_tend(struct disk *d, bool is_log_waiting);

/* disk_repair.c */
enum status disk_find_images(struct disk *d, struct disk_error *e) MUST_USE;
/* Its head, and that the file is as long as it says. */
enum status disk_check_image(struct disk *d,
                             const char *name,
                             struct rlog_snapshot_meta *meta) MUST_USE;
/* All of it; ST_CORRUPT with the offset. */
enum status disk_verify_image(struct disk *d,
                              const char *name,
                              struct rlog_snapshot_meta *meta,
                              uint64_t *ret_offset) MUST_USE;
/* Their names, the newest first. */
unsigned disk_list_images(struct disk *d, char names[DISK_IMAGES_MAX][DISK_NAME_MAX]);
/* R9, and what else must hold between snapshot, log and meta. */
enum status disk_check_joined(struct disk *d,
                              const struct disk_scan *s,
                              bool *ret_discard,
                              struct disk_error *e) MUST_USE;
enum status
disk_settle_found(struct disk *d, struct disk_scan *s, struct disk_error *e) MUST_USE;

/* disk_read.c */
enum status disk_read_entry(void *ctx, uint64_t index, struct rlog_entry *ret_entry);
enum status disk_read_image(
    void *ctx, uint64_t index, uint64_t offset, size_t max, struct blob **ret_piece);
struct disk_image *disk_image_find(struct disk *d, uint64_t index);
void disk_add_image(struct disk *d, const struct rlog_snapshot_meta *meta);
void disk_reap_images(struct disk *d);
void disk_forget_fds(struct disk *d);

/* disk_image.c, helper thread */
struct image_writer;
struct image_writer *image_writer_new(struct disk *d, bool is_incoming);
void image_writer_free(struct image_writer *w);
void image_writer_begin(struct image_writer *w, struct disk_job *job);
void image_writer_write(struct image_writer *w, struct disk_job *job);
void image_writer_finish(struct image_writer *w, struct disk_job *job);
void image_writer_cancel(struct image_writer *w, uint64_t generation);

/* disk_plan.c */
extern const struct rlog_disk_ops disk_ops;
void disk_add_segment(struct disk *d, uint64_t number, uint64_t salt, uint64_t bytes);
void disk_prepare_next(struct disk *d);
void disk_set_place(struct disk *d, uint64_t index, const struct disk_place *place);

#endif
