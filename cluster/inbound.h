/* Inbound: the connections that others dialled to us.
 *
 * Until its certificate and hello are checked a connection is pending: at most
 * INBOUND_PENDING_MAX of them, the oldest gives way. Afterwards there is one for each
 * peer: a newer one replaces it (its dialler has given the old one up). */
#ifndef HF_CLUSTER_INBOUND_H
#define HF_CLUSTER_INBOUND_H

#include "base/list.h"
#include "cluster/link.h"
#include "cluster/refusals.h"

#define INBOUND_PENDING_MAX 32

struct inbound_callbacks {
    enum frame_refusal (*hello_cb)(void *ctx, const struct frame_hello *hello);
    void (*open_cb)(void *ctx, uint64_t peer);
    enum status (*frame_cb)(void *ctx, uint64_t peer, uint8_t kind, struct blob *body);
    /* The connection of a peer ended by itself (not: was replaced or dropped). */
    void (*ended_cb)(void *ctx, uint64_t peer);
};

struct inbound_options {
    uv_loop_t *loop;
    const struct tls *tls;
    struct uses *uses;
    struct slice hello;
    struct refusals *refusals;
    const struct inbound_callbacks *callbacks;
    void *ctx;
};

struct inbound {
    struct inbound_options o;
    struct list links; /* struct inbound_link, oldest first */
    uint32_t pending;
};

void inbound_init(struct inbound *in, const struct inbound_options *options);
/* Takes fd. */
void inbound_add(struct inbound *in, int fd, const struct sockaddr_storage *from);
void inbound_drop(struct inbound *in, uint64_t peer); /* without ended_cb */
void inbound_drop_all(struct inbound *in);

#endif
