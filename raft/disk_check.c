/* Examining a data directory: see disk_check.h. The verdict is that of the scan that a
 * start does, on the same code; then each file is looked at by itself, also behind the
 * first damage. */
#include "raft/disk_check.h"

#include "raft/disk_int.h"

#include "base/crc32c.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct check {
    struct disk *d;
    void (*found_cb)(void *ctx, const struct disk_finding *finding);
    void *ctx;
    struct disk_verdict *v;
};

static struct disk_finding
finding_of(enum disk_file_kind kind, const char *folder, const char *name)
{
    struct disk_finding f = {.kind = kind};
    snprintf(f.file, sizeof f.file, "%s%s%s", folder, folder[0] != 0 ? "/" : "", name);
    return f;
}

static void
tell(struct check *c, const struct disk_finding *f)
{
    c->v->damaged_files += f->is_damaged;
    c->found_cb(c->ctx, f);
}

static enum status
lock_shared(struct disk *d, struct disk_error *e)
{
    d->lock_fd = openat(d->dir_fd, "lock", O_RDONLY | O_CLOEXEC);
    if (d->lock_fd < 0)
        return ST_OK; /* nobody ever had it open */
    if (flock(d->lock_fd, LOCK_SH | LOCK_NB) == 0)
        return ST_OK;
    disk_error_set(e, "%s: in use by a running node", d->dir);
    return ST_EXISTS;
}

/* --- the small files --- */

static enum status
read_small(struct disk *d, const char *name, uint8_t *bytes, size_t size)
{
    int fd = openat(d->dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? ST_NOTFOUND : ST_IO;
    int rv = disk_read_at(fd, bytes, size, 0);
    close(fd);
    return rv == 0 ? ST_OK : rv < 0 ? ST_IO : ST_CORRUPT;
}

static void
say_bad(struct disk_finding *f, enum status st)
{
    f->is_damaged = true;
    snprintf(f->what, sizeof f->what, "%s",
             st == ST_NOTFOUND  ? "missing"
             : st == ST_VERSION ? "written by a newer version"
             : st == ST_IO      ? strerror(errno)
                                : "damaged: the checksum is not that of the bytes");
}

static void
check_meta(struct check *c)
{
    static const char *const names[2] = {"meta-1", "meta-2"};
    for (int i = 0; i < 2; i++) {
        uint8_t bytes[META_BYTES];
        struct disk_meta m;
        struct disk_finding f = finding_of(DISK_FILE_META, "", names[i]);
        enum status st = read_small(c->d, names[i], bytes, sizeof bytes);
        if (st == ST_OK)
            st = disk_meta_get(bytes, &m);
        if (st == ST_OK) {
            f.term = m.term;
            f.size_bytes = sizeof bytes;
            snprintf(f.what, sizeof f.what,
                     "node %" PRIu64 ", term %" PRIu64 ", vote %" PRIu64
                     ", sequence %" PRIu64 "%s",
                     m.node_id, m.term, m.vote, m.sequence,
                     m.rejoin == DISK_REJOIN_NONE      ? ""
                     : m.rejoin == DISK_REJOIN_JOINING ? ", to join"
                                                       : ", rejoining");
        } else {
            say_bad(&f, st);
        }
        tell(c, &f);
    }
}

static void
check_boot(struct check *c)
{
    uint8_t bytes[BOOT_BYTES];
    struct disk_boot b;
    struct disk_finding f = finding_of(DISK_FILE_BOOT, "", "boot");
    enum status st = read_small(c->d, "boot", bytes, sizeof bytes);
    if (st == ST_OK)
        st = disk_boot_get(bytes, &b);
    if (st == ST_OK)
        snprintf(f.what, sizeof f.what, "%s%s",
                 b.is_clean ? "clean stop" : "running, or killed",
                 b.is_crashed ? ", restart gate not opened since" : "");
    else
        say_bad(&f, st);
    tell(c, &f);
}

/* --- segments --- */

/* Whole records behind a place where there is none. */
static uint64_t
count_later(const struct disk *d,
            const struct disk_segment *segment,
            const uint8_t *bytes,
            uint64_t offset,
            uint64_t *ret_last_index)
{
    uint64_t count = 0;
    struct record_head h;
    for (; offset + RECORD_HEAD_BYTES <= segment->bytes; offset += 8) {
        if (bytes[offset + 12] == 0 ||
            !disk_get_record(d, segment, bytes, offset, &h) || h.type == RECORD_MARK)
            continue;
        count++;
        if (h.index > *ret_last_index)
            *ret_last_index = h.index;
        offset += record_bytes(h.size) - 8;
    }
    return count;
}

static bool
is_blank(const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

uint64_t
disk_walk_segment(const struct disk *d,
                  const struct disk_segment *segment,
                  const uint8_t *bytes,
                  struct disk_finding *f)
{
    uint64_t offset = SEGMENT_HEAD_BYTES;
    uint64_t last = 0;
    struct record_head h = {0};
    while (disk_get_record(d, segment, bytes, offset, &h) && h.type != RECORD_MARK) {
        if (f->records++ == 0)
            f->first_index = h.index;
        f->last_index = h.index;
        f->term = h.term;
        offset += record_bytes(h.size);
    }
    bool is_marked = disk_get_record(d, segment, bytes, offset, &h);
    uint64_t rest = offset + (is_marked ? RECORD_HEAD_BYTES : 0);
    uint64_t later = count_later(d, segment, bytes, rest, &last);
    if (f->records > 0)
        snprintf(f->what, sizeof f->what,
                 "%" PRIu64 " records, entries %" PRIu64 " to %" PRIu64, f->records,
                 f->first_index, f->last_index);
    else
        snprintf(f->what, sizeof f->what, "no records");
    f->has_offset = later > 0 || !is_blank(bytes + rest, segment->bytes - rest);
    f->offset = offset;
    size_t size = strlen(f->what);
    if (later > 0) {
        f->is_damaged = true;
        snprintf(f->what + size, sizeof f->what - size,
                 "; damage at %" PRIu64 ", %" PRIu64 " whole records behind it", offset,
                 later);
    } else if (f->has_offset) {
        snprintf(f->what + size, sizeof f->what - size,
                 "; from %" PRIu64 " on something that is no record", offset);
    }
    return last;
}

/* The verdict names one place; it is damage there whatever the file by itself says. */
static void
apply_verdict(const struct check *c, struct disk_finding *f)
{
    if (c->v->why != ST_OK && strcmp(c->v->error.file, f->file) == 0) {
        const char *what = strstr(c->v->error.text, ": at ");
        f->is_damaged = f->has_offset = true;
        f->offset = c->v->error.offset;
        size_t size = strlen(f->what);
        snprintf(f->what + size, sizeof f->what - size, "%s%.80s", size > 0 ? "; " : "",
                 what != NULL ? what + 2 : c->v->error.text);
    }
    for (uint32_t i = 0; i < c->d->salvaged_count; i++) {
        char name[DISK_NAME_MAX];
        disk_segment_name(c->d->salvaged[i].segment, name);
        if (strcmp(f->file + 4, name) != 0)
            continue;
        f->is_damaged = f->has_offset = true;
        f->offset = c->d->salvaged[i].offset;
        size_t size = strlen(f->what);
        snprintf(f->what + size, sizeof f->what - size,
                 "; at %" PRIu64 ": damaged body of a message", f->offset);
    }
}

static enum status
check_segments(struct check *c, struct disk_error *e)
{
    struct disk_scan s = {0};
    enum status st = disk_list_segments(c->d, &s, e);
    for (size_t i = 0; st == ST_OK && i < s.segment_count; i++) {
        char name[DISK_NAME_MAX];
        struct disk_error why;
        uint8_t *bytes = NULL;
        disk_segment_name(s.segments[i].number, name);
        struct disk_finding f = finding_of(DISK_FILE_SEGMENT, "log", name);
        st = disk_load_segment(c->d, &s.segments[i], &bytes, &why);
        if (st == ST_OK)
            st = disk_check_segment(c->d, &s.segments[i], bytes, &why);
        f.size_bytes = s.segments[i].bytes;
        if (st == ST_OK)
            (void)disk_walk_segment(c->d, &s.segments[i], bytes, &f);
        if (c->v->why == ST_OK)
            f.is_damaged = false; /* what a start cuts off was not acknowledged */
        else if (bytes != NULL && is_blank(bytes + SEGMENT_HEAD_BYTES,
                                           s.segments[i].bytes - SEGMENT_HEAD_BYTES))
            snprintf(f.what, sizeof f.what, "no records; damaged head");
        if (st != ST_OK)
            f.is_damaged = true;
        if (st != ST_OK && f.what[0] == 0)
            snprintf(f.what, sizeof f.what, "%.190s", why.text);
        apply_verdict(c, &f);
        tell(c, &f);
        mem_free(bytes);
        st = st == ST_NOMEM ? st : ST_OK;
    }
    disk_scan_fini(&s);
    return st;
}

/* --- snapshots --- */

static enum status
check_image(struct check *c, const char *name, uint64_t newest)
{
    struct rlog_snapshot_meta meta;
    struct disk_finding f = finding_of(DISK_FILE_SNAPSHOT, "snapshots", name);
    uint64_t term;
    (void)disk_image_parse(name, &f.last_index, &term);
    enum status st = disk_verify_image(c->d, name, &meta, &f.offset);
    f.term = term;
    if (st == ST_OK) {
        f.size_bytes = meta.size_bytes;
        snprintf(f.what, sizeof f.what,
                 "up to entry %" PRIu64 ", term %" PRIu64 ", %" PRIu64 " bytes%s",
                 meta.index, meta.term, meta.size_bytes,
                 meta.index != newest ? "; an older one, to be removed" : "");
    } else {
        f.is_damaged = f.has_offset = true;
        snprintf(f.what, sizeof f.what, "damaged at %" PRIu64 ": %s", f.offset,
                 f.offset == 0 ? "its head, or not its size" : "a chunk");
    }
    tell(c, &f);
    return st;
}

static void
check_images(struct check *c)
{
    char names[DISK_IMAGES_MAX][DISK_NAME_MAX];
    unsigned count = disk_list_images(c->d, names);
    for (unsigned i = 0; i < count; i++) {
        uint64_t index = 0;
        uint64_t term;
        (void)disk_image_parse(names[0], &index, &term);
        enum status st = check_image(c, names[i], index);
        /* A start reads the newest one's chunks only when it restores it. */
        if (i == 0 && st != ST_OK && c->v->why == ST_OK) {
            c->v->why = st;
            disk_error_set(&c->v->error, "%s/snapshots/%s: damaged chunk", c->d->dir,
                           names[i]);
            disk_error_place(&c->v->error, "snapshots", names[i], 0);
        }
        if (st == ST_OK && c->v->snapshot_index == 0)
            (void)disk_image_parse(names[i], &c->v->snapshot_index, &term);
    }
}

static void
check_asides(struct check *c)
{
    int fd = openat(c->d->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int64_t at;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (!disk_aside_parse(entry->d_name, &at))
            continue;
        struct disk_finding f = finding_of(DISK_FILE_ASIDE, "", "");
        snprintf(f.file, sizeof f.file, "%.60s", entry->d_name);
        snprintf(f.what, sizeof f.what, "set aside; not needed by the node");
        tell(c, &f);
    }
    if (dir != NULL)
        closedir(dir);
}

/* --- the verdict --- */

/* Without meta: what the first good segment says. */
static void
guess_owner(struct disk *d)
{
    struct disk_error e;
    struct disk_scan s = {0};
    if (disk_list_segments(d, &s, &e) == ST_OK)
        for (size_t i = 0; i < s.segment_count && d->node_id == 0; i++) {
            struct segment_head head;
            uint8_t *bytes = NULL;
            if (disk_load_segment(d, &s.segments[i], &bytes, &e) == ST_OK &&
                segment_head_get(bytes, &head) == ST_OK) {
                d->node_id = head.node_id;
                d->cluster = head.cluster;
            }
            mem_free(bytes);
        }
    disk_scan_fini(&s);
    d->meta.term = DISK_TERM_UNKNOWN;
}

enum status
disk_open_to_look(struct disk *d,
                  const struct disk_options *o,
                  struct disk_error *ret_meta_error,
                  struct disk_error *e)
{
    enum status st = disk_open_directory(d, e);
    if (st == ST_OK)
        st = lock_shared(d, e);
    if (st != ST_OK)
        return st;
    memset(ret_meta_error, 0, sizeof *ret_meta_error);
    enum status meta = disk_read_meta(d, ret_meta_error);
    if (meta == ST_OK) {
        d->node_id = d->meta.node_id;
        d->cluster = get_u64(d->meta.cluster_id);
    } else if (meta != ST_CORRUPT) {
        *e = *ret_meta_error;
        return meta;
    }
    st = disk_open_folders(d, e);
    if (st == ST_OK && meta != ST_OK)
        guess_owner(d);
    return st == ST_OK ? disk_read_boot(d, o->boot_id, e) : st;
}

static void
fill_verdict(struct check *c, const struct disk_scan *s)
{
    struct disk *d = c->d;
    struct disk_verdict *v = c->v;
    v->node_id = d->node_id;
    v->term = d->meta.term == DISK_TERM_UNKNOWN ? 0 : d->meta.term;
    v->vote = d->meta.vote;
    v->is_crashed = d->boot.is_crashed;
    v->is_rejoining = d->meta.rejoin != DISK_REJOIN_NONE;
    v->damaged_bodies = d->salvaged_count;
    v->members = v->why == ST_OK && s->members.count > 0 ? s->members
                 : v->error.members.count > 0            ? v->error.members
                                              : d->rlog.found.snapshot.members;
    if (v->why != ST_OK || !s->has_record)
        return;
    v->is_torn = s->is_torn;
    v->first_index = s->first;
    v->last_index = s->first + s->count - 1;
}

static enum status
look(struct check *c, const struct disk_options *o)
{
    struct disk_verdict *v = c->v;
    struct disk_error meta_error;
    struct disk_scan s = {0};
    bool is_discarded;
    enum status st = disk_open_to_look(c->d, o, &meta_error, &v->error);
    if (st != ST_OK)
        return st;
    v->why = disk_find_images(c->d, &v->error);
    if (v->why == ST_OK)
        v->why = disk_scan_log(c->d, &s, &v->error);
    if (v->why == ST_OK)
        v->why = disk_check_joined(c->d, &s, &is_discarded, &v->error);
    if (meta_error.text[0] != 0) {
        v->why = ST_CORRUPT;
        v->error = meta_error;
    }
    fill_verdict(c, &s);
    disk_scan_fini(&s);
    if (v->why != ST_OK && v->why != ST_CORRUPT && v->why != ST_VERSION &&
        v->why != ST_DENIED)
        return v->why;
    check_meta(c);
    check_boot(c);
    st = check_segments(c, &v->error);
    check_images(c);
    check_asides(c);
    return st;
}

enum status
disk_check(const struct disk_options *options,
           void (*found_cb)(void *ctx, const struct disk_finding *finding),
           void *ctx,
           struct disk_verdict *ret_verdict)
{
    memset(ret_verdict, 0, sizeof *ret_verdict);
    struct disk *d = disk_new(options);
    struct check c = {d, found_cb, ctx, ret_verdict};
    enum status st = look(&c, options);
    disk_free(d);
    return st;
}
