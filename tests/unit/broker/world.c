/* World: see world.h. */
#include "tests/unit/broker/world.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

void
world_init(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->seed = seed;
    w->now_ms = 1000000;
    w->wall_ms = WORLD_WALL_MS;
    w->state = state_new();
    w->other = state_new();
    struct broker_options options = {.seed = seed};
    w->b = broker_new(w->state, &options);
}

static void
drop_flights(struct world *w)
{
    for (size_t i = 0; i < w->flight_count; i++)
        blob_put(w->flights[i].blob);
    w->flight_count = 0;
}

void
world_fini(struct world *w)
{
    broker_free(w->b);
    drop_flights(w);
    state_free(w->state);
    state_free(w->other);
}

void
world_lead(struct world *w)
{
    struct bytes entry = {0};
    uint64_t stamp_ms = w->state->stamp_ms;
    uint64_t time_ms = w->wall_ms;
    if (stamp_ms != 0)
        time_ms = stamp_ms + (w->stamp_at_ms == 0 ? 0 : w->now_ms - w->stamp_at_ms);
    entry_begin(&entry, time_ms > stamp_ms ? time_ms : stamp_ms + 1);
    struct record record = {.type = RECORD_EPOCH, .leader = 1};
    entry_add(&entry, &record);
    w->index++;
    state_apply(w->state, w->index, slice_of(entry.data, entry.size));
    state_apply(w->other, w->index, slice_of(entry.data, entry.size));
    bytes_fini(&entry);
    w->stamp_at_ms = w->now_ms;
    broker_lead(w->b, w->now_ms, w->state->stamp_ms);
}

void
world_stop(struct world *w)
{
    broker_stop_leading(w->b);
    drop_flights(w);
    w->index = w->state->applied;
}

void
world_fail_over(struct world *w)
{
    world_stop(w);
    struct state *old = w->state;
    w->state = w->other;
    w->other = old;
    broker_set_state(w->b, w->state);
    state_inherit(w->state);
    world_lead(w);
}

void
world_hand_over(struct world *w)
{
    (void)broker_pass_on(w->b);
    world_commit(w);
    world_fail_over(w);
}

void
world_tick(struct world *w, uint64_t ms)
{
    w->now_ms += ms;
    w->wall_ms += ms;
    broker_tick(w->b, w->now_ms, w->wall_ms);
}

const struct world_entry *
world_take(struct world *w, bool *ret_is_sync)
{
    struct batch batch;
    if (!broker_take_batch(w->b, UINT64_MAX, &batch))
        return NULL;
    assert(w->flight_count < WORLD_IN_FLIGHT);
    struct world_entry *flight = &w->flights[w->flight_count++];
    *flight = (struct world_entry){batch.entry, ++w->index, batch.number};
    broker_submitted(w->b, batch.number, flight->index);
    *ret_is_sync = batch.is_sync;
    return flight;
}

bool
world_commit_one(struct world *w)
{
    if (w->flight_count == 0)
        return false;
    struct world_entry flight = w->flights[0];
    w->flight_count--;
    memmove(w->flights, w->flights + 1, w->flight_count * sizeof flight);
    state_apply(w->other, flight.index, blob_slice(flight.blob));
    broker_committed(w->b, flight.index);
    w->stamp_at_ms = w->now_ms;
    blob_put(flight.blob);
    return true;
}

void
world_commit(struct world *w)
{
    bool is_sync;
    while (world_take(w, &is_sync) != NULL || world_commit_one(w))
        ;
}

const char *
world_check(struct world *w)
{
    const char *fault = broker_check(w->b);
    if (fault == NULL)
        fault = state_check(w->state);
    if (fault == NULL)
        fault = state_check(w->other);
    bool is_quiet = w->flight_count == 0 && broker_open_bytes(w->b) == 0;
    if (fault == NULL && is_quiet && state_digest(w->state) != state_digest(w->other))
        fault = "the leader's state and the follower's differ";
    if (fault == NULL && is_quiet && w->state->applied != w->other->applied)
        fault = "the leader's log index and the follower's differ";
    return fault;
}

struct parcel *
world_parcel(struct world *w, struct mail_chain *chain)
{
    if (chain->first == NULL)
        broker_take_parcels(w->b, chain);
    struct parcel *parcel = (struct parcel *)(void *)chain->first;
    if (parcel == NULL)
        return NULL;
    chain->first = parcel->mail.next;
    if (chain->first == NULL)
        chain->last = NULL;
    if (parcel->kind == PARCEL_DELIVERY) {
        const struct delivery *d = (const struct delivery *)(const void *)parcel;
        w->conns[parcel->conn % WORLD_CONNS].frames++;
        w->conns[parcel->conn % WORLD_CONNS].bytes += d->charge_bytes;
    }
    return parcel;
}

size_t
world_drain(struct world *w)
{
    struct mail_chain chain = {NULL, NULL};
    struct parcel *parcel;
    size_t count = 0;
    for (; (parcel = world_parcel(w, &chain)) != NULL; count++)
        parcel_free(parcel);
    return count;
}

void
world_spec(struct queue_spec *spec, const char *name)
{
    memset(spec, 0, sizeof *spec);
    spec->name = slice_from_text(name);
    settings_defaults(TIER_STANDARD, (uint64_t)1 << 30, spec->settings);
}

void
world_create(struct world *w, const struct queue_spec *spec)
{
    uint64_t number;
    enum status status = broker_create_queue(w->b, spec, &number);
    assert(status == ST_OK);
    world_commit(w);
}

struct queue *
world_queue(struct world *w)
{
    return state_queue_by_name(w->state, slice_from_text("demo"));
}

struct request *
world_request(enum parcel_kind kind, uint64_t conn)
{
    struct request *r = request_new(kind, conn, slice_of("", 0));
    assert(r != NULL);
    return r;
}

struct request *
world_login(struct world *w, uint64_t conn, enum login_role role)
{
    struct request *r = world_request(PARCEL_LOGIN, conn);
    const struct queue *q = world_queue(w);
    r->login->queue = q == NULL ? 999 : q->number;
    r->login->role = role;
    w->conns[conn % WORLD_CONNS] = (struct world_conn){0, 0};
    return r;
}

struct blob *
world_body(const char *text, const char *key)
{
    struct bytes bytes = {0};
    bytes_put_text(&bytes, text);
    if (key != NULL)
        bytes_put_text(&bytes, key);
    struct blob *blob = blob_copy(slice_of(bytes.data, bytes.size));
    bytes_fini(&bytes);
    return blob;
}

struct signal *
world_signal(enum parcel_kind kind, uint64_t conn)
{
    struct signal *signal = mem_calloc(1, sizeof *signal);
    signal->parcel.conn = conn;
    signal->parcel.kind = kind;
    return signal;
}

void
world_send(struct world *w, struct request *r)
{
    broker_handle(w->b, &r->parcel);
}

void
world_log_in(struct world *w, struct request *login, bool is_good)
{
    uint64_t conn = login->parcel.conn;
    world_send(w, login);
    struct verify verify;
    while (broker_take_verify(w->b, &verify))
        broker_verified(w->b, verify.conn, verify.conn == conn ? is_good : true);
}
