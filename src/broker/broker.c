/* Broker: its life, its terms, and where events go.
 *
 * What each request does is in the file of its kind. Here a request of a connection
 * that is not known is freed, one that does not fit the connection's role is refused:
 * the network threads send neither, but nothing rests on that. */
#include "broker/broker.h"

#include "base/mem.h"
#include "broker/admin.h"
#include "broker/client.h"
#include "broker/delay.h"
#include "broker/dispatch.h"
#include "broker/effects.h"
#include "broker/inside.h"
#include "broker/login.h"
#include "broker/part.h"
#include "broker/publish.h"
#include "broker/session.h"
#include "broker/settle.h"
#include "broker/stats.h"
#include "broker/timer.h"
#include "queue/journal.h"

#include <assert.h>
#include <stdlib.h>

#define CODE_INTERNAL    500
#define BEHIND_STEP_SECS 1 /* a change by more is said in an entry of its own */

struct broker *
broker_new(struct state *state, const struct broker_options *options)
{
    assert(state != NULL);
    struct broker *b = mem_calloc(1, sizeof *b);
    b->state = state;
    b->has_ipv4 = options->has_ipv4;
    clock_init(&b->clock, options->seed, options->random_cb, options->random_ctx);
    batches_init(&b->batches);
    map_init(&b->clients);
    list_init(&b->verify);
    list_init(&b->dirty);
    heap_init(&b->timers);
    return b;
}

void
broker_free(struct broker *b)
{
    if (b == NULL)
        return;
    broker_stop_leading(b);
    batches_fini(&b->batches);
    map_fini(&b->clients);
    heap_fini(&b->timers);
    mem_free(b);
}

void
broker_set_state(struct broker *b, struct state *state)
{
    assert(!b->is_leading);
    b->state = state;
}

bool
broker_is_leading(const struct broker *b)
{
    return b->is_leading;
}

void
broker_lead(struct broker *b, uint64_t now_ms, uint64_t time_ms)
{
    struct state *s = b->state;
    assert(!b->is_leading && s->journal == NULL);
    assert(s->epoch_leader != 0); /* the EPOCH entry is applied */
    s->journal = journal_new();
    b->is_leading = true;
    b->is_held = false;
    b->committed_index = s->applied;
    b->batches.committed_ms = s->stamp_ms;
    b->volatile_tag = TAG_NONE;
    b->assigns_left = TURN_ASSIGNS;
    b->config_version++;
    clock_start(&b->clock, now_ms, time_ms, s->epoch_floor_ms + LIMIT_ID_AHEAD_MS);
    b->clock.behind_secs = s->behind_secs;
    LIST_FOREACH (node, &s->queues)
        part_new(b, CONTAINER_OF(node, struct queue, in_state));
    LIST_FOREACH (node, &s->queues)
        if (s->has_damaged)
            admin_bury_damaged(b, part_of(CONTAINER_OF(node, struct queue, in_state)));
}

static void
drop_clients(struct broker *b, struct part *part)
{
    LIST_FOREACH_SAFE (node, &part->clients) {
        struct client *c = CONTAINER_OF(node, struct client, in_part);
        c->seat = NULL; /* seats go with the part */
        client_free(b, c);
    }
}

/* A rollback may have brought back what pointed to freed parts and seats. */
static void
clear_leader_pointers(struct state *s)
{
    LIST_FOREACH (node, &s->queues) {
        struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        q->leader = NULL;
        for (struct tree_node *n = tree_first(&q->line); n != NULL; n = tree_next(n))
            CONTAINER_OF(n, struct session, in_line)->leader = NULL;
    }
}

void
broker_stop_leading(struct broker *b)
{
    struct state *s = b->state;
    if (!b->is_leading)
        return;
    LIST_FOREACH (node, &s->queues) {
        struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        drop_clients(b, part_of(q));
        part_free(b, part_of(q));
    }
    assert(b->clients.count == 0 && b->timers.count == 0 && list_is_empty(&b->dirty));
    batches_drop(&b->batches);
    parcel_chain_free(&b->out);
    state_drop_volatile(s);
    journal_rollback(s);
    journal_free(s->journal);
    s->journal = NULL;
    s->applied = b->committed_index;
    clear_leader_pointers(s);
    b->config_version++;
    b->is_leading = false;
}

static void
fire(struct broker *b, struct timer *timer)
{
    switch (timer->kind) {
    case TIMER_DELAY:
        delays_ripen(b, timer->owner);
        dispatch(b, timer->owner);
        break;
    case TIMER_SAVED:
        sessions_expire(b, timer->owner);
        dispatch(b, timer->owner);
        break;
    case TIMER_STATS:
        stats_row(b, timer->owner);
        break;
    case TIMER_USAGE:
        usage_row(b, timer->owner);
        break;
    case TIMER_PUSH:
        admin_push(b, timer->owner);
        break;
    }
}

/* Every entry says how far cluster time is behind the wall clocks. */
static void
note_behind(struct broker *b)
{
    int moved_secs = b->clock.behind_secs - b->state->behind_secs;
    if (abs(moved_secs) > BEHIND_STEP_SECS && batch_is_idle(b))
        batch_barrier(b);
}

void
broker_tick(struct broker *b, uint64_t now_ms, uint64_t wall_ms)
{
    if (!b->is_leading)
        return;
    clock_tick(&b->clock, now_ms, wall_ms);
    note_behind(b);
    b->assigns_left = TURN_ASSIGNS;
    dispatch_dirty(b);
    struct timer *timer;
    while ((timer = timer_pop(b)) != NULL)
        fire(b, timer);
}

void
broker_set_room(struct broker *b, bool has_room)
{
    b->is_full = !has_room;
}

uint64_t
broker_deadline(const struct broker *b)
{
    if (!b->is_leading)
        return UINT64_MAX;
    if (!list_is_empty(&b->dirty))
        return b->clock.mono_ms;
    const struct heap_node *first = heap_first(&b->timers);
    uint64_t at = first == NULL ? UINT64_MAX : clock_to_mono(&b->clock, first->at);
    uint64_t held_until_ms = batch_held_until(b);
    return held_until_ms != 0 && held_until_ms < at ? held_until_ms : at;
}

uint64_t
broker_barrier(struct broker *b)
{
    return b->is_leading ? batch_barrier(b) : 0;
}

bool
broker_is_settled(const struct broker *b)
{
    return b->batches.to_submit == b->batches.open && b->batches.bytes.size == 0;
}

uint64_t
broker_cluster_time_ms(const struct broker *b)
{
    return b->is_leading ? b->clock.time_ms : b->state->stamp_ms;
}

uint64_t
broker_config_version(const struct broker *b)
{
    return b->config_version;
}

static void
handle_closed(struct broker *b, struct client *c, const struct signal *signal)
{
    struct part *part = c->part;
    if (c->seat != NULL) {
        if (signal->frames_sent > c->frames_sent)
            c->frames_sent = signal->frames_sent;
        session_drop(b, c);
    }
    client_free(b, c);
    dispatch(b, part);
}

static void
handle_signal(struct broker *b, struct client *c, struct parcel *parcel)
{
    struct signal *signal = (struct signal *)(void *)parcel;
    if (parcel->kind == PARCEL_CLOSED)
        handle_closed(b, c, signal);
    else
        client_progress(b, c, signal);
    parcel_free(parcel);
}

/* Which requests fit the connection's role. */
static bool
is_for_role(const struct client *c, enum parcel_kind kind)
{
    if (kind == PARCEL_REFUSED)
        return true;
    if (c->role == ROLE_PUBLISHER)
        return kind == PARCEL_PUBLISH;
    if (c->role == ROLE_ADMIN)
        return kind == PARCEL_ADMIN;
    return c->type == QUEUE_DISTRIBUTE &&
           (kind == PARCEL_SETTLE || kind == PARCEL_CAPACITY || kind == PARCEL_LOGOUT);
}

/* What the parser found, where no lower code of ours can come before it. */
static unsigned
parser_code(const struct client *c, const struct request *r)
{
    enum parcel_kind kind = r->parcel.kind;
    if (!is_for_role(c, kind))
        return CODE_INTERNAL;
    if (kind == PARCEL_SETTLE || kind == PARCEL_ADMIN)
        return 0; /* theirs to compare */
    if (r->code != 0)
        return r->code;
    if (kind == PARCEL_REFUSED)
        return CODE_INTERNAL;
    return kind == PARCEL_PUBLISH && r->publish.body == NULL ? 206 : 0;
}

static void
handle_request(struct broker *b, struct client *c, struct request *r)
{
    unsigned code = parser_code(c, r);
    if (code != 0) {
        reply_refuse(b, c, r, code, TAG_NONE);
        if (c->seat != NULL)
            seat_update(b, c->seat); /* one that ends gets nothing more */
        return;
    }
    switch (r->parcel.kind) {
    case PARCEL_PUBLISH:
        publish_handle(b, c, r);
        return;
    case PARCEL_SETTLE:
        settle_handle(b, c, r);
        return;
    case PARCEL_CAPACITY:
        capacity_handle(b, c, r);
        return;
    case PARCEL_LOGOUT:
        logout_handle(b, c, r);
        return;
    case PARCEL_ADMIN:
        admin_handle(b, c, r);
        return;
    case PARCEL_LOGIN:
    case PARCEL_REFUSED:
    case PARCEL_CLOSED:
    case PARCEL_PROGRESS:
    case PARCEL_DELIVERY:
    case PARCEL_NOTICE:
    case PARCEL_PUSH:
    case PARCEL_CLOSE:
        assert(false); /* parser_code() let none of these through */
    }
}

void
broker_handle(struct broker *b, struct parcel *parcel)
{
    assert(parcel->kind <= PARCEL_PROGRESS);
    if (!b->is_leading) {
        parcel_free(parcel);
        return;
    }
    b->assigns_left++;
    if (parcel->kind == PARCEL_LOGIN) {
        login_handle(b, (struct request *)(void *)parcel);
        return;
    }
    struct client *c = client_find(b, parcel->conn);
    if (c == NULL)
        parcel_free(parcel);
    else if (parcel->kind >= PARCEL_CLOSED)
        handle_signal(b, c, parcel);
    else if (c->phase == CLIENT_OPEN)
        handle_request(b, c, (struct request *)(void *)parcel);
    else
        parcel_free(parcel); /* before the login's reply, or after the last one */
}
