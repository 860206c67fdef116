/* Setting a damaged log aside, so that the node can come back as one that has lost
 * everything and knows it: raft-notes 6, "rejoin blank".
 *
 *   1  aside/ is made, with why, and copies of boot and meta
 *   2  meta: moving                 from here on every open finishes it
 *   3  log and snapshots go into aside/
 *   4  aside/ becomes aside-DATE/
 *   5  an empty log, empty snapshots, boot as after a crash of the machine
 *   6  meta: waiting                until the restart gate opens
 *
 * Each step is durable before the next and can be repeated: a file that is not where
 * it was is where it belongs. Term and vote stay in meta. Nothing is removed. */
#include "raft/disk_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SMALL_FILE_BYTES 4096 /* of those that are copied */
#define SUFFIX_MAX       99
#define HOUR_SECS        3600

static const char *const moved[] = {"log", "snapshots"};
static const char *const copied[] = {"boot", "meta-1", "meta-2"};

static enum status
fail(struct disk *d, struct disk_error *e, const char *what)
{
    enum status st = disk_errno_status(errno);
    disk_error_set(e, "%s: setting the log aside: %s: %s", d->dir, what,
                   strerror(errno));
    return st;
}

static bool
exists(int dir_fd, const char *name)
{
    struct stat stat;
    return fstatat(dir_fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0;
}

/* "aside-20261130T120000Z" and, when that was taken, "-2" and so on behind it. */
bool
disk_aside_parse(const char *name, int64_t *ret_time)
{
    struct tm tm = {0};
    if (strncmp(name, "aside-", 6) != 0)
        return false;
    const char *end = strptime(name + 6, "%Y%m%dT%H%M%SZ", &tm);
    if (end == NULL || (*end != 0 && *end != '-'))
        return false;
    *ret_time = timegm(&tm);
    return true;
}

static struct tm
now_utc(void)
{
    struct tm tm;
    time_t now = time(NULL);
    return *gmtime_r(&now, &tm);
}

/* How many there are: all, and of the last hour; the first and the last name. */
struct asides {
    unsigned count;
    unsigned recent;
    char first[DISK_ASIDE_NAME_BYTES];
    char last[DISK_ASIDE_NAME_BYTES];
};

static int
count_asides(struct disk *d, struct asides *a)
{
    memset(a, 0, sizeof *a);
    int fd = openat(d->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    int64_t now = time(NULL);
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        int64_t at;
        if (strlen(entry->d_name) >= sizeof a->first ||
            !disk_aside_parse(entry->d_name, &at))
            continue;
        a->count++;
        a->recent += at > now - HOUR_SECS && at <= now + HOUR_SECS;
        if (a->first[0] == 0 || strcmp(entry->d_name, a->first) < 0)
            memcpy(a->first, entry->d_name, strlen(entry->d_name) + 1);
        if (strcmp(entry->d_name, a->last) > 0)
            memcpy(a->last, entry->d_name, strlen(entry->d_name) + 1);
    }
    closedir(dir);
    return 0;
}

enum status
disk_check_asides(struct disk *d, bool is_hourly, struct disk_error *e)
{
    struct asides a;
    if (count_asides(d, &a) != 0)
        return fail(d, e, "listing");
    if (a.count >= DISK_ASIDES_MAX) {
        disk_error_set(e,
                       "%s: %u logs were set aside already, %s to %s: move away those "
                       "that are not needed",
                       d->dir, a.count, a.first, a.last);
        return ST_RANGE;
    }
    if (is_hourly && a.recent >= DISK_ASIDES_PER_HOUR) {
        disk_error_set(e,
                       "%s: %u logs were set aside within an hour, the last one is %s: "
                       "is the disk sound?",
                       d->dir, a.recent, a.last);
        return ST_AGAIN;
    }
    return ST_OK;
}

static void
copy_small(struct disk *d, int to_fd, const char *name)
{
    uint8_t bytes[SMALL_FILE_BYTES];
    int fd = openat(d->dir_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, 0);
    if (fd >= 0)
        close(fd);
    if (size >= 0)
        (void)disk_replace_file(&d->sys, to_fd, name, bytes, (size_t)size);
}

/* For people. On a full disk it goes without: the log line has said it, too. */
static void
write_why(struct disk *d, int to_fd, const char *why)
{
    char date[40];
    char text[1024];
    struct tm tm = now_utc();
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
    int size = snprintf(text, sizeof text,
                        "This log was set aside; the node went on without it.\n"
                        "date: %s\nnode: %" PRIu64 "\nversion: %s\nreason: %.640s\n",
                        date, d->node_id, PACKAGE_VERSION, why);
    (void)disk_replace_file(&d->sys, to_fd, "why", text, (size_t)size);
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        copy_small(d, to_fd, copied[i]);
}

/* A name by date that is not taken. */
enum status
disk_name_aside(struct disk *d,
                char ret_name[DISK_ASIDE_NAME_BYTES],
                struct disk_error *e)
{
    char name[DISK_ASIDE_NAME_BYTES];
    struct tm tm = now_utc();
    strftime(name, sizeof name, "aside-%Y%m%dT%H%M%SZ", &tm);
    size_t size = strlen(name);
    for (unsigned i = 2; exists(d->dir_fd, name) && i <= SUFFIX_MAX; i++)
        snprintf(name + size, sizeof name - size, "-%u", i);
    if (d->sys.renameat(d->dir_fd, "aside", d->dir_fd, name) != 0 ||
        d->sys.fsync(d->dir_fd) != 0)
        return fail(d, e, "renaming");
    memcpy(ret_name, name, sizeof name);
    return ST_OK;
}

/* Steps 3 and 4. */
static enum status
move_away(struct disk *d, char ret_name[DISK_ASIDE_NAME_BYTES], struct disk_error *e)
{
    int fd = openat(d->dir_fd, "aside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return ST_OK; /* it has its name already */
    if (fd < 0)
        return fail(d, e, "aside");
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < sizeof moved / sizeof moved[0]; i++) {
        rv = d->sys.renameat(d->dir_fd, moved[i], fd, moved[i]);
        if (rv != 0 && errno == ENOENT)
            rv = 0; /* moved already */
    }
    if (rv == 0)
        rv = d->sys.fsync(fd);
    if (rv == 0)
        rv = d->sys.fsync(d->dir_fd);
    enum status st = rv == 0 ? ST_OK : fail(d, e, "moving");
    close(fd);
    return st == ST_OK ? disk_name_aside(d, ret_name, e) : st;
}

enum status
disk_finish_aside(struct disk *d,
                  char ret_name[DISK_ASIDE_NAME_BYTES],
                  struct disk_error *e)
{
    ret_name[0] = 0;
    enum status st = move_away(d, ret_name, e);
    if (st != ST_OK)
        return st;
    for (size_t i = 0; i < sizeof moved / sizeof moved[0]; i++)
        if (d->sys.mkdirat(d->dir_fd, moved[i], 0700) != 0 && errno != EEXIST)
            return fail(d, e, moved[i]);
    if (d->sys.fsync(d->dir_fd) != 0)
        return fail(d, e, "syncing");
    d->boot = (struct disk_boot){.is_crashed = true};
    d->meta.rejoin = DISK_REJOIN_WAITING;
    if (disk_write_boot(d) != ST_OK || disk_write_meta(d) != ST_OK)
        return fail(d, e, "meta");
    return ST_OK;
}

/* Step 1. An "aside" that holds a log already is not ours to fill. */
enum status
disk_make_aside(struct disk *d, const char *why, struct disk_error *e)
{
    char name[DISK_ASIDE_NAME_BYTES];
    enum status st = ST_OK;
    if (exists(d->dir_fd, "aside/log") || exists(d->dir_fd, "aside/snapshots"))
        st = disk_name_aside(d, name, e);
    if (st != ST_OK)
        return st;
    if (d->sys.mkdirat(d->dir_fd, "aside", 0700) != 0 && errno != EEXIST)
        return fail(d, e, "aside");
    int fd = openat(d->dir_fd, "aside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail(d, e, "aside");
    write_why(d, fd, why);
    int rv = d->sys.fsync(fd);
    if (rv == 0)
        rv = d->sys.fsync(d->dir_fd);
    st = rv == 0 ? ST_OK : fail(d, e, "aside");
    close(fd);
    return st;
}

static enum status
set_aside(struct disk *d,
          const struct disk_options *o,
          const char *why,
          char ret_name[DISK_ASIDE_NAME_BYTES],
          struct disk_error *e)
{
    enum status st = disk_open_directory(d, e);
    if (st == ST_OK)
        st = disk_lock(d, e);
    if (st == ST_OK)
        st = disk_read_meta(d, e);
    if (st == ST_OK)
        st = disk_check_owner(d, o, e);
    if (st == ST_OK && d->meta.rejoin != DISK_REJOIN_MOVING) {
        st = disk_check_asides(d, true, e);
        if (st == ST_OK)
            st = disk_make_aside(d, why, e);
        d->meta.rejoin = DISK_REJOIN_MOVING;
        if (st == ST_OK && disk_write_meta(d) != ST_OK)
            st = fail(d, e, "meta");
    }
    return st == ST_OK ? disk_finish_aside(d, ret_name, e) : st;
}

enum status
disk_set_aside(const struct disk_options *options,
               const char *why,
               char ret_name[DISK_ASIDE_NAME_BYTES],
               struct disk_error *ret_error)
{
    memset(ret_error, 0, sizeof *ret_error);
    ret_name[0] = 0;
    struct disk *d = disk_new(options);
    enum status st = set_aside(d, options, why, ret_name, ret_error);
    disk_free(d);
    return st;
}
