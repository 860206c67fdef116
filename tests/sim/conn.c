/* Connections of clients: see the header. A node learns that a client is gone when the
 * PARCEL_CLOSED arrives, up to three seconds later; a client learns that a node is gone
 * by EVENT_HANGUP. What is on its way when a node dies may be lost. */
#include "conn.h"

#include "base/mem.h"
#include "checker.h"

#include <assert.h>

struct sim_conn *
sim_conn_find(const struct sim *s, uint64_t number)
{
    return number == 0 || number > s->conn_count ? NULL : s->conns[number - 1];
}

static struct sim_conn *
conn_new(struct sim *s, uint32_t client, const struct sim_node *n, uint32_t relay)
{
    if (s->conn_count == s->conn_capacity) {
        s->conn_capacity = s->conn_capacity == 0 ? 256 : s->conn_capacity * 2;
        s->conns = mem_realloc(s->conns, s->conn_capacity * sizeof(struct sim_conn *));
    }
    struct sim_conn *c = mem_calloc(1, sizeof *c);
    s->conns[s->conn_count++] = c;
    c->number = s->conn_count;
    c->client = client;
    c->node = n->id;
    c->relay = relay;
    c->reign = n->reign;
    c->is_client_open = c->is_server_open = true;
    return c;
}

struct sim_conn *
sim_conn_open(struct sim *s, uint32_t client)
{
    struct sim_node *n = &s->nodes[sim_range(s, 1, s->node_count)];
    if (!n->is_alive || n->is_dying || s->now_us < n->paused_until_us)
        return NULL;
    if (n->is_serving)
        return conn_new(s, client, n, 0);
    uint64_t id = n->known_leader;
    if (id == 0 || id == n->id || sim_is_cut(s, n->id, (uint32_t)id) ||
        sim_is_cut(s, (uint32_t)id, n->id))
        return NULL;
    struct sim_node *leader = &s->nodes[id];
    if (!leader->is_alive || !leader->is_serving)
        return NULL;
    return conn_new(s, client, leader, n->id);
}

void
sim_conns_free(struct sim *s)
{
    for (uint64_t i = 0; i < s->conn_count; i++)
        mem_free(s->conns[i]);
    mem_free(s->conns);
}

/* 0: it cannot pass the relay. */
static uint64_t
way_us(struct sim *s, struct sim_conn *c)
{
    uint64_t way = sim_range(s, 50, 2000);
    if (sim_chance(s, 5))
        way = sim_range(s, 10000, 200000);
    if (c->relay == 0)
        return way;
    const struct sim_node *relay = &s->nodes[c->relay];
    if (sim_is_cut(s, c->relay, c->node) || sim_is_cut(s, c->node, c->relay))
        return 0;
    if (s->now_us < relay->paused_until_us)
        way += relay->paused_until_us - s->now_us;
    return way + sim_range(s, 50, 1500);
}

static uint64_t
later(uint64_t *free_us, uint64_t at_us)
{
    if (at_us <= *free_us)
        at_us = *free_us + 1;
    return *free_us = at_us;
}

static void
push_up(struct sim *s, const struct sim_conn *c, uint64_t at_us, struct parcel *parcel)
{
    sim_push(s, at_us,
             &(struct sim_event){.type = EVENT_REQUEST,
                                 .target = c->node,
                                 .incarnation = s->nodes[c->node].incarnation,
                                 .number = c->number << 4 | (uint64_t)parcel->kind,
                                 .object = parcel});
}

static void
push_hangup(struct sim *s, struct sim_conn *c, uint64_t at_us)
{
    sim_push(s, at_us,
             &(struct sim_event){
                 .type = EVENT_HANGUP, .target = c->client, .number = c->number});
}

static void
push_signal(struct sim *s, struct sim_conn *c, enum parcel_kind kind, uint64_t at_us)
{
    struct signal *signal = mem_calloc(1, sizeof *signal);
    signal->parcel.conn = c->number;
    signal->parcel.kind = kind;
    signal->frames_sent = c->reported;
    signal->bytes_sent = c->reported_bytes;
    push_up(s, c, later(&c->signal_free_us, at_us), &signal->parcel);
}

/* The node's sockets find out; the broker is told how much the client may have. */
static void
push_closed(struct sim *s, struct sim_conn *c)
{
    uint64_t wait =
        sim_chance(s, 700) ? sim_range(s, 50, 5000) : sim_range(s, 0, 3000000);
    if (c->reported < c->received) {
        c->reported = c->received;
        c->reported_bytes = c->received_bytes;
    }
    if (sim_chance(s, 500)) {
        c->reported = c->emitted;
        c->reported_bytes = c->emitted_bytes;
    }
    if (c->signal_free_us < c->up_free_us)
        c->signal_free_us = c->up_free_us;
    push_signal(s, c, PARCEL_CLOSED, s->now_us + wait);
}

/* Both ends find out by themselves. */
static void
get_stuck(struct sim *s, struct sim_conn *c)
{
    if (c->is_stuck)
        return;
    c->is_stuck = true;
    if (c->is_server_open && c->is_client_open && c->has_login)
        push_closed(s, c);
    push_hangup(s, c, s->now_us + sim_range(s, 200000, 3000000));
}

void
sim_conn_send(struct sim *s, struct sim_conn *c, struct parcel *parcel)
{
    assert(parcel->conn == c->number && c->is_client_open);
    if (parcel->kind == PARCEL_LOGIN)
        c->has_login = true;
    uint64_t way = way_us(s, c);
    if (way == 0)
        get_stuck(s, c);
    if (c->is_stuck || !c->is_server_open) {
        parcel_free(parcel);
        return;
    }
    push_up(s, c, later(&c->up_free_us, s->now_us + way), parcel);
}

void
sim_conn_drop(struct sim *s, struct sim_conn *c)
{
    if (!c->is_client_open)
        return;
    c->is_client_open = false;
    if (c->is_server_open && !c->is_stuck && c->has_login)
        push_closed(s, c);
    c->is_stuck = true;
}

/* Requests in flight go down with their connection, not those in the mailbox. */
bool
sim_conns_admit(struct sim *s, const struct sim_node *n, const struct parcel *p)
{
    struct sim_conn *c = sim_conn_find(s, p->conn);
    assert(c != NULL && c->node == n->id);
    if (!c->is_server_open || c->reign != n->reign)
        return false;
    if (p->kind == PARCEL_CLOSED) {
        c->learned_us = s->now_us;
        c->is_server_open = false;
    }
    return true;
}

/* The node ends it; what it has said before still arrives (or not). */
static void
end_server(struct sim *s, struct sim_conn *c, bool may_lose)
{
    if (!c->is_server_open)
        return;
    c->is_server_open = false;
    c->ended_us = s->now_us;
    if (!c->is_client_open || c->is_stuck)
        return;
    if (may_lose && sim_chance(s, 500)) {
        c->is_stuck = true;
        push_hangup(s, c, s->now_us + sim_range(s, 50, 5000));
        return;
    }
    push_hangup(s, c, later(&c->down_free_us, s->now_us + sim_range(s, 50, 5000)));
}

void
sim_conns_hang_up(struct sim *s, const struct sim_node *n, bool is_dead)
{
    for (uint64_t i = 0; i < s->conn_count; i++) {
        struct sim_conn *c = s->conns[i];
        if (c->node == n->id)
            end_server(s, c, is_dead);
        else if (c->relay == n->id && is_dead && c->is_client_open)
            get_stuck(s, c);
    }
}

void
sim_conns_end_relays(struct sim *s, const struct sim_node *n)
{
    for (uint64_t i = 0; i < s->conn_count; i++) {
        struct sim_conn *c = s->conns[i];
        if (c->relay == n->id && c->node != n->known_leader && n->known_leader != 0 &&
            c->is_client_open)
            get_stuck(s, c);
    }
}

void
sim_conns_cut_one(struct sim *s)
{
    uint64_t open = 0;
    for (uint64_t i = 0; i < s->conn_count; i++)
        open += s->conns[i]->is_client_open && !s->conns[i]->is_stuck;
    if (open == 0)
        return;
    uint64_t which = sim_range(s, 1, open);
    for (uint64_t i = 0; i < s->conn_count; i++) {
        struct sim_conn *c = s->conns[i];
        if (c->is_client_open && !c->is_stuck && --which == 0) {
            get_stuck(s, c);
            return;
        }
    }
}

void
sim_conns_paused(struct sim *s, const struct sim_node *n, uint64_t length_us)
{
    for (uint64_t i = 0; i < s->conn_count && length_us > 1000000; i++) {
        struct sim_conn *c = s->conns[i];
        if (c->relay == n->id && c->is_client_open)
            get_stuck(s, c);
    }
}

static void
note_delivery(struct sim *s, struct sim_conn *c, const struct parcel *parcel)
{
    const struct delivery *d = (const struct delivery *)(const void *)parcel;
    c->emitted++;
    c->emitted_bytes += d->charge_bytes;
    if (!s->is_paced && !sim_chance(s, 100))
        return;
    /* Those before it first, now and then. */
    if (!c->is_stuck && c->has_login) {
        c->reported = c->emitted;
        c->reported_bytes = c->emitted_bytes;
        push_signal(s, c, PARCEL_PROGRESS, s->now_us + sim_range(s, 20, 800));
    }
}

static bool
ends_it(const struct parcel *parcel)
{
    if (parcel->kind == PARCEL_CLOSE)
        return true;
    if (parcel->kind > PARCEL_REFUSED)
        return false;
    return ((const struct request *)(const void *)parcel)->reply.after != AFTER_NOTHING;
}

void
sim_conns_deliver(struct sim *s, struct sim_node *n, struct parcel *parcel)
{
    struct sim_conn *c = sim_conn_find(s, parcel->conn);
    if (c == NULL || c->node != n->id)
        sim_violation(s, "node %u speaks on connection %llu, which it has not", n->id,
                      (unsigned long long)parcel->conn);
    if (!c->is_server_open || c->reign != n->reign) {
        parcel_free(parcel);
        return;
    }
    if (parcel->kind == PARCEL_DELIVERY)
        note_delivery(s, c, parcel);
    uint64_t way = way_us(s, c);
    if (way == 0)
        get_stuck(s, c);
    bool is_end = ends_it(parcel);
    if (c->is_client_open && !c->is_stuck) {
        checker_emitted(s->checker, s, c, parcel);
        sim_push(s, later(&c->down_free_us, s->now_us + way),
                 &(struct sim_event){.type = EVENT_PARCEL,
                                     .target = c->client,
                                     .number = c->number << 4 | (uint64_t)parcel->kind,
                                     .object = parcel});
    } else {
        parcel_free(parcel);
    }
    if (!is_end)
        return;
    /* The net thread closes it and tells the broker, as always. */
    if (!c->is_stuck)
        push_closed(s, c);
    if (c->is_client_open && !c->is_stuck)
        push_hangup(s, c, later(&c->down_free_us, s->now_us + sim_range(s, 50, 2000)));
    c->is_stuck = c->is_stuck || !c->is_client_open;
}

bool
sim_conn_arrive(struct sim_conn *c, const struct parcel *parcel)
{
    if (!c->is_client_open || c->is_stuck)
        return false;
    if (parcel->kind == PARCEL_DELIVERY) {
        c->received++;
        c->received_bytes +=
            ((const struct delivery *)(const void *)parcel)->charge_bytes;
    }
    return true;
}
