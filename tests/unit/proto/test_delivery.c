/* Tests of proto/delivery: messages, notices, pushes. */
#include "proto/reply.h"

#include "suites.h"

static struct uuid
id_of(const char *text)
{
    struct uuid id;
    ck_assert_int_eq(uuid_parse(slice_from_text(text), &id), ST_OK);
    return id;
}

/* A delivery's text; body_and_key is freed with it. */
static const char *
deliver(const char *id, const char *body, const char *key, uint8_t type, uint64_t ms)
{
    static struct bytes out;
    struct bytes both = {NULL, 0, 0};
    bytes_put_text(&both, body);
    bytes_put_text(&both, key);
    struct delivery d = {
        .has_id = id != NULL,
        .body = blob_copy(slice_of(both.data, both.size)),
        .body_size = (uint32_t)strlen(body),
        .key_size = (uint8_t)strlen(key),
        .type = type,
        .received_ms = ms,
    };
    if (id != NULL)
        d.id = id_of(id);
    bytes_clear(&out);
    delivery_format(&d, &out);
    struct message_view view = {.id = d.id,
                                .received_ms = ms,
                                .body_size = d.body_size,
                                .key_size = d.key_size,
                                .type = type};
    if (id != NULL)
        ck_assert_uint_eq(message_frame_size(&view), out.size);
    blob_put(d.body);
    bytes_fini(&both);
    return text_of(&out);
}

START_TEST(a_message_is_as_in_the_manual)
{
    ck_assert_str_eq(
        deliver("01a1c09f-62da-7000-a30b-0817c9a42e3f", "Hello", "", 1, 1794233033000),
        "{\"id\":\"01a1c09f-62da-7000-a30b-0817c9a42e3f\",\"type\":1,"
        "\"body\":\"Hello\",\"recdat\":1794233033}");
    ck_assert_str_eq(deliver("01a1c09f-62e2-7000-b616-7c246d151566",
                             "Order 1234 is ready", "order-1234", 1, 1794233033999),
                     "{\"id\":\"01a1c09f-62e2-7000-b616-7c246d151566\","
                     "\"publisherkey\":\"order-1234\",\"type\":1,"
                     "\"body\":\"Order 1234 is ready\",\"recdat\":1794233033}");
}
END_TEST

START_TEST(a_copy_has_no_id)
{
    ck_assert_str_eq(deliver(NULL, "aGVsbG8=", "", 2, 1794233033000),
                     "{\"type\":2,\"body\":\"aGVsbG8=\",\"recdat\":1794233033}");
}
END_TEST

START_TEST(the_size_of_a_frame_is_that_of_its_text)
{
    static const uint64_t times[] = {0,
                                     999,
                                     9999,
                                     10000,
                                     999999999999,
                                     1000000000000,
                                     1794233033000,
                                     9999999999999999,
                                     UINT64_MAX};
    static const char *const keys[] = {"", "k", "order-1234"};
    for (size_t t = 0; t < COUNT_OF(times); t++)
        for (size_t k = 0; k < COUNT_OF(keys); k++)
            for (size_t size = 0; size < 300; size += 37) {
                char *body = repeat("b", size);
                (void)deliver("01a1c09f-62e2-7000-b616-7c246d151566", body, keys[k], 1,
                              times[t]);
                mem_free(body);
            }
    struct message_view view = {
        .received_ms = 1794233033000, .body_size = 5, .type = 1};
    ck_assert_uint_eq(message_frame_size(&view), 89);
}
END_TEST

START_TEST(notices_are_as_in_the_manual)
{
    struct bytes out = {NULL, 0, 0};
    struct notice n = {.id = id_of("01a1c09f-62da-7000-a30b-0817c9a42e3f")};
    notice_format(&n, &out);
    ck_assert_str_eq(text_of(&out), "{\"deleted\":true,"
                                    "\"id\":\"01a1c09f-62da-7000-a30b-0817c9a42e3f\"}");
    bytes_clear(&out);
    n.is_moved = true;
    notice_format(&n, &out);
    ck_assert_str_eq(text_of(&out), "{\"movedtodlq\":true,"
                                    "\"id\":\"01a1c09f-62da-7000-a30b-0817c9a42e3f\"}");
    bytes_fini(&out);
}
END_TEST

START_TEST(a_push_has_cmd_and_csv)
{
    struct bytes out = {NULL, 0, 0};
    struct push p = {.live = {10, 0, 1, 0, 1, 3, 0, 1, UINT64_MAX}};
    push_format(&p, &out);
    ck_assert_str_eq(text_of(&out),
                     "{\"cmd\":\"getlivestats\","
                     "\"csv\":\"10,0,1,0,1,3,0,1,18446744073709551615\"}");
    bytes_fini(&out);
}
END_TEST

Suite *
suite_delivery(void)
{
    const TTest *const tests[] = {
        a_message_is_as_in_the_manual,
        a_copy_has_no_id,
        the_size_of_a_frame_is_that_of_its_text,
        notices_are_as_in_the_manual,
        a_push_has_cmd_and_csv,
    };
    return suite_of("delivery", tests, COUNT_OF(tests));
}
