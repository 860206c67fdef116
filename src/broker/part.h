/* Parts: the leader's part of a queue, from the begin of a term (or the queue's
 * creation) to its end. */
#ifndef HF_BROKER_PART_H
#define HF_BROKER_PART_H

#include "queue/state.h"

struct broker;
struct part;

/* Makes the part of a queue, with seats for its sessions, all of which are saved. */
struct part *part_new(struct broker *b, struct queue *q);
/* Its connections must be gone. Frees the seats too, and clears the leader pointers. */
void part_free(struct broker *b, struct part *part);

/* The queue of that name, on the leader: ST_NOTLEADER, ST_NOTFOUND. */
enum status part_led_queue(const struct broker *b,
                           struct slice name,
                           struct queue **ret_queue) MUST_USE;

#endif
