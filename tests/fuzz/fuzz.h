/* What the fuzz targets share: the entry point, and how an oracle fails. */
#ifndef HF_TESTS_FUZZ_H
#define HF_TESTS_FUZZ_H

#include "base/bytes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Must hold for every input. The stack that the sanitizer prints says which one did
 * not. */
static inline void
require(bool holds)
{
    if (!holds)
        abort();
}

/* Bytes that are allocated now, to bound what an input makes us hold; 0 in a build that
 * cannot tell. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#define FUZZ_COUNTS_MEMORY 1
#endif
#endif

static inline size_t
allocated_bytes(void)
{
#ifdef FUZZ_COUNTS_MEMORY
    return __sanitizer_get_current_allocated_bytes();
#else
    return 0;
#endif
}

#endif
