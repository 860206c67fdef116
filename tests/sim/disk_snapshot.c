/* Snapshots of the modelled disk: durable when they are finished; an installed one
 * takes the place of the whole log in one step. */
#include "disk.h"

#include "base/crc32c.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

static void
image_clear(struct sim_image *image)
{
    bytes_fini(&image->data);
    memset(image, 0, sizeof *image);
}

void
sim_snapshot_begin(void *ctx, const struct rlog_snapshot_meta *meta)
{
    struct sim_disk *d = ctx;
    image_clear(&d->local);
    d->local.meta = *meta;
    d->is_local_finished = false;
    d->local_generation++;
}

void
sim_snapshot_write(void *ctx, struct blob *piece)
{
    struct sim_disk *d = ctx;
    bytes_put_slice(&d->local.data, blob_slice(piece));
    blob_put(piece);
}

static void
push_snapshot(struct sim_disk *d,
              enum rlog_snapshot_event event,
              uint64_t generation,
              uint64_t bytes,
              uint64_t at)
{
    struct sim_snapshot_event *e = mem_calloc(1, sizeof *e);
    e->event = event;
    e->generation = generation;
    e->bytes = bytes;
    sim_disk_push(d, EVENT_SNAPSHOT, at, (uint64_t)event, e);
}

static void
seal(struct sim_image *image)
{
    image->meta.size_bytes = image->data.size;
    image->meta.crc = crc32c(0, image->data.data, image->data.size);
}

/* All of the reserve, or room. */
static bool
has_room_for_image(struct sim_disk *d)
{
    if (d->sim->now_us >= d->full_until_us)
        return true;
    bool has_reserve = d->reserve_left > 0;
    d->reserve_left = 0;
    return has_reserve;
}

void
sim_snapshot_finish(void *ctx)
{
    struct sim_disk *d = ctx;
    bool has_room = has_room_for_image(d);
    uint64_t at =
        d->sim->now_us > d->stall_until_us ? d->sim->now_us : d->stall_until_us;
    seal(&d->local);
    d->is_local_finished = has_room;
    push_snapshot(d, has_room ? RLOG_SNAPSHOT_STORED : RLOG_SNAPSHOT_FAILED,
                  d->local_generation, 0, at + sim_range(d->sim, 1000, 80000));
}

void
sim_snapshot_cancel(void *ctx)
{
    struct sim_disk *d = ctx;
    image_clear(&d->local);
    d->is_local_finished = false;
    d->local_generation++;
}

uint64_t
sim_snapshot_backlog(void *ctx)
{
    (void)ctx;
    return 0;
}

void
sim_incoming_begin(void *ctx, const struct rlog_snapshot_meta *meta)
{
    struct sim_disk *d = ctx;
    image_clear(&d->incoming);
    d->incoming.meta = *meta;
    d->incoming_generation++;
}

void
sim_incoming_write(void *ctx, struct blob *blob, uint32_t offset, uint32_t size)
{
    struct sim_disk *d = ctx;
    bytes_put(&d->incoming.data, blob->data + offset, size);
    push_snapshot(d, RLOG_SNAPSHOT_PIECE, d->incoming_generation, d->incoming.data.size,
                  d->sim->now_us + sim_range(d->sim, 100, 3000));
}

void
sim_incoming_finish(void *ctx)
{
    struct sim_disk *d = ctx;
    struct rlog_snapshot_meta wanted = d->incoming.meta;
    seal(&d->incoming);
    bool is_good = wanted.size_bytes == d->incoming.meta.size_bytes &&
                   wanted.crc == d->incoming.meta.crc && has_room_for_image(d);
    push_snapshot(d, is_good ? RLOG_SNAPSHOT_COMPLETE : RLOG_SNAPSHOT_REFUSED,
                  d->incoming_generation, 0,
                  d->sim->now_us + sim_range(d->sim, 1000, 20000));
}

void
sim_incoming_cancel(void *ctx)
{
    struct sim_disk *d = ctx;
    image_clear(&d->incoming);
    d->incoming_generation++;
}

void
sim_incoming_install(void *ctx)
{
    struct sim_disk *d = ctx;
    d->is_installing = true;
    push_snapshot(d, RLOG_SNAPSHOT_INSTALLED, d->incoming_generation, 0,
                  sim_disk_done_at(d, 1000, 30000));
    sim_trigger(d->sim, TRIGGER_INSTALLING, d->node, 0);
}

static struct sim_image *
find_image(struct sim_disk *d, uint64_t index)
{
    for (uint32_t i = 0; i < d->image_count; i++)
        if (d->images[i].meta.index == index)
            return &d->images[i];
    return NULL;
}

/* Those that are neither in force nor held go. */
static void
drop_old(struct sim_disk *d)
{
    uint32_t count = d->image_count > 0;
    for (uint32_t i = 1; i < d->image_count; i++) {
        if (d->images[i].holds > 0)
            d->images[count++] = d->images[i];
        else
            image_clear(&d->images[i]);
    }
    d->image_count = count;
}

static void
put_in_force(struct sim_disk *d, struct sim_image *image)
{
    drop_old(d);
    assert(d->image_count < SIM_IMAGES);
    memmove(&d->images[1], &d->images[0], d->image_count * sizeof d->images[0]);
    d->images[0] = *image;
    d->image_count++;
    memset(image, 0, sizeof *image);
    drop_old(d);
}

enum status
sim_snapshot_read(
    void *ctx, uint64_t index, uint64_t offset, size_t max, struct blob **ret_piece)
{
    const struct sim_image *image = find_image(ctx, index);
    if (image == NULL)
        return ST_NOTFOUND;
    size_t left = offset < image->data.size ? image->data.size - offset : 0;
    *ret_piece =
        blob_copy(slice_of(image->data.data + offset, left < max ? left : max));
    return ST_OK;
}

void
sim_snapshot_hold(void *ctx, uint64_t index)
{
    struct sim_image *image = find_image(ctx, index);
    assert(image != NULL);
    image->holds++;
}

void
sim_snapshot_release(void *ctx, uint64_t index)
{
    struct sim_image *image = find_image(ctx, index);
    assert(image != NULL && image->holds > 0);
    image->holds--;
    drop_old(ctx);
}

void
sim_snapshot_event(struct sim_disk *d,
                   const struct sim_snapshot_event *e,
                   struct rlog *rlog,
                   uint64_t now_ms)
{
    struct sim *s = d->sim;
    bool is_local =
        e->event == RLOG_SNAPSHOT_STORED || e->event == RLOG_SNAPSHOT_FAILED;
    if (e->generation != (is_local ? d->local_generation : d->incoming_generation))
        return; /* cancelled meanwhile */
    struct rlog_snapshot_meta meta = is_local ? d->local.meta : d->incoming.meta;
    s->counts.snapshots_refused +=
        e->event == RLOG_SNAPSHOT_FAILED || e->event == RLOG_SNAPSHOT_REFUSED;
    if (e->event == RLOG_SNAPSHOT_STORED)
        put_in_force(d, &d->local);
    if (is_local) {
        image_clear(&d->local);
        d->is_local_finished = false;
    }
    if (e->event == RLOG_SNAPSHOT_INSTALLED) {
        d->is_installing = false;
        put_in_force(d, &d->incoming);
        sim_disk_discard(d, meta.index + 1);
    }
    rlog_on_snapshot(rlog, e->event, &meta, e->bytes, now_ms);
    if (e->event == RLOG_SNAPSHOT_STORED)
        sim_trigger(s, TRIGGER_STORED, d->node, 0);
    if (e->event == RLOG_SNAPSHOT_INSTALLED)
        sim_trigger(s, TRIGGER_INSTALLED, d->node, 0);
}

/* What was about to be put in force: it is, or not; and when an install was, the log
 * may have been discarded or not (R9 finds out). */
static void
end_pending(struct sim_disk *d)
{
    bool is_newer =
        d->is_local_finished &&
        (d->image_count == 0 || d->local.meta.index > d->images[0].meta.index);
    if (is_newer && sim_chance(d->sim, 500))
        put_in_force(d, &d->local);
    if (!d->is_installing || sim_chance(d->sim, 400))
        return;
    uint64_t first = d->incoming.meta.index + 1;
    put_in_force(d, &d->incoming);
    if (sim_chance(d->sim, 400))
        sim_disk_discard(d, first);
}

void
sim_snapshots_stop(struct sim_disk *d)
{
    for (uint32_t i = 0; i < d->image_count; i++)
        d->images[i].holds = 0;
    end_pending(d);
    d->is_local_finished = d->is_installing = false;
    image_clear(&d->local);
    image_clear(&d->incoming);
    d->local_generation++;
    d->incoming_generation++;
    drop_old(d);
}

void
sim_snapshots_drop(struct sim_disk *d)
{
    sim_snapshots_stop(d);
    for (uint32_t i = 0; i < d->image_count; i++)
        image_clear(&d->images[i]);
    d->image_count = 0;
}
