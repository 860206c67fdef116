/* The real disk: a snapshot from a leader, and a node that dies at any point of it. */
#include "tests/unit/raft/diskrig.h"
#include "tests/unit/raft/suites.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "base/mem.h"
#include "raft/wire.h"
#include "tests/unit/raft/rig.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_BYTES 700000
#define CHUNKS      3

static struct diskrig g;
static uint8_t image[IMAGE_BYTES];

static void
setup(void)
{
    struct rlog_members members;
    diskrig_init(&g);
    diskrig_remove(g.dir);
    rig_members(3, &members);
    ck_assert_int_eq(
        disk_init(g.dir, 1, (const uint8_t *)"0123456789abcdef", &members, &g.error),
        ST_OK);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    for (size_t i = 0; i < IMAGE_BYTES; i++)
        image[i] = (uint8_t)(i * 31 / 7);
    put_u64(image, 1000);
    put_u64(image + 8, 4711);
}

static void
teardown(void)
{
    diskrig_fini(&g);
}

static void
inject(enum rlog_frame_kind kind, struct bytes *body)
{
    struct blob *b = blob_copy(slice_of(body->data, body->size));
    ck_assert_int_eq(rlog_receive(g.r, 2, (uint8_t)kind, b, ++g.now_ms), ST_OK);
    blob_put(b);
    bytes_clear(body);
}

static void
append(
    uint64_t term, uint64_t prev, uint64_t prev_term, uint32_t count, uint64_t commit)
{
    struct bytes body = {0};
    struct rlog_entry entries[64] = {0};
    struct raft_append_entries m = {.term = term,
                                    .prev_log_index = prev,
                                    .prev_log_term = prev_term,
                                    .leader_commit = commit};
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (struct rlog_entry){
            .term = term, .type = RLOG_COMMAND, .size = 4, .crc = crc32c(0, "data", 4)};
    rlog_wire_put_append(&body, &m, 1, entries, count);
    for (uint32_t i = 0; i < count; i++)
        bytes_put(&body, "data", 4);
    inject(RLOG_FRAME_APPEND, &body);
    bytes_fini(&body);
}

static void
offer_at(uint64_t index)
{
    struct bytes body = {0};
    put_u64(image, index); /* what the test's state machine has applied */
    struct rlog_snapshot_meta m = {.index = index,
                                   .term = 3,
                                   .chain = 99,
                                   .members_index = 1,
                                   .size_bytes = IMAGE_BYTES,
                                   .crc = crc32c(0, image, IMAGE_BYTES)};
    rig_members(3, &m.members);
    rlog_wire_put_offer(&body, 3, &m);
    inject(RLOG_FRAME_SNAPSHOT_OFFER, &body);
    bytes_fini(&body);
}

static void
offer(void)
{
    offer_at(1000);
}

static void
chunk_of(unsigned n, uint64_t index)
{
    struct bytes body = {0};
    struct rlog_chunk c = {.term = 3, .index = index, .snapshot_term = 3};
    c.offset = (uint64_t)n * LIMIT_SNAPSHOT_CHUNK;
    uint64_t left = IMAGE_BYTES - c.offset;
    c.size = left < LIMIT_SNAPSHOT_CHUNK ? (uint32_t)left : LIMIT_SNAPSHOT_CHUNK;
    c.crc = crc32c(0, image + c.offset, c.size);
    rlog_wire_put_chunk(&body, &c);
    bytes_put(&body, image + c.offset, c.size);
    inject(RLOG_FRAME_SNAPSHOT_CHUNK, &body);
    bytes_fini(&body);
}

static void
chunk(unsigned n)
{
    chunk_of(n, 1000);
}

static struct rlog_status
status(void)
{
    struct rlog_status s;
    rlog_get_status(g.r, &s);
    return s;
}

static void
wait_for_install(void)
{
    for (int i = 0; i < 2000 && status().snapshot_index != 1000; i++)
        diskrig_poll(&g, 2);
    ck_assert_int_eq(g.fatal, ST_OK);
    ck_assert_uint_eq(status().snapshot_index, 1000);
}

static void
restart(void)
{
    diskrig_close(&g, false);
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
}

static _Atomic bool is_small;

static int
my_fallocate(int fd, int mode, off_t offset, off_t size)
{
    /* As large as six segments, with the reserve. */
    unsigned files = diskrig_count(&g, "log");
    for (int i = 1; i <= 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "reserve-%d", i);
        files += diskrig_exists(&g, name);
    }
    if (!is_small || files <= 6)
        return fallocate(fd, mode, offset, size);
    errno = ENOSPC;
    return -1;
}

static const struct disk_sys no_segments = {.fallocate = my_fallocate};

/* A follower without room is so far behind that it is sent a snapshot: what waits for
 * room to be written is in it, and the install makes the room. */
START_TEST(an_install_goes_past_what_waits_for_room)
{
    diskrig_close(&g, true);
    is_small = true;
    g.sys = &no_segments;
    ck_assert_int_eq(diskrig_open(&g), ST_OK);
    uint64_t last = 1;
    for (int i = 0; i < 300;
         i++, last += 64) { /* more than reserve and segments take */
        append(3, last, last == 1 ? 1 : 3, 64, 1);
        diskrig_poll(&g, 1);
    }
    for (int i = 0; i < 200; i++)
        diskrig_poll(&g, 1);
    ck_assert_uint_lt(status().stored_index, status().last_index);
    offer_at(last + 1000);
    for (unsigned n = 0; n < CHUNKS; n++)
        chunk_of(n, last + 1000);
    for (int i = 0; i < 500 && status().snapshot_index != last + 1000; i++)
        diskrig_poll(&g, 2);
    ck_assert_int_eq(g.fatal, ST_OK);
    ck_assert_uint_eq(status().snapshot_index, last + 1000);
    append(3, last + 1000, 3, 5, last + 1005);
    diskrig_settle(&g);
    ck_assert_uint_eq(g.applied, last + 1005);
    g.sys = NULL;
    restart();
    ck_assert_uint_eq(status().first_index, last + 1001);
    ck_assert_uint_eq(status().last_index, last + 1005);
}
END_TEST

START_TEST(an_installed_snapshot_replaces_the_log_and_the_log_goes_on)
{
    append(3, 1, 1, 50, 40);
    diskrig_poll(&g, 5);
    offer();
    for (unsigned n = 0; n < CHUNKS; n++)
        chunk(n);
    wait_for_install();
    ck_assert_uint_eq(g.restored, 1000);
    ck_assert_uint_eq(g.state, 4711);
    ck_assert_uint_eq(status().first_index, 1001);
    ck_assert_uint_eq(status().last_index, 1000);
    ck_assert_uint_eq(status().chain, 99);
    ck_assert(!diskrig_exists(&g, "snapshots/incoming.tmp"));
    append(3, 1000, 3, 20, 1020);
    diskrig_settle(&g);
    ck_assert_uint_eq(g.applied, 1020);
    uint64_t state = g.state;
    restart();
    ck_assert_uint_eq(g.restored, 1000);
    ck_assert_uint_eq(status().last_index, 1020);
    append(3, 1020, 3, 0, 1020);
    diskrig_settle(&g);
    ck_assert_uint_eq(g.state, state);
}
END_TEST

START_TEST(a_node_that_dies_during_a_transfer_keeps_its_old_state)
{
    append(3, 1, 1, 50, 40);
    diskrig_poll(&g, 5);
    for (unsigned until = 0; until < CHUNKS; until++) {
        offer();
        for (unsigned n = 0; n < until; n++)
            chunk(n);
        for (int i = 0; i < 10; i++)
            diskrig_poll(&g, 2);
        restart();
        ck_assert_uint_eq(status().last_index, 51);
        ck_assert_uint_eq(status().snapshot_index, 0);
        ck_assert(!diskrig_exists(&g, "snapshots/incoming.tmp"));
    }
    offer();
    for (unsigned n = 0; n < CHUNKS; n++)
        chunk(n);
    wait_for_install();
}
END_TEST

START_TEST(a_node_that_dies_anywhere_in_the_install_has_the_one_or_the_other)
{
    unsigned old = 0;
    unsigned new = 0;
    for (int polls = 0; polls < 40; polls++) {
        append(3, 1, 1, 50, 40);
        diskrig_poll(&g, 5);
        offer();
        for (unsigned n = 0; n < CHUNKS; n++)
            chunk(n);
        for (int i = 0; i < polls && status().snapshot_index == 0; i++)
            diskrig_poll(&g, i % 3);
        restart();
        if (status().snapshot_index == 1000) {
            ck_assert_uint_eq(status().last_index, 1000);
            ck_assert_uint_eq(g.state, 4711);
            new ++;
        } else {
            ck_assert_uint_eq(status().last_index, 51);
            old++;
        }
        append(3, status().last_index, 3, 1, 0);
        diskrig_poll(&g, 5);
        teardown();
        setup();
    }
    ck_assert_uint_gt(old, 0);
    ck_assert_uint_gt(new, 0);
}
END_TEST

START_TEST(a_transfer_with_the_wrong_bytes_is_refused_and_can_be_repeated)
{
    offer();
    image[IMAGE_BYTES / 2] ^= 1; /* each chunk is right, the whole is not */
    for (unsigned n = 0; n < CHUNKS; n++)
        chunk(n);
    for (int i = 0; i < 50; i++)
        diskrig_poll(&g, 2);
    ck_assert_int_eq(g.fatal, ST_OK);
    ck_assert_uint_eq(status().snapshot_index, 0);
    image[IMAGE_BYTES / 2] ^= 1;
    offer();
    for (unsigned n = 0; n < CHUNKS; n++)
        chunk(n);
    wait_for_install();
}
END_TEST

Suite *
suite_disk_install(void)
{
    Suite *s = suite_create("disk_install");
    TCase *t = tcase_create("install");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, an_install_goes_past_what_waits_for_room);
    tcase_add_test(t, an_installed_snapshot_replaces_the_log_and_the_log_goes_on);
    tcase_add_test(t, a_node_that_dies_during_a_transfer_keeps_its_old_state);
    tcase_add_test(t,
                   a_node_that_dies_anywhere_in_the_install_has_the_one_or_the_other);
    tcase_add_test(t, a_transfer_with_the_wrong_bytes_is_refused_and_can_be_repeated);
    suite_add_tcase(s, t);
    return s;
}
