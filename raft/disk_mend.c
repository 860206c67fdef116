/* Mending the directory of a node that no other can help: see disk_check.h.
 *
 * What is planned is what a start would make of the log if it were so: the scan runs
 * again with the change in mind, on the same code. Everything that will change is put
 * aside first, by link where that will do (a segment is never written again once it is
 * not the last one), so nothing is lost that is there now. */
#include "raft/disk_check.h"

#include "raft/disk_int.h"

#include "base/mem.h"
#include "raft/members.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES (64u << 10)

static enum status
fail(struct disk *d, struct disk_error *e, const char *what)
{
    enum status st = disk_errno_status(errno);
    disk_error_set(e, "%s: mending: %s: %s", d->dir, what, strerror(errno));
    return st;
}

/* --- the plan --- */

/* The newest snapshot that is whole; those above it are given up. */
static void
choose_image(struct disk *d, struct disk_mend *m)
{
    char names[DISK_IMAGES_MAX][DISK_NAME_MAX];
    unsigned count = disk_list_images(d, names);
    memset(&d->rlog.found.snapshot, 0, sizeof d->rlog.found.snapshot);
    for (unsigned i = 0; i < count; i++) {
        struct rlog_snapshot_meta meta;
        uint64_t offset;
        if (disk_verify_image(d, names[i], &meta, &offset) == ST_OK) {
            d->rlog.found.snapshot = meta;
            m->keep_image = meta.index;
            return;
        }
        if (!m->drops_images)
            snprintf(m->why, sizeof m->why, "snapshots/%.47s: damaged at %" PRIu64,
                     names[i], offset);
        m->drops_images = true;
    }
}

/* The highest index and term that any whole record has. */
static void
see_all(struct disk *d, uint64_t *ret_index, uint64_t *ret_term)
{
    struct disk_error e;
    struct disk_scan s = {0};
    if (disk_list_segments(d, &s, &e) != ST_OK)
        return;
    for (size_t i = 0; i < s.segment_count; i++) {
        struct disk_finding f = {.kind = DISK_FILE_SEGMENT};
        uint8_t *bytes = NULL;
        uint64_t last = 0;
        if (disk_load_segment(d, &s.segments[i], &bytes, &e) == ST_OK &&
            disk_check_segment(d, &s.segments[i], bytes, &e) == ST_OK)
            last = disk_walk_segment(d, &s.segments[i], bytes, &f);
        if (f.last_index > *ret_index)
            *ret_index = f.last_index;
        if (last > *ret_index)
            *ret_index = last;
        if (f.term > *ret_term)
            *ret_term = f.term;
        mem_free(bytes);
    }
    disk_scan_fini(&s);
}

/* What a start would find: the last index that is left. */
static enum status
try_scan(struct disk *d, uint64_t *ret_last, bool *ret_discard, struct disk_error *e)
{
    struct disk_scan s = {0};
    memset(e, 0, sizeof *e);
    enum status st = disk_scan_log(d, &s, e);
    if (st == ST_OK)
        st = disk_check_joined(d, &s, ret_discard, e);
    if (st == ST_CORRUPT && e->members.count == 0)
        e->members = s.members;
    *ret_last = d->rlog.found.snapshot.index;
    if (st == ST_OK && s.has_record && !*ret_discard)
        *ret_last = s.first + s.count - 1;
    if (st == ST_OK)
        e->members = s.members.count > 0 ? s.members : d->rlog.found.snapshot.members;
    disk_scan_fini(&s);
    return st;
}

/* Damage below the snapshot: what is left out is not needed. */
static bool
plan_drop(struct disk *d, struct disk_mend *m)
{
    struct disk_error e;
    struct disk_scan s = {0};
    uint64_t last;
    uint64_t seen = 0;
    uint64_t term = 0;
    bool is_discarded;
    see_all(d, &seen, &term);
    if (m->keep_image == 0 || disk_list_segments(d, &s, &e) != ST_OK)
        return false;
    for (size_t i = 1; i < s.segment_count && m->drop_below == 0; i++) {
        d->scan_from = s.segments[i].number;
        if (try_scan(d, &last, &is_discarded, &e) == ST_OK && !is_discarded &&
            last >= seen)
            m->drop_below = d->scan_from;
    }
    d->scan_from = 0;
    disk_scan_fini(&s);
    return m->drop_below != 0;
}

/* Where the scan stopped; false when there is no such place. */
static bool
find_cut(struct disk *d, const struct disk_error *e, struct disk_mend *m)
{
    struct disk_error other;
    struct disk_scan s = {0};
    if (strncmp(e->file, "log/", 4) == 0 &&
        disk_segment_parse(e->file + 4, &m->cut_segment)) {
        m->cut_offset = e->offset < SEGMENT_HEAD_BYTES ? 0 : e->offset;
        return true;
    }
    /* A hole between snapshot and log: the log goes. */
    if (strcmp(e->file, "log") == 0 && m->keep_image != 0 &&
        disk_list_segments(d, &s, &other) == ST_OK && s.segment_count > 0)
        m->cut_segment = s.segments[0].number;
    m->cut_offset = 0;
    disk_scan_fini(&s);
    return m->cut_segment != 0;
}

static void
plan_cut(struct disk *d, const struct disk_error *why, struct disk_mend *m)
{
    struct disk_error e;
    uint64_t last = 0;
    uint64_t seen = 0;
    uint64_t term = 0;
    bool is_discarded;
    see_all(d, &seen, &term);
    /* As it will be then. */
    d->boot = (struct disk_boot){.is_crashed = true};
    m->is_boot = why->file[0] == 0 && try_scan(d, &last, &is_discarded, &e) == ST_OK &&
                 !is_discarded;
    if (m->is_boot) {
        m->is_possible = true;
        m->lost_first = last + 1;
        return;
    }
    if (!find_cut(d, why, m))
        return;
    d->scan_until = m->cut_segment;
    d->scan_offset = m->cut_offset;
    m->is_possible = try_scan(d, &last, &is_discarded, &e) == ST_OK;
    d->scan_until = d->scan_offset = 0;
    if (!m->is_possible)
        snprintf(m->why, sizeof m->why, "%.300s", e.text);
    m->lost_first = last + 1;
    m->lost_last = seen > last ? seen : last + 1;
}

static void
plan_log(struct disk *d, struct disk_mend *m, struct rlog_members *ret_members)
{
    struct disk_error e;
    uint64_t last;
    bool is_discarded;
    enum status st = try_scan(d, &last, &is_discarded, &e);
    *ret_members = e.members;
    m->is_possible = st == ST_OK;
    if (st == ST_OK)
        return;
    snprintf(m->why, sizeof m->why, "%.319s", e.text);
    if (st == ST_CORRUPT && plan_drop(d, m))
        m->is_possible = true;
    else if (st == ST_CORRUPT)
        plan_cut(d, &e, m);
}

/* A term that this node cannot have voted in: only where it alone votes. */
static void
plan_meta(struct disk *d, const struct disk_options *o, struct disk_mend *m)
{
    uint64_t index = 0;
    see_all(d, &index, &m->term);
    if (d->rlog.found.snapshot.term > m->term)
        m->term = d->rlog.found.snapshot.term;
    m->term++;
    m->is_meta = true;
    if (o->node_id == 0 || (d->node_id != 0 && o->node_id != d->node_id) ||
        (d->node_id != 0 && get_u64(o->cluster_id) != d->cluster)) {
        m->is_possible = false;
        snprintf(m->why, sizeof m->why,
                 "both copies of meta are damaged: name the node's configuration with "
                 "--config, so that they can be made anew");
    }
}

static enum status
plan(struct disk *d,
     const struct disk_options *o,
     struct disk_mend *m,
     struct disk_error *e)
{
    struct disk_error meta_error;
    struct rlog_members members = {0};
    enum status st = disk_open_to_look(d, o, &meta_error, e);
    if (st != ST_OK)
        return st;
    choose_image(d, m);
    plan_log(d, m, &members);
    if (meta_error.text[0] != 0)
        plan_meta(d, o, m);
    bool is_lone = members.count == 1;
    if (members.count > 1 && meta_error.text[0] == 0)
        m->by_others = rlog_members_can_spare(&members, d->node_id);
    if (members.count == 0 || (m->is_meta && !is_lone)) {
        m->is_possible = false;
        snprintf(m->why, sizeof m->why, "%s",
                 members.count == 0
                     ? "who the members are cannot be read from log or snapshot"
                     : "both copies of meta are damaged: in which term this node voted "
                       "is not known, and it is not the only voter");
    }
    return ST_OK;
}

enum status
disk_mend_plan(const struct disk_options *options,
               struct disk_mend *ret_mend,
               struct disk_error *ret_error)
{
    memset(ret_mend, 0, sizeof *ret_mend);
    memset(ret_error, 0, sizeof *ret_error);
    struct disk *d = disk_new(options);
    enum status st = plan(d, options, ret_mend, ret_error);
    disk_free(d);
    return st;
}

/* --- doing it --- */

static int
copy_file(int from_fd, const char *name, int to_fd)
{
    uint8_t *buffer = mem_alloc(COPY_BYTES);
    int in = openat(from_fd, name, O_RDONLY | O_CLOEXEC);
    int out = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n = in < 0 || out < 0 ? -1 : 1;
    off_t at = 0;
    while (n > 0) { /* bound: the file */
        n = pread(in, buffer, COPY_BYTES, at);
        if (n > 0 && pwrite(out, buffer, (size_t)n, at) != n)
            n = -1;
        at += n > 0 ? n : 0;
    }
    if (n == 0 && fsync(out) != 0)
        n = -1;
    int error = errno;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    mem_free(buffer);
    errno = error;
    return (int)n;
}

/* All files of a folder, as links but for the one that will be written to. */
static int
keep_folder(struct disk *d, int from_fd, const char *path, const char *written)
{
    int rv = -1;
    int to_fd = -1;
    if (mkdirat(d->dir_fd, path, 0700) == 0)
        to_fd = openat(d->dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = openat(from_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (to_fd >= 0 && dir != NULL)
        rv = 0;
    const struct dirent *entry;
    while (rv == 0 && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (strcmp(entry->d_name, written) == 0 ||
            linkat(from_fd, entry->d_name, to_fd, entry->d_name, 0) != 0)
            rv = copy_file(from_fd, entry->d_name, to_fd);
    }
    if (rv == 0)
        rv = fsync(to_fd);
    int error = errno;
    if (dir != NULL)
        closedir(dir);
    if (to_fd >= 0)
        close(to_fd);
    errno = error;
    return rv;
}

static enum status
keep_all(struct disk *d,
         const struct disk_mend *m,
         char ret_aside[DISK_ASIDE_NAME_BYTES],
         struct disk_error *e)
{
    char written[DISK_NAME_MAX] = "";
    if (m->cut_segment != 0)
        disk_segment_name(m->cut_segment, written);
    enum status st = disk_check_asides(d, false, e);
    if (st == ST_OK)
        st = disk_make_aside(d, m->why, e);
    if (st == ST_OK && (keep_folder(d, d->log_fd, "aside/log", written) != 0 ||
                        keep_folder(d, d->snap_fd, "aside/snapshots", "") != 0))
        st = fail(d, e, "copying");
    return st == ST_OK ? disk_name_aside(d, ret_aside, e) : st;
}

/* The newest first: what is left at any moment is a beginning, and damaged still. */
static int
cut_log(struct disk *d, const struct disk_mend *m)
{
    struct disk_error e;
    struct disk_scan s = {0};
    char name[DISK_NAME_MAX];
    int rv = disk_list_segments(d, &s, &e) == ST_OK ? 0 : -1;
    for (size_t i = s.segment_count; rv == 0 && i-- > 0;) {
        uint64_t number = s.segments[i].number;
        bool is_dropped = number < m->drop_below;
        if (m->cut_segment != 0)
            is_dropped = number > m->cut_segment ||
                         (number == m->cut_segment && m->cut_offset == 0);
        disk_segment_name(number, name);
        if (is_dropped)
            rv = unlinkat(d->log_fd, name, 0) == 0 ? fsync(d->log_fd) : -1;
    }
    disk_scan_fini(&s);
    if (rv != 0 || m->cut_segment == 0 || m->cut_offset == 0)
        return rv;
    disk_segment_name(m->cut_segment, name);
    int fd = openat(d->log_fd, name, O_RDWR | O_CLOEXEC);
    rv = fd < 0 ? -1 : ftruncate(fd, (off_t)m->cut_offset);
    if (rv == 0)
        rv = fsync(fd);
    if (fd >= 0)
        close(fd);
    return rv;
}

static int
drop_images(struct disk *d, const struct disk_mend *m)
{
    char names[DISK_IMAGES_MAX][DISK_NAME_MAX];
    unsigned count = m->drops_images ? disk_list_images(d, names) : 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t index = 0;
        uint64_t term;
        (void)disk_image_parse(names[i], &index, &term);
        if (index > m->keep_image && unlinkat(d->snap_fd, names[i], 0) != 0)
            return -1;
    }
    return fsync(d->snap_fd);
}

static enum status
mend(struct disk *d,
     const struct disk_options *o,
     const struct disk_mend *m,
     char ret_aside[DISK_ASIDE_NAME_BYTES],
     struct disk_error *e)
{
    struct disk_error ignored;
    enum status st = disk_open_directory(d, e);
    if (st == ST_OK)
        st = disk_lock(d, e);
    if (st == ST_OK)
        st = disk_open_folders(d, e);
    if (st == ST_OK && disk_read_meta(d, &ignored) != ST_OK && !m->is_meta) {
        *e = ignored;
        st = ST_CORRUPT;
    }
    if (st == ST_OK)
        st = keep_all(d, m, ret_aside, e);
    if (st != ST_OK)
        return st;
    if (m->is_meta) {
        d->meta = (struct disk_meta){.node_id = o->node_id, .term = m->term};
        memcpy(d->meta.cluster_id, o->cluster_id, DISK_CLUSTER_ID_BYTES);
    }
    /* Gated, and in a new term: what was acknowledged may be gone. */
    d->boot = (struct disk_boot){.is_crashed = true};
    if (disk_write_boot(d) != ST_OK || disk_write_meta(d) != ST_OK ||
        drop_images(d, m) != 0 || cut_log(d, m) != 0)
        return fail(d, e, "writing");
    return ST_OK;
}

enum status
disk_mend_do(const struct disk_options *options,
             const struct disk_mend *to_mend,
             char ret_aside[DISK_ASIDE_NAME_BYTES],
             struct disk_error *ret_error)
{
    memset(ret_error, 0, sizeof *ret_error);
    ret_aside[0] = 0;
    struct disk *d = disk_new(options);
    enum status st = mend(d, options, to_mend, ret_aside, ret_error);
    disk_free(d);
    return st;
}
