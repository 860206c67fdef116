/* Imaging: a replica's part in snapshots: when one is wanted, the image that is being
 * taken while the state goes on, and the image that a state is made of. */
#ifndef HF_SERVER_IMAGING_H
#define HF_SERVER_IMAGING_H

#include "queue/image.h"
#include "queue/level.h"
#include "raft/rlog.h"

struct imaging {
    struct image *image;   /* being taken, or NULL */
    uint64_t least_bytes;  /* of log since the last snapshot */
    uint64_t index;        /* of the image */
    uint64_t bytes;        /* of the image, or of the last one */
    uint64_t images_total; /* encoded whole */
    bool is_wanted;        /* waits until the state is what is committed */

    struct image_loader *loader; /* a snapshot that is being loaded, or NULL */
    uint64_t load_index;
    uint64_t load_offset;
    char needs[LEVEL_TEXT_BYTES]; /* after ST_VERSION: to read it */
};

/* least_bytes 0: the default of 64 MiB. */
void imaging_init(struct imaging *m, uint64_t least_bytes);
/* The log has grown by more than max(least_bytes, the last image). */
bool imaging_is_due(const struct imaging *m, const struct rlog *rlog);
/* state is at the log's last applied entry (asserted). False: not now. */
bool imaging_begin(struct imaging *m, struct rlog *rlog, struct state *state);
/* A bounded step; true when the image was handed to the log whole. */
bool imaging_go_on(struct imaging *m, struct rlog *rlog);
void imaging_cancel(struct imaging *m, struct rlog *rlog);
/* From restore_cb on: a new state out of the newest snapshot, at index, piece by piece.
 * Ends in anything but ST_AGAIN; one that was begun before is forgotten. */
void imaging_begin_load(struct imaging *m, struct rlog *rlog, uint64_t index);
enum status imaging_go_on_loading(struct imaging *m,
                                  struct rlog *rlog,
                                  struct state **ret_state) MUST_USE;
void imaging_cancel_load(struct imaging *m);

#endif
