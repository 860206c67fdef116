/* File: see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PIECE_BYTES 4096

enum status
file_read(const char *path, size_t max_bytes, struct bytes *out)
{
    size_t begin = out->size;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && out->size - begin <= max_bytes) { /* bound: max_bytes */
        bytes_reserve(out, PIECE_BYTES);
        n = read(fd, out->data + out->size, PIECE_BYTES);
        if (n > 0)
            out->size += (size_t)n;
    }
    int error = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = error;
    if (n < 0)
        return ST_IO;
    return out->size - begin <= max_bytes ? ST_OK : ST_RANGE;
}

static bool
write_all(int fd, struct slice text)
{
    size_t done = 0;
    while (done < text.size) { /* bound: the text */
        ssize_t n = write(fd, text.data + done, text.size - done);
        if (n < 0)
            return false;
        done += (size_t)n;
    }
    return fsync(fd) == 0;
}

enum status
file_make(const char *path, struct slice text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? ST_EXISTS : ST_IO;
    bool is_good = write_all(fd, text);
    int error = errno;
    if (close(fd) != 0 && is_good) {
        is_good = false;
        error = errno;
    }
    if (!is_good)
        (void)unlink(path); /* ours: there was nothing */
    errno = error;
    return is_good ? ST_OK : ST_IO;
}
