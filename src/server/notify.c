/* Notify: see notify.h. */
#include "server/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX 256

static uint64_t
read_number(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (text == NULL || text[0] < '0' || text[0] > '9')
        return 0;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    return errno != 0 || *end != '\0' ? 0 : v;
}

static void
open_watchdog(struct notify *n)
{
    uint64_t pid = read_number("WATCHDOG_PID");
    if (pid == 0 || pid == (uint64_t)getpid())
        n->watchdog_ms = read_number("WATCHDOG_USEC") / 1000;
}

void
notify_open(struct notify *n)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *n = (struct notify){.fd = -1};
    if (name == NULL || (name[0] != '/' && name[0] != '@'))
        return;
    size_t size = strlen(name);
    if (size < 2 || size > sizeof address.sun_path - 1)
        return;
    memcpy(address.sun_path, name, size);
    if (name[0] == '@')
        address.sun_path[0] = '\0'; /* abstract: the size says where it ends */
    socklen_t length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (name[0] == '/'));
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (n->fd >= 0 && connect(n->fd, (struct sockaddr *)&address, length) != 0)
        notify_close(n);
    else
        open_watchdog(n);
}

void
notify_close(struct notify *n)
{
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
    n->watchdog_ms = 0;
}

static void
tell(struct notify *n, const char *text)
{
    if (n->fd >= 0)
        (void)send(n->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void
notify_ready(struct notify *n)
{
    tell(n, "READY=1\nSTATUS=Running\n");
}

void
notify_reloading(struct notify *n)
{
    char text[TEXT_MAX];
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    (void)snprintf(
        text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=Reloading\n",
        (unsigned long long)t.tv_sec * 1000000 + (unsigned long long)t.tv_nsec / 1000);
    tell(n, text);
}

void
notify_stopping(struct notify *n)
{
    tell(n, "STOPPING=1\nSTATUS=Stopping\n");
}

void
notify_extend(struct notify *n, uint64_t extend_ms, const char *status)
{
    char text[TEXT_MAX];
    (void)snprintf(text, sizeof text, "EXTEND_TIMEOUT_USEC=%llu\nSTATUS=%s\n",
                   (unsigned long long)extend_ms * 1000, status);
    tell(n, text);
}

void
notify_turn(struct notify *n, uint64_t now_ms)
{
    if (n->fd < 0 || n->watchdog_ms == 0 || now_ms < n->next_ms)
        return;
    n->next_ms = now_ms + n->watchdog_ms / 2;
    tell(n, "WATCHDOG=1\n");
}

uint64_t
notify_deadline(const struct notify *n)
{
    return n->fd < 0 || n->watchdog_ms == 0 ? UINT64_MAX : n->next_ms;
}
