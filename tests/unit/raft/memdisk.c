#include "tests/unit/raft/memdisk.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/members.h"

#include <assert.h>
#include <string.h>

static enum status
op_write_term(void *ctx, uint64_t term, uint64_t vote)
{
    struct memdisk *d = ctx;
    if (d->fail_term)
        return ST_IO;
    d->term = term;
    d->vote = vote;
    d->term_writes++;
    return ST_OK;
}

static void
push(struct memdisk *d, const struct rlog_entry *e)
{
    if (d->count == d->capacity) {
        d->capacity = d->capacity == 0 ? 64 : d->capacity * 2;
        d->records = mem_realloc(d->records, d->capacity * sizeof *d->records);
    }
    d->records[d->count++].entry = *e;
    if (e->blob != NULL)
        blob_get(e->blob);
}

static void
op_append(void *ctx, const struct rlog_entry *entries, uint32_t count)
{
    struct memdisk *d = ctx;
    for (uint32_t i = 0; i < count; i++)
        push(d, &entries[i]);
}

static void
op_sync(void *ctx)
{
    struct memdisk *d = ctx;
    d->sync_asked = d->base + d->count;
    d->syncs++;
}

static enum status
op_read(void *ctx, uint64_t index, struct rlog_entry *ret_entry)
{
    struct memdisk *d = ctx;
    d->reads++;
    for (size_t i = d->count; i-- > 0;)
        if (d->records[i].entry.index == index) {
            assert((int64_t)(d->base + i + 1) <= (int64_t)d->written);
            *ret_entry = d->records[i].entry;
            if (ret_entry->blob != NULL)
                blob_get(ret_entry->blob);
            return ST_OK;
        }
    return ST_CORRUPT;
}

static void
op_trim(void *ctx, uint64_t keep_first)
{
    struct memdisk *d = ctx;
    d->keep_first = keep_first;
    d->trims++;
}

static void
image_clear(struct mem_image *m)
{
    bytes_fini(&m->data);
    memset(m, 0, sizeof *m);
}

static void
op_snapshot_begin(void *ctx, const struct rlog_snapshot_meta *meta)
{
    struct memdisk *d = ctx;
    assert(!d->is_taking);
    d->is_taking = true;
    d->is_take_finished = false;
    image_clear(&d->taking);
    d->taking.meta = *meta;
}

static void
op_snapshot_write(void *ctx, struct blob *piece)
{
    struct memdisk *d = ctx;
    assert(d->is_taking);
    bytes_put(&d->taking.data, piece->data, piece->size);
    blob_put(piece);
}

static void
op_snapshot_finish(void *ctx)
{
    struct memdisk *d = ctx;
    d->is_take_finished = true;
}

static void
op_snapshot_cancel(void *ctx)
{
    struct memdisk *d = ctx;
    d->is_taking = d->is_take_finished = false;
    image_clear(&d->taking);
}

static uint64_t
op_snapshot_backlog(void *ctx)
{
    (void)ctx;
    return 0;
}

static void
op_incoming_begin(void *ctx, const struct rlog_snapshot_meta *meta)
{
    struct memdisk *d = ctx;
    assert(!d->is_receiving);
    d->is_receiving = true;
    d->is_receive_finished = false;
    d->receive_reported = 0;
    image_clear(&d->receiving);
    d->receiving.meta = *meta;
}

static void
op_incoming_write(void *ctx, struct blob *blob, uint32_t offset, uint32_t size)
{
    struct memdisk *d = ctx;
    assert(d->is_receiving);
    bytes_put(&d->receiving.data, blob->data + offset, size);
}

static void
op_incoming_finish(void *ctx)
{
    struct memdisk *d = ctx;
    d->is_receive_finished = true;
}

static void
op_incoming_cancel(void *ctx)
{
    struct memdisk *d = ctx;
    d->is_receiving = d->is_receive_finished = false;
    image_clear(&d->receiving);
}

static void
op_incoming_install(void *ctx)
{
    struct memdisk *d = ctx;
    assert(d->is_receiving && !d->is_taking);
    d->is_installing = true;
}

static struct mem_image *
image_at(struct memdisk *d, uint64_t index)
{
    for (int i = 0; i < MEM_IMAGES; i++)
        if (d->images[i].meta.index == index)
            return &d->images[i];
    return NULL;
}

static enum status
op_snapshot_read(
    void *ctx, uint64_t index, uint64_t offset, size_t max, struct blob **ret_piece)
{
    struct memdisk *d = ctx;
    struct mem_image *m = image_at(d, index);
    if (m == NULL)
        return ST_NOTFOUND;
    size_t left = offset < m->data.size ? m->data.size - offset : 0;
    size_t size = left < max ? left : max;
    *ret_piece = blob_copy(slice_of(m->data.data + (size > 0 ? offset : 0), size));
    return ST_OK;
}

static void
reap(struct memdisk *d)
{
    for (int i = 0; i < MEM_IMAGES; i++)
        if (d->images[i].meta.index != 0 && d->images[i].holds == 0 &&
            d->images[i].meta.index != d->newest)
            image_clear(&d->images[i]);
}

static void
op_snapshot_hold(void *ctx, uint64_t index)
{
    struct mem_image *m = image_at(ctx, index);
    assert(m != NULL);
    m->holds++;
}

static void
op_snapshot_release(void *ctx, uint64_t index)
{
    struct mem_image *m = image_at(ctx, index);
    assert(m != NULL && m->holds > 0);
    m->holds--;
    reap(ctx);
}

static void
op_health(void *ctx, struct rlog_disk_health *ret_health)
{
    struct memdisk *d = ctx;
    *ret_health = d->health;
}

static void
op_found_done(void *ctx)
{
    struct memdisk *d = ctx;
    mem_free(d->disk.found.entries);
    d->disk.found.entries = NULL;
}

static void
op_gate_opened(void *ctx)
{
    struct memdisk *d = ctx;
    d->gates_opened++;
}

static const struct rlog_disk_ops mem_ops = {
    .write_term = op_write_term,
    .append = op_append,
    .sync = op_sync,
    .read = op_read,
    .trim = op_trim,
    .snapshot_begin = op_snapshot_begin,
    .snapshot_write = op_snapshot_write,
    .snapshot_finish = op_snapshot_finish,
    .snapshot_cancel = op_snapshot_cancel,
    .snapshot_backlog = op_snapshot_backlog,
    .incoming_begin = op_incoming_begin,
    .incoming_write = op_incoming_write,
    .incoming_finish = op_incoming_finish,
    .incoming_cancel = op_incoming_cancel,
    .incoming_install = op_incoming_install,
    .snapshot_read = op_snapshot_read,
    .snapshot_hold = op_snapshot_hold,
    .snapshot_release = op_snapshot_release,
    .found_done = op_found_done,
    .gate_opened = op_gate_opened,
    .health = op_health,
};

void
memdisk_init(struct memdisk *d, const struct rlog_members *members)
{
    memset(d, 0, sizeof *d);
    d->disk.ops = &mem_ops;
    d->disk.ctx = d;
    d->term = 1;
    d->keep_first = 1;
    struct bytes payload = {0};
    rlog_members_encode(members, &payload);
    struct rlog_entry e = {
        .index = 1,
        .term = 1,
        .type = RLOG_CHANGE,
        .is_sync = true,
        .crc = crc32c(0, payload.data, payload.size),
        .blob = blob_copy(slice_of(payload.data, payload.size)),
        .size = (uint32_t)payload.size,
    };
    push(d, &e);
    blob_put(e.blob);
    bytes_fini(&payload);
}

static void
drop_from(struct memdisk *d, size_t keep)
{
    while (d->count > keep)
        blob_put(d->records[--d->count].entry.blob);
}

void
memdisk_fini(struct memdisk *d)
{
    drop_from(d, 0);
    mem_free(d->records);
    mem_free(d->disk.found.entries);
    for (int i = 0; i < MEM_IMAGES; i++)
        image_clear(&d->images[i]);
    image_clear(&d->taking);
    image_clear(&d->receiving);
}

void
memdisk_open(struct memdisk *d)
{
    struct rlog_found *f = &d->disk.found;
    struct mem_image *m = d->newest == 0 ? NULL : image_at(d, d->newest);
    memset(f, 0, sizeof *f);
    f->term = d->term;
    f->vote = d->vote;
    if (m != NULL)
        f->snapshot = m->meta;
    f->entries = mem_calloc(d->count + 1, sizeof *f->entries);
    f->first_index = d->keep_first;
    for (size_t i = 0; i < d->count; i++) {
        const struct rlog_entry *e = &d->records[i].entry;
        if (e->index < f->first_index)
            continue;
        assert(e->index <= f->first_index + f->count);
        f->count = e->index - f->first_index;
        f->entries[f->count++] = (struct rlog_found_entry){.term = e->term,
                                                           .size = e->size,
                                                           .type = (uint8_t)e->type,
                                                           .is_sync = e->is_sync};
    }
    /* R9 */
    if (m != NULL) {
        uint64_t s = m->meta.index;
        bool has = s >= f->first_index && s < f->first_index + f->count &&
                   f->entries[s - f->first_index].term == m->meta.term;
        if (!has && f->first_index != s + 1) {
            drop_from(d, 0);
            f->count = 0;
            f->first_index = d->keep_first = s + 1;
        }
    }
    for (int i = 0; i < MEM_IMAGES; i++)
        d->images[i].holds = 0;
    reap(d);
    d->base = 0;
    d->base -= d->count; /* positions of what was found are <= 0, as wrapped numbers */
    d->written = d->synced = d->sync_asked = 0;
    d->is_taking = d->is_receiving = d->is_installing = false;
}

void
memdisk_kill(struct memdisk *d)
{
    op_snapshot_cancel(d);
    op_incoming_cancel(d);
    d->is_installing = false;
}

void
memdisk_crash(struct memdisk *d)
{
    drop_from(d, (size_t)(d->synced - d->base));
    memdisk_kill(d);
}

void
memdisk_wipe(struct memdisk *d)
{
    drop_from(d, 0);
    for (int i = 0; i < MEM_IMAGES; i++)
        image_clear(&d->images[i]);
    d->newest = 0;
    d->keep_first = 1;
    memdisk_kill(d);
}

void
memdisk_write(struct memdisk *d, struct rlog *r, uint64_t now_ms)
{
    uint64_t end = d->base + d->count;
    if (d->written == end)
        return;
    d->written = end;
    rlog_on_written(r, end, now_ms);
}

void
memdisk_sync(struct memdisk *d, struct rlog *r, uint64_t now_ms)
{
    if (d->sync_asked <= d->synced)
        return;
    if (d->written < d->sync_asked)
        d->written = d->sync_asked;
    d->synced = d->sync_asked;
    rlog_on_synced(r, d->synced, now_ms);
}

static struct mem_image *
put_in_force(struct memdisk *d, struct mem_image *from)
{
    struct mem_image *m = image_at(d, 0);
    assert(m != NULL);
    *m = *from;
    memset(from, 0, sizeof *from);
    d->newest = m->meta.index;
    return m;
}

static void
seal(struct mem_image *m)
{
    m->meta.size_bytes = m->data.size;
    m->meta.crc = crc32c(0, m->data.data, m->data.size);
}

static void
deliver_incoming(struct memdisk *d, struct rlog *r, uint64_t now_ms)
{
    if (d->is_receiving && d->receive_reported < d->receiving.data.size) {
        d->receive_reported = d->receiving.data.size;
        rlog_on_snapshot(r, RLOG_SNAPSHOT_PIECE, &d->receiving.meta,
                         d->receive_reported, now_ms);
    }
    if (d->is_receiving && d->is_receive_finished && !d->is_installing) {
        struct rlog_snapshot_meta want = d->receiving.meta;
        d->is_receive_finished = false;
        seal(&d->receiving);
        if (want.size_bytes == d->receiving.meta.size_bytes &&
            want.crc == d->receiving.meta.crc) {
            rlog_on_snapshot(r, RLOG_SNAPSHOT_COMPLETE, &want, 0, now_ms);
        } else {
            d->is_receiving = false;
            image_clear(&d->receiving);
            rlog_on_snapshot(r, RLOG_SNAPSHOT_REFUSED, &want, 0, now_ms);
        }
    }
    if (d->is_installing) {
        d->is_installing = d->is_receiving = false;
        d->installs++;
        struct mem_image *m = put_in_force(d, &d->receiving);
        uint64_t end = d->base + d->count;
        drop_from(d, 0);
        d->base = d->written = d->synced = d->sync_asked = end;
        d->keep_first = m->meta.index + 1;
        rlog_on_snapshot(r, RLOG_SNAPSHOT_INSTALLED, &m->meta, 0, now_ms);
        reap(d);
    }
}

void
memdisk_snapshots(struct memdisk *d, struct rlog *r, uint64_t now_ms)
{
    if (d->is_taking && d->is_take_finished) {
        d->is_taking = d->is_take_finished = false;
        seal(&d->taking);
        struct mem_image *m = put_in_force(d, &d->taking);
        rlog_on_snapshot(r, RLOG_SNAPSHOT_STORED, &m->meta, 0, now_ms);
        reap(d);
    }
    deliver_incoming(d, r, now_ms);
}

void
memdisk_deliver(struct memdisk *d, struct rlog *r, uint64_t now_ms)
{
    memdisk_write(d, r, now_ms);
    memdisk_sync(d, r, now_ms);
    memdisk_snapshots(d, r, now_ms);
}
