/* Imaging: see imaging.h. */
#include "server/imaging.h"

#include "base/limits.h"
#include "base/mem.h"

#include <assert.h>
#include <stdio.h>

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

void
imaging_begin_load(struct imaging *m, struct rlog *rlog, uint64_t index)
{
    imaging_cancel_load(m);
    mem_load_begin();
    m->loader = image_loader_new();
    m->load_index = index;
    m->load_offset = 0;
    image_loader_expect(m->loader, rlog_snapshot_bytes(rlog));
}

void
imaging_cancel_load(struct imaging *m)
{
    if (m->loader == NULL)
        return;
    image_loader_free(m->loader);
    m->loader = NULL;
    mem_load_end();
}

static enum status
finish_load(struct imaging *m, struct state **ret_state)
{
    struct state *fresh = NULL;
    enum status st = image_loader_finish(m->loader, &fresh);
    m->loader = NULL;
    mem_load_end();
    if (st != ST_OK)
        return st;
    if (fresh->applied > m->load_index) {
        state_free(fresh);
        return ST_CORRUPT;
    }
    m->bytes = m->load_offset; /* the next image is due when the log is as large */
    *ret_state = fresh;
    return ST_OK;
}

enum status
imaging_go_on_loading(struct imaging *m, struct rlog *rlog, struct state **ret_state)
{
    struct blob *piece = NULL;
    assert(m->loader != NULL);
    enum status st =
        rlog_snapshot_read(rlog, m->load_offset, LIMIT_SNAPSHOT_CHUNK, &piece);
    if (st == ST_OK && piece->size == 0) {
        blob_put(piece);
        return finish_load(m, ret_state);
    }
    if (st == ST_OK) {
        m->load_offset += piece->size;
        st = image_loader_feed(m->loader, blob_slice(piece));
        blob_put(piece);
        mem_load_step();
    }
    if (st == ST_OK)
        return ST_AGAIN;
    if (st == ST_VERSION)
        (void)snprintf(m->needs, sizeof m->needs, "%s", image_loader_needs(m->loader));
    imaging_cancel_load(m);
    return st;
}
