/* Init: makes a node's data directory for a new cluster. */
#ifndef HF_SERVER_INIT_H
#define HF_SERVER_INIT_H

#include "server/config.h"

/* Says on stderr what is wrong. 0 for exit(), 1, or 5: there is something already. */
int init_data(const struct config *c);

#endif
