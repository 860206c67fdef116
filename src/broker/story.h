/* Story: what a message went through, as administrators and operators are told. Part of
 * broker/parcel.h, which proto may use: plain data, texts that are constant. */
#ifndef HF_BROKER_STORY_H
#define HF_BROKER_STORY_H

#include "queue/trail.h"

#define STORY_MOST (TRAIL_MOST + 2) /* with when it came, and who has it */

struct story_event {
    uint64_t at_ms;   /* 0: not known */
    uint64_t session; /* number, or 0 */
    const char *name; /* received, held, returned, dead, redriven */
    const char *reason;
};

struct message_story {
    struct uuid id;
    const char *place; /* waiting, delayed, held, dead */
    uint32_t deliveries;
    uint32_t dropped; /* events between the first ones and the last ones */
    uint32_t count;
    struct story_event events[STORY_MOST]; /* oldest first */
};

/* Of a message that is in its queue, at cluster time now_ms. */
void message_story(const struct message *m,
                   uint64_t now_ms,
                   struct message_story *ret_story);

#endif
