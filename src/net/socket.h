/* Sockets: addresses as text, listening, options of a client's socket. Any thread. */
#ifndef HF_NET_SOCKET_H
#define HF_NET_SOCKET_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct socket_address {
    struct sockaddr_storage storage;
    socklen_t size;
};

/* "127.0.0.1:9443", "[::1]:9443", "name:9443" into its two parts, without brackets.
 * ST_INVALID: no port, an empty host, or too long. */
enum status
socket_split(const char *text, char ret_host[128], char ret_port[8]) MUST_USE;
/* Addresses of host and port, at most max. is_numeric: host must be an address, and the
 * call does not block; else it may, for as long as the resolver likes. ST_NOTFOUND. */
enum status socket_look_up(const char *host,
                           const char *port,
                           bool is_numeric,
                           struct socket_address *ret_addresses,
                           size_t max,
                           size_t *ret_count) MUST_USE;
/* A non-blocking listening socket. ST_EXISTS: the port is in use; ST_INVALID: the text;
 * ST_IO: all else. Logs the reason. */
enum status socket_listen(const char *text, int *ret_fd) MUST_USE;
/* A non-blocking socket whose connect() has begun; -1 and errno. */
int socket_connect(const struct socket_address *to);
/* No delay, keepalive, user timeout: for a socket to a client or between nodes. */
void socket_tune(int fd);
/* The port a socket is bound to; 0 when it is not. */
uint16_t socket_port(int fd);

#endif
