/* The real disk. Opening, restarts, snapshots, a new directory. */
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

START_TEST(everything_is_there_after_a_kill)
{
    uint64_t last = 0;
    for (int i = 0; i < 500; i++)
        last = diskrig_submit(&g, (size_t)(i * 13 % 3000), i % 9 == 0);
    diskrig_settle(&g);
    uint64_t state = g.state;
    ck_assert_uint_eq(g.applied, last);
    diskrig_close(&g, false);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert(!disk_is_crashed(g.disk));
    ck_assert_uint_eq(g.applied, last + 1); /* and a new term's barrier */
    diskrig_close(&g, false);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_ne(state, 0);
    ck_assert_uint_gt(diskrig_count(&g, "log"), 5); /* it rotated */
}
END_TEST

START_TEST(a_record_larger_than_a_segment_has_its_own)
{
    uint64_t last = diskrig_submit(&g, 300000, false);
    last = diskrig_submit(&g, 10, false);
    last = diskrig_submit(&g, 8u << 20, true);
    diskrig_settle(&g);
    ck_assert_uint_eq(g.applied, last);
    diskrig_close(&g, true);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_eq(g.applied, last + 1);
}
END_TEST

START_TEST(two_processes_cannot_have_it_open)
{
    struct diskrig other = g;
    ck_assert_int_eq(diskrig_open_disk(&other), ST_EXISTS);
    ck_assert_ptr_nonnull(strstr(other.error.text, "in use by process"));
}
END_TEST

START_TEST(init_refuses_what_is_not_empty_and_open_what_is_not_ours)
{
    uint8_t id[16] = "0123456789abcdef";
    struct rlog_members members = {.count = 1};
    struct disk_error e;
    struct disk *d;
    members.members[0] = (struct rlog_member){.id = 1, .is_voter = true};
    snprintf(members.members[0].address, 128, "x:1");
    ck_assert_int_eq(disk_init(g.dir, 1, id, &members, &e), ST_EXISTS);
    ck_assert_int_eq(disk_init(g.dir, 2, id, &members, &e), ST_INVALID);
    diskrig_close(&g, true);
    struct disk_options o = {.dir = g.dir, .node_id = 2, .boot_id = "b"};
    memcpy(o.cluster_id, id, 16);
    ck_assert_int_eq(disk_open(&o, &d, &e), ST_DENIED);
    o.node_id = 1;
    o.cluster_id[0] ^= 1;
    ck_assert_int_eq(disk_open(&o, &d, &e), ST_DENIED);
    o.dir = "/tmp/hf-disk-that-is-not-there";
    ck_assert_int_eq(disk_open(&o, &d, &e), ST_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(e.text, "data init"));
    char empty[] = "/tmp/hf-disk-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(empty));
    o.dir = empty;
    ck_assert_int_eq(disk_open(&o, &d, &e), ST_NOTFOUND);
    ck_assert_int_eq(rmdir(empty), 0);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
}
END_TEST

START_TEST(a_broken_init_can_be_repeated_and_is_not_opened)
{
    diskrig_close(&g, true);
    diskrig_write(&g, "initialising", "", 0);
    ck_assert_int_eq(diskrig_open_disk(&g), ST_NOTFOUND);
    uint8_t id[16] = "0123456789abcdef";
    struct rlog_members members = {.count = 1};
    members.members[0] = (struct rlog_member){.id = 1, .is_voter = true};
    snprintf(members.members[0].address, 128, "node1:7000");
    ck_assert_int_eq(disk_init(g.dir, 1, id, &members, &g.error), ST_OK);
    ck_assert(!diskrig_exists(&g, "initialising"));
}
END_TEST

START_TEST(the_bootstrap_entry_is_the_same_on_every_node)
{
    uint8_t id[16] = "0123456789abcdef";
    struct rlog_members members = {.count = 3};
    uint8_t first[256];
    for (uint64_t i = 0; i < 3; i++) {
        members.members[i] = (struct rlog_member){.id = 3 - i, .is_voter = true};
        snprintf(members.members[i].address, 128, "n%d:1", (int)i);
    }
    for (uint64_t n = 1; n <= 3; n++) {
        char dir[] = "/tmp/hf-disk-XXXXXX";
        ck_assert_ptr_nonnull(mkdtemp(dir));
        ck_assert_int_eq(disk_init(dir, n, id, &members, &g.error), ST_OK);
        struct disk_options o = {.dir = dir, .node_id = n, .boot_id = "b"};
        struct disk *d;
        memcpy(o.cluster_id, id, 16);
        ck_assert_int_eq(disk_open(&o, &d, &g.error), ST_OK);
        struct rlog_entry e;
        ck_assert_uint_eq(disk_rlog(d)->found.count, 1);
        ck_assert_uint_eq(disk_rlog(d)->found.term, 1);
        ck_assert(!disk_is_crashed(d));
        ck_assert_int_eq(disk_rlog(d)->ops->read(d, 1, &e), ST_OK);
        ck_assert_uint_le(e.size, sizeof first);
        if (n == 1)
            memcpy(first, e.blob->data, e.size);
        ck_assert_mem_eq(first, e.blob->data, e.size);
        blob_put(e.blob);
        ck_assert_int_eq(disk_close(d, true), ST_OK);
        diskrig_remove(dir);
    }
}
END_TEST

START_TEST(a_crash_of_the_machine_is_known_until_the_gate_has_opened)
{
    diskrig_close(&g, false);
    snprintf(g.boot_id, sizeof g.boot_id, "boot-2");
    ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
    ck_assert(disk_is_crashed(g.disk));
    diskrig_close(&g, false); /* killed before the gate opened */
    ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
    ck_assert(disk_is_crashed(g.disk));
    diskrig_close(&g, true); /* also a clean stop does not change it */
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert(!disk_is_crashed(g.disk)); /* alone: its own commit opened it */
    diskrig_close(&g, false);
    ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
    ck_assert(!disk_is_crashed(g.disk));
    diskrig_close(&g, true);
    snprintf(g.boot_id, sizeof g.boot_id, "boot-3");
    ck_assert_int_eq(diskrig_open_disk(&g), ST_OK);
    ck_assert(!disk_is_crashed(g.disk)); /* a reboot after a clean stop */
}
END_TEST

START_TEST(a_snapshot_is_stored_trims_and_comes_back)
{
    for (int i = 0; i < 3000; i++) {
        diskrig_submit(&g, 1000, false);
        if (i % 100 == 99)
            diskrig_settle(&g);
    }
    diskrig_settle(&g);
    unsigned before = diskrig_count(&g, "log");
    diskrig_snapshot(&g, 3000000);
    uint64_t index = g.applied;
    for (int i = 0; i < 3000; i++)
        diskrig_submit(&g, 6000, false);
    diskrig_settle(&g);
    diskrig_snapshot(&g, 100);
    diskrig_settle(&g);
    usleep(50000);
    ck_assert_uint_eq(diskrig_count(&g, "snapshots"), 1); /* the older one is gone */
    ck_assert_uint_gt(before, 30);
    struct rlog_status s;
    rlog_get_status(g.r, &s);
    ck_assert_uint_gt(s.first_index, 100);
    index = g.applied;
    uint64_t state = g.state;
    diskrig_submit(&g, 5, false);
    diskrig_settle(&g);
    uint64_t after = g.state;
    ck_assert_uint_ne(after, state);
    diskrig_close(&g, false);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_eq(g.restored, index);
    ck_assert_uint_eq(g.applied, index + 2);
}
END_TEST

Suite *
suite_disk(void)
{
    Suite *s = suite_create("disk");
    TCase *t = tcase_create("directory");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, everything_is_there_after_a_kill);
    tcase_add_test(t, a_record_larger_than_a_segment_has_its_own);
    tcase_add_test(t, two_processes_cannot_have_it_open);
    tcase_add_test(t, init_refuses_what_is_not_empty_and_open_what_is_not_ours);
    tcase_add_test(t, a_broken_init_can_be_repeated_and_is_not_opened);
    tcase_add_test(t, the_bootstrap_entry_is_the_same_on_every_node);
    tcase_add_test(t, a_crash_of_the_machine_is_known_until_the_gate_has_opened);
    tcase_add_test(t, a_snapshot_is_stored_trims_and_comes_back);
    suite_add_tcase(s, t);
    return s;
}
