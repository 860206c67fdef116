/* The real disk without room: the reserve, what waits, what starts, what heals. The
 * room is the test's: fallocate() and writes to the files that it names say ENOSPC. */
#include "tests/unit/raft/diskrig.h"
#include "tests/unit/raft/suites.h"

#include "base/mem.h"
#include "raft/rlog_disk.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESERVE_FILES 4

static struct diskrig g;
static _Atomic bool is_full;
static _Atomic bool is_segment_full; /* also what has been allocated */
static _Atomic bool is_image_full;   /* but for what the reserve gives */
static _Atomic int reserve_files_kept;
static _Atomic int sync_delay_ms;

static bool
is_named(int fd, const char *end)
{
    char link[64];
    char name[256];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, sizeof name - 1);
    ck_assert(n > 0);
    name[n] = 0;
    size_t size = strlen(end);
    return (size_t)n >= size && strcmp(name + n - size, end) == 0;
}

static unsigned
reserve_files(void)
{
    char name[16];
    unsigned count = 0;
    for (int i = 1; i <= RESERVE_FILES; i++) {
        snprintf(name, sizeof name, "reserve-%d", i);
        count += diskrig_exists(&g, name);
    }
    return count;
}

static bool
has_room_for(int fd)
{
    if (is_full && is_named(fd, "boot.tmp"))
        return false;
    if (is_segment_full && is_named(fd, ".seg"))
        return false;
    return !is_image_full || !is_named(fd, "local.tmp") ||
           (int)reserve_files() <= reserve_files_kept;
}

static ssize_t
my_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    if (!has_room_for(fd)) {
        errno = ENOSPC;
        return -1;
    }
    /* Half of a write at a time, so that a write can end in its middle. */
    return pwritev(fd, iov, count > 2 ? count / 2 : count, offset);
}

static int
my_fallocate(int fd, int mode, off_t offset, off_t size)
{
    if (is_full) {
        errno = ENOSPC;
        return -1;
    }
    return fallocate(fd, mode, offset, size);
}

static int
my_fdatasync(int fd)
{
    if (sync_delay_ms > 0 && is_named(fd, ".seg"))
        usleep((useconds_t)sync_delay_ms * 1000);
    return fdatasync(fd);
}

static int
my_fstatvfs(int fd, struct statvfs *ret_stat)
{
    int rv = fstatvfs(fd, ret_stat);
    ret_stat->f_blocks = (fsblkcnt_t)1 << 30;
    if (is_full)
        ret_stat->f_bfree = ret_stat->f_bavail = 0;
    return rv;
}

static const struct disk_sys sys = {.pwritev = my_pwritev,
                                    .fallocate = my_fallocate,
                                    .fdatasync = my_fdatasync,
                                    .fstatvfs = my_fstatvfs};

static struct disk_status
status(void)
{
    struct disk_status s;
    disk_get_status(g.disk, &s);
    return s;
}

static void
wait_until(bool is_disk_full)
{
    for (int i = 0; i < 5000 && status().is_full != is_disk_full; i++)
        diskrig_poll(&g, 2);
    ck_assert(status().is_full == is_disk_full);
}

static void
wait_for_reserve(void)
{
    for (int i = 0;
         i < 5000 && status().reserve_bytes < RESERVE_FILES * g.segment_bytes; i++)
        diskrig_poll(&g, 2);
    ck_assert_uint_eq(reserve_files(), RESERVE_FILES);
}

static void
setup(void)
{
    is_full = is_segment_full = is_image_full = false;
    sync_delay_ms = 0;
    reserve_files_kept = 0;
    diskrig_init(&g);
    g.sys = &sys;
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    wait_for_reserve();
}

static void
teardown(void)
{
    diskrig_fini(&g);
}

/* Submits until something waits; gives the last that is applied. */
static uint64_t
use_up(void)
{
    is_full = true;
    wait_until(true);
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 10; k++)
            diskrig_submit(&g, 2000, false);
        for (int k = 0; k < 10; k++)
            diskrig_poll(&g, 1);
    }
    for (int k = 0; k < 200; k++)
        diskrig_poll(&g, 1);
    ck_assert_int_eq(g.fatal, ST_OK);
    ck_assert_uint_eq(reserve_files(), 0);
    ck_assert_uint_lt(g.applied, diskrig_last(&g));
    return g.applied;
}

START_TEST(a_full_disk_goes_on_from_the_reserve)
{
    ck_assert(!status().is_full);
    is_full = true;
    wait_until(true); /* also when somebody else took the room */
    uint64_t last = 0;
    for (int i = 0; i < 100; i++)
        last = diskrig_submit(&g, 2000, i % 10 == 0); /* three segments */
    diskrig_settle(&g);
    ck_assert_uint_eq(g.applied, last);
    ck_assert_uint_lt(reserve_files(), RESERVE_FILES);
    ck_assert(status().is_full);
    is_full = false;
    wait_for_reserve();
    wait_until(false);
}
END_TEST

START_TEST(what_has_no_room_waits_and_heals_by_itself)
{
    use_up();
    uint64_t last = diskrig_last(&g);
    is_full = false;
    diskrig_settle(&g);
    ck_assert_uint_eq(g.applied, last);
    wait_for_reserve();
    wait_until(false);
    uint64_t state = g.state;
    diskrig_close(&g, true);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_eq(g.applied, last + 1);
    ck_assert_uint_ne(g.state, state);
}
END_TEST

/* A restart cuts the last segment behind what is there, which gives room back; here it
 * is taken at once by somebody else. */
START_TEST(a_start_without_any_room_keeps_all_and_waits)
{
    uint64_t applied = use_up();
    unsigned segments = diskrig_count(&g, "log");
    diskrig_close(&g, false);
    ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
    ck_assert(status().is_full);
    ck_assert_uint_ge(g.disk == NULL ? 0 : disk_rlog(g.disk)->found.count, applied);
    ck_assert_uint_ge(diskrig_count(&g, "log") + 1, segments);
    disk_close(g.disk, false);
    g.disk = NULL;
    is_full = false;
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_gt(g.applied, applied);
    wait_until(false);
}
END_TEST

/* Term and vote need no room; entries do. */
START_TEST(term_and_vote_need_no_room)
{
    uint64_t applied = use_up();
    diskrig_close(&g, false);
    ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
    struct rlog_disk *disk = disk_rlog(g.disk);
    uint64_t term = disk->found.term;
    ck_assert_int_eq(disk->ops->write_term(disk->ctx, term + 1, 1), ST_OK);
    disk_close(g.disk, false);
    g.disk = NULL;
    is_full = false;
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    struct rlog_status s;
    rlog_get_status(g.r, &s);
    ck_assert_uint_gt(s.term, term);
    ck_assert_uint_gt(g.applied, applied);
}
END_TEST

START_TEST(a_start_on_a_full_disk_takes_the_reserve)
{
    uint64_t last = diskrig_submit(&g, 100, true);
    diskrig_settle(&g);
    diskrig_close(&g, false);
    is_full = true;
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_eq(g.applied, last + 1);
    ck_assert_uint_lt(reserve_files(), RESERVE_FILES);
    ck_assert(status().is_full);
}
END_TEST

/* A record larger than its segment, or a file system that cannot allocate. */
START_TEST(a_write_that_stands_in_its_middle_goes_on)
{
    diskrig_submit(&g, 100, false);
    diskrig_settle(&g);
    is_segment_full = true;
    uint64_t last = 0;
    for (int i = 0; i < 20; i++)
        last = diskrig_submit(&g, 3000, i == 7);
    for (int i = 0; i < 200; i++)
        diskrig_poll(&g, 1);
    ck_assert_int_eq(g.fatal, ST_OK);
    ck_assert_uint_lt(g.applied, last);
    is_segment_full = false;
    diskrig_settle(&g);
    ck_assert_uint_eq(g.applied, last);
    uint64_t state = g.state;
    wait_until(false);
    diskrig_close(&g, false);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_eq(g.applied, last + 1);
    diskrig_close(&g, true);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_ne(state, 0);
}
END_TEST

START_TEST(a_clean_stop_in_the_middle_of_a_write_ends)
{
    is_segment_full = true;
    diskrig_submit(&g, 3000, false);
    for (int i = 0; i < 50; i++)
        diskrig_poll(&g, 1);
    rlog_close(g.r);
    g.r = NULL;
    ck_assert_int_eq(disk_close(g.disk, true), ST_IO);
    g.disk = NULL;
}
END_TEST

START_TEST(a_snapshot_takes_room_from_the_reserve)
{
    diskrig_submit(&g, 10, true);
    diskrig_settle(&g);
    is_image_full = true;
    reserve_files_kept = 2;
    diskrig_snapshot(&g, 600000);
    struct rlog_status s;
    rlog_get_status(g.r, &s);
    ck_assert_int_eq(g.fatal, ST_OK);
    ck_assert_uint_eq(s.snapshot_index, g.applied);
    is_image_full = false;
    wait_for_reserve();
}
END_TEST

START_TEST(a_snapshot_without_room_is_given_up_and_the_old_one_stays)
{
    diskrig_submit(&g, 10, true);
    diskrig_settle(&g);
    diskrig_snapshot(&g, 1000);
    uint64_t first = g.applied;
    uint64_t last = diskrig_submit(&g, 10, true);
    diskrig_settle(&g);
    is_image_full = true;
    reserve_files_kept = -1;
    diskrig_snapshot(&g, 600000);
    struct rlog_status s;
    rlog_get_status(g.r, &s);
    ck_assert_int_eq(g.fatal, ST_OK);
    ck_assert_uint_eq(s.snapshot_index, first);
    ck_assert_uint_eq(diskrig_count(&g, "snapshots"), 1);
    is_image_full = false;
    wait_for_reserve(); /* it is made whole again */
    diskrig_snapshot(&g, 600000);
    rlog_get_status(g.r, &s);
    ck_assert_uint_eq(s.snapshot_index, last);
}
END_TEST

START_TEST(boot_is_written_over_when_there_is_no_room_beside_it)
{
    is_full = true;
    diskrig_close(&g, true);
    ck_assert(!diskrig_exists(&g, "boot.tmp"));
    snprintf(g.boot_id, sizeof g.boot_id, "boot-2");
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert(!disk_is_crashed(g.disk)); /* the stop was clean, and that was written */
    diskrig_close(&g, false);
    snprintf(g.boot_id, sizeof g.boot_id, "boot-3");
    ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
    ck_assert(disk_is_crashed(g.disk));
    disk_close(g.disk, false);
    g.disk = NULL;
}
END_TEST

START_TEST(a_sync_of_over_a_second_is_seen_while_it_runs_and_after)
{
    struct rlog_disk *disk = disk_rlog(g.disk);
    struct rlog_disk_health health;
    disk->ops->health(disk->ctx, &health);
    disk->ops->health(disk->ctx, &health);
    ck_assert_uint_lt(health.busy_ms, 1000);
    sync_delay_ms = 1500;
    diskrig_submit(&g, 10, true);
    usleep(1800000);
    disk->ops->health(disk->ctx, &health);
    ck_assert_uint_ge(health.busy_ms, 1500); /* it has ended */
    diskrig_settle(&g);
    disk->ops->health(disk->ctx, &health);
    disk->ops->health(disk->ctx, &health);
    ck_assert_uint_lt(health.busy_ms, 1000);
    diskrig_submit(&g, 10, true);
    uint64_t seen_ms = 0;
    for (int i = 0; i < 2000 && seen_ms < 1000; i++) {
        diskrig_poll(&g, 2);
        disk->ops->health(disk->ctx, &health);
        seen_ms = health.busy_ms;
    }
    ck_assert_uint_ge(seen_ms, 1000);
    ck_assert_uint_lt(seen_ms, 1500); /* it still runs */
    sync_delay_ms = 0;
    diskrig_settle(&g);
}
END_TEST

START_TEST(a_reserve_of_another_size_is_made_anew)
{
    diskrig_close(&g, true);
    diskrig_write(&g, "reserve-2", "short", 5);
    diskrig_write(&g, "reserve-3", "short", 5);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    wait_for_reserve();
    size_t size;
    mem_free(diskrig_read(&g, "reserve-2", &size));
    ck_assert_uint_eq(size, g.segment_bytes);
}
END_TEST

Suite *
suite_disk_full(void)
{
    Suite *s = suite_create("disk_full");
    TCase *t = tcase_create("directory");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_full_disk_goes_on_from_the_reserve);
    tcase_add_test(t, what_has_no_room_waits_and_heals_by_itself);
    tcase_add_test(t, a_start_without_any_room_keeps_all_and_waits);
    tcase_add_test(t, term_and_vote_need_no_room);
    tcase_add_test(t, a_start_on_a_full_disk_takes_the_reserve);
    tcase_add_test(t, a_write_that_stands_in_its_middle_goes_on);
    tcase_add_test(t, a_clean_stop_in_the_middle_of_a_write_ends);
    tcase_add_test(t, a_snapshot_takes_room_from_the_reserve);
    tcase_add_test(t, a_snapshot_without_room_is_given_up_and_the_old_one_stays);
    tcase_add_test(t, boot_is_written_over_when_there_is_no_room_beside_it);
    tcase_add_test(t, a_sync_of_over_a_second_is_seen_while_it_runs_and_after);
    tcase_add_test(t, a_reserve_of_another_size_is_made_anew);
    suite_add_tcase(s, t);
    return s;
}
