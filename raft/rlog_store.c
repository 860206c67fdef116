/* What of the log is stored here: the marks, and when to ask for a sync.
 *
 * An entry counts as stored when its record's position in the stream is at or below
 * the written mark, or the synced mark when is_sync says so; the stored index is the
 * end of the longest prefix for which every entry counts (raft-notes 6). */
#include "raft/rlog_int.h"

#include <assert.h>
#include <string.h>

static bool
needs_sync(const struct rlog_row *row)
{
    return row->is_sync && rlog_guard_is_on(RLOG_GUARD_R3);
}

void
rlog_store_entries(struct rlog *r,
                   uint64_t index,
                   const struct rlog_entry *entries,
                   uint32_t count)
{
    assert(count > 0 && index <= r->log.last + 1 && !r->is_installing);
    /* R4: a completion belongs to a position in the stream, not to an index. What is
     * replaced takes its old positions with it, so that completions that are still
     * out can only count for what was written then. */
    if (index <= r->log.last) {
        rlog_entries_truncate(&r->log, index);
        if (r->stored >= index)
            r->stored = index - 1;
        if (r->synced >= index)
            r->synced = index - 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        assert(entries[i].index == index + i && entries[i].term > 0);
        r->position++;
        rlog_entries_append(&r->log, &entries[i],
                            rlog_guard_is_on(RLOG_GUARD_R4) ? r->position : index + i);
    }
    r->disk->ops->append(r->disk->ctx, entries, count);
    if (r->sync_at_ms == UINT64_MAX)
        r->sync_at_ms = r->now_ms + r->options.sync_ms;
}

/* R3: completions are reported in order of index and together, one event for all. */
void
rlog_report_stored(struct rlog *r)
{
    if (r->is_installing || r->is_stopped)
        return;
    uint64_t stored = r->stored;
    uint64_t synced = r->synced;
    while (stored < r->log.last) {
        const struct rlog_row *row = rlog_entries_row(&r->log, stored + 1);
        uint64_t mark = needs_sync(row) ? r->synced_position : r->written_position;
        if (!rlog_guard_is_on(RLOG_GUARD_R2))
            mark = r->position;
        if (row->position > mark)
            break;
        stored++;
    }
    while (synced < r->log.last &&
           rlog_entries_row(&r->log, synced + 1)->position <= r->synced_position)
        synced++;
    r->synced = synced;
    if (stored == r->stored)
        return;
    assert(stored > r->stored);
    r->stored = stored;
    struct raft_event event;
    memset(&event, 0, sizeof event);
    event.type = RAFT_PERSISTED_ENTRIES;
    event.persisted_entries.index = stored;
    rlog_step(r, &event, NULL);
}

static void
ask(struct rlog *r)
{
    r->asked_position = r->position;
    r->sync_at_ms = UINT64_MAX;
    r->disk->ops->sync(r->disk->ctx);
}

/* At the end of a call: what waits for a sync gets one at once. */
void
rlog_ask_sync(struct rlog *r)
{
    if (r->asked_position >= r->position)
        return;
    if (r->gate.is_closed) {
        ask(r);
        return;
    }
    /* From the end: the newest entries are the ones that were not asked for. */
    for (uint64_t i = r->log.last; i > r->stored && i >= r->log.first; i--) {
        const struct rlog_row *row = rlog_entries_row(&r->log, i);
        if (row->position <= r->asked_position)
            break;
        if (needs_sync(row)) {
            ask(r);
            return;
        }
    }
}

void
rlog_tick_sync(struct rlog *r)
{
    if (r->sync_at_ms == UINT64_MAX || r->now_ms < r->sync_at_ms)
        return;
    r->sync_at_ms = UINT64_MAX;
    if (r->asked_position < r->position)
        ask(r);
}

static void
move_marks(struct rlog *r, uint64_t written, uint64_t synced)
{
    assert(written <= r->position && synced <= r->position);
    if (written > r->written_position)
        r->written_position = written;
    if (synced > r->synced_position)
        r->synced_position = synced;
    rlog_report_stored(r);
}

void
rlog_on_written(struct rlog *r, uint64_t position, uint64_t now_ms)
{
    rlog_note_time(r, now_ms);
    if (r->is_stopped)
        return;
    move_marks(r, position, 0);
    rlog_settle(r);
}

void
rlog_on_synced(struct rlog *r, uint64_t position, uint64_t now_ms)
{
    rlog_note_time(r, now_ms);
    if (r->is_stopped)
        return;
    move_marks(r, position, position);
    rlog_settle(r);
}

void
rlog_on_failed(struct rlog *r, enum status why, const char *what)
{
    /* R10: there is no event for it and no second try; the process ends. */
    rlog_fatal(r, why, what);
}
