/* Tests of permessage-deflate: packed messages in, frames that unpack out. */
#include "proto/deflate.h"

#include "proto/websocket.h"
#include "suites.h"
#include "transcript.h"

#include <zlib.h>

#define FIN    0x80
#define PACKED 0x40

static struct bytes input;

/* message packed as a client does it, without the tail. */
static struct bytes
pack(struct slice message, int level, int bits, int flush)
{
    struct bytes out = {NULL, 0, 0};
    z_stream z = {0};
    ck_assert_int_eq(deflateInit2(&z, level, Z_DEFLATED, -bits, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    size_t room = message.size + message.size / 8 + 1024;
    z.next_in = (Bytef *)(uintptr_t)message.data;
    z.avail_in = (uInt)message.size;
    z.next_out = bytes_extend(&out, room);
    z.avail_out = (uInt)room;
    (void)deflate(&z, flush);
    ck_assert_uint_eq(z.avail_in, 0);
    out.size = room - z.avail_out - (flush == Z_SYNC_FLUSH ? 4 : 0);
    (void)deflateEnd(&z);
    return out;
}

static const char *
decode(size_t max_bytes)
{
    struct transcript_options options = {.may_compress = true, .max_bytes = max_bytes};
    return transcript(slice_of(input.data, input.size), options);
}

static const char *
decode_packed(struct slice packed, size_t max_bytes)
{
    bytes_clear(&input);
    put_client_frame(&input, FIN | PACKED | WS_TEXT, packed);
    return decode(max_bytes);
}

START_TEST(packed_messages_are_unpacked)
{
    for (int level = 0; level <= 9; level++) {
        struct bytes packed =
            pack(LITERAL("hello hello hello"), level, 15, Z_SYNC_FLUSH);
        ck_assert_str_eq(decode_packed(slice_of(packed.data, packed.size), 0),
                         "text:hello hello hello");
        bytes_fini(&packed);
    }
    /* RFC 7692 section 7.2.3: "Hello" in one block, in two, stored, with BFINAL. */
    ck_assert_str_eq(decode_packed(LITERAL("\xf2\x48\xcd\xc9\xc9\x07\x00"), 0),
                     "text:Hello");
    ck_assert_str_eq(decode_packed(LITERAL("\xf2\x48\x05\x00\x00\x00\xff\xff\xca"
                                           "\xc9\xc9\x07\x00"),
                                   0),
                     "text:Hello");
    ck_assert_str_eq(decode_packed(LITERAL("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f"
                                           "\x00"),
                                   0),
                     "text:Hello");
    ck_assert_str_eq(decode_packed(LITERAL("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"), 0),
                     "text:Hello");
    /* The same without the padding byte, and the empty message in three spellings. */
    ck_assert_str_eq(decode_packed(LITERAL("\xf3\x48\xcd\xc9\xc9\x07\x00"), 0),
                     "text:Hello");
    ck_assert_str_eq(decode_packed(LITERAL("\x00"), 0), "text:");
    ck_assert_str_eq(decode_packed(LITERAL("\x02\x00"), 0), "text:");
    ck_assert_str_eq(decode_packed(LITERAL(""), 0), "text:");
}
END_TEST

START_TEST(packed_and_plain_messages_mix)
{
    struct bytes packed = pack(LITERAL("packed"), 6, 15, Z_SYNC_FLUSH);
    struct slice all = slice_of(packed.data, packed.size);
    bytes_clear(&input);
    put_client_frame(&input, FIN | WS_TEXT, LITERAL("plain"));
    put_client_frame(&input, FIN | PACKED | WS_BINARY, all);
    put_client_frame(&input, PACKED | WS_TEXT, slice_of(all.data, 2));
    put_client_frame(&input, FIN | WS_PING, LITERAL("p"));
    put_client_frame(&input, 0, slice_of(all.data + 2, 1));
    put_client_frame(&input, FIN, slice_of(all.data + 3, all.size - 3));
    put_client_frame(&input, 2, LITERAL("pl"));
    put_client_frame(&input, FIN, LITERAL("ain"));
    const char *expected = "text:plain binary:packed ping:p text:packed binary:plain";
    ck_assert_str_eq(decode(0), expected);
    struct transcript_options options = {.may_compress = true};
    for (options.first = 1; options.first < input.size; options.first++)
        ck_assert_str_eq(transcript(slice_of(input.data, input.size), options),
                         expected);
    bytes_fini(&packed);
}
END_TEST

START_TEST(the_sign_of_packing_stands_in_the_first_frame_only)
{
    bytes_clear(&input);
    put_client_frame(&input, PACKED | WS_TEXT, LITERAL("\xf2\x48"));
    put_client_frame(&input, FIN | PACKED, LITERAL("\xcd\xc9\xc9\x07\x00"));
    ck_assert_str_eq(decode(0), "error:1002");
    bytes_clear(&input);
    put_client_frame(&input, FIN | PACKED | WS_PING, LITERAL(""));
    ck_assert_str_eq(decode(0), "error:1002");
}
END_TEST

START_TEST(what_cannot_be_unpacked_is_1011)
{
    ck_assert_str_eq(decode_packed(LITERAL("\x07\xff\xff\x12\x34"), 0), "error:1011");
    ck_assert_str_eq(decode_packed(LITERAL("\x07\x00\x01"), 0), "error:1011");
    ck_assert_str_eq(decode_packed(LITERAL("\x01\x05\x00\xfa\x00"), 0), "error:1011");
    /* A reference to what was never there. */
    ck_assert_str_eq(decode_packed(LITERAL("\x02\x13\x00\x00"), 0), "error:1011");
    /* Cut short, at every byte. */
    char *text = repeat("{\"body\":\"some text that is long enough\"}", 4);
    struct bytes packed = pack(slice_from_text(text), 6, 15, Z_SYNC_FLUSH);
    for (size_t size = 1; size + 1 < packed.size; size++)
        ck_assert_str_eq(decode_packed(slice_of(packed.data, size), 0), "error:1011");
    bytes_fini(&packed);
    mem_free(text);
}
END_TEST

START_TEST(an_error_leaves_the_codec_usable)
{
    struct ws_codec *codec = ws_codec_new();
    struct slice message;
    ck_assert_int_eq(ws_unpack(codec, LITERAL("\x07\xff"), 100, &message), ST_CORRUPT);
    ck_assert_int_eq(
        ws_unpack(codec, LITERAL("\xf2\x48\xcd\xc9\xc9\x07\x00"), 4, &message),
        ST_RANGE);
    ck_assert_int_eq(
        ws_unpack(codec, LITERAL("\xf2\x48\xcd\xc9\xc9\x07\x00"), 5, &message), ST_OK);
    ck_assert_slice_eq(message, LITERAL("Hello"));
    ws_codec_free(codec);
}
END_TEST

START_TEST(packed_text_that_is_not_utf8_is_1007)
{
    struct bytes packed = pack(LITERAL("abc\xff"), 6, 15, Z_SYNC_FLUSH);
    ck_assert_str_eq(decode_packed(slice_of(packed.data, packed.size), 0),
                     "error:1007");
    bytes_fini(&packed);
    packed = pack(LITERAL("abc\xe2\x82"), 6, 15, Z_SYNC_FLUSH);
    ck_assert_str_eq(decode_packed(slice_of(packed.data, packed.size), 0),
                     "error:1007");
    bytes_fini(&packed);
}
END_TEST

START_TEST(the_limit_holds_for_the_unpacked_size)
{
    static const size_t limits[] = {1024, 65536, 1048576};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        char expected[40];
        char *text = repeat("x", limits[i]);
        struct bytes packed = pack(slice_of(text, limits[i]), 9, 15, Z_SYNC_FLUSH);
        snprintf(expected, sizeof(expected), "text:%zu", limits[i]);
        ck_assert_str_eq(decode_packed(slice_of(packed.data, packed.size), limits[i]),
                         expected);
        ck_assert_str_eq(
            decode_packed(slice_of(packed.data, packed.size), limits[i] - 1),
            "error:1009");
        bytes_fini(&packed);
        mem_free(text);
    }
}
END_TEST

START_TEST(what_does_not_pack_well_is_taken_at_the_limit)
{
    uint8_t noise[65536];
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)(128 | random_next(&seed));
    for (int level = 0; level < 10; level += 3) {
        struct bytes packed =
            pack(slice_of(noise, sizeof(noise)), level, 9, Z_SYNC_FLUSH);
        bytes_clear(&input);
        put_client_frame(&input, FIN | PACKED | WS_BINARY,
                         slice_of(packed.data, packed.size));
        ck_assert_str_eq(decode(65536), "binary:65536");
        bytes_fini(&packed);
    }
}
END_TEST

START_TEST(a_bomb_is_stopped_at_the_limit)
{
    /* 60 MiB of zeros in 60 KiB; a second layer would not help it. */
    size_t size = 60u << 20;
    uint8_t *zeros = mem_calloc(1, size);
    struct bytes packed = pack(slice_of(zeros, size), 9, 15, Z_SYNC_FLUSH);
    mem_free(zeros);
    ck_assert_uint_lt(packed.size, 65536);
    struct ws_codec *codec = ws_codec_new();
    struct slice message;
    (void)mem_fail_at(0);
    ck_assert_int_eq(
        ws_unpack(codec, slice_of(packed.data, packed.size), 65536, &message),
        ST_RANGE);
    ws_codec_free(codec);
    ck_assert_str_eq(decode_packed(slice_of(packed.data, packed.size), 65536),
                     "error:1009");
    bytes_fini(&packed);
}
END_TEST

START_TEST(many_final_blocks_end)
{
    /* Each two bytes are a whole stream of nothing. */
    bytes_clear(&input);
    struct bytes packed = {NULL, 0, 0};
    for (int i = 0; i < 30000; i++)
        bytes_put(&packed, "\x03\x00", 2);
    bytes_put_u8(&packed, 0);
    ck_assert_str_eq(decode_packed(slice_of(packed.data, packed.size), 65536), "text:");
    bytes_fini(&packed);
}
END_TEST

START_TEST(without_memory_unpacking_says_so)
{
    for (uint64_t nth = 1; nth < 10; nth++) {
        struct ws_codec *codec = ws_codec_new();
        struct slice message;
        mem_fail_at(nth);
        enum status status =
            ws_unpack(codec, LITERAL("\xf2\x48\xcd\xc9\xc9\x07\x00"), 9, &message);
        ck_assert_int_eq(status, mem_fail_at(0) < nth ? ST_OK : ST_NOMEM);
        if (nth == 1)
            ck_assert_int_eq(status, ST_NOMEM);
        /* And it can be tried again. */
        ck_assert_int_eq(
            ws_unpack(codec, LITERAL("\xf2\x48\xcd\xc9\xc9\x07\x00"), 9, &message),
            ST_OK);
        ws_codec_free(codec);
    }
}
END_TEST

START_TEST(without_memory_a_frame_goes_out_plain)
{
    char *text = repeat("{\"body\":\"x\"}", 100);
    for (uint64_t nth = 1; nth < 10; nth++) {
        struct ws_codec *codec = ws_codec_new();
        struct slice packed;
        mem_fail_at(nth);
        bool is_packed = ws_pack(codec, 15, slice_from_text(text), &packed);
        ck_assert(is_packed == (mem_fail_at(0) < nth));
        ck_assert(ws_pack(codec, 15, slice_from_text(text), &packed));
        ws_codec_free(codec);
    }
    mem_free(text);
}
END_TEST

Suite *
suite_deflate(void)
{
    const TTest *const tests[] = {
        packed_messages_are_unpacked,
        packed_and_plain_messages_mix,
        the_sign_of_packing_stands_in_the_first_frame_only,
        what_cannot_be_unpacked_is_1011,
        an_error_leaves_the_codec_usable,
        packed_text_that_is_not_utf8_is_1007,
        the_limit_holds_for_the_unpacked_size,
        what_does_not_pack_well_is_taken_at_the_limit,
        a_bomb_is_stopped_at_the_limit,
        many_final_blocks_end,
        without_memory_unpacking_says_so,
        without_memory_a_frame_goes_out_plain,
    };
    return suite_of("deflate", tests, COUNT_OF(tests));
}
