/* Connection: its states, and how it stops.
 *
 *  accept
 *    │        PROXY header
 *    ▼         ┌──┐
 *  SNIFF ──────┘  │
 *    │ 0x16 ◄─────┘
 *    ▼
 *   TLS ──► UPGRADE ──► LOGIN ──► LOGIN_WAIT ──► OPEN
 *    :         │ 400      │            │           │     close frame, refusal, reply
 * with :         ▼          ▼            ▼           ▼     AFTER_CLOSE or AFTER_LOGOUT
 *    :       FLUSH ◄──────┴────────────┴───────────┘
 *    :         │ all bytes handed to TLS, close_notify, FIN
 *    :         ▼
 *    :       LINGER  reads and discards, so that the kernel sends no reset while the
 *    :         │     client may still read; until its end of stream or LINGER_MS
 *    ▼         ▼
 *  DEAD ◄──────┘     from every state: error, deadline, slow reader, route change
 *
 * Invariants:
 *  C1 Nothing is decoded outside of UPGRADE..OPEN, nor after has_ended.
 *  C2 When wants_read is false in UPGRADE..OPEN, the connection is stalled or
 * has_ended; who ends a stall puts it on the ready list, because TLS or rest may hold
 * bytes that no poll tells of. C3 A connection with output not handed over is dirty, or
 * blocked with wants_write. C4 The core hears CLOSED exactly once when it has heard
 * LOGIN, after the last PROGRESS, with numbers that stay true: nothing is handed to TLS
 * after it. C5 DEAD: socket closed, in no list but dead, no event, no timer. */
#include "net/conn_steps.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <openssl/err.h>
#include <unistd.h>

#define FLUSH_MS         10000 /* for the last bytes */
#define PING_IDLE_MS     30000 /* keeps proxies and address translators open */
#define MS_A_SECOND      1000u
/* A stall ends when this part is left of what began it. */
#define DRAINED_FRACTION 2

#define BIT(state) (1u << (state))
static const unsigned allowed_from[CONN_STATE_COUNT] = {
    [CONN_SNIFF] = 0,
    [CONN_TLS] = BIT(CONN_SNIFF),
    [CONN_UPGRADE] = BIT(CONN_TLS),
    [CONN_LOGIN] = BIT(CONN_UPGRADE),
    [CONN_LOGIN_WAIT] = BIT(CONN_LOGIN),
    [CONN_OPEN] = BIT(CONN_LOGIN_WAIT),
    [CONN_FLUSH] = BIT(CONN_SNIFF) | BIT(CONN_UPGRADE) | BIT(CONN_LOGIN) |
                   BIT(CONN_LOGIN_WAIT) | BIT(CONN_OPEN),
    [CONN_LINGER] = BIT(CONN_FLUSH),
    [CONN_DEAD] = BIT(CONN_DEAD) - 1,
};

void
conn_set_state(struct conn *c, enum conn_state state)
{
    assert((allowed_from[state] & BIT(c->state)) != 0);
    c->state = state;
    if (state == CONN_OPEN) {
        admission_leave(&c->worker->shared->admission, c->admission);
        c->admission = NULL;
        atomic_fetch_add(&c->queue->connections, 1);
        c->has_slot = true;
    }
}

void
conn_want_read(struct conn *c, bool wants)
{
    if (c->wants_read == wants)
        return;
    int result = wants ? event_add(&c->read_event, NULL) : event_del(&c->read_event);
    c->wants_read = wants && result == 0;
    if (result != 0)
        conn_drop(c, "no memory to watch the socket");
}

void
conn_want_write(struct conn *c, bool wants)
{
    if (c->wants_write == wants)
        return;
    int result = wants ? event_add(&c->write_event, NULL) : event_del(&c->write_event);
    c->wants_write = wants && result == 0;
    if (result != 0)
        conn_drop(c, "no memory to watch the socket");
}

void
conn_mark_ready(struct conn *c)
{
    if (!list_is_linked(&c->in_ready))
        list_push_back(&c->worker->ready, &c->in_ready);
}

void
conn_mark_dirty(struct conn *c)
{
    if (!list_is_linked(&c->in_dirty))
        list_push_back(&c->worker->dirty, &c->in_dirty);
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t
login_deadline(const struct conn *c)
{
    const struct directory *d = &c->worker->shared->directory;
    if (c->state >= CONN_OPEN)
        return UINT64_MAX;
    uint64_t secs = limit_load(c->queue == NULL ? &d->longest_login_secs
                                                : &c->queue->login_timeout_secs);
    uint64_t at = c->accepted_ms + secs * MS_A_SECOND;
    /* A client that said all in time gets its answer, though that takes a while. */
    uint64_t answer = c->login_ms + LIMIT_LOGIN_ANSWER_MS;
    return c->state == CONN_LOGIN_WAIT && at < answer ? answer : at;
}

static bool
is_half_full(const struct conn *c)
{
    return c->queue != NULL && conn_unsent_bytes(c) > conn_max_unsent_bytes(c) / 2;
}

static uint64_t
message_deadline(const struct conn *c)
{
    if (!c->is_message_open || c->is_stalled)
        return UINT64_MAX;
    return c->message_ms +
           (uint64_t)limit_load(&c->queue->message_timeout_secs) * MS_A_SECOND;
}

static uint64_t
stuck_deadline(const struct conn *c)
{
    return c->is_blocked && is_half_full(c) ? c->taken_ms + LIMIT_STUCK_WRITE_MS
                                            : UINT64_MAX;
}

static uint64_t
ping_deadline(const struct conn *c)
{
    return c->state == CONN_OPEN && !c->is_blocked ? c->active_ms + PING_IDLE_MS
                                                   : UINT64_MAX;
}

static uint64_t
next_deadline(const struct conn *c)
{
    if (c->state == CONN_FLUSH || c->state == CONN_LINGER)
        return c->ends_ms;
    uint64_t at = earlier(message_deadline(c), login_deadline(c));
    return earlier(at, earlier(stuck_deadline(c), ping_deadline(c)));
}

void
conn_set_deadline(struct conn *c)
{
    uint64_t at = next_deadline(c);
    if (!timer_is_set(&c->timer) || at < c->timer.node.at)
        timers_set(&c->worker->timers, &c->timer, at);
}

enum conn_due
conn_what_is_due(const struct conn *c, uint64_t now_ms)
{
    if (next_deadline(c) > now_ms)
        return CONN_DUE_NOTHING;
    if (c->state == CONN_FLUSH || c->state == CONN_LINGER)
        return CONN_DUE_LAST_WORDS;
    if (login_deadline(c) <= now_ms)
        return CONN_DUE_LOGIN;
    if (message_deadline(c) <= now_ms)
        return CONN_DUE_MESSAGE;
    return stuck_deadline(c) <= now_ms ? CONN_DUE_STUCK : CONN_DUE_PING;
}

/* What is to be sent, now or when the requests on their way are answered. */
static size_t
coming_bytes(const struct conn *c)
{
    return conn_unsent_bytes(c) + c->expected_bytes;
}

bool
conn_is_over(const struct conn *c)
{
    return c->unanswered_requests >= LIMIT_UNANSWERED_REQUESTS ||
           c->unanswered_bytes >= LIMIT_UNANSWERED_BYTES ||
           (c->queue != NULL && coming_bytes(c) > conn_max_unsent_bytes(c) / 2);
}

bool
conn_is_drained(const struct conn *c)
{
    return c->unanswered_requests <= LIMIT_UNANSWERED_REQUESTS / DRAINED_FRACTION &&
           c->unanswered_bytes <= LIMIT_UNANSWERED_BYTES / DRAINED_FRACTION &&
           coming_bytes(c) <= conn_max_unsent_bytes(c) / 2 / DRAINED_FRACTION;
}

void
conn_account(struct conn *c)
{
    if (c->ssl == NULL)
        return;
    uint64_t read = BIO_number_read(SSL_get_rbio(c->ssl));
    uint64_t written = BIO_number_written(SSL_get_wbio(c->ssl));
    uint64_t more_read = read - c->socket_read;
    uint64_t more_written = written - c->socket_written;
    c->socket_read = read;
    c->socket_written = written;
    c->worker->counts.received_bytes_total += more_read;
    c->worker->counts.sent_bytes_total += more_written;
    if (c->queue == NULL)
        return;
    atomic_fetch_add_explicit(&c->queue->received_bytes, more_read,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&c->queue->sent_bytes, more_written,
                              memory_order_relaxed);
}

void
conn_report_closed(struct conn *c)
{
    if (c->has_slot)
        atomic_fetch_sub(&c->queue->connections, 1);
    c->has_slot = false;
    if (c->closed == NULL)
        return;
    c->closed->frames_sent = c->frames_sent;
    c->closed->bytes_sent = c->bytes_sent;
    worker_send(c->worker, &c->closed->parcel);
    c->closed = NULL;
}

static void
count_close(struct conn *c, enum conn_close count)
{
    if (!c->is_counted)
        c->worker->counts.closes_total[count]++;
    c->is_counted = true;
}

void
conn_finish(struct conn *c, enum conn_close count)
{
    assert(c->state < CONN_FLUSH);
    count_close(c, count);
    conn_set_state(c, CONN_FLUSH);
    c->ends_ms = worker_now_ms(c->worker) + FLUSH_MS;
    bytes_fini(&c->rest);
    conn_mark_dirty(c);
    conn_want_read(c, true); /* to discard */
    if (c->state != CONN_DEAD)
        timers_set(&c->worker->timers, &c->timer, c->ends_ms);
}

static void
leave_lists(struct conn *c)
{
    struct worker *w = c->worker;
    if (list_is_linked(&c->in_ready))
        list_remove(&c->in_ready);
    if (list_is_linked(&c->in_dirty))
        list_remove(&c->in_dirty);
    list_remove(&c->in_conns);
    map_remove(&w->by_number, &c->in_map);
    list_push_back(&w->dead, &c->in_conns);
    timers_clear(&w->timers, &c->timer);
}

void
conn_drop(struct conn *c, const char *cause)
{
    if (c->state == CONN_DEAD)
        return;
    struct worker *w = c->worker;
    log_event(LOG_DEBUG, "client.closed", "conn=%llu state=%d cause=%s",
              (unsigned long long)c->number, (int)c->state, log_quote(cause));
    count_close(c, CONN_CLOSE_NONE);
    conn_set_state(c, CONN_DEAD);
    conn_account(c);
    conn_report_closed(c);
    (void)event_del(&c->read_event);
    (void)event_del(&c->write_event);
    c->wants_read = c->wants_write = false;
    leave_lists(c);
    (void)close(c->fd);
    c->fd = -1;
    admission_leave(&w->shared->admission, c->admission);
    c->admission = NULL;
    w->counts.open_clients--;
}
