/* Backup file: a state of the cluster as one file (bytes: man/holdfast-files.5). The
 * image of a snapshot in chunks, with a head that says where it comes from and an end
 * that says that it is whole. Writer and reader work on bytes alone: no file, no clock.
 *
 * What is read may be anything. The reader gives image bytes out only after their own
 * checksum was right; that the file is good is known at backup_reader_finish(). */
#ifndef HF_SERVER_BACKUP_FILE_H
#define HF_SERVER_BACKUP_FILE_H

#include "base/bytes.h"

#define BACKUP_HEAD_BYTES    512
#define BACKUP_END_BYTES     64
#define BACKUP_QUEUE_BYTES   64 /* with a final NUL */
#define BACKUP_VERSION_BYTES 32
#define BACKUP_WHY_BYTES     160

struct backup_info {
    uint8_t cluster_id[16]; /* where it comes from */
    uint64_t node_id;
    uint64_t index;   /* the state is that after this entry */
    uint64_t term;    /* of it */
    uint64_t chain;   /* digest of the log up to it */
    uint64_t time_ms; /* when it was taken, by that node's clock */
    uint64_t image_bytes;
    uint32_t image_crc;
    char queue[BACKUP_QUEUE_BYTES];     /* "": all queues */
    char version[BACKUP_VERSION_BYTES]; /* of the program that wrote it */
};

/* As the image's own end says. */
struct backup_counts {
    uint64_t queues;
    uint64_t sessions;
    uint64_t history;
    uint64_t messages;
    uint64_t digest;
};

struct backup_writer {
    uint64_t chunk;                             /* number of the next */
    uint64_t size;                              /* of what was written */
    uint32_t crc;                               /* of that */
    uint8_t tail[sizeof(struct backup_counts)]; /* last bytes of the image */
};

/* Size of the whole file. */
uint64_t backup_file_bytes(uint64_t image_bytes);
/* Append to out. Chunks: the image in pieces of exactly LIMIT_SNAPSHOT_CHUNK, the last
 * one shorter. */
void backup_put_head(struct backup_writer *w,
                     const struct backup_info *info,
                     struct bytes *out);
void backup_put_chunk(struct backup_writer *w, struct slice image, struct bytes *out);
void backup_put_end(struct backup_writer *w, struct bytes *out);

struct backup_reader;

/* image_cb gets the image in order; what it says but ST_OK ends the reading. */
struct backup_reader *
backup_reader_new(enum status (*image_cb)(void *ctx, struct slice image), void *ctx);
void backup_reader_free(struct backup_reader *r); /* NULL is fine */
/* Pieces of any size. ST_CORRUPT, ST_VERSION or what image_cb said are final. */
enum status backup_reader_feed(struct backup_reader *r, struct slice piece) MUST_USE;
/* ST_OK: it was whole. */
enum status backup_reader_finish(struct backup_reader *r) MUST_USE;
/* NULL until the head was read. */
const struct backup_info *backup_reader_info(const struct backup_reader *r);
/* After backup_reader_finish() was ST_OK. */
const struct backup_counts *backup_reader_counts(const struct backup_reader *r);
/* What is wrong, with the offset in the file where that begins; "" while all is well.
 */
const char *backup_reader_why(const struct backup_reader *r);

#endif
