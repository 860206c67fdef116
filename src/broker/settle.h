/* Settling: acks, nacks, capacity and logout of a distribute subscriber. */
#ifndef HF_BROKER_SETTLE_H
#define HF_BROKER_SETTLE_H

#include "broker/parcel.h"

struct broker;
struct client;

void settle_handle(struct broker *b, struct client *c, struct request *r);
void capacity_handle(struct broker *b, struct client *c, struct request *r);
void logout_handle(struct broker *b, struct client *c, struct request *r);

#endif
