/* Relay: passes a client's bytes to the leader and back, without looking at them. */
#ifndef HF_NET_RELAY_H
#define HF_NET_RELAY_H

#include "net/worker.h"

/* The leader was not reached; the arrival is the callee's again, nothing was read from
 * its client. */
typedef void relay_failed_cb(struct arrival *a);

/* Connects to one of the route's addresses, after the other, until the arrival's time
 * is up; takes the arrival. failed_cb may be called before this returns. */
void relay_start(struct arrival *a, relay_failed_cb *failed_cb);
/* Ends those of the worker. Those that are not connected yet give their arrivals back.
 */
void relay_close_all(struct worker *w);
/* Ends at most count; returns how many it ended. */
size_t relay_close_some(struct worker *w, size_t count);
/* Frees what has ended: at the end of a turn. */
void relay_reap(struct worker *w);

#endif
