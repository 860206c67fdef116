/* Node: what is said in its log about its disk's room and speed. What follows from them
 * is decided in replica_disk.c. */
#include "raft/rlog_room.h"
#include "server/node_parts.h"

#include <inttypes.h>

static void
tell_room(struct node *n, bool is_full)
{
    struct disk_status s;
    if (is_full == n->was_disk_full)
        return;
    n->was_disk_full = is_full;
    disk_get_status(n->disk, &s);
    log_event(is_full ? LOG_WARN : LOG_INFO, is_full ? "disk.full" : "disk.room",
              "free_bytes=%" PRIu64 " reserve_bytes=%" PRIu64 " log_bytes=%" PRIu64
              " consequence=%s",
              s.free_bytes, s.reserve_bytes, s.log_bytes,
              log_quote(is_full ? "the log goes on from the reserve; publishing stops "
                                  "while no majority has room"
                                : "the reserve is whole again"));
}

static void
tell_speed(struct node *n, uint64_t slow_ms)
{
    bool is_slow = slow_ms != 0;
    if (is_slow == n->was_disk_slow)
        return;
    n->was_disk_slow = is_slow;
    if (is_slow)
        log_event(LOG_WARN, "disk.slow", "busy_ms=%" PRIu64 " consequence=%s", slow_ms,
                  log_quote("another node leads, if its disk is better"));
    else
        log_event(LOG_INFO, "disk.steady", "");
}

void
node_watch_disk(struct node *n)
{
    const struct rlog *rlog = replica_rlog(n->replica);
    tell_room(n, rlog_is_full(rlog));
    tell_speed(n, rlog_slow_ms(rlog));
}

/* On a small file system the log must not fill it before the first snapshot. */
uint64_t
node_snapshot_bytes(const struct node *n)
{
    struct disk_status s;
    uint64_t least = n->config->snapshot_min_bytes;
    disk_get_status(n->disk, &s);
    if (s.capacity_bytes != 0 && least > s.capacity_bytes / 8)
        least = s.capacity_bytes / 8;
    return least;
}
