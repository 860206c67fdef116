/* The suites of tests/unit/test-proto, one a module, and what they share. */
#ifndef HF_TESTS_PROTO_SUITES_H
#define HF_TESTS_PROTO_SUITES_H

#include "base/mem.h"
#include "broker/parcel.h"
#include "proto/request.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_deflate(void);
Suite *suite_delivery(void);
Suite *suite_extensions(void);
Suite *suite_frame_write(void);
Suite *suite_http(void);
Suite *suite_http_host(void);
Suite *suite_prometheus(void);
Suite *suite_proxy(void);
Suite *suite_reason(void);
Suite *suite_reply(void);
Suite *suite_request_admin(void);
Suite *suite_request_login(void);
Suite *suite_request_memory(void);
Suite *suite_request_publish(void);
Suite *suite_request_subscriber(void);
Suite *suite_websocket(void);
Suite *suite_websocket_limits(void);

/* A suite of one case that holds all tests of a list. */
static inline Suite *
suite_of(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 120); /* the sanitizers are slow */
    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    return suite;
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Text with NUL bytes inside, from a literal. */
#define LITERAL(text) slice_of((text), sizeof(text) - 1)

#define ck_assert_slice_eq(actual, expected)                                           \
    do {                                                                               \
        struct slice actual_ = (actual);                                               \
        struct slice expected_ = (expected);                                           \
        ck_assert_msg(slice_equal(actual_, expected_),                                 \
                      "got \"%.*s\", expected \"%.*s\"", (int)actual_.size,            \
                      (const char *)actual_.data, (int)expected_.size,                 \
                      (const char *)expected_.data);                                   \
    } while (0)

/* The bytes written so far, as a C string. */
static inline const char *
text_of(struct bytes *b)
{
    *bytes_extend(b, 1) = 0;
    b->size--;
    return (const char *)b->data;
}

/* SplitMix64: the same numbers from the same seed everywhere. */
static inline uint64_t
random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A text of count times what. The caller frees it. */
static inline char *
repeat(const char *what, size_t count)
{
    size_t size = strlen(what);
    char *text = mem_alloc(size * count + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * size, what, size);
    text[size * count] = 0;
    return text;
}

/* One frame as a client sends it. head is the first byte: FIN, RSV, opcode. */
static inline void
put_client_frame(struct bytes *out, unsigned head, struct slice payload)
{
    static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    bytes_put_u8(out, (uint8_t)head);
    if (payload.size < 126) {
        bytes_put_u8(out, (uint8_t)(0x80 | payload.size));
    } else if (payload.size <= 0xffff) {
        bytes_put_u8(out, 0x80 | 126);
        bytes_put_u16be(out, (uint16_t)payload.size);
    } else {
        bytes_put_u8(out, 0x80 | 127);
        bytes_put_u64be(out, payload.size);
    }
    bytes_put(out, mask, sizeof(mask));
    for (size_t i = 0; i < payload.size; i++)
        bytes_put_u8(out, payload.data[i] ^ mask[i % 4]);
}

#endif
