/* The rows of the log and the cache of its newest payloads: two rings that grow by
 * doubling. An index is its own address (index & mask), so nothing moves when entries
 * are dropped at either end. */
#include "raft/entries.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

#define ROWS_START 256u

void
rlog_entries_init(struct rlog_entries *e, uint64_t first)
{
    assert(first >= 1);
    memset(e, 0, sizeof *e);
    e->first = first;
    e->last = first - 1;
    e->cached_first = first;
    e->rows = mem_calloc(ROWS_START, sizeof *e->rows);
    e->mask = ROWS_START - 1;
    e->cached = mem_calloc(ROWS_START, sizeof *e->cached);
    e->cached_mask = ROWS_START - 1;
}

static void
drop_cached(struct rlog_entries *e, uint64_t index)
{
    struct rlog_cached *c = &e->cached[index & e->cached_mask];
    if (c->blob != NULL)
        blob_put(c->blob);
    c->blob = NULL;
    e->cached_bytes -= RLOG_ENTRY_OVERHEAD + e->rows[index & e->mask].size;
}

void
rlog_entries_fini(struct rlog_entries *e)
{
    if (e->cached != NULL)
        for (uint64_t i = e->cached_first; i <= e->last; i++)
            drop_cached(e, i);
    mem_free(e->rows);
    mem_free(e->cached);
    memset(e, 0, sizeof *e);
}

static void
grow_rows(struct rlog_entries *e)
{
    uint64_t mask = e->mask * 2 + 1;
    struct rlog_row *rows = mem_calloc(mask + 1, sizeof *rows);
    for (uint64_t i = e->first; i <= e->last; i++)
        rows[i & mask] = e->rows[i & e->mask];
    mem_free(e->rows);
    e->rows = rows;
    e->mask = mask;
}

static void
grow_cached(struct rlog_entries *e)
{
    uint64_t mask = e->cached_mask * 2 + 1;
    struct rlog_cached *cached = mem_calloc(mask + 1, sizeof *cached);
    for (uint64_t i = e->cached_first; i <= e->last; i++)
        cached[i & mask] = e->cached[i & e->cached_mask];
    mem_free(e->cached);
    e->cached = cached;
    e->cached_mask = mask;
}

static struct rlog_row *
add_row(struct rlog_entries *e, uint32_t size)
{
    uint64_t before = rlog_entries_bytes(e, e->last);
    if (e->last + 1 - e->first > e->mask)
        grow_rows(e);
    struct rlog_row *row = &e->rows[(e->last + 1) & e->mask];
    row->size = size;
    row->end_bytes = before + RLOG_ENTRY_OVERHEAD + size;
    return row;
}

void
rlog_entries_load(struct rlog_entries *e,
                  uint64_t term,
                  enum rlog_type type,
                  bool is_sync,
                  uint32_t size)
{
    assert(e->cached_first == e->last + 1);
    struct rlog_row *row = add_row(e, size);
    row->term = term;
    row->type = (uint8_t)type;
    row->is_sync = is_sync;
    row->position = 0;
    e->last++;
    e->cached_first = e->last + 1;
}

void
rlog_entries_append(struct rlog_entries *e,
                    const struct rlog_entry *entry,
                    uint64_t position)
{
    assert(entry->index == e->last + 1);
    assert(entry->size == 0 || entry->blob != NULL);
    struct rlog_row *row = add_row(e, entry->size);
    row->term = entry->term;
    row->type = (uint8_t)entry->type;
    row->is_sync = entry->is_sync;
    row->position = position;
    if (e->last + 1 - e->cached_first > e->cached_mask)
        grow_cached(e);
    e->last++;
    struct rlog_cached *c = &e->cached[e->last & e->cached_mask];
    c->blob = entry->size == 0 ? NULL : blob_get(entry->blob);
    c->offset = entry->offset;
    c->crc = entry->crc;
    e->cached_bytes += RLOG_ENTRY_OVERHEAD + entry->size;
}

void
rlog_entries_truncate(struct rlog_entries *e, uint64_t index)
{
    assert(index >= e->first && index <= e->last + 1);
    for (uint64_t i = index < e->cached_first ? e->cached_first : index; i <= e->last;
         i++)
        drop_cached(e, i);
    e->last = index - 1;
    if (e->cached_first > e->last + 1)
        e->cached_first = e->last + 1;
}

void
rlog_entries_trim(struct rlog_entries *e, uint64_t keep_first)
{
    assert(keep_first <= e->last + 1);
    if (keep_first <= e->first)
        return;
    for (; e->cached_first < keep_first; e->cached_first++)
        drop_cached(e, e->cached_first);
    e->base_bytes = rlog_entries_bytes(e, keep_first - 1);
    e->first = keep_first;
}

void
rlog_entries_reset(struct rlog_entries *e, uint64_t first)
{
    assert(first >= 1);
    for (uint64_t i = e->cached_first; i <= e->last; i++)
        drop_cached(e, i);
    e->base_bytes = rlog_entries_bytes(e, e->last);
    e->first = first;
    e->last = first - 1;
    e->cached_first = first;
}

void
rlog_entries_evict(struct rlog_entries *e, uint64_t keep_from, uint64_t limit_bytes)
{
    while (e->cached_bytes > limit_bytes && e->cached_first < keep_from &&
           e->cached_first <= e->last) {
        drop_cached(e, e->cached_first);
        e->cached_first++;
    }
}

uint64_t
rlog_entries_term(const struct rlog_entries *e, uint64_t index)
{
    return rlog_entries_has(e, index) ? rlog_entries_row(e, index)->term : 0;
}

uint64_t
rlog_entries_bytes(const struct rlog_entries *e, uint64_t index)
{
    assert(index <= e->last);
    if (index < e->first)
        return e->base_bytes;
    return e->rows[index & e->mask].end_bytes;
}

bool
rlog_entries_cached(const struct rlog_entries *e,
                    uint64_t index,
                    struct rlog_entry *ret_entry)
{
    if (index < e->cached_first || index > e->last)
        return false;
    const struct rlog_row *row = rlog_entries_row(e, index);
    const struct rlog_cached *c = &e->cached[index & e->cached_mask];
    *ret_entry = (struct rlog_entry){
        .index = index,
        .term = row->term,
        .type = (enum rlog_type)row->type,
        .is_sync = row->is_sync,
        .crc = c->crc,
        .blob = c->blob,
        .offset = c->offset,
        .size = row->size,
    };
    return true;
}
