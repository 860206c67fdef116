/* Refusals: log lines about what others do wrong, each distinct one at most once in ten
 * seconds. Who can reach the port can make us refuse a thousand times a second; the log
 * must stay readable and the disk free. Bounded: when more distinct lines come than
 * there are places, further ones are only counted and told with the next line. */
#ifndef HF_CLUSTER_REFUSALS_H
#define HF_CLUSTER_REFUSALS_H

#include "base/log.h"

#define REFUSALS_PLACES   32
#define REFUSALS_QUIET_MS 10000

struct refusals {
    struct {
        uint64_t hash; /* of the line; 0 = free */
        uint64_t until_ms;
    } places[REFUSALS_PLACES];
    uint64_t muted; /* lines not logged since the last one that was */
};

/* Logs a warning "event text" unless the same was logged less than ten seconds ago.
 * now_ms: monotonic. True: it was logged. */
bool
refusals_note(struct refusals *r, uint64_t now_ms, const char *event, const char *text);

#endif
