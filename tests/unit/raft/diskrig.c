#include "tests/unit/raft/diskrig.h"

#include "base/crc32c.h"
#include "base/mem.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t cluster_id[16] = "0123456789abcdef";

static void
bell(void *ctx)
{
    struct diskrig *g = ctx;
    uint64_t one = 1;
    if (write(g->bell_fd, &one, sizeof one) != sizeof one)
        abort();
}

static void
path_of(struct diskrig *g, const char *path, char out[200])
{
    snprintf(out, 200, "%s/%s", g->dir, path);
}

static int
remove_one(const char *path, const struct stat *stat, int flag, struct FTW *walk)
{
    (void)stat;
    (void)flag;
    (void)walk;
    return remove(path);
}

void
diskrig_remove(const char *dir)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
copy_file(const char *from, const char *to)
{
    char buffer[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n;
    ck_assert(in >= 0 && out >= 0);
    while ((n = read(in, buffer, sizeof buffer)) > 0)
        ck_assert_int_eq(write(out, buffer, (size_t)n), n);
    close(in);
    close(out);
}

static void
copy_folder(const char *from, const char *to)
{
    char a[512];
    char b[512];
    struct stat stat_buffer;
    ck_assert_int_eq(mkdir(to, 0700), 0);
    DIR *dir = opendir(from);
    const struct dirent *e;
    ck_assert_ptr_nonnull(dir);
    while ((e = readdir(dir)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(a, sizeof a, "%s/%s", from, e->d_name);
        snprintf(b, sizeof b, "%s/%s", to, e->d_name);
        ck_assert_int_eq(stat(a, &stat_buffer), 0);
        if (S_ISREG(stat_buffer.st_mode))
            copy_file(a, b);
    }
    closedir(dir);
}

void
diskrig_init(struct diskrig *g)
{
    struct rlog_members members = {.count = 1};
    members.members[0].id = 1;
    members.members[0].is_voter = true;
    snprintf(members.members[0].address, 128, "node1:7000");
    memset(g, 0, sizeof *g);
    const char *base = getenv("HF_TEST_DIR");
    snprintf(g->dir, sizeof g->dir, "%s/hf-disk-XXXXXX", base == NULL ? "/tmp" : base);
    ck_assert_ptr_nonnull(mkdtemp(g->dir));
    snprintf(g->boot_id, sizeof g->boot_id, "boot-1");
    g->segment_bytes = 64 << 10;
    g->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_eq(disk_init(g->dir, 1, cluster_id, &members, &g->error), ST_OK);
}

void
diskrig_fini(struct diskrig *g)
{
    diskrig_close(g, false);
    diskrig_remove(g->dir);
    close(g->bell_fd);
}

void
diskrig_copy(struct diskrig *to, struct diskrig *from)
{
    static const char *const folders[] = {"", "/log", "/snapshots"};
    diskrig_remove(to->dir);
    for (int i = 0; i < 3; i++) {
        char a[200];
        char b[200];
        snprintf(a, sizeof a, "%s%s", from->dir, folders[i]);
        snprintf(b, sizeof b, "%s%s", to->dir, folders[i]);
        copy_folder(a, b);
    }
}

void
diskrig_unlink_all(struct diskrig *g, const char *sub)
{
    char name[64];
    char full[200];
    while (diskrig_name(g, sub, 0, name)) {
        path_of(g, name, full);
        ck_assert_int_eq(unlink(full), 0);
    }
}

static void
send_cb(void *ctx, uint64_t peer, const struct rlog_frame *frame)
{
    (void)ctx;
    (void)peer;
    (void)frame;
}

static void
apply_cb(void *ctx, const struct rlog_entry *e)
{
    struct diskrig *g = ctx;
    struct slice p = rlog_payload(e);
    ck_assert_uint_eq(e->index, g->applied + 1);
    ck_assert_uint_eq(crc32c(0, p.data, p.size), e->crc);
    g->applied = e->index;
    g->state = g->state * 31 + e->crc + e->index;
}

static void
role_cb(void *ctx, enum rlog_role role, uint64_t term, uint64_t leader)
{
    struct diskrig *g = ctx;
    (void)term;
    (void)leader;
    g->role = role;
}

static enum status
restore_cb(void *ctx, uint64_t index, uint64_t term)
{
    struct diskrig *g = ctx;
    uint64_t offset = 0;
    (void)term;
    for (;;) {
        struct blob *piece;
        enum status st = rlog_snapshot_read(g->r, offset, 100000, &piece);
        if (st != ST_OK)
            return st;
        if (offset == 0) {
            g->applied = get_u64(piece->data);
            g->state = get_u64(piece->data + 8);
        }
        size_t size = piece->size;
        offset += size;
        blob_put(piece);
        if (size == 0)
            break;
    }
    ck_assert_uint_eq(g->applied, index);
    g->restored = index;
    return ST_OK;
}

static void
fatal_cb(void *ctx, enum status why, const char *what)
{
    struct diskrig *g = ctx;
    g->fatal = why;
    snprintf(g->fatal_text, sizeof g->fatal_text, "%s", what);
}

enum status
diskrig_open_disk(struct diskrig *g)
{
    struct disk_options options = {
        .dir = g->dir,
        .node_id = 1,
        .boot_id = g->boot_id,
        .segment_bytes = g->segment_bytes,
        .bell = bell,
        .bell_ctx = g,
        .sys = g->sys,
        .salvage_cb = g->salvage_cb,
    };
    memcpy(options.cluster_id, cluster_id, 16);
    return disk_open(&options, &g->disk, &g->error);
}

enum status
diskrig_open(struct diskrig *g)
{
    enum status st = diskrig_open_disk(g);
    if (st != ST_OK)
        return st;
    struct rlog_options options = {
        .id = 1,
        .election_ms = 1000,
        .heartbeat_ms = 100,
        .sync_ms = 50,
        .grace_ms = 30000,
        .seed = 7,
        .is_crashed = disk_is_crashed(g->disk),
        .is_rejoining = disk_is_rejoining(g->disk),
    };
    struct rlog_callbacks callbacks = {send_cb,    apply_cb, role_cb,
                                       restore_cb, fatal_cb, g};
    g->applied = g->state = g->restored = 0;
    g->fatal = ST_OK;
    st = rlog_open(&options, disk_rlog(g->disk), &callbacks, ++g->now_ms, &g->r);
    if (st != ST_OK) {
        g->error = *disk_damage(g->disk);
        disk_close(g->disk, false);
        g->disk = NULL;
        return st;
    }
    diskrig_settle(g);
    return ST_OK;
}

void
diskrig_close(struct diskrig *g, bool is_clean)
{
    rlog_close(g->r);
    g->r = NULL;
    enum status st = disk_close(g->disk, is_clean);
    if (is_clean)
        ck_assert_int_eq(st, ST_OK);
    g->disk = NULL;
}

void
diskrig_poll(struct diskrig *g, int wait_ms)
{
    uint64_t count;
    struct pollfd p = {.fd = g->bell_fd, .events = POLLIN};
    poll(&p, 1, wait_ms);
    if (read(g->bell_fd, &count, sizeof count) < 0)
        count = 0;
    g->now_ms++;
    disk_deliver(g->disk, g->r, g->now_ms);
    if (rlog_deadline(g->r) <= g->now_ms)
        rlog_tick(g->r, g->now_ms);
}

void
diskrig_settle(struct diskrig *g)
{
    for (int quiet = 0; quiet < 5 && g->fatal == ST_OK;) {
        struct rlog_status s;
        diskrig_poll(g, 2);
        rlog_get_status(g->r, &s);
        struct disk_status ds;
        disk_get_status(g->disk, &ds);
        bool is_quiet = s.stored_index == s.last_index &&
                        s.applied_index == s.commit_index && ds.waiting_bytes == 0 &&
                        !rlog_snapshot_is_running(g->r);
        quiet = is_quiet ? quiet + 1 : 0;
    }
}

uint64_t
diskrig_submit(struct diskrig *g, size_t size, bool is_sync)
{
    uint64_t index;
    struct blob *b = blob_new(size);
    for (size_t i = 0; i < size; i++)
        b->data[i] = (uint8_t)(i * 7 + size);
    enum status st = rlog_submit(g->r, b, is_sync, &index);
    ck_assert_int_eq(st, ST_OK);
    return index;
}

uint64_t
diskrig_last(struct diskrig *g)
{
    struct rlog_status s;
    rlog_get_status(g->r, &s);
    return s.last_index;
}

void
diskrig_snapshot(struct diskrig *g, size_t size)
{
    uint64_t index;
    ck_assert_int_eq(rlog_snapshot_begin(g->r, &index), ST_OK);
    struct blob *b = blob_new(16);
    put_u64(b->data, g->applied);
    put_u64(b->data + 8, g->state);
    rlog_snapshot_write(g->r, b);
    while (size > 0) {
        size_t n = size < 50000 ? size : 50000;
        b = blob_new(n);
        memset(b->data, (int)(size % 251), n);
        rlog_snapshot_write(g->r, b);
        size -= n;
    }
    rlog_snapshot_finish(g->r);
    for (int i = 0; i < 5000 && rlog_snapshot_is_running(g->r) && g->fatal == ST_OK;
         i++)
        diskrig_poll(g, 2);
}

uint8_t *
diskrig_read(struct diskrig *g, const char *path, size_t *ret_size)
{
    char full[200];
    struct stat stat;
    path_of(g, path, full);
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &stat), 0);
    uint8_t *data = mem_alloc((size_t)stat.st_size);
    ck_assert_int_eq(read(fd, data, (size_t)stat.st_size), stat.st_size);
    close(fd);
    *ret_size = (size_t)stat.st_size;
    return data;
}

void
diskrig_write(struct diskrig *g, const char *path, const void *data, size_t size)
{
    char full[200];
    path_of(g, path, full);
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
    close(fd);
}

bool
diskrig_exists(struct diskrig *g, const char *path)
{
    char full[200];
    path_of(g, path, full);
    return access(full, F_OK) == 0;
}

static int
not_hidden(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

bool
diskrig_name(struct diskrig *g, const char *sub, unsigned n, char out[64])
{
    char full[200];
    struct dirent **names;
    path_of(g, sub, full);
    int count = scandir(full, &names, not_hidden, alphasort);
    bool is_there = false;
    for (int i = 0; i < count; i++) {
        if (i == (int)n) {
            is_there = true;
            snprintf(out, 64, "%s/%.50s", sub, names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
    return is_there;
}

unsigned
diskrig_count(struct diskrig *g, const char *sub)
{
    char name[64];
    unsigned n = 0;
    while (diskrig_name(g, sub, n, name))
        n++;
    return n;
}
