/* Imaging: see imaging.h. */
#include "server/imaging.h"

#include "base/limits.h"

#include <assert.h>

#define IMAGE_STEP_OBJECTS  512
#define IMAGE_BACKLOG_BYTES (4u << 20)
#define SNAPSHOT_BYTES      (64u << 20)

void
imaging_init(struct imaging *m, uint64_t least_bytes)
{
    *m = (struct imaging){.least_bytes =
                              least_bytes != 0 ? least_bytes : SNAPSHOT_BYTES};
}

bool
imaging_is_due(const struct imaging *m, const struct rlog *rlog)
{
    uint64_t least = m->bytes > m->least_bytes ? m->bytes : m->least_bytes;
    return m->image == NULL && (m->is_wanted || rlog_log_bytes(rlog) >= least);
}

bool
imaging_begin(struct imaging *m, struct rlog *rlog, struct state *state)
{
    assert(m->image == NULL);
    m->is_wanted = false;
    if (rlog_snapshot_begin(rlog, &m->index) != ST_OK)
        return false;
    assert(state->applied == m->index);
    m->image = image_begin(state);
    m->bytes = 0;
    return true;
}

bool
imaging_go_on(struct imaging *m, struct rlog *rlog)
{
    struct blob *piece = NULL;
    if (m->image == NULL || rlog_snapshot_backlog_bytes(rlog) > IMAGE_BACKLOG_BYTES)
        return false;
    image_step(m->image, IMAGE_STEP_OBJECTS);
    while ((piece = image_next(m->image)) != NULL) { /* bound: one step's pieces */
        m->bytes += piece->size;
        rlog_snapshot_write(rlog, piece);
    }
    if (!image_is_done(m->image))
        return false;
    image_end(m->image);
    m->image = NULL;
    rlog_snapshot_finish(rlog);
    m->images_total++;
    return true;
}

void
imaging_cancel(struct imaging *m, struct rlog *rlog)
{
    if (m->image == NULL)
        return;
    image_end(m->image);
    m->image = NULL;
    rlog_snapshot_cancel(rlog);
}

/* Feeds the snapshot to the loader piece by piece. */
static enum status
feed(struct rlog *rlog, struct image_loader *loader)
{
    uint64_t offset = 0;
    for (;;) { /* bound: the image's size */
        struct blob *piece = NULL;
        enum status st = rlog_snapshot_read(rlog, offset, LIMIT_SNAPSHOT_CHUNK, &piece);
        size_t size = st == ST_OK ? piece->size : 0;
        if (size > 0)
            st = image_loader_feed(loader, blob_slice(piece));
        blob_put(piece);
        if (st != ST_OK || size == 0)
            return st;
        offset += size;
    }
}

enum status
imaging_load(struct rlog *rlog, uint64_t index, struct state **ret_state)
{
    struct image_loader *loader = image_loader_new();
    struct state *fresh = NULL;
    enum status st = feed(rlog, loader);
    if (st != ST_OK) {
        image_loader_free(loader);
        return st;
    }
    st = image_loader_finish(loader, &fresh);
    if (st == ST_OK && fresh->applied > index) {
        state_free(fresh);
        st = ST_CORRUPT;
    }
    if (st == ST_OK)
        *ret_state = fresh;
    return st;
}
