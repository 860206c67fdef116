/* Init: makes a node's data directory for a new cluster. */
#ifndef HF_SERVER_INIT_H
#define HF_SERVER_INIT_H

#include "server/config.h"

/* Says on stderr what is wrong, on stdout what was made. 0 for exit(), 1, or 5: there
 * is something already. */
int init_data(const struct config *c, bool is_json);
/* "node 1: DIR is made, for WHAT", or a JSON document of it. */
void init_say(const struct config *c, bool is_json, const char *what);

#endif
