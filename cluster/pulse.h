/* Pulse: is the other side of an open link still alive? Pure; the caller gives the
 * time.
 *
 * The dialler calls every two seconds (a keepalive frame) and the accepter answers. So
 * each side hears something every two seconds, and ten seconds of silence mean that the
 * other process hangs (a dead machine or a cut cable shows earlier, by
 * TCP_USER_TIMEOUT). Two silences say nothing and do not count: the dialler's while its
 * bytes are still on the way, and any in which this very process stood still. */
#ifndef HF_CLUSTER_PULSE_H
#define HF_CLUSTER_PULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PULSE_TICK_MS 1000 /* how often pulse_tick() is to be called */
#define PULSE_CALL_MS 2000
#define PULSE_DEAD_MS 10000

enum pulse_verdict {
    PULSE_FINE,
    PULSE_CALL, /* send a keepalive now (dialler only) */
    PULSE_DEAD,
};

struct pulse {
    uint64_t heard_ms;
    uint64_t called_ms;
    uint64_t ticked_ms;
    bool is_dialler;
    bool is_moving; /* set by the owner: something left the queue since the last tick */
};

/* What the dialler knows of its own bytes: still queued here; in the kernel. */
struct pulse_backlog {
    size_t queued_bytes;
    size_t unacknowledged_bytes;
};

void pulse_init(struct pulse *p, bool is_dialler, uint64_t now_ms);
enum pulse_verdict
pulse_tick(struct pulse *p, struct pulse_backlog backlog, uint64_t now_ms);

#endif
