/* Node: its orderly stop: first another leader, then the clients, then the end.
 * Meanwhile it does all that it did before.
 *
 *   stop_until_ms 0 ──node_stop()──► handing over ──another leads, or time is up──►
 *   draining (drain_until_ms not 0) ──nobody is left, or time is up──► the loop ends */
#include "server/node_parts.h"

#define HAND_OVER_MS   3000 /* it waits this long for another leader */
#define DRAIN_EXTRA_MS 1000 /* and beyond drain-secs for the last clients */

void
node_stop(struct node *n)
{
    if (n->stop_until_ms != 0)
        return;
    log_event(LOG_INFO, "node.stopping", "");
    notify_stopping(&n->notify);
    n->stop_until_ms = node_now_ms() + HAND_OVER_MS;
}

/* Clients of a leader that could not hand over have nowhere else to go: there is no
 * reason to let them wait. */
static void
begin_draining(struct node *n, bool is_leading, uint64_t now_ms)
{
    uint64_t drain_ms = is_leading ? 0 : n->config->drain_secs * 1000;
    struct net_counts counts;
    net_get_counts(n->net, &counts);
    log_event(LOG_INFO, "node.draining", "clients=%llu relays=%llu drain_ms=%llu",
              (unsigned long long)counts.open_clients,
              (unsigned long long)counts.open_relays, (unsigned long long)drain_ms);
    net_drain(n->net, drain_ms);
    n->drain_until_ms = now_ms + drain_ms + DRAIN_EXTRA_MS;
}

static bool
is_drained(const struct node *n, uint64_t now_ms)
{
    struct net_counts counts;
    net_get_counts(n->net, &counts);
    return counts.open_clients + counts.open_relays == 0 || now_ms >= n->drain_until_ms;
}

void
node_go_on_stopping(struct node *n, uint64_t now_ms)
{
    struct replica_status s;
    if (n->stop_until_ms == 0)
        return;
    replica_get_status(n->replica, &s);
    bool is_leading = s.log.role == RLOG_LEADER;
    bool may_hand_over =
        is_leading && s.log.peer_count > 0 && now_ms < n->stop_until_ms;
    if (may_hand_over && !s.log.is_transferring &&
        !replica_is_handing_over(n->replica)) {
        enum status st = replica_transfer(n->replica, 0, now_ms);
        (void)st; /* again in the next turn */
    }
    if (n->drain_until_ms != 0) {
        if (is_drained(n, now_ms))
            uv_stop(&n->loop);
    } else if (!may_hand_over) {
        begin_draining(n, is_leading, now_ms);
    }
}
