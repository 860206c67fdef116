/* Tests of base/bytes. */
#include "base/bytes.h"

#include "suites.h"

START_TEST(integers_have_their_documented_bytes)
{
    struct bytes b = {0};
    bytes_put_u8(&b, 0x01);
    bytes_put_u16(&b, 0x0203);
    bytes_put_u32(&b, 0x04050607);
    bytes_put_u64(&b, 0x08090a0b0c0d0e0f);
    bytes_put_u16be(&b, 0x0203);
    bytes_put_u32be(&b, 0x04050607);
    bytes_put_u64be(&b, 0x08090a0b0c0d0e0f);
    ck_assert_slice_eq(
        bytes_slice(&b),
        LITERAL("\x01\x03\x02\x07\x06\x05\x04"
                "\x0f\x0e\x0d\x0c\x0b\x0a\x09\x08\x02\x03\x04\x05\x06\x07"
                "\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"));
    bytes_fini(&b);
    ck_assert_ptr_null(b.data);
}
END_TEST

START_TEST(what_is_written_is_read_back)
{
    struct bytes b = {0};
    uint64_t seed = 1;
    for (int i = 0; i < 1000; i++) {
        uint64_t v = random_next(&seed) >> random_below(&seed, 64);
        bytes_put_varint(&b, v);
        bytes_put_u64(&b, v);
        bytes_put_block(&b, slice_of(&v, v % 9));
        bytes_put_u16(&b, (uint16_t)v);
    }
    struct reader r = reader_of(bytes_slice(&b));
    for (int i = 0; i < 1000; i++) {
        uint64_t v = read_varint(&r);
        ck_assert_uint_eq(read_u64(&r), v);
        ck_assert_slice_eq(read_block(&r, 8), slice_of(&v, v % 9));
        ck_assert_uint_eq(read_u16(&r), v & 0xffff);
    }
    ck_assert(reader_done(&r));
    bytes_fini(&b);
}
END_TEST

/* One decoder's worth of everything. */
static void
read_all_kinds(struct reader *r)
{
    char copy[3];
    (void)read_u8(r);
    (void)read_u16(r);
    (void)read_u32(r);
    (void)read_u64(r);
    (void)read_varint(r);
    (void)read_slice(r, 2);
    (void)read_block(r, 4);
    read_copy(r, copy, 3);
}

START_TEST(every_text_that_is_too_short_is_bad)
{
    struct bytes b = {0};
    bytes_put(&b, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", 15);
    bytes_put_varint(&b, UINT64_MAX);
    bytes_put_text(&b, "ab");
    bytes_put_block(&b, LITERAL("wxyz"));
    bytes_put_text(&b, "cde");
    for (size_t size = 0; size <= b.size; size++) {
        uint8_t *exact = malloc(size == 0 ? 1 : size); /* for address sanitizer */
        memcpy(exact, b.data, size);
        struct reader r = reader_of(slice_of(exact, size));
        read_all_kinds(&r);
        ck_assert_int_eq(r.bad, size != b.size);
        ck_assert_int_eq(reader_done(&r), size == b.size);
        free(exact);
    }
    bytes_fini(&b);
}
END_TEST

START_TEST(after_a_short_read_everything_is_zero)
{
    struct reader r = reader_of(LITERAL("\1\2\3\4\5\6\7"));
    ck_assert_uint_eq(read_u64(&r), 0);
    ck_assert(r.bad);
    ck_assert_uint_eq(reader_left(&r), 0);
    ck_assert_uint_eq(read_u8(&r), 0);
    ck_assert_uint_eq(read_varint(&r), 0);
    ck_assert_uint_eq(read_slice(&r, 0).size, 0);
    char copy[2] = "x";
    read_copy(&r, copy, 2);
    ck_assert_int_eq(copy[0], 0);
    ck_assert(!reader_done(&r));
}
END_TEST

START_TEST(what_is_left_over_is_not_done)
{
    struct reader r = reader_of(LITERAL("\1\2"));
    (void)read_u8(&r);
    ck_assert(!r.bad);
    ck_assert(!reader_done(&r));
    ck_assert_uint_eq(reader_left(&r), 1);
    struct reader nothing = reader_of(slice_of(NULL, 0));
    ck_assert(reader_done(&nothing));
}
END_TEST

static void
check_varint(struct slice text, bool is_good, uint64_t value)
{
    struct reader r = reader_of(text);
    ck_assert_uint_eq(read_varint(&r), value);
    ck_assert_int_eq(reader_done(&r), is_good);
}

START_TEST(a_varint_has_one_encoding)
{
    check_varint(LITERAL("\x00"), true, 0);
    check_varint(LITERAL("\x7f"), true, 127);
    check_varint(LITERAL("\x80\x01"), true, 128);
    check_varint(LITERAL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), true, UINT64_MAX);
    check_varint(LITERAL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), false, 0);
    check_varint(LITERAL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"), false, 0);
    check_varint(LITERAL("\x80\x00"), false, 0);
    check_varint(LITERAL("\x80"), false, 0);
    check_varint(LITERAL(""), false, 0);
}
END_TEST

START_TEST(a_block_above_its_limit_is_bad)
{
    struct reader r = reader_of(LITERAL("\4\0\0\0wxyz\1"));
    ck_assert_uint_eq(read_block(&r, 3).size, 0);
    ck_assert(r.bad);
    ck_assert_uint_eq(reader_left(&r), 0);
    r = reader_of(LITERAL("\xff\xff\xff\xffwxyz"));
    ck_assert_uint_eq(read_block(&r, SIZE_MAX).size, 0);
    ck_assert(r.bad);
}
END_TEST

START_TEST(printf_grows_as_needed)
{
    struct bytes b = {0};
    char expected[500];
    memset(expected, 'x', sizeof(expected));
    for (int width = 0; width < 500; width++) {
        bytes_clear(&b);
        bytes_put_text(&b, "a");
        bytes_printf(&b, "%.*s", width, expected);
        ck_assert_uint_eq(b.size, 1 + (size_t)width);
        ck_assert_slice_eq(slice_of(b.data + 1, b.size - 1),
                           slice_of(expected, (size_t)width));
        bytes_fini(&b);
    }
    bytes_fini(&b);
}
END_TEST

START_TEST(decimals_are_exact)
{
    static const uint64_t values[] = {
        0, 9, 10, 99, 1000, 4294967296, UINT64_MAX, 12345678901234567890u};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct bytes b = {0};
        char text[32];
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)values[i]);
        bytes_put_decimal(&b, values[i]);
        ck_assert_slice_eq(bytes_slice(&b), slice_from_text(text));
        bytes_fini(&b);
    }
}
END_TEST

START_TEST(nothing_can_be_put)
{
    struct bytes b = {0};
    bytes_put(&b, NULL, 0);
    bytes_put_slice(&b, slice_of(NULL, 0));
    ck_assert_uint_eq(b.size, 0);
    ck_assert_ptr_nonnull(bytes_extend(&b, 0));
    ck_assert_uint_eq(b.size, 0);
    ck_assert(slice_equal(slice_of(NULL, 0), LITERAL("")));
    ck_assert(!slice_equal(LITERAL("a"), LITERAL("")));
    ck_assert(!slice_equal(LITERAL("a"), LITERAL("b")));
    bytes_fini(&b);
}
END_TEST

START_TEST(growing_keeps_what_is_there)
{
    struct bytes b = {0};
    for (uint32_t i = 0; i < 100000; i++)
        bytes_put_u32(&b, i);
    bytes_reserve(&b, 1 << 20);
    size_t capacity = b.capacity;
    ck_assert_uint_ge(capacity, b.size + (1 << 20));
    for (uint32_t i = 0; i < 100000; i++)
        ck_assert_uint_eq(get_u32(b.data + 4 * i), i);
    bytes_clear(&b);
    ck_assert_uint_eq(b.capacity, capacity);
    bytes_fini(&b);
}
END_TEST

Suite *
suite_bytes(void)
{
    const TTest *const tests[] = {
        integers_have_their_documented_bytes,
        what_is_written_is_read_back,
        every_text_that_is_too_short_is_bad,
        after_a_short_read_everything_is_zero,
        what_is_left_over_is_not_done,
        a_varint_has_one_encoding,
        a_block_above_its_limit_is_bad,
        printf_grows_as_needed,
        decimals_are_exact,
        nothing_can_be_put,
        growing_keeps_what_is_there,
    };
    return suite_of("bytes", tests, COUNT_OF(tests));
}
