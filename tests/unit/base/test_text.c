/* Tests of base/text: UTF-8 and base64. JSON strings are in test_text_json.c. */
#include "base/text.h"

#include "suites.h"

struct utf8_case {
    const char *text;
    size_t size;
    bool is_valid;
};

#define GOOD(text)                                                                     \
    {                                                                                  \
        text, sizeof(text) - 1, true                                                   \
    }
#define BAD(text)                                                                      \
    {                                                                                  \
        text, sizeof(text) - 1, false                                                  \
    }

static const struct utf8_case utf8_cases[] = {
    GOOD(""),
    GOOD("a"),
    GOOD("\0"),
    GOOD("\x7f"),
    GOOD("\xc2\x80"),
    GOOD("\xdf\xbf"),
    GOOD("\xe0\xa0\x80"),
    GOOD("\xec\xbf\xbf"),
    GOOD("\xed\x9f\xbf"),
    GOOD("\xee\x80\x80"),
    GOOD("\xef\xbf\xbf"),
    GOOD("\xf0\x90\x80\x80"),
    GOOD("\xf3\xbf\xbf\xbf"),
    GOOD("\xf4\x8f\xbf\xbf"),
    GOOD("\xef\xbb\xbf"),
    GOOD("\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5 \xf0\x9f\x98\x80!"),
    BAD("\x80"),
    BAD("\xbf"),
    BAD("\xc0\x80"),
    BAD("\xc0\xaf"),
    BAD("\xc1\xbf"),
    BAD("\xc2"),
    BAD("\xc2\x7f"),
    BAD("\xc2\xc0"),
    BAD("\xdf"),
    BAD("\xe0\x80\xaf"),
    BAD("\xe0\x9f\xbf"),
    BAD("\xe0\xa0"),
    BAD("\xe1\x80"),
    BAD("\xe1\x80\x7f"),
    BAD("\xe1\x80\xc0"),
    BAD("\xed\xa0\x80"),
    BAD("\xed\xad\xbf"),
    BAD("\xed\xae\x80"),
    BAD("\xed\xbf\xbf"),
    BAD("\xed\xa0\xbd\xed\xb8\x80"),
    BAD("\xf0\x80\x80\xaf"),
    BAD("\xf0\x8f\xbf\xbf"),
    BAD("\xf0\x90\x80"),
    BAD("\xf0\x90"),
    BAD("\xf0"),
    BAD("\xf1\x80\x80\x7f"),
    BAD("\xf4\x90\x80\x80"),
    BAD("\xf5\x80\x80\x80"),
    BAD("\xf7\xbf\xbf\xbf"),
    BAD("\xf8\x88\x80\x80\x80"),
    BAD("\xfc\x84\x80\x80\x80\x80"),
    BAD("\xfe"),
    BAD("\xff"),
    BAD("\xe2\x82\xac\x80"),
    BAD("\xe2\x82\xe2\x82\xac"),
};

/* Splits at every byte; says whether the streaming form calls it valid. */
static bool
is_valid_in_two(struct slice s, size_t cut)
{
    uint32_t state = 0;
    return utf8_check(&state, slice_of(s.data, cut)) &&
           utf8_check(&state, slice_of(s.data + cut, s.size - cut)) && state == 0;
}

static void
check_utf8(struct slice s, bool is_valid)
{
    ck_assert_int_eq(utf8_is_valid(s), is_valid);
    for (size_t cut = 0; cut <= s.size; cut++)
        ck_assert_int_eq(is_valid_in_two(s, cut), is_valid);
}

START_TEST(classic_sequences_are_told_apart)
{
    const struct utf8_case *c = &utf8_cases[_i];
    /* Alone, and inside ASCII of every length up to the steps of the fast path. */
    check_utf8(slice_of(c->text, c->size), c->is_valid);
    for (size_t before = 0; before < 70; before++) {
        for (size_t after = 0; after < 70; after += 23) {
            uint8_t text[160];
            memset(text, 'x', sizeof(text));
            memcpy(text + before, c->text, c->size);
            check_utf8(slice_of(text, before + c->size + after), c->is_valid);
        }
    }
}
END_TEST

START_TEST(every_code_point_is_valid_and_nothing_shorter)
{
    for (uint32_t code = 0x80; code < 0x110000; code += code < 0x3000 ? 1 : 7) {
        uint8_t b[4];
        size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        for (size_t i = 1; i < size; i++)
            b[i] = (uint8_t)(0x80 | (code >> (6 * (size - 1 - i)) & 63));
        b[0] = (uint8_t)(0xf0u << (4 - size) | code >> (6 * (size - 1)));
        bool is_surrogate = code >= 0xd800 && code < 0xe000;
        ck_assert_int_eq(utf8_is_valid(slice_of(b, size)), !is_surrogate);
        for (size_t part = 1; part < size; part++)
            ck_assert(!utf8_is_valid(slice_of(b, part)));
    }
}
END_TEST

START_TEST(random_bytes_are_judged_alike_by_both_forms)
{
    uint64_t seed = 8;
    for (int i = 0; i < 200000; i++) {
        uint8_t text[12];
        for (size_t k = 0; k < sizeof(text); k++) {
            uint8_t c = (uint8_t)random_next(&seed);
            text[k] = k > 0 && text[k - 1] >= 0xc0 ? 0x80 | (c & 0x3f) : c;
        }
        struct slice s = slice_of(text, 1 + random_below(&seed, sizeof(text)));
        ck_assert_int_eq(utf8_is_valid(s), is_valid_in_two(s, s.size / 2));
    }
}
END_TEST

START_TEST(a_bad_byte_is_told_at_once)
{
    uint32_t state = 0;
    ck_assert(utf8_check(&state, LITERAL("ab\xe0")));
    ck_assert_uint_ne(state, 0);
    ck_assert(!utf8_check(&state, LITERAL("\x9f")));
}
END_TEST

static void
check_base64(const char *plain, const char *encoded)
{
    struct slice s = slice_from_text(plain);
    struct bytes b = {0};
    ck_assert_uint_eq(base64_encoded_size(s.size), strlen(encoded));
    base64_encode(s, bytes_extend(&b, base64_encoded_size(s.size)));
    ck_assert_slice_eq(bytes_slice(&b), slice_from_text(encoded));
    ck_assert(base64_is_valid(bytes_slice(&b)));
    bytes_clear(&b);
    bytes_put_text(&b, "before");
    ck_assert_int_eq(base64_decode(slice_from_text(encoded), &b), ST_OK);
    ck_assert_slice_eq(slice_of(b.data + 6, b.size - 6), s);
    bytes_fini(&b);
}

START_TEST(the_vectors_of_rfc_4648_come_out)
{
    check_base64("", "");
    check_base64("f", "Zg==");
    check_base64("fo", "Zm8=");
    check_base64("foo", "Zm9v");
    check_base64("foob", "Zm9vYg==");
    check_base64("fooba", "Zm9vYmE=");
    check_base64("foobar", "Zm9vYmFy");
    check_base64("\xfb\xff\xbe", "+/++");
}
END_TEST

START_TEST(base64_that_is_none_is_refused)
{
    static const char *const bad[] = {
        "Z",       "Zg",       "Zg=",
        "=",       "==",       "===",
        "====",    "Z===",     "Zg=a",
        "Z=g=",    "=Zg=",     "Zm9v=",
        "Zm 9",    "Zm9\n",    "Zm9-",
        "Zm9_",    "Zg==Zg==", "Zm8=Zm8=",
        "Zm9vYg=", "Zm9v\n",   "Zm9vZm9v\r\n\r\n",
        "Zm9\x80", "Zm9*",     "Zm9@",
        "Zm9[",    "Zm9`",     "Zm9{",
        "Zm9:",    "Zm9.",     "Zm9,",
        "Zm9\x01",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct bytes b = {0};
        bytes_put_text(&b, "kept");
        ck_assert_msg(!base64_is_valid(slice_from_text(bad[i])), "\"%s\"", bad[i]);
        ck_assert_int_eq(base64_decode(slice_from_text(bad[i]), &b), ST_INVALID);
        ck_assert_slice_eq(bytes_slice(&b), LITERAL("kept"));
        bytes_fini(&b);
    }
    ck_assert(!base64_is_valid(LITERAL("Zm9\0")));
}
END_TEST

START_TEST(trailing_bits_need_not_be_canonical)
{
    struct bytes b = {0};
    ck_assert(base64_is_valid(LITERAL("Zh==")));
    ck_assert_int_eq(base64_decode(LITERAL("Zh=="), &b), ST_OK);
    ck_assert_slice_eq(bytes_slice(&b), LITERAL("f"));
    bytes_fini(&b);
}
END_TEST

START_TEST(random_bytes_survive_base64)
{
    uint64_t seed = 9;
    for (size_t size = 0; size < 200; size++) {
        uint8_t plain[200];
        struct bytes text = {0};
        struct bytes again = {0};
        for (size_t i = 0; i < size; i++)
            plain[i] = (uint8_t)random_next(&seed);
        base64_encode(slice_of(plain, size),
                      bytes_extend(&text, base64_encoded_size(size)));
        ck_assert_int_eq(base64_decode(bytes_slice(&text), &again), ST_OK);
        ck_assert(slice_equal(bytes_slice(&again), slice_of(plain, size)));
        bytes_fini(&text);
        bytes_fini(&again);
    }
}
END_TEST

Suite *
suite_text(void)
{
    const TTest *const tests[] = {
        every_code_point_is_valid_and_nothing_shorter,
        random_bytes_are_judged_alike_by_both_forms,
        a_bad_byte_is_told_at_once,
        the_vectors_of_rfc_4648_come_out,
        base64_that_is_none_is_refused,
        trailing_bits_need_not_be_canonical,
        random_bytes_survive_base64,
    };
    Suite *suite = suite_of("text", tests, COUNT_OF(tests));
    TCase *classic = tcase_create("text sequences");
    tcase_add_loop_test(classic, classic_sequences_are_told_apart, 0,
                        (int)COUNT_OF(utf8_cases));
    suite_add_tcase(suite, classic);
    return suite;
}
