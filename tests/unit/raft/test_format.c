/* The bytes of the files and frames: the examples of man/holdfast-files.5, and that a
 * changed byte is noticed. */
#include "tests/unit/raft/suites.h"

#include "base/crc32c.h"
#include "raft/disk_format.h"
#include "raft/wire.h"
#include "tests/unit/raft/rig.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
check_hex(const void *data, size_t size, const char *hex)
{
    const uint8_t *bytes = data;
    char text[3];
    size_t at = 0;
    for (const char *p = hex; *p != 0; p++) {
        if (*p == ' ')
            continue;
        ck_assert_uint_lt(at, size);
        snprintf(text, sizeof text, "%02x", bytes[at++]);
        ck_assert_msg(memcmp(text, p, 2) == 0, "byte %zu is %s, not %.2s", at - 1, text,
                      p);
        p++;
    }
    ck_assert_uint_eq(at, size);
}

START_TEST(a_segment_begins_as_in_the_manual)
{
    uint8_t out[SEGMENT_HEAD_BYTES];
    struct segment_head h = {.number = 7,
                             .salt = 0x1122334455667788,
                             .cluster = 0x3736353433323130,
                             .node_id = 1};
    struct segment_head back;
    segment_head_put(out, &h);
    check_hex(out, sizeof out,
              "48 46 53 45 47 4d 4e 54 01 00 00 00 00 00 00 00 "
              "07 00 00 00 00 00 00 00 88 77 66 55 44 33 22 11 "
              "30 31 32 33 34 35 36 37 01 00 00 00 00 00 00 00 "
              "00 00 00 00 00 00 00 00 00 00 00 00 29 d2 3d b4");
    ck_assert_int_eq(segment_head_get(out, &back), ST_OK);
    ck_assert(back.number == 7 && back.salt == h.salt && back.node_id == 1);
    for (size_t i = 0; i < sizeof out; i++) {
        out[i] ^= 1;
        ck_assert_int_ne(segment_head_get(out, &back), ST_OK);
        out[i] ^= 1;
    }
}
END_TEST

START_TEST(a_record_is_as_in_the_manual)
{
    uint8_t out[RECORD_HEAD_BYTES];
    struct record_head h = {.size = 5,
                            .crc = crc32c(0, "Hello", 5),
                            .type = RLOG_COMMAND,
                            .is_sync = true,
                            .number = 12,
                            .index = 10,
                            .term = 3,
                            .synced = 11};
    struct record_head back;
    record_head_put(out, &h, 0x1122334455667788);
    check_hex(out, sizeof out,
              "9c 36 e8 91 05 00 00 00 1b 0e d9 81 01 01 00 00 "
              "0c 00 00 00 00 00 00 00 0a 00 00 00 00 00 00 00 "
              "03 00 00 00 00 00 00 00 0b 00 00 00 00 00 00 00");
    ck_assert(record_head_get(out, 0x1122334455667788, &back));
    ck_assert(back.size == 5 && back.number == 12 && back.index == 10 &&
              back.term == 3 && back.synced == 11 && back.is_sync &&
              back.type == RLOG_COMMAND);
    ck_assert(!record_head_get(out, 0x1122334455667789, &back)); /* another segment's */
    for (size_t i = 0; i < sizeof out; i++) {
        out[i] ^= 1;
        ck_assert(!record_head_get(out, 0x1122334455667788, &back));
        out[i] ^= 1;
    }
}
END_TEST

START_TEST(append_entries_are_as_in_the_manual)
{
    struct bytes b = {0};
    struct raft_append_entries m = {
        .term = 3, .prev_log_index = 9, .prev_log_term = 2, .leader_commit = 8};
    struct rlog_entry e = {.term = 3,
                           .type = RLOG_COMMAND,
                           .is_sync = true,
                           .size = 5,
                           .crc = crc32c(0, "Hello", 5)};
    rlog_wire_put_append(&b, &m, 1000, &e, 1);
    bytes_put(&b, "Hello", 5);
    check_hex(b.data, b.size,
              "00 00 00 00 01 00 00 00 03 00 00 00 00 00 00 00 "
              "09 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 "
              "08 00 00 00 00 00 00 00 e8 03 00 00 00 00 00 00 "
              "03 00 00 00 00 00 00 00 05 00 00 00 1b 0e d9 81 "
              "01 01 00 00 00 00 00 00 48 65 6c 6c 6f");
    bytes_fini(&b);
}
END_TEST

START_TEST(meta_and_boot_come_back_and_are_checked)
{
    uint8_t out[BOOT_BYTES];
    struct disk_meta m = {.sequence = 5, .node_id = 2, .term = 9, .vote = 3};
    struct disk_meta m2;
    memcpy(m.cluster_id, "0123456789abcdef", 16);
    disk_meta_put(out, &m);
    ck_assert_int_eq(disk_meta_get(out, &m2), ST_OK);
    ck_assert(memcmp(&m, &m2, sizeof m) == 0);
    for (size_t i = 0; i < META_BYTES; i++) {
        out[i] ^= 1;
        ck_assert_int_ne(disk_meta_get(out, &m2), ST_OK);
        out[i] ^= 1;
    }
    struct disk_boot b = {.is_clean = true, .number = 77};
    struct disk_boot b2;
    snprintf(b.boot_id, sizeof b.boot_id, "a-b-c");
    disk_boot_put(out, &b);
    ck_assert_int_eq(disk_boot_get(out, &b2), ST_OK);
    ck_assert(b2.is_clean && !b2.is_crashed && b2.number == 77);
    ck_assert_str_eq(b2.boot_id, "a-b-c");
    put_u32(out + 8, 2); /* a newer version, with its own good checksum */
    put_u32(out + BOOT_BYTES - 4, crc32c(0, out, BOOT_BYTES - 4));
    ck_assert_int_eq(disk_boot_get(out, &b2), ST_VERSION);
}
END_TEST

START_TEST(an_image_head_comes_back_and_chunks_cannot_change_places)
{
    static uint8_t out[IMAGE_HEAD_BYTES];
    struct rlog_snapshot_meta m = {
        .index = 90, .term = 3, .chain = 5, .members_index = 1, .size_bytes = 7};
    struct rlog_snapshot_meta m2;
    uint64_t cluster;
    rig_members(RLOG_MEMBERS_MAX, &m.members);
    image_head_put(out, &m, 42);
    ck_assert_int_eq(image_head_get(out, &m2, &cluster), ST_OK);
    ck_assert(m2.index == 90 && m2.size_bytes == 7 && cluster == 42);
    uint8_t head[IMAGE_CHUNK_HEAD];
    image_chunk_put(head, 3, "abc", 3);
    ck_assert(image_chunk_check(head, 3, "abc", 3));
    ck_assert(!image_chunk_check(head, 4, "abc", 3));
    ck_assert(!image_chunk_check(head, 3, "abd", 3));
    ck_assert_uint_eq(image_file_bytes(0), IMAGE_HEAD_BYTES);
    ck_assert_uint_eq(image_file_bytes(1), IMAGE_HEAD_BYTES + 9);
    ck_assert_uint_eq(image_file_bytes(IMAGE_CHUNK_BYTES), image_chunk_offset(1));
}
END_TEST

Suite *
suite_format(void)
{
    Suite *s = suite_create("format");
    TCase *t = tcase_create("bytes");
    tcase_add_test(t, a_segment_begins_as_in_the_manual);
    tcase_add_test(t, a_record_is_as_in_the_manual);
    tcase_add_test(t, append_entries_are_as_in_the_manual);
    tcase_add_test(t, meta_and_boot_come_back_and_are_checked);
    tcase_add_test(t, an_image_head_comes_back_and_chunks_cannot_change_places);
    suite_add_tcase(s, t);
    return s;
}
