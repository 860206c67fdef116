/* Listener: see listener.h. */
#include "cluster/listener.h"

#include "base/log.h"
#include "base/mem.h"
#include "cluster/address.h"
#include "cluster/sock.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

#define SOCKETS_MAX     4
#define ACCEPT_PER_TURN 16

struct listener {
    struct listener_options o;
    uv_poll_t polls[SOCKETS_MAX];
    struct sockaddr_storage addrs[SOCKETS_MAX];
    int fds[SOCKETS_MAX];
    int count; /* of fds */
    uv_timer_t pause;
    int handles;
    uint64_t ration_ms; /* the ration is full when this lies a second back */
};

static void on_readable(uv_poll_t *poll, int status, int events);

static void
on_pause_over(uv_timer_t *timer)
{
    struct listener *l = timer->data;
    for (int i = 0; i < l->count; i++)
        uv_poll_start(&l->polls[i], UV_READABLE, on_readable);
}

static void
pause_all(struct listener *l)
{
    for (int i = 0; i < l->count; i++)
        uv_poll_stop(&l->polls[i]);
    uv_timer_start(&l->pause, on_pause_over, LISTENER_PAUSE_MS, 0);
}

/* Takes one from the ration: a clock that may run at most a second behind. */
static bool
take_ration(struct listener *l)
{
    uint64_t now_ms = uv_now(l->o.loop);
    if (l->ration_ms + 1000 < now_ms)
        l->ration_ms = now_ms - 1000;
    if (l->ration_ms >= now_ms)
        return false;
    l->ration_ms += 1000 / LISTENER_RATE;
    return true;
}

static void
on_readable(uv_poll_t *poll, int status, int events)
{
    struct listener *l = poll->data;
    uv_os_fd_t fd;

    (void)events;
    if (uv_fileno((uv_handle_t *)poll, &fd) != 0)
        return;
    for (int i = 0; i < ACCEPT_PER_TURN; i++) {
        struct sockaddr_storage from = {0};
        int accepted;
        if (status != 0 || !take_ration(l)) {
            pause_all(l);
            return;
        }
        int error = sock_accept(fd, &from, &accepted);
        if (error == EAGAIN)
            return;
        if (error == 0) {
            l->o.accept_cb(l->o.ctx, accepted, &from);
            if (uv_is_closing((uv_handle_t *)poll))
                return;
        } else if (error != ECONNABORTED && error != EINTR && error != EPROTO) {
            log_event(LOG_WARN, "cluster.accept", "error=%s consequence=pausing",
                      log_quote(strerror(error)));
            pause_all(l);
            return;
        }
    }
}

/* One more socket, unless the same address was given twice. Returns errno. */
static int
add(struct listener *l, const struct addrinfo *a, int is_dual)
{
    struct sockaddr_storage *addr = &l->addrs[l->count];
    memset(addr, 0, sizeof *addr);
    memcpy(addr, a->ai_addr, a->ai_addrlen);
    for (int i = 0; i < l->count; i++) {
        if (address_equal(addr, &l->addrs[i]))
            return 0;
    }
    int error = sock_listen(addr, is_dual, &l->fds[l->count]);
    if (error == 0)
        l->count++;
    return error;
}

static enum status
bind_all(struct listener *l)
{
    struct address address;
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int error = 0;
    int lacking = 0;

    if (address_parse(l->o.address, &address) != ST_OK)
        return ST_INVALID;
    if (getaddrinfo(address.host[0] == '\0' ? NULL : address.host, address.port, &hints,
                    &found) != 0)
        return ST_NOTFOUND;
    for (const struct addrinfo *a = found; a != NULL && l->count < SOCKETS_MAX;
         a = a->ai_next) {
        int one = add(l, a, found->ai_next == NULL);
        /* A family that the machine lacks is no failure while another works. */
        if (one == EAFNOSUPPORT || one == EADDRNOTAVAIL)
            lacking = one;
        else if (one != 0)
            error = one;
    }
    if (error == 0 && l->count == 0)
        error = lacking;
    freeaddrinfo(found);
    if (error == 0)
        return ST_OK;
    log_event(LOG_ERROR, "cluster.listen", "address=%s error=%s",
              log_quote(l->o.address), log_quote(strerror(error)));
    return error == EADDRINUSE ? ST_EXISTS : ST_IO;
}

static void
on_handle_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;
    struct uses *uses = l->o.uses;
    if (--l->handles == 0)
        mem_free(l);
    uses_put(uses);
}

enum status
listener_open(const struct listener_options *options, struct listener **ret_listener)
{
    struct listener *l = mem_calloc(1, sizeof *l);
    l->o = *options;
    enum status status = bind_all(l);
    for (int i = 0; status == ST_OK && i < l->count; i++) {
        /* Fails only when epoll cannot take the first descriptor, with nothing left. */
        if (uv_poll_init(options->loop, &l->polls[i], l->fds[i]) != 0 && i == 0)
            status = ST_IO;
    }
    if (status != ST_OK) {
        for (int i = 0; i < l->count; i++)
            close(l->fds[i]);
        mem_free(l);
        return status;
    }
    uv_timer_init(options->loop, &l->pause);
    l->pause.data = l;
    for (int i = 0; i < l->count; i++)
        l->polls[i].data = l;
    for (l->handles = 0; l->handles < l->count + 1; l->handles++)
        uses_get(options->uses);
    on_pause_over(&l->pause);
    *ret_listener = l;
    return ST_OK;
}

void
listener_close(struct listener *l)
{
    if (l == NULL)
        return;
    uv_close((uv_handle_t *)&l->pause, on_handle_closed);
    for (int i = 0; i < l->count; i++) {
        uv_close((uv_handle_t *)&l->polls[i], on_handle_closed);
        close(l->fds[i]);
    }
}
