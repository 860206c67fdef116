/* Opening: the snapshots that are there, and what is changed once everything is known
 * to be good: the torn tail cut, everything found synced, leftovers removed, R9. */
#include "raft/disk_int.h"

#include "base/crc32c.h"
#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status
fail(struct disk *d, struct disk_error *e, const char *what)
{
    enum status st = disk_errno_status(errno);
    disk_error_set(e, "%s: %s: %s", d->dir, what, strerror(errno));
    return st;
}

enum status
disk_check_image(struct disk *d, const char *name, struct rlog_snapshot_meta *meta)
{
    uint8_t head[IMAGE_HEAD_BYTES];
    struct stat stat;
    uint64_t cluster;
    char right_name[DISK_NAME_MAX];
    int fd = openat(d->snap_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ST_IO;
    int rv = disk_read_at(fd, head, sizeof head, 0);
    if (rv == 0)
        rv = fstat(fd, &stat);
    close(fd);
    if (rv != 0)
        return rv < 0 ? ST_IO : ST_CORRUPT;
    enum status st = image_head_get(head, meta, &cluster);
    if (st != ST_OK)
        return st;
    disk_image_name(meta, right_name);
    if (cluster != d->cluster || strcmp(name, right_name) != 0 ||
        (uint64_t)stat.st_size != image_file_bytes(meta->size_bytes))
        return ST_CORRUPT;
    return ST_OK;
}

/* Every chunk, and the whole. ST_CORRUPT with the offset. */
enum status
disk_verify_image(struct disk *d,
                  const char *name,
                  struct rlog_snapshot_meta *meta,
                  uint64_t *ret_offset)
{
    *ret_offset = 0;
    enum status st = disk_check_image(d, name, meta);
    if (st != ST_OK)
        return st;
    int fd = openat(d->snap_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ST_IO;
    uint8_t *chunk = mem_alloc(IMAGE_CHUNK_HEAD + IMAGE_CHUNK_BYTES);
    uint64_t left = meta->size_bytes;
    uint32_t crc = 0;
    for (uint64_t i = 0; st == ST_OK && left > 0; i++) {
        uint32_t size = left < IMAGE_CHUNK_BYTES ? (uint32_t)left : IMAGE_CHUNK_BYTES;
        *ret_offset = image_chunk_offset(i);
        int rv = disk_read_at(fd, chunk, IMAGE_CHUNK_HEAD + size, *ret_offset);
        if (rv < 0)
            st = ST_IO;
        else if (rv > 0 || !image_chunk_check(chunk, i, chunk + IMAGE_CHUNK_HEAD, size))
            st = ST_CORRUPT;
        crc = crc32c(crc, chunk + IMAGE_CHUNK_HEAD, size);
        left -= size;
    }
    mem_free(chunk);
    close(fd);
    return st == ST_OK && crc != meta->crc ? ST_CORRUPT : st;
}

/* Their names, the newest first. */
unsigned
disk_list_images(struct disk *d, char names[DISK_IMAGES_MAX][DISK_NAME_MAX])
{
    unsigned count = 0;
    int fd = openat(d->snap_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    uint64_t index;
    uint64_t term;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (!disk_image_parse(entry->d_name, &index, &term))
            continue;
        unsigned at = count;
        while (at > 0 && strcmp(names[at - 1], entry->d_name) < 0)
            at--;
        if (at == DISK_IMAGES_MAX)
            continue;
        if (count < DISK_IMAGES_MAX)
            count++;
        memmove(names[at + 1 < DISK_IMAGES_MAX ? at + 1 : at], names[at],
                (count - at - 1) * sizeof names[0]);
        snprintf(names[at], DISK_NAME_MAX, "%.47s", entry->d_name);
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

/* The newest must be good; older ones only wait to be removed. */
enum status
disk_find_images(struct disk *d, struct disk_error *e)
{
    char newest[DISK_NAME_MAX] = "";
    int fd = openat(d->snap_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return fail(d, e, "snapshots");
    }
    const struct dirent *entry;
    int count = 0;
    while ((entry = readdir(dir)) != NULL) {
        uint64_t index;
        uint64_t term;
        struct rlog_snapshot_meta meta;
        if (!disk_image_parse(entry->d_name, &index, &term))
            continue;
        /* Names in hexadecimal of one length: text order is index order. */
        if (strcmp(entry->d_name, newest) > 0)
            memcpy(newest, entry->d_name, 39);
        if (count < DISK_IMAGES_MAX / 2 &&
            disk_check_image(d, entry->d_name, &meta) == ST_OK) {
            d->images[count].meta = meta;
            count++;
        }
    }
    closedir(dir);
    if (newest[0] == 0)
        return ST_OK;
    struct rlog_snapshot_meta meta;
    enum status st = disk_check_image(d, newest, &meta);
    if (st != ST_OK) {
        disk_error_set(e, "%s/snapshots/%s: %s", d->dir, newest,
                       st == ST_VERSION ? "written by a newer version"
                                        : "at 0: damaged head, or not its size");
        disk_error_place(e, "snapshots", newest, 0);
        return st;
    }
    disk_add_image(d, &meta);
    d->rlog.found.snapshot = meta;
    return ST_OK;
}

static const struct disk_scan_entry *
entry_at(const struct disk_scan *s, uint64_t index)
{
    if (index < s->first || index >= s->first + s->count)
        return NULL;
    return &s->entries[index - s->first];
}

static enum status
hole(struct disk *d, struct disk_error *e, const char *what)
{
    disk_error_set(e, "%s/log: %s", d->dir, what);
    disk_error_place(e, "", "log", 0);
    return ST_CORRUPT;
}

/* R9: the log must hold the snapshot's last entry or begin right behind it. A log that
 * ends before it, or has another entry there, is what an install left behind. One that
 * begins later has a hole: a snapshot is missing. */
enum status
disk_check_joined(struct disk *d,
                  const struct disk_scan *s,
                  bool *ret_discard,
                  struct disk_error *e)
{
    *ret_discard = false;
    if (s->has_record && s->entries[s->count - 1].term > d->meta.term) {
        (void)hole(d, e, "an entry's term is above that of the meta files");
        disk_error_place(e, "", "meta-1", 0);
        return ST_CORRUPT;
    }
    const struct rlog_snapshot_meta *m = &d->rlog.found.snapshot;
    if (m->index == 0) {
        if (!s->has_record && d->meta.rejoin != DISK_REJOIN_NONE)
            return ST_OK;
        if (!s->has_record)
            return hole(d, e, "it is empty, and there is no snapshot");
        if (s->first != 1 || s->entries[0].type != RLOG_CHANGE)
            return hole(d, e, "it does not begin at entry 1, and there is no snapshot");
        return ST_OK;
    }
    if (!s->has_record)
        return ST_OK;
    if (s->first > m->index + 1)
        return hole(d, e, "entries between the snapshot and the log are missing");
    const struct disk_scan_entry *last = entry_at(s, m->index);
    *ret_discard = s->first != m->index + 1 && (last == NULL || last->term != m->term);
    return ST_OK;
}

static int
remove_segment(struct disk *d, uint64_t number)
{
    char name[DISK_NAME_MAX];
    disk_segment_name(number, name);
    if (unlinkat(d->log_fd, name, 0) != 0 && errno != ENOENT)
        return -1;
    return fsync(d->log_fd);
}

/* The last segment with records: cut behind the last whole one, and synced. */
static int
settle_tail(struct disk *d, struct disk_scan *s)
{
    char name[DISK_NAME_MAX];
    struct disk_segment *segment = &s->segments[s->tail];
    disk_segment_name(segment->number, name);
    if (s->is_torn)
        log_event(LOG_WARN, "log.tail_cut",
                  "segment=%s offset=%" PRIu64 " last_index=%" PRIu64
                  " consequence=continuing",
                  name, s->tail_offset, s->first + s->count - 1);
    int fd = openat(d->log_fd, name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rv = ftruncate(fd, (off_t)s->tail_offset);
    if (rv == 0)
        rv = fsync(fd);
    int error = errno;
    close(fd);
    errno = error;
    segment->bytes = s->tail_offset;
    return rv;
}

static int
settle_segments(struct disk *d, struct disk_scan *s, bool is_discarded)
{
    size_t keep = s->has_record && !is_discarded ? s->tail + 1 : 0;
    for (size_t i = s->segment_count; i-- > keep;)
        if (remove_segment(d, s->segments[i].number) != 0)
            return -1;
    if (keep > 0 && settle_tail(d, s) != 0)
        return -1;
    for (size_t i = 0; i < keep; i++)
        disk_add_segment(d, s->segments[i].number, s->segments[i].salt,
                         s->segments[i].bytes);
    return 0;
}

static void
take_entries(struct disk *d, const struct disk_scan *s, bool is_discarded)
{
    struct rlog_found *f = &d->rlog.found;
    f->first_index = f->snapshot.index + 1;
    f->count = 0;
    if (s->has_record && !is_discarded) {
        f->first_index = s->first;
        f->count = s->count;
    }
    d->first = f->first_index;
    d->last = d->first - 1;
    f->entries = mem_calloc(f->count + 1, sizeof *f->entries);
    for (uint64_t i = 0; i < f->count; i++) {
        const struct disk_scan_entry *e = &s->entries[i];
        f->entries[i] = (struct rlog_found_entry){.term = e->term,
                                                  .size = e->place.size,
                                                  .type = e->type,
                                                  .is_sync = e->is_sync};
        disk_set_place(d, f->first_index + i, &e->place);
    }
    f->term = d->meta.term;
    f->vote = d->meta.vote;
}

/* What a killed process was about to write was cut off, or damaged: it may have been
 * acknowledged. As after a crash of the machine, the gate makes that good. */
static enum status
note_torn(struct disk *d, const struct disk_scan *s, struct disk_error *e)
{
    if (!s->is_torn || d->boot.is_clean || d->boot.is_crashed)
        return ST_OK;
    d->boot.is_crashed = true;
    return disk_write_boot(d) == ST_OK ? ST_OK : fail(d, e, "boot");
}

enum status
disk_settle_found(struct disk *d, struct disk_scan *s, struct disk_error *e)
{
    bool is_discarded = false;
    enum status st = disk_check_joined(d, s, &is_discarded, e);
    if (st == ST_CORRUPT)
        e->members = s->members.count > 0 ? s->members : d->rlog.found.snapshot.members;
    if (st == ST_OK)
        st = note_torn(d, s, e);
    if (st != ST_OK)
        return st;
    /* From here on it is known to be good, and changes. */
    unlinkat(d->log_fd, "next.tmp", 0);
    unlinkat(d->snap_fd, disk_temporary_name(false), 0);
    unlinkat(d->snap_fd, disk_temporary_name(true), 0);
    if (is_discarded)
        log_event(LOG_WARN, "log.discarded",
                  "first_index=%" PRIu64 " last_index=%" PRIu64 " snapshot=%" PRIu64
                  " consequence=continuing",
                  s->first, s->first + s->count - 1, d->rlog.found.snapshot.index);
    if (settle_segments(d, s, is_discarded) != 0)
        return fail(d, e, "log");
    take_entries(d, s, is_discarded);
    d->number_base = s->number;
    d->next_segment =
        s->segment_count == 0 ? 1 : s->segments[s->segment_count - 1].number + 1;
    return ST_OK;
}
