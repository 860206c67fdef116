/* The real disk. A directory examined, and that of a lone node mended. */
#include "tests/unit/raft/diskrig.h"
#include "tests/unit/raft/suites.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/disk_check.h"
#include "raft/disk_format.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct diskrig g;
static struct diskrig copy;
static struct disk_verdict verdict;
static unsigned files;
static unsigned damaged;
static char damaged_file[64];
static uint64_t damaged_at;

static const uint8_t cluster_id[] = "0123456789abcdef";

/* Bytes 16 to 19 of a payload of 40 are "a body". */
static bool
salvage(struct slice payload, uint32_t crc)
{
    uint8_t bytes[40];
    if (payload.size != sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + sizeof bytes); /* as diskrig_submit() makes it */
    for (size_t i = 0; i < 16; i++)
        bytes[i] = payload.data[i];
    memcpy(bytes + 20, payload.data + 20, 20);
    return crc32c(0, bytes, sizeof bytes) == crc;
}

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

static void
copy_begin(void)
{
    memset(&copy, 0, sizeof copy);
    diskrig_init(&copy);
    diskrig_copy(&copy, &g);
}

static void
found(void *ctx, const struct disk_finding *f)
{
    (void)ctx;
    files++;
    if (!f->is_damaged)
        return;
    damaged++;
    snprintf(damaged_file, sizeof damaged_file, "%s", f->file);
    damaged_at = f->offset;
}

static struct disk_options
options_of(struct diskrig *rig)
{
    struct disk_options o = {
        .dir = rig->dir, .node_id = 1, .boot_id = rig->boot_id, .salvage_cb = salvage};
    memcpy(o.cluster_id, cluster_id, 16);
    return o;
}

static enum status
check(struct diskrig *rig)
{
    struct disk_options o = options_of(rig);
    files = damaged = 0;
    damaged_file[0] = 0;
    return disk_check(&o, found, NULL, &verdict);
}

static struct disk_mend
plan(struct diskrig *rig)
{
    struct disk_options o = options_of(rig);
    struct disk_mend m;
    ck_assert_int_eq(disk_mend_plan(&o, &m, &rig->error), ST_OK);
    return m;
}

static void
mend(struct diskrig *rig, const struct disk_mend *m)
{
    char name[DISK_ASIDE_NAME_BYTES];
    char path[120];
    char file[64];
    struct disk_options o = options_of(rig);
    ck_assert_int_eq(disk_mend_do(&o, m, name, &rig->error), ST_OK);
    ck_assert_int_eq(strncmp(name, "aside-2", 7), 0);
    for (int i = 0; i < 2; i++) /* all that was there, byte for byte */
        for (unsigned n = 0; diskrig_name(&g, i == 0 ? "log" : "snapshots", n, file);
             n++) {
            size_t size;
            size_t old_size;
            snprintf(path, sizeof path, "%s/%s", name, file);
            uint8_t *was = diskrig_read(&g, file, &old_size);
            uint8_t *is = diskrig_read(rig, path, &size);
            ck_assert_uint_eq(size, old_size);
            ck_assert_mem_eq(is, was, size);
            mem_free(was);
            mem_free(is);
        }
}

static void
flip(struct diskrig *rig, const char *file, size_t at)
{
    size_t size;
    uint8_t *data = diskrig_read(rig, file, &size);
    ck_assert_uint_lt(at, size);
    data[at] ^= 0x10;
    diskrig_write(rig, file, data, size);
    mem_free(data);
}

/* Several segments, 40 entries of 3000 bytes, and a few of 40; a clean stop. */
static void
fill(void)
{
    for (int i = 0; i < 40; i++)
        diskrig_submit(&g, 3000, i % 5 == 0);
    diskrig_settle(&g);
    for (int i = 0; i < 5; i++)
        diskrig_submit(&g, 40, true);
    diskrig_settle(&g);
    diskrig_close(&g, true);
    ck_assert_uint_ge(g.applied, 47);
}

/* The file and the place of an entry. */
static void
locate(uint64_t index, char file[64], size_t *ret_offset)
{
    for (unsigned n = 0; diskrig_name(&g, "log", n, file); n++) {
        struct segment_head head;
        struct record_head h;
        size_t size;
        uint8_t *data = diskrig_read(&g, file, &size);
        ck_assert_int_eq(segment_head_get(data, &head), ST_OK);
        size_t at = SEGMENT_HEAD_BYTES;
        while (at + RECORD_HEAD_BYTES <= size &&
               record_head_get(data + at, head.salt, &h) && h.index != index)
            at += record_bytes(h.size);
        bool is_here = at + RECORD_HEAD_BYTES <= size &&
                       record_head_get(data + at, head.salt, &h) && h.index == index;
        mem_free(data);
        *ret_offset = at;
        if (is_here)
            return;
    }
    ck_abort_msg("entry %llu is not there", (unsigned long long)index);
}

START_TEST(a_good_directory_is_good_and_is_not_changed)
{
    fill();
    ck_assert_int_eq(check(&g), ST_OK);
    ck_assert_int_eq(verdict.why, ST_OK);
    ck_assert_uint_eq(damaged, 0);
    ck_assert_uint_eq(files, 3 + diskrig_count(&g, "log"));
    ck_assert_uint_eq(verdict.node_id, 1);
    ck_assert_uint_eq(verdict.members.count, 1);
    ck_assert_uint_eq(verdict.first_index, 1);
    ck_assert_uint_eq(verdict.last_index, 47);
    ck_assert(!verdict.is_torn && !verdict.is_crashed && !verdict.is_rejoining);
    struct disk_mend m = plan(&g);
    ck_assert(m.is_possible && m.cut_segment == 0 && !m.is_meta && !m.is_boot);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_eq(diskrig_last(&g), 48);
}
END_TEST

START_TEST(a_directory_in_use_or_without_data_is_not_examined)
{
    ck_assert_int_eq(check(&g), ST_EXISTS);
    diskrig_close(&g, true);
    ck_assert_int_eq(check(&g), ST_OK);
    diskrig_remove(g.dir);
    ck_assert_int_eq(check(&g), ST_NOTFOUND);
}
END_TEST

START_TEST(every_flipped_bit_is_named_with_file_and_offset)
{
    char file[64];
    size_t at;
    diskrig_submit(&g, 3000, false);
    diskrig_settle(&g);
    diskrig_snapshot(&g, 300000);
    fill();
    locate(20, file, &at);
    copy_begin();
    flip(&copy, file, at + 500);
    ck_assert_int_eq(check(&copy), ST_OK);
    ck_assert_int_eq(verdict.why, ST_CORRUPT);
    ck_assert_uint_eq(damaged, 1);
    ck_assert_str_eq(damaged_file, file);
    ck_assert_uint_eq(damaged_at, at);
    diskrig_fini(&copy);
    ck_assert(diskrig_name(&g, "snapshots", 0, file));
    static const char *const small[] = {"meta-1", "meta-2", "boot"};
    for (int i = 0; i < 4; i++) {
        copy_begin();
        flip(&copy, i < 3 ? small[i] : file, i < 3 ? 20 : IMAGE_HEAD_BYTES + 290000);
        ck_assert_int_eq(check(&copy), ST_OK);
        ck_assert_int_eq(verdict.why, i < 3 ? ST_OK : ST_CORRUPT);
        ck_assert_uint_eq(damaged, 1);
        ck_assert_str_eq(damaged_file, i < 3 ? small[i] : file);
        diskrig_fini(&copy);
    }
}
END_TEST

START_TEST(a_torn_tail_is_said_and_is_no_damage)
{
    char file[64];
    size_t at;
    diskrig_submit(&g, 100, false);
    for (int i = 0; i < 3; i++)
        diskrig_poll(&g, 2);
    diskrig_close(&g, false);
    locate(3, file, &at);
    size_t size;
    uint8_t *data = diskrig_read(&g, file, &size);
    memset(data + at + RECORD_HEAD_BYTES + 50, 0, size - at - RECORD_HEAD_BYTES - 50);
    diskrig_write(&g, file, data, size);
    mem_free(data);
    ck_assert_int_eq(check(&g), ST_OK);
    ck_assert_int_eq(verdict.why, ST_OK);
    ck_assert(verdict.is_torn);
    ck_assert_uint_eq(verdict.last_index, 2);
    ck_assert_uint_eq(damaged, 0);
}
END_TEST

START_TEST(a_damaged_body_counts_and_there_is_nothing_to_mend)
{
    char file[64];
    size_t at;
    fill();
    locate(44, file, &at);
    copy_begin();
    flip(&copy, file, at + RECORD_HEAD_BYTES + 17);
    ck_assert_int_eq(check(&copy), ST_OK);
    ck_assert_int_eq(verdict.why, ST_OK);
    ck_assert_uint_eq(verdict.damaged_bodies, 1);
    ck_assert_uint_eq(damaged, 1);
    ck_assert_uint_eq(damaged_at, at);
    struct disk_mend m = plan(&copy);
    ck_assert(m.is_possible && m.cut_segment == 0);
    copy.salvage_cb = salvage;
    ck_assert_int_eq(diskrig_open(&copy), ST_OK);
    ck_assert_uint_eq(copy.applied, 48);
    /* With anything else damaged in it, it does not. */
    diskrig_close(&copy, true);
    flip(&copy, file, at + RECORD_HEAD_BYTES + 30);
    ck_assert_int_eq(diskrig_open(&copy), ST_CORRUPT);
    diskrig_fini(&copy);
}
END_TEST

START_TEST(a_damaged_log_is_cut_and_what_is_lost_is_said)
{
    char file[64];
    size_t at;
    fill();
    for (uint64_t index = 3; index <= 47; index += 11) {
        locate(index, file, &at);
        copy_begin();
        flip(&copy, file, at + (index % 2 == 0 ? 20 : RECORD_HEAD_BYTES + 5));
        ck_assert_int_eq(diskrig_open(&copy), ST_CORRUPT);
        struct disk_mend m = plan(&copy);
        ck_assert(m.is_possible && !m.by_others && m.cut_segment != 0);
        ck_assert_uint_eq(m.lost_first, index);
        ck_assert_uint_eq(m.lost_last, 47);
        ck_assert_uint_eq(m.cut_offset, at);
        ck_assert_ptr_nonnull(strstr(m.why, "damaged record"));
        size_t size;
        uint8_t *bad = diskrig_read(&copy, file, &size); /* before it is mended */
        diskrig_write(&g, file, bad, size);
        mend(&copy, &m);
        flip(&g, file, at + (index % 2 == 0 ? 20 : RECORD_HEAD_BYTES + 5));
        mem_free(bad);
        ck_assert_int_eq(check(&copy), ST_OK);
        ck_assert_int_eq(verdict.why, ST_OK);
        ck_assert(verdict.is_crashed);
        ck_assert_uint_eq(verdict.last_index, index - 1);
        ck_assert_int_eq(diskrig_open(&copy), ST_OK);
        ck_assert_uint_eq(copy.applied, index); /* and a new leader's barrier */
        diskrig_fini(&copy);
    }
}
END_TEST

START_TEST(damage_below_the_snapshot_costs_nothing)
{
    char file[64];
    size_t at;
    for (int i = 0; i < 60; i++)
        diskrig_submit(&g, 3000, false);
    diskrig_settle(&g);
    diskrig_snapshot(&g, 1000);
    for (int i = 0; i < 60; i++)
        diskrig_submit(&g, 3000, false);
    diskrig_settle(&g);
    uint64_t applied = g.applied;
    diskrig_close(&g, true);
    locate(5, file, &at);
    copy_begin();
    flip(&copy, file, at + 20);
    flip(&g, file, at + 20);
    ck_assert_int_eq(diskrig_open(&copy), ST_CORRUPT);
    struct disk_mend m = plan(&copy);
    ck_assert(m.is_possible && m.drop_below != 0 && m.cut_segment == 0);
    ck_assert_uint_eq(m.lost_first, 0);
    mend(&copy, &m);
    ck_assert_int_eq(diskrig_open(&copy), ST_OK);
    ck_assert_uint_eq(copy.applied, applied + 1);
    diskrig_fini(&copy);
}
END_TEST

START_TEST(a_damaged_snapshot_is_given_up_when_the_log_has_all_of_it)
{
    char file[64];
    for (int i = 0; i < 20; i++)
        diskrig_submit(&g, 300, false);
    diskrig_settle(&g);
    diskrig_snapshot(&g, 300000);
    uint64_t state = g.state;
    uint64_t applied = g.applied;
    diskrig_close(&g, true);
    ck_assert(diskrig_name(&g, "snapshots", 0, file));
    flip(&g, file, IMAGE_HEAD_BYTES + 290000);
    copy_begin();
    ck_assert_int_eq(diskrig_open(&copy), ST_CORRUPT);
    ck_assert_ptr_nonnull(strstr(copy.error.text, "damaged chunk"));
    ck_assert_str_eq(copy.error.file, file);
    diskrig_fini(&copy);
    copy_begin(); /* that start had cut off the room that was not used */
    struct disk_mend m = plan(&copy);
    ck_assert(m.is_possible && m.drops_images && m.keep_image == 0);
    ck_assert_uint_eq(m.lost_first, 0);
    mend(&copy, &m);
    ck_assert_int_eq(diskrig_open(&copy), ST_OK);
    ck_assert_uint_eq(copy.restored, 0);
    ck_assert_uint_eq(copy.applied, applied + 1);
    ck_assert_uint_eq(copy.state, state * 31 + copy.applied);
    diskrig_fini(&copy);
}
END_TEST

START_TEST(a_lone_node_without_meta_gets_a_term_above_all_it_has)
{
    fill();
    flip(&g, "meta-1", 20);
    flip(&g, "meta-2", 30);
    copy_begin();
    ck_assert_int_eq(diskrig_open(&copy), ST_CORRUPT);
    ck_assert(copy.error.is_final);
    ck_assert_int_eq(check(&copy), ST_OK);
    ck_assert_int_eq(verdict.why, ST_CORRUPT);
    ck_assert_uint_eq(damaged, 2);
    struct disk_mend m = plan(&copy);
    ck_assert(m.is_possible && m.is_meta);
    ck_assert_uint_eq(m.term, 3);
    ck_assert_uint_eq(m.lost_first, 0);
    struct disk_options o = options_of(&copy);
    o.node_id = 0; /* no configuration was named */
    ck_assert_int_eq(disk_mend_plan(&o, &m, &g.error), ST_OK);
    ck_assert(!m.is_possible);
    m = plan(&copy);
    mend(&copy, &m);
    ck_assert_int_eq(diskrig_open(&copy), ST_OK);
    ck_assert_uint_eq(copy.applied, 48);
    diskrig_fini(&copy);
}
END_TEST

START_TEST(what_others_have_is_not_mended_here)
{
    struct rlog_members members = {.count = 3};
    char file[64];
    size_t at;
    for (uint32_t i = 0; i < 3; i++) {
        members.members[i].id = i + 1;
        members.members[i].is_voter = true;
        snprintf(members.members[i].address, 128, "node%u:7000", i + 1);
    }
    diskrig_close(&g, true);
    diskrig_remove(g.dir);
    ck_assert_int_eq(disk_init(g.dir, 1, cluster_id, &members, &g.error), ST_OK);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    diskrig_close(&g, true);
    locate(1, file, &at);
    flip(&g, file, at + RECORD_HEAD_BYTES + 20);
    struct disk_mend m = plan(&g);
    ck_assert(!m.is_possible); /* nothing says who the members are */
    flip(&g, file, at + RECORD_HEAD_BYTES + 20);
    diskrig_write(&g, "boot", "x", 1);
    flip(&g, "meta-1", 3);
    flip(&g, "meta-2", 3);
    m = plan(&g);
    ck_assert(!m.is_possible && m.is_meta);
    ck_assert_ptr_nonnull(strstr(m.why, "not the only voter"));
}
END_TEST

Suite *
suite_disk_check(void)
{
    Suite *s = suite_create("disk_check");
    TCase *t = tcase_create("check");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_good_directory_is_good_and_is_not_changed);
    tcase_add_test(t, a_directory_in_use_or_without_data_is_not_examined);
    tcase_add_test(t, every_flipped_bit_is_named_with_file_and_offset);
    tcase_add_test(t, a_torn_tail_is_said_and_is_no_damage);
    tcase_add_test(t, a_damaged_body_counts_and_there_is_nothing_to_mend);
    tcase_add_test(t, a_damaged_log_is_cut_and_what_is_lost_is_said);
    tcase_add_test(t, damage_below_the_snapshot_costs_nothing);
    tcase_add_test(t, a_damaged_snapshot_is_given_up_when_the_log_has_all_of_it);
    tcase_add_test(t, a_lone_node_without_meta_gets_a_term_above_all_it_has);
    tcase_add_test(t, what_others_have_is_not_mended_here);
    suite_add_tcase(s, t);
    return s;
}
