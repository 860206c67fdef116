/* Delays: how many messages are delayed, and when the next delay ends.
 *
 * The count is never found by walking: a message whose delay has not ended is marked
 * and counted when it is published, and loses its mark when it leaves the waiting ones
 * or when time passes it. */
#ifndef HF_BROKER_DELAY_H
#define HF_BROKER_DELAY_H

#include "queue/state.h"

struct broker;
struct part;

/* m was published or given back, and waits: counts it as delayed if it is. */
void delay_message_waits(struct broker *b, struct part *part, struct message *m);
/* m is about to leave the waiting ones. */
void delay_message_leaves(struct part *part, struct message *m);
/* Delays have ended: takes the marks off, a turn's share. The caller dispatches. */
void delays_ripen(struct broker *b, struct part *part);
/* A term begins and ends: messages stay, their marks are its own. */
void delays_begin(struct broker *b, struct part *part);
void delays_end(struct broker *b, struct part *part);

#endif
