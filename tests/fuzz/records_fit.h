/* Fit: turns any decoded record into one that a leader could have written.
 *
 * What the leader guarantees before it writes a record (there is such a queue, the
 * message waits, orders grow...) is made true where that is possible: names are bent to
 * the nearest thing that is there. Values that no rule speaks of stay as they are. */
#ifndef HF_TESTS_RECORDS_FIT_H
#define HF_TESTS_RECORDS_FIT_H

#include "queue/state.h"

struct fit {
    struct state *state;
    uint64_t row_secs; /* of the last row */
};

/* Ids are made few, so that records meet each other. */
void fit_bend_id(struct uuid *id);
/* False: no leader could write it now. The slices of record still borrow. */
bool fit_record(struct fit *fit, struct record *record);

#endif
