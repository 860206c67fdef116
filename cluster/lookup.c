/* Look-up: see lookup.h. */
#include "cluster/lookup.h"

#include "base/mem.h"

#include <string.h>

struct lookup {
    uv_getaddrinfo_t request;
    uv_loop_t *loop;
    struct uses *uses;
    lookup_cb *cb;
    void *ctx;
    struct address asked;  /* what the running request asks for */
    struct address wanted; /* the latest that was asked for */
    bool is_running;       /* request belongs to libuv */
    bool is_freed;
};

struct lookup *
lookup_new(uv_loop_t *loop, struct uses *uses, lookup_cb *cb, void *ctx)
{
    struct lookup *l = mem_calloc(1, sizeof *l);
    l->request.data = l;
    l->loop = loop;
    l->uses = uses;
    l->cb = cb;
    l->ctx = ctx;
    return l;
}

static bool
is_same(const struct address *a, const struct address *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0;
}

static void
deliver(const struct lookup *l, int error, const struct addrinfo *found)
{
    struct lookup_result result = {0};
    for (const struct addrinfo *a = found; a != NULL && result.count < LOOKUP_ADDRS_MAX;
         a = a->ai_next)
        memcpy(&result.addrs[result.count++], a->ai_addr, a->ai_addrlen);
    result.error = error == 0 ? NULL : uv_strerror(error);
    l->cb(l->ctx, &result);
}

static void
on_found(uv_getaddrinfo_t *request, int error, struct addrinfo *found)
{
    struct lookup *l = request->data;
    struct uses *uses = l->uses;

    l->is_running = false;
    if (l->is_freed)
        mem_free(l);
    else if (is_same(&l->asked, &l->wanted))
        deliver(l, error, found);
    else if (lookup_start(l, &l->wanted) != ST_OK)
        deliver(l, UV_EAI_FAIL, NULL);
    uv_freeaddrinfo(found);
    uses_put(uses);
}

enum status
lookup_start(struct lookup *l, const struct address *address)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    if (address != &l->wanted)
        l->wanted = *address;
    if (l->is_running)
        return ST_OK;
    l->asked = l->wanted;
    if (uv_getaddrinfo(l->loop, &l->request, on_found, l->asked.host, l->asked.port,
                       &hints) != 0)
        return ST_IO;
    l->is_running = true;
    uses_get(l->uses);
    return ST_OK;
}

void
lookup_free(struct lookup *l)
{
    if (l == NULL)
        return;
    l->is_freed = true;
    if (l->is_running)
        (void)uv_cancel((uv_req_t *)&l->request); /* on_found comes in any case */
    else
        mem_free(l);
}
