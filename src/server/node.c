/* Node: the core thread's loop: one turn a round of the libuv loop (its opening and
 * closing are in node_life.c).
 *
 * In the poll phase frames of peers and completions of the disk go straight into the
 * log; all else happens once a round, before the loop polls again (prepare): time, mail
 * of the network threads, verified passwords, then the decisions become entries, then
 * what may leave leaves. So everything that arrived together shares one entry, one
 * write, one frame per peer and one wake-up per network thread. */
#include "server/node.h"

#include "server/certificates.h"
#include "server/control.h"
#include "server/directory.h"
#include "server/node_members.h"
#include "server/node_parts.h"
#include "server/pages.h"

#include <signal.h>
#include <string.h>
#include <time.h>

uint64_t
node_now_ms(void)
{
    return uv_hrtime() / 1000000;
}

uint64_t
node_wall_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- the turn --- */

static void
handle_mail(struct node *n)
{
    for (;;) { /* bound: back-pressure of the network threads */
        if (n->mail == NULL)
            n->mail = mailbox_take(&n->box);
        if (n->mail == NULL || !replica_takes_requests(n->replica))
            return;
        struct mail *mail = n->mail;
        n->mail = mail->next;
        mail->next = NULL;
        replica_handle(n->replica, (struct parcel *)(void *)mail);
    }
}

static void
handle_passwords(struct node *n, uint64_t now_ms)
{
    struct broker *b = replica_broker(n->replica);
    struct verify v;
    struct auth_result result;
    if (replica_is_handing_over(n->replica))
        return;
    while (auth_take(n->auth, now_ms, &result))
        if (result.outcome == AUTH_BUSY)
            broker_not_verified(b, result.conn);
        else
            broker_verified(b, result.conn, result.outcome == AUTH_GOOD);
    while (broker_take_verify(b, &v))
        if (auth_check(n->auth, &v, now_ms) == AUTH_GOOD)
            broker_verified(b, v.conn, true);
}

/* Where clients go: here, to the leader, or they wait. */
static void
update_route(struct node *n)
{
    struct cluster_peer_info info;
    if (!n->is_route_dirty)
        return;
    n->is_route_dirty = false;
    if (n->route.route != NET_SERVE) {
        n->route.route = NET_WAIT;
        if (!n->is_removed && n->route.leader != 0 &&
            n->route.leader != n->config->node_id &&
            cluster_peer(n->cluster, n->route.leader, &info) == ST_OK &&
            info.client_address[0] != '\0') {
            n->route.route = NET_RELAY;
            memcpy(n->route.address, info.client_address, sizeof n->route.address);
            memcpy(n->route.relay_key, info.relay_key, sizeof n->route.relay_key);
        }
    }
    net_set_route(n->net, &n->route);
}

static void
send_parcels(struct node *n)
{
    struct mail_chain chain = {0};
    replica_take_parcels(n->replica, node_now_ms(), &chain);
    struct mail *mail = chain.first;
    while (mail != NULL) { /* bound: what the turn made */
        struct mail *next = mail->next;
        net_send(n->net, (struct parcel *)(void *)mail);
        mail = next;
    }
    net_flush(n->net);
}

static void
arm_timer(struct node *n)
{
    uint64_t now = node_now_ms();
    uint64_t at = replica_deadline(n->replica);
    if (auth_deadline(n->auth) < at)
        at = auth_deadline(n->auth);
    uint64_t delay = at > now ? at - now : 0;
    if (n->mail != NULL && replica_takes_requests(n->replica))
        delay = 0;
    if (n->stop_until_ms != 0 && delay > 10)
        delay = 10;
    if (delay > 1000)
        delay = 1000;
    if (notify_deadline(&n->notify) < now + delay)
        delay =
            notify_deadline(&n->notify) > now ? notify_deadline(&n->notify) - now : 0;
    uv_update_time(&n->loop);
    (void)uv_timer_start(&n->timer, n->timer.timer_cb, delay, 0);
}

static void
watch(struct node *n)
{
    struct rlog_status log;
    rlog_get_status(replica_rlog(n->replica), &log);
    watch_turn(&n->watch, &log, uv_hrtime());
}

static void
turn_cb(uv_prepare_t *prepare)
{
    struct node *n = prepare->data;
    if (n->is_failed)
        return;
    uint64_t now = node_now_ms();
    replica_tick(n->replica, now, node_wall_ms());
    handle_passwords(n, now);
    handle_mail(n);
    handle_passwords(n, now); /* logins that came with the mail */
    replica_end_turn(n->replica, now);
    if (n->is_failed)
        return;
    watch(n);
    node_tell_new_logins(n);
    node_watch_members(n, now);
    cluster_flush(n->cluster);
    directory_sync(n);
    directory_count_traffic(n, now);
    update_route(n);
    node_watch_disk(n);
    send_parcels(n);
    control_turn(n->control, now);
    certificates_turn(n, now);
    pages_turn(n->pages, now);
    node_watch_start(n, now);
    node_go_on_stopping(n, now);
    arm_timer(n);
}

static void
timer_cb(uv_timer_t *timer)
{
    (void)timer; /* the turn does the work */
}

static void
reload(struct node *n)
{
    notify_reloading(&n->notify);
    certificates_reload(n);
    notify_ready(&n->notify);
}

void
node_signal_cb(uv_signal_t *handle, int number)
{
    struct node *n = handle->data;
    if (number == SIGHUP)
        reload(n);
    else
        node_stop(n);
}

int
node_run(struct node *n)
{
    log_event(LOG_INFO, "node.started", "version=%s data_dir=%s cluster=%s",
              log_quote(PACKAGE_VERSION), log_quote(n->config->data_dir),
              log_quote(n->config->cluster_listen));
    notify_ready(&n->notify);
    (void)uv_prepare_start(&n->prepare, turn_cb);
    (void)uv_timer_start(&n->timer, timer_cb, 0, 0);
    (void)uv_run(&n->loop, UV_RUN_DEFAULT);
    log_event(LOG_INFO, "node.stopped", "clean=%s", n->is_failed ? "no" : "yes");
    return n->is_failed ? 1 : 0;
}
