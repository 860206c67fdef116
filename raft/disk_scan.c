/* What is in the segments at open. Changes nothing.
 *
 * The records of all segments are one numbered stream. Reading stops at the first bad
 * one. It is a torn tail, to be cut there, when nothing says that it had been synced;
 * else it is damage, and the node refuses. What can say so:
 *
 *   - a record or mark, before or behind it, whose synced number reaches it
 *   - a later segment with records (a segment is synced before the next is begun)
 *   - the clean-stop mark of the boot file
 *   - without a crash of the machine: any whole record behind it (a killed process
 *     leaves a beginning of what it wrote, never a later part)
 *
 * A segment's file is made whole and synced before it gets its name, so a bad segment
 * head is always damage. */
#include "raft/disk_int.h"

#include "base/crc32c.h"
#include "base/mem.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No file of ours is larger; more is not ours to read into memory. */
#define SEGMENT_BYTES_MAX (1u << 30)

void
disk_scan_fini(struct disk_scan *s)
{
    mem_free(s->entries);
    mem_free(s->segments);
    memset(s, 0, sizeof *s);
}

static enum status
corrupt(struct disk *d,
        struct disk_error *e,
        uint64_t segment,
        uint64_t offset,
        const char *what)
{
    char name[DISK_NAME_MAX];
    disk_segment_name(segment, name);
    disk_error_set(e, "%s/log/%s: at %" PRIu64 ": %s", d->dir, name, offset, what);
    return ST_CORRUPT;
}

static int
compare_segments(const void *a, const void *b)
{
    const struct disk_segment *x = a;
    const struct disk_segment *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static enum status
list_segments(struct disk *d, struct disk_scan *s, struct disk_error *e)
{
    size_t capacity = 0;
    int fd = openat(d->log_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        disk_error_set(e, "%s/log: %s", d->dir, strerror(errno));
        if (fd >= 0)
            close(fd);
        return ST_IO;
    }
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        uint64_t number;
        if (!disk_segment_parse(entry->d_name, &number))
            continue;
        if (s->segment_count == capacity) {
            capacity = capacity == 0 ? 16 : capacity * 2;
            s->segments = mem_realloc(s->segments, capacity * sizeof *s->segments);
        }
        s->segments[s->segment_count++] = (struct disk_segment){.number = number};
    }
    closedir(dir);
    if (s->segment_count > 0)
        qsort(s->segments, s->segment_count, sizeof *s->segments, compare_segments);
    return ST_OK;
}

/* The whole file; the caller frees. */
static enum status
load_segment(struct disk *d,
             struct disk_segment *segment,
             uint8_t **ret_bytes,
             struct disk_error *e)
{
    char name[DISK_NAME_MAX];
    struct stat stat;
    disk_segment_name(segment->number, name);
    int fd = openat(d->log_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat) != 0) {
        disk_error_set(e, "%s/log/%s: %s", d->dir, name, strerror(errno));
        if (fd >= 0)
            close(fd);
        return ST_IO;
    }
    if (stat.st_size < SEGMENT_HEAD_BYTES || stat.st_size > SEGMENT_BYTES_MAX) {
        close(fd);
        return corrupt(d, e, segment->number, 0, "not the size of a segment");
    }
    size_t size = (size_t)stat.st_size;
    uint8_t *bytes = mem_try_alloc(size);
    if (bytes == NULL) {
        close(fd);
        disk_error_set(e, "%s/log/%s: out of memory", d->dir, name);
        return ST_NOMEM;
    }
    int rv = disk_read_at(fd, bytes, size, 0);
    close(fd);
    if (rv != 0) {
        disk_error_set(e, "%s/log/%s: %s", d->dir, name,
                       rv < 0 ? strerror(errno) : "became shorter");
        mem_free(bytes);
        return ST_IO;
    }
    segment->bytes = size;
    *ret_bytes = bytes;
    return ST_OK;
}

static enum status
check_head(struct disk *d,
           struct disk_segment *segment,
           const uint8_t *bytes,
           struct disk_error *e)
{
    struct segment_head head;
    enum status st = segment_head_get(bytes, &head);
    if (st == ST_VERSION) {
        corrupt(d, e, segment->number, 0, "written by a newer version");
        return st;
    }
    if (st != ST_OK || head.number != segment->number)
        return corrupt(d, e, segment->number, 0, "damaged segment head");
    if (head.cluster != d->cluster || head.node_id != d->node_id) {
        corrupt(d, e, segment->number, 0, "belongs to another node or cluster");
        return ST_DENIED;
    }
    segment->salt = head.salt;
    return ST_OK;
}

/* The record at offset when it is whole. */
static bool
get_record(const struct disk_segment *segment,
           const uint8_t *bytes,
           uint64_t offset,
           struct record_head *h)
{
    if (offset + RECORD_HEAD_BYTES > segment->bytes ||
        !record_head_get(bytes + offset, segment->salt, h))
        return false;
    return offset + RECORD_HEAD_BYTES + h->size <= segment->bytes &&
           crc32c(0, bytes + offset + RECORD_HEAD_BYTES, h->size) == h->crc;
}

static void
add_entry(struct disk_scan *s,
          const struct record_head *h,
          const struct disk_segment *segment,
          uint64_t offset)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity == 0 ? 1024 : s->capacity * 2;
        s->entries = mem_realloc(s->entries, s->capacity * sizeof *s->entries);
    }
    s->entries[s->count++] = (struct disk_scan_entry){
        .place = {.segment = segment->number,
                  .offset = (uint32_t)offset,
                  .size = h->size},
        .term = h->term,
        .type = h->type,
        .is_sync = h->is_sync,
    };
}

/* A whole record of the stream: its entry. NULL, or what is wrong with it. */
static const char *
take_record(struct disk_scan *s,
            const struct record_head *h,
            const struct disk_segment *segment,
            uint64_t offset)
{
    if (s->has_record && h->number != s->number + 1)
        return "record out of sequence";
    if (h->number == 0 || h->index == 0 || h->term == 0 || h->synced >= h->number)
        return "impossible record";
    if (!s->has_record)
        s->first = h->index;
    if (h->index < s->first || h->index > s->first + s->count)
        return "entry out of sequence";
    s->count = h->index - s->first; /* what it replaces */
    if (s->count > 0 && s->entries[s->count - 1].term > h->term)
        return "term out of sequence";
    s->has_record = true;
    s->number = h->number;
    add_entry(s, h, segment, offset);
    return NULL;
}

/* Behind the end of what is whole: does a record there say that next was synced, or
 * does its being there say so? */
static bool
has_witness(struct disk *d,
            const struct disk_scan *s,
            const struct disk_segment *segment,
            const uint8_t *bytes,
            uint64_t offset)
{
    uint64_t next = s->number + 1;
    struct record_head h;
    if (s->marked >= next)
        return true;
    for (; offset + RECORD_HEAD_BYTES <= segment->bytes; offset += 8) {
        if (bytes[offset + 12] == 0 ||
            !record_head_get(bytes + offset, segment->salt, &h))
            continue;
        if (h.synced >= next || (h.type == RECORD_MARK && h.number >= next))
            return true;
        if (!d->boot.is_crashed && h.type != RECORD_MARK && h.number > next &&
            get_record(segment, bytes, offset, &h))
            return true;
    }
    return false;
}

static bool
is_zero(const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static enum status
scan_segment(struct disk *d, struct disk_scan *s, size_t i, struct disk_error *e)
{
    struct disk_segment *segment = &s->segments[i];
    struct record_head h;
    uint8_t *bytes = NULL;
    uint64_t offset = SEGMENT_HEAD_BYTES;
    enum status st = load_segment(d, segment, &bytes, e);
    if (st != ST_OK)
        return st;
    st = check_head(d, segment, bytes, e);
    while (st == ST_OK && get_record(segment, bytes, offset, &h)) {
        if (h.synced > s->marked)
            s->marked = h.synced;
        if (h.type == RECORD_MARK)
            break; /* always at the end; the next record would be over it */
        if (s->is_torn) {
            st = corrupt(d, e, s->segments[s->tail].number, s->tail_offset,
                         "damaged record; there are later ones");
            break;
        }
        const char *wrong = take_record(s, &h, segment, offset);
        if (wrong != NULL) {
            st = corrupt(d, e, segment->number, offset, wrong);
            break;
        }
        offset += record_bytes(h.size);
        s->tail = i;
        s->tail_offset = offset;
    }
    if (st == ST_OK && has_witness(d, s, segment, bytes, offset))
        st = corrupt(d, e, segment->number, offset, "damaged record");
    /* Nothing at all, or something that is no whole record? */
    if (st == ST_OK && offset < segment->bytes &&
        !is_zero(bytes + offset, segment->bytes - offset) &&
        !get_record(segment, bytes, offset, &h) && !s->is_torn) {
        s->is_torn = true;
        s->tail = i;
        s->tail_offset = offset;
    }
    mem_free(bytes);
    return st;
}

enum status
disk_scan_log(struct disk *d, struct disk_scan *s, struct disk_error *e)
{
    memset(s, 0, sizeof *s);
    enum status st = list_segments(d, s, e);
    for (size_t i = 0; st == ST_OK && i < s->segment_count; i++)
        st = scan_segment(d, s, i, e);
    if (st == ST_OK && d->boot.is_clean && s->number < d->boot.number) {
        disk_error_set(e,
                       "%s/log: ends at record %" PRIu64
                       ", but the last stop had synced %" PRIu64,
                       d->dir, s->number, d->boot.number);
        st = ST_CORRUPT;
    }
    if (st != ST_OK)
        disk_scan_fini(s);
    return st;
}
