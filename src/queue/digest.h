/* Digest: a number for a state, from parts. For src/queue alone.
 *
 * Messages count as a sum, so that an image can add them up in whatever order it comes
 * across them, and have at its end the digest of the state at its beginning. */
#ifndef HF_QUEUE_DIGEST_H
#define HF_QUEUE_DIGEST_H

#include "queue/state.h"

/* Everything but the messages. */
uint64_t digest_frame(const struct state *s);
/* One durable message, with its place. */
uint64_t digest_message(const struct message *m);
/* The digest of a state from digest_frame() and the sum of digest_message(). */
uint64_t digest_join(uint64_t frame, uint64_t messages);

#endif
