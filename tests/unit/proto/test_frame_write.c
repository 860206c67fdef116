/* Tests of proto/frame_write: the server's frames. */
#include "proto/websocket.h"

#include "suites.h"

#include <zlib.h>

/* One frame of ours, taken apart. */
struct parts {
    uint8_t first;
    size_t head;
    struct slice payload;
};

static struct parts
take_apart(struct slice frame)
{
    struct parts p = {.first = frame.data[0], .head = 2};
    uint64_t size = frame.data[1];
    ck_assert_uint_le(size, 127); /* not masked */
    if (size == 126) {
        size = (uint64_t)frame.data[2] << 8 | frame.data[3];
        ck_assert_uint_ge(size, 126);
        p.head = 4;
    } else if (size == 127) {
        size = 0;
        for (int i = 2; i < 10; i++)
            size = size << 8 | frame.data[i];
        ck_assert_uint_ge(size, 65536);
        p.head = 10;
    }
    ck_assert_uint_eq(size, frame.size - p.head);
    p.payload = slice_of(frame.data + p.head, size);
    return p;
}

static const size_t sizes[] = {0, 1, 125, 126, 127, 1000, 65535, 65536, 200000};

START_TEST(frames_are_whole_final_and_not_masked)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct bytes out = {NULL, 0, 0};
        char *payload = repeat("y", sizes[i]);
        ws_encode(&out, WS_BINARY, slice_of(payload, sizes[i]));
        struct parts p = take_apart(slice_of(out.data, out.size));
        ck_assert_uint_eq(p.first, 0x82);
        ck_assert_slice_eq(p.payload, slice_of(payload, sizes[i]));
        bytes_fini(&out);
        mem_free(payload);
    }
}
END_TEST

START_TEST(a_frame_in_two_steps_is_the_same)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct bytes out = {NULL, 0, 0};
        struct bytes other = {NULL, 0, 0};
        char *payload = repeat("z", sizes[i]);
        for (int turn = 0; turn < 2; turn++) { /* behind another frame, too */
            size_t at = ws_encode_begin(&out);
            bytes_put(&out, payload, sizes[i]);
            ws_encode_end(&out, at, WS_TEXT);
            ws_encode(&other, WS_TEXT, slice_of(payload, sizes[i]));
        }
        ck_assert(slice_equal(slice_of(out.data, out.size),
                              slice_of(other.data, other.size)));
        bytes_fini(&out);
        bytes_fini(&other);
        mem_free(payload);
    }
}
END_TEST

/* Unpacks with a window of bits; the tail is put back. */
static struct bytes
unpack(struct slice packed, int bits, size_t size)
{
    struct bytes in = {NULL, 0, 0};
    struct bytes out = {NULL, 0, 0};
    z_stream z = {0};
    ck_assert_int_eq(inflateInit2(&z, -bits), Z_OK);
    bytes_put_slice(&in, packed);
    bytes_put(&in, "\x00\x00\xff\xff", 4);
    z.next_in = in.data;
    z.avail_in = (uInt)in.size;
    z.next_out = bytes_extend(&out, size + 1);
    z.avail_out = (uInt)size + 1;
    ck_assert_int_eq(inflate(&z, Z_SYNC_FLUSH), Z_OK);
    ck_assert_uint_eq(z.avail_out, 1);
    out.size--;
    (void)inflateEnd(&z);
    bytes_fini(&in);
    return out;
}

START_TEST(packed_frames_unpack_within_their_window)
{
    struct ws_codec *codec = ws_codec_new();
    for (uint8_t bits = 9; bits <= 15; bits++) {
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            struct bytes out = {NULL, 0, 0};
            struct bytes text = {NULL, 0, 0};
            while (text.size < sizes[i])
                bytes_printf(&text, "{\"body\":\"%zu\",\"type\":1}", text.size);
            text.size = sizes[i];
            ws_encode(&out, WS_PING, LITERAL("before"));
            size_t at = ws_encode_begin(&out);
            bytes_put(&out, text.data, text.size);
            ws_encode_end_deflate(&out, at, WS_TEXT, codec, bits);
            struct parts p = take_apart(slice_of(out.data + at, out.size - at));
            ck_assert_uint_eq(p.first, text.size < WS_PACK_LEAST ? 0x81 : 0xc1);
            if (p.first == 0xc1) {
                ck_assert_uint_lt(p.payload.size, text.size);
                struct bytes back = unpack(p.payload, bits, text.size);
                ck_assert(slice_equal(slice_of(back.data, back.size),
                                      slice_of(text.data, text.size)));
                bytes_fini(&back);
            } else {
                ck_assert_slice_eq(p.payload, slice_of(text.data, text.size));
            }
            bytes_fini(&out);
            bytes_fini(&text);
        }
    }
    ws_codec_free(codec);
}
END_TEST

START_TEST(what_does_not_get_smaller_goes_out_plain)
{
    struct ws_codec *codec = ws_codec_new();
    struct bytes out = {NULL, 0, 0};
    uint8_t noise[70000];
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)random_next(&seed);
    for (size_t size = 250; size <= sizeof(noise); size += 9950) {
        bytes_clear(&out);
        size_t at = ws_encode_begin(&out);
        bytes_put(&out, noise, size);
        ws_encode_end_deflate(&out, at, WS_BINARY, codec, 15);
        struct parts p = take_apart(slice_of(out.data, out.size));
        ck_assert_uint_eq(p.first, 0x82);
        ck_assert(slice_equal(p.payload, slice_of(noise, size)));
    }
    bytes_fini(&out);
    ws_codec_free(codec);
}
END_TEST

START_TEST(a_close_frame_has_its_code)
{
    struct bytes out = {NULL, 0, 0};
    ws_encode_close(&out, 1009);
    ck_assert_slice_eq(slice_of(out.data, out.size), LITERAL("\x88\x02\x03\xf1"));
    bytes_clear(&out);
    ws_encode_close(&out, 1005);
    ck_assert_slice_eq(slice_of(out.data, out.size), LITERAL("\x88\x00"));
    bytes_fini(&out);
}
END_TEST

Suite *
suite_frame_write(void)
{
    const TTest *const tests[] = {
        frames_are_whole_final_and_not_masked,
        a_frame_in_two_steps_is_the_same,
        packed_frames_unpack_within_their_window,
        what_does_not_get_smaller_goes_out_plain,
        a_close_frame_has_its_code,
    };
    return suite_of("frame_write", tests, COUNT_OF(tests));
}
