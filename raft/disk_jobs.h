/* Mail between the threads of the real disk: jobs to the writer and the helper, and
 * what was done, back to the core thread. */
#ifndef HF_RAFT_DISK_JOBS_H
#define HF_RAFT_DISK_JOBS_H

#include "base/mailbox.h"
#include "raft/disk_format.h"

#define DISK_NAME_MAX 48

struct disk_thread;

enum disk_job_kind {
    JOB_APPEND,  /* writer */
    JOB_SYNC,    /* writer; from it, to the syncer */
    JOB_ROTATE,  /* writer: syncs the present segment, goes on in another */
    JOB_READY,   /* writer, from the helper: a segment that was made */
    JOB_SYNCED,  /* writer, from the syncer */
    JOB_INSTALL, /* writer: incoming snapshot in force, segments removed */
    JOB_NOTE,    /* writer: says that it came to here */
    JOB_PREPARE, /* helper: make a segment */
    JOB_FORGET,  /* helper: those below are not needed any more */
    JOB_REMOVE_SEGMENT,
    JOB_IMAGE_BEGIN,
    JOB_IMAGE_WRITE,
    JOB_IMAGE_FINISH,
    JOB_IMAGE_CANCEL,
    JOB_IMAGE_REMOVE,
    JOB_QUIT,
};

/* Who may be at a write or sync for long. */
enum disk_busy {
    DISK_BUSY_WRITER,
    DISK_BUSY_SYNCER,
    DISK_BUSY_COUNT,
};

struct disk_record {
    uint8_t head[RECORD_HEAD_BYTES];
    struct blob *blob; /* NULL: empty */
    uint32_t offset;
    uint32_t size;
};

struct disk_job {
    struct mail mail;
    enum disk_job_kind kind;
    uint64_t segment;
    uint64_t salt;
    uint64_t offset;   /* in the segment, of the first record */
    uint64_t position; /* after it */
    uint64_t number;   /* of the last record */
    uint64_t bytes;
    uint64_t micros;   /* SYNCED: how long it took */
    bool has_unsynced; /* APPEND: an entry that counts as soon as it is written */
    int fd;
    bool is_incoming; /* images: the incoming one, else the local one */
    uint64_t generation;
    struct rlog_snapshot_meta *meta; /* the job's */
    struct disk_record one;          /* IMAGE_WRITE: blob, offset, size */
    uint32_t count;
    struct disk_record records[]; /* APPEND; INSTALL: numbers in head */
};

enum disk_done_kind {
    DONE_WRITTEN,
    DONE_SYNCED,
    DONE_FAILED,
    DONE_IMAGE, /* event and meta */
    DONE_INSTALLED,
};

struct disk_done {
    struct mail mail;
    enum disk_done_kind kind;
    uint64_t position;
    uint64_t bytes;
    uint64_t micros;
    uint64_t generation;
    bool is_incoming;
    enum rlog_snapshot_event event;
    enum status why;
    struct rlog_snapshot_meta *meta;
    char text[160];
};

/* disk_thread.c */
struct disk_job *disk_job_new(enum disk_job_kind kind, uint32_t count);
void disk_job_free(struct disk_job *job);
void disk_post(struct disk_thread *t, struct disk_job *job);
/* Until it has mail: true. Or, if wait_ms is not 0, so long: false. */
bool disk_wait_bell(struct disk_thread *t, uint64_t wait_ms);
void disk_report(struct disk *d, struct disk_done *done);
struct disk_done *disk_done_new(enum disk_done_kind kind);
void disk_report_failure(struct disk *d, const char *what, int error);
bool disk_start_threads(struct disk *d);
void disk_stop_threads(struct disk *d);
void *disk_writer_run(void *ctx);
void *disk_helper_run(void *ctx);
void *disk_syncer_run(void *ctx);
/* disk_sync.c: 0 or -1 with errno */
int disk_timed_sync(struct disk *d, enum disk_busy who, int fd, uint64_t *ret_micros);
/* Around what may take long; disk_end_busy() gives how long it took. */
void disk_begin_busy(struct disk *d, enum disk_busy who);
uint64_t disk_end_busy(struct disk *d, enum disk_busy who);
uint64_t disk_micros_now(void); /* monotonic */
void disk_look_at_health(void *ctx, struct rlog_disk_health *ret_health);

#endif
