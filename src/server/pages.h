/* Pages: what the ops HTTP endpoint of a node says (transport: src/net/ops.h).
 *
 *   /metrics   Prometheus text format 0.0.4
 *   /livez     200: the process runs and its core loop turns, or the node is loading
 *   /startupz  200: the state is loaded
 *   /readyz    200: clients may come here; 503 and one line: why not
 *   /status    JSON
 *
 * All but /livez and /startupz are answered out of a snapshot that the core thread
 * takes; when it gives none in time they say so, with 503. */
#ifndef HF_SERVER_PAGES_H
#define HF_SERVER_PAGES_H

#include "base/status.h"

#include <stdint.h>

struct node;
struct pages;

/* First of all that a node opens, so that health is told while it loads. Without
 * http-listen there are none: *ret_pages is NULL. */
enum status pages_open(struct node *n, struct pages **ret_pages) MUST_USE;
void pages_close(struct pages *p); /* NULL is fine, here and below */
/* Loading: how far a stage of it (server/progress.h) has come. */
void pages_progress(struct pages *p, const char *stage, uint64_t done, uint64_t total);
/* Everything is open. */
void pages_started(struct pages *p);
/* Once a turn of the core loop: says that it turns, and answers who asked. */
void pages_turn(struct pages *p, uint64_t now_ms);

#endif
