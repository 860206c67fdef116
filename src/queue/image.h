/* Image: the whole replicated state as bytes, taken while the state goes on changing.
 *
 * image_begin() fixes the index: small things (queues, logins, settings, sessions,
 * history) are encoded at once, messages in steps of so many objects. A message that is
 * about to change or go, and which the cursor has not reached, is encoded first in its
 * old form (the verbs see to it); one that came later is marked and left out. So the
 * image is exactly the state at image_begin(), without fork and without a stop.
 *
 * Bytes come out in pieces of about LIMIT_SNAPSHOT_CHUNK; image_next() hands them over.
 * Format: man/holdfast-files.5; a version, counts, and at the end the state's digest,
 * so that a loaded state proves itself. Pure.
 *
 * On a leader the state is ahead of the commit index: an image holds what was proposed
 * up to state->applied at image_begin(), so it may be installed or sent only once that
 * index is committed, and is thrown away when a rollback goes below it. */
#ifndef HF_QUEUE_IMAGE_H
#define HF_QUEUE_IMAGE_H

#include "queue/state.h"

/* One image at a time per state. */
struct image *image_begin(struct state *s);
/* Its index: state->applied at image_begin(). */
uint64_t image_index(const struct image *image);
/* Visits at most objects more messages; one counts again for each IMAGE_OBJECT_BYTES of
 * its body, so that a step is bounded in bytes too. */
#define IMAGE_OBJECT_BYTES 512
void image_step(struct image *image, uint32_t objects);
/* The next full piece (all remaining ones once the image is complete), NULL if there is
 * none now. The caller owns the blob. */
struct blob *image_next(struct image *image);
/* Everything is encoded and was handed out. */
bool image_is_done(const struct image *image);
/* At any time; takes it off the state. NULL is fine. */
void image_end(struct image *image);

/* For the verbs: m is about to change or go. */
void image_touch(struct image *image, struct message *m);

/* Reads an image piece by piece into a new state. */
struct image_loader *image_loader_new(void);
/* How many bytes there will be: a hint, so that maps need not grow so often. */
void image_loader_expect(struct image_loader *l, uint64_t size_bytes);
/* Pieces of any size. ST_CORRUPT, ST_VERSION or ST_NOMEM are final: every later call
 * says the same. */
enum status image_loader_feed(struct image_loader *l, struct slice piece) MUST_USE;
/* After ST_VERSION: what is needed to read it. Valid as long as the loader. */
const char *image_loader_needs(const struct image_loader *l);
/* ST_CORRUPT when it is not whole or its digest does not match; the loader is freed in
 * every case. On success the caller owns the state. */
enum status image_loader_finish(struct image_loader *l,
                                struct state **ret_state) MUST_USE;
void image_loader_free(struct image_loader *l);

#endif
