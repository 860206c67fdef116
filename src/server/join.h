/* Join: makes the data directory of a node that joins a cluster. For holdfastctl
 * cluster join. */
#ifndef HF_SERVER_JOIN_H
#define HF_SERVER_JOIN_H

#include "server/config.h"

/* invite: the file that cluster invite made, or NULL: the configuration and the cluster
 * certificates are all there. With it both are checked against the invitation, and
 * certificates that are not there yet are written from it. Says on stderr what is
 * wrong, on stdout what was made; nothing is overwritten. 0; 1 failed; 5 the data
 * directory is not empty. */
int join_cluster(const struct config *c, const char *invite, bool is_json);

#endif
