/* The image loader's look at the place that a message is to go to. For src/queue alone.
 */
#ifndef HF_QUEUE_IMAGE_SPOT_H
#define HF_QUEUE_IMAGE_SPOT_H

#include "queue/place.h"

/* Whether a message may go there, place (enum place, from NONE to DEAD) and holder
 * being as they were read: no other is there, and no field says what no leader writes.
 * Fills in spot's place and holder. */
bool image_spot_is_good(const struct queue *q,
                        uint8_t place,
                        uint64_t holder,
                        struct message_spot *spot);

#endif
