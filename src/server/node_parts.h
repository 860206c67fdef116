/* Between node.c and node_life.c. */
#ifndef HF_SERVER_NODE_PARTS_H
#define HF_SERVER_NODE_PARTS_H

#include "server/node.h"

/* TERM and INT stop the node, HUP reads the certificates again. */
void node_signal_cb(uv_signal_t *handle, int number);

#endif
