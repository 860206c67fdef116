/* The real disk. A log set aside: whole, and when the process ends at any step of it.
 */
#include "tests/unit/raft/diskrig.h"
#include "tests/unit/raft/suites.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/members.h"
#include "raft/wire.h"
#include "tests/unit/raft/rig.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct diskrig g;
static struct diskrig copy;

static const uint8_t cluster_id[] = "0123456789abcdef";

/* Node 1 of 3, with a few entries of term 2 from node 2 and a snapshot. */
static void
setup(void)
{
    struct rlog_members members;
    diskrig_init(&g);
    diskrig_remove(g.dir);
    rig_members(3, &members);
    ck_assert_int_eq(disk_init(g.dir, 1, cluster_id, &members, &g.error), ST_OK);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
}

static void
teardown(void)
{
    diskrig_fini(&g);
}

static void
append(
    uint64_t term, uint64_t prev, uint64_t prev_term, uint32_t count, uint64_t commit)
{
    struct bytes body = {0};
    struct bytes payload = {0};
    struct rlog_members members;
    struct rlog_entry entries[64] = {0};
    struct raft_append_entries m = {.term = term,
                                    .prev_log_index = prev,
                                    .prev_log_term = prev_term,
                                    .leader_commit = commit};
    rig_members(3, &members);
    rlog_members_encode(&members, &payload);
    for (uint32_t i = 0; i < count; i++) {
        bool is_change = prev + i == 0;
        struct slice p =
            is_change ? slice_of(payload.data, payload.size) : slice_of("data", 4);
        entries[i] = (struct rlog_entry){.term = term,
                                         .type = is_change ? RLOG_CHANGE : RLOG_COMMAND,
                                         .size = (uint32_t)p.size,
                                         .is_sync = is_change,
                                         .crc = crc32c(0, p.data, p.size)};
    }
    rlog_wire_put_append(&body, &m, 1, entries, count);
    for (uint32_t i = 0; i < count; i++)
        bytes_put(&body, prev + i == 0 ? payload.data : (const uint8_t *)"data",
                  entries[i].size);
    struct blob *b = blob_copy(slice_of(body.data, body.size));
    ck_assert_int_eq(rlog_receive(g.r, 2, RLOG_FRAME_APPEND, b, ++g.now_ms), ST_OK);
    blob_put(b);
    bytes_fini(&body);
    bytes_fini(&payload);
}

static struct rlog_status
status(void)
{
    struct rlog_status s;
    rlog_get_status(g.r, &s);
    return s;
}

static enum status
set_aside(struct diskrig *rig, char name[DISK_ASIDE_NAME_BYTES])
{
    struct disk_options options = {.dir = rig->dir, .node_id = 1, .sys = rig->sys};
    memcpy(options.cluster_id, cluster_id, 16);
    return disk_set_aside(&options, "log/1.seg: at 64: damaged record", name,
                          &rig->error);
}

static void
fill(void)
{
    append(2, 1, 1, 20, 21);
    diskrig_settle(&g);
    ck_assert_uint_eq(g.applied, 21);
    diskrig_snapshot(&g, 100000);
    append(2, 21, 2, 5, 26);
    diskrig_settle(&g);
    ck_assert_uint_eq(g.applied, 26);
    diskrig_close(&g, true);
}

/* What it takes to be a log set aside: all files of the old one, byte for byte. */
static void
check_aside(struct diskrig *rig, struct diskrig *old, const char *name)
{
    static const char *const folders[] = {"log", "snapshots"};
    char file[64];
    char path[120];
    for (int i = 0; i < 2; i++) {
        for (unsigned n = 0; diskrig_name(old, folders[i], n, file); n++) {
            size_t size;
            size_t old_size;
            uint8_t *was = diskrig_read(old, file, &old_size);
            snprintf(path, sizeof path, "%.39s/%s", name, file);
            uint8_t *is = diskrig_read(rig, path, &size);
            ck_assert_uint_eq(size, old_size);
            ck_assert_mem_eq(is, was, size);
            mem_free(is);
            mem_free(was);
        }
    }
    size_t size;
    snprintf(path, sizeof path, "%.39s/why", name);
    char *why = (char *)diskrig_read(rig, path, &size);
    ck_assert_ptr_nonnull(memmem(why, size, "damaged record", 14));
    mem_free(why);
    snprintf(path, sizeof path, "%.39s/boot", name);
    ck_assert(diskrig_exists(rig, path));
}

static void
find_aside(struct diskrig *rig, char out[64])
{
    for (unsigned n = 0; diskrig_name(rig, ".", n, out); n++)
        if (strncmp(out, "./aside-", 8) == 0)
            return;
    ck_abort_msg("nothing was set aside");
}

static void
check_blank(struct diskrig *rig)
{
    ck_assert_int_eq(diskrig_open_disk(rig), ST_OK);
    const struct rlog_found *f = &disk_rlog(rig->disk)->found;
    ck_assert(disk_is_rejoining(rig->disk));
    ck_assert(disk_is_crashed(rig->disk));
    ck_assert_uint_eq(f->term, 2);
    ck_assert_uint_eq(f->first_index, 1);
    ck_assert_uint_eq(f->count, 0);
    ck_assert_uint_eq(f->snapshot.index, 0);
}

static void
copy_begin(void)
{
    memset(&copy, 0, sizeof copy);
    diskrig_init(&copy);
    diskrig_copy(&copy, &g);
}

START_TEST(a_log_set_aside_is_whole_and_the_node_is_blank_with_its_term)
{
    char name[DISK_ASIDE_NAME_BYTES];
    fill();
    copy_begin();
    ck_assert_int_eq(set_aside(&g, name), ST_OK);
    ck_assert_int_eq(strncmp(name, "aside-2", 7), 0);
    check_aside(&g, &copy, name);
    check_blank(&g);
    diskrig_fini(&copy);
}
END_TEST

START_TEST(it_stays_so_until_the_gate_opens_and_no_longer)
{
    char name[DISK_ASIDE_NAME_BYTES];
    fill();
    ck_assert_int_eq(set_aside(&g, name), ST_OK);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert(status().is_rejoining);
    ck_assert_uint_eq(status().term, 3);
    append(3, 0, 0, 4, 0);
    diskrig_settle(&g);
    ck_assert_uint_eq(status().stored_index, 4);
    diskrig_close(&g, false); /* killed in the middle of it */
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert(status().is_rejoining);
    uint64_t term = status().term;
    append(term, 4, 3, 4, 8);
    diskrig_settle(&g);
    ck_assert(!status().is_gated);
    diskrig_close(&g, false);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert(!disk_is_rejoining(g.disk) && !disk_is_crashed(g.disk));
    ck_assert(!status().is_gated);
}
END_TEST

START_TEST(it_is_remembered_when_a_copy_of_meta_or_the_boot_file_is_damaged)
{
    static const char *const files[] = {"meta-1", "meta-2", "boot"};
    char name[DISK_ASIDE_NAME_BYTES];
    fill();
    ck_assert_int_eq(set_aside(&g, name), ST_OK);
    for (int i = 0; i < 3; i++) {
        copy_begin();
        diskrig_write(&copy, files[i], "x", 1);
        check_blank(&copy);
        diskrig_fini(&copy);
    }
}
END_TEST

/* ---- the end of the process at any step ---- */

static int calls_left;
static bool is_after; /* the call that ends it is done, or not */

static void
count_call(bool is_done)
{
    if (is_done == is_after && calls_left-- == 0)
        _exit(7);
}

static int
ending_fsync(int fd)
{
    count_call(false);
    int rv = fsync(fd);
    count_call(true);
    return rv;
}

static int
ending_fdatasync(int fd)
{
    count_call(false);
    int rv = fdatasync(fd);
    count_call(true);
    return rv;
}

static int
ending_mkdirat(int fd, const char *name, mode_t mode)
{
    count_call(false);
    int rv = mkdirat(fd, name, mode);
    int error = errno;
    count_call(true);
    errno = error;
    return rv;
}

static int
ending_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    count_call(false);
    int rv = renameat(from_fd, from, to_fd, to);
    int error = errno;
    count_call(true);
    errno = error;
    return rv;
}

static ssize_t
ending_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    count_call(false);
    ssize_t n = pwritev(fd, iov, count, offset);
    count_call(true);
    return n;
}

static const struct disk_sys ending = {.pwritev = ending_pwritev,
                                       .fdatasync = ending_fdatasync,
                                       .fsync = ending_fsync,
                                       .mkdirat = ending_mkdirat,
                                       .renameat = ending_renameat};

/* False: it came to its end. */
static bool
ends_at(int call, bool after, bool is_open)
{
    int state;
    fflush(stdout);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        char name[DISK_ASIDE_NAME_BYTES];
        calls_left = call;
        is_after = after;
        copy.sys = &ending;
        if (is_open)
            _exit(diskrig_open_disk(&copy) == ST_OK ? 0 : 1);
        _exit(set_aside(&copy, name) == ST_OK ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &state, 0), pid);
    ck_assert(WIFEXITED(state));
    ck_assert(WEXITSTATUS(state) == 0 || WEXITSTATUS(state) == 7);
    return WEXITSTATUS(state) == 7;
}

/* Ended at the call, then (second >= 0) once more in the start that finishes it. */
static bool
survives(int call, bool after, int second)
{
    char name[64];
    copy_begin();
    bool has_ended = ends_at(call, after, false);
    if (second >= 0)
        ends_at(second, after, true);
    copy.sys = NULL;
    enum status st = diskrig_open_disk(&copy);
    ck_assert_int_eq(st, ST_OK);
    bool is_begun = disk_is_rejoining(copy.disk);
    if (!is_begun) {
        /* Not begun: nothing has changed, and it can be begun again. */
        ck_assert(has_ended);
        ck_assert_uint_eq(disk_rlog(copy.disk)->found.snapshot.index, 21);
        diskrig_close(&copy, false);
        ck_assert_int_eq(set_aside(&copy, name), ST_OK);
    } else {
        diskrig_close(&copy, false);
    }
    check_blank(&copy);
    find_aside(&copy, name);
    if (is_begun) /* else the start has tidied up the segments */
        check_aside(&copy, &g, name);
    ck_assert(!diskrig_exists(&copy, "aside"));
    diskrig_fini(&copy);
    return has_ended;
}

START_TEST(the_end_of_the_process_at_any_call_is_made_good_by_the_next_start)
{
    int calls = 0;
    fill();
    while (survives(calls, _i == 1, -1))
        calls++;
    ck_assert_int_gt(calls, 20);
}
END_TEST

START_TEST(and_so_is_another_one_in_that_start)
{
    int calls = 0;
    fill();
    while (survives(calls, true, calls % 5))
        calls++;
}
END_TEST

/* ---- bounds ---- */

static void
make_asides(struct diskrig *rig, int count, const char *format)
{
    char path[200];
    for (int i = 0; i < count; i++) {
        size_t size = (size_t)snprintf(path, sizeof path, "%s/", rig->dir);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(path + size, sizeof path - size, format, i + 1);
#pragma GCC diagnostic pop
        ck_assert_int_eq(mkdir(path, 0700), 0);
    }
}

START_TEST(as_many_as_may_be_kept_are_named_and_no_more_is_made)
{
    char name[DISK_ASIDE_NAME_BYTES];
    fill();
    make_asides(&g, DISK_ASIDES_MAX, "aside-2001010%dT000000Z");
    ck_assert_int_eq(set_aside(&g, name), ST_RANGE);
    ck_assert_ptr_nonnull(strstr(g.error.text, "aside-20010101T000000Z"));
    ck_assert_ptr_nonnull(strstr(g.error.text, "aside-20010108T000000Z"));
    ck_assert(!diskrig_exists(&g, "aside"));
    ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
    ck_assert(!disk_is_rejoining(g.disk));
}
END_TEST

START_TEST(within_an_hour_only_so_many_are_made)
{
    char name[DISK_ASIDE_NAME_BYTES];
    fill();
    make_asides(&g, 4, "aside-2001010%dT000000Z");
    for (int i = 0; i < DISK_ASIDES_PER_HOUR; i++) {
        ck_assert_int_eq(set_aside(&g, name), ST_OK);
        check_blank(&g);
        diskrig_close(&g, false);
    }
    ck_assert_int_eq(set_aside(&g, name), ST_AGAIN);
    ck_assert_ptr_nonnull(strstr(g.error.text, "within an hour"));
}
END_TEST

START_TEST(a_directory_in_use_or_of_another_node_is_not_touched)
{
    char name[DISK_ASIDE_NAME_BYTES];
    struct disk_options options = {.dir = g.dir, .node_id = 2};
    memcpy(options.cluster_id, cluster_id, 16);
    ck_assert_int_eq(set_aside(&g, name), ST_EXISTS);
    diskrig_close(&g, true);
    ck_assert_int_eq(disk_set_aside(&options, "why", name, &g.error), ST_DENIED);
    ck_assert(!diskrig_exists(&g, "aside"));
    diskrig_write(&g, "meta-1", "x", 1);
    diskrig_write(&g, "meta-2", "y", 1);
    ck_assert_int_eq(set_aside(&g, name), ST_CORRUPT);
    ck_assert(g.error.is_final);
    ck_assert(!diskrig_exists(&g, "aside"));
}
END_TEST

Suite *
suite_disk_aside(void)
{
    Suite *s = suite_create("disk_aside");
    TCase *t = tcase_create("aside");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_log_set_aside_is_whole_and_the_node_is_blank_with_its_term);
    tcase_add_test(t, it_stays_so_until_the_gate_opens_and_no_longer);
    tcase_add_test(t, it_is_remembered_when_a_copy_of_meta_or_the_boot_file_is_damaged);
    tcase_add_loop_test(
        t, the_end_of_the_process_at_any_call_is_made_good_by_the_next_start, 0, 2);
    tcase_add_test(t, and_so_is_another_one_in_that_start);
    tcase_add_test(t, as_many_as_may_be_kept_are_named_and_no_more_is_made);
    tcase_add_test(t, within_an_hour_only_so_many_are_made);
    tcase_add_test(t, a_directory_in_use_or_of_another_node_is_not_touched);
    suite_add_tcase(s, t);
    return s;
}
