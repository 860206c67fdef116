/* Making a new data directory. A file "initialising" is there from the first change to
 * the last; while it is, the directory counts as none and making it can be repeated. */
#include "raft/disk_int.h"
#include "raft/disk_make.h"
#include "raft/disk_seed.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/members.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status
fail(const char *dir, struct disk_error *e)
{
    enum status st = disk_errno_status(errno);
    disk_error_set(e, "%s: %s", dir, strerror(errno));
    return st;
}

/* A node's data, or what else is there. */
static void
say_not_empty(const char *dir, int dir_fd, const char *name, struct disk_error *e)
{
    struct stat stat;
    bool is_node = fstatat(dir_fd, "meta-1", &stat, 0) == 0 ||
                   fstatat(dir_fd, "meta-2", &stat, 0) == 0;
    disk_error_set(e, "%s: not empty (%.100s)%s; nothing changed", dir, name,
                   is_node ? ": a node's data are there already" : "");
}

/* ST_EXISTS when there is anything but what a broken attempt left. */
static enum status
check_empty(const char *dir, int dir_fd, struct disk_error *e)
{
    struct stat stat;
    if (fstatat(dir_fd, "initialising", &stat, 0) == 0)
        return ST_OK;
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (listing == NULL) {
        if (fd >= 0)
            close(fd);
        return fail(dir, e);
    }
    const struct dirent *entry;
    enum status st = ST_OK;
    while ((entry = readdir(listing)) != NULL && st == ST_OK)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, "lost+found") != 0) {
            say_not_empty(dir, dir_fd, entry->d_name, e);
            st = ST_EXISTS;
        }
    closedir(listing);
    return st;
}

static void
sync_parent(const char *dir)
{
    size_t size = strlen(dir) + 1;
    char *copy = mem_alloc(size);
    memcpy(copy, dir, size);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    mem_free(copy);
}

/* Segment 1 with entry 1: the first members, in term 1. */
static int
write_first_entry(const struct disk_sys *sys,
                  int log_fd,
                  uint64_t cluster,
                  uint64_t node_id,
                  const struct rlog_members *members)
{
    struct bytes record = {0};
    struct bytes payload = {0};
    struct segment_head head = {.number = 1, .cluster = cluster, .node_id = node_id};
    if (getrandom(&head.salt, sizeof head.salt, 0) != sizeof head.salt)
        return -1;
    rlog_members_encode(members, &payload);
    struct record_head h = {
        .size = (uint32_t)payload.size,
        .crc = crc32c(0, payload.data, payload.size),
        .type = RLOG_CHANGE,
        .is_sync = true,
        .number = 1,
        .index = 1,
        .term = 1,
    };
    record_head_put(bytes_extend(&record, RECORD_HEAD_BYTES), &h, head.salt);
    bytes_put(&record, payload.data, payload.size);
    while (record.size % 8 != 0)
        bytes_put_u8(&record, 0);
    int fd = disk_make_segment(sys, log_fd, &head, SEGMENT_HEAD_BYTES + record.size);
    int rv = fd < 0
                 ? -1
                 : disk_write_at(sys, fd, record.data, record.size, SEGMENT_HEAD_BYTES);
    if (rv == 0)
        rv = sys->fdatasync(fd);
    int error = errno;
    if (fd >= 0)
        close(fd);
    bytes_fini(&record);
    bytes_fini(&payload);
    errno = error;
    return rv;
}

/* A folder with nothing in it: what a broken attempt left there goes. */
static int
make_folder(int dir_fd, const char *name)
{
    if (mkdirat(dir_fd, name, 0700) != 0 && errno != EEXIST)
        return -1;
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int rv = listing == NULL ? -1 : 0;
    while (rv == 0 && (entry = readdir(listing)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rv = unlinkat(fd, entry->d_name, 0);
    int error = errno;
    if (listing != NULL)
        closedir(listing);
    else if (fd >= 0)
        close(fd);
    errno = error;
    return rv;
}

int
disk_make_folders(int dir_fd)
{
    return make_folder(dir_fd, "log") != 0 ? -1 : make_folder(dir_fd, "snapshots");
}

enum status
disk_check_unused(const char *dir, struct disk_error *ret_error)
{
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return errno == ENOENT ? ST_OK : fail(dir, ret_error);
    enum status st = check_empty(dir, dir_fd, ret_error);
    close(dir_fd);
    return st;
}

enum status
disk_begin_directory(const char *dir, int *ret_dir_fd, struct disk_error *e)
{
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return fail(dir, e);
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return fail(dir, e);
    enum status st = check_empty(dir, dir_fd, e);
    if (st == ST_OK) {
        int fd = openat(dir_fd, "initialising", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0 || fsync(dir_fd) != 0)
            st = fail(dir, e);
        if (fd >= 0)
            close(fd);
    }
    if (st != ST_OK) {
        close(dir_fd);
        return st;
    }
    *ret_dir_fd = dir_fd;
    return ST_OK;
}

enum status
disk_finish_directory(const char *dir,
                      int dir_fd,
                      const struct disk_meta *meta,
                      const struct disk_boot *boot,
                      struct disk_error *e)
{
    struct disk_sys sys;
    uint8_t meta_bytes[META_BYTES];
    uint8_t boot_bytes[BOOT_BYTES];
    disk_meta_put(meta_bytes, meta);
    disk_boot_put(boot_bytes, boot);
    disk_fill_system(&sys, NULL);
    if (disk_replace_file(&sys, dir_fd, "boot", boot_bytes, sizeof boot_bytes) != 0 ||
        disk_replace_file(&sys, dir_fd, "meta-1", meta_bytes, sizeof meta_bytes) != 0 ||
        disk_replace_file(&sys, dir_fd, "meta-2", meta_bytes, sizeof meta_bytes) != 0 ||
        unlinkat(dir_fd, "initialising", 0) != 0 || fsync(dir_fd) != 0) {
        enum status st = disk_errno_status(errno);
        disk_error_set(e, "%s: boot, meta-1 or meta-2: %s", dir, strerror(errno));
        return st;
    }
    sync_parent(dir);
    return ST_OK;
}

static int
make_log(int dir_fd,
         uint64_t node_id,
         const uint8_t *cluster_id,
         const struct rlog_members *members)
{
    struct disk_sys sys;
    disk_fill_system(&sys, NULL);
    int log_fd = openat(dir_fd, "log", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (log_fd < 0)
        return -1;
    int rv = write_first_entry(&sys, log_fd, get_u64(cluster_id), node_id, members);
    int error = errno;
    close(log_fd);
    errno = error;
    return rv;
}

/* members NULL: of a node that is to join. */
static enum status
make(const char *dir,
     uint64_t node_id,
     const uint8_t *cluster_id,
     const struct rlog_members *members,
     struct disk_error *e)
{
    int dir_fd = -1;
    struct disk_meta meta = {.sequence = 1, .node_id = node_id, .term = 1};
    struct disk_boot boot = {.is_clean = true, .number = members != NULL};
    meta.rejoin = members != NULL ? DISK_REJOIN_NONE : DISK_REJOIN_JOINING;
    memcpy(meta.cluster_id, cluster_id, DISK_CLUSTER_ID_BYTES);
    enum status st = disk_begin_directory(dir, &dir_fd, e);
    if (st != ST_OK)
        return st;
    if (disk_make_folders(dir_fd) != 0 ||
        (members != NULL && make_log(dir_fd, node_id, cluster_id, members) != 0))
        st = fail(dir, e);
    else
        st = disk_finish_directory(dir, dir_fd, &meta, &boot, e);
    close(dir_fd);
    return st;
}

enum status
disk_sort_first_members(struct rlog_members *members,
                        uint64_t node_id,
                        struct disk_error *e)
{
    rlog_members_sort(members);
    const struct rlog_member *self = rlog_members_find(members, node_id);
    if (rlog_members_check(members) == ST_OK && self != NULL && self->is_voter)
        return ST_OK;
    disk_error_set(e, "the members are not right, or this node is not one");
    return ST_INVALID;
}

enum status
disk_init(const char *dir,
          uint64_t node_id,
          const uint8_t cluster_id[DISK_CLUSTER_ID_BYTES],
          const struct rlog_members *members,
          struct disk_error *ret_error)
{
    struct rlog_members sorted = *members;
    memset(ret_error, 0, sizeof *ret_error);
    if (disk_sort_first_members(&sorted, node_id, ret_error) != ST_OK)
        return ST_INVALID;
    return make(dir, node_id, cluster_id, &sorted, ret_error);
}

enum status
disk_join(const char *dir,
          uint64_t node_id,
          const uint8_t cluster_id[DISK_CLUSTER_ID_BYTES],
          struct disk_error *ret_error)
{
    memset(ret_error, 0, sizeof *ret_error);
    return make(dir, node_id, cluster_id, NULL, ret_error);
}
