/* History: rows in blocks.
 *
 * A block holds rows of one UTC day, at most HISTORY_BLOCK_BYTES of them; a very busy
 * day has several. In a block the first row counts from the day's first second and from
 * zero, each next one from the row before: the time as LEB128, columns as zigzag
 * LEB128. Most rows differ little from the one before, so a row of nine columns takes
 * about as many bytes. Blocks other than the last one never change.
 *
 * The last row is kept decoded, since the next one counts from it; taking a row back
 * decodes the last block again. */
#include "queue/history.h"

#include "base/crc32c.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define DAY_SECS      86400u
#define ROW_BYTES_MAX (10u * (HISTORY_COLUMNS_MAX + 1))
#define DAY_LIMIT     ((uint64_t)1 << 40) /* keeps day * DAY_SECS from overflowing */

struct block {
    uint64_t day;
    uint32_t rows;
    struct bytes bytes;
};

struct history {
    uint32_t columns;
    struct block *blocks;
    size_t count;
    size_t capacity;
    uint64_t rows;
    uint64_t bytes;          /* of all blocks */
    struct history_row last; /* of the last block; zero when there is none */
};

struct history *
history_new(uint32_t columns)
{
    assert(columns > 0 && columns <= HISTORY_COLUMNS_MAX);
    struct history *h = mem_calloc(1, sizeof *h);
    h->columns = columns;
    return h;
}

void
history_free(struct history *h)
{
    if (h == NULL)
        return;
    for (size_t i = 0; i < h->count; i++)
        bytes_fini(&h->blocks[i].bytes);
    mem_free(h->blocks);
    mem_free(h);
}

static uint64_t
zigzag(uint64_t delta)
{
    return delta << 1 ^ (0 - (delta >> 63));
}

static uint64_t
unzigzag(uint64_t v)
{
    return v >> 1 ^ (0 - (v & 1));
}

/* What the first row of a block counts from. */
static struct history_row
day_start(uint64_t day)
{
    return (struct history_row){.at_secs = day * DAY_SECS};
}

static void
encode_row(struct bytes *out,
           uint32_t columns,
           const struct history_row *before,
           const struct history_row *row)
{
    bytes_put_varint(out, row->at_secs - before->at_secs);
    for (uint32_t i = 0; i < columns; i++)
        bytes_put_varint(out, zigzag(row->columns[i] - before->columns[i]));
}

/* row: the one before, becomes the next one. */
static void
decode_row(struct reader *r, uint32_t columns, struct history_row *row)
{
    row->at_secs += read_varint(r);
    for (uint32_t i = 0; i < columns; i++)
        row->columns[i] += unzigzag(read_varint(r));
}

static void
reserve_blocks(struct history *h, size_t more)
{
    if (h->count + more <= h->capacity)
        return;
    size_t capacity =
        h->capacity * 2 > h->count + more ? h->capacity * 2 : h->count + more;
    h->blocks = mem_realloc(h->blocks, capacity * sizeof *h->blocks);
    h->capacity = capacity;
}

/* The bytes of a block that will not change again, in memory of just their size. */
static void
shrink(struct block *block)
{
    struct bytes *b = &block->bytes;
    if (b->capacity <= b->size || b->size == 0)
        return;
    b->data = mem_realloc(b->data, b->size);
    b->capacity = b->size;
}

static struct block *
add_block(struct history *h, uint64_t day)
{
    if (h->count > 0)
        shrink(&h->blocks[h->count - 1]);
    reserve_blocks(h, 1);
    struct block *block = &h->blocks[h->count++];
    memset(block, 0, sizeof *block);
    block->day = day;
    return block;
}

void
history_add(struct history *h, const struct history_row *row)
{
    assert(row->at_secs >= h->last.at_secs && "rows come in time order");
    uint64_t day = row->at_secs / DAY_SECS;
    assert(day < DAY_LIMIT);
    struct block *block = h->count == 0 ? NULL : &h->blocks[h->count - 1];
    if (block == NULL || block->day != day ||
        block->bytes.size + ROW_BYTES_MAX > HISTORY_BLOCK_BYTES) {
        block = add_block(h, day);
        h->last = day_start(day);
    }
    size_t old_size = block->bytes.size;
    encode_row(&block->bytes, h->columns, &h->last, row);
    memset(&h->last, 0, sizeof h->last);
    h->last.at_secs = row->at_secs;
    memcpy(h->last.columns, row->columns, h->columns * sizeof row->columns[0]);
    block->rows++;
    h->rows++;
    h->bytes += block->bytes.size - old_size;
}

/* Decodes the first rows of a block; ret_size: the bytes they take. */
static struct history_row
decode_rows(const struct history *h,
            const struct block *block,
            uint32_t rows,
            size_t *ret_size)
{
    struct reader r = reader_of(slice_of(block->bytes.data, block->bytes.size));
    struct history_row row = day_start(block->day);
    for (uint32_t i = 0; i < rows; i++)
        decode_row(&r, h->columns, &row);
    assert(!r.bad);
    *ret_size = block->bytes.size - reader_left(&r);
    return row;
}

/* Finds last again after blocks or rows went. */
static void
find_last(struct history *h)
{
    memset(&h->last, 0, sizeof h->last);
    if (h->count == 0)
        return;
    size_t size;
    const struct block *block = &h->blocks[h->count - 1];
    h->last = decode_rows(h, block, block->rows, &size);
    assert(size == block->bytes.size);
}

void
history_remove_last(struct history *h)
{
    assert(h->count > 0);
    struct block *block = &h->blocks[h->count - 1];
    size_t size;
    decode_rows(h, block, block->rows - 1, &size);
    h->bytes -= block->bytes.size - size;
    h->rows--;
    block->rows--;
    block->bytes.size = size;
    if (block->rows == 0) {
        bytes_fini(&block->bytes);
        h->count--;
    }
    find_last(h);
}

/* Appends count blocks of from, whose bytes change hands. */
static void
take_blocks(struct history *h, const struct block *from, size_t count)
{
    if (count == 0)
        return;
    reserve_blocks(h, count);
    memcpy(h->blocks + h->count, from, count * sizeof *from);
    h->count += count;
    for (size_t i = 0; i < count; i++) {
        h->rows += from[i].rows;
        h->bytes += from[i].bytes.size;
    }
}

struct history *
history_cut(struct history *h, uint64_t before_day)
{
    struct history *cut = history_new(h->columns);
    size_t count = 0;
    while (count < h->count && h->blocks[count].day < before_day)
        count++;
    if (count == 0)
        return cut;
    take_blocks(cut, h->blocks, count);
    h->rows -= cut->rows;
    h->bytes -= cut->bytes;
    h->count -= count;
    memmove(h->blocks, h->blocks + count, h->count * sizeof *h->blocks);
    find_last(cut);
    if (h->count == 0)
        find_last(h);
    return cut;
}

void
history_uncut(struct history *h, struct history *cut)
{
    assert(h->columns == cut->columns);
    if (cut->count > 0) {
        assert(h->count == 0 || cut->last.at_secs <= h->blocks[0].day * DAY_SECS);
        take_blocks(cut, h->blocks, h->count);
        struct block *blocks = h->blocks;
        h->blocks = cut->blocks;
        h->capacity = cut->capacity;
        h->count = cut->count;
        h->rows = cut->rows;
        h->bytes = cut->bytes;
        find_last(h);
        cut->blocks = blocks; /* whose bytes have gone over */
        cut->count = 0;
    }
    history_free(cut);
}

void
history_trim(struct history *h, uint64_t before_day)
{
    history_free(history_cut(h, before_day));
}

/* The first block of a day at or after this one. */
static size_t
find_day(const struct history *h, uint64_t day)
{
    size_t low = 0;
    size_t high = h->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (h->blocks[middle].day < day)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void
history_day(const struct history *h, uint64_t day, history_row_cb *cb, void *ctx)
{
    for (size_t i = find_day(h, day); i < h->count && h->blocks[i].day == day; i++) {
        const struct block *block = &h->blocks[i];
        struct reader r = reader_of(slice_of(block->bytes.data, block->bytes.size));
        struct history_row row = day_start(day);
        for (uint32_t j = 0; j < block->rows; j++) {
            decode_row(&r, h->columns, &row);
            cb(ctx, &row);
        }
        assert(reader_done(&r));
    }
}

uint64_t
history_last_secs(const struct history *h)
{
    return h->last.at_secs; /* zero when there is none */
}

uint64_t
history_row_count(const struct history *h)
{
    return h->rows;
}

uint64_t
history_size_bytes(const struct history *h)
{
    return sizeof *h + h->capacity * sizeof *h->blocks + h->bytes;
}

size_t
history_block_count(const struct history *h)
{
    return h->count;
}

void
history_block_encode(const struct history *h, size_t block, struct bytes *out)
{
    assert(block < h->count);
    const struct block *b = &h->blocks[block];
    bytes_put_u64(out, b->day);
    bytes_put_u32(out, b->rows);
    bytes_put_block(out, slice_of(b->bytes.data, b->bytes.size));
}

/* Whether the bytes are rows of one day in time order, none before the last one that
 * there is; gives the last of them. */
static bool
check_block(const struct history *h,
            uint64_t day,
            uint32_t rows,
            struct slice bytes,
            struct history_row *ret_last)
{
    struct reader r = reader_of(bytes);
    struct history_row row = day_start(day);
    uint64_t before_secs = h->last.at_secs;
    for (uint32_t i = 0; i < rows && !r.bad; i++) {
        decode_row(&r, h->columns, &row);
        if (row.at_secs < before_secs || row.at_secs / DAY_SECS != day)
            return false;
        before_secs = row.at_secs;
    }
    *ret_last = row;
    return reader_done(&r);
}

enum status
history_block_decode(struct history *h, struct reader *r)
{
    uint64_t day = read_u64(r);
    uint32_t rows = read_u32(r);
    struct slice bytes = read_block(r, HISTORY_BLOCK_BYTES);
    if (r->bad || day >= DAY_LIMIT || rows == 0)
        return ST_CORRUPT;
    if (h->count > 0 && day < h->blocks[h->count - 1].day)
        return ST_CORRUPT;
    struct history_row last;
    if (!check_block(h, day, rows, bytes, &last))
        return ST_CORRUPT;
    struct block *block = add_block(h, day);
    bytes_put_slice(&block->bytes, bytes);
    block->rows = rows;
    h->rows += rows;
    h->bytes += bytes.size;
    h->last = last;
    return ST_OK;
}

void
history_encode(const struct history *h, struct bytes *out)
{
    bytes_put_u32(out, h->columns);
    bytes_put_u64(out, h->count);
    for (size_t i = 0; i < h->count; i++)
        history_block_encode(h, i, out);
}

enum status
history_decode(struct reader *r, struct history **ret_history)
{
    uint32_t columns = read_u32(r);
    uint64_t count = read_u64(r);
    if (r->bad || columns == 0 || columns > HISTORY_COLUMNS_MAX)
        return ST_CORRUPT;
    struct history *h = history_new(columns);
    for (uint64_t i = 0; i < count; i++) { /* bounded: a block takes bytes of r */
        enum status status = history_block_decode(h, r);
        if (status != ST_OK) {
            history_free(h);
            return status;
        }
    }
    *ret_history = h;
    return ST_OK;
}

uint32_t
history_crc(const struct history *h)
{
    uint32_t crc = 0;
    for (size_t i = 0; i < h->count; i++) {
        uint8_t head[12];
        put_u64(head, h->blocks[i].day);
        put_u32(head + 8, h->blocks[i].rows);
        crc = crc32c(crc, head, sizeof head);
        crc = crc32c(crc, h->blocks[i].bytes.data, h->blocks[i].bytes.size);
    }
    return crc;
}
