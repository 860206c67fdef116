/* Progress: see progress.h. */
#include "server/progress.h"

#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>

#define TELL_EVERY_MS 1000
#define EXTEND_MS     30000 /* from one word to the next */

void
progress_note(struct progress *p,
              struct notify *notify,
              const char *stage,
              uint64_t done,
              uint64_t total,
              uint64_t now_ms)
{
    char status[96];
    if (p->stage != stage) {
        p->stage = stage;
        p->begin_ms = p->told_ms = now_ms;
        return;
    }
    if (now_ms - p->told_ms < TELL_EVERY_MS)
        return;
    p->told_ms = now_ms;
    log_event(LOG_INFO, "start.progress", "stage=%s done=%" PRIu64 " total=%" PRIu64,
              stage, done, total);
    (void)snprintf(status, sizeof status, "Starting: %s, %" PRIu64 " of %" PRIu64,
                   stage, done, total);
    notify_extend(notify, EXTEND_MS, status);
}

void
progress_end(struct progress *p, uint64_t total, uint64_t now_ms)
{
    if (p->stage == NULL)
        return;
    log_event(LOG_INFO, "start.stage", "stage=%s total=%" PRIu64 " ms=%" PRIu64,
              p->stage, total, now_ms - p->begin_ms);
    p->stage = NULL;
}
