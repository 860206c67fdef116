/* Tests of queue/record.h: what is written is read, and nothing else is. */
#include "queue/record.h"

#include "base/crc32c.h"
#include "rig.h"
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The example of man/holdfast-files.5: an entry with one publish, to be synced. */
static const char example[] = "01010000"         /* sync, version, zero */
                              "01000000"         /* records */
                              "7b28f129a2010000" /* stamp */
                              "07"               /* publish */
                              "40000000"         /* size */
                              "09000000"         /* queue */
                              "01a229f1287b7005800000000000004d" /* id */
                              "2a00000000000000"                 /* order */
                              "7b28f129a2010000"                 /* received */
                              "3c000000"                         /* delay */
                              "01"                               /* type */
                              "02"                               /* durability */
                              "03"                               /* key size */
                              "00"                               /* zero */
                              "05000000"                         /* body size */
                              "1b0ed981"                         /* body CRC */
                              "62387276"                         /* head CRC */
                              "6b2d31"                           /* key */
                              "48656c6c6f";                      /* body */

static void
encode_sample(struct bytes *out, enum record_type type)
{
    struct record record = rig_sample(type);
    bytes_clear(out);
    entry_begin(out, 1796000000123u);
    entry_add(out, &record);
}

static struct slice
slice_of_bytes(const struct bytes *b)
{
    return slice_of(b->data, b->size);
}

/* Reads the whole entry; the status that ended it. */
static enum status
read_all(struct slice entry, uint32_t *ret_count)
{
    struct entry_reader reader;
    struct record record;
    enum status status = entry_open(&reader, entry);
    *ret_count = 0;
    while (status == ST_OK) {
        status = entry_next(&reader, &record);
        *ret_count += status == ST_OK;
    }
    return status;
}

START_TEST(every_type_comes_back_as_it_was)
{
    enum record_type type = (enum record_type)_i;
    struct bytes out = {0};
    struct bytes again = {0};
    struct entry_reader reader;
    struct record record;
    encode_sample(&out, type);
    ck_assert_uint_eq(entry_count(&out), 1);
    ck_assert_int_eq(entry_open(&reader, slice_of_bytes(&out)), ST_OK);
    ck_assert_uint_eq(reader.stamp_ms, 1796000000123u);
    ck_assert(!reader.is_sync);
    ck_assert_int_eq(entry_next(&reader, &record), ST_OK);
    ck_assert_int_eq((int)record.type, (int)type);
    ck_assert_uint_eq(record.queue, rig_sample(type).queue);
    ck_assert_int_eq(entry_next(&reader, &record), ST_NOTFOUND);
    /* The decoded record encodes to the same bytes. */
    ck_assert_int_eq(entry_open(&reader, slice_of_bytes(&out)), ST_OK);
    ck_assert_int_eq(entry_next(&reader, &record), ST_OK);
    entry_begin(&again, 1796000000123u);
    entry_add(&again, &record);
    ck_assert(slice_equal(slice_of_bytes(&out), slice_of_bytes(&again)));
    bytes_fini(&out);
    bytes_fini(&again);
}
END_TEST

START_TEST(the_fields_of_a_publish_come_back)
{
    struct bytes out = {0};
    struct entry_reader reader;
    struct record record;
    encode_sample(&out, RECORD_PUBLISH);
    ck_assert_int_eq(entry_open(&reader, slice_of_bytes(&out)), ST_OK);
    ck_assert_int_eq(entry_next(&reader, &record), ST_OK);
    struct record sample = rig_sample(RECORD_PUBLISH);
    const struct record_publish *p = &record.publish;
    ck_assert_int_eq(uuid_compare(&p->id, &sample.publish.id), 0);
    ck_assert_uint_eq(p->order, 42);
    ck_assert_uint_eq(p->received_ms, 1796000000123u);
    ck_assert_uint_eq(p->delay_secs, 60);
    ck_assert_uint_eq(p->type, 1);
    ck_assert_uint_eq(p->durability, 2);
    ck_assert(slice_equal(p->key, slice_from_text("k-1")));
    ck_assert(slice_equal(p->body, slice_from_text("Hello")));
    ck_assert(record_publish_is_whole(p));
    bytes_fini(&out);
}
END_TEST

START_TEST(the_example_of_the_man_page_is_what_is_written)
{
    char hex[sizeof example];
    struct bytes out = {0};
    encode_sample(&out, RECORD_PUBLISH);
    entry_set_sync(&out);
    ck_assert_uint_eq(out.size * 2, strlen(example));
    for (size_t i = 0; i < out.size; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", out.data[i]);
    ck_assert_str_eq(hex, example);
    bytes_fini(&out);
}
END_TEST

START_TEST(every_truncation_is_refused)
{
    struct bytes out = {0};
    uint32_t count;
    encode_sample(&out, (enum record_type)_i);
    ck_assert_int_eq(read_all(slice_of_bytes(&out), &count), ST_NOTFOUND);
    for (size_t size = 0; size < out.size; size++) {
        uint8_t *copy = malloc(size + 1); /* exact, for the address sanitizer */
        memcpy(copy, out.data, size);
        ck_assert_int_eq(read_all(slice_of(copy, size), &count), ST_CORRUPT);
        ck_assert_uint_eq(count, 0);
        free(copy);
    }
    bytes_put_u8(&out, 0);
    ck_assert_int_eq(read_all(slice_of_bytes(&out), &count), ST_CORRUPT);
    bytes_fini(&out);
}
END_TEST

START_TEST(flipped_bits_never_crash)
{
    struct bytes out = {0};
    uint32_t count;
    encode_sample(&out, (enum record_type)_i);
    for (size_t bit = 0; bit < out.size * 8; bit++) {
        out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        enum status status = read_all(slice_of_bytes(&out), &count);
        ck_assert(status == ST_NOTFOUND || status == ST_CORRUPT ||
                  status == ST_VERSION);
        out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ck_assert_int_eq(read_all(slice_of_bytes(&out), &count), ST_NOTFOUND);
    bytes_fini(&out);
}
END_TEST

START_TEST(a_flip_in_the_head_of_a_publish_is_found_and_one_in_its_body_named)
{
    struct bytes out = {0};
    encode_sample(&out, RECORD_PUBLISH);
    size_t fields = RECORD_HEADER_BYTES + 5;
    for (size_t at = fields; at < out.size; at++) {
        struct entry_reader reader;
        struct record record;
        out.data[at] ^= 0x04;
        ck_assert_int_eq(entry_open(&reader, slice_of_bytes(&out)), ST_OK);
        enum status status = entry_next(&reader, &record);
        if (at < out.size - 5) {
            ck_assert_int_eq(status, ST_CORRUPT);
        } else {
            ck_assert_int_eq(status, ST_OK);
            ck_assert(!record_publish_is_whole(&record.publish));
        }
        out.data[at] ^= 0x04;
    }
    bytes_fini(&out);
}
END_TEST

START_TEST(an_entry_says_how_far_cluster_time_is_behind)
{
    struct bytes out = {0};
    struct entry_reader reader;
    encode_sample(&out, RECORD_ACK);
    ck_assert_int_eq(entry_open(&reader, slice_of_bytes(&out)), ST_OK);
    ck_assert_uint_eq(reader.behind_secs, 0);
    entry_set_behind(&out, 0x0102);
    ck_assert_uint_eq(out.data[2], 2);
    ck_assert_uint_eq(out.data[3], 1);
    ck_assert_int_eq(entry_open(&reader, slice_of_bytes(&out)), ST_OK);
    ck_assert_uint_eq(reader.behind_secs, 0x0102);
    struct state *s = state_new();
    encode_sample(&out, RECORD_NOOP);
    entry_set_behind(&out, 0xffff);
    state_apply(s, 1, slice_of_bytes(&out));
    ck_assert_uint_eq(s->behind_secs, 0xffff);
    state_free(s);
    bytes_fini(&out);
}
END_TEST

START_TEST(unknown_versions_and_types_are_refused_as_such)
{
    struct bytes out = {0};
    uint32_t count;
    encode_sample(&out, RECORD_ACK);
    out.data[1] = RECORD_VERSION + 1;
    ck_assert_int_eq(read_all(slice_of_bytes(&out), &count), ST_VERSION);
    out.data[1] = RECORD_VERSION;
    out.data[RECORD_HEADER_BYTES] = RECORD_TYPE_COUNT;
    ck_assert_int_eq(read_all(slice_of_bytes(&out), &count), ST_VERSION);
    out.data[RECORD_HEADER_BYTES] = RECORD_ACK;
    out.data[0] = 2;
    ck_assert_int_eq(read_all(slice_of_bytes(&out), &count), ST_CORRUPT);
    bytes_fini(&out);
}
END_TEST

/* A publish whose head is whole but which says what no leader says. */
static enum status
read_publish_with(size_t offset, uint8_t value)
{
    struct bytes out = {0};
    uint32_t count;
    encode_sample(&out, RECORD_PUBLISH);
    uint8_t *fields = out.data + RECORD_HEADER_BYTES + 5;
    fields[offset] = value;
    put_u32(fields + 52, crc32c(crc32c(0, fields, 52), fields + 56, 3));
    enum status status = read_all(slice_of_bytes(&out), &count);
    bytes_fini(&out);
    return status;
}

START_TEST(values_out_of_range_are_refused)
{
    ck_assert_int_eq(read_publish_with(40, 2), ST_NOTFOUND); /* type binary: fine */
    ck_assert_int_eq(read_publish_with(40, 0), ST_CORRUPT);  /* type */
    ck_assert_int_eq(read_publish_with(40, 3), ST_CORRUPT);
    ck_assert_int_eq(read_publish_with(41, 0), ST_NOTFOUND);   /* passed on: fine */
    ck_assert_int_eq(read_publish_with(41, 3), ST_CORRUPT);    /* durability */
    ck_assert_int_eq(read_publish_with(38, 3), ST_CORRUPT);    /* delay over two days */
    ck_assert_int_eq(read_publish_with(27, 0x40), ST_CORRUPT); /* order over 2^62 */
    ck_assert_int_eq(read_publish_with(34, 1), ST_CORRUPT);    /* time over 2^48 */
    ck_assert_int_eq(read_publish_with(43, 1), ST_CORRUPT);    /* zero */
    ck_assert_int_eq(read_publish_with(0, 0), ST_CORRUPT);     /* queue 0 */
}
END_TEST

/* The state keeps the number after it. */
START_TEST(the_highest_queue_number_is_refused_for_a_new_queue)
{
    for (uint32_t number = UINT32_MAX - 1; number != 0; number++) {
        struct record record = rig_sample(RECORD_QUEUE_CREATE);
        enum status wanted = number == UINT32_MAX ? ST_CORRUPT : ST_NOTFOUND;
        struct bytes out = {0};
        uint32_t count;
        record.queue = number;
        entry_begin(&out, 5);
        entry_add(&out, &record);
        ck_assert_int_eq(read_all(slice_of_bytes(&out), &count), wanted);
        bytes_fini(&out);
    }
}
END_TEST

START_TEST(several_records_come_in_order_and_sync_is_kept)
{
    struct bytes out = {0};
    struct entry_reader reader;
    struct record record;
    entry_begin(&out, 5);
    for (int type = RECORD_NOOP; type < RECORD_TYPE_COUNT; type++) {
        record = rig_sample((enum record_type)type);
        entry_add(&out, &record);
    }
    entry_set_sync(&out);
    ck_assert_int_eq(entry_open(&reader, slice_of_bytes(&out)), ST_OK);
    ck_assert(reader.is_sync);
    for (int type = RECORD_NOOP; type < RECORD_TYPE_COUNT; type++) {
        ck_assert_int_eq(entry_next(&reader, &record), ST_OK);
        ck_assert_int_eq((int)record.type, type);
    }
    ck_assert_int_eq(entry_next(&reader, &record), ST_NOTFOUND);
    bytes_fini(&out);
}
END_TEST

Suite *
suite_record(void)
{
    Suite *suite = suite_create("record");
    TCase *tc = tcase_create("record");
    tcase_add_loop_test(tc, every_type_comes_back_as_it_was, RECORD_NOOP,
                        RECORD_TYPE_COUNT);
    tcase_add_test(tc, the_fields_of_a_publish_come_back);
    tcase_add_test(tc, the_example_of_the_man_page_is_what_is_written);
    tcase_add_loop_test(tc, every_truncation_is_refused, RECORD_NOOP,
                        RECORD_TYPE_COUNT);
    tcase_add_loop_test(tc, flipped_bits_never_crash, RECORD_NOOP, RECORD_TYPE_COUNT);
    tcase_add_test(tc,
                   a_flip_in_the_head_of_a_publish_is_found_and_one_in_its_body_named);
    tcase_add_test(tc, unknown_versions_and_types_are_refused_as_such);
    tcase_add_test(tc, an_entry_says_how_far_cluster_time_is_behind);
    tcase_add_test(tc, values_out_of_range_are_refused);
    tcase_add_test(tc, the_highest_queue_number_is_refused_for_a_new_queue);
    tcase_add_test(tc, several_records_come_in_order_and_sync_is_kept);
    suite_add_tcase(suite, tc);
    return suite;
}
