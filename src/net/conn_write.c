/* Connection: its output.
 *
 * Frames are encoded straight into c->out and handed to TLS in records of up to 16 KiB,
 * once a turn: many replies share a record and a system call. A frame counts as sent
 * when SSL_write() has taken its last byte, which it does only when the record with
 * that byte is in the kernel; so what counts as sent can reach the client, and what
 * does not, cannot.
 *
 * Output is bounded by max-write-queue-bytes: who would go over it, with something else
 * still waiting, is dropped, after the socket was given one more chance. */
#include "net/conn_steps.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <string.h>

#define RECORD_BYTES      16384
#define FLUSH_AT_BYTES    (64u << 10) /* do not wait for the end of the turn */
#define DEFLATE_MIN_BYTES 1024
#define SPARE_MAX_BYTES   (64u << 10) /* a larger buffer is not kept for others */
#define MARKS_FIRST       8
#define MARKS_KEPT        64
#define LINGER_MS         10000 /* for a client that goes on writing before it reads */
#define REPORT_FRACTION   8
#define HEAD_BYTES_MAX    10

/* Takes the worker's spare buffer when it has none. */
static void
need_buffer(struct conn *c)
{
    if (c->out.data != NULL)
        return;
    c->out = c->worker->spare;
    c->worker->spare = (struct bytes){NULL, 0, 0};
}

/* All of it is sent: the buffer goes to whoever needs one next. */
static void
release_buffer(struct conn *c)
{
    c->out_base += c->out.size;
    c->out_at = 0;
    bytes_clear(&c->out);
    struct bytes *spare = &c->worker->spare;
    if (c->out.capacity <= SPARE_MAX_BYTES && spare->capacity < c->out.capacity) {
        struct bytes mine = c->out;
        c->out = *spare;
        *spare = mine;
    }
    bytes_fini(&c->out);
}

/* Moves the rest down when at least half of the buffer is behind it. */
static void
compact(struct conn *c)
{
    if (c->out_at < RECORD_BYTES || c->out_at < c->out.size / 2)
        return;
    memmove(c->out.data, c->out.data + c->out_at, c->out.size - c->out_at);
    c->out.size -= c->out_at;
    c->out_base += c->out_at;
    c->out_at = 0;
}

static bool
marks_grow(struct conn_marks *m)
{
    uint32_t capacity = m->capacity == 0 ? MARKS_FIRST : m->capacity * 2;
    struct conn_mark *items = mem_try_alloc(capacity * sizeof(*items));
    if (items == NULL)
        return false;
    for (uint32_t i = 0; i < m->count; i++)
        items[i] = m->items[(m->first + i) & (m->capacity - 1)];
    mem_free(m->items);
    m->items = items;
    m->capacity = capacity;
    m->first = 0;
    return true;
}

static bool
marks_push(struct conn_marks *m, uint64_t end, uint32_t charge_bytes)
{
    if (m->count == m->capacity && !marks_grow(m))
        return false;
    m->items[(m->first + m->count) & (m->capacity - 1)] =
        (struct conn_mark){end, charge_bytes};
    m->count++;
    return true;
}

/* Counts deliveries that end at or before the place that TLS has taken all up to. */
static void
count_sent(struct conn *c)
{
    struct conn_marks *m = &c->marks;
    uint64_t sent = c->out_base + c->out_at;
    while (m->count > 0 && m->items[m->first].end <= sent) {
        c->frames_sent++;
        c->bytes_sent += m->items[m->first].charge_bytes;
        m->first = (m->first + 1) & (m->capacity - 1);
        m->count--;
    }
    if (m->count == 0 && m->capacity > MARKS_KEPT) {
        mem_free(m->items);
        *m = (struct conn_marks){NULL, 0, 0, 0};
    }
}

static void
report_progress(struct conn *c)
{
    if (c->closed == NULL || c->bytes_sent == c->bytes_reported ||
        c->bytes_sent - c->bytes_reported < conn_max_unsent_bytes(c) / REPORT_FRACTION)
        return;
    struct signal *s = mem_try_calloc(1, sizeof(*s));
    if (s == NULL)
        return; /* with the next bytes, then */
    s->parcel.kind = PARCEL_PROGRESS;
    s->parcel.conn = c->number;
    s->frames_sent = c->frames_sent;
    s->bytes_sent = c->bytes_sent;
    c->bytes_reported = c->bytes_sent;
    worker_send(c->worker, &s->parcel);
}

/* Before TLS (a plain 400). */
static size_t
write_plain(struct conn *c, const uint8_t *data, size_t size)
{
    ssize_t sent = send(c->fd, data, size, MSG_NOSIGNAL);
    if (sent >= 0)
        return (size_t)sent;
    if (errno == EAGAIN || errno == EINTR)
        conn_want_write(c, true);
    else
        conn_drop(c, "write failed");
    return 0;
}

/* Bytes that TLS took; 0: it waits, or the connection is dead. */
static size_t
write_record(struct conn *c, const uint8_t *data, size_t size)
{
    if (c->ssl == NULL)
        return write_plain(c, data, size);
    ERR_clear_error();
    int taken = SSL_write(c->ssl, data, (int)size);
    if (taken > 0)
        return (size_t)taken;
    switch (SSL_get_error(c->ssl, taken)) {
    case SSL_ERROR_WANT_WRITE:
        conn_want_write(c, true);
        break;
    case SSL_ERROR_WANT_READ:
        c->write_wants_read = true;
        break;
    default:
        conn_drop(c, "write failed");
        break;
    }
    return 0;
}

/* How much goes into the next record. The login's reply ends one: a client that begins
 * to listen for messages only when it has read the reply would miss those that came in
 * the same read. */
static size_t
record_size(const struct conn *c)
{
    uint64_t at = c->out_base + c->out_at;
    size_t size = conn_unsent_bytes(c);
    if (c->login_end > at && c->login_end - at < size)
        size = (size_t)(c->login_end - at);
    return size < RECORD_BYTES ? size : RECORD_BYTES;
}

/* Gives the socket what it takes. */
static void
write_out(struct conn *c)
{
    uint64_t before = c->socket_written;
    bool is_taking = true;
    while (is_taking && conn_unsent_bytes(c) > 0) {
        size_t taken = write_record(c, c->out.data + c->out_at, record_size(c));
        c->out_at += taken;
        is_taking = taken > 0;
    }
    if (c->state == CONN_DEAD)
        return;
    conn_account(c);
    if (is_taking || c->socket_written != before || !c->is_blocked)
        c->taken_ms = c->active_ms = worker_now_ms(c->worker);
    c->is_blocked = !is_taking;
    count_sent(c);
    report_progress(c);
    if (conn_unsent_bytes(c) == 0)
        release_buffer(c);
    else
        compact(c);
}

/* The last byte is out: end of stream in TLS and TCP. */
static void
say_end(struct conn *c)
{
    if (c->ssl != NULL && SSL_is_init_finished(c->ssl)) {
        ERR_clear_error();
        int result = SSL_shutdown(c->ssl);
        if (result < 0 && SSL_get_error(c->ssl, result) == SSL_ERROR_WANT_WRITE) {
            conn_want_write(c, true);
            return;
        }
    }
    conn_want_write(c, false);
    conn_account(c);
    conn_report_closed(c);
    conn_set_state(c, CONN_LINGER);
    conn_want_read(c, true); /* its end of stream, though we may have seen it before */
    if (c->state == CONN_DEAD)
        return;
    c->ends_ms = worker_now_ms(c->worker) + LINGER_MS;
    timers_set(&c->worker->timers, &c->timer, c->ends_ms);
    if (shutdown(c->fd, SHUT_WR) != 0)
        conn_drop(c, "reset by the client");
}

void
conn_flush(struct conn *c)
{
    if (c->state == CONN_LINGER || c->state == CONN_DEAD)
        return;
    if (list_is_linked(&c->in_dirty))
        list_remove(&c->in_dirty);
    bool was_blocked = c->is_blocked;
    write_out(c);
    if (c->state == CONN_DEAD)
        return;
    if (c->is_blocked) {
        conn_set_deadline(c);
    } else if (c->state == CONN_FLUSH) {
        say_end(c);
        return;
    } else {
        conn_want_write(c, c->read_wants_write);
        if (was_blocked)
            conn_set_deadline(c);
    }
    if (c->is_stalled && conn_is_drained(c))
        conn_mark_ready(c);
}

/* Something was appended at start, a place in the output stream. */
static void
after_append(struct conn *c, uint64_t start)
{
    if (c->is_blocked)
        conn_set_deadline(c); /* it may be half full now */
    else
        conn_mark_dirty(c);
    if (conn_unsent_bytes(c) < FLUSH_AT_BYTES &&
        (c->queue == NULL || conn_unsent_bytes(c) <= conn_max_unsent_bytes(c)))
        return;
    if (!c->is_blocked)
        conn_flush(c);
    if (c->state >= CONN_FLUSH || c->queue == NULL || c->out_base + c->out_at >= start)
        return; /* nothing before it is left: any one frame may wait */
    if (conn_unsent_bytes(c) <= conn_max_unsent_bytes(c))
        return;
    c->worker->counts.dropped_slow_total++;
    log_event(LOG_INFO, "client.slow", "conn=%llu unsent=%zu reason=%s",
              (unsigned long long)c->number, conn_unsent_bytes(c),
              "\"over max-write-queue-bytes, closing\"");
    conn_drop(c, "reads too slowly");
}

size_t
conn_frame_begin(struct conn *c)
{
    need_buffer(c);
    return ws_encode_begin(&c->out);
}

void
conn_frame_end(struct conn *c, size_t begin, uint32_t delivery_bytes)
{
    uint64_t start = c->out_base + begin;
    if (c->window_bits != 0 &&
        c->out.size - begin >= DEFLATE_MIN_BYTES + HEAD_BYTES_MAX)
        ws_encode_end_deflate(&c->out, begin, WS_TEXT, c->worker->codec,
                              c->window_bits);
    else
        ws_encode_end(&c->out, begin, WS_TEXT);
    if (delivery_bytes != 0 &&
        !marks_push(&c->marks, c->out_base + c->out.size, delivery_bytes)) {
        conn_drop(c, "out of memory");
        return;
    }
    after_append(c, start);
}

void
conn_put_control(struct conn *c, enum ws_opcode opcode, struct slice payload)
{
    need_buffer(c);
    uint64_t start = c->out_base + c->out.size;
    ws_encode(&c->out, opcode, payload);
    after_append(c, start);
}

void
conn_close_with(struct conn *c, uint16_t code, enum conn_close count)
{
    need_buffer(c);
    ws_encode_close(&c->out, code);
    conn_finish(c, count);
}
