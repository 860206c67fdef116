/* The real disk. Torn tails, flipped bits, missing files. */
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
static struct diskrig copy;

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

/* The directory as it is now under another name, with settings of g. */
static void
copy_begin(void)
{
    memset(&copy, 0, sizeof copy);
    diskrig_init(&copy);
    diskrig_copy(&copy, &g);
}

/* Three records, unsynced, in the segment of this start; returns where it ends. */
static size_t
three_records(char name[64])
{
    diskrig_submit(&g, 100, false);
    diskrig_settle(&g);
    usleep(1000);
    unsigned n = diskrig_count(&g, "log");
    ck_assert(diskrig_name(&g, "log", n - 2, name)); /* the last but the spare one */
    size_t size;
    uint8_t *data = diskrig_read(&g, name, &size);
    while (size > 0 && data[size - 1] == 0)
        size--;
    mem_free(data);
    return (size + 7) & ~(size_t)7;
}

START_TEST(a_tail_torn_at_any_byte_is_cut)
{
    char name[64];
    size_t end = three_records(name);
    size_t size;
    uint8_t *data = diskrig_read(&g, name, &size);
    size_t last_record = end - record_bytes(100);
    uint64_t last = diskrig_last(&g);
    /* What follows the last synced record may be anything after a crash. */
    for (size_t cut = last_record; cut <= end; cut++) {
        copy_begin();
        diskrig_write(&copy, name, data, cut);
        ck_assert_int_eq(diskrig_open_disk(&copy), ST_OK);
        uint64_t count = disk_rlog(copy.disk)->found.count;
        ck_assert_uint_ge(count, last - 1);
        ck_assert_uint_eq(count, cut >= end - 4 ? last : last - 1);
        diskrig_fini(&copy);
    }
    mem_free(data);
}
END_TEST

START_TEST(after_a_crash_anything_behind_the_last_sync_is_cut)
{
    char name[64];
    diskrig_submit(&g, 100, true);
    diskrig_settle(&g);
    uint64_t synced = diskrig_last(&g);
    for (int i = 0; i < 5; i++)
        diskrig_submit(&g, 100, false);
    for (int i = 0; i < 3; i++)
        diskrig_poll(&g, 1);
    size_t end = three_records(name);
    size_t size;
    uint8_t *data = diskrig_read(&g, name, &size);
    /* The second of them is gone, the later ones came through. */
    size_t hole = end - 5 * record_bytes(100);
    memset(data + hole, 0, record_bytes(100));
    /* Marks of the background sync would be damage: make it as if none was made. */
    copy_begin();
    diskrig_write(&copy, name, data, size);
    snprintf(copy.boot_id, sizeof copy.boot_id, "boot-2");
    enum status st = diskrig_open_disk(&copy);
    if (st == ST_OK) {
        ck_assert(disk_is_crashed(copy.disk));
        ck_assert_uint_ge(disk_rlog(copy.disk)->found.count, synced);
    } else {
        ck_assert_int_eq(st, ST_CORRUPT);
    }
    diskrig_fini(&copy);
    /* Without a crash the same is damage. */
    copy_begin();
    diskrig_write(&copy, name, data, size);
    ck_assert_int_eq(diskrig_open_disk(&copy), ST_CORRUPT);
    diskrig_fini(&copy);
    mem_free(data);
}
END_TEST

START_TEST(a_flipped_bit_in_a_synced_record_is_damage_and_nothing_changes)
{
    char name[64];
    for (int i = 0; i < 6; i++)
        diskrig_submit(&g, 40, true);
    diskrig_settle(&g);
    usleep(20000); /* the mark behind the last one */
    diskrig_close(&g, false);
    for (unsigned n = 0; diskrig_name(&g, "log", n, name); n++) {
        size_t size;
        uint8_t *data = diskrig_read(&g, name, &size);
        size_t end = size;
        while (end > 0 && data[end - 1] == 0)
            end--;
        if (end > SEGMENT_HEAD_BYTES)
            end -= 48 < end - SEGMENT_HEAD_BYTES ? 48 : 0; /* not the mark itself */
        for (size_t at = 0; at < end; at += 3) {
            copy_begin();
            data[at] ^= 0x10;
            diskrig_write(&copy, name, data, size);
            snprintf(copy.boot_id, sizeof copy.boot_id,
                     at % 2 == 0 ? "boot-1" : "boot-2");
            enum status st = diskrig_open_disk(&copy);
            /* Padding and unused bytes of a segment head do not matter. */
            if (st == ST_OK)
                ck_assert_uint_eq(disk_rlog(copy.disk)->found.count, g.applied);
            else
                ck_assert_msg(st == ST_CORRUPT, "%d at %zu of %s: %s", (int)st, at,
                              name, copy.error.text);
            if (st != ST_OK) {
                size_t size_after;
                uint8_t *after = diskrig_read(&copy, name, &size_after);
                ck_assert_uint_eq(size_after, size);
                ck_assert_mem_eq(after, data, size);
                mem_free(after);
                ck_assert_ptr_nonnull(strstr(copy.error.text, name));
            }
            data[at] ^= 0x10;
            diskrig_fini(&copy);
        }
        mem_free(data);
    }
}
END_TEST

START_TEST(a_missing_segment_or_an_empty_log_is_refused)
{
    char name[64];
    for (int i = 0; i < 200; i++)
        diskrig_submit(&g, 2000, false);
    diskrig_settle(&g);
    diskrig_close(&g, true);
    unsigned count = diskrig_count(&g, "log");
    ck_assert_uint_ge(count, 6);
    for (unsigned n = 0; n + 2 < count; n++) {
        char full[200];
        copy_begin();
        ck_assert(diskrig_name(&copy, "log", n, name));
        snprintf(full, sizeof full, "%s/%s", copy.dir, name);
        ck_assert_int_eq(unlink(full), 0);
        ck_assert_int_eq(diskrig_open_disk(&copy), ST_CORRUPT);
        diskrig_fini(&copy);
    }
    copy_begin();
    diskrig_unlink_all(&copy, "log");
    ck_assert_int_eq(diskrig_open_disk(&copy), ST_CORRUPT);
    diskrig_fini(&copy);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
}
END_TEST

START_TEST(a_clean_stop_knows_where_the_log_ends)
{
    char name[64];
    diskrig_submit(&g, 100, false);
    diskrig_settle(&g);
    diskrig_close(&g, true);
    unsigned n = diskrig_count(&g, "log");
    ck_assert(diskrig_name(&g, "log", n - 2, name));
    size_t size;
    uint8_t *data = diskrig_read(&g, name, &size);
    memset(data + SEGMENT_HEAD_BYTES, 0, size - SEGMENT_HEAD_BYTES);
    diskrig_write(&g, name, data, size);
    mem_free(data);
    ck_assert_int_eq(diskrig_open_disk(&g), ST_CORRUPT);
    ck_assert_ptr_nonnull(strstr(g.error.text, "last stop"));
}
END_TEST

START_TEST(either_copy_of_meta_is_enough_and_both_damaged_is_refused)
{
    diskrig_close(&g, true);
    for (int which = 1; which <= 2; which++)
        for (size_t at = 0; at < META_BYTES; at++) {
            const char *name = which == 1 ? "meta-1" : "meta-2";
            size_t size;
            copy_begin();
            uint8_t *data = diskrig_read(&copy, name, &size);
            data[at] ^= 0x40;
            diskrig_write(&copy, name, data, size);
            mem_free(data);
            ck_assert_int_eq(diskrig_open_disk(&copy), ST_OK);
            ck_assert_uint_eq(disk_rlog(copy.disk)->found.term, 2);
            ck_assert_uint_eq(disk_rlog(copy.disk)->found.vote, 0);
            diskrig_close(&copy, true);
            data = diskrig_read(&copy, name, &size); /* healed */
            struct disk_meta m;
            ck_assert_int_eq(disk_meta_get(data, &m), ST_OK);
            mem_free(data);
            diskrig_fini(&copy);
        }
    copy_begin();
    diskrig_write(&copy, "meta-1", "x", 1);
    diskrig_write(&copy, "meta-2", "y", 1);
    ck_assert_int_eq(diskrig_open_disk(&copy), ST_CORRUPT);
    diskrig_fini(&copy);
}
END_TEST

START_TEST(a_damaged_snapshot_is_refused)
{
    char name[64];
    size_t size;
    diskrig_submit(&g, 10, false);
    diskrig_settle(&g);
    diskrig_snapshot(&g, 600000);
    diskrig_close(&g, true);
    ck_assert(diskrig_name(&g, "snapshots", 0, name));
    uint8_t *data = diskrig_read(&g, name, &size);
    for (size_t at = 0; at < size; at += at < IMAGE_HEAD_BYTES ? 37 : 30011) {
        copy_begin();
        data[at] ^= 1;
        diskrig_write(&copy, name, data, size);
        data[at] ^= 1;
        ck_assert_int_eq(diskrig_open(&copy), ST_CORRUPT);
        ck_assert(diskrig_exists(&copy, name));
        diskrig_fini(&copy);
    }
    copy_begin();
    diskrig_write(&copy, name, data, size - 1);
    ck_assert_int_eq(diskrig_open(&copy), ST_CORRUPT);
    diskrig_fini(&copy);
    mem_free(data);
}
END_TEST

START_TEST(a_log_behind_a_missing_snapshot_is_refused)
{
    char name[64];
    char full[200];
    for (int i = 0; i < 3000; i++)
        diskrig_submit(&g, 8000, false);
    diskrig_settle(&g);
    diskrig_snapshot(&g, 1000);
    for (int i = 0; i < 3000; i++)
        diskrig_submit(&g, 8000, false);
    diskrig_settle(&g);
    diskrig_snapshot(&g, 1000);
    diskrig_settle(&g);
    usleep(100000);
    diskrig_close(&g, true);
    ck_assert(diskrig_name(&g, "snapshots", 0, name));
    snprintf(full, sizeof full, "%s/%s", g.dir, name);
    ck_assert_int_eq(unlink(full), 0);
    ck_assert_int_eq(diskrig_open_disk(&g), ST_CORRUPT);
}
END_TEST

START_TEST(a_log_that_an_install_left_is_discarded)
{
    /* R9: a snapshot far ahead of the log appears. */
    char name[64];
    char ahead[64];
    size_t size;
    diskrig_submit(&g, 10, false);
    diskrig_settle(&g);
    diskrig_snapshot(&g, 1000);
    uint64_t cluster;
    diskrig_close(&g, true);
    ck_assert(diskrig_name(&g, "snapshots", 0, name));
    uint8_t *data = diskrig_read(&g, name, &size);
    struct rlog_snapshot_meta meta;
    ck_assert_int_eq(image_head_get(data, &meta, &cluster), ST_OK);
    uint64_t term = meta.term;
    for (int round = 0; round < 2; round++) {
        /* Behind the end of the log; then inside it, but of another term. */
        meta.index = round == 0 ? 1000 : 2;
        meta.term = round == 0 ? term : 1;
        image_head_put(data, &meta, cluster);
        put_u64(data + IMAGE_HEAD_BYTES + IMAGE_CHUNK_HEAD, meta.index);
        image_chunk_put(data + IMAGE_HEAD_BYTES, 0,
                        data + IMAGE_HEAD_BYTES + IMAGE_CHUNK_HEAD,
                        (uint32_t)(size - IMAGE_HEAD_BYTES - IMAGE_CHUNK_HEAD));
        copy_begin();
        diskrig_unlink_all(&copy, "snapshots");
        snprintf(ahead, sizeof ahead, "snapshots/%016x-%016x.snap",
                 (unsigned)meta.index, (unsigned)meta.term);
        diskrig_write(&copy, ahead, data, size);
        ck_assert_int_eq(diskrig_open(&copy), ST_OK);
        ck_assert_uint_eq(copy.restored, meta.index);
        ck_assert_uint_eq(copy.applied, meta.index + 1);
        diskrig_close(&copy, false);
        ck_assert_int_eq(diskrig_open(&copy), ST_OK);
        ck_assert_uint_eq(copy.applied, meta.index + 2);
        diskrig_fini(&copy);
    }
    mem_free(data);
}
END_TEST

Suite *
suite_disk_damage(void)
{
    Suite *s = suite_create("disk_damage");
    TCase *t = tcase_create("directory");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_tail_torn_at_any_byte_is_cut);
    tcase_add_test(t, after_a_crash_anything_behind_the_last_sync_is_cut);
    tcase_add_test(t, a_flipped_bit_in_a_synced_record_is_damage_and_nothing_changes);
    tcase_add_test(t, a_missing_segment_or_an_empty_log_is_refused);
    tcase_add_test(t, a_clean_stop_knows_where_the_log_ends);
    tcase_add_test(t, either_copy_of_meta_is_enough_and_both_damaged_is_refused);
    tcase_add_test(t, a_damaged_snapshot_is_refused);
    tcase_add_test(t, a_log_behind_a_missing_snapshot_is_refused);
    tcase_add_test(t, a_log_that_an_install_left_is_discarded);
    suite_add_tcase(s, t);
    return s;
}
