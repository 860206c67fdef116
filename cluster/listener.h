/* Listener: accepts connections on the cluster's port, as fast as is good for us.
 *
 * A TLS handshake costs the core thread about a millisecond, so whoever can reach the
 * port could buy our time cheaply: accepting is rationed to LISTENER_RATE a second, the
 * rest waits in the kernel. Without descriptors or memory it pauses instead of
 * spinning. */
#ifndef HF_CLUSTER_LISTENER_H
#define HF_CLUSTER_LISTENER_H

#include "base/status.h"
#include "cluster/uses.h"

#include <sys/socket.h>
#include <uv.h>

#define LISTENER_RATE     100 /* accepted connections a second, and at once */
#define LISTENER_PAUSE_MS 100

struct listener;

struct listener_options {
    uv_loop_t *loop;
    struct uses *uses;
    const char *address; /* host:port; host "" or "*": all */
    /* Takes fd. */
    void (*accept_cb)(void *ctx, int fd, const struct sockaddr_storage *from);
    void *ctx;
};

/* Listens at every address that the name has (looked up right here: at start-up only).
 * ST_INVALID: not an address. ST_NOTFOUND: no such name. ST_EXISTS: in use by another.
 * ST_IO: else. Logged. Nothing is left after a failure. */
enum status listener_open(const struct listener_options *options,
                          struct listener **ret_listener) MUST_USE;
void listener_close(struct listener *l); /* NULL is fine */

#endif
