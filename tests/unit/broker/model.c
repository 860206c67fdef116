/* Model: see model.h. Here is what the clients see and believe. */
#include "tests/unit/broker/model.h"

#include "base/mem.h"

#include <check.h>
#include <string.h>

uint64_t
model_random(struct model *m, uint64_t limit)
{
    uint64_t z = m->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % limit;
}

void
model_init(struct model *m, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    m->random = seed;
    m->next_conn = WORLD_CONNS;
    m->messages = mem_calloc(MODEL_MESSAGES, sizeof *m->messages);
    map_init(&m->by_id);
    world_init(&m->world, seed);
    world_lead(&m->world);
    struct queue_spec spec;
    world_spec(&spec, "demo");
    spec.settings[SETTING_MAX_TASKS] = 12;
    spec.settings[SETTING_MAX_MESSAGES] = 150;
    spec.settings[SETTING_MAX_MESSAGES_MEMORY] = 200000;
    spec.settings[SETTING_MAX_WRITE_QUEUE_BYTES] = 1500; /* a few messages */
    world_create(&m->world, &spec);
}

void
model_fini(struct model *m)
{
    world_fini(&m->world);
    map_fini(&m->by_id);
    mem_free(m->messages);
}

static bool
has_id(const void *key, const struct map_node *node)
{
    return uuid_compare(&CONTAINER_OF(node, struct model_message, in_by_id)->id, key) ==
           0;
}

struct model_message *
model_message(struct model *m, const struct uuid *id)
{
    uint64_t hash = map_hash(id->b, UUID_SIZE);
    struct map_node *node = map_find(&m->by_id, hash, id, has_id);
    if (node != NULL)
        return CONTAINER_OF(node, struct model_message, in_by_id);
    ck_assert_uint_lt(m->message_count, MODEL_MESSAGES);
    struct model_message *message = &m->messages[m->message_count++];
    message->id = *id;
    map_insert(&m->by_id, &message->in_by_id, hash);
    return message;
}

struct request *
model_request(struct model *m, struct model_client *client, enum parcel_kind kind)
{
    (void)m;
    uint64_t context = client->asked++;
    struct request *r =
        request_new(kind, client->conn, slice_of(&context, sizeof context));
    ck_assert_ptr_nonnull(r);
    return r;
}

void
model_forget_clients(struct model *m)
{
    memset(m->clients, 0, sizeof m->clients);
}

static struct model_client *
client_of(struct model *m, uint64_t conn)
{
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        if (m->clients[i].conn == conn)
            return &m->clients[i];
    }
    return NULL;
}

static void
on_login(struct model *m, struct model_client *client, const struct request *r)
{
    client->is_open = true;
    if (r->reply.shape != REPLY_SESSION)
        return;
    if (m->session_count < MODEL_SESSIONS)
        m->sessions[m->session_count++] = r->reply.id;
    else
        m->sessions[model_random(m, MODEL_SESSIONS)] = r->reply.id;
    m->resumed += r->login->has_session;
}

static void
on_success(struct model *m, struct model_client *client, const struct request *r)
{
    if (r->parcel.kind == PARCEL_LOGIN)
        on_login(m, client, r);
    if (r->reply.shape == REPLY_ID && r->parcel.kind != PARCEL_SETTLE) {
        struct model_message *message = model_message(m, &r->reply.id);
        ck_assert(!message->is_confirmed);
        message->is_confirmed = true;
        message->durability = r->parcel.kind == PARCEL_PUBLISH ? r->publish.durability
                              : r->parcel.kind == PARCEL_ADMIN
                                  ? r->admin->publish.durability
                                  : r->login->publish.durability;
    }
    if (r->parcel.kind == PARCEL_SETTLE && r->settle.is_ack) {
        model_message(m, &r->settle.id)->is_acked = true;
        m->acked++;
    }
}

static void
on_reply(struct model *m, const struct request *r)
{
    struct model_client *client = client_of(m, r->parcel.conn);
    if (client == NULL)
        return; /* it has gone */
    uint64_t context;
    ck_assert_uint_eq(r->context_size, sizeof context);
    memcpy(&context, r->context, sizeof context);
    ck_assert_uint_eq(context, client->answered); /* in order, none twice, none lost */
    client->answered++;
    if (r->reply.code == 0)
        on_success(m, client, r);
    if (r->reply.after == AFTER_NOTHING)
        return;
    if (r->parcel.kind == PARCEL_REFUSED)
        broker_handle(m->world.b, &world_signal(PARCEL_CLOSED, client->conn)->parcel);
    memset(client, 0, sizeof *client);
}

/* A stored message is seen only when it is committed: the follower has it. */
static void
check_committed(struct model *m, const struct model_message *message)
{
    struct slice name = slice_from_text("demo");
    const struct queue *leaders = world_queue(&m->world);
    const struct queue *committed = state_queue_by_name(m->world.other, name);
    const struct message *of_leader = queue_message(leaders, &message->id);
    if (message->is_asked || of_leader == NULL || of_leader->durability == 0)
        return;
    ck_assert_ptr_nonnull(committed);
    ck_assert_ptr_nonnull(queue_message(committed, &message->id));
}

static void
on_delivery(struct model *m, const struct delivery *d)
{
    struct model_client *client = client_of(m, d->parcel.conn);
    m->delivered++;
    if (d->has_id) {
        ck_assert(!model_message(m, &d->id)->is_acked);
        check_committed(m, model_message(m, &d->id));
    }
    if (client == NULL)
        return;
    ck_assert(client->is_open); /* never before the login's reply */
    ck_assert_int_eq(client->role, ROLE_SUBSCRIBER);
    ck_assert_int_eq(d->has_id, client->type == QUEUE_DISTRIBUTE);
    if (client->got_count < MODEL_GOT)
        client->got[client->got_count++] = d->id;
    else
        client->got[model_random(m, MODEL_GOT)] = d->id;
}

void
model_receive(struct model *m)
{
    struct mail_chain chain = {NULL, NULL};
    struct parcel *parcel;
    while ((parcel = world_parcel(&m->world, &chain)) != NULL) {
        ck_assert(!m->is_held);
        if (parcel->kind <= PARCEL_REFUSED)
            on_reply(m, (const struct request *)(const void *)parcel);
        else if (parcel->kind == PARCEL_DELIVERY)
            on_delivery(m, (const struct delivery *)(const void *)parcel);
        else if (parcel->kind == PARCEL_CLOSE && client_of(m, parcel->conn) != NULL)
            memset(client_of(m, parcel->conn), 0, sizeof m->clients[0]);
        parcel_free(parcel);
    }
}

void
model_settle(struct model *m)
{
    world_commit(&m->world);
    model_receive(m);
    const struct queue *q = world_queue(&m->world);
    for (size_t i = 0; i < m->message_count; i++) {
        const struct model_message *message = &m->messages[i];
        bool is_there = queue_message(q, &message->id) != NULL;
        if (message->is_confirmed && message->durability > 0 && !message->is_asked)
            ck_assert(is_there);
        if (message->is_acked)
            ck_assert(!is_there);
    }
}
