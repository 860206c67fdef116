/* Sockets: the few system calls that links and the listener share. Non-blocking and
 * close-on-exec throughout. Errors are errno values, so that callers can tell refused
 * from unreachable. */
#ifndef HF_CLUSTER_SOCK_H
#define HF_CLUSTER_SOCK_H

#include "base/status.h"

#include <stddef.h>
#include <sys/socket.h>

#define SOCK_USER_TIMEOUT_MS 5000 /* sent and not acknowledged for so long: dead */

/* Starts a connect. 0: under way or done (becomes writable then). */
int sock_connect(const struct sockaddr_storage *addr, int *ret_fd) MUST_USE;
/* Binds and listens; v6 sockets also take v4 when is_dual. 0 on success. */
int sock_listen(const struct sockaddr_storage *addr, int is_dual, int *ret_fd) MUST_USE;
/* The next accepted connection. 0, EAGAIN, or what accept() says. */
int sock_accept(int listener, struct sockaddr_storage *ret_addr, int *ret_fd) MUST_USE;

/* TCP_NODELAY, keepalive, TCP_USER_TIMEOUT. */
void sock_tune(int fd);
/* The pending error of a socket; 0 when there is none. Clears it. */
int sock_error(int fd);
/* Bytes that the peer's kernel has not acknowledged. */
size_t sock_unacknowledged(int fd);

#endif
