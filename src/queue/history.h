/* History: statistics and usage rows of a queue, in blocks a day.
 *
 * Rows are appended in time order and kept delta-encoded (LEB128) per UTC day, so that
 * ten years of rows stay small. Pure. */
#ifndef HF_QUEUE_HISTORY_H
#define HF_QUEUE_HISTORY_H

#include "base/bytes.h"

#define HISTORY_COLUMNS_MAX 9

struct history;

struct history_row {
    uint64_t at_secs; /* since 1970, UTC */
    uint64_t columns[HISTORY_COLUMNS_MAX];
};

struct history *history_new(uint32_t columns);
void history_free(struct history *h);
/* at_secs at least that of the last row. */
void history_add(struct history *h, const struct history_row *row);
/* Takes the last row back (journal). */
void history_remove_last(struct history *h);
/* Drops whole days before this one (days since 1970). */
void history_trim(struct history *h, uint64_t before_day);
/* The same, but the dropped days come back as a history of their own, which the caller
 * owns; history_uncut() takes it and puts the days back in front (journal). */
struct history *history_cut(struct history *h, uint64_t before_day);
void history_uncut(struct history *h, struct history *cut);
/* Calls cb for each row of a day, oldest first. */
typedef void history_row_cb(void *ctx, const struct history_row *row);
void history_day(const struct history *h, uint64_t day, history_row_cb *cb, void *ctx);
/* Of the last row; 0: there is none. */
uint64_t history_last_secs(const struct history *h);
uint64_t history_row_count(const struct history *h);
uint64_t history_size_bytes(const struct history *h);
/* For image and digest: the whole as bytes and back. */
void history_encode(const struct history *h, struct bytes *out);
enum status history_decode(struct reader *r, struct history **ret_history) MUST_USE;
/* The same block by block (a block is a day or a part of one, at most
 * HISTORY_BLOCK_BYTES encoded): for an image. */
#define HISTORY_BLOCK_BYTES (64u << 10)
size_t history_block_count(const struct history *h);
void history_block_encode(const struct history *h, size_t block, struct bytes *out);
/* Appends one block. ST_CORRUPT: malformed, or not after the last one; nothing changed.
 */
enum status history_block_decode(struct history *h, struct reader *r) MUST_USE;
/* CRC-32C over all blocks: for the digest. */
uint32_t history_crc(const struct history *h);

#endif
