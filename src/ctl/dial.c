/* Dial: see dial.h. */
#include "ctl/dial.h"

#include "ctl/output.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum status
dial_parse(const char *url, struct dial_address *ret_address)
{
    if (strncmp(url, "wss://", 6) != 0)
        return ST_INVALID;
    const char *host = url + 6;
    const char *end = host + strcspn(host, "/");
    const char *port = end;
    if (*host == '[') {
        const char *bracket = memchr(host, ']', (size_t)(end - host));
        if (bracket == NULL)
            return ST_INVALID;
        host++;
        port = bracket + 1;
        end = bracket;
    } else {
        const char *colon = memchr(host, ':', (size_t)(end - host));
        if (colon != NULL)
            port = end = colon;
    }
    if ((size_t)(end - host) >= sizeof ret_address->host || end == host)
        return ST_INVALID;
    memcpy(ret_address->host, host, (size_t)(end - host));
    ret_address->host[end - host] = '\0';
    if (*port != ':' && *port != '/' && *port != '\0')
        return ST_INVALID;
    size_t size = *port == ':' ? strcspn(port + 1, "/") : 0;
    if (*port == ':' && (size == 0 || size >= sizeof ret_address->port ||
                         strspn(port + 1, "0123456789") < size))
        return ST_INVALID;
    (void)snprintf(ret_address->port, sizeof ret_address->port, "%.*s",
                   size > 0 ? (int)size : 3, size > 0 ? port + 1 : "443");
    long number = strtol(ret_address->port, NULL, 10);
    return number > 0 && number <= 65535 ? ST_OK : ST_INVALID;
}

bool
dial_wait(int fd, short events, uint64_t deadline_ms)
{
    struct pollfd p = {.fd = fd, .events = events};
    for (;;) { /* bound: the deadline */
        uint64_t now = ctl_now_ms();
        if (now >= deadline_ms)
            return false;
        int n = poll(&p, 1, (int)(deadline_ms - now));
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

static int
dial_one(const struct addrinfo *a, uint64_t deadline_ms)
{
    int one = 1;
    int error = 0;
    socklen_t size = sizeof error;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
        return fd;
    if (errno == EINPROGRESS && dial_wait(fd, POLLOUT, deadline_ms) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
        return fd;
    if (error != 0)
        errno = error;
    (void)close(fd);
    return -1;
}

int
dial(const struct dial_address *address,
     uint64_t deadline_ms,
     char *error,
     size_t error_size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int fd = -1;
    int rc = getaddrinfo(address->host, address->port, &hints, &list);
    if (rc != 0) {
        (void)snprintf(error, error_size, "%s: %s", address->host, gai_strerror(rc));
        return -1;
    }
    for (struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next)
        fd = dial_one(a, deadline_ms);
    if (fd < 0)
        (void)snprintf(error, error_size, "%s:%s: %s", address->host, address->port,
                       strerror(errno));
    freeaddrinfo(list);
    return fd;
}
