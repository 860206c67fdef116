/* Model, events: what the random clients, the network, the clock and the cluster do. */
#include "tests/unit/broker/model.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct model_client *
pick_client(struct model *m, enum login_role role)
{
    for (int tries = 0; tries < 8; tries++) {
        struct model_client *client = &m->clients[model_random(m, MODEL_CLIENTS)];
        if (client->conn != 0 && client->is_open && !client->is_done &&
            client->role == role)
            return client;
    }
    return NULL;
}

static void
fill_publish(struct model *m, struct publish_fields *fields)
{
    size_t size =
        model_random(m, 20) == 0 ? 5000 + model_random(m, 40000) : model_random(m, 100);
    if (model_random(m, 3) == 0)
        fields->key_size = (uint8_t)(size < LIMIT_KEY_BYTES ? size : LIMIT_KEY_BYTES);
    fields->body = blob_new(size);
    memset(fields->body->data, 'm', size);
    fields->type = 1;
    fields->durability = (uint8_t)model_random(m, 3);
    if (model_random(m, 6) == 0)
        fields->delay_secs = (uint32_t)model_random(m, 8);
}

static void
fill_login(struct model *m, struct request *r)
{
    struct login_fields *login = r->login;
    login->queue = world_queue(&m->world)->number;
    login->has_capacity = model_random(m, 3) != 0;
    login->capacity = (uint32_t)(1 + model_random(m, 6));
    if (login->role == ROLE_SUBSCRIBER && login->type == QUEUE_DISTRIBUTE &&
        m->session_count > 0 && model_random(m, 2) == 0) {
        login->has_session = login->has_session_id = true;
        login->session = m->sessions[model_random(m, m->session_count)];
        login->replay = model_random(m, 2) == 0;
    }
    if (login->role == ROLE_PUBLISHER && model_random(m, 4) == 0) {
        fill_publish(m, &login->publish);
        if (login->type == QUEUE_COPY)
            login->publish.key_size = 0;
    }
    if (model_random(m, 20) == 0)
        r->code = 300;
}

static void
log_in(struct model *m)
{
    struct model_client *client = &m->clients[model_random(m, MODEL_CLIENTS)];
    if (client->conn != 0)
        return;
    static const enum login_role roles[] = {ROLE_PUBLISHER,  ROLE_PUBLISHER,
                                            ROLE_SUBSCRIBER, ROLE_SUBSCRIBER,
                                            ROLE_SUBSCRIBER, ROLE_ADMIN};
    client->conn = m->next_conn++;
    client->role = roles[model_random(m, 6)];
    client->type = model_random(m, 8) == 0 ? QUEUE_COPY : QUEUE_DISTRIBUTE;
    m->world.conns[client->conn % WORLD_CONNS] = (struct world_conn){0, 0};
    struct request *r = model_request(m, client, PARCEL_LOGIN);
    r->login->role = client->role;
    r->login->type = client->type;
    fill_login(m, r);
    if (model_random(m, 4) == 0)
        world_send(&m->world, r); /* verified later, with the next one */
    else
        world_log_in(&m->world, r, model_random(m, 20) != 0);
}

static void
publish(struct model *m)
{
    struct model_client *client = pick_client(m, ROLE_PUBLISHER);
    if (client == NULL)
        return;
    struct request *r = model_request(m, client, PARCEL_PUBLISH);
    fill_publish(m, &r->publish);
    if (client->type == QUEUE_COPY)
        r->publish.key_size = 0;
    world_send(&m->world, r);
}

static struct uuid
pick_message(struct model *m, const struct model_client *client)
{
    struct uuid id = {{0}};
    if (client->got_count > 0 && model_random(m, 10) != 0)
        return client->got[model_random(m, client->got_count)];
    if (m->message_count > 0) {
        size_t near = m->message_count < 200 ? m->message_count : 200;
        return m->messages[m->message_count - 1 - model_random(m, near)].id;
    }
    return id;
}

static void
settle(struct model *m)
{
    struct model_client *client = pick_client(m, ROLE_SUBSCRIBER);
    if (client == NULL || client->type == QUEUE_COPY)
        return;
    struct request *r = model_request(m, client, PARCEL_SETTLE);
    r->settle.has_id = model_random(m, 30) != 0;
    r->settle.id = pick_message(m, client);
    r->settle.is_ack = model_random(m, 4) != 0;
    if (r->settle.is_ack)
        model_message(m, &r->settle.id)->is_asked = true;
    world_send(&m->world, r);
}

static void
subscriber_request(struct model *m)
{
    struct model_client *client = pick_client(m, ROLE_SUBSCRIBER);
    if (client == NULL || client->type == QUEUE_COPY)
        return;
    uint64_t what = model_random(m, 10);
    struct request *r;
    if (what < 7) {
        r = model_request(m, client, PARCEL_CAPACITY);
        r->capacity = (uint32_t)model_random(m, 8);
    } else if (what < 9) {
        r = model_request(m, client, PARCEL_LOGOUT);
        client->is_done = true;
    } else {
        r = model_request(m, client, PARCEL_REFUSED);
        r->code = 100;
        r->ends = true;
        client->is_done = true;
    }
    world_send(&m->world, r);
}

static void
admin_request(struct model *m)
{
    struct model_client *client = pick_client(m, ROLE_ADMIN);
    if (client == NULL)
        return;
    static const enum admin_command commands[] = {
        ADMIN_DELMSG,     ADMIN_DELMSG,    ADMIN_MOVETODLQ, ADMIN_DELDLQMSG,
        ADMIN_DELDLQMSG,  ADMIN_ADDMSG,    ADMIN_GETMSG,    ADMIN_GETMSGS,
        ADMIN_GETDLQMSGS, ADMIN_GETDLQMSG, ADMIN_GETCFG,    ADMIN_GETLIVESTATS,
        ADMIN_GETSTATS,   ADMIN_GETUSAGE,  ADMIN_SETCFG};
    struct request *r = model_request(m, client, PARCEL_ADMIN);
    struct admin_fields *fields = r->admin;
    fields->command = commands[model_random(m, sizeof commands / sizeof commands[0])];
    fields->has_id = true;
    fields->id = pick_message(m, client);
    fields->count = (uint32_t)(1 + model_random(m, 20));
    fields->is_before = model_random(m, 2) == 0;
    fields->is_open = model_random(m, 2) == 0;
    fields->has_date = true;
    fields->day = WORLD_WALL_MS / 86400000u;
    fields->flag = model_random(m, 2) == 0;
    if (fields->command == ADMIN_ADDMSG)
        fill_publish(m, &fields->publish);
    if (fields->command == ADMIN_DELMSG || fields->command == ADMIN_DELDLQMSG)
        model_message(m, &fields->id)->is_asked = true;
    if (fields->command == ADMIN_SETCFG) {
        fields->settings.count = 1;
        fields->settings.items[0].id = SETTING_MAX_SUBSCRIBER_CAPACITY;
        fields->settings.items[0].value = 3 + model_random(m, 5);
    }
    fields->has_subscribe = model_random(m, 2) == 0;
    fields->subscribe_secs = model_random(m, 2) == 0 ? 30 : 0;
    world_send(&m->world, r);
}

/* A connection ends; some of its frames got to the socket. */
static void
drop(struct model *m)
{
    struct model_client *client = &m->clients[model_random(m, MODEL_CLIENTS)];
    if (client->conn == 0)
        return;
    struct signal *signal = world_signal(PARCEL_CLOSED, client->conn);
    uint64_t frames = m->world.conns[client->conn % WORLD_CONNS].frames;
    signal->frames_sent = model_random(m, frames + 1);
    memset(client, 0, sizeof *client);
    broker_handle(m->world.b, &signal->parcel);
}

static void
progress(struct model *m)
{
    struct model_client *client = pick_client(m, ROLE_SUBSCRIBER);
    if (client == NULL)
        return;
    struct signal *signal = world_signal(PARCEL_PROGRESS, client->conn);
    signal->frames_sent = m->world.conns[client->conn % WORLD_CONNS].frames;
    signal->bytes_sent = m->world.conns[client->conn % WORLD_CONNS].bytes;
    broker_handle(m->world.b, &signal->parcel);
}

static void
redrive(struct model *m)
{
    const struct queue *q = world_queue(&m->world);
    struct tree_node *first = tree_first(&q->dead);
    if (first == NULL)
        return;
    uint64_t number;
    struct uuid id = CONTAINER_OF(first, struct message, in_ids)->id;
    enum status status =
        broker_redrive(m->world.b, slice_from_text("demo"), &id, &number);
    ck_assert_int_eq(status, ST_OK);
}

static void
move_log(struct model *m)
{
    bool is_sync;
    uint64_t what = model_random(m, 4);
    if (what == 0)
        world_commit(&m->world);
    else if (what == 1 && m->world.flight_count < WORLD_IN_FLIGHT / 2)
        world_take(&m->world, &is_sync);
    else
        world_commit_one(&m->world);
}

static void
change_leader(struct model *m)
{
    if (model_random(m, 2) == 0) {
        world_stop(&m->world);
        ck_assert_uint_eq(m->world.state->applied, m->world.other->applied);
        ck_assert_uint_eq(state_digest(m->world.state), state_digest(m->world.other));
        world_lead(&m->world);
    } else {
        world_fail_over(&m->world);
    }
    model_forget_clients(m);
    m->is_held = false;
    m->terms++;
}

static void
hold(struct model *m)
{
    m->is_held = !m->is_held && model_random(m, 4) == 0;
    broker_hold(m->world.b, m->is_held);
}

void
model_event(struct model *m)
{
    uint64_t what = model_random(m, 1000);
    if (what < 270)
        publish(m);
    else if (what < 570)
        settle(m);
    else if (what < 720)
        log_in(m);
    else if (what < 740)
        drop(m);
    else if (what < 800)
        progress(m);
    else if (what < 830)
        subscriber_request(m);
    else if (what < 870)
        admin_request(m);
    else if (what < 880)
        redrive(m);
    else if (what < 960)
        move_log(m);
    else if (what < 990)
        world_tick(&m->world, model_random(m, 10) == 0 ? model_random(m, 6000) : 5);
    else if (what < 998)
        hold(m);
    else
        change_leader(m);
}
