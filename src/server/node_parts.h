/* Between node.c and node_life.c. */
#ifndef HF_SERVER_NODE_PARTS_H
#define HF_SERVER_NODE_PARTS_H

#include "server/node.h"

/* TERM and INT stop the node, HUP reads the certificates again. */
void node_signal_cb(uv_signal_t *handle, int number);
/* node_start.c: what the data directory was restored from. */
void node_read_origin(struct node *n);
/* node_stop.c: once a turn. */
void node_go_on_stopping(struct node *n, uint64_t now_ms);
/* node_disk.c: once a turn; the least log size that asks for a snapshot. */
void node_watch_disk(struct node *n);
uint64_t node_snapshot_bytes(const struct node *n);
/* node_start.c: how far the start has come; once the log is open, once a turn. */
void node_scan_progress_cb(void *ctx, uint64_t done, uint64_t total);
void node_load_progress_cb(void *ctx, uint64_t done, uint64_t total);
void node_begin_replay(struct node *n);
void node_watch_start(struct node *n, uint64_t now_ms);

#endif
