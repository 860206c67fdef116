/* Clients: what all kinds have in common. Requests are numbered; replies must come in
 * the order of the requests on a connection. */
#include "client.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

struct op *
client_op(struct sim_client *c, uint64_t number)
{
    if (number < c->first_op || number >= c->next_op)
        return NULL;
    return &c->ops[number % CLIENT_OPS];
}

bool
client_has_room(const struct sim_client *c)
{
    return c->next_op - c->first_op < CLIENT_OPS;
}

struct op *
client_begin(struct sim *s, struct sim_client *c, enum op_kind kind)
{
    assert(client_has_room(c));
    struct op *op = &c->ops[c->next_op % CLIENT_OPS];
    *op = (struct op){.number = c->next_op, .kind = kind, .sent_us = s->now_us};
    c->next_op++;
    return op;
}

struct request *
client_request(const struct sim_client *c, const struct op *op, enum parcel_kind kind)
{
    struct request *r =
        request_new(kind, c->conn->number, slice_of(&op->number, sizeof op->number));
    assert(r != NULL);
    return r;
}

void
client_send(struct sim *s, struct sim_client *c, struct request *r)
{
    sim_conn_send(s, c->conn, &r->parcel);
}

void
client_wake_in(struct sim *s, struct sim_client *c, uint64_t us)
{
    sim_push(s, s->now_us + us,
             &(struct sim_event){
                 .type = EVENT_CLIENT, .target = c->id, .number = ++c->wake_number});
}

bool
client_is_impatient(const struct sim *s, const struct sim_client *c)
{
    if (c->first_op == c->next_op)
        return false;
    return s->now_us > c->ops[c->first_op % CLIENT_OPS].sent_us + c->patience_us;
}

bool
client_connect(struct sim *s,
               struct sim_client *c,
               enum op_kind kind,
               enum login_role role,
               struct request **ret_request)
{
    assert(c->conn == NULL && c->first_op == c->next_op);
    struct sim_conn *conn = sim_conn_open(s, c->id);
    if (conn == NULL)
        return false;
    c->conn = conn;
    c->is_open = false;
    const struct queue *q = sim_queue(&s->nodes[conn->node]);
    if (q == NULL) {
        client_drop(s, c);
        return false;
    }
    struct request *r = client_request(c, client_begin(s, c, kind), PARCEL_LOGIN);
    r->login->queue = q->number;
    bool is_copy =
        c->kind == CLIENT_COPY_PUBLISHER || c->kind == CLIENT_COPY_SUBSCRIBER;
    r->login->type = is_copy ? QUEUE_COPY : QUEUE_DISTRIBUTE;
    r->login->role = role;
    r->login->username_size = r->login->password_size = 1;
    r->login->username[0] = r->login->password[0] = 'x';
    *ret_request = r;
    return true;
}

void
client_drop(struct sim *s, struct sim_client *c)
{
    if (c->conn == NULL)
        return;
    for (; c->first_op < c->next_op; c->first_op++)
        checker_unknown(s->checker, c, &c->ops[c->first_op % CLIENT_OPS]);
    sim_conn_drop(s, c->conn);
    c->conn = NULL;
    c->is_open = false;
}

static void
away(struct sim *s, struct sim_client *c)
{
    client_drop(s, c);
    if (c->kind == CLIENT_SUBSCRIBER)
        subscriber_away(s, c);
    else
        client_wake_in(s, c, sim_range(s, 5000, 300000));
}

static void
take_reply(struct sim *s, struct sim_client *c, const struct request *r)
{
    uint64_t number = 0;
    if (r->context_size == sizeof number)
        memcpy(&number, r->context, sizeof number);
    struct op *op = client_op(c, number);
    if (op == NULL || number != c->first_op)
        sim_violation(s, "order: client %u was answered %llu and waits for %llu", c->id,
                      (unsigned long long)number, (unsigned long long)c->first_op);
    struct op done = *op;
    c->first_op++;
    bool is_login = done.kind == OP_LOGIN || r->parcel.kind == PARCEL_LOGIN;
    if (is_login && r->reply.code == 0)
        c->is_open = true;
    if (c->kind == CLIENT_SUBSCRIBER)
        subscriber_reply(s, c, &done, r);
}

static void
take_parcel(struct sim *s, struct sim_client *c, const struct parcel *parcel)
{
    switch (parcel->kind) {
    case PARCEL_LOGIN:
    case PARCEL_PUBLISH:
    case PARCEL_SETTLE:
    case PARCEL_CAPACITY:
    case PARCEL_LOGOUT:
    case PARCEL_ADMIN:
    case PARCEL_REFUSED:
        take_reply(s, c, (const struct request *)(const void *)parcel);
        break;
    case PARCEL_DELIVERY:
        if ((c->kind != CLIENT_SUBSCRIBER && c->kind != CLIENT_COPY_SUBSCRIBER) ||
            !c->is_open)
            sim_violation(s, "client %u was sent a message before its login", c->id);
        if (c->kind == CLIENT_SUBSCRIBER)
            subscriber_got(s, c, (const struct delivery *)(const void *)parcel);
        break;
    case PARCEL_NOTICE:
        checker_noticed(s->checker, c, (const struct notice *)(const void *)parcel);
        break;
    case PARCEL_PUSH:
    case PARCEL_CLOSE: /* the hang-up follows */
        break;
    case PARCEL_CLOSED:
    case PARCEL_PROGRESS:
        sim_violation(s, "client %u was sent a signal", c->id);
    }
}

static void
wake(struct sim *s, struct sim_client *c)
{
    if (c->is_gone)
        return;
    if (client_is_impatient(s, c)) {
        sim_say(s, "c%u is impatient", c->id);
        away(s, c);
    } else if (c->kind == CLIENT_PUBLISHER) {
        publisher_wake(s, c);
    } else if (c->kind == CLIENT_SUBSCRIBER) {
        subscriber_wake(s, c);
    } else if (c->kind == CLIENT_ADMIN) {
        admin_wake(s, c);
    } else {
        copy_wake(s, c);
    }
}

void
sim_client_event(struct sim *s, struct sim_event *e)
{
    struct sim_client *c = &s->clients[e->target];
    if (e->type == EVENT_CLIENT) {
        if ((e->number & CLIENT_SETTLES) != 0)
            subscriber_settle_time(s, c, e->number & ~CLIENT_SETTLES);
        else if (e->number == c->wake_number)
            wake(s, c);
        return;
    }
    uint64_t number = e->type == EVENT_PARCEL ? e->number >> 4 : e->number;
    struct sim_conn *conn = sim_conn_find(s, number);
    if (e->type == EVENT_PARCEL) {
        bool is_there = sim_conn_arrive(conn, e->object);
        if (is_there && c->conn == conn)
            take_parcel(s, c, e->object);
        return;
    }
    if (c->conn == conn) {
        sim_say(s, "c%u is hung up on", c->id);
        away(s, c);
    }
}

static void
open_one(struct sim *s, enum client_kind kind)
{
    struct sim_client *c = &s->clients[s->client_count];
    c->id = s->client_count++;
    c->kind = kind;
    c->first_op = c->next_op = 1;
    c->window = (uint32_t)sim_range(s, 1, kind == CLIENT_PUBLISHER ? 8 : 3);
    c->patience_us = sim_range(s, 1500000, 7000000);
    uint64_t heal_us = s->options.duration_ms * 1000;
    c->leave_us = heal_us + (kind == CLIENT_SUBSCRIBER ? SIM_LEAVE_US : SIM_STOP_US);
    client_wake_in(s, c, sim_range(s, 400000, 1200000));
}

void
sim_clients_open(struct sim *s)
{
    s->clients = mem_calloc(SIM_CLIENTS_MAX, sizeof *s->clients);
    uint64_t publishers = sim_range(s, 2, 5);
    uint64_t subscribers = sim_range(s, 3, 6);
    for (uint64_t i = 0; i < publishers; i++)
        open_one(s, CLIENT_PUBLISHER);
    open_one(s, CLIENT_ADMIN);
    if (sim_chance(s, 400)) {
        for (uint64_t i = sim_range(s, 1, 2); i > 0; i--)
            open_one(s, CLIENT_COPY_PUBLISHER);
        for (uint64_t i = sim_range(s, 1, 3); i > 0; i--)
            open_one(s, CLIENT_COPY_SUBSCRIBER);
    }
    for (uint64_t i = 0; i < subscribers; i++)
        open_one(s, CLIENT_SUBSCRIBER);
    /* The last one takes what the others leave. */
    s->clients[s->client_count - 1].leave_us += 5000000;
}

void
sim_clients_close(struct sim *s)
{
    for (uint32_t i = 0; i < s->client_count; i++)
        checker_end_chain(s->checker, &s->clients[i]);
    mem_free(s->clients);
}
