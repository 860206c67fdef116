/* The codec: vectors, every truncation, every flipped bit, random pieces. */
#include "test_cluster.h"

#include "cluster/frame.h"
#include "cluster/intake.h"

#include <stdlib.h>
#include <string.h>

/* A keepalive; its checksum is from another implementation: the format cannot change
 * unseen. */
static const uint8_t vector_keepalive[] = {0, 0, 0,    0,    32,   0,
                                           0, 0, 0x01, 0xa6, 0x0d, 0x5b};

#define FIRST_VERSION_BYTES (74 + 9) /* of example() without what came later */

static struct frame_hello
example(void)
{
    struct frame_hello hello = {
        .version = 1, .features = 5, .node = 0x0102030405060708};
    for (uint8_t i = 0; i < 16; i++)
        hello.cluster_id[i] = i;
    for (uint8_t i = 0; i < 32; i++)
        hello.relay_key[i] = (uint8_t)(0x80 + i);
    strcpy(hello.client_address, "[::1]:443");
    hello.members_index = 77;
    strcpy(hello.cluster_address, "10.0.0.1:9453");
    return hello;
}

static struct bytes
example_frame(uint8_t kind, size_t size)
{
    struct bytes body = {0};
    struct bytes out = {0};
    for (size_t i = 0; i < size; i++)
        bytes_put_u8(&body, (uint8_t)(i * 13));
    frame_put(&out, kind, slice_of(body.data, body.size));
    bytes_fini(&body);
    return out;
}

START_TEST(an_empty_frame_has_its_documented_bytes)
{
    struct bytes out = {0};
    frame_put(&out, FRAME_KEEPALIVE, slice_of("", 0));
    ck_assert_uint_eq(out.size, sizeof vector_keepalive);
    ck_assert_mem_eq(out.data, vector_keepalive, sizeof vector_keepalive);
    bytes_fini(&out);
}
END_TEST

START_TEST(a_head_with_reserved_bytes_or_no_kind_is_invalid)
{
    struct frame_head head;
    uint8_t in[FRAME_HEAD_BYTES];
    frame_head_end(in, frame_head_begin(in, 3, 10));
    ck_assert_int_eq(frame_head_read(in, 10, &head), ST_OK);
    ck_assert_uint_eq(head.kind, 3);
    ck_assert_uint_eq(head.size, 10);
    ck_assert_int_eq(frame_head_read(in, 9, &head), ST_RANGE);
    for (int at = 5; at < 8; at++) {
        in[at] = 1;
        ck_assert_int_eq(frame_head_read(in, 10, &head), ST_INVALID);
        in[at] = 0;
    }
    in[4] = 0;
    ck_assert_int_eq(frame_head_read(in, 10, &head), ST_INVALID);
}
END_TEST

START_TEST(a_hello_survives_the_round_trip)
{
    struct bytes out = {0};
    struct frame_hello hello = example();
    struct frame_hello back;
    frame_hello_put(&out, &hello);
    ck_assert_uint_eq(out.size, FIRST_VERSION_BYTES + 8 + 2 + 13);
    ck_assert_int_eq(frame_hello_read(slice_of(out.data, out.size), &back), ST_OK);
    ck_assert_mem_eq(&back, &hello, sizeof hello);
    /* What later versions append is ignored. */
    bytes_put_text(&out, "later");
    ck_assert_int_eq(frame_hello_read(slice_of(out.data, out.size), &back), ST_OK);
    ck_assert_str_eq(back.client_address, "[::1]:443");
    bytes_fini(&out);
}
END_TEST

/* But for one that ends where the first version's did, or in what it would not read. */
START_TEST(every_truncation_of_a_hello_is_invalid)
{
    struct bytes out = {0};
    struct frame_hello hello = example();
    frame_hello_put(&out, &hello);
    for (size_t size = 0; size < out.size; size++) {
        struct frame_hello back = {0};
        uint8_t *exact = malloc(size + 1); /* the sanitizer sees a read behind it */
        memcpy(exact + 1, out.data, size);
        bool is_old = size >= FIRST_VERSION_BYTES && size < FIRST_VERSION_BYTES + 10;
        ck_assert_int_eq(frame_hello_read(slice_of(exact + 1, size), &back),
                         is_old ? ST_OK : ST_INVALID);
        ck_assert_uint_eq(back.node, is_old ? hello.node : 0);
        ck_assert_str_eq(back.cluster_address, "");
        free(exact);
    }
    bytes_fini(&out);
}
END_TEST

START_TEST(a_hello_with_a_bad_field_is_turned_down)
{
    struct frame_hello back = {0};
    struct frame_hello hello = example();
    struct bytes out = {0};

    hello.version = 0;
    frame_hello_put(&out, &hello);
    ck_assert_int_eq(frame_hello_read(slice_of(out.data, out.size), &back), ST_VERSION);
    ck_assert_uint_eq(back.node, hello.node);
    bytes_clear(&out);

    hello = example();
    hello.node = 0;
    frame_hello_put(&out, &hello);
    ck_assert_int_eq(frame_hello_read(slice_of(out.data, out.size), &back), ST_INVALID);
    bytes_clear(&out);

    hello = example();
    frame_hello_put(&out, &hello);
    static const char bad[] = {' ', '\n', '\x7f', '\x80', '\0'};
    for (size_t i = 0; i < sizeof bad; i++) {
        out.data[76] = (uint8_t)bad[i];
        ck_assert_int_eq(frame_hello_read(slice_of(out.data, out.size), &back),
                         ST_INVALID);
    }
    bytes_fini(&out);
}
END_TEST

START_TEST(a_long_address_is_cut_and_a_longer_one_refused)
{
    struct bytes out = {0};
    struct frame_hello hello = example();
    struct frame_hello back;
    memset(hello.client_address, 'a', sizeof hello.client_address);
    frame_hello_put(&out, &hello);
    ck_assert_int_eq(frame_hello_read(slice_of(out.data, out.size), &back), ST_OK);
    ck_assert_uint_eq(strlen(back.client_address), 127);
    put_u16(out.data + 72, 128);
    bytes_put_u8(&out, 'a');
    ck_assert_int_eq(frame_hello_read(slice_of(out.data, out.size), &back), ST_INVALID);
    bytes_fini(&out);
}
END_TEST

START_TEST(refusals_keep_their_numbers)
{
    for (uint8_t code = 0; code < 255; code++) {
        enum frame_refusal refusal = frame_refusal_read(slice_of(&code, 1));
        ck_assert_int_eq(refusal, code >= 1 && code <= 8 ? code : 6);
        ck_assert_ptr_nonnull(frame_refusal_name(refusal));
    }
    ck_assert_int_eq(frame_refusal_read(slice_of("", 0)), FRAME_REFUSE_HELLO);
    ck_assert_int_eq(frame_refusal_read(slice_of("\1\1", 2)), FRAME_REFUSE_HELLO);
}
END_TEST

/* --- the intake --- */

START_TEST(no_truncation_of_a_frame_gives_a_frame)
{
    struct bytes whole = example_frame(9, 50);
    for (size_t size = 0; size < whole.size; size++) {
        struct intake in;
        struct slice part = slice_of(whole.data, size);
        uint8_t kind;
        struct blob *body;
        intake_init(&in, 1000);
        ck_assert_int_eq(intake_take(&in, &part), ST_OK);
        ck_assert_uint_eq(part.size, 0);
        ck_assert_int_eq(intake_next(&in, &kind, &body), ST_AGAIN);
        intake_fini(&in);
    }
    bytes_fini(&whole);
}
END_TEST

START_TEST(every_flipped_bit_is_noticed)
{
    struct bytes whole = example_frame(9, 50);
    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        struct intake in;
        struct slice part = slice_of(whole.data, whole.size);
        uint8_t kind;
        struct blob *body;
        whole.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        intake_init(&in, 1000);
        enum status status = intake_take(&in, &part);
        if (status == ST_OK)
            status = intake_next(&in, &kind, &body);
        ck_assert_int_ne(status, ST_OK);
        /* Only a greater size may ask for more instead of failing at once. */
        if (status == ST_AGAIN)
            ck_assert_uint_lt(bit, 32);
        intake_fini(&in);
        whole.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    bytes_fini(&whole);
}
END_TEST

START_TEST(a_frame_above_the_limit_allocates_nothing)
{
    struct intake in;
    uint8_t head[FRAME_HEAD_BYTES];
    frame_head_end(head, frame_head_begin(head, 3, 0xffffffff));
    struct slice part = slice_of(head, sizeof head);
    intake_init(&in, 1024);
    ck_assert_int_eq(intake_take(&in, &part), ST_RANGE);
    ck_assert_ptr_null(in.body);
    intake_fini(&in);
}
END_TEST

/* Feeds stream in random pieces, through the room when there is one; counts frames. */
static unsigned
feed_randomly(struct bytes *stream, unsigned seed)
{
    struct intake in;
    unsigned frames = 0;
    size_t at = 0;
    srand(seed);
    intake_init(&in, 100000);
    while (at < stream->size) {
        size_t room;
        uint8_t *direct = intake_room(&in, &room);
        size_t most = stream->size - at;
        size_t count = 1 + (size_t)rand() % (rand() % 4 == 0 ? 5000 : 20);
        count = count < most ? count : most;
        struct slice part = slice_of(stream->data + at, count);
        if (room > 0 && rand() % 2 == 0) {
            count = count < room ? count : room;
            memcpy(direct, stream->data + at, count);
            intake_fill(&in, count);
            part.size = 0;
        }
        at += count;
        do {
            uint8_t kind;
            struct blob *body;
            ck_assert_int_eq(intake_take(&in, &part), ST_OK);
            if (intake_next(&in, &kind, &body) == ST_OK) {
                ck_assert_uint_eq(kind, 1 + frames % 31);
                ck_assert_uint_eq(body->size, frames * frames % 3000);
                blob_put(body);
                frames++;
            }
        } while (part.size > 0);
    }
    intake_fini(&in);
    return frames;
}

START_TEST(frames_come_out_whatever_the_pieces)
{
    struct bytes stream = {0};
    for (unsigned i = 0; i < 200; i++) {
        struct bytes one = example_frame((uint8_t)(1 + i % 31), i * i % 3000);
        bytes_put(&stream, one.data, one.size);
        bytes_fini(&one);
    }
    for (unsigned seed = 0; seed < 50; seed++)
        ck_assert_uint_eq(feed_randomly(&stream, seed), 200);
    bytes_fini(&stream);
}
END_TEST

START_TEST(random_bytes_never_become_a_frame)
{
    uint8_t noise[4096];
    srand(7);
    for (int round = 0; round < 2000; round++) {
        struct intake in;
        uint8_t kind;
        struct blob *body;
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (uint8_t)rand();
        if (round % 2 == 0) /* a head that passes, but for the checksum */
            frame_head_begin(noise, 1, (uint32_t)rand() % 2000);
        struct slice part = slice_of(noise, sizeof noise);
        intake_init(&in, 2000);
        enum status status = intake_take(&in, &part);
        if (status == ST_OK)
            status = intake_next(&in, &kind, &body);
        ck_assert_int_ne(status, ST_OK);
        intake_fini(&in);
    }
}
END_TEST

Suite *
frame_suite(void)
{
    Suite *suite = suite_create("frame");
    TCase *tcase = tcase_create("frame");
    tcase_add_test(tcase, an_empty_frame_has_its_documented_bytes);
    tcase_add_test(tcase, a_head_with_reserved_bytes_or_no_kind_is_invalid);
    tcase_add_test(tcase, a_hello_survives_the_round_trip);
    tcase_add_test(tcase, every_truncation_of_a_hello_is_invalid);
    tcase_add_test(tcase, a_hello_with_a_bad_field_is_turned_down);
    tcase_add_test(tcase, a_long_address_is_cut_and_a_longer_one_refused);
    tcase_add_test(tcase, refusals_keep_their_numbers);
    tcase_add_test(tcase, no_truncation_of_a_frame_gives_a_frame);
    tcase_add_test(tcase, every_flipped_bit_is_noticed);
    tcase_add_test(tcase, a_frame_above_the_limit_allocates_nothing);
    tcase_add_test(tcase, frames_come_out_whatever_the_pieces);
    tcase_add_test(tcase, random_bytes_never_become_a_frame);
    suite_add_tcase(suite, tcase);
    return suite;
}
