/* Tests of proto/websocket: sizes, counts and memory. */
#include "proto/websocket.h"

#include "suites.h"
#include "transcript.h"

#define FIN    0x80
#define PACKED 0x40

static struct bytes input;

static const char *
decode(size_t max_bytes, bool may_compress)
{
    struct transcript_options options = {.may_compress = may_compress,
                                         .max_bytes = max_bytes};
    return transcript(slice_of(input.data, input.size), options);
}

static void
put_many(unsigned head, size_t size)
{
    char *payload = repeat("x", size);
    put_client_frame(&input, head, slice_of(payload, size));
    mem_free(payload);
}

/* Only the head of a frame that announces length. */
static void
put_head(unsigned head, uint64_t length)
{
    bytes_put_u8(&input, (uint8_t)head);
    bytes_put_u8(&input, 0xff);
    bytes_put_u64be(&input, length);
    bytes_put_u32(&input, 0);
}

START_TEST(a_message_at_the_limit_is_taken_and_one_more_is_1009)
{
    static const size_t limits[] = {1024, 65536, 1048576};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        char expected[40];
        snprintf(expected, sizeof(expected), "text:%zu", limits[i]);
        bytes_clear(&input);
        put_many(FIN | WS_TEXT, limits[i]);
        ck_assert_str_eq(decode(limits[i], false), expected);
        ck_assert_str_eq(decode(limits[i] - 1, false), "error:1009");
    }
}
END_TEST

START_TEST(a_length_is_refused_without_its_payload)
{
    static const uint64_t lengths[] = {65537, 1u << 20, (uint64_t)1 << 40, INT64_MAX};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        bytes_clear(&input);
        put_head(FIN | WS_TEXT, lengths[i]);
        ck_assert_str_eq(decode(65536, false), "error:1009");
        bytes_clear(&input);
        put_head(FIN | PACKED | WS_BINARY, lengths[i] + 65536);
        ck_assert_str_eq(decode(65536, true),
                         lengths[i] == INT64_MAX ? "error:1002" : "error:1009");
    }
}
END_TEST

START_TEST(fragments_count_together)
{
    bytes_clear(&input);
    put_many(WS_TEXT, 1000);
    put_many(WS_CONTINUATION, 24);
    put_many(FIN | WS_PING, 100);
    put_many(FIN | WS_CONTINUATION, 0);
    ck_assert_str_eq(decode(1024, false), "ping:100 text:1024");
    bytes_clear(&input);
    put_many(WS_TEXT, 1000);
    put_many(WS_CONTINUATION, 24);
    put_head(WS_CONTINUATION, 65537);
    ck_assert_str_eq(decode(66560, false), "error:1009");
    bytes_clear(&input);
    put_many(WS_TEXT, 1000);
    put_many(WS_CONTINUATION, 25);
    ck_assert_str_eq(decode(1024, false), "error:1009");
}
END_TEST

START_TEST(a_lower_limit_holds_within_a_message)
{
    struct ws_decoder d;
    struct ws_codec *codec = ws_codec_new();
    size_t used;
    ws_decoder_init(&d, false);
    bytes_clear(&input);
    put_many(WS_TEXT, 5000);
    struct ws_event event = ws_decode(&d, codec, input.data, input.size, 65536, &used);
    ck_assert_int_eq(event.kind, WS_EVENT_NONE);
    bytes_clear(&input);
    put_many(FIN | WS_CONTINUATION, 0);
    event = ws_decode(&d, codec, input.data, input.size, 1024, &used);
    ck_assert_int_eq(event.kind, WS_EVENT_ERROR);
    ck_assert_uint_eq(event.close_code, 1009);
    ws_decoder_fini(&d);
    ws_codec_free(codec);
}
END_TEST

START_TEST(too_many_fragments_are_1009)
{
    bytes_clear(&input);
    put_many(WS_TEXT, 0);
    for (size_t i = 2; i < LIMIT_MESSAGE_FRAGMENTS; i++)
        put_many(WS_CONTINUATION, 0);
    size_t before = input.size;
    put_many(FIN | WS_CONTINUATION, 1);
    ck_assert_str_eq(decode(1024, false), "text:x");
    input.size = before;
    put_many(WS_CONTINUATION, 0);
    ck_assert_str_eq(decode(1024, false), "| within");
    put_many(FIN | WS_CONTINUATION, 1);
    ck_assert_str_eq(decode(1024, false), "error:1009");
    /* The count begins anew with each message. */
    bytes_clear(&input);
    for (size_t i = 0; i < LIMIT_MESSAGE_FRAGMENTS; i++) {
        put_many(WS_TEXT, 0);
        put_many(FIN | WS_CONTINUATION, 0);
    }
    ck_assert_ptr_null(strstr(decode(1024, false), "error"));
}
END_TEST

/* Feeds size bytes that end nothing, and gives the memory that is held then. */
static size_t
memory_after(struct ws_decoder *d, struct ws_codec *codec, uint8_t *data, size_t size)
{
    size_t used;
    struct ws_event event = ws_decode(d, codec, data, size, 1048576, &used);
    ck_assert_int_eq(event.kind, WS_EVENT_NONE);
    ck_assert_uint_eq(used, size);
    return ws_decoder_memory_bytes(d);
}

START_TEST(memory_follows_what_has_come)
{
    struct ws_decoder d;
    struct ws_codec *codec = ws_codec_new();
    bytes_clear(&input);
    put_many(FIN | WS_BINARY, 1048576);
    ws_decoder_init(&d, false);
    ck_assert_uint_eq(ws_decoder_memory_bytes(&d), 0);
    ck_assert_uint_le(memory_after(&d, codec, input.data, 20), 64);
    ck_assert_uint_le(memory_after(&d, codec, input.data + 20, 10000), 30000);
    ck_assert_uint_le(memory_after(&d, codec, input.data + 10020, 600000), 1300000);
    ck_assert(ws_is_within_message(&d));
    size_t used;
    struct ws_event event =
        ws_decode(&d, codec, input.data + 610020, input.size - 610020, 1048576, &used);
    ck_assert_int_eq(event.kind, WS_EVENT_MESSAGE);
    ck_assert_uint_eq(event.payload.size, 1048576);
    ck_assert(!ws_is_within_message(&d));
    ck_assert_uint_eq(memory_after(&d, codec, input.data, 0), 0);
    ws_decoder_fini(&d);
    ws_codec_free(codec);
}
END_TEST

START_TEST(memory_of_fragments_is_freed)
{
    struct ws_decoder d;
    struct ws_codec *codec = ws_codec_new();
    size_t used;
    ws_decoder_init(&d, false);
    bytes_clear(&input);
    put_many(WS_BINARY, 30000);
    ck_assert_uint_ge(memory_after(&d, codec, input.data, input.size), 30000);
    bytes_clear(&input);
    put_many(FIN | WS_CONTINUATION, 30000);
    struct ws_event event = ws_decode(&d, codec, input.data, input.size, 65536, &used);
    ck_assert_int_eq(event.kind, WS_EVENT_MESSAGE);
    ck_assert_uint_eq(event.payload.size, 60000);
    ck_assert_uint_eq(memory_after(&d, codec, input.data, 0), 0);
    ws_decoder_fini(&d);
    ws_codec_free(codec);
}
END_TEST

START_TEST(without_memory_the_connection_ends)
{
    struct ws_codec *codec = ws_codec_new();
    struct ws_decoder d;
    size_t used;
    for (uint64_t nth = 1; nth < 10; nth++) {
        struct ws_event event = {.kind = WS_EVENT_NONE};
        bytes_clear(&input);
        put_many(WS_BINARY, 3000);
        put_many(FIN | WS_CONTINUATION, 60000);
        ws_decoder_init(&d, false);
        mem_fail_at(nth);
        for (size_t at = 0; at < input.size && event.kind == WS_EVENT_NONE;
             at += used) {
            size_t piece = input.size - at < 1000 ? input.size - at : 1000;
            event = ws_decode(&d, codec, input.data + at, piece, 65536, &used);
        }
        if (mem_fail_at(0) < nth) {
            ck_assert_int_eq(event.kind, WS_EVENT_MESSAGE);
            ck_assert_uint_gt(nth, 2);
        } else {
            ck_assert_int_eq(event.kind, WS_EVENT_ERROR);
            ck_assert_uint_eq(event.close_code, 1011);
        }
        ws_decoder_fini(&d);
    }
    ws_codec_free(codec);
}
END_TEST

Suite *
suite_websocket_limits(void)
{
    const TTest *const tests[] = {
        a_message_at_the_limit_is_taken_and_one_more_is_1009,
        a_length_is_refused_without_its_payload,
        fragments_count_together,
        a_lower_limit_holds_within_a_message,
        too_many_fragments_are_1009,
        memory_follows_what_has_come,
        memory_of_fragments_is_freed,
        without_memory_the_connection_ends,
    };
    return suite_of("websocket_limits", tests, COUNT_OF(tests));
}
