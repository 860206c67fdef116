/* The reserve: files of a segment's size that are allocated while there is room, so
 * that the log goes on for a while when there is none: acks, deletes, elections, and
 * the snapshot that lets go of old segments. And the watch over the room there is.
 *
 * A segment that cannot be made becomes one of these files by renaming it: nobody else
 * can take the room in between. A snapshot gets the room of one that is removed.
 *
 * The disk counts as full when the segment after the next one would have to come out of
 * the reserve, or something came out of it already. That is over when the reserve is
 * whole again and there is room for two segments, so that it does not flap.
 *
 * Open uses it before the threads run; from then on it is the helper thread's. */
#include "raft/disk_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL_DISK_BYTES    (UINT64_C(1) << 30)
#define SEGMENT_LEAST_BYTES (1u << 20)
#define PART_OF_DISK        8 /* a segment is at most such a part of the file system */
#define MANY                4
#define FEW                 1 /* on a small file system */

static void
name_of(uint32_t i, char out[DISK_NAME_MAX])
{
    snprintf(out, DISK_NAME_MAX, "reserve-%u", i + 1);
}

/* UINT64_MAX when it cannot be told. */
static uint64_t
free_bytes(const struct disk *d)
{
    struct statvfs s;
    if (d->sys.fstatvfs(d->dir_fd, &s) != 0)
        return UINT64_MAX;
    return (uint64_t)(geteuid() == 0 ? s.f_bfree : s.f_bavail) * s.f_frsize;
}

static void
note_reserve(struct disk *d)
{
    uint64_t count = (uint64_t)__builtin_popcount(d->reserve);
    atomic_store(&d->reserve_bytes, count * d->segment_bytes);
}

void
disk_reserve_open(struct disk *d, bool is_size_free)
{
    struct statvfs s;
    struct stat stat;
    char name[DISK_NAME_MAX];
    d->reserve_want = MANY;
    if (d->sys.fstatvfs(d->dir_fd, &s) == 0) {
        uint64_t total = (uint64_t)s.f_blocks * s.f_frsize;
        if (total < SMALL_DISK_BYTES)
            d->reserve_want = FEW;
        while (is_size_free && d->segment_bytes > SEGMENT_LEAST_BYTES &&
               d->segment_bytes > total / PART_OF_DISK)
            d->segment_bytes /= 2;
        d->capacity_bytes = total;
    }
    d->reserve = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        name_of(i, name);
        if (fstatat(d->dir_fd, name, &stat, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (i < d->reserve_want && S_ISREG(stat.st_mode) &&
            (uint64_t)stat.st_size == d->segment_bytes)
            d->reserve |= 1u << i;
        else
            unlinkat(d->dir_fd, name, 0);
    }
    note_reserve(d);
}

/* Takes one out of the count; false: none is left. */
static bool
take(struct disk *d, char name[DISK_NAME_MAX])
{
    for (uint32_t i = 0; i < MANY; i++)
        if ((d->reserve & 1u << i) != 0) {
            d->reserve &= ~(1u << i);
            note_reserve(d);
            name_of(i, name);
            return true;
        }
    return false;
}

int
disk_reserve_segment(struct disk *d, const struct segment_head *head)
{
    char name[DISK_NAME_MAX];
    if (!take(d, name)) {
        errno = ENOSPC;
        return -1;
    }
    if (renameat(d->dir_fd, name, d->log_fd, "next.tmp") != 0)
        return -1;
    int fd = openat(d->log_fd, "next.tmp", O_RDWR | O_CLOEXEC);
    return fd < 0 ? -1 : disk_finish_segment(&d->sys, d->log_fd, fd, head);
}

bool
disk_reserve_give(struct disk *d)
{
    char name[DISK_NAME_MAX];
    if (!take(d, name))
        return false;
    atomic_store(&d->is_full, true);
    unlinkat(d->dir_fd, name, 0);
    return fsync(d->dir_fd) == 0; /* the room is there from now on */
}

/* For a file system that cannot allocate. */
static int
write_zeros(int fd, uint64_t bytes)
{
    static const uint8_t zeros[64 << 10];
    for (uint64_t at = 0; at < bytes;) {
        size_t size = bytes - at < sizeof zeros ? (size_t)(bytes - at) : sizeof zeros;
        ssize_t n = pwrite(fd, zeros, size, (off_t)at);
        if (n <= 0 && errno != EINTR)
            return -1;
        at += n > 0 ? (uint64_t)n : 0;
    }
    return 0;
}

static int
make_one(struct disk *d, uint32_t i)
{
    char name[DISK_NAME_MAX];
    name_of(i, name);
    int fd =
        openat(d->dir_fd, "reserve.tmp", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    int rv = d->sys.fallocate(fd, 0, 0, (off_t)d->segment_bytes);
    if (rv != 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
        rv = write_zeros(fd, d->segment_bytes);
    if (rv == 0)
        rv = fsync(fd);
    if (rv == 0)
        rv = renameat(d->dir_fd, "reserve.tmp", d->dir_fd, name);
    int error = errno;
    close(fd);
    if (rv != 0)
        unlinkat(d->dir_fd, "reserve.tmp", 0);
    errno = error;
    return rv;
}

/* False: it is not whole. */
static bool
refill(struct disk *d)
{
    for (uint32_t i = 0; i < d->reserve_want; i++) {
        if ((d->reserve & 1u << i) != 0)
            continue;
        if (free_bytes(d) < d->segment_bytes)
            return false;
        if (make_one(d, i) != 0) {
            if (disk_errno_status(errno) != ST_FULL)
                disk_report_failure(d, "making the reserve", errno);
            return false;
        }
        d->reserve |= 1u << i;
        note_reserve(d);
    }
    return true;
}

void
disk_reserve_tend(struct disk *d, bool is_log_waiting)
{
    bool is_starved = atomic_load(&d->is_starved); /* the writer, in a write */
    if (is_starved && free_bytes(d) < d->segment_bytes)
        (void)disk_reserve_give(d);
    /* What room there is belongs to the log first. */
    bool is_whole = !is_starved && !is_log_waiting && refill(d);
    uint64_t least = d->segment_bytes * (atomic_load(&d->is_full) ? 2 : 1);
    uint64_t room = free_bytes(d);
    atomic_store(&d->free_bytes, room);
    atomic_store(&d->is_full, !is_whole || room < least);
}
