/* Effects: parcels on their way out, and when they may leave.
 *
 * An effect's tag is the number of the last batch it rests on (TAG_NONE: nothing). It
 * waits in that batch's chain, and on one connection no effect has a lower tag than the
 * one before: chains leave in the order of their numbers, so effects of a connection
 * leave in the order they were made. All O(1). */
#ifndef HF_BROKER_EFFECTS_H
#define HF_BROKER_EFFECTS_H

#include "broker/parcel.h"

struct broker;
struct client;

/* Takes the parcel. c NULL: a connection that has no order to keep. */
void
effect_post(struct broker *b, struct client *c, struct parcel *parcel, uint64_t tag);
/* Closes without a word, in the connection's order. */
void effect_close(struct broker *b, struct client *c, uint64_t tag);
/* The request goes back as its reply. */
void reply_ok(struct broker *b,
              struct client *c,
              struct request *r,
              enum reply_shape shape,
              uint64_t tag);
void reply_id(struct broker *b,
              struct client *c,
              struct request *r,
              const struct uuid *id,
              uint64_t tag);
/* A code and, when the request says so, the end of the connection. */
void reply_refuse(
    struct broker *b, struct client *c, struct request *r, unsigned code, uint64_t tag);

#endif
