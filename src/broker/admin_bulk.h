/* Administrators: redrive and purge. */
#ifndef HF_BROKER_ADMIN_BULK_H
#define HF_BROKER_ADMIN_BULK_H

struct broker;
struct client;
struct request;

void admin_bulk(struct broker *b, struct client *c, struct request *r);

#endif
