/* Peer: see peer.h for the diagram and the rules.
 *
 * Invariants: link is set exactly in DIALLING and UP; is_down_owed means that the loss
 * of an UP link was not reported yet, and then the verdict timer runs; the last address
 * that led to an open link is in last. */
#include "cluster/peer.h"

#include "base/log.h"
#include "base/mem.h"
#include "cluster/lookup.h"

#include <assert.h>
#include <inttypes.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

#define STEADY_MS      1000 /* up for so long: the next loss begins with a short wait */
#define CUT_TRIES      3
#define RUSH_PERIOD_MS 1000
#define PEER_HANDLES   2

enum peer_state {
    PEER_WAITING,
    PEER_LOOKING,
    PEER_DIALLING,
    PEER_UP,
    PEER_GONE,
    PEER_STATES,
};

static const bool transitions[PEER_STATES][PEER_STATES] = {
    [PEER_WAITING] = {[PEER_WAITING] = true,
                      [PEER_LOOKING] = true,
                      [PEER_DIALLING] = true,
                      [PEER_GONE] = true},
    [PEER_LOOKING] =
        {[PEER_WAITING] = true, [PEER_DIALLING] = true, [PEER_GONE] = true},
    [PEER_DIALLING] = {[PEER_WAITING] = true,
                       [PEER_DIALLING] = true,
                       [PEER_UP] = true,
                       [PEER_GONE] = true},
    [PEER_UP] = {[PEER_WAITING] = true, [PEER_GONE] = true},
};

struct peer {
    uv_timer_t retry;
    uv_timer_t verdict; /* when it fires a loss is reported */
    struct lookup *lookup;
    struct peer_options o;
    struct address address; /* port "" when the text was no address */
    char text[ADDRESS_TEXT_MAX];
    enum peer_state state;
    int handles;
    struct link *link;
    struct link *knock;
    struct sockaddr_storage targets[LOOKUP_ADDRS_MAX];
    uint32_t target_count;
    uint32_t target_next;
    struct sockaddr_storage last;
    bool has_last;
    bool is_down_owed;
    bool was_refused;   /* of the loss that is owed */
    bool has_waited;    /* the verdict's time has passed once */
    bool is_dropping;   /* the queue is full; said once */
    uint32_t cut_tries; /* dials that may still be cut after a loss */
    uint32_t rushes;    /* left in this period */
    uint64_t rush_ms;   /* when the period began */
    uint32_t wait_ms;
    uint64_t up_ms;
    struct cluster_peer_info info;
};

static void
set_state(struct peer *p, enum peer_state state)
{
    assert(transitions[p->state][state]);
    p->state = state;
}

/* --- waiting and reporting --- */

/* One dial without waiting, if the ration allows. */
static bool
take_rush(struct peer *p)
{
    uint64_t now_ms = uv_now(p->o.loop);
    if (now_ms - p->rush_ms >= RUSH_PERIOD_MS) {
        p->rush_ms = now_ms;
        p->rushes = PEER_RUSHES;
    }
    if (p->rushes == 0)
        return false;
    p->rushes--;
    return true;
}

static void
report_down(struct peer *p)
{
    assert(p->is_down_owed);
    p->is_down_owed = false;
    p->o.callbacks->down_cb(p->o.ctx, p->info.id, p->was_refused);
}

/* This process may have stood still, and the answer to the dial be there unread: the
 * loop looks at its sockets once more. */
static void
on_verdict(uv_timer_t *timer)
{
    struct peer *p = timer->data;
    if (p->state == PEER_DIALLING && !p->was_refused && !p->has_waited) {
        p->has_waited = true;
        uv_timer_start(&p->verdict, on_verdict, 1, 0);
        return;
    }
    report_down(p);
}

/* A loss is owed: reported after delay_ms at the latest, from the loop. */
static void
owe_down(struct peer *p, bool was_refused, uint64_t delay_ms)
{
    p->is_down_owed = true;
    p->was_refused = was_refused;
    p->has_waited = false;
    uv_timer_start(&p->verdict, on_verdict, delay_ms, 0);
}

static void on_retry(uv_timer_t *timer);

/* Waits before the next dial, longer each time. */
static void
wait(struct peer *p)
{
    uint8_t noise = 0;
    (void)RAND_bytes(&noise, 1); /* without it the wait is only less random */
    uint32_t spread = p->wait_ms / 4;
    uint64_t delay_ms = p->wait_ms - spread / 2 + spread * noise / 255;

    set_state(p, PEER_WAITING);
    uv_timer_start(&p->retry, on_retry, delay_ms, 0);
    p->wait_ms = p->wait_ms * 2 > PEER_WAIT_MAX_MS ? PEER_WAIT_MAX_MS : p->wait_ms * 2;
    if (p->is_down_owed)
        owe_down(p, p->was_refused, 0);
}

static void
complain(struct peer *p, const char *cause)
{
    char text[400];
    snprintf(text, sizeof text, "peer=%" PRIu64 " address=%s cause=%s", p->info.id,
             log_quote(p->text), log_quote(cause));
    refusals_note(p->o.refusals, uv_now(p->o.loop), "peer.unreachable", text);
}

/* --- dialling --- */

static const struct link_callbacks link_callbacks;
static const struct link_callbacks knock_callbacks;

static struct link_options
link_options(struct peer *p, bool is_knock)
{
    return (struct link_options){
        .loop = p->o.loop,
        .tls = p->o.tls,
        .uses = p->o.uses,
        .hello = p->o.hello,
        .peer = p->info.id,
        .is_knock = is_knock,
        .callbacks = is_knock ? &knock_callbacks : &link_callbacks,
        .ctx = p,
    };
}

/* Dials the next address that can be dialled; waits when there is none left. */
static void
dial_targets(struct peer *p)
{
    struct link_options options = link_options(p, false);

    while (p->target_next < p->target_count) {
        struct link_end end;
        const struct sockaddr_storage *target = &p->targets[p->target_next++];
        if (link_dial(&options, target, &end, &p->link) == ST_OK) {
            set_state(p, PEER_DIALLING);
            return;
        }
        p->was_refused = p->was_refused || end.was_refused;
        complain(p, end.text);
    }
    wait(p);
}

static void
dial_one(struct peer *p, const struct sockaddr_storage *target)
{
    p->targets[0] = *target;
    p->target_count = 1;
    p->target_next = 0;
    dial_targets(p);
}

/* A dial from the beginning: the name is looked up again. */
static void
dial(struct peer *p)
{
    struct sockaddr_storage target;

    uv_timer_stop(&p->retry);
    if (p->address.port[0] == '\0') {
        complain(p, "not an address (host:port)");
        wait(p);
    } else if (address_numeric(&p->address, &target) == ST_OK) {
        dial_one(p, &target);
    } else if (lookup_start(p->lookup, &p->address) == ST_OK) {
        set_state(p, PEER_LOOKING);
    } else {
        complain(p, "look-up could not start");
        wait(p);
    }
}

/* A dial at once, to where it was last. */
static void
redial(struct peer *p)
{
    uv_timer_stop(&p->retry);
    if (p->has_last)
        dial_one(p, &p->last);
    else
        dial(p);
}

static void
on_found(void *ctx, const struct lookup_result *result)
{
    struct peer *p = ctx;
    if (p->state != PEER_LOOKING)
        return;
    if (result->error != NULL)
        complain(p, result->error);
    memcpy(p->targets, result->addrs, sizeof p->targets);
    p->target_count = result->count;
    p->target_next = 0;
    /* Without an answer the last good address is better than none. */
    if (p->target_count == 0 && p->has_last)
        p->targets[p->target_count++] = p->last;
    dial_targets(p);
}

static void
on_retry(uv_timer_t *timer)
{
    struct peer *p = timer->data;
    if (p->state == PEER_WAITING)
        dial(p);
}

/* --- the link --- */

static enum frame_refusal
on_hello(void *ctx, const struct frame_hello *hello)
{
    struct peer *p = ctx;
    if (hello->node != p->info.id)
        return FRAME_REFUSE_NAME;
    enum frame_refusal refusal = p->o.callbacks->hello_cb(p->o.ctx, hello);
    if (refusal == FRAME_REFUSE_NONE)
        peer_learn(p, hello);
    return refusal;
}

static void
on_open(void *ctx)
{
    struct peer *p = ctx;
    assert(p->target_next > 0);
    set_state(p, PEER_UP);
    p->last = p->targets[p->target_next - 1];
    p->has_last = true;
    p->up_ms = uv_now(p->o.loop);
    p->info.is_connected = true;
    log_event(LOG_INFO, "peer.up", "peer=%" PRIu64 " address=%s", p->info.id,
              log_quote(p->text));
    if (p->is_down_owed) {
        uv_timer_stop(&p->verdict);
        report_down(p);
    }
    if (p->state == PEER_UP)
        p->o.callbacks->up_cb(p->o.ctx, p->info.id);
}

/* Accounts for the end of an UP link, however it came. */
static void
leave_up(struct peer *p, const char *cause)
{
    uint64_t was_up_ms = uv_now(p->o.loop) - p->up_ms;
    link_close(p->knock);
    p->knock = NULL;
    p->info.is_connected = false;
    p->is_dropping = false;
    if (was_up_ms >= STEADY_MS)
        p->wait_ms = PEER_WAIT_MIN_MS;
    p->cut_tries = CUT_TRIES;
    owe_down(p, false, PEER_VERDICT_MS);
    log_event(LOG_INFO, "peer.down", "peer=%" PRIu64 " cause=%s consequence=redial",
              p->info.id, log_quote(cause));
    set_state(p, PEER_WAITING);
}

static void
on_closed(void *ctx, const struct link_end *end)
{
    struct peer *p = ctx;
    p->link = NULL;
    p->info.refusal = (uint8_t)end->refusal;
    if (p->state == PEER_UP) {
        leave_up(p, end->text);
        if (take_rush(p))
            redial(p);
        else
            wait(p);
        return;
    }
    complain(p, end->text);
    p->was_refused = p->was_refused || end->was_refused;
    if (p->is_down_owed && end->was_cut && p->cut_tries > 0) {
        /* A dying process may close its listener last: it took the dial and cut it. */
        p->cut_tries--;
        redial(p);
    } else {
        dial_targets(p);
    }
}

static const struct link_callbacks link_callbacks = {
    .hello_cb = on_hello,
    .open_cb = on_open,
    .closed_cb = on_closed,
};

/* Nobody listens where an UP link leads: the process is gone, the link only does not
 * know yet. */
static void
declare_gone(struct peer *p)
{
    if (p->state != PEER_UP)
        return;
    link_close(p->link);
    p->link = NULL;
    leave_up(p, "its connection to us ended and its port refuses");
    p->was_refused = true;
    wait(p);
}

static void
on_knock_closed(void *ctx, const struct link_end *end)
{
    struct peer *p = ctx;
    p->knock = NULL;
    if (end->was_refused)
        declare_gone(p);
}

static const struct link_callbacks knock_callbacks = {.closed_cb = on_knock_closed};

void
peer_lost_inbound(struct peer *p)
{
    if (p->state == PEER_WAITING && take_rush(p)) {
        redial(p);
    } else if (p->state == PEER_UP && p->knock == NULL && take_rush(p)) {
        struct link_options options = link_options(p, true);
        struct link_end end;
        if (link_dial(&options, &p->last, &end, &p->knock) != ST_OK && end.was_refused)
            declare_gone(p);
    }
}

void
peer_heard(struct peer *p)
{
    if (p->state == PEER_WAITING && take_rush(p))
        dial(p);
}

/* --- for the owner --- */

static void
set_address(struct peer *p, const char *text)
{
    snprintf(p->text, sizeof p->text, "%s", text);
    p->has_last = false;
    if (address_parse(text, &p->address) != ST_OK || p->address.host[0] == '\0')
        p->address = (struct address){0};
}

struct peer *
peer_new(const struct peer_options *options, const struct rlog_member *member)
{
    struct peer *p = mem_calloc(1, sizeof *p);
    p->o = *options;
    p->info.id = member->id;
    p->wait_ms = PEER_WAIT_MIN_MS;
    set_address(p, member->address);
    uv_timer_init(options->loop, &p->retry);
    uv_timer_init(options->loop, &p->verdict);
    p->retry.data = p->verdict.data = p;
    p->lookup = lookup_new(options->loop, options->uses, on_found, p);
    for (p->handles = 0; p->handles < PEER_HANDLES; p->handles++)
        uses_get(options->uses);
    uv_timer_start(&p->retry, on_retry, 0, 0);
    return p;
}

static void
on_handle_closed(uv_handle_t *handle)
{
    struct peer *p = handle->data;
    struct uses *uses = p->o.uses;
    if (--p->handles == 0)
        mem_free(p);
    uses_put(uses);
}

void
peer_close(struct peer *p)
{
    set_state(p, PEER_GONE);
    link_close(p->link);
    link_close(p->knock);
    p->link = p->knock = NULL;
    p->info.is_connected = false;
    lookup_free(p->lookup);
    uv_close((uv_handle_t *)&p->retry, on_handle_closed);
    uv_close((uv_handle_t *)&p->verdict, on_handle_closed);
}

void
peer_set_address(struct peer *p, const char *address)
{
    if (strcmp(p->text, address) == 0)
        return;
    bool was_up = p->state == PEER_UP;
    link_close(p->link);
    p->link = NULL;
    set_address(p, address);
    if (was_up) {
        leave_up(p, "its address changed");
        owe_down(p, false, 0);
    } else {
        set_state(p, PEER_WAITING);
    }
    uv_timer_start(&p->retry, on_retry, 0, 0);
}

uint64_t
peer_id(const struct peer *p)
{
    return p->info.id;
}

const struct cluster_peer_info *
peer_info(const struct peer *p)
{
    return &p->info;
}

void
peer_learn(struct peer *p, const struct frame_hello *hello)
{
    p->info.version = hello->version;
    p->info.features = hello->features;
    p->info.refusal = FRAME_REFUSE_NONE;
    memcpy(p->info.relay_key, hello->relay_key, sizeof p->info.relay_key);
    p->info.members_index = hello->members_index;
    memcpy(p->info.client_address, hello->client_address, FRAME_ADDRESS_MAX);
}

void
peer_send(struct peer *p, const struct rlog_frame *frame)
{
    if (p->state != PEER_UP)
        return;
    enum status status = link_send(p->link, frame);
    if (status == ST_AGAIN && !p->is_dropping)
        log_event(LOG_WARN, "peer.slow",
                  "peer=%" PRIu64 " waiting_bytes=%zu consequence=dropping", p->info.id,
                  link_backlog(p->link));
    p->is_dropping = status == ST_AGAIN;
}

void
peer_flush(struct peer *p)
{
    if (p->state == PEER_UP)
        link_flush(p->link);
}
