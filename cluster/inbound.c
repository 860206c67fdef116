/* Inbound: see inbound.h. Invariant: pending is the number of links with peer 0. */
#include "cluster/inbound.h"

#include "base/mem.h"
#include "cluster/address.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct inbound_link {
    struct list_node node;
    struct inbound *in;
    struct link *link;
    uint64_t peer; /* 0 until its hello was accepted */
    char from[64];
};

static const struct link_callbacks link_callbacks;

void
inbound_init(struct inbound *in, const struct inbound_options *options)
{
    *in = (struct inbound){.o = *options};
    list_init(&in->links);
}

/* Takes it off the list and frees it; link must be closed or closing. */
static void
forget(struct inbound_link *il)
{
    if (il->peer == 0)
        il->in->pending--;
    list_remove(&il->node);
    mem_free(il);
}

void
inbound_drop(struct inbound *in, uint64_t peer)
{
    LIST_FOREACH_SAFE (node, &in->links) {
        struct inbound_link *il = CONTAINER_OF(node, struct inbound_link, node);
        if (il->peer == peer) {
            link_close(il->link);
            forget(il);
        }
    }
}

void
inbound_drop_all(struct inbound *in)
{
    LIST_FOREACH_SAFE (node, &in->links) {
        struct inbound_link *il = CONTAINER_OF(node, struct inbound_link, node);
        link_close(il->link);
        forget(il);
    }
}

static void
drop_oldest_pending(struct inbound *in)
{
    LIST_FOREACH (node, &in->links) {
        struct inbound_link *il = CONTAINER_OF(node, struct inbound_link, node);
        if (il->peer == 0) {
            link_close(il->link);
            forget(il);
            return;
        }
    }
}

void
inbound_add(struct inbound *in, int fd, const struct sockaddr_storage *from)
{
    if (in->pending >= INBOUND_PENDING_MAX)
        drop_oldest_pending(in);
    struct inbound_link *il = mem_try_calloc(1, sizeof *il);
    if (il == NULL) {
        close(fd);
        return;
    }
    struct link_options options = {
        .loop = in->o.loop,
        .tls = in->o.tls,
        .uses = in->o.uses,
        .hello = in->o.hello,
        .callbacks = &link_callbacks,
        .ctx = il,
    };
    if (link_accept(&options, fd, &il->link) != ST_OK) {
        mem_free(il);
        return;
    }
    il->in = in;
    address_format_ip(from, il->from);
    list_push_back(&in->links, &il->node);
    in->pending++;
}

static enum frame_refusal
on_hello(void *ctx, const struct frame_hello *hello)
{
    struct inbound_link *il = ctx;
    struct inbound *in = il->in;
    enum frame_refusal refusal = in->o.callbacks->hello_cb(in->o.ctx, hello);
    if (refusal != FRAME_REFUSE_NONE)
        return refusal;
    inbound_drop(in, hello->node); /* an older one of the same peer */
    il->peer = hello->node;
    in->pending--;
    return FRAME_REFUSE_NONE;
}

static void
on_open(void *ctx)
{
    struct inbound_link *il = ctx;
    il->in->o.callbacks->open_cb(il->in->o.ctx, il->peer);
}

/* il may be gone when frame_cb returns. */
static enum status
on_frame(void *ctx, uint8_t kind, struct blob *body)
{
    struct inbound_link *il = ctx;
    return il->in->o.callbacks->frame_cb(il->in->o.ctx, il->peer, kind, body);
}

static void
on_closed(void *ctx, const struct link_end *end)
{
    struct inbound_link *il = ctx;
    struct inbound *in = il->in;
    uint64_t peer = il->peer;

    if (peer != 0) {
        log_event(end->was_cut ? LOG_INFO : LOG_WARN, "peer.hung_up",
                  "peer=%" PRIu64 " from=%s cause=%s", peer, il->from,
                  log_quote(end->text));
    } else if (end->was_cut) {
        /* A knock, a port scan: nothing was asked of us. */
        log_event(LOG_DEBUG, "cluster.knock", "from=%s", il->from);
    } else {
        char text[400];
        snprintf(text, sizeof text, "from=%s cause=%s consequence=closed", il->from,
                 log_quote(end->text));
        refusals_note(in->o.refusals, uv_now(in->o.loop), "cluster.refused", text);
    }
    forget(il);
    if (peer != 0)
        in->o.callbacks->ended_cb(in->o.ctx, peer);
}

static const struct link_callbacks link_callbacks = {
    .hello_cb = on_hello,
    .open_cb = on_open,
    .frame_cb = on_frame,
    .closed_cb = on_closed,
};
