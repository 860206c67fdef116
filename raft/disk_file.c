/* Files and directories: names, whole reads and writes, replacement. */
#include "raft/disk_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
disk_error_set(struct disk_error *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
}

void
disk_error_place(struct disk_error *e,
                 const char *folder,
                 const char *name,
                 uint64_t at)
{
    snprintf(e->file, sizeof e->file, "%s%s%s", folder, folder[0] != 0 ? "/" : "",
             name);
    e->offset = at;
}

enum status
disk_errno_status(int error)
{
    return error == ENOSPC || error == EDQUOT ? ST_FULL : ST_IO;
}

void
disk_segment_name(uint64_t number, char out[DISK_NAME_MAX])
{
    snprintf(out, DISK_NAME_MAX, "%016" PRIx64 ".seg", number);
}

void
disk_image_name(const struct rlog_snapshot_meta *m, char out[DISK_NAME_MAX])
{
    snprintf(out, DISK_NAME_MAX, "%016" PRIx64 "-%016" PRIx64 ".snap", m->index,
             m->term);
}

const char *
disk_temporary_name(bool is_incoming)
{
    return is_incoming ? "incoming.tmp" : "local.tmp";
}

static bool
parse_hex16(const char *text, uint64_t *ret_value)
{
    uint64_t v = 0;
    for (int i = 0; i < 16; i++) {
        char c = text[i];
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        else
            return false;
        v = v << 4 | digit;
    }
    *ret_value = v;
    return true;
}

bool
disk_segment_parse(const char *name, uint64_t *ret_number)
{
    return strlen(name) == 20 && strcmp(name + 16, ".seg") == 0 &&
           parse_hex16(name, ret_number) && *ret_number != 0;
}

bool
disk_image_parse(const char *name, uint64_t *ret_index, uint64_t *ret_term)
{
    return strlen(name) == 38 && name[16] == '-' && strcmp(name + 33, ".snap") == 0 &&
           parse_hex16(name, ret_index) && parse_hex16(name + 17, ret_term) &&
           *ret_index != 0;
}

int
disk_write_on(const struct disk_sys *sys, int fd, struct disk_left *left)
{
    while (left->count > 0) {
        ssize_t n = sys->pwritev(fd, left->iov, left->count, (off_t)left->offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (n == 0)
                errno = EIO;
            return -1;
        }
        left->offset += (uint64_t)n;
        while (left->count > 0 && (size_t)n >= left->iov->iov_len) {
            n -= (ssize_t)left->iov->iov_len;
            left->iov++;
            left->count--;
        }
        if (left->count > 0) {
            left->iov->iov_base = (uint8_t *)left->iov->iov_base + n;
            left->iov->iov_len -= (size_t)n;
        }
    }
    return 0;
}

int
disk_write_at(
    const struct disk_sys *sys, int fd, const void *data, size_t size, uint64_t offset)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
    struct disk_left left = {&iov, size > 0 ? 1 : 0, offset};
    return disk_write_on(sys, fd, &left);
}

int
disk_read_at(int fd, void *data, size_t size, uint64_t offset)
{
    uint8_t *at = data;
    while (size > 0) {
        ssize_t n = pread(fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            return 1;
        at += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

int
disk_replace_file(const struct disk_sys *sys,
                  int dir_fd,
                  const char *name,
                  const void *data,
                  size_t size)
{
    char temporary[DISK_NAME_MAX];
    snprintf(temporary, sizeof temporary, "%s.tmp", name);
    int fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    int rv = disk_write_at(sys, fd, data, size, 0);
    if (rv == 0)
        rv = sys->fdatasync(fd);
    int error = errno;
    close(fd);
    if (rv != 0) {
        unlinkat(dir_fd, temporary, 0);
        errno = error;
        return -1;
    }
    if (renameat(dir_fd, temporary, dir_fd, name) != 0)
        return -1;
    return fsync(dir_fd);
}

int
disk_finish_segment(const struct disk_sys *sys,
                    int log_fd,
                    int fd,
                    const struct segment_head *head)
{
    char name[DISK_NAME_MAX];
    uint8_t head_bytes[SEGMENT_HEAD_BYTES];
    disk_segment_name(head->number, name);
    segment_head_put(head_bytes, head);
    int rv = disk_write_at(sys, fd, head_bytes, sizeof head_bytes, 0);
    if (rv == 0)
        rv = sys->fdatasync(fd);
    if (rv == 0)
        rv = renameat(log_fd, "next.tmp", log_fd, name);
    if (rv == 0)
        rv = fsync(log_fd);
    if (rv == 0)
        return fd;
    int error = errno;
    close(fd);
    unlinkat(log_fd, "next.tmp", 0);
    errno = error;
    return -1;
}

int
disk_make_segment(const struct disk_sys *sys,
                  int log_fd,
                  const struct segment_head *head,
                  uint64_t bytes)
{
    int fd = openat(log_fd, "next.tmp", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    /* Allocated first: a write into it later never lacks room. A file system that
     * cannot is written without. */
    int rv = sys->fallocate(fd, 0, 0, (off_t)bytes);
    if (rv != 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
        rv = ftruncate(fd, (off_t)bytes);
    if (rv == 0)
        return disk_finish_segment(sys, log_fd, fd, head);
    int error = errno;
    close(fd);
    unlinkat(log_fd, "next.tmp", 0);
    errno = error;
    return -1;
}

uint64_t
disk_salt(uint64_t base, uint64_t number)
{
    uint64_t z = base + number * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void
disk_fill_system(struct disk_sys *out, const struct disk_sys *in)
{
    *out = (struct disk_sys){pwritev, fdatasync, fallocate, fsync,
                             mkdirat, renameat,  fstatvfs};
    if (in == NULL)
        return;
    if (in->pwritev != NULL)
        out->pwritev = in->pwritev;
    if (in->fdatasync != NULL)
        out->fdatasync = in->fdatasync;
    if (in->fallocate != NULL)
        out->fallocate = in->fallocate;
    if (in->fsync != NULL)
        out->fsync = in->fsync;
    if (in->mkdirat != NULL)
        out->mkdirat = in->mkdirat;
    if (in->renameat != NULL)
        out->renameat = in->renameat;
    if (in->fstatvfs != NULL)
        out->fstatvfs = in->fstatvfs;
}
