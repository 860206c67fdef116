/* Rejoin: what becomes of a node whose log is damaged or contradicts the cluster's.
 *
 * With enough other members it sets its data aside and comes back as one that has lost
 * everything and knows it; it has all again before it takes part in elections. Alone it
 * refuses, and says which command to run. Never in silence, and nothing is removed. */
#ifndef HF_SERVER_REJOIN_H
#define HF_SERVER_REJOIN_H

#include "raft/disk.h"
#include "server/config.h"

/* Why a node did not start, or ended. */
struct trouble {
    enum status why; /* ST_OK: nothing of this kind; ST_CORRUPT, ST_CONFLICT */
    struct disk_error error;
};

/* Of a node that is closed. One line to the log says what is wrong, where, and what
 * follows. ST_OK: the data was set aside; open the node again. Else the process ends.
 */
enum status rejoin_try(const struct config *c, const struct trouble *trouble) MUST_USE;

#endif
