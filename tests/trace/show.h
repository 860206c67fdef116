/* Show: records and parcels as the lines of a transcript.
 *
 * Message ids become #1, #2, ... and session ids S1, S2, ... in the order in which they
 * are first seen, so that a transcript does not depend on ids. */
#ifndef HF_TESTS_TRACE_SHOW_H
#define HF_TESTS_TRACE_SHOW_H

#include "broker/broker.h"

#define NAMES_MAX 4096

struct names {
    struct uuid ids[NAMES_MAX];
    size_t count;
    char prefix;
};

struct show {
    struct names messages;
    struct names sessions;
    struct bytes *out; /* borrowed */
};

void show_init(struct show *show, struct bytes *out);
/* The name of an id, a new one if it has none yet; valid until the next call but three.
 */
const char *name_of(struct names *names, const struct uuid *id);
/* "#3" or "S1": false when there is no such name. */
bool name_find(const struct names *names, const char *name, struct uuid *ret_id);

/* "> entry written" or "synced", and a line for each record. */
void show_entry(struct show *show, struct slice entry);
void show_parcel(struct show *show, const struct parcel *parcel);

#endif
