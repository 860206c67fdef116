/* Progress: how far a start has come, for the log and the service manager, once a
 * second at most. Stages, in this order:
 *
 *   log       segments of the log, read and checked
 *   snapshot  bytes of the snapshot, made into the state
 *   replay    entries behind it, applied; the node is up by then and follows a leader
 */
#ifndef HF_SERVER_PROGRESS_H
#define HF_SERVER_PROGRESS_H

#include "server/notify.h"

#include <stdbool.h>

struct progress {
    const char *stage; /* NULL: none yet */
    uint64_t begin_ms;
    uint64_t told_ms;
};

/* done of total; now_ms is monotonic. stage is a literal; the first call of
 * a stage begins it. */
void progress_note(struct progress *p,
                   struct notify *notify,
                   const char *stage,
                   uint64_t done,
                   uint64_t total,
                   uint64_t now_ms);
/* The present stage is over: one line says how long it took. */
void progress_end(struct progress *p, uint64_t total, uint64_t now_ms);

#endif
