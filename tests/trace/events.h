/* Events: the lines of a transcript, carried out on a world. tests/trace/README lists
 * them. */
#ifndef HF_TESTS_TRACE_EVENTS_H
#define HF_TESTS_TRACE_EVENTS_H

#include "tests/trace/show.h"
#include "tests/unit/broker/world.h"

struct stage {
    struct world world;
    struct show show;
    struct bytes out; /* what the last event gave */
    bool is_broken;   /* a check failed, or a line was not understood */
};

void stage_init(struct stage *stage);
void stage_fini(struct stage *stage);
/* Carries out one line; what it gave is in stage->out as lines that begin with ">". */
void stage_event(struct stage *stage, const char *line);

#endif
