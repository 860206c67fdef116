/* Trails: what became of a message that was not simply delivered and acknowledged.
 *
 * A message has none until it is given back, dies or is redriven for the first time, so
 * the plain way costs nothing. From then on what happens to it is noted, with the
 * stamp: at most TRAIL_MOST events, of which the first ones and the last ones stay.
 * Replicated and in the image, from HF_LEVEL_TRAILS on; not for durability 0. */
#ifndef HF_QUEUE_TRAIL_H
#define HF_QUEUE_TRAIL_H

#include "queue/state.h"

#define TRAIL_MOST  16
#define TRAIL_FIRST 4 /* that are never dropped */

enum trail_kind {
    TRAIL_HELD = 1,     /* given to a session */
    TRAIL_ENDED = 2,    /* given back: its session ended */
    TRAIL_EXPIRED = 3,  /* given back: the time of its saved session was up */
    TRAIL_CLOSED = 4,   /* given back: an operator ended its session */
    TRAIL_RELEASED = 5, /* given back alone */
    TRAIL_NACKED = 6,   /* into the DLQ: rejected */
    TRAIL_MOVED = 7,    /* into the DLQ: by an administrator */
    TRAIL_DAMAGED = 8,  /* into the DLQ: its body was damaged */
    TRAIL_REDRIVEN = 9, /* back among the waiting */
    TRAIL_KIND_COUNT
};

struct trail_event {
    uint64_t at_ms;
    uint64_t session; /* number of the one that held it, or 0; HELD: that holds it */
    uint8_t kind;
};

struct trail {
    uint32_t dropped; /* events between TRAIL_FIRST and the rest */
    uint8_t count;
    uint8_t capacity;
    struct trail_event events[];
};

/* "held", "returned", "dead" or "redriven", and why ("" when there is nothing to say).
 */
const char *trail_name(uint8_t kind);
const char *trail_reason(uint8_t kind);

/* The rest is for src/queue alone. */

/* Notes the event unless the level or the message's durability forbid it. The image has
 * been told. */
void trail_add(struct state *s, struct message *m, const struct trail_event *event);
/* Takes the newest event back; lost: what it pushed out, or NULL. */
void trail_undo(struct message *m, const struct trail_event *lost);
void trail_encode(struct bytes *out, const struct trail *trail);
/* Of a message that has none. ST_CORRUPT, ST_NOMEM. */
enum status trail_decode(struct reader *r, struct message *m) MUST_USE;

#endif
