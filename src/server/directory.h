/* Directory: keeps the network threads' picture of the queues (names, limits) equal to
 * the state. Core thread. */
#ifndef HF_SERVER_DIRECTORY_H
#define HF_SERVER_DIRECTORY_H

#include "server/node.h"

/* Once a turn, before parcels leave: so that a setting is in force everywhere before
 * the reply that confirms it. Costs nothing while state->directory_version stands
 * still. */
void directory_sync(struct node *n);
/* Once a second: bytes on the clients' sockets go into the queues' usage. */
void directory_count_traffic(struct node *n, uint64_t now_ms);

#endif
