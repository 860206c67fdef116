/* The real disk. Writes and syncs that fail. */
#include "tests/unit/raft/diskrig.h"
#include "tests/unit/raft/suites.h"

#include "base/mem.h"
#include "raft/disk_format.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct diskrig g;

static void
setup(void)
{
    diskrig_init(&g);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
}

static void
teardown(void)
{
    diskrig_fini(&g);
}

static _Atomic int fail_writes_after;
static _Atomic int fail_syncs_after;
static _Atomic int fail_errno;
static _Atomic int writes_after_failure;
/* Of the newest write and sync. */
static _Atomic pid_t writer;
static _Atomic pid_t syncer;
static _Atomic unsigned sync_sleep_us;

static ssize_t
failing_pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
    writer = gettid();
    if (fail_writes_after >= 0 && fail_writes_after-- == 0) {
        errno = fail_errno;
        fail_writes_after = 0;
        writes_after_failure++;
        return -1;
    }
    return pwritev(fd, iov, count, offset);
}

static int
failing_fdatasync(int fd)
{
    syncer = gettid();
    usleep(sync_sleep_us);
    if (fail_syncs_after >= 0 && fail_syncs_after-- == 0) {
        errno = fail_errno;
        fail_syncs_after = 0;
        writes_after_failure++;
        return -1;
    }
    return fdatasync(fd);
}

static int
failing_fallocate(int fd, int mode, off_t offset, off_t size)
{
    (void)fd;
    (void)mode;
    (void)offset;
    (void)size;
    errno = EOPNOTSUPP;
    return -1;
}

static const struct disk_sys failing = {.pwritev = failing_pwritev,
                                        .fdatasync = failing_fdatasync,
                                        .fallocate = failing_fallocate};

static void
open_failing(void)
{
    diskrig_close(&g, true);
    fail_writes_after = fail_syncs_after = -1;
    fail_errno = EIO;
    writes_after_failure = 0;
    sync_sleep_us = 0;
    g.sys = &failing;
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
}

START_TEST(a_failed_write_is_the_end_and_is_not_tried_again)
{
    open_failing();
    uint64_t applied = g.applied;
    fail_writes_after = 0;
    for (int i = 0; i < 20; i++)
        diskrig_submit(&g, 100, false);
    diskrig_settle(&g);
    ck_assert_int_eq(g.fatal, ST_IO);
    ck_assert_ptr_nonnull(strstr(g.fatal_text, "writing the log"));
    usleep(20000);
    diskrig_poll(&g, 5);
    ck_assert_int_eq(writes_after_failure, 1);
    ck_assert_uint_eq(g.applied, applied);
    ck_assert_int_eq(rlog_submit(g.r, blob_new(1), false, &applied), ST_NOTLEADER);
}
END_TEST

static void
one_synced_entry(void)
{
    diskrig_submit(&g, 100, true);
    diskrig_settle(&g);
}

/* By the writer, and (the one before took long) by the syncer. */
START_TEST(a_failed_sync_is_the_end_and_is_not_tried_again)
{
    open_failing();
    if (_i == 1) {
        sync_sleep_us = 3000;
        one_synced_entry();
    }
    uint64_t applied = g.applied;
    fail_syncs_after = 0;
    one_synced_entry();
    ck_assert(_i == 0 || syncer != writer);
    ck_assert_int_eq(g.fatal, ST_IO);
    ck_assert_ptr_nonnull(strstr(g.fatal_text, "syncing the log"));
    usleep(20000);
    ck_assert_int_eq(writes_after_failure, 1);
    ck_assert_uint_eq(g.applied, applied);
    rlog_close(g.r);
    g.r = NULL;
    ck_assert_int_eq(disk_close(g.disk, true), ST_IO); /* no clean mark */
    g.disk = NULL;
    g.sys = NULL;
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
}
END_TEST

/* A thread may be stopped for a while, and then a sync has taken long: so one of a few.
 */
START_TEST(lone_synced_entries_are_synced_by_the_writer)
{
    int own = 0;
    open_failing();
    for (int i = 0; i < 50; i++) {
        one_synced_entry();
        own += syncer == writer;
    }
    ck_assert_int_gt(own, 0);
    ck_assert_int_eq(g.fatal, ST_OK);
}
END_TEST

START_TEST(after_a_slow_sync_the_writer_stays_free)
{
    open_failing();
    sync_sleep_us = 3000;
    one_synced_entry();
    for (int i = 0; i < 5; i++) {
        one_synced_entry();
        ck_assert_int_ne(syncer, writer);
    }
}
END_TEST

START_TEST(who_need_only_be_written_does_not_wait_for_a_sync_of_the_writer)
{
    int others = 0;
    open_failing();
    for (int i = 0; i < 50; i++) {
        diskrig_submit(&g, 100, false);
        diskrig_settle(&g);
        one_synced_entry(); /* with the one before it */
        one_synced_entry(); /* alone, but so soon */
        others += syncer != writer;
    }
    ck_assert_int_gt(others, 25);
}
END_TEST

START_TEST(no_room_for_a_snapshot_is_not_the_end)
{
    open_failing();
    diskrig_submit(&g, 10, false);
    diskrig_settle(&g);
    usleep(60000);
    for (int i = 0; i < 60; i++)
        diskrig_poll(&g, 1);
    diskrig_settle(&g);
    fail_errno = ENOSPC;
    fail_writes_after = 0;
    diskrig_snapshot(&g, 600000);
    fail_writes_after = -1;
    ck_assert_int_eq(g.fatal, ST_OK);
    struct rlog_status s;
    rlog_get_status(g.r, &s);
    ck_assert_uint_eq(s.snapshot_index, 0);
    ck_assert_uint_eq(diskrig_count(&g, "snapshots"), 0);
    diskrig_snapshot(&g, 600000);
    rlog_get_status(g.r, &s);
    ck_assert_uint_eq(s.snapshot_index, g.applied);
}
END_TEST

Suite *
suite_disk_failures(void)
{
    Suite *s = suite_create("disk_failures");
    TCase *t = tcase_create("directory");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_failed_write_is_the_end_and_is_not_tried_again);
    tcase_add_loop_test(t, a_failed_sync_is_the_end_and_is_not_tried_again, 0, 2);
    tcase_add_test(t, lone_synced_entries_are_synced_by_the_writer);
    tcase_add_test(t, after_a_slow_sync_the_writer_stays_free);
    tcase_add_test(t, who_need_only_be_written_does_not_wait_for_a_sync_of_the_writer);
    tcase_add_test(t, no_room_for_a_snapshot_is_not_the_end);
    suite_add_tcase(s, t);
    return s;
}
