/* Publishing: is there room, and the message's way into the queue. */
#ifndef HF_BROKER_PUBLISH_H
#define HF_BROKER_PUBLISH_H

#include "broker/parcel.h"

struct broker;
struct client;
struct part;

/* 0, or why the queue does not take it now: 210, 211, or 502 when it would grow the log
 * and the disks have no room. A copy queue takes everything. */
unsigned publish_check(const struct broker *b,
                       const struct part *part,
                       enum queue_type type,
                       const struct publish_fields *fields);
/* Publishes to the distribute queue; takes fields->body. Gives what the reply rests on.
 * Nothing is dispatched yet. */
struct uuid publish_message(struct broker *b,
                            struct part *part,
                            struct publish_fields *fields,
                            uint64_t *ret_tag);
/* A request whose fields were checked: publishes, replies, hands out. */
void publish_accept(struct broker *b,
                    struct client *c,
                    struct request *r,
                    struct publish_fields *fields);
void publish_handle(struct broker *b, struct client *c, struct request *r);

#endif
