/* Tests of proto/proxy: the header of a relay. */
#include "proto/proxy.h"

#include "suites.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static const uint8_t key[PROXY_KEY_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};

static struct proxy_header
header_v4(void)
{
    struct proxy_header h = {.node = 2, .counter = 0x0102030405060708, .age_ms = 1234};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(40000)};
    ck_assert_int_eq(inet_pton(AF_INET, "192.0.2.7", &in.sin_addr), 1);
    memcpy(&h.source, &in, sizeof(in));
    in.sin_port = htons(443);
    ck_assert_int_eq(inet_pton(AF_INET, "198.51.100.1", &in.sin_addr), 1);
    memcpy(&h.destination, &in, sizeof(in));
    return h;
}

static struct proxy_header
header_v6(void)
{
    struct proxy_header h = {.node = UINT64_MAX, .counter = 1, .age_ms = UINT32_MAX};
    struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = htons(40000)};
    ck_assert_int_eq(inet_pton(AF_INET6, "2001:db8::7", &in.sin6_addr), 1);
    memcpy(&h.source, &in, sizeof(in));
    in.sin6_port = htons(443);
    ck_assert_int_eq(inet_pton(AF_INET6, "2001:db8::1", &in.sin6_addr), 1);
    memcpy(&h.destination, &in, sizeof(in));
    return h;
}

static void
check_round_trip(const struct proxy_header *header, size_t size)
{
    struct bytes out = {NULL, 0, 0};
    struct proxy_header got;
    size_t used = 0;
    proxy_encode(header, key, &out);
    ck_assert_uint_eq(out.size, size);
    ck_assert_uint_le(out.size, PROXY_HEADER_MAX);
    bytes_put_text(&out, "\x16\x03\x01 what follows");
    for (size_t i = 0; i < size; i++) {
        ck_assert(proxy_is_header(slice_of(out.data, i)));
        ck_assert_int_eq(proxy_decode(slice_of(out.data, i), key, &got, &used),
                         ST_AGAIN);
    }
    ck_assert_int_eq(proxy_decode(slice_of(out.data, out.size), key, &got, &used),
                     ST_OK);
    ck_assert_uint_eq(used, size);
    ck_assert_mem_eq(&got.source, &header->source, sizeof(got.source));
    ck_assert_mem_eq(&got.destination, &header->destination, sizeof(got.destination));
    ck_assert_uint_eq(got.node, header->node);
    ck_assert_uint_eq(got.counter, header->counter);
    ck_assert_uint_eq(got.age_ms, header->age_ms);
    bytes_fini(&out);
}

START_TEST(a_header_comes_back_as_it_was_made)
{
    struct proxy_header v4 = header_v4();
    struct proxy_header v6 = header_v6();
    struct proxy_header none = {.node = 1};
    check_round_trip(&v4, 16 + 12 + 56);
    check_round_trip(&v6, 16 + 36 + 56);
    check_round_trip(&none, 16 + 56);
}
END_TEST

START_TEST(addresses_of_two_families_go_as_none)
{
    struct proxy_header mixed = header_v4();
    struct proxy_header v6 = header_v6();
    struct proxy_header got;
    struct bytes out = {NULL, 0, 0};
    size_t used;
    mixed.destination = v6.destination;
    proxy_encode(&mixed, key, &out);
    ck_assert_int_eq(proxy_decode(slice_of(out.data, out.size), key, &got, &used),
                     ST_OK);
    ck_assert_int_eq(got.source.ss_family, AF_UNSPEC);
    bytes_fini(&out);
}
END_TEST

START_TEST(every_changed_byte_is_refused)
{
    struct proxy_header header = header_v4();
    struct proxy_header got;
    struct bytes out = {NULL, 0, 0};
    size_t used;
    proxy_encode(&header, key, &out);
    for (size_t i = 0; i < out.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            out.data[i] ^= (uint8_t)(1u << bit);
            enum status status =
                proxy_decode(slice_of(out.data, out.size), key, &got, &used);
            ck_assert(status == ST_INVALID || status == ST_DENIED);
            if (i >= 16 && i < 28) /* an address: only the HMAC can tell */
                ck_assert_int_eq(status, ST_DENIED);
            out.data[i] ^= (uint8_t)(1u << bit);
        }
    }
    uint8_t other[PROXY_KEY_BYTES] = {1, 2, 3, 4, 5, 6, 7, 9};
    ck_assert_int_eq(proxy_decode(slice_of(out.data, out.size), other, &got, &used),
                     ST_DENIED);
    bytes_fini(&out);
}
END_TEST

START_TEST(other_headers_are_not_ours)
{
    struct proxy_header got;
    size_t used;
    static const struct slice texts[] = {
        {(const uint8_t *)"\x16\x03\x01\x02", 4},
        {(const uint8_t *)"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", 32},
        {(const uint8_t *)"\r\n\r\n\0\r\nQUIX", 11},
        /* LOCAL; a family of unix sockets; a length of something else */
        {(const uint8_t *)"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x38", 16},
        {(const uint8_t *)"\r\n\r\n\0\r\nQUIT\n\x21\x31\x00\xd8", 16},
        {(const uint8_t *)"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff", 16},
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        ck_assert_int_eq(proxy_decode(texts[i], key, &got, &used), ST_INVALID);
    ck_assert(!proxy_is_header(texts[0]));
    ck_assert(!proxy_is_header(texts[2]));
    ck_assert(proxy_is_header(texts[3]));
}
END_TEST

Suite *
suite_proxy(void)
{
    const TTest *const tests[] = {
        a_header_comes_back_as_it_was_made,
        addresses_of_two_families_go_as_none,
        every_changed_byte_is_refused,
        other_headers_are_not_ours,
    };
    return suite_of("proxy", tests, COUNT_OF(tests));
}
