/* File: small files, read and made whole. */
#ifndef HF_BASE_FILE_H
#define HF_BASE_FILE_H

#include "base/bytes.h"

/* Appends all of it. ST_RANGE: it is longer than max_bytes; ST_IO: errno says why. */
enum status file_read(const char *path, size_t max_bytes, struct bytes *out) MUST_USE;
/* Makes it, for its owner alone (0600), and durable. ST_EXISTS: there is something,
 * which stays; ST_IO: errno says why, and nothing is left behind. */
enum status file_make(const char *path, struct slice text) MUST_USE;

#endif
