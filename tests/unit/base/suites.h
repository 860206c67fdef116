/* The suites of tests/unit/test-base, one a module, and what they share. */
#ifndef HF_TESTS_BASE_SUITES_H
#define HF_TESTS_BASE_SUITES_H

#include "base/bytes.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *suite_blob(void);
Suite *suite_bytes(void);
Suite *suite_crc32c(void);
Suite *suite_file(void);
Suite *suite_heap(void);
Suite *suite_histogram(void);
Suite *suite_json(void);
Suite *suite_json_differential(void);
Suite *suite_json_number(void);
Suite *suite_json_values(void);
Suite *suite_json_write(void);
Suite *suite_list(void);
Suite *suite_log(void);
Suite *suite_log_fields(void);
Suite *suite_mailbox(void);
Suite *suite_map(void);
Suite *suite_mem(void);
Suite *suite_status(void);
Suite *suite_text(void);
Suite *suite_text_json(void);
Suite *suite_tree(void);
Suite *suite_uuid(void);

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

/* SplitMix64: the same numbers from the same seed everywhere. */
static inline uint64_t
random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline size_t
random_below(uint64_t *state, size_t bound)
{
    return (size_t)(random_next(state) % bound);
}

#define ck_assert_slice_eq(actual, expected)                                           \
    do {                                                                               \
        struct slice actual_ = (actual);                                               \
        struct slice expected_ = (expected);                                           \
        ck_assert_msg(slice_equal(actual_, expected_),                                 \
                      "got \"%.*s\", expected \"%.*s\"", (int)actual_.size,            \
                      (const char *)actual_.data, (int)expected_.size,                 \
                      (const char *)expected_.data);                                   \
    } while (0)

/* What a buffer has so far. */
static inline struct slice
bytes_slice(const struct bytes *b)
{
    return slice_of(b->data, b->size);
}

#endif
