/* Sockets: what is the same for every socket of this folder.
 *
 * A peer that vanished is noticed in one of two ways: bytes that nobody acknowledges
 * end the connection after USER_TIMEOUT_MS; with nothing on the way, keepalive asks
 * after KEEPALIVE_IDLE_SECS. An open client is pinged after 30 s of silence (conn.c),
 * so in practice a vanished client is gone after a minute and a half. */
#include "net/socket.h"

#include "base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG              4096
#define KEEPALIVE_IDLE_SECS  60
#define KEEPALIVE_EVERY_SECS 10
#define KEEPALIVE_COUNT      6
#define USER_TIMEOUT_MS      60000

static void
set_option(int fd, int level, int option, int value)
{
    /* An option that the kernel does not know is no reason to refuse a client. */
    (void)setsockopt(fd, level, option, &value, sizeof(value));
}

void
socket_tune(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_SECS);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_SECS);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS);
}

enum status
socket_split(const char *text, char ret_host[128], char ret_port[8])
{
    const char *host = text;
    const char *colon = strrchr(text, ':');
    if (colon == NULL || strlen(colon + 1) == 0 || strlen(colon + 1) > 5)
        return ST_INVALID;
    size_t host_size = (size_t)(colon - text);
    if (text[0] == '[') {
        if (host_size < 3 || colon[-1] != ']')
            return ST_INVALID;
        host++;
        host_size -= 2;
    }
    if (host_size == 0 || host_size > 127)
        return ST_INVALID;
    memcpy(ret_host, host, host_size);
    ret_host[host_size] = '\0';
    memcpy(ret_port, colon + 1, strlen(colon + 1) + 1);
    return ST_OK;
}

enum status
socket_look_up(const char *host,
               const char *port,
               bool is_numeric,
               struct socket_address *ret_addresses,
               size_t max,
               size_t *ret_count)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICSERV | (is_numeric ? AI_NUMERICHOST : 0),
    };
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return ST_NOTFOUND;
    size_t count = 0;
    for (const struct addrinfo *a = found; a != NULL && count < max; a = a->ai_next) {
        if (a->ai_addrlen > sizeof(ret_addresses->storage))
            continue;
        memset(&ret_addresses[count], 0, sizeof(ret_addresses[count]));
        memcpy(&ret_addresses[count].storage, a->ai_addr, a->ai_addrlen);
        ret_addresses[count++].size = a->ai_addrlen;
    }
    freeaddrinfo(found);
    if (count == 0)
        return ST_NOTFOUND;
    *ret_count = count;
    return ST_OK;
}

static int
try_listen(const struct socket_address *address)
{
    int fd = socket(address->storage.ss_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* Not SO_REUSEPORT: a second node on the same port must fail, not share it. */
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (address->storage.ss_family == AF_INET6)
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (bind(fd, (const struct sockaddr *)&address->storage, address->size) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

enum status
socket_listen(const char *text, int *ret_fd)
{
    char host[128];
    char port[8];
    struct socket_address address;
    size_t count;
    if (socket_split(text, host, port) != ST_OK ||
        socket_look_up(host, port, true, &address, 1, &count) != ST_OK) {
        log_event(LOG_ERROR, "listen.failed", "address=%s reason=%s", log_quote(text),
                  "\"not an address and port\"");
        return ST_INVALID;
    }
    int fd = try_listen(&address);
    if (fd < 0) {
        int error = errno;
        log_event(LOG_ERROR, "listen.failed", "address=%s reason=%s", log_quote(text),
                  log_quote(strerror(error)));
        return error == EADDRINUSE ? ST_EXISTS : ST_IO;
    }
    *ret_fd = fd;
    return ST_OK;
}

int
socket_connect(const struct socket_address *to)
{
    int fd =
        socket(to->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&to->storage, to->size) == 0 ||
        errno == EINPROGRESS)
        return fd;
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

uint16_t
socket_port(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return 0;
    if (address.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)&address)->sin_port);
    if (address.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&address)->sin6_port);
    return 0;
}
