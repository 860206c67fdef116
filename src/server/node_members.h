/* Node: what it is to the cluster: voter, stand-by, new, removed; keeps the links in
 * step with the members. Core thread. */
#ifndef HF_SERVER_NODE_MEMBERS_H
#define HF_SERVER_NODE_MEMBERS_H

#include "server/node.h"

/* Whom to dial, in the beginning and later; 0 entries known: initial-cluster. */
void node_members(const struct node *n, struct rlog_members *ret_members);
/* A peer has said who it is. If it has more than data init made and this node has not,
 * this may be a voter that lost its disk: it gets all before it votes again. */
void node_met_peer(struct node *n, uint64_t peer);
/* Logins that were verified here, to those nodes that understand it: once a turn what
 * is new, and all of them to one that came up. */
void node_tell_new_logins(struct node *n);
void node_tell_logins(struct node *n, uint64_t peer);
/* Its hello says that it has that CLUSTER_FEATURE. An older version closes the
 * connection at a frame of a kind that it does not know. */
bool node_peer_takes(const struct node *n, uint64_t peer, uint64_t feature);
/* It was made to join, and has nothing yet: it knows no members. */
bool node_is_joining(const struct node *n);
/* What the hello says. */
uint64_t node_features(const struct node *n);
/* Once a turn: the links follow the members; a node that was removed is told so in the
 * log and takes no clients; a cluster without queues gets the newest level. */
void node_watch_members(struct node *n, uint64_t now_ms);
/* The highest level that every member is known to read: one that was not heard since
 * this node has started counts as the lowest. */
uint32_t node_least_level(const struct node *n);
/* Leader of a cluster that never had a queue, and so nothing to go back to with an
 * older version: the level becomes the least one of all members. */
void node_raise_first_level(struct node *n);
/* The highest that this one is known to read; 0: not heard. */
uint32_t node_level_of(const struct node *n, uint64_t id);
/* "voter", "stand-by", "joining" (it has nothing yet), "removed" (the others say so).
 */
const char *node_membership(const struct node *n);

#endif
