/* Logins: see the header. Checks come in the order of their codes; between a good
 * password and the rest stands max-tasks, which closes without a word (manual, "Why a
 * connection closed"). Whether a session can be resumed is asked when the password is
 * verified, so of two that resume the same one the first wins. */
#include "broker/login.h"

#include "base/mem.h"
#include "broker/client.h"
#include "broker/dispatch.h"
#include "broker/effects.h"
#include "broker/inside.h"
#include "broker/publish.h"
#include "broker/session.h"

#include <assert.h>
#include <string.h>

static void
close_unknown(struct broker *b, struct request *r)
{
    struct parcel *parcel = mem_calloc(1, sizeof *parcel);
    parcel->conn = r->parcel.conn;
    parcel->kind = PARCEL_CLOSE;
    effect_post(b, NULL, parcel, TAG_NONE);
    parcel_free(&r->parcel);
}

void
login_handle(struct broker *b, struct request *r)
{
    struct client *known = client_find(b, r->parcel.conn);
    const struct queue *q = state_queue(b->state, r->login->queue);
    if (known != NULL) {
        /* A second login; the network thread never lets one through. */
        effect_close(b, known, TAG_NONE);
        parcel_free(&r->parcel);
        return;
    }
    if (r->code != 0 && r->code <= 106) {
        r->ends = true;
        reply_refuse(b, NULL, r, r->code, TAG_NONE);
        return;
    }
    if (q == NULL) {
        close_unknown(b, r);
        return;
    }
    client_new(b, part_of(q), r);
}

/* The connection is forgotten; its CLOSED will find nobody. */
static void
refuse(struct broker *b, struct client *c, struct request *r, unsigned code)
{
    r->ends = true;
    reply_refuse(b, NULL, r, code, batch_read_tag(b));
    client_free(b, c);
}

static unsigned
check_session(struct broker *b, struct client *c, const struct login_fields *login)
{
    if (c->role != ROLE_SUBSCRIBER || c->type != QUEUE_DISTRIBUTE ||
        !login->has_session)
        return 0;
    if (!login->has_session_id)
        return 109;
    return session_find_saved(b, c->part, &login->session) == NULL ? 109 : 0;
}

/* 0, or the lowest code that the login is refused with. */
static unsigned
check(struct broker *b, struct client *c, const struct request *r)
{
    const struct login_fields *login = r->login;
    uint64_t most = session_most_capacity(c->part->queue);
    if (c->role == ROLE_ADMIN && c->type == QUEUE_COPY)
        return 108;
    unsigned code = check_session(b, c, login);
    if (code != 0)
        return code;
    if (r->code != 0)
        return r->code;
    if (c->role == ROLE_SUBSCRIBER && c->type == QUEUE_DISTRIBUTE) {
        if (login->has_capacity ? login->capacity < 1 || login->capacity > most
                                : !login->has_session)
            return 300;
    }
    if (c->role == ROLE_PUBLISHER && login->publish.body != NULL)
        return publish_check(b, c->part, c->type, &login->publish);
    return 0;
}

static void
open_subscriber(struct broker *b, struct client *c, struct request *r)
{
    const struct login_fields *login = r->login;
    uint32_t capacity = login->has_capacity ? login->capacity : 0;
    if (login->has_session)
        session_continue(b, c, session_find_saved(b, c->part, &login->session),
                         capacity, login->replay);
    else
        session_begin(b, c, capacity);
    r->reply.id = c->seat->session->id;
    reply_ok(b, c, r, REPLY_SESSION, batch_open_number(b));
    seat_update(b, c->seat);
    dispatch(b, c->part);
}

static void
open_client(struct broker *b, struct client *c, struct request *r)
{
    client_open(c);
    if (c->role == ROLE_SUBSCRIBER && c->type == QUEUE_DISTRIBUTE) {
        open_subscriber(b, c, r);
    } else if (c->role == ROLE_PUBLISHER && r->login->publish.body != NULL) {
        c->last_tag = batch_read_tag(b); /* the login rests on the state too */
        publish_accept(b, c, r, &r->login->publish);
    } else {
        reply_ok(b, c, r, REPLY_STATUS, batch_read_tag(b));
    }
}

/* The login of a connection whose password was waited for, now the caller's; NULL when
 * nobody waits. */
static struct request *
take_login(struct broker *b, uint64_t conn, struct client **ret_client)
{
    struct client *c = b->is_leading ? client_find(b, conn) : NULL;
    if (c == NULL || c->phase != CLIENT_VERIFYING)
        return NULL;
    struct request *r = c->login;
    c->login = NULL;
    if (list_is_linked(&c->in_verify))
        list_remove(&c->in_verify);
    explicit_bzero(r->login->password, sizeof r->login->password);
    *ret_client = c;
    return r;
}

void
broker_not_verified(struct broker *b, uint64_t conn)
{
    struct client *c = NULL;
    struct request *r = take_login(b, conn, &c);
    if (r != NULL)
        refuse(b, c, r, 503);
}

void
broker_verified(struct broker *b, uint64_t conn, bool is_good)
{
    struct client *c = NULL;
    struct request *r = take_login(b, conn, &c);
    if (r == NULL)
        return;
    if (!is_good) {
        refuse(b, c, r, 107);
        return;
    }
    if (c->part->tasks >= c->part->queue->settings[SETTING_MAX_TASKS]) {
        effect_close(b, c, batch_read_tag(b));
        parcel_free(&r->parcel);
        client_free(b, c);
        return;
    }
    unsigned code = check(b, c, r);
    if (code != 0)
        refuse(b, c, r, code);
    else
        open_client(b, c, r);
}
