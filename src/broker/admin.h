/* Administrators: commands that change something, and live statistics that are pushed.
 * Commands that only read are in admin_read.h. */
#ifndef HF_BROKER_ADMIN_H
#define HF_BROKER_ADMIN_H

#include "broker/parcel.h"

struct broker;
struct client;
struct part;

void admin_handle(struct broker *b, struct client *c, struct request *r);
/* The connection's subscription is due. */
void admin_push(struct broker *b, struct client *c);
/* Settings have changed: what depends on them is scheduled anew. */
void admin_settings_changed(struct broker *b, struct part *part);

/* The connection that was handed the message, now or before a resume; or NULL. */
struct client *admin_who_knows(const struct message *m);
/* Tells it that the message was taken away. */
void admin_notify(struct broker *b,
                  struct client *c,
                  const struct uuid *id,
                  bool is_moved,
                  uint64_t tag);
/* A new leader, before anything else: messages whose bodies are damaged go to the DLQ.
 */
void admin_bury_damaged(struct broker *b, struct part *part);

#endif
