/* Seed: see disk_seed.h. */
#include "raft/disk_seed.h"

#include "raft/disk_int.h"
#include "raft/disk_make.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/members.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORIGIN_MAGIC      "HFORIGIN"
#define ORIGIN_FILE_BYTES 64
#define ORIGIN_VERSION    1

/* --- reading a snapshot --- */

struct disk_picture {
    int fd;
    struct rlog_snapshot_meta meta;
    uint64_t chunk; /* number of the next */
    uint64_t left;
    uint32_t crc;
    uint8_t *buffer; /* IMAGE_CHUNK_HEAD + IMAGE_CHUNK_BYTES */
};

/* The file of that index in an open folder; -1 with errno. */
static int
open_index(int snap_fd, uint64_t index)
{
    DIR *listing = NULL;
    int copy = openat(snap_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct dirent *entry;
    uint64_t found;
    uint64_t term;
    int fd = -1;
    if (copy < 0 || (listing = fdopendir(copy)) == NULL) {
        if (copy >= 0)
            close(copy);
        return -1;
    }
    errno = ENOENT;
    while (fd < 0 && (entry = readdir(listing)) != NULL)
        if (disk_image_parse(entry->d_name, &found, &term) && found == index)
            fd = openat(snap_fd, entry->d_name, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 && errno == 0 ? ENOENT : errno;
    closedir(listing);
    errno = error;
    return fd;
}

static int
open_file(const char *dir, uint64_t index)
{
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -1;
    int snap_fd = openat(dir_fd, "snapshots", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = snap_fd < 0 ? -1 : open_index(snap_fd, index);
    int error = errno;
    if (snap_fd >= 0)
        close(snap_fd);
    close(dir_fd);
    errno = error;
    return fd;
}

enum status
disk_picture_open(const char *dir, uint64_t index, struct disk_picture **ret_picture)
{
    uint8_t head[IMAGE_HEAD_BYTES];
    uint64_t cluster;
    int fd = open_file(dir, index);
    if (fd < 0)
        return errno == ENOENT ? ST_NOTFOUND : ST_IO;
    struct disk_picture *p = mem_calloc(1, sizeof *p);
    p->fd = fd;
    int rv = disk_read_at(fd, head, sizeof head, 0);
    enum status st = rv < 0 ? ST_IO : ST_CORRUPT;
    if (rv == 0)
        st = image_head_get(head, &p->meta, &cluster);
    if (st != ST_OK) {
        disk_picture_close(p);
        return st;
    }
    p->left = p->meta.size_bytes;
    p->buffer = mem_alloc(IMAGE_CHUNK_HEAD + IMAGE_CHUNK_BYTES);
    *ret_picture = p;
    return ST_OK;
}

void
disk_picture_close(struct disk_picture *p)
{
    if (p == NULL)
        return;
    close(p->fd);
    mem_free(p->buffer);
    mem_free(p);
}

const struct rlog_snapshot_meta *
disk_picture_meta(const struct disk_picture *p)
{
    return &p->meta;
}

enum status
disk_picture_next(struct disk_picture *p, struct slice *ret_piece)
{
    uint32_t size = p->left < IMAGE_CHUNK_BYTES ? (uint32_t)p->left : IMAGE_CHUNK_BYTES;
    *ret_piece = slice_of(NULL, 0);
    if (size == 0)
        return p->crc == p->meta.crc ? ST_OK : ST_CORRUPT;
    int rv = disk_read_at(p->fd, p->buffer, IMAGE_CHUNK_HEAD + size,
                          image_chunk_offset(p->chunk));
    if (rv != 0)
        return rv < 0 ? ST_IO : ST_CORRUPT;
    const uint8_t *data = p->buffer + IMAGE_CHUNK_HEAD;
    if (!image_chunk_check(p->buffer, p->chunk, data, size))
        return ST_CORRUPT;
    p->crc = crc32c(p->crc, data, size);
    p->left -= size;
    p->chunk++;
    *ret_piece = slice_of(data, size);
    return ST_OK;
}

/* --- making a data directory --- */

struct disk_seed {
    struct disk_sys sys;
    struct disk_seed_options options;
    struct rlog_snapshot_meta meta;
    char *dir;
    uint64_t chunk; /* number of the next */
    int dir_fd;
    int snap_fd;
    int fd;
};

static enum status
fail(const struct disk_seed *s, const char *file, struct disk_error *e)
{
    enum status st = disk_errno_status(errno);
    disk_error_set(e, "%s/%s: %s", s->dir, file, strerror(errno));
    return st;
}

static enum status
fail_image(const struct disk_seed *s, struct disk_error *e)
{
    enum status st = disk_errno_status(errno);
    disk_error_set(e, "%s/snapshots/%s: %s", s->dir, disk_temporary_name(false),
                   strerror(errno));
    return st;
}

void
disk_seed_abandon(struct disk_seed *s)
{
    if (s == NULL)
        return;
    if (s->fd >= 0)
        close(s->fd);
    if (s->snap_fd >= 0)
        close(s->snap_fd);
    if (s->dir_fd >= 0)
        close(s->dir_fd);
    mem_free(s->dir);
    mem_free(s);
}

static enum status
begin(struct disk_seed *s, struct disk_error *e)
{
    enum status st = disk_begin_directory(s->dir, &s->dir_fd, e);
    if (st != ST_OK)
        return st;
    if (disk_make_folders(s->dir_fd) != 0)
        return fail(s, "log or snapshots", e);
    s->snap_fd = openat(s->dir_fd, "snapshots", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->snap_fd < 0)
        return fail(s, "snapshots", e);
    s->fd = openat(s->snap_fd, disk_temporary_name(false),
                   O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return s->fd < 0 ? fail_image(s, e) : ST_OK;
}

enum status
disk_seed_begin(const struct disk_seed_options *options,
                struct disk_seed **ret_seed,
                struct disk_error *ret_error)
{
    struct rlog_members sorted = options->members;
    memset(ret_error, 0, sizeof *ret_error);
    if (disk_sort_first_members(&sorted, options->node_id, ret_error) != ST_OK)
        return ST_INVALID;
    struct disk_seed *s = mem_calloc(1, sizeof *s);
    size_t size = strlen(options->dir) + 1;
    s->dir = mem_alloc(size);
    memcpy(s->dir, options->dir, size);
    s->options = *options;
    s->meta = (struct rlog_snapshot_meta){.index = options->index,
                                          .term = options->term,
                                          .chain = options->chain,
                                          .members_index = 1,
                                          .members = sorted};
    s->dir_fd = s->snap_fd = s->fd = -1;
    disk_fill_system(&s->sys, NULL);
    enum status st = begin(s, ret_error);
    if (st == ST_OK)
        *ret_seed = s;
    else
        disk_seed_abandon(s);
    return st;
}

enum status
disk_seed_write(struct disk_seed *s, struct slice piece, struct disk_error *ret_error)
{
    uint8_t head[IMAGE_CHUNK_HEAD];
    uint64_t offset = image_chunk_offset(s->chunk);
    assert(piece.size > 0 && piece.size <= IMAGE_CHUNK_BYTES);
    image_chunk_put(head, s->chunk, piece.data, (uint32_t)piece.size);
    if (disk_write_at(&s->sys, s->fd, head, sizeof head, offset) != 0 ||
        disk_write_at(&s->sys, s->fd, piece.data, piece.size, offset + sizeof head) !=
            0)
        return fail_image(s, ret_error);
    s->meta.crc = crc32c(s->meta.crc, piece.data, piece.size);
    s->meta.size_bytes += piece.size;
    s->chunk++;
    return ST_OK;
}

static int
write_origin(const struct disk_seed *s, const uint8_t origin[DISK_ORIGIN_BYTES])
{
    uint8_t bytes[ORIGIN_FILE_BYTES] = {0};
    memcpy(bytes, ORIGIN_MAGIC, 8);
    put_u32(bytes + 8, ORIGIN_VERSION);
    memcpy(bytes + 16, origin, DISK_ORIGIN_BYTES);
    put_u64(bytes + 32, s->meta.index);
    put_u32(bytes + ORIGIN_FILE_BYTES - 4, crc32c(0, bytes, ORIGIN_FILE_BYTES - 4));
    return disk_replace_file(&s->sys, s->dir_fd, "origin", bytes, sizeof bytes);
}

static int
name_image(struct disk_seed *s)
{
    uint8_t head[IMAGE_HEAD_BYTES];
    char name[DISK_NAME_MAX];
    image_head_put(head, &s->meta, get_u64(s->options.cluster_id));
    disk_image_name(&s->meta, name);
    if (disk_write_at(&s->sys, s->fd, head, sizeof head, 0) != 0 ||
        s->sys.fdatasync(s->fd) != 0 ||
        renameat(s->snap_fd, disk_temporary_name(false), s->snap_fd, name) != 0)
        return -1;
    return fsync(s->snap_fd);
}

enum status
disk_seed_finish(struct disk_seed *s,
                 const uint8_t origin[DISK_ORIGIN_BYTES],
                 struct disk_error *ret_error)
{
    struct disk_meta meta = {
        .sequence = 1, .node_id = s->options.node_id, .term = s->meta.term};
    struct disk_boot boot = {.is_clean = true};
    memcpy(meta.cluster_id, s->options.cluster_id, DISK_CLUSTER_ID_BYTES);
    enum status st = ST_OK;
    if (name_image(s) != 0)
        st = fail_image(s, ret_error);
    else if (write_origin(s, origin) != 0)
        st = fail(s, "origin", ret_error);
    else
        st = disk_finish_directory(s->dir, s->dir_fd, &meta, &boot, ret_error);
    disk_seed_abandon(s);
    return st;
}

enum status
disk_read_origin(const char *dir, uint8_t ret_origin[DISK_ORIGIN_BYTES])
{
    uint8_t bytes[ORIGIN_FILE_BYTES];
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = dir_fd < 0 ? -1 : openat(dir_fd, "origin", O_RDONLY | O_CLOEXEC);
    int error = errno;
    if (dir_fd >= 0)
        close(dir_fd);
    if (fd < 0)
        return error == ENOENT ? ST_NOTFOUND : ST_IO;
    int rv = disk_read_at(fd, bytes, sizeof bytes, 0);
    close(fd);
    if (rv != 0)
        return rv < 0 ? ST_IO : ST_CORRUPT;
    if (memcmp(bytes, ORIGIN_MAGIC, 8) != 0 || get_u32(bytes + 8) != ORIGIN_VERSION ||
        get_u32(bytes + ORIGIN_FILE_BYTES - 4) !=
            crc32c(0, bytes, ORIGIN_FILE_BYTES - 4))
        return ST_CORRUPT;
    memcpy(ret_origin, bytes + 16, DISK_ORIGIN_BYTES);
    return ST_OK;
}
