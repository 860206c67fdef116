/* Tests of base/uuid. */
#include "base/uuid.h"

#include "suites.h"

static void
check_format(const struct uuid *id, const char *expected)
{
    char text[UUID_TEXT_SIZE];
    uuid_format(id, text);
    ck_assert_slice_eq(slice_of(text, sizeof(text)), slice_from_text(expected));
}

START_TEST(the_vector_of_rfc_9562_comes_out)
{
    /* Appendix A.6: 2022-02-22 19:22:22 UTC. */
    struct uuid id = uuid7_make(0x017f22e279b0, 0xcc3, 0x18c4dc0c0c07398f);
    check_format(&id, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
    ck_assert_uint_eq(uuid7_ms(&id), 0x017f22e279b0);
}
END_TEST

START_TEST(bits_beyond_the_fields_do_not_leak)
{
    struct uuid id = uuid7_make(UINT64_MAX, UINT16_MAX, UINT64_MAX);
    check_format(&id, "ffffffff-ffff-7fff-bfff-ffffffffffff");
    id = uuid7_make(0, 0, 0);
    check_format(&id, "00000000-0000-7000-8000-000000000000");
}
END_TEST

START_TEST(text_is_read_in_either_case)
{
    struct uuid id;
    ck_assert_int_eq(uuid_parse(LITERAL("017F22E2-79b0-7CC3-98c4-DC0C0C07398F"), &id),
                     ST_OK);
    check_format(&id, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}
END_TEST

START_TEST(what_is_no_uuid_is_refused)
{
    const char *good = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    struct uuid id = uuid7_make(1, 2, 3);
    struct uuid before = id;
    char text[UUID_TEXT_SIZE + 1];
    static const char bad[] = "g`@G/:-\xff\x10 ";
    for (size_t at = 0; at < UUID_TEXT_SIZE; at++) {
        for (size_t i = 0; i < sizeof(bad); i++) {
            memcpy(text, good, sizeof(text));
            if (text[at] == bad[i])
                continue;
            text[at] = bad[i];
            ck_assert_int_eq(uuid_parse(slice_of(text, UUID_TEXT_SIZE), &id),
                             ST_INVALID);
        }
    }
    ck_assert_int_eq(uuid_parse(slice_of(good, 35), &id), ST_INVALID);
    ck_assert_int_eq(uuid_parse(LITERAL("017f22e2-79b0-7cc3-98c4-dc0c0c07398f0"), &id),
                     ST_INVALID);
    ck_assert_int_eq(uuid_parse(LITERAL("{17f22e2-79b0-7cc3-98c4-dc0c0c07398}"), &id),
                     ST_INVALID);
    ck_assert_int_eq(uuid_parse(LITERAL(""), &id), ST_INVALID);
    ck_assert_int_eq(uuid_compare(&id, &before), 0); /* untouched */
}
END_TEST

START_TEST(format_and_parse_are_inverse)
{
    uint64_t seed = 7;
    for (int i = 0; i < 1000; i++) {
        struct uuid id, again;
        char text[UUID_TEXT_SIZE];
        put_u64(id.b, random_next(&seed));
        put_u64(id.b + 8, random_next(&seed));
        uuid_format(&id, text);
        ck_assert_int_eq(uuid_parse(slice_of(text, sizeof(text)), &again), ST_OK);
        ck_assert_int_eq(uuid_compare(&id, &again), 0);
    }
}
END_TEST

START_TEST(order_is_time_then_counter)
{
    struct uuid a = uuid7_make(255, 4095, UINT64_MAX);
    struct uuid b = uuid7_make(256, 0, 0);
    struct uuid c = uuid7_make(256, 1, 0);
    struct uuid zero = {{0}};
    ck_assert_int_lt(uuid_compare(&a, &b), 0);
    ck_assert_int_lt(uuid_compare(&b, &c), 0);
    ck_assert_int_gt(uuid_compare(&c, &a), 0);
    ck_assert(uuid_is_zero(&zero));
    ck_assert(!uuid_is_zero(&a));
}
END_TEST

Suite *
suite_uuid(void)
{
    const TTest *const tests[] = {
        the_vector_of_rfc_9562_comes_out, bits_beyond_the_fields_do_not_leak,
        text_is_read_in_either_case,      what_is_no_uuid_is_refused,
        format_and_parse_are_inverse,     order_is_time_then_counter,
    };
    return suite_of("uuid", tests, COUNT_OF(tests));
}
