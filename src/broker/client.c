/* Clients: see the header. They are found by a number that this node made, so its
 * bits are mixed and not keyed; requests come in runs, so the last one found is tried
 * first. */
#include "broker/client.h"

#include "base/mem.h"
#include "broker/inside.h"
#include "broker/timer.h"

#include <assert.h>

static uint64_t
hash_id(uint64_t id)
{
    uint64_t x = id * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 32);
}

static bool
has_id(const void *key, const struct map_node *node)
{
    return CONTAINER_OF(node, struct client, in_clients)->id == *(const uint64_t *)key;
}

struct client *
client_find(struct broker *b, uint64_t id)
{
    if (b->last_client != NULL && b->last_client->id == id)
        return b->last_client;
    struct map_node *node = map_find(&b->clients, hash_id(id), &id, has_id);
    if (node == NULL)
        return NULL;
    b->last_client = CONTAINER_OF(node, struct client, in_clients);
    return b->last_client;
}

struct client *
client_new(struct broker *b, struct part *part, struct request *login)
{
    struct client *c = mem_calloc(1, sizeof *c);
    c->id = login->parcel.conn;
    c->part = part;
    c->login = login;
    c->phase = CLIENT_VERIFYING;
    c->role = login->login->role;
    c->type = login->login->type;
    c->push.kind = TIMER_PUSH;
    c->push.owner = c;
    assert((unsigned)c->role < ROLE_COUNT && (unsigned)c->type < QUEUE_TYPE_COUNT);
    map_insert(&b->clients, &c->in_clients, hash_id(c->id));
    list_push_back(&part->clients, &c->in_part);
    list_push_back(&b->verify, &c->in_verify);
    return c;
}

void
client_open(struct client *c)
{
    assert(c->phase == CLIENT_VERIFYING);
    c->phase = CLIENT_OPEN;
    c->part->logged_in[c->type][c->role]++;
    c->part->tasks++;
    if (c->type == QUEUE_COPY && c->role == ROLE_SUBSCRIBER)
        list_push_back(&c->part->copy_subscribers, &c->in_copy);
}

void
client_free(struct broker *b, struct client *c)
{
    assert(c->seat == NULL);
    if (c->phase != CLIENT_VERIFYING) {
        c->part->logged_in[c->type][c->role]--;
        c->part->tasks--;
    }
    timer_cancel(b, &c->push);
    if (list_is_linked(&c->in_copy))
        list_remove(&c->in_copy);
    if (list_is_linked(&c->in_verify))
        list_remove(&c->in_verify);
    list_remove(&c->in_part);
    map_remove(&b->clients, &c->in_clients);
    if (b->last_client == c)
        b->last_client = NULL;
    if (c->login != NULL)
        parcel_free(&c->login->parcel);
    mem_free(c);
}

bool
broker_take_verify(struct broker *b, struct verify *ret_verify)
{
    struct list_node *node = list_pop_front(&b->verify);
    if (node == NULL)
        return false;
    const struct client *c = CONTAINER_OF(node, struct client, in_verify);
    const struct login_fields *login = c->login->login;
    *ret_verify = (struct verify){
        .conn = c->id,
        .queue = c->part->queue->number,
        .role = c->role,
        .secret = &c->part->queue->logins[c->role],
        .source = login->source,
        .username = slice_of(login->username, login->username_size),
        .password = slice_of(login->password, login->password_size),
    };
    return true;
}

bool
broker_is_verifying(struct broker *b, uint64_t conn)
{
    const struct client *c = b->is_leading ? client_find(b, conn) : NULL;
    return c != NULL && c->phase == CLIENT_VERIFYING;
}
