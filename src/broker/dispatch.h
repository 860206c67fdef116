/* Dispatch: who gets a message, and when it is handed to the connection.
 *
 * Whenever a message waits whose time has come and a subscriber in the line has room,
 * the first goes to the first. A turn's share is bounded; what is left is the next
 * turn's. A message is handed over (emitted) while less than half of the connection's
 * write queue is unsent; an empty queue takes any one message. */
#ifndef HF_BROKER_DISPATCH_H
#define HF_BROKER_DISPATCH_H

#include "broker/parcel.h"

struct broker;
struct client;
struct part;
struct seat;

/* Assigns while a message and room are there, at most the turn's share. */
void dispatch(struct broker *b, struct part *part);
/* Goes on where the last turn stopped. */
void dispatch_dirty(struct broker *b);
/* Capacity, what it holds, what is unsent or the connection has changed: emits what may
 * be, and takes the seat into the line of those with room, or out of it. */
void seat_update(struct broker *b, struct seat *seat);
/* Whether the seat has room now (dispatch's own rule, for broker_check). */
bool seat_has_room(const struct seat *seat);
/* m is about to leave what the seat's session holds. */
void seat_message_leaves(struct seat *seat, struct message *m);
/* The connection took bytes. Takes nothing. */
void client_progress(struct broker *b, struct client *c, const struct signal *signal);
/* A delivery of a message, charged to the connection; the copy queue's has no id. */
void
client_deliver(struct broker *b, struct client *c, struct delivery *d, uint64_t tag);
struct delivery *
delivery_new(const struct client *c, struct blob *body, uint8_t key_size);

#endif
