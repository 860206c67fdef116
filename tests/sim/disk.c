/* The modelled disk: one append-only record stream. What a process wrote survives its
 * death; a machine crash may take any suffix that was not synced, and tears the record
 * at the cut. Term and vote and finished snapshots are durable at once. A full disk
 * takes a reserve of records, or a snapshot instead of it; then what is appended waits.
 */
#include "disk.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/members.h"

#include <assert.h>
#include <string.h>

#define UNTRIM 40 /* entries that a start finds again at most */

/* --- the view: which record holds which index --- */

static void
view_set(struct sim_disk *d, uint64_t index, uint64_t record)
{
    assert(d->view_count > 0 || index == d->view_first);
    if (index < d->view_first) {
        d->view_first = index;
        d->view_count = 0;
    }
    assert(index <= d->view_first + d->view_count);
    uint64_t at = index - d->view_first;
    if (at >= d->view_capacity) {
        d->view_capacity = d->view_capacity == 0 ? 256 : d->view_capacity * 2;
        d->view = mem_realloc(d->view, d->view_capacity * sizeof *d->view);
    }
    d->view[at] = record;
    d->view_count = at + 1; /* what was behind is replaced */
}

uint64_t
sim_disk_record(const struct sim_disk *d, uint64_t index)
{
    return d->view[index - d->view_first];
}

const struct rlog_entry *
sim_disk_entry(const struct sim_disk *d, uint64_t index)
{
    if (d->view_count == 0 || index < d->view_first ||
        index >= d->view_first + d->view_count)
        return NULL;
    return &d->records[sim_disk_record(d, index)].entry;
}

static void
push_record(struct sim_disk *d, const struct rlog_entry *e)
{
    if (d->count == d->capacity) {
        d->capacity = d->capacity == 0 ? 256 : d->capacity * 2;
        d->records = mem_realloc(d->records, d->capacity * sizeof *d->records);
    }
    if (d->claimed >= e->index)
        d->claimed = e->index - 1;
    d->records[d->count].entry = *e;
    if (e->blob != NULL)
        blob_get(e->blob);
    view_set(d, e->index, d->count++);
}

uint64_t
sim_disk_done_at(struct sim_disk *d, uint64_t least, uint64_t most)
{
    uint64_t at = d->sim->now_us > d->busy_until_us ? d->sim->now_us : d->busy_until_us;
    if (at < d->stall_until_us)
        at = d->stall_until_us;
    return d->busy_until_us = at + sim_range(d->sim, least, most);
}

void
sim_disk_push(struct sim_disk *d,
              enum sim_event_type type,
              uint64_t at,
              uint64_t number,
              void *object)
{
    sim_push(d->sim, at,
             &(struct sim_event){.type = type,
                                 .target = d->node,
                                 .incarnation = d->sim->nodes[d->node].incarnation,
                                 .number = number,
                                 .object = object});
}

/* --- operations --- */

static enum status
write_term(void *ctx, uint64_t term, uint64_t vote)
{
    struct sim_disk *d = ctx;
    d->late_term = term;
    d->late_vote = vote;
    if (mutant_breaks(BROKEN_VOTE) && !sim_chance(d->sim, 300))
        return ST_OK;
    d->term = term;
    d->vote = vote;
    return ST_OK;
}

static void
append(void *ctx, const struct rlog_entry *entries, uint32_t count)
{
    struct sim_disk *d = ctx;
    bool is_new =
        d->view_count == 0 || entries[0].index >= d->view_first + d->view_count;
    for (uint32_t i = 0; i < count; i++)
        push_record(d, &entries[i]);
    uint64_t at = sim_disk_done_at(d, 20, 400);
    if (at < d->full_until_us) {
        uint64_t taken = count < d->reserve_left ? count : d->reserve_left;
        d->reserve_left -= taken;
        if (taken < count)
            at = d->full_until_us + sim_range(d->sim, 20, 5000);
    }
    if (at < d->written_us)
        at = d->written_us;
    d->written_us = at;
    sim_disk_push(d, EVENT_WRITTEN, at, d->count, NULL);
    if (!is_new)
        sim_trigger(d->sim, TRIGGER_TRUNCATE, d->node, 0);
}

static void
begin_sync(struct sim_disk *d)
{
    uint64_t most = sim_chance(d->sim, 50) ? 60000 : 4000;
    uint64_t at = sim_disk_done_at(d, 200, most);
    d->is_syncing = true;
    d->wants_sync = false;
    d->sync_began_us = d->sim->now_us;
    if (at < d->slow_until_us)
        at = d->busy_until_us = at + d->slow_ms * 1000;
    if (at <= d->written_us)
        at = d->written_us + 1;
    sim_disk_push(d, EVENT_SYNCED, at, d->count, NULL);
}

static void
request_sync(void *ctx)
{
    struct sim_disk *d = ctx;
    if (d->is_syncing)
        d->wants_sync = true;
    else
        begin_sync(d);
}

static enum status
read_entry(void *ctx, uint64_t index, struct rlog_entry *ret_entry)
{
    struct sim_disk *d = ctx;
    const struct rlog_entry *e = sim_disk_entry(d, index);
    if (e == NULL)
        return ST_CORRUPT;
    *ret_entry = *e;
    if (e->blob != NULL)
        blob_get(e->blob);
    return ST_OK;
}

static void
trim(void *ctx, uint64_t keep_first)
{
    struct sim_disk *d = ctx;
    if (keep_first <= d->view_first || d->view_count == 0)
        return;
    uint64_t gone = keep_first - d->view_first;
    if (gone > d->view_count)
        gone = d->view_count;
    /* What no start can find again need not be kept in memory. */
    for (uint64_t i = 0; i < gone && d->view_first + i + 2 * UNTRIM < keep_first; i++) {
        struct rlog_entry *e = &d->records[d->view[i]].entry;
        blob_put(e->blob);
        e->blob = NULL;
    }
    memmove(d->view, d->view + gone, (d->view_count - gone) * sizeof *d->view);
    d->view_first += gone;
    d->view_count -= gone;
    d->keep_first = d->view_first;
}

static void
health(void *ctx, struct rlog_disk_health *ret_health)
{
    const struct sim_disk *d = ctx;
    ret_health->is_full = d->sim->now_us < d->full_until_us;
    ret_health->busy_ms =
        d->is_syncing ? (d->sim->now_us - d->sync_began_us) / 1000 : 0;
}

static void
found_done(void *ctx)
{
    struct sim_disk *d = ctx;
    mem_free(d->rlog_disk.found.entries);
    d->rlog_disk.found.entries = NULL;
}

static const struct rlog_disk_ops OPS = {
    .write_term = write_term,
    .append = append,
    .sync = request_sync,
    .read = read_entry,
    .trim = trim,
    .snapshot_begin = sim_snapshot_begin,
    .snapshot_write = sim_snapshot_write,
    .snapshot_finish = sim_snapshot_finish,
    .snapshot_cancel = sim_snapshot_cancel,
    .snapshot_backlog = sim_snapshot_backlog,
    .incoming_begin = sim_incoming_begin,
    .incoming_write = sim_incoming_write,
    .incoming_finish = sim_incoming_finish,
    .incoming_cancel = sim_incoming_cancel,
    .incoming_install = sim_incoming_install,
    .snapshot_read = sim_snapshot_read,
    .snapshot_hold = sim_snapshot_hold,
    .snapshot_release = sim_snapshot_release,
    .found_done = found_done,
    .health = health,
};

/* --- completions --- */

static void
fail(struct sim_disk *d, struct rlog *rlog)
{
    struct sim_node *n = &d->sim->nodes[d->node];
    if (mutant_breaks(BROKEN_R10)) {
        if (d->lost_from > d->synced)
            d->lost_from = d->synced;
        n->is_failing = false;
        return;
    }
    sim_log(d->sim, "n%u a sync fails", d->node);
    rlog_on_failed(rlog, ST_IO, "the log could not be synced");
}

static void
synced(struct sim_disk *d, uint64_t count, struct rlog *rlog, uint64_t now_ms)
{
    if (d->sim->nodes[d->node].is_failing) {
        fail(d, rlog);
        if (!mutant_breaks(BROKEN_R10))
            return;
    }
    d->synced = count;
    if (d->written < d->synced)
        d->written = d->synced;
    d->is_syncing = false;
    if (d->wants_sync)
        begin_sync(d);
    rlog_on_synced(rlog, d->synced - d->base, now_ms);
}

void
sim_disk_event(struct sim_disk *d,
               const struct sim_event *event,
               struct rlog *rlog,
               uint64_t now_ms)
{
    if (event->type == EVENT_SNAPSHOT) {
        sim_snapshot_event(d, event->object, rlog, now_ms);
        return;
    }
    if (event->type == EVENT_SYNCED) {
        synced(d, event->number, rlog, now_ms);
        return;
    }
    if (event->number > d->written)
        d->written = event->number;
    rlog_on_written(rlog, d->written - d->base, now_ms);
    if (mutant_breaks(BROKEN_SYNC))
        rlog_on_synced(rlog, d->written - d->base, now_ms);
}

/* --- life --- */

struct sim_disk *
sim_disk_new(struct sim *s, uint32_t node)
{
    struct sim_disk *d = mem_calloc(1, sizeof *d);
    d->sim = s;
    d->node = node;
    d->rlog_disk.ops = &OPS;
    d->rlog_disk.ctx = d;
    d->keep_first = d->least_first = d->view_first = 1;
    d->lost_from = UINT64_MAX;
    return d;
}

void
sim_disk_format(struct sim_disk *d, const struct rlog_members *members)
{
    struct bytes payload = {0};
    rlog_members_encode(members, &payload);
    struct rlog_entry entry = {
        .index = 1,
        .term = 1,
        .type = RLOG_CHANGE,
        .is_sync = true,
        .crc = crc32c(0, payload.data, payload.size),
        .blob = blob_copy(slice_of(payload.data, payload.size)),
        .size = (uint32_t)payload.size,
    };
    bytes_fini(&payload);
    d->term = d->late_term = 1;
    push_record(d, &entry);
    blob_put(entry.blob);
    d->written = d->synced = d->count;
}

static void
drop_from(struct sim_disk *d, uint64_t keep)
{
    for (uint64_t i = keep; i < d->count; i++)
        blob_put(d->records[i].entry.blob); /* NULL is fine */
    d->count = keep;
}

void
sim_disk_discard(struct sim_disk *d, uint64_t first)
{
    d->view_count = 0;
    d->view_first = d->keep_first = d->least_first = first;
    d->claimed = first - 1;
    d->install_position = d->count;
}

/* Rebuilds the view from what is left of the stream, as a start would. */
static void
rebuild_view(struct sim_disk *d)
{
    d->view_count = 0;
    d->view_first = d->keep_first;
    for (uint64_t i = d->install_position; i < d->count; i++) {
        uint64_t index = d->records[i].entry.index;
        if (index < d->keep_first)
            d->view_count = 0; /* it replaced all behind it; itself it was trimmed */
        else if (index <= d->view_first + d->view_count)
            view_set(d, index, i);
    }
    if (d->image_count == 0)
        return;
    if (mutant_breaks(BROKEN_R9))
        return;
    /* R9. */
    const struct rlog_snapshot_meta *meta = &d->images[0].meta;
    const struct rlog_entry *at = sim_disk_entry(d, meta->index);
    bool is_joined = at != NULL ? at->term == meta->term
                                : d->view_count > 0 && d->view_first == meta->index + 1;
    if (!is_joined)
        sim_disk_discard(d, meta->index + 1);
}

struct rlog_disk *
sim_disk_open(struct sim_disk *d)
{
    struct rlog_found *f = &d->rlog_disk.found;
    memset(f, 0, sizeof *f);
    f->term = d->term;
    f->vote = d->vote;
    if (d->image_count > 0)
        f->snapshot = d->images[0].meta;
    f->first_index = d->view_first;
    f->count = d->view_count;
    f->entries = mem_calloc(d->view_count + 1, sizeof *f->entries);
    for (uint64_t i = 0; i < d->view_count; i++) {
        const struct rlog_entry *e = &d->records[d->view[i]].entry;
        f->entries[i] = (struct rlog_found_entry){
            .term = e->term,
            .size = e->size,
            .type = (uint8_t)e->type,
            .is_sync = e->is_sync,
        };
    }
    d->claimed = 0;
    d->base = d->count; /* all that is there is durable: open syncs it */
    d->written = d->synced = d->count;
    d->is_syncing = d->wants_sync = false;
    d->busy_until_us = d->written_us = 0;
    return &d->rlog_disk;
}

/* Segments that were to be removed may be there still. */
static void
untrim(struct sim_disk *d)
{
    uint64_t back = sim_range(d->sim, 0, UNTRIM);
    if (d->keep_first - d->least_first < back)
        back = d->keep_first - d->least_first;
    if (sim_chance(d->sim, 300))
        d->keep_first -= back;
}

void
sim_disk_stop(struct sim_disk *d, bool is_machine)
{
    uint64_t least = is_machine ? d->synced : d->written;
    if (least < d->install_position)
        least = d->install_position;
    uint64_t keep = sim_range(d->sim, least, d->count);
    if (is_machine && sim_chance(d->sim, 400))
        keep = least;
    if (is_machine && keep > d->lost_from && d->lost_from >= d->install_position)
        keep = d->lost_from;
    sim_log(d->sim, "n%u disk: stream %llu written %llu synced %llu kept %llu", d->node,
            (unsigned long long)d->count, (unsigned long long)d->written,
            (unsigned long long)d->synced, (unsigned long long)keep);
    /* The record at the cut is torn, and cut off at the start. */
    d->sim->counts.torn += is_machine && keep < d->count;
    drop_from(d, keep);
    if (is_machine)
        d->lost_from = UINT64_MAX;
    sim_snapshots_stop(d);
    untrim(d);
    rebuild_view(d);
}

void
sim_disk_wipe(struct sim_disk *d, bool is_new)
{
    drop_from(d, 0);
    sim_snapshots_drop(d);
    d->install_position = 0;
    d->lost_from = UINT64_MAX;
    sim_disk_discard(d, 1);
    if (is_new) {
        d->vote = d->late_vote = 0;
        d->term = d->late_term = 1;
    }
}

void
sim_disk_free(struct sim_disk *d)
{
    drop_from(d, 0);
    sim_snapshots_drop(d);
    mem_free(d->records);
    mem_free(d->view);
    mem_free(d);
}
