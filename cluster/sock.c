/* Sockets: see sock.h. */
#include "cluster/sock.h"

#include "cluster/address.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BACKLOG 64

static void
set_option(int fd, int level, int name, int value)
{
    /* A refusal costs only the refinement. */
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

void
sock_tune(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 2);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, SOCK_USER_TIMEOUT_MS);
}

int
sock_connect(const struct sockaddr_storage *addr, int *ret_fd)
{
    int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    sock_tune(fd);
    if (connect(fd, (const struct sockaddr *)addr, address_size(addr)) != 0 &&
        errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        return error;
    }
    *ret_fd = fd;
    return 0;
}

int
sock_listen(const struct sockaddr_storage *addr, int is_dual, int *ret_fd)
{
    int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (addr->ss_family == AF_INET6)
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, !is_dual);
    if (bind(fd, (const struct sockaddr *)addr, address_size(addr)) != 0 ||
        listen(fd, BACKLOG) != 0) {
        int error = errno;
        close(fd);
        return error;
    }
    *ret_fd = fd;
    return 0;
}

int
sock_accept(int listener, struct sockaddr_storage *ret_addr, int *ret_fd)
{
    socklen_t size = sizeof *ret_addr;
    int fd = accept4(listener, (struct sockaddr *)ret_addr, &size,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return errno;
    sock_tune(fd);
    *ret_fd = fd;
    return 0;
}

int
sock_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return errno;
    return error;
}

size_t
sock_unacknowledged(int fd)
{
    int count = 0;
    if (ioctl(fd, SIOCOUTQ, &count) != 0 || count < 0)
        return 0;
    return (size_t)count;
}
