/* Cluster: puts the parts together: who is a member, the listener, the links of others
 * to us (inbound.h), our links to them (peer.h), certificates (tls.h).
 *
 * Invariants: peers holds each member once, never this node; none of the callbacks runs
 * inside a function of cluster.h, so those may be called from any callback. */
#include "cluster/cluster.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "cluster/inbound.h"
#include "cluster/listener.h"
#include "cluster/peer.h"
#include "raft/members.h"

#include <assert.h>
#include <inttypes.h>
#include <openssl/rand.h>
#include <signal.h>
#include <string.h>

static_assert(CLUSTER_RELAY_KEY_BYTES == FRAME_RELAY_KEY, "relay key sizes differ");
static_assert(CLUSTER_FRAME_USER == FRAME_USER_FIRST, "kinds differ");
static_assert(CLUSTER_FEATURE_BLANK == FRAME_FEATURE_BLANK, "features differ");
static_assert(CLUSTER_FEATURE_NEW == FRAME_FEATURE_NEW, "features differ");
static_assert(RLOG_MEMBERS_MAX <= LIMIT_PEERS, "more members than peers");

struct cluster {
    uv_loop_t *loop;
    struct cluster_callbacks callbacks;
    struct frame_hello own;
    struct bytes hello; /* own, encoded */
    struct tls *tls;
    struct refusals refusals;
    struct listener *listener;
    struct inbound inbound;
    struct rlog_members members;
    struct peer *peers[LIMIT_PEERS];
    uint32_t peer_count;
    uv_prepare_t prepare;
    uv_check_t check;
    struct uses uses;
    bool is_closing;
    void (*closed_cb)(void *ctx);
    void *closed_ctx;
};

static struct peer *
find_peer(const struct cluster *c, uint64_t id)
{
    for (uint32_t i = 0; i < c->peer_count; i++) {
        if (peer_id(c->peers[i]) == id)
            return c->peers[i];
    }
    return NULL;
}

static bool
has_voter(const struct rlog_members *members, uint64_t id)
{
    const struct rlog_member *member = rlog_members_find(members, id);
    return member != NULL && member->is_voter;
}

/* --- what peers and inbound links ask and tell --- */

static bool
is_of_another_backup(const struct cluster *c, const struct frame_hello *hello)
{
    uint64_t own = c->own.features >> FRAME_FEATURE_ORIGIN_SHIFT;
    uint64_t other = hello->features >> FRAME_FEATURE_ORIGIN_SHIFT;
    return own != 0 && other != 0 && own != other;
}

static void add_peer(struct cluster *c, const struct rlog_member *member);

/* One that knows later members than this node, and is one of them, as it seems. */
static struct peer *
take_guest(struct cluster *c, const struct frame_hello *hello)
{
    struct rlog_member guest = {.id = hello->node};
    if (hello->members_index <= c->own.members_index ||
        hello->cluster_address[0] == '\0' || c->peer_count == LIMIT_PEERS)
        return NULL;
    memcpy(guest.address, hello->cluster_address, sizeof guest.address);
    log_event(LOG_INFO, "peer.guest",
              "peer=%" PRIu64 " address=%s members_index=%" PRIu64, guest.id,
              log_quote(guest.address), hello->members_index);
    add_peer(c, &guest);
    return find_peer(c, hello->node);
}

static enum frame_refusal
on_hello(void *ctx, const struct frame_hello *hello)
{
    struct cluster *c = ctx;
    if (memcmp(hello->cluster_id, c->own.cluster_id, sizeof c->own.cluster_id) != 0)
        return FRAME_REFUSE_CLUSTER;
    if (hello->node == c->own.node)
        return FRAME_REFUSE_OWN_ID;
    struct peer *p = find_peer(c, hello->node);
    if (p == NULL)
        p = take_guest(c, hello);
    if (p == NULL)
        return FRAME_REFUSE_UNKNOWN;
    if ((hello->features & FRAME_FEATURE_BLANK) != 0 &&
        has_voter(&c->members, hello->node))
        return FRAME_REFUSE_BLANK;
    if (is_of_another_backup(c, hello))
        return FRAME_REFUSE_ORIGIN;
    peer_learn(p, hello);
    if (c->callbacks.met_cb != NULL)
        c->callbacks.met_cb(c->callbacks.ctx, hello->node);
    return FRAME_REFUSE_NONE;
}

static void
on_up(void *ctx, uint64_t peer)
{
    struct cluster *c = ctx;
    c->callbacks.up_cb(c->callbacks.ctx, peer);
}

static void
on_down(void *ctx, uint64_t peer, bool was_refused)
{
    struct cluster *c = ctx;
    c->callbacks.down_cb(c->callbacks.ctx, peer, was_refused);
}

static const struct peer_callbacks peer_callbacks = {
    .hello_cb = on_hello,
    .up_cb = on_up,
    .down_cb = on_down,
};

static void
on_inbound_open(void *ctx, uint64_t peer)
{
    struct peer *p = find_peer(ctx, peer);
    if (p != NULL)
        peer_heard(p);
}

static enum status
on_inbound_frame(void *ctx, uint64_t peer, uint8_t kind, struct blob *body)
{
    struct cluster *c = ctx;
    return c->callbacks.frame_cb(c->callbacks.ctx, peer, kind, body);
}

static void
on_inbound_ended(void *ctx, uint64_t peer)
{
    struct peer *p = find_peer(ctx, peer);
    if (p != NULL)
        peer_lost_inbound(p);
}

static const struct inbound_callbacks inbound_callbacks = {
    .hello_cb = on_hello,
    .open_cb = on_inbound_open,
    .frame_cb = on_inbound_frame,
    .ended_cb = on_inbound_ended,
};

static void
on_accept(void *ctx, int fd, const struct sockaddr_storage *from)
{
    struct cluster *c = ctx;
    inbound_add(&c->inbound, fd, from);
}

/* --- members --- */

static void
add_peer(struct cluster *c, const struct rlog_member *member)
{
    struct peer_options options = {
        .loop = c->loop,
        .tls = c->tls,
        .uses = &c->uses,
        .hello = slice_of(c->hello.data, c->hello.size),
        .refusals = &c->refusals,
        .callbacks = &peer_callbacks,
        .ctx = c,
    };
    assert(c->peer_count < LIMIT_PEERS);
    c->peers[c->peer_count++] = peer_new(&options, member);
}

void
cluster_set_members(struct cluster *c, const struct rlog_members *members)
{
    assert(members->count <= RLOG_MEMBERS_MAX);
    if (c->is_closing)
        return;
    c->members = *members;
    for (uint32_t i = c->peer_count; i-- > 0;) {
        struct peer *p = c->peers[i];
        uint64_t id = peer_id(p);
        if (rlog_members_find(members, id) != NULL ||
            peer_info(p)->members_index > c->own.members_index)
            continue;
        log_event(LOG_INFO, "peer.removed", "peer=%" PRIu64, id);
        c->peers[i] = c->peers[--c->peer_count];
        peer_close(p);
        inbound_drop(&c->inbound, id);
    }
    for (uint32_t i = 0; i < members->count; i++) {
        const struct rlog_member *member = &members->members[i];
        struct peer *p = find_peer(c, member->id);
        if (member->id == c->own.node)
            continue;
        if (p != NULL)
            peer_set_address(p, member->address);
        else
            add_peer(c, member);
    }
}

enum status
cluster_peer(const struct cluster *c, uint64_t peer, struct cluster_peer_info *ret_info)
{
    const struct peer *p = find_peer(c, peer);
    if (p == NULL)
        return ST_NOTFOUND;
    *ret_info = *peer_info(p);
    return ST_OK;
}

const uint8_t *
cluster_relay_key(const struct cluster *c)
{
    return c->own.relay_key;
}

void
cluster_set_features(struct cluster *c, uint64_t features)
{
    c->own.features = features;
    frame_hello_set_features(c->hello.data, features);
}

void
cluster_set_members_index(struct cluster *c, uint64_t index)
{
    c->own.members_index = index;
    frame_hello_set_members_index(c->hello.data, index);
}

uint32_t
cluster_feature_level(uint64_t features)
{
    uint32_t level =
        (uint32_t)(features >> FRAME_FEATURE_LEVEL_SHIFT) & FRAME_FEATURE_LEVEL_MASK;
    return level == 0 ? 1 : level;
}

/* --- frames --- */

void
cluster_send(struct cluster *c, uint64_t peer, const struct rlog_frame *frame)
{
    assert(frame_is_passed_on(frame->kind));
    struct peer *p = find_peer(c, peer);
    if (p != NULL)
        peer_send(p, frame);
}

void
cluster_send_user(struct cluster *c, uint64_t peer, uint8_t kind, struct slice body)
{
    struct rlog_frame frame = {.kind = kind, .head = body};
    assert(kind >= CLUSTER_FRAME_USER);
    cluster_send(c, peer, &frame);
}

void
cluster_flush(struct cluster *c)
{
    for (uint32_t i = 0; i < c->peer_count; i++)
        peer_flush(c->peers[i]);
}

static void
on_prepare(uv_prepare_t *prepare)
{
    cluster_flush(prepare->data);
}

static void
on_check(uv_check_t *check)
{
    cluster_flush(check->data);
}

/* --- certificates --- */

enum status
cluster_reload_certificates(struct cluster *c)
{
    char why[TLS_WHY_MAX];
    enum status status = cluster_tls_reload(c->tls, why);
    if (status != ST_OK)
        log_event(LOG_ERROR, "certificate.refused", "use=cluster reason=%s",
                  log_quote(why));
    else
        log_event(LOG_INFO, "certificate.loaded", "use=cluster expires_s=%" PRId64,
                  cluster_tls_expires_s(c->tls));
    return status;
}

int64_t
cluster_certificate_expires_s(const struct cluster *c)
{
    return cluster_tls_expires_s(c->tls);
}

/* --- open and close --- */

static void
on_unused(void *ctx)
{
    struct cluster *c = ctx;
    void (*closed_cb)(void *) = c->closed_cb;
    void *closed_ctx = c->closed_ctx;

    assert(c->is_closing);
    bytes_fini(&c->hello);
    mem_free(c);
    if (closed_cb != NULL)
        closed_cb(closed_ctx);
}

static void
on_handle_closed(uv_handle_t *handle)
{
    struct cluster *c = handle->data;
    uses_put(&c->uses);
}

void
cluster_close(struct cluster *c, void (*closed_cb)(void *ctx), void *ctx)
{
    assert(!c->is_closing);
    c->is_closing = true;
    c->closed_cb = closed_cb;
    c->closed_ctx = ctx;
    cluster_flush(c);
    /* The listener first: who redials must be refused. */
    listener_close(c->listener);
    for (uint32_t i = 0; i < c->peer_count; i++)
        peer_close(c->peers[i]);
    c->peer_count = 0;
    inbound_drop_all(&c->inbound);
    cluster_tls_free(c->tls);
    c->tls = NULL;
    uv_close((uv_handle_t *)&c->prepare, on_handle_closed);
    uv_close((uv_handle_t *)&c->check, on_handle_closed);
}

/* What this node says of itself; a new relay key each time. ST_IO: no random bytes. */
static enum status
introduce(struct cluster *c, const struct cluster_options *options)
{
    c->own.version = FRAME_VERSION;
    c->own.features = options->features;
    c->own.node = options->id;
    memcpy(c->own.cluster_id, options->cluster_id, sizeof c->own.cluster_id);
    size_t length = strlen(options->client_address);
    if (length >= sizeof c->own.client_address) {
        log_event(LOG_ERROR, "cluster.open", "cause=client_address_too_long");
        return ST_INVALID;
    }
    memcpy(c->own.client_address, options->client_address, length + 1);
    if (options->cluster_address != NULL &&
        strlen(options->cluster_address) < sizeof c->own.cluster_address)
        memcpy(c->own.cluster_address, options->cluster_address,
               strlen(options->cluster_address) + 1);
    if (RAND_bytes(c->own.relay_key, sizeof c->own.relay_key) != 1) {
        log_event(LOG_ERROR, "cluster.open", "cause=no_random_bytes");
        return ST_IO;
    }
    frame_hello_put(&c->hello, &c->own);
    return ST_OK;
}

static enum status
open_tls(struct cluster *c, const struct cluster_options *options)
{
    char why[TLS_WHY_MAX];
    struct cluster_tls_options tls = {
        .id = options->id,
        .ca_file = options->ca_file,
        .cert_file = options->cert_file,
        .key_file = options->key_file,
    };
    enum status status = cluster_tls_open(&tls, why, &c->tls);
    if (status != ST_OK)
        log_event(LOG_ERROR, "certificate.refused", "use=cluster reason=%s",
                  log_quote(why));
    return status;
}

static enum status
open_listener(struct cluster *c, const struct cluster_options *options)
{
    struct listener_options listener = {
        .loop = c->loop,
        .uses = &c->uses,
        .address = options->listen_address,
        .accept_cb = on_accept,
        .ctx = c,
    };
    return listener_open(&listener, &c->listener);
}

/* Writing to a connection that the other side has closed must be an error, not the end
 * of the process; OpenSSL writes without MSG_NOSIGNAL. */
static void
ignore_sigpipe(void)
{
    struct sigaction now;
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        (void)signal(SIGPIPE, SIG_IGN);
}

enum status
cluster_open(uv_loop_t *loop,
             const struct cluster_options *options,
             const struct cluster_callbacks *callbacks,
             struct cluster **ret_cluster)
{
    assert(options->id != 0);
    struct cluster *c = mem_calloc(1, sizeof *c);
    c->loop = loop;
    c->callbacks = *callbacks;
    c->uses = (struct uses){.none_cb = on_unused, .ctx = c};
    ignore_sigpipe();
    enum status status = introduce(c, options);
    if (status == ST_OK)
        status = open_tls(c, options);
    if (status == ST_OK)
        status = open_listener(c, options);
    if (status != ST_OK) {
        cluster_tls_free(c->tls);
        bytes_fini(&c->hello);
        mem_free(c);
        return status;
    }
    inbound_init(&c->inbound, &(struct inbound_options){
                                  .loop = loop,
                                  .tls = c->tls,
                                  .uses = &c->uses,
                                  .hello = slice_of(c->hello.data, c->hello.size),
                                  .refusals = &c->refusals,
                                  .callbacks = &inbound_callbacks,
                                  .ctx = c,
                              });
    uv_prepare_init(loop, &c->prepare);
    uv_check_init(loop, &c->check);
    c->prepare.data = c->check.data = c;
    uses_get(&c->uses);
    uses_get(&c->uses);
    uv_prepare_start(&c->prepare, on_prepare);
    uv_check_start(&c->check, on_check);
    cluster_set_members(c, &options->members);
    log_event(LOG_INFO, "cluster.listening", "address=%s expires_s=%" PRId64,
              log_quote(options->listen_address), cluster_tls_expires_s(c->tls));
    *ret_cluster = c;
    return ST_OK;
}
