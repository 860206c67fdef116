/* Backup file: what was written comes back, and nothing that was changed, cut short or
 * made longer does. */
#include "server/backup_file.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "base/mem.h"
#include "suites.h"

#include <stdio.h>
#include <string.h>

#define LONG_BYTES  (2 * LIMIT_SNAPSHOT_CHUNK + 1000)
#define SHORT_BYTES 100

static struct bytes image;
static struct bytes file;
static struct bytes got;

static const struct backup_info INFO = {
    .cluster_id = "0123456789abcde",
    .node_id = 1,
    .index = 2006,
    .term = 2,
    .chain = UINT64_C(0x1122334455667788),
    .time_ms = UINT64_C(1796060208624),
    .queue = "orders",
    .version = "0.1.0",
};

static void
make_file(size_t image_bytes)
{
    struct backup_writer w;
    struct backup_info info = INFO;
    bytes_clear(&image);
    bytes_clear(&file);
    bytes_clear(&got);
    for (size_t i = 0; i < image_bytes; i++)
        bytes_put_u8(&image, (uint8_t)(i * 31 / 7));
    info.image_bytes = image_bytes;
    info.image_crc = crc32c(0, image.data, image.size);
    backup_put_head(&w, &info, &file);
    for (size_t at = 0; at < image_bytes; at += LIMIT_SNAPSHOT_CHUNK) {
        size_t left = image_bytes - at;
        backup_put_chunk(&w,
                         slice_of(image.data + at, left < LIMIT_SNAPSHOT_CHUNK
                                                       ? left
                                                       : LIMIT_SNAPSHOT_CHUNK),
                         &file);
    }
    backup_put_end(&w, &file);
    ck_assert_uint_eq(file.size, backup_file_bytes(image_bytes));
}

static void
tear_down(void)
{
    bytes_fini(&image);
    bytes_fini(&file);
    bytes_fini(&got);
}

static enum status
image_cb(void *ctx, struct slice piece)
{
    (void)ctx;
    bytes_put_slice(&got, piece);
    return ST_OK;
}

static enum status
refuse_cb(void *ctx, struct slice piece)
{
    (void)ctx;
    (void)piece;
    return ST_NOMEM;
}

/* In pieces; why and counts may be NULL. */
static enum status
read_all(size_t piece, char why[BACKUP_WHY_BYTES], struct backup_counts *counts)
{
    struct backup_reader *r = backup_reader_new(image_cb, NULL);
    enum status st = ST_OK;
    bytes_clear(&got);
    for (size_t at = 0; at < file.size && st == ST_OK; at += piece) {
        size_t left = file.size - at;
        st = backup_reader_feed(r,
                                slice_of(file.data + at, left < piece ? left : piece));
    }
    enum status end = backup_reader_finish(r);
    ck_assert(st == ST_OK || end == st);
    ck_assert_int_eq(end == ST_OK, backup_reader_why(r)[0] == '\0');
    if (why != NULL)
        memcpy(why, backup_reader_why(r), BACKUP_WHY_BYTES);
    if (counts != NULL)
        *counts = *backup_reader_counts(r);
    backup_reader_free(r);
    return end;
}

START_TEST(what_was_written_comes_back_in_pieces_of_any_size)
{
    static const size_t sizes[] = {1, 7, 512, 4096, 1000000};
    make_file(LONG_BYTES);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ck_assert_int_eq(read_all(sizes[i], NULL, NULL), ST_OK);
        ck_assert(slice_equal(slice_of(got.data, got.size),
                              slice_of(image.data, image.size)));
    }
}
END_TEST

START_TEST(the_head_comes_back)
{
    make_file(SHORT_BYTES);
    struct backup_reader *r = backup_reader_new(image_cb, NULL);
    ck_assert_ptr_null(backup_reader_info(r));
    ck_assert_int_eq(backup_reader_feed(r, slice_of(file.data, BACKUP_HEAD_BYTES)),
                     ST_OK);
    const struct backup_info *i = backup_reader_info(r);
    ck_assert_mem_eq(i->cluster_id, INFO.cluster_id, sizeof i->cluster_id);
    ck_assert_uint_eq(i->node_id, 1);
    ck_assert_uint_eq(i->index, 2006);
    ck_assert_uint_eq(i->term, 2);
    ck_assert_uint_eq(i->chain, INFO.chain);
    ck_assert_uint_eq(i->time_ms, INFO.time_ms);
    ck_assert_uint_eq(i->image_bytes, SHORT_BYTES);
    ck_assert_str_eq(i->queue, "orders");
    ck_assert_str_eq(i->version, "0.1.0");
    backup_reader_free(r);
}
END_TEST

START_TEST(the_counts_are_those_at_the_end_of_the_image)
{
    struct backup_counts counts;
    make_file(LIMIT_SNAPSHOT_CHUNK + 3); /* they cross from one piece to the next */
    ck_assert_int_eq(read_all(1000, NULL, &counts), ST_OK);
    ck_assert_uint_eq(counts.queues, get_u64(image.data + image.size - 40));
    ck_assert_uint_eq(counts.messages, get_u64(image.data + image.size - 16));
    ck_assert_uint_eq(counts.digest, get_u64(image.data + image.size - 8));
}
END_TEST

START_TEST(every_flipped_bit_is_refused)
{
    make_file(SHORT_BYTES);
    for (size_t i = 0; i < file.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            file.data[i] ^= (uint8_t)(1 << bit);
            ck_assert_msg(read_all(file.size, NULL, NULL) == ST_CORRUPT, "byte %zu", i);
            file.data[i] ^= (uint8_t)(1 << bit);
        }
    ck_assert_int_eq(read_all(file.size, NULL, NULL), ST_OK);
}
END_TEST

START_TEST(every_cut_is_refused_and_says_where)
{
    char why[BACKUP_WHY_BYTES];
    char want[64];
    make_file(SHORT_BYTES);
    size_t whole = file.size;
    for (file.size = 0; file.size < whole; file.size++) {
        ck_assert_int_eq(read_all(64, why, NULL), ST_CORRUPT);
        (void)snprintf(want, sizeof want, "at offset %zu: ", file.size);
        ck_assert_msg(strstr(why, want) == why, "%s", why);
        ck_assert_ptr_nonnull(strstr(why, "incomplete"));
    }
}
END_TEST

START_TEST(damage_is_said_with_the_offset_of_its_piece)
{
    char why[BACKUP_WHY_BYTES];
    char want[64];
    make_file(LONG_BYTES);
    size_t at = BACKUP_HEAD_BYTES + LIMIT_SNAPSHOT_CHUNK + 8; /* the second piece */
    file.data[at + 5000] ^= 1;
    ck_assert_int_eq(read_all(4096, why, NULL), ST_CORRUPT);
    (void)snprintf(want, sizeof want, "at offset %zu: damaged", at + 8);
    ck_assert_msg(strstr(why, want) == why, "%s", why);
    ck_assert_uint_eq(got.size, LIMIT_SNAPSHOT_CHUNK); /* what was good came out */
}
END_TEST

START_TEST(nothing_may_follow_the_end)
{
    char why[BACKUP_WHY_BYTES];
    make_file(SHORT_BYTES);
    bytes_put_u8(&file, 0);
    ck_assert_int_eq(read_all(file.size, why, NULL), ST_CORRUPT);
    ck_assert_ptr_nonnull(strstr(why, "follows the end"));
}
END_TEST

START_TEST(pieces_cannot_change_places)
{
    make_file(LONG_BYTES);
    uint8_t *first = file.data + BACKUP_HEAD_BYTES;
    size_t size = LIMIT_SNAPSHOT_CHUNK + 8;
    uint8_t *copy = mem_alloc(size);
    memcpy(copy, first, size);
    memmove(first, first + size, size);
    memcpy(first + size, copy, size);
    mem_free(copy);
    ck_assert_int_eq(read_all(4096, NULL, NULL), ST_CORRUPT);
    ck_assert_uint_eq(got.size, 0);
}
END_TEST

START_TEST(another_file_is_no_backup)
{
    char why[BACKUP_WHY_BYTES];
    make_file(SHORT_BYTES);
    memset(file.data, 'x', BACKUP_HEAD_BYTES);
    ck_assert_int_eq(read_all(file.size, why, NULL), ST_CORRUPT);
    ck_assert_ptr_nonnull(strstr(why, "no backup"));
}
END_TEST

START_TEST(a_newer_version_is_called_that)
{
    make_file(SHORT_BYTES);
    put_u32(file.data + 8, 2);
    put_u32(file.data + BACKUP_HEAD_BYTES - 4,
            crc32c(0, file.data, BACKUP_HEAD_BYTES - 4));
    ck_assert_int_eq(read_all(file.size, NULL, NULL), ST_VERSION);
}
END_TEST

START_TEST(what_the_reader_of_the_image_says_ends_it)
{
    make_file(SHORT_BYTES);
    struct backup_reader *r = backup_reader_new(refuse_cb, NULL);
    ck_assert_int_eq(backup_reader_feed(r, slice_of(file.data, file.size)), ST_NOMEM);
    ck_assert_int_eq(backup_reader_finish(r), ST_NOMEM);
    backup_reader_free(r);
}
END_TEST

/* The example of man/holdfast-files.5; what is not here is zero. */
#define EXAMPLE_IMAGE 40
static const struct {
    size_t at;
    const char *hex;
} EXAMPLE[] = {
    {0, "48464241434b5550 01000000 00000400 3031323334353637 3839616263646500"},
    {32, "0100000000000000 d607000000000000 0200000000000000 8877665544332211"},
    {64, "f0dd872da2010000 2800000000000000 8a6ed028 00000000 6f7264657273"},
    {152, "302e312e30"},
    {508, "fa84eb21"},
    {512, "28000000 eee30359"},
    {520, "0004080d11161a1f 23272c3035393e42 464b4f54585d6165 6a6e73777c808489"},
    {552, "8d92969b9fa3a8ac"},
    {560, "48464241434b4e44 7002000000000000"},
    {576, "0004080d11161a1f 23272c3035393e42 464b4f54585d6165 6a6e73777c808489"},
    {608, "8d92969b9fa3a8ac 9f14ff72 4c6e9f13"},
};

static void
put_hex(uint8_t *out, const char *hex)
{
    while (*hex != '\0') {
        unsigned value = 0;
        if (*hex == ' ') {
            hex++;
            continue;
        }
        ck_assert_int_eq(sscanf(hex, "%2x", &value), 1);
        *out++ = (uint8_t)value;
        hex += 2;
    }
}

START_TEST(the_example_of_the_manual_is_right)
{
    uint8_t want[BACKUP_HEAD_BYTES + 8 + EXAMPLE_IMAGE + BACKUP_END_BYTES] = {0};
    make_file(EXAMPLE_IMAGE);
    for (size_t i = 0; i < sizeof EXAMPLE / sizeof EXAMPLE[0]; i++)
        put_hex(want + EXAMPLE[i].at, EXAMPLE[i].hex);
    ck_assert_uint_eq(file.size, sizeof want);
    ck_assert_mem_eq(file.data, want, sizeof want);
}
END_TEST

Suite *
backup_file_suite(void)
{
    Suite *s = suite_create("backup_file");
    TCase *tc = tcase_create("backup_file");
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_test(tc, what_was_written_comes_back_in_pieces_of_any_size);
    tcase_add_test(tc, the_head_comes_back);
    tcase_add_test(tc, the_counts_are_those_at_the_end_of_the_image);
    tcase_add_test(tc, every_flipped_bit_is_refused);
    tcase_add_test(tc, every_cut_is_refused_and_says_where);
    tcase_add_test(tc, damage_is_said_with_the_offset_of_its_piece);
    tcase_add_test(tc, nothing_may_follow_the_end);
    tcase_add_test(tc, pieces_cannot_change_places);
    tcase_add_test(tc, another_file_is_no_backup);
    tcase_add_test(tc, a_newer_version_is_called_that);
    tcase_add_test(tc, what_the_reader_of_the_image_says_ends_it);
    tcase_add_test(tc, the_example_of_the_manual_is_right);
    suite_add_tcase(s, tc);
    return s;
}
