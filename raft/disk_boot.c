/* The small files of a data directory: lock, the two copies of meta, boot.
 *
 * Meta is written to the first copy, synced, then to the second, synced; only then the
 * new term or vote may be acted on. So a torn or damaged copy never leaves us with less
 * than what was acted on: the other one has it, or it was not acted on yet. */
#include "raft/disk_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char *const meta_name[2] = {"meta-1", "meta-2"};

enum status
disk_lock(struct disk *d, struct disk_error *e)
{
    char text[32];
    d->lock_fd = openat(d->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (d->lock_fd < 0) {
        disk_error_set(e, "%s/lock: %s", d->dir, strerror(errno));
        return disk_errno_status(errno);
    }
    if (flock(d->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        ssize_t n = pread(d->lock_fd, text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = 0;
        text[strcspn(text, "\n")] = 0;
        disk_error_set(e, "%s: in use by process %s", d->dir, text);
        return ST_EXISTS;
    }
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    /* Only a hint for people; a full disk must not keep the node from starting. */
    if (ftruncate(d->lock_fd, 0) != 0 || pwrite(d->lock_fd, text, (size_t)n, 0) != n)
        errno = 0;
    return ST_OK;
}

/* One copy: ST_OK, ST_CORRUPT when it is not whole, ST_VERSION. */
static enum status
read_copy_of_meta(struct disk *d, int i, struct disk_meta *m)
{
    uint8_t bytes[META_BYTES];
    d->meta_fd[i] = openat(d->dir_fd, meta_name[i], O_RDWR | O_CLOEXEC);
    if (d->meta_fd[i] < 0)
        return errno == ENOENT ? ST_NOTFOUND : ST_IO;
    int rv = disk_read_at(d->meta_fd[i], bytes, sizeof bytes, 0);
    if (rv < 0)
        return ST_IO;
    return rv > 0 ? ST_CORRUPT : disk_meta_get(bytes, m);
}

enum status
disk_read_meta(struct disk *d, struct disk_error *e)
{
    struct disk_meta m[2];
    enum status st[2];
    for (int i = 0; i < 2; i++)
        st[i] = read_copy_of_meta(d, i, &m[i]);
    for (int i = 0; i < 2; i++)
        if (st[i] == ST_VERSION || st[i] == ST_IO) {
            disk_error_set(e, "%s/%s: %s", d->dir, meta_name[i],
                           st[i] == ST_VERSION ? "written by a newer version"
                                               : strerror(errno));
            return st[i];
        }
    if (st[0] == ST_NOTFOUND && st[1] == ST_NOTFOUND) {
        disk_error_set(
            e,
            "%s: no data here; in a new cluster run: holdfastctl data init; if it was "
            "a member: not data init, see REPLACING in holdfast-cluster(7)",
            d->dir);
        return ST_NOTFOUND;
    }
    if (st[0] != ST_OK && st[1] != ST_OK) {
        disk_error_set(e, "%s/%s and %s/%s: both damaged", d->dir, meta_name[0], d->dir,
                       meta_name[1]);
        disk_error_place(e, "", meta_name[0], 0);
        e->is_final = true;
        return ST_CORRUPT;
    }
    int best = st[0] != ST_OK                                    ? 1
               : st[1] == ST_OK && m[1].sequence > m[0].sequence ? 1
                                                                 : 0;
    d->meta = m[best];
    return ST_OK;
}

enum status
disk_check_owner(struct disk *d, const struct disk_options *o, struct disk_error *e)
{
    if (memcmp(d->meta.cluster_id, o->cluster_id, DISK_CLUSTER_ID_BYTES) != 0) {
        disk_error_set(e, "%s: belongs to another cluster", d->dir);
        return ST_DENIED;
    }
    if (d->meta.node_id != o->node_id) {
        disk_error_set(e, "%s: belongs to node %" PRIu64 ", this is node %" PRIu64,
                       d->dir, d->meta.node_id, o->node_id);
        return ST_DENIED;
    }
    return ST_OK;
}

/* A copy that was lost is made again here. */
static int
open_meta(struct disk *d, int i)
{
    if (d->meta_fd[i] >= 0)
        return 0;
    d->meta_fd[i] = openat(d->dir_fd, meta_name[i], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return d->meta_fd[i] < 0 ? -1 : fsync(d->dir_fd);
}

enum status
disk_write_meta(struct disk *d)
{
    uint8_t bytes[META_BYTES];
    d->meta.sequence++;
    disk_meta_put(bytes, &d->meta);
    for (int i = 0; i < 2; i++)
        if (open_meta(d, i) != 0 ||
            disk_write_at(&d->sys, d->meta_fd[i], bytes, sizeof bytes, 0) != 0 ||
            d->sys.fdatasync(d->meta_fd[i]) != 0)
            return disk_errno_status(errno);
    return ST_OK;
}

enum status
disk_read_boot(struct disk *d, const char *boot_id, struct disk_error *e)
{
    uint8_t bytes[BOOT_BYTES];
    bool is_known = false;
    memset(&d->boot, 0, sizeof d->boot);
    int fd = openat(d->dir_fd, "boot", O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT) {
        disk_error_set(e, "%s/boot: %s", d->dir, strerror(errno));
        return ST_IO;
    }
    if (fd >= 0) {
        enum status st = ST_CORRUPT;
        if (disk_read_at(fd, bytes, sizeof bytes, 0) == 0)
            st = disk_boot_get(bytes, &d->boot);
        close(fd);
        if (st == ST_VERSION) {
            disk_error_set(e, "%s/boot: written by a newer version", d->dir);
            return ST_VERSION;
        }
        is_known = st == ST_OK;
    }
    /* Not readable: as careful as after a crash. */
    if (!is_known)
        d->boot = (struct disk_boot){.is_crashed = true};
    else if (!d->boot.is_clean && strcmp(d->boot.boot_id, boot_id) != 0)
        d->boot.is_crashed = true;
    if (d->meta.rejoin != DISK_REJOIN_NONE)
        d->boot.is_crashed = true; /* so that an older version is gated, too */
    return ST_OK;
}

/* No room for another file beside it. Torn it is as good as none: the next start is as
 * careful as after a crash. */
static enum status
overwrite(struct disk *d, const char *name, const uint8_t *bytes, size_t size)
{
    int fd = openat(d->dir_fd, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? ST_FULL : ST_IO;
    enum status st = ST_OK;
    if (disk_write_at(&d->sys, fd, bytes, size, 0) != 0 || d->sys.fdatasync(fd) != 0)
        st = disk_errno_status(errno);
    close(fd);
    return st;
}

enum status
disk_write_boot(struct disk *d)
{
    uint8_t bytes[BOOT_BYTES];
    disk_boot_put(bytes, &d->boot);
    if (disk_replace_file(&d->sys, d->dir_fd, "boot", bytes, sizeof bytes) == 0)
        return ST_OK;
    if (disk_errno_status(errno) != ST_FULL)
        return ST_IO;
    return overwrite(d, "boot", bytes, sizeof bytes);
}
