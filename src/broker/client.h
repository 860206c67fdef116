/* Clients: connections that the broker knows, from their LOGIN to their end. */
#ifndef HF_BROKER_CLIENT_H
#define HF_BROKER_CLIENT_H

#include "broker/parcel.h"

struct broker;
struct client;
struct part;

/* NULL when it is not known (or no longer). */
struct client *client_find(struct broker *b, uint64_t id);
/* A new one that verifies its login; takes the request. */
struct client *client_new(struct broker *b, struct part *part, struct request *login);
/* Logged in: counts. */
void client_open(struct client *c);
/* Forgets it: counts, timers, the login's request. Its seat must be gone. */
void client_free(struct broker *b, struct client *c);

#endif
