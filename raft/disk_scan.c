/* What is in the segments at open. Changes nothing.
 *
 * The records of all segments are one numbered stream. Reading stops at the first bad
 * one. It is a torn tail, to be cut there, when nothing says that it had been synced;
 * else it is damage, and the node refuses. What can say so:
 *
 *   - a record or mark, before or behind it, whose synced number reaches it
 *   - a later segment with records (a segment is synced before the next is begun)
 *   - the clean-stop mark of the boot file
 *   - without a crash of the machine: any whole record behind it, or the last byte of
 *     its own payload (a killed process leaves a beginning of what it wrote)
 *
 * Numbers have no gaps: something bad behind the last record of a segment is nothing
 * when the next segment goes on with the next number.
 *
 * A segment's file is made whole and synced before it gets its name, so a bad segment
 * head is damage; but not that of an empty segment at the end, made ahead.
 *
 * Where there is no other member, a record whose payload is damaged counts all the same
 * when salvage_cb says that only bodies of messages are. */
#include "raft/disk_scan.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/members.h"

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
    disk_error_place(e, "log", name, offset);
    return ST_CORRUPT;
}

/* The same, of a record. */
static enum status
bad_record(struct disk *d,
           struct disk_scan *s,
           struct disk_error *e,
           uint64_t segment,
           uint64_t offset,
           const char *what)
{
    s->has_bad = true;
    s->bad_segment = segment;
    s->bad_offset = offset;
    return corrupt(d, e, segment, offset, what);
}

static int
compare_segments(const void *a, const void *b)
{
    const struct disk_segment *x = a;
    const struct disk_segment *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool
is_passed_over(const struct disk *d, uint64_t number)
{
    if (number < d->scan_from)
        return true;
    return d->scan_until != 0 &&
           (number > d->scan_until || (number == d->scan_until && d->scan_offset == 0));
}

enum status
disk_list_segments(struct disk *d, struct disk_scan *s, struct disk_error *e)
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
        if (!disk_segment_parse(entry->d_name, &number) || is_passed_over(d, number))
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
enum status
disk_load_segment(struct disk *d,
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
    mem_load_step();
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
    if (segment->number == d->scan_until && size > d->scan_offset)
        size = d->scan_offset;
    segment->bytes = size;
    *ret_bytes = bytes;
    return ST_OK;
}

enum status
disk_check_segment(struct disk *d,
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

static bool
get_head(const struct disk_segment *segment,
         const uint8_t *bytes,
         uint64_t offset,
         struct record_head *h)
{
    return offset + RECORD_HEAD_BYTES <= segment->bytes &&
           record_head_get(bytes + offset, segment->salt, h) &&
           offset + RECORD_HEAD_BYTES + h->size <= segment->bytes;
}

bool
disk_get_record(const struct disk *d,
                const struct disk_segment *segment,
                const uint8_t *bytes,
                uint64_t offset,
                struct record_head *h)
{
    if (!get_head(segment, bytes, offset, h))
        return false;
    return crc32c(0, bytes + offset + RECORD_HEAD_BYTES, h->size) == h->crc ||
           disk_is_salvaged(d, segment->number, offset);
}

bool
disk_is_salvaged(const struct disk *d, uint64_t segment, uint64_t offset)
{
    for (uint32_t i = 0; i < d->salvaged_count; i++)
        if (d->salvaged[i].segment == segment && d->salvaged[i].offset == offset)
            return true;
    return false;
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

/* The newest, committed or not: for whoever must know whether others can help. */
static void
note_members(struct disk_scan *s, const uint8_t *payload, uint32_t size)
{
    struct rlog_members members;
    if (rlog_members_decode(slice_of(payload, size), &members) == ST_OK)
        s->members = members;
}

/* A whole record of the stream: its entry. NULL, or what is wrong with it. */
static const char *
take_record(struct disk_scan *s,
            const struct record_head *h,
            const struct disk_segment *segment,
            uint64_t offset,
            const uint8_t *payload)
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
    if (h->type == RLOG_CHANGE)
        note_members(s, payload, h->size);
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
    /* Written to its end, and that by a process that did not lose anything. */
    if (!d->boot.is_crashed && get_head(segment, bytes, offset, &h) && h.size > 0 &&
        h.type != RECORD_MARK && h.number == next &&
        bytes[offset + RECORD_HEAD_BYTES + h.size - 1] != 0)
        return true;
    for (; offset + RECORD_HEAD_BYTES <= segment->bytes; offset += 8) {
        if (bytes[offset + 12] == 0 ||
            !record_head_get(bytes + offset, segment->salt, &h))
            continue;
        if (h.synced >= next || (h.type == RECORD_MARK && h.number >= next))
            return true;
        if (!d->boot.is_crashed && h.type != RECORD_MARK && h.number > next &&
            disk_get_record(d, segment, bytes, offset, &h))
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

/* All records from the first on. False: one is damaged, or does not fit. */
static enum status
scan_records(struct disk *d,
             struct disk_scan *s,
             size_t i,
             const uint8_t *bytes,
             uint64_t *ret_end,
             struct disk_error *e)
{
    struct disk_segment *segment = &s->segments[i];
    struct record_head h;
    uint64_t offset = SEGMENT_HEAD_BYTES;
    while (disk_get_record(d, segment, bytes, offset, &h)) {
        if (h.synced > s->marked)
            s->marked = h.synced;
        if (h.type == RECORD_MARK)
            break; /* always at the end; the next record would be over it */
        if (s->is_torn && h.number != s->number + 1)
            return bad_record(d, s, e, s->segments[s->tail].number, s->tail_offset,
                              "damaged record; there are later ones");
        s->is_torn = false;
        const char *wrong =
            take_record(s, &h, segment, offset, bytes + offset + RECORD_HEAD_BYTES);
        if (wrong != NULL)
            return corrupt(d, e, segment->number, offset, wrong);
        offset += record_bytes(h.size);
        s->tail = i;
        s->tail_offset = offset;
    }
    *ret_end = offset;
    return ST_OK;
}

static enum status
scan_segment(struct disk *d, struct disk_scan *s, size_t i, struct disk_error *e)
{
    struct disk_segment *segment = &s->segments[i];
    struct record_head h;
    uint8_t *bytes = NULL;
    uint64_t end = 0;
    enum status st = disk_load_segment(d, segment, &bytes, e);
    if (st != ST_OK)
        return st;
    st = disk_check_segment(d, segment, bytes, e);
    if (st == ST_CORRUPT && i + 1 == s->segment_count &&
        is_zero(bytes + SEGMENT_HEAD_BYTES, segment->bytes - SEGMENT_HEAD_BYTES)) {
        mem_free(bytes);
        return ST_OK; /* made ahead, and not yet used */
    }
    if (st == ST_OK)
        st = scan_records(d, s, i, bytes, &end, e);
    if (st == ST_OK && has_witness(d, s, segment, bytes, end)) {
        uint64_t number = s->is_torn ? s->segments[s->tail].number : segment->number;
        st = bad_record(d, s, e, number, s->is_torn ? s->tail_offset : end,
                        "damaged record");
    }
    /* Nothing at all, or something that is no whole record? */
    if (st == ST_OK && end < segment->bytes &&
        !is_zero(bytes + end, segment->bytes - end) &&
        !disk_get_record(d, segment, bytes, end, &h) && !s->is_torn) {
        s->is_torn = true;
        s->tail = i;
        s->tail_offset = end;
    }
    mem_free(bytes);
    return st;
}

static void
tell_progress(const struct disk *d, size_t done, const struct disk_scan *s)
{
    if (d->progress_cb != NULL)
        d->progress_cb(d->progress_ctx, done, s->segment_count);
}

static enum status
scan_all(struct disk *d, struct disk_scan *s, struct disk_error *e)
{
    memset(s, 0, sizeof *s);
    enum status st = disk_list_segments(d, s, e);
    tell_progress(d, 0, s);
    for (size_t i = 0; st == ST_OK && i < s->segment_count; i++) {
        st = scan_segment(d, s, i, e);
        tell_progress(d, i + 1, s);
    }
    if (st != ST_OK || !d->boot.is_clean || s->number >= d->boot.number)
        return st;
    if (s->is_torn)
        (void)bad_record(d, s, e, s->segments[s->tail].number, s->tail_offset, "");
    disk_error_set(
        e, "%s/log: ends at record %" PRIu64 ", but the last stop had synced %" PRIu64,
        d->dir, s->number, d->boot.number);
    return ST_CORRUPT;
}

/* As far as was read. */
static const struct rlog_members *
known_members(const struct disk *d, const struct disk_scan *s)
{
    return s->members.count > 0 ? &s->members : &d->rlog.found.snapshot.members;
}

/* Only bodies of messages are damaged in it, and nobody else has them? Then it counts.
 */
static bool
salvage(struct disk *d, const struct disk_scan *s)
{
    struct disk_error e;
    struct disk_segment segment = {.number = s->bad_segment};
    struct record_head h;
    uint8_t *bytes = NULL;
    if (d->salvage_cb == NULL || d->salvaged_count == DISK_SALVAGED_MAX ||
        known_members(d, s)->count != 1 ||
        disk_load_segment(d, &segment, &bytes, &e) != ST_OK)
        return false;
    const uint8_t *payload = bytes + s->bad_offset + RECORD_HEAD_BYTES;
    bool is_good = disk_check_segment(d, &segment, bytes, &e) == ST_OK &&
                   get_head(&segment, bytes, s->bad_offset, &h) &&
                   h.type == RLOG_COMMAND &&
                   d->salvage_cb(slice_of(payload, h.size), h.crc);
    if (is_good)
        d->salvaged[d->salvaged_count++] =
            (struct disk_salvaged){s->bad_segment, s->bad_offset, h.index};
    mem_free(bytes);
    return is_good;
}

enum status
disk_scan_log(struct disk *d, struct disk_scan *s, struct disk_error *e)
{
    enum status st;
    mem_load_begin();
    for (;;) { /* bound: DISK_SALVAGED_MAX */
        st = scan_all(d, s, e);
        if (st != ST_CORRUPT || !s->has_bad || !salvage(d, s))
            break;
        disk_scan_fini(s);
    }
    mem_load_end();
    if (st != ST_OK) {
        e->members = *known_members(d, s);
        disk_scan_fini(s);
    }
    return st;
}
