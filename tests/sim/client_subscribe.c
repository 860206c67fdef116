/* Subscribers: hold messages, ack and nack them after a while or never, change their
 * capacity, log out, drop and resume (sometimes too late), forget.
 *
 * When publishing has stopped each logs out once and in anew, so that it knows of all
 * that it holds, and acks everything. */
#include "client.h"

#include <assert.h>

static void
log_in(struct sim *s, struct sim_client *c)
{
    struct request *r;
    if (!client_connect(s, c, OP_LOGIN, ROLE_SUBSCRIBER, &r)) {
        client_wake_in(s, c, sim_range(s, 20000, 200000));
        return;
    }
    struct op *op = client_op(c, c->first_op);
    op->capacity = s->is_stopping ? 16 : (uint32_t)sim_range(s, 1, 16);
    if (c->chain != NULL) {
        op->is_resume = r->login->has_session = r->login->has_session_id = true;
        op->is_replay = r->login->replay = sim_chance(s, 600);
        r->login->session = c->chain->id;
        if (sim_chance(s, 500))
            op->capacity = 0;
    }
    sim_say(s, "c%u -> n%u: login%s%s", c->id, c->conn->node,
            op->is_resume ? ", resume" : "", op->is_replay ? ", replay" : "");
    r->login->has_capacity = op->capacity != 0;
    r->login->capacity = op->capacity;
    client_send(s, c, r);
    client_wake_in(s, c, sim_range(s, 20000, 100000));
}

void
subscriber_away(struct sim *s, struct sim_client *c)
{
    if (c->chain != NULL && !c->chain->is_known)
        checker_end_chain(s->checker, c);
    if (c->chain == NULL) {
        client_wake_in(s, c, sim_range(s, 1000, 400000));
        return;
    }
    uint64_t wait = sim_range(s, 2000, 1500000);
    if (!s->is_stopping && sim_chance(s, 80))
        wait = sim_range(s, 2500000, 6000000);
    if (!s->is_stopping && sim_chance(s, 70)) {
        checker_end_chain(s->checker, c); /* forgets */
        wait = sim_range(s, 1000, 100000);
    }
    c->resume_us = s->now_us + wait;
    c->give_up_us = c->resume_us + sim_range(s, 1500000, 5000000);
    client_wake_in(s, c, wait);
}

static void
settle(struct sim *s, struct sim_client *c, struct holding *h, bool is_ack)
{
    struct known *m = h->message;
    struct op *op = client_begin(s, c, OP_SETTLE);
    op->message = m;
    op->is_ack = is_ack;
    op->was_held = checker_is_held(h, c->conn);
    checker_let_go(h);
    checker_try(s->checker, op);
    sim_say(s, "c%u -> n%u: %s m%llu", c->id, c->conn->node, is_ack ? "ack" : "nack",
            (unsigned long long)m->key);
    struct request *r = client_request(c, op, PARCEL_SETTLE);
    r->settle.id = m->id;
    r->settle.has_id = true;
    r->settle.is_ack = is_ack;
    client_send(s, c, r);
}

/* A few are left for capacity changes and the logout. */
static bool
may_settle(const struct sim_client *c)
{
    return c->conn != NULL && c->is_open && c->chain != NULL &&
           c->next_op - c->first_op < CLIENT_OPS - 4;
}

static void
settle_in(struct sim *s, struct sim_client *c, const struct known *m, uint64_t us)
{
    sim_push(s, s->now_us + us,
             &(struct sim_event){.type = EVENT_CLIENT,
                                 .target = c->id,
                                 .number = CLIENT_SETTLES | m->key});
}

void
subscriber_settle_time(struct sim *s, struct sim_client *c, uint64_t key)
{
    struct holding *h = c->chain == NULL
                            ? NULL
                            : checker_holding(c->chain, checker_known(s->checker, key));
    if (h == NULL)
        return;
    if (may_settle(c))
        settle(s, c, h, s->is_stopping || !sim_chance(s, 150));
    else if (c->conn != NULL)
        settle_in(s, c, h->message, sim_range(s, 1000, 20000));
}

static void
plan(struct sim *s, struct sim_client *c, const struct known *m)
{
    if (!s->is_stopping && sim_chance(s, 60))
        return; /* never */
    bool is_slow = !s->is_stopping && sim_chance(s, 60);
    settle_in(s, c, m,
              is_slow ? sim_range(s, 200000, 2500000)
                      : sim_range(s, 300, s->is_stopping ? 2000 : 30000));
}

/* An ack that crosses the replay of its message. */
static bool
is_being_settled(struct sim_client *c, const struct uuid *id)
{
    for (uint64_t number = c->first_op; number < c->next_op; number++) {
        const struct op *op = client_op(c, number);
        if (op->kind == OP_SETTLE && uuid_compare(&op->message->id, id) == 0)
            return true;
    }
    return false;
}

void
subscriber_got(struct sim *s, struct sim_client *c, const struct delivery *d)
{
    if (is_being_settled(c, &d->id))
        return;
    struct known *m = checker_got(s->checker, s, c, d);
    if (m != NULL)
        plan(s, c, m);
}

static void
change_capacity(struct sim *s, struct sim_client *c)
{
    struct op *op = client_begin(s, c, OP_CAPACITY);
    op->capacity = (uint32_t)sim_range(s, 1, 16);
    struct request *r = client_request(c, op, PARCEL_CAPACITY);
    r->capacity = op->capacity;
    client_send(s, c, r);
}

static void
log_out(struct sim *s, struct sim_client *c)
{
    struct op *op = client_begin(s, c, OP_LOGOUT);
    client_send(s, c, client_request(c, op, PARCEL_LOGOUT));
    checker_end_chain(s->checker, c);
}

void
subscriber_reply(struct sim *s,
                 struct sim_client *c,
                 const struct op *op,
                 const struct request *r)
{
    if (op->kind == OP_LOGOUT || (op->kind == OP_LOGIN && r->reply.code != 0)) {
        bool is_over = op->is_resume && s->now_us >= c->give_up_us;
        client_drop(s, c);
        if (is_over)
            checker_end_chain(s->checker, c);
        client_wake_in(s, c, sim_range(s, 100000, 600000));
        return;
    }
    if (op->kind == OP_LOGIN) {
        checker_logged_in(c->chain);
        c->is_fresh = s->is_stopping && !op->is_resume;
        LIST_FOREACH (node, &c->chain->held)
            plan(s, c, CONTAINER_OF(node, struct holding, in_chain)->message);
    }
    if (op->kind == OP_CAPACITY && c->chain != NULL)
        checker_set_capacity(s, c->chain, op->capacity);
    if (op->kind == OP_SETTLE && r->reply.code == 305) {
        checker_hold(s->checker, c, op->message);
        settle_in(s, c, op->message, 1000);
    }
}

/* Publishing has stopped: everything is to be acked. */
static void
drain(struct sim *s, struct sim_client *c)
{
    if (!c->is_fresh) {
        if (c->first_op == c->next_op)
            log_out(s, c);
        return;
    }
    LIST_FOREACH_SAFE (node, &c->chain->held) {
        if (may_settle(c))
            settle(s, c, CONTAINER_OF(node, struct holding, in_chain), true);
    }
    if (s->now_us < c->leave_us || c->first_op != c->next_op ||
        c->chain->held_count > 0)
        return;
    log_out(s, c);
    c->is_gone = true;
}

static void
act(struct sim *s, struct sim_client *c)
{
    if (sim_chance(s, 60)) {
        change_capacity(s, c);
    } else if (sim_chance(s, 50)) {
        sim_say(s, "c%u drops", c->id);
        client_drop(s, c);
        subscriber_away(s, c);
        return;
    } else if (sim_chance(s, 15)) {
        log_out(s, c);
    }
    client_wake_in(s, c, sim_range(s, 20000, 150000));
}

void
subscriber_wake(struct sim *s, struct sim_client *c)
{
    if (c->conn == NULL) {
        if (s->now_us >= c->leave_us) {
            checker_end_chain(s->checker, c);
            c->is_gone = true;
        } else if (c->chain != NULL && s->now_us < c->resume_us) {
            client_wake_in(s, c, c->resume_us - s->now_us);
        } else {
            log_in(s, c);
        }
        return;
    }
    if (c->is_open && c->chain != NULL && client_has_room(c)) {
        if (!s->is_stopping) {
            act(s, c);
            return;
        }
        drain(s, c);
    }
    client_wake_in(s, c, sim_range(s, 5000, 40000));
}
