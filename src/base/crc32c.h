/* CRC-32C (Castagnoli, RFC 3720 B.4): of log records, entries, frames and images.
 * Uses the processor's instruction where there is one, tables elsewhere; both give the
 * same value. "123456789" is 0xe3069283. Any thread. */
#ifndef HF_BASE_CRC32C_H
#define HF_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Extends crc (0 to begin) over size bytes. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);
/* The value of two stretches, one behind the other, from the value of each (begun with
 * 0) and the size of the second: without their bytes. */
uint32_t crc32c_join(uint32_t first, uint32_t second, size_t second_size);
/* crc32c() by tables on any processor: tests compare the two. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size);

#endif
