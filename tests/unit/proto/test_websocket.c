/* Tests of proto/websocket: frames in, events out, however the input is cut. */
#include "proto/websocket.h"

#include "suites.h"
#include "transcript.h"

#define FIN    0x80
#define PACKED 0x40

static struct bytes input;

static void
begin(void)
{
    bytes_clear(&input);
}

static void
frame(unsigned head, struct slice payload)
{
    put_client_frame(&input, head, payload);
}

static void
text_frame(unsigned head, const char *payload)
{
    frame(head, slice_from_text(payload));
}

/* The input gives expected in one piece, in single bytes and cut at every place. */
static void
expect_with(const char *expected, bool may_compress)
{
    struct slice all = slice_of(input.data, input.size);
    struct transcript_options options = {.may_compress = may_compress};
    ck_assert_str_eq(transcript(all, options), expected);
    options.piece = 1;
    ck_assert_str_eq(transcript(all, options), expected);
    options.piece = 7;
    ck_assert_str_eq(transcript(all, options), expected);
    options.piece = 0;
    size_t step = input.size > 2000 ? input.size / 500 : 1;
    for (options.first = 1; options.first < input.size; options.first += step)
        ck_assert_str_eq(transcript(all, options), expected);
}

static void
expect(const char *expected)
{
    expect_with(expected, false);
}

static void
expect_one(unsigned head, struct slice payload, const char *expected)
{
    begin();
    frame(head, payload);
    expect(expected);
}

START_TEST(single_frames_are_messages)
{
    begin();
    text_frame(FIN | WS_TEXT, "hello");
    text_frame(FIN | WS_BINARY, "xyz");
    text_frame(FIN | WS_TEXT, "");
    frame(FIN | WS_BINARY, LITERAL("\0\1\2\377"));
    frame(FIN | WS_TEXT, LITERAL("a\0b"));
    expect("text:hello binary:xyz text: binary:4 text:3");
}
END_TEST

START_TEST(every_size_of_head_is_read)
{
    static const size_t sizes[] = {0, 1, 125, 126, 127, 65535, 65536};
    char expected[100];
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *payload = repeat("\n", sizes[i]);
        begin();
        text_frame(FIN | WS_TEXT, payload);
        text_frame(FIN | WS_PING, "next");
        snprintf(expected, sizeof(expected),
                 sizes[i] == 0 ? "text: ping:next" : "text:%zu ping:next", sizes[i]);
        expect(expected);
        mem_free(payload);
    }
}
END_TEST

START_TEST(unmasking_gives_every_byte_back)
{
    uint8_t payload[300];
    struct ws_decoder d;
    struct ws_codec *codec = ws_codec_new();
    for (size_t size = 0; size < sizeof(payload); size++) {
        for (size_t i = 0; i < size; i++)
            payload[i] = (uint8_t)(i * 7 + size);
        for (size_t offset = 0; offset < 9; offset++) { /* places of any alignment */
            size_t used;
            struct bytes b = {NULL, 0, 0};
            (void)bytes_extend(&b, offset);
            put_client_frame(&b, FIN | WS_BINARY, slice_of(payload, size));
            ws_decoder_init(&d, false);
            struct ws_event event =
                ws_decode(&d, codec, b.data + offset, b.size - offset, 65536, &used);
            ck_assert_int_eq(event.kind, WS_EVENT_MESSAGE);
            ck_assert_slice_eq(event.payload, slice_of(payload, size));
            ws_decoder_fini(&d);
            bytes_fini(&b);
        }
    }
    ws_codec_free(codec);
}
END_TEST

START_TEST(fragments_are_one_message)
{
    begin();
    text_frame(WS_TEXT, "one ");
    text_frame(WS_CONTINUATION, "");
    text_frame(WS_CONTINUATION, "two ");
    text_frame(FIN | WS_CONTINUATION, "three");
    text_frame(WS_BINARY, "");
    text_frame(FIN | WS_CONTINUATION, "");
    text_frame(FIN | WS_TEXT, "last");
    expect("text:one two three binary: text:last");
}
END_TEST

START_TEST(control_frames_come_between_fragments)
{
    begin();
    text_frame(WS_TEXT, "he");
    text_frame(FIN | WS_PING, "mid");
    text_frame(WS_CONTINUATION, "ll");
    text_frame(FIN | WS_PONG, "");
    text_frame(FIN | WS_CONTINUATION, "o");
    expect("ping:mid pong: text:hello");
}
END_TEST

START_TEST(a_message_that_is_not_whole_is_known)
{
    begin();
    text_frame(WS_TEXT, "he");
    expect("| within");
    text_frame(FIN | WS_PING, "mid");
    expect("ping:mid | within");
    text_frame(FIN | WS_CONTINUATION, "o");
    expect("ping:mid text:heo");
    begin();
    text_frame(FIN | WS_TEXT, "hello");
    for (size_t size = input.size; --size > 0;) {
        input.size = size;
        expect("| within");
    }
}
END_TEST

START_TEST(close_frames_give_their_code)
{
    expect_one(FIN | WS_CLOSE, LITERAL(""), "close:1005");
    expect_one(FIN | WS_CLOSE, LITERAL("\x03\xe8"), "close:1000");
    expect_one(FIN | WS_CLOSE, LITERAL("\x03\xe9going away \xc3\xa9"), "close:1001");
    expect_one(FIN | WS_CLOSE, LITERAL("\x0b\xb8"), "close:3000");
    expect_one(FIN | WS_CLOSE, LITERAL("\x13\x87"), "close:4999");
    begin();
    text_frame(WS_TEXT, "he");
    frame(FIN | WS_CLOSE, LITERAL("\x03\xe8"));
    text_frame(FIN | WS_CONTINUATION, "llo");
    bytes_put_text(&input, "\xff\xff garbage");
    expect("close:1000"); /* whatever follows is swallowed */
}
END_TEST

START_TEST(bad_close_frames_are_errors)
{
    static const uint16_t codes[] = {0,    1,    999,  1004, 1005, 1006, 1015,
                                     1016, 1100, 2000, 2999, 5000, 65535};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        uint8_t payload[2] = {(uint8_t)(codes[i] >> 8), (uint8_t)codes[i]};
        expect_one(FIN | WS_CLOSE, slice_of(payload, 2), "error:1002");
    }
    static const uint16_t good[] = {1000, 1001, 1002, 1003, 1007, 1011, 1014};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        char expected[20];
        uint8_t payload[2] = {(uint8_t)(good[i] >> 8), (uint8_t)good[i]};
        snprintf(expected, sizeof(expected), "close:%u", good[i]);
        expect_one(FIN | WS_CLOSE, slice_of(payload, 2), expected);
    }
    expect_one(FIN | WS_CLOSE, LITERAL("\x03"), "error:1002");
    expect_one(FIN | WS_CLOSE, LITERAL("\x03\xe8\xff"), "error:1007");
    expect_one(FIN | WS_CLOSE, LITERAL("\x03\xe8\xc3"), "error:1007");
}
END_TEST

/* Bytes as they are, not masked by us. */
static void
expect_raw(struct slice raw, const char *expected)
{
    begin();
    bytes_put_slice(&input, raw);
    expect(expected);
}

START_TEST(the_protocols_violations_are_1002)
{
    static const unsigned heads[] = {
        FIN | 3,
        FIN | 4,
        FIN | 5,
        FIN | 6,
        FIN | 7,
        FIN | 11,
        FIN | 12,
        FIN | 13,
        FIN | 14,
        FIN | 15,
        FIN | 0x20 | WS_TEXT,
        FIN | 0x10 | WS_TEXT,
        FIN | PACKED | WS_TEXT, /* not agreed */
        FIN | PACKED | WS_PING,
        WS_PING,
        WS_PONG,
        WS_CLOSE,
        FIN | WS_CONTINUATION,
        WS_CONTINUATION,
    };
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        expect_one(heads[i], LITERAL("x"), "error:1002");
        expect_one(heads[i], LITERAL(""), "error:1002");
    }
    char *payload = repeat("x", 126);
    expect_one(FIN | WS_PING, slice_from_text(payload), "error:1002");
    mem_free(payload);
    expect_raw(LITERAL("\x81\x05hello"), "error:1002"); /* not masked */
    expect_raw(LITERAL("\x89\x00"), "error:1002");
}
END_TEST

START_TEST(a_message_within_a_message_is_1002)
{
    begin();
    text_frame(WS_TEXT, "one");
    text_frame(FIN | WS_TEXT, "two");
    expect("error:1002");
    begin();
    text_frame(WS_TEXT, "one");
    text_frame(FIN | WS_CONTINUATION, "two");
    text_frame(FIN | WS_CONTINUATION, "three");
    expect("text:onetwo error:1002");
}
END_TEST

START_TEST(lengths_have_their_shortest_form)
{
    expect_raw(LITERAL("\x81\xfe\x00\x7d\1\2\3\4"), "error:1002");
    expect_raw(LITERAL("\x81\xfe\x00\x00\1\2\3\4"), "error:1002");
    expect_raw(LITERAL("\x81\xff\0\0\0\0\0\0\xff\xff\1\2\3\4"), "error:1002");
    expect_raw(LITERAL("\x81\xff\x80\0\0\0\0\1\0\0\1\2\3\4"), "error:1002");
    expect_raw(LITERAL("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\2\3\4"),
               "error:1002");
    expect_raw(LITERAL("\x89\xfe\x00\x05\1\2\3\4"), "error:1002");
    expect_raw(LITERAL("\x89\xff\0\0\0\0\0\0\0\5\1\2\3\4"), "error:1002");
}
END_TEST

START_TEST(text_that_is_not_utf8_is_1007)
{
    expect_one(FIN | WS_TEXT, LITERAL("\xff"), "error:1007");
    expect_one(FIN | WS_TEXT, LITERAL("a\x80"), "error:1007");
    expect_one(FIN | WS_TEXT, LITERAL("\xc3"), "error:1007");
    expect_one(FIN | WS_TEXT, LITERAL("\xe2\x82"), "error:1007");
    expect_one(FIN | WS_TEXT, LITERAL("\xc0\xaf"), "error:1007");
    expect_one(FIN | WS_TEXT, LITERAL("\xed\xa0\x80"), "error:1007");
    expect_one(FIN | WS_TEXT, LITERAL("\xf5\x80\x80\x80"), "error:1007");
    expect_one(FIN | WS_BINARY, LITERAL("\xff"), "binary:1");
    expect_one(FIN | WS_TEXT, LITERAL("\xf4\x8f\xbf\xbf"), "text:4");
}
END_TEST

START_TEST(characters_may_be_cut_by_fragments)
{
    begin();
    frame(WS_TEXT, LITERAL("a\xf0"));
    frame(WS_CONTINUATION, LITERAL("\x9f\x98"));
    frame(FIN | WS_CONTINUATION, LITERAL("\x80"));
    frame(WS_BINARY, LITERAL("\xff"));
    frame(FIN | WS_CONTINUATION, LITERAL("\xff"));
    expect("text:5 binary:2");
    begin();
    frame(WS_TEXT, LITERAL("a\xf0\x9f"));
    frame(FIN | WS_CONTINUATION, LITERAL(""));
    expect("error:1007");
}
END_TEST

START_TEST(bad_text_fails_before_its_message_ends)
{
    begin();
    frame(WS_TEXT, LITERAL("good "));
    frame(WS_CONTINUATION, LITERAL("\xed\xa0"));
    expect("error:1007");
}
END_TEST

Suite *
suite_websocket(void)
{
    const TTest *const tests[] = {
        single_frames_are_messages,
        every_size_of_head_is_read,
        unmasking_gives_every_byte_back,
        fragments_are_one_message,
        control_frames_come_between_fragments,
        a_message_that_is_not_whole_is_known,
        close_frames_give_their_code,
        bad_close_frames_are_errors,
        the_protocols_violations_are_1002,
        a_message_within_a_message_is_1002,
        lengths_have_their_shortest_form,
        text_that_is_not_utf8_is_1007,
        characters_may_be_cut_by_fragments,
        bad_text_fails_before_its_message_ends,
    };
    return suite_of("websocket", tests, COUNT_OF(tests));
}
