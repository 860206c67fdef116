/* Deliver: parcels from the core become frames in their connection's output.
 *
 * Nothing is written here: a connection with new output is flushed once, at the end of
 * the turn, however many parcels came for it. */
#include "net/deliver.h"

#include "net/conn_steps.h"

#include "base/log.h"
#include "base/mem.h"

static bool
matches(const void *key, const struct map_node *node)
{
    const uint64_t *number = key;
    return CONTAINER_OF(node, const struct conn, in_map)->number == *number;
}

/* NULL when it is gone, or takes no more. */
static struct conn *
find(struct worker *w, uint64_t number)
{
    struct map_node *node =
        map_find(&w->by_number, map_hash_u64(number), &number, matches);
    if (node == NULL)
        return NULL;
    struct conn *c = CONTAINER_OF(node, struct conn, in_map);
    return c->state == CONN_LOGIN_WAIT || c->state == CONN_OPEN ? c : NULL;
}

static void
after_reply(struct conn *c, const struct request *r)
{
    switch (r->reply.after) {
    case AFTER_NOTHING:
        if (c->state == CONN_LOGIN_WAIT) /* a login that failed */
            conn_finish(c, CONN_CLOSE_NONE);
        break;
    case AFTER_CLOSE:
        conn_finish(c, CONN_CLOSE_NONE);
        break;
    case AFTER_LOGOUT:
        conn_close_with(c, 1000, CONN_CLOSE_LOGOUT);
        break;
    }
}

static void
reply(struct conn *c, const struct request *r)
{
    if (c->unanswered_requests > 0)
        c->unanswered_requests--;
    c->unanswered_bytes -=
        r->charged_bytes < c->unanswered_bytes ? r->charged_bytes : c->unanswered_bytes;
    c->expected_bytes -=
        r->expected_bytes < c->expected_bytes ? r->expected_bytes : c->expected_bytes;
    size_t begin = conn_frame_begin(c);
    reply_format(r, &c->worker->shared->names, &c->out);
    conn_frame_end(c, begin, 0);
    if (c->state == CONN_LOGIN_WAIT && r->reply.code == 0) {
        conn_set_state(c, CONN_OPEN);
        c->login_end = c->out_base + c->out.size;
    }
    if (c->state == CONN_LOGIN_WAIT || c->state == CONN_OPEN)
        after_reply(c, r);
    if (c->state == CONN_OPEN && c->closing_code != 0 && c->unanswered_requests == 0)
        conn_close_with(c, c->closing_code, CONN_CLOSE_OTHER);
    if (c->is_stalled && conn_is_drained(c))
        conn_mark_ready(c);
}

static void
delivery(struct conn *c, const struct delivery *d)
{
    if (c->state !=
        CONN_OPEN) { /* before its login was answered: the core never does */
        log_event(LOG_ERROR, "client.order", "conn=%llu reason=%s",
                  (unsigned long long)c->number, "\"delivery before login, closing\"");
        conn_drop(c, "delivery before login");
        return;
    }
    size_t begin = conn_frame_begin(c);
    delivery_format(d, &c->out);
    conn_frame_end(c, begin, d->charge_bytes);
}

static void
deliver(struct conn *c, struct parcel *parcel)
{
    size_t begin;
    switch (parcel->kind) {
    case PARCEL_LOGIN:
    case PARCEL_PUBLISH:
    case PARCEL_SETTLE:
    case PARCEL_CAPACITY:
    case PARCEL_LOGOUT:
    case PARCEL_ADMIN:
    case PARCEL_REFUSED:
        reply(c, CONTAINER_OF(parcel, struct request, parcel));
        break;
    case PARCEL_DELIVERY:
        delivery(c, CONTAINER_OF(parcel, struct delivery, parcel));
        break;
    case PARCEL_NOTICE:
        begin = conn_frame_begin(c);
        notice_format(CONTAINER_OF(parcel, struct notice, parcel), &c->out);
        conn_frame_end(c, begin, 0);
        break;
    case PARCEL_PUSH:
        begin = conn_frame_begin(c);
        push_format(CONTAINER_OF(parcel, struct push, parcel), &c->out);
        conn_frame_end(c, begin, 0);
        break;
    case PARCEL_CLOSE:
        conn_finish(c, CONN_CLOSE_NONE);
        break;
    case PARCEL_CLOSED:
    case PARCEL_PROGRESS:
        break; /* ours, never the core's */
    }
}

void
deliver_parcels(struct worker *w, struct mail *mail)
{
    while (mail != NULL) {
        struct parcel *parcel = CONTAINER_OF(mail, struct parcel, mail);
        mail = mail->next;
        struct conn *c = find(w, parcel->conn);
        if (c != NULL)
            deliver(c, parcel);
        parcel_free(parcel);
    }
}
