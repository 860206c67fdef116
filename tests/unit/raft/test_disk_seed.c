/* Seed: a data directory that begins with a snapshot, and a snapshot that is read while
 * its node goes on. */
#include "raft/disk_seed.h"

#include "tests/unit/raft/diskrig.h"
#include "tests/unit/raft/suites.h"

#include "base/limits.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define IMAGE_BYTES 600000
#define INDEX       1000
#define TERM        7

static struct diskrig g;
static uint8_t image[IMAGE_BYTES];
static const uint8_t ORIGIN[DISK_ORIGIN_BYTES] = "made of this one";

static void
setup(void)
{
    diskrig_init(&g);
    diskrig_remove(g.dir);
    for (size_t i = 0; i < IMAGE_BYTES; i++)
        image[i] = (uint8_t)(i * 31 / 7);
    put_u64(image, INDEX);
    put_u64(image + 8, 4711);
}

static void
teardown(void)
{
    diskrig_fini(&g);
}

static struct disk_seed_options
options(uint64_t index)
{
    struct disk_seed_options o = {
        .dir = g.dir, .node_id = 1, .index = index, .term = TERM, .chain = 99};
    memcpy(o.cluster_id, "0123456789abcdef", sizeof o.cluster_id);
    o.members.count = 1;
    o.members.members[0].id = 1;
    o.members.members[0].is_voter = true;
    (void)snprintf(o.members.members[0].address, 128, "node1:7000");
    return o;
}

/* As far as its last piece. */
static struct disk_seed *
begin(uint64_t index)
{
    struct disk_seed_options o = options(index);
    struct disk_seed *s = NULL;
    ck_assert_int_eq(disk_seed_begin(&o, &s, &g.error), ST_OK);
    for (size_t at = 0; at < IMAGE_BYTES; at += LIMIT_SNAPSHOT_CHUNK) {
        size_t left = IMAGE_BYTES - at;
        size_t size = left < LIMIT_SNAPSHOT_CHUNK ? left : LIMIT_SNAPSHOT_CHUNK;
        ck_assert_int_eq(disk_seed_write(s, slice_of(image + at, size), &g.error),
                         ST_OK);
    }
    return s;
}

static void
plant(uint64_t index)
{
    ck_assert_int_eq(disk_seed_finish(begin(index), ORIGIN, &g.error), ST_OK);
}

START_TEST(a_node_starts_with_it_and_goes_on_behind_it)
{
    struct rlog_status status;
    plant(INDEX);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_eq(g.restored, INDEX);
    rlog_get_status(g.r, &status);
    ck_assert_uint_gt(status.term, TERM);
    uint64_t index = diskrig_submit(&g, 100, true);
    ck_assert_uint_gt(index, INDEX);
    diskrig_settle(&g);
    ck_assert_uint_eq(g.applied, index);
    diskrig_close(&g, true);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_ge(g.applied, index);
}
END_TEST

START_TEST(only_an_empty_directory_is_taken)
{
    struct disk_seed_options o = options(INDEX);
    struct disk_seed *s = NULL;
    ck_assert_int_eq(disk_check_unused(g.dir, &g.error), ST_OK);
    disk_seed_abandon(begin(INDEX));
    ck_assert_int_eq(disk_check_unused(g.dir, &g.error), ST_OK);
    plant(INDEX);
    ck_assert_int_eq(disk_seed_begin(&o, &s, &g.error), ST_EXISTS);
    ck_assert_ptr_null(s);
    ck_assert_ptr_nonnull(strstr(g.error.text, "not empty"));
    ck_assert_ptr_nonnull(strstr(g.error.text, "a node's data are there already"));
    ck_assert_int_eq(disk_check_unused(g.dir, &g.error), ST_EXISTS);
}
END_TEST

START_TEST(what_cannot_be_written_is_named)
{
    struct disk_seed *s = begin(INDEX);
    char path[256];
    (void)snprintf(path, sizeof path, "%s/origin", g.dir); /* a folder in its place */
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_ne(disk_seed_finish(s, ORIGIN, &g.error), ST_OK);
    ck_assert_ptr_nonnull(strstr(g.error.text, "/origin: "));
}
END_TEST

START_TEST(a_node_that_is_no_member_is_refused)
{
    struct disk_seed_options o = options(INDEX);
    struct disk_seed *s = NULL;
    o.node_id = 2;
    ck_assert_int_eq(disk_seed_begin(&o, &s, &g.error), ST_INVALID);
    ck_assert(!diskrig_exists(&g, ""));
}
END_TEST

START_TEST(what_ended_half_way_counts_as_none_and_is_repeated)
{
    disk_seed_abandon(begin(INDEX + 500));
    ck_assert_int_eq(diskrig_open_disk(&g), ST_NOTFOUND);
    plant(INDEX);
    ck_assert_uint_eq(diskrig_count(&g, "snapshots"), 1);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_eq(g.restored, INDEX);
}
END_TEST

START_TEST(nothing_of_it_is_left_when_the_directory_is_made_anew)
{
    struct disk_seed_options o = options(INDEX);
    char name[64];
    plant(INDEX + 500);
    ck_assert(diskrig_name(&g, "snapshots", 0, name));
    diskrig_write(&g, "initialising", "", 0); /* as if it had died at the very end */
    ck_assert_int_eq(disk_init(g.dir, 1, o.cluster_id, &o.members, &g.error), ST_OK);
    ck_assert_uint_eq(diskrig_count(&g, "snapshots"), 0);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    ck_assert_uint_eq(g.restored, 0);
}
END_TEST

START_TEST(the_origin_comes_back_and_damage_of_it_is_seen)
{
    uint8_t origin[DISK_ORIGIN_BYTES];
    size_t size = 0;
    ck_assert_int_eq(disk_read_origin(g.dir, origin), ST_NOTFOUND);
    plant(INDEX);
    ck_assert_int_eq(disk_read_origin(g.dir, origin), ST_OK);
    ck_assert_mem_eq(origin, ORIGIN, sizeof origin);
    uint8_t *bytes = diskrig_read(&g, "origin", &size);
    bytes[20] ^= 1;
    diskrig_write(&g, "origin", bytes, size);
    ck_assert_int_eq(disk_read_origin(g.dir, origin), ST_CORRUPT);
    free(bytes);
}
END_TEST

static enum status
read_picture(struct disk_picture *p, size_t *ret_size)
{
    struct slice piece;
    enum status st = ST_OK;
    *ret_size = 0;
    for (;;) {
        st = disk_picture_next(p, &piece);
        if (st != ST_OK || piece.size == 0)
            return st;
        ck_assert_mem_eq(piece.data, image + *ret_size, piece.size);
        *ret_size += piece.size;
    }
}

START_TEST(a_snapshot_is_read_whole_also_when_it_was_removed_meanwhile)
{
    struct disk_picture *p = NULL;
    size_t size = 0;
    plant(INDEX);
    ck_assert_int_eq(disk_picture_open(g.dir, INDEX + 1, &p), ST_NOTFOUND);
    ck_assert_int_eq(disk_picture_open(g.dir, INDEX, &p), ST_OK);
    ck_assert_uint_eq(disk_picture_meta(p)->term, TERM);
    ck_assert_uint_eq(disk_picture_meta(p)->size_bytes, IMAGE_BYTES);
    diskrig_unlink_all(&g, "snapshots");
    ck_assert_int_eq(read_picture(p, &size), ST_OK);
    ck_assert_uint_eq(size, IMAGE_BYTES);
    disk_picture_close(p);
}
END_TEST

START_TEST(a_damaged_snapshot_is_not_given_out)
{
    struct disk_picture *p = NULL;
    char name[64];
    size_t file_size = 0;
    size_t size = 0;
    plant(INDEX);
    ck_assert(diskrig_name(&g, "snapshots", 0, name));
    uint8_t *bytes = diskrig_read(&g, name, &file_size);
    bytes[4096 + LIMIT_SNAPSHOT_CHUNK + 100] ^= 1; /* in the second piece */
    diskrig_write(&g, name, bytes, file_size);
    ck_assert_int_eq(disk_picture_open(g.dir, INDEX, &p), ST_OK);
    ck_assert_int_eq(read_picture(p, &size), ST_CORRUPT);
    ck_assert_uint_eq(size, LIMIT_SNAPSHOT_CHUNK);
    disk_picture_close(p);
    free(bytes);
}
END_TEST

Suite *
suite_disk_seed(void)
{
    Suite *s = suite_create("disk_seed");
    TCase *tc = tcase_create("disk_seed");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_node_starts_with_it_and_goes_on_behind_it);
    tcase_add_test(tc, only_an_empty_directory_is_taken);
    tcase_add_test(tc, what_cannot_be_written_is_named);
    tcase_add_test(tc, a_node_that_is_no_member_is_refused);
    tcase_add_test(tc, what_ended_half_way_counts_as_none_and_is_repeated);
    tcase_add_test(tc, nothing_of_it_is_left_when_the_directory_is_made_anew);
    tcase_add_test(tc, the_origin_comes_back_and_damage_of_it_is_seen);
    tcase_add_test(tc, a_snapshot_is_read_whole_also_when_it_was_removed_meanwhile);
    tcase_add_test(tc, a_damaged_snapshot_is_not_given_out);
    suite_add_tcase(s, tc);
    return s;
}
