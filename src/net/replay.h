/* Replay: a relaying node's counter may be used once.
 *
 * The HMAC of a PROXY header says that a member made it; this says that it was not
 * recorded and sent again. Counters of one node come nearly in order (threads and lost
 * packets mix them up), so beside the highest a window of the last ones is kept, as in
 * RFC 4303 section 3.4.3. Any thread. */
#ifndef HF_NET_REPLAY_H
#define HF_NET_REPLAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define REPLAY_WINDOW 65536 /* counters, a power of two */
#define REPLAY_NODES  64    /* of all members that ever relayed to this process */

struct replay_node;

struct replay {
    pthread_mutex_t lock; /* all of it */
    uint32_t count;
    struct replay_node *nodes[REPLAY_NODES];
};

void replay_init(struct replay *r);
void replay_fini(struct replay *r);
/* True exactly once for each counter of a node; false for what is too old to tell, and
 * for new nodes when the table is full. */
bool replay_accept(struct replay *r, uint64_t node, uint64_t counter);

#endif
