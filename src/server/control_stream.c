/* Control stream: see control_stream.h. */
#include "server/control_stream.h"

#include "base/log.h"
#include "base/mem.h"

#include <assert.h>

struct control_stream {
    uv_loop_t *loop;
    struct control_stream_source source;
    uv_work_t work;
    uv_write_t write;
    uv_stream_t *pipe; /* NULL: not started */
    void (*done_cb)(void *ctx, enum status st);
    void *ctx;
    struct bytes piece;
    enum status filled; /* by the pool's thread */
    uint64_t sent_bytes;
    uint64_t moved_ms;      /* when something was taken last; 0: not yet looked */
    uint64_t waiting_bytes; /* what the socket had not taken then */
    bool is_working;
    bool is_writing;
    bool is_freed; /* as soon as neither */
};

struct control_stream *
control_stream_new(uv_loop_t *loop, const struct control_stream_source *source)
{
    struct control_stream *s = mem_calloc(1, sizeof *s);
    s->loop = loop;
    s->source = *source;
    return s;
}

void
control_stream_free(struct control_stream *s)
{
    if (s == NULL)
        return;
    s->is_freed = true;
    if (s->is_working || s->is_writing)
        return;
    s->source.free_cb(s->source.ctx);
    bytes_fini(&s->piece);
    mem_free(s);
}

uint64_t
control_stream_bytes(const struct control_stream *s)
{
    return s->source.total_bytes;
}

static void
end(struct control_stream *s, enum status st)
{
    void (*done_cb)(void *ctx, enum status status) = s->done_cb;
    void *ctx = s->ctx;
    if (st == ST_OK && s->sent_bytes != s->source.total_bytes)
        st = ST_CORRUPT;
    control_stream_free(s);
    done_cb(ctx, st);
}

static void fill(struct control_stream *s);

static void
written_cb(uv_write_t *write, int status)
{
    struct control_stream *s = write->data;
    s->is_writing = false;
    s->sent_bytes += s->piece.size;
    if (s->is_freed)
        control_stream_free(s);
    else if (status != 0)
        end(s, ST_CLOSED);
    else
        fill(s);
}

static void
write_piece(struct control_stream *s)
{
    uv_buf_t buf = uv_buf_init((char *)s->piece.data, (unsigned)s->piece.size);
    s->write.data = s;
    s->is_writing = true;
    if (uv_write(&s->write, s->pipe, &buf, 1, written_cb) != 0) {
        s->is_writing = false;
        end(s, ST_CLOSED);
    }
}

static void
work_cb(uv_work_t *work)
{
    struct control_stream *s = work->data;
    bytes_clear(&s->piece);
    s->filled = s->source.fill_cb(s->source.ctx, &s->piece);
}

static void
worked_cb(uv_work_t *work, int cancelled)
{
    struct control_stream *s = work->data;
    s->is_working = false;
    if (s->is_freed)
        control_stream_free(s);
    else if (cancelled != 0 || s->filled != ST_OK)
        end(s, cancelled != 0 ? ST_CLOSED : s->filled);
    else if (s->piece.size == 0)
        end(s, ST_OK);
    else
        write_piece(s);
}

static void
fill(struct control_stream *s)
{
    s->work.data = s;
    s->is_working = true;
    if (uv_queue_work(s->loop, &s->work, work_cb, worked_cb) != 0) {
        s->is_working = false;
        end(s, ST_NOMEM);
    }
}

void
control_stream_start(struct control_stream *s,
                     uv_stream_t *pipe,
                     void (*done_cb)(void *ctx, enum status st),
                     void *ctx)
{
    assert(s->pipe == NULL && !s->is_freed);
    s->pipe = pipe;
    s->done_cb = done_cb;
    s->ctx = ctx;
    fill(s);
}

bool
control_stream_is_stuck(struct control_stream *s, uint64_t now_ms)
{
    size_t waiting = s->pipe == NULL ? 0 : uv_stream_get_write_queue_size(s->pipe);
    if (!s->is_writing || waiting != s->waiting_bytes || s->moved_ms == 0) {
        s->moved_ms = now_ms;
        s->waiting_bytes = waiting;
    }
    if (now_ms - s->moved_ms < CONTROL_STREAM_STUCK_MS)
        return false;
    log_event(LOG_WARN, "control.stream_stuck", "sent_bytes=%llu consequence=%s",
              (unsigned long long)s->sent_bytes, log_quote("closing the connection"));
    return true;
}
