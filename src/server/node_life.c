/* Node: what it is made of: opened in order, closed in the reverse one; and what its
 * parts call back. The turns of its loop are in node.c. */
#include "server/node.h"

#include "base/mem.h"
#include "queue/salvage.h"
#include "raft/members.h"
#include "raft/rlog_members.h"
#include "server/agreement.h"
#include "server/control.h"
#include "server/known_logins.h"
#include "server/node_members.h"
#include "server/node_parts.h"
#include "server/pages.h"

#include <errno.h>
#include <openssl/rand.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* --- callbacks of the parts --- */

static void
ring(void *ctx)
{
    struct node *n = ctx;
    (void)uv_async_send(&n->bell);
}

static void
bell_cb(uv_async_t *bell)
{
    struct node *n = bell->data;
    if (n->replica == NULL)
        return;
    disk_deliver(n->disk, replica_rlog(n->replica), node_now_ms());
}

static void
send_cb(void *ctx, uint64_t peer, const struct rlog_frame *frame)
{
    struct node *n = ctx;
    if (n->cluster == NULL)
        return;
    if (frame->kind != AGREEMENT_FRAME ||
        node_peer_takes(n, peer, CLUSTER_FEATURE_AGREEMENT))
        cluster_send(n->cluster, peer, frame);
}

static void
route_cb(void *ctx, bool is_serving, uint64_t leader)
{
    struct node *n = ctx;
    n->route.route = is_serving ? NET_SERVE : NET_WAIT;
    n->route.leader = leader;
    n->is_route_dirty = true;
}

/* Whatever else the log line will need. False: it is not about what the disk has. */
static bool
note_trouble(struct node *n, enum status why, const char *what)
{
    struct trouble *t = n->trouble;
    const struct disk_error *damage = disk_damage(n->disk);
    if (why == ST_CORRUPT && damage->text[0] != '\0')
        t->error = *damage;
    else if (why == ST_CONFLICT)
        (void)snprintf(t->error.text, sizeof t->error.text, "%s", what);
    else
        return false;
    t->why = why;
    if (n->replica != NULL)
        rlog_get_members(replica_rlog(n->replica), &t->error.members);
    else
        t->error.members = disk_rlog(n->disk)->found.snapshot.members;
    return true;
}

static void
fatal_cb(void *ctx, enum status why, const char *what)
{
    struct node *n = ctx;
    n->is_failed = true;
    uv_stop(&n->loop);
    if (note_trouble(n, why, what))
        return;
    log_event(LOG_ERROR, "node.fatal", "status=%s what=%s consequence=exiting",
              log_quote(status_name(why)), log_quote(what));
}

static void
event_cb(void *ctx, const char *event, const char *fields)
{
    (void)ctx;
    log_event(strcmp(event, "chain.differs") == 0 ? LOG_ERROR : LOG_INFO, event, "%s",
              fields);
}

static void
random_cb(void *ctx, void *out, size_t size)
{
    (void)ctx;
    if (RAND_bytes(out, (int)size) != 1)
        abort(); /* ids without randomness could be guessed */
}

static bool
is_wanted_cb(void *ctx, uint64_t conn)
{
    struct node *n = ctx;
    return n->replica != NULL && broker_is_verifying(replica_broker(n->replica), conn);
}

static enum status
frame_cb(void *ctx, uint64_t peer, uint8_t kind, struct blob *body)
{
    struct node *n = ctx;
    if (n->is_failed || n->cluster == NULL)
        return ST_CLOSED;
    if (kind == CONTROL_REQUEST || kind == CONTROL_REPLY)
        return control_frame(n->control, peer, kind, blob_slice(body));
    if (kind == KNOWN_LOGINS_FRAME)
        return auth_learn(n->auth, peer, blob_slice(body));
    return replica_receive(n->replica, peer, kind, body, node_now_ms());
}

static void
met_cb(void *ctx, uint64_t peer)
{
    struct node *n = ctx;
    if (!n->is_failed && n->cluster != NULL)
        node_met_peer(n, peer);
}

static void
up_cb(void *ctx, uint64_t peer)
{
    struct node *n = ctx;
    if (n->is_failed || n->cluster == NULL)
        return;
    n->is_route_dirty = true; /* its address may be new */
    replica_peer_up(n->replica, peer, node_now_ms());
    node_tell_logins(n, peer);
}

static void
down_cb(void *ctx, uint64_t peer, bool was_refused)
{
    struct node *n = ctx;
    if (!n->is_failed && n->cluster != NULL)
        replica_peer_down(n->replica, peer, was_refused, node_now_ms());
}

/* --- life --- */

static enum status
open_loop(struct node *n)
{
    static const int signals[3] = {SIGTERM, SIGINT, SIGHUP};
    if (uv_loop_init(&n->loop) != 0)
        return ST_NOMEM;
    n->loop.data = n;
    (void)uv_prepare_init(&n->loop, &n->prepare);
    (void)uv_timer_init(&n->loop, &n->timer);
    n->prepare.data = n->timer.data = n->bell.data = n;
    if (uv_async_init(&n->loop, &n->bell, bell_cb) != 0)
        return ST_NOMEM;
    n->bell.data = n;
    for (size_t i = 0; i < 3; i++) {
        (void)uv_signal_init(&n->loop, &n->signals[i]);
        n->signals[i].data = n;
        (void)uv_signal_start(&n->signals[i], node_signal_cb, signals[i]);
    }
    return ST_OK;
}

static enum status
open_disk(struct node *n)
{
    const struct config *c = n->config;
    char boot_id[DISK_BOOT_ID_MAX + 1];
    struct disk_error error;
    struct disk_options options = {
        .dir = c->data_dir,
        .node_id = c->node_id,
        .boot_id = boot_id,
        .bell = ring,
        .bell_ctx = n,
        .salvage_cb = entry_has_damaged_bodies,
        .progress_cb = node_scan_progress_cb,
        .progress_ctx = n,
    };
    if (config_boot_id(c->boot_id_file, boot_id, sizeof boot_id) != ST_OK) {
        log_event(LOG_ERROR, "boot_id.unreadable", "file=%s what=%s",
                  log_quote(c->boot_id_file), log_quote(strerror(errno)));
        return ST_IO;
    }
    config_cluster_id(c, options.cluster_id);
    enum status st = disk_open(&options, &n->disk, &error);
    if (st == ST_OK)
        node_read_origin(n);
    if (st == ST_CORRUPT)
        *n->trouble = (struct trouble){.why = st, .error = error};
    else if (st != ST_OK)
        log_event(LOG_ERROR, "disk.refused", "status=%s what=%s",
                  log_quote(status_name(st)), log_quote(error.text));
    return st;
}

/* Clients may reach it at an IPv4 address: one that is not in brackets. */
static uint8_t
has_ipv4(const struct config *c)
{
    for (size_t i = 0; i < c->client_listen_count; i++)
        if (c->client_listen[i][0] != '[')
            return 1;
    return 0;
}

static enum status
open_replica(struct node *n)
{
    const struct config *c = n->config;
    uint64_t seed = 0;
    random_cb(NULL, &seed, sizeof seed);
    const struct replica_options options = {
        .rlog =
            {
                .id = c->node_id,
                .election_ms = c->election_ms,
                .heartbeat_ms = c->heartbeat_ms,
                .sync_ms = 50,
                .grace_ms = c->recovery_grace_secs * 1000,
                .seed = seed,
                .is_crashed = disk_is_crashed(n->disk),
                .is_rejoining = disk_is_rejoining(n->disk),
            },
        .broker =
            {
                .seed = seed,
                .machine_memory_bytes = n->machine_memory_bytes,
                .has_ipv4 = has_ipv4(c),
                .random_cb = random_cb,
            },
        .snapshot_bytes = node_snapshot_bytes(n),
    };
    const struct replica_callbacks callbacks = {
        .send_cb = send_cb,
        .route_cb = route_cb,
        .fatal_cb = fatal_cb,
        .event_cb = event_cb,
        .progress_cb = node_load_progress_cb,
        .ctx = n,
    };
    enum status st = replica_open(&options, disk_rlog(n->disk), &callbacks,
                                  node_now_ms(), node_wall_ms(), &n->replica);
    if (st != ST_OK && !note_trouble(n, st, ""))
        log_event(LOG_ERROR, "log.refused", "status=%s", log_quote(status_name(st)));
    if (st == ST_OK)
        node_begin_replay(n);
    return st;
}

static enum status
open_cluster(struct node *n)
{
    const struct config *c = n->config;
    struct cluster_options options = {
        .id = c->node_id,
        .listen_address = c->cluster_listen,
        .client_address = c->client_advertise,
        .ca_file = c->cluster_ca,
        .cert_file = c->cluster_cert,
        .key_file = c->cluster_key,
        .features = node_features(n),
    };
    const struct cluster_callbacks callbacks = {
        .frame_cb = frame_cb,
        .met_cb = met_cb,
        .up_cb = up_cb,
        .down_cb = down_cb,
        .ctx = n,
    };
    config_cluster_id(c, options.cluster_id);
    node_members(n, &options.members);
    n->members_stamp = rlog_members_stamp(replica_rlog(n->replica));
    const struct rlog_member *self = rlog_members_find(&options.members, c->node_id);
    options.cluster_address = self != NULL ? self->address : c->cluster_listen;
    return cluster_open(&n->loop, &options, &callbacks, &n->cluster);
}

static enum status
open_net(struct node *n)
{
    const struct config *c = n->config;
    uint64_t threads = c->network_threads;
    if (threads == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        threads = cores > 2 ? (uint64_t)cores / 2 : 1;
    }
    const struct net_options options = {
        .node = c->node_id,
        .listen_addresses = (const char *const *)c->client_listen,
        .listen_count = c->client_listen_count,
        .cert_file = c->client_cert,
        .key_file = c->client_key,
        .default_queue = c->default_queue,
        .queue_domain = c->queue_domain,
        .allowed_origins = c->allowed_origins,
        .threads = (uint32_t)threads,
        .relay_key = cluster_relay_key(n->cluster),
        .names = {.instance_type = c->instance_type, .region = c->region},
        .core_box = &n->box,
        .bell_cb = ring,
        .bell_ctx = n,
    };
    return net_open(&options, &n->net);
}

static enum status
open_auth(struct node *n)
{
    const struct auth_options options = {
        .bell_cb = ring,
        .is_wanted_cb = is_wanted_cb,
        .ctx = n,
    };
    return auth_open(&options, &n->auth);
}

static uint64_t
machine_memory(void)
{
    struct sysinfo info;
    if (sysinfo(&info) != 0)
        return 1ull << 30;
    return (uint64_t)info.totalram * info.mem_unit;
}

enum status
node_open(struct config *config, struct trouble *trouble, struct node **ret_node)
{
    struct node *n = mem_calloc(1, sizeof *n);
    n->config = config;
    n->trouble = trouble;
    n->machine_memory_bytes = machine_memory();
    n->is_route_dirty = true;
    mailbox_init(&n->box);
    notify_open(&n->notify);
    enum status st = open_loop(n);
    enum status pages = st;
    if (st == ST_OK) /* in force last: what else is wrong is said too */
        pages = pages_open(n, &n->pages);
    if (st == ST_OK)
        st = open_auth(n);
    if (st == ST_OK)
        st = open_disk(n);
    if (st == ST_OK)
        st = open_replica(n);
    if (st == ST_OK)
        st = open_cluster(n);
    if (st == ST_OK)
        st = open_net(n);
    if (st == ST_OK)
        st = control_open(n, &n->control);
    if (st == ST_OK)
        st = pages;
    if (st != ST_OK) {
        node_close(n);
        return st;
    }
    pages_started(n->pages);
    *ret_node = n;
    return ST_OK;
}

static void
close_handle_cb(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void
nothing_cb(void *ctx)
{
    (void)ctx;
}

void
node_close(struct node *n)
{
    if (n == NULL)
        return;
    pages_close(n->pages); /* its thread rings the loop's bell */
    if (n->net != NULL)
        net_close(n->net);
    if (n->control != NULL)
        control_close(n->control);
    struct cluster *cluster = n->cluster;
    n->cluster = NULL; /* its last callbacks find nothing to do */
    if (cluster != NULL)
        cluster_close(cluster, nothing_cb, NULL);
    (void)uv_prepare_stop(&n->prepare);
    (void)uv_run(&n->loop, UV_RUN_NOWAIT);
    replica_close(n->replica);
    n->replica = NULL;
    if (disk_close(n->disk, !n->is_failed) != ST_OK)
        log_event(LOG_ERROR, "disk.close_failed", "consequence=%s",
                  log_quote("the next start counts as after a crash"));
    auth_close(n->auth);
    uv_walk(&n->loop, close_handle_cb, NULL);
    (void)uv_run(&n->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&n->loop);
    struct mail *mail = n->mail;
    for (int round = 0; round < 2; round++) {
        while (mail != NULL) { /* bound: what was left */
            struct mail *next = mail->next;
            parcel_free((struct parcel *)(void *)mail);
            mail = next;
        }
        mail = mailbox_take(&n->box);
    }
    notify_close(&n->notify);
    mem_free(n->directory);
    mem_free(n);
}
