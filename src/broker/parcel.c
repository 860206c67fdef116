/* Parcels: making and freeing them.
 *
 * Not what they mean (broker.c and src/proto). Invariant: a parcel owns everything that
 * its pointers name, so that whoever holds it can free it on any thread. */
#include "broker/parcel.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

struct request *
request_new(enum parcel_kind kind, uint64_t conn, struct slice context)
{
    assert(kind <= PARCEL_REFUSED);
    assert(context.size <= UINT16_MAX);
    struct request *r = mem_try_calloc(1, sizeof *r + context.size);
    if (r == NULL)
        return NULL;
    r->parcel.conn = conn;
    r->parcel.kind = kind;
    r->context_size = (uint16_t)context.size;
    if (context.size > 0)
        memcpy(r->context, context.data, context.size);
    if (kind == PARCEL_LOGIN)
        r->login = mem_try_calloc(1, sizeof *r->login);
    if (kind == PARCEL_ADMIN)
        r->admin = mem_try_calloc(1, sizeof *r->admin);
    bool is_whole = (kind != PARCEL_LOGIN || r->login != NULL) &&
                    (kind != PARCEL_ADMIN || r->admin != NULL);
    if (is_whole)
        return r;
    mem_free(r);
    return NULL;
}

static void
free_request(struct request *r)
{
    if (r->parcel.kind == PARCEL_LOGIN && r->login != NULL) {
        blob_put(r->login->publish.body);
        explicit_bzero(r->login, sizeof *r->login);
        mem_free(r->login);
    } else if (r->parcel.kind == PARCEL_ADMIN && r->admin != NULL) {
        blob_put(r->admin->publish.body);
        mem_free(r->admin);
    } else if (r->parcel.kind == PARCEL_PUBLISH) {
        blob_put(r->publish.body);
    }
    if (r->reply.shape == REPLY_MESSAGE && r->reply.rows != NULL)
        blob_put(r->reply.rows->body);
    mem_free(r->reply.rows);
    mem_free(r->reply.history);
    mem_free(r->reply.config);
    mem_free(r->reply.story);
    mem_free(r);
}

void
parcel_free(struct parcel *parcel)
{
    if (parcel == NULL)
        return;
    switch (parcel->kind) {
    case PARCEL_LOGIN:
    case PARCEL_PUBLISH:
    case PARCEL_SETTLE:
    case PARCEL_CAPACITY:
    case PARCEL_LOGOUT:
    case PARCEL_ADMIN:
    case PARCEL_REFUSED:
        free_request((struct request *)(void *)parcel);
        break;
    case PARCEL_DELIVERY:
        blob_put(((struct delivery *)(void *)parcel)->body);
        mem_free(parcel);
        break;
    case PARCEL_CLOSED:
    case PARCEL_PROGRESS:
    case PARCEL_NOTICE:
    case PARCEL_PUSH:
    case PARCEL_CLOSE:
        mem_free(parcel);
        break;
    }
}

void
parcel_chain_free(struct mail_chain *chain)
{
    struct mail *mail = chain->first;
    while (mail != NULL) {
        struct mail *next = mail->next;
        parcel_free((struct parcel *)(void *)mail);
        mail = next;
    }
    *chain = (struct mail_chain){NULL, NULL};
}

void
parcel_chain_move(struct mail_chain *to, struct mail_chain *more)
{
    if (more->first == NULL)
        return;
    if (to->last == NULL)
        to->first = more->first;
    else
        to->last->next = more->first;
    to->last = more->last;
    *more = (struct mail_chain){NULL, NULL};
}
