/* Clients of the copy queue: publishers send numbered messages, subscribers get each
 * one that is published while they are logged in, once and in order. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_BYTES 40

/* "c007 0000000123 0000000045": the client, its connection, the how manyth on it. */
static struct blob *
make_body(const struct sim_client *c, uint64_t number)
{
    char text[BODY_BYTES + 1];
    int size =
        snprintf(text, sizeof text, "c%03u %010llu %010llu", c->id,
                 (unsigned long long)c->conn->number, (unsigned long long)number);
    return blob_copy(slice_of(text, (size_t)size));
}

static bool
read_body(const struct delivery *d, struct copy_mark *ret_mark, uint32_t *ret_client)
{
    char text[BODY_BYTES + 1] = "";
    if (d->body->size > BODY_BYTES || d->body->size != d->body_size)
        return false;
    memcpy(text, d->body->data, d->body->size);
    if (text[0] != 'c' || strlen(text) != 26)
        return false;
    *ret_client = (uint32_t)strtoul(text + 1, NULL, 10);
    ret_mark->conn = strtoull(text + 5, NULL, 10);
    ret_mark->number = strtoull(text + 16, NULL, 10);
    return *ret_client < SIM_CLIENTS_MAX;
}

void
copy_emitted(struct sim *s, const struct sim_conn *conn, const struct delivery *d)
{
    struct sim_client *c = &s->clients[conn->client];
    struct copy_mark mark;
    uint32_t from;
    if (!read_body(d, &mark, &from) || c->kind != CLIENT_COPY_SUBSCRIBER)
        sim_violation(s, "copy: client %u is sent what nobody published", c->id);
    if (c->copies_conn != conn->number) {
        memset(c->copies, 0, sizeof c->copies);
        c->copies_conn = conn->number;
    }
    const struct copy_mark *last = &c->copies[from];
    /* What an older connection had sent may arrive behind its successor's first. */
    bool is_next = last->conn != mark.conn || mark.number == last->number + 1;
    if (!is_next)
        sim_violation(s, "copy: client %u is sent number %llu of client %u after %llu",
                      c->id, (unsigned long long)mark.number, from,
                      (unsigned long long)last->number);
    if (mark.conn >= last->conn)
        c->copies[from] = mark;
    s->counts.copies_delivered++;
    sim_say(s, "n%u -> c%u: copy %llu of c%u", conn->node, c->id,
            (unsigned long long)mark.number, from);
}

void
copy_told(struct sim *s, const struct sim_conn *conn, const struct reply *reply)
{
    uint64_t open = 0;
    for (uint32_t i = 0; i < s->client_count; i++)
        open += s->clients[i].kind == CLIENT_COPY_SUBSCRIBER;
    /* Those whose end the node has not noticed count, too. */
    if (reply->code != 0 ||
        (reply->shape == REPLY_SUBSCRIBERS && reply->number > open * 64))
        sim_violation(s, "copy: client %u is told %u, %llu subscribers", conn->client,
                      reply->code, (unsigned long long)reply->number);
    s->counts.copies += reply->shape == REPLY_SUBSCRIBERS;
}

static void
log_in(struct sim *s, struct sim_client *c)
{
    struct request *r;
    bool is_publisher = c->kind == CLIENT_COPY_PUBLISHER;
    c->copy_number = 0;
    if (client_connect(s, c, OP_LOGIN, is_publisher ? ROLE_PUBLISHER : ROLE_SUBSCRIBER,
                       &r))
        client_send(s, c, r);
}

static void
publish(struct sim *s, struct sim_client *c)
{
    struct op *op = client_begin(s, c, OP_COPY);
    struct request *r = client_request(c, op, PARCEL_PUBLISH);
    r->publish.body = make_body(c, ++c->copy_number);
    r->publish.type = 1;
    client_send(s, c, r);
}

void
copy_wake(struct sim *s, struct sim_client *c)
{
    if (s->now_us >= c->leave_us) {
        client_drop(s, c);
        c->is_gone = true;
        return;
    }
    if (c->conn == NULL)
        log_in(s, c);
    else if (sim_chance(s, 8))
        client_drop(s, c);
    else if (c->kind == CLIENT_COPY_PUBLISHER && c->is_open &&
             c->next_op - c->first_op < c->window)
        publish(s, c);
    client_wake_in(s, c, sim_range(s, 10000, 150000));
}
