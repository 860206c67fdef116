/* Copy queues: a message goes to everyone who is connected now, and is forgotten. */
#ifndef HF_BROKER_COPY_H
#define HF_BROKER_COPY_H

#include "broker/parcel.h"

struct broker;
struct part;

/* One delivery for each copy subscriber; returns how many. Borrows fields->body. */
uint64_t
copy_publish(struct broker *b, struct part *part, struct publish_fields *fields);

#endif
