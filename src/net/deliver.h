/* Deliver: what the core sends, to the connections of a thread. */
#ifndef HF_NET_DELIVER_H
#define HF_NET_DELIVER_H

#include "net/worker.h"

/* Takes parcels linked by mail.next, in order. Those for connections that are gone, or
 * have said their last word, are freed. */
void deliver_parcels(struct worker *w, struct mail *mail);

#endif
