/* Route: where new connections of a thread go: served here, relayed to the leader, or
 * kept for a while until there is one. */
#ifndef HF_NET_ROUTE_H
#define HF_NET_ROUTE_H

#include "net/worker.h"

void route_init(struct worker *w);
/* Takes the arrival. */
void route_arrival(struct arrival *a);
/* Another route: closes what does not belong to it, sends what waited on its way. */
void route_set(struct worker *w, const struct net_target *target);
/* The resolver's answer (borrowed). */
void route_resolved(struct worker *w, const struct control_resolved *answer);
/* Ends at most count of those that wait; returns how many. */
size_t route_close_waiting(struct worker *w, size_t count);

#endif
