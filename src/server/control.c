/* Control: see control.h. One libuv pipe per client, one command at a time on each. */
#include "server/control.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "server/command.h"
#include "server/commands.h"
#include "server/control_stream.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct control {
    struct node *node;
    uv_pipe_t listener;
    struct list clients;
    struct list waiting;   /* commands that wait for a batch */
    struct list forwarded; /* commands that another node runs */
    size_t client_count;
    uint64_t next_id;
};

struct client {
    struct list_node link;
    struct control *control;
    uv_pipe_t pipe;
    struct bytes line; /* what has come of the request */
    struct bytes reply;
    struct bytes next;             /* waits until reply is written */
    struct control_stream *stream; /* follows the reply, or is on its way */
    uv_write_t write;
    char buffer[4096];
    bool is_busy;    /* a command runs: it still points here */
    bool is_writing; /* reply and write are libuv's until written_cb() */
    bool is_closing; /* freed when closed and not busy */
    bool is_closed;
};

/* For a forwarded command that another node asked for. */
struct asked {
    struct node *node; /* outlives control and cluster, which may be NULL by then */
    uint64_t peer;
    uint64_t id;
};

/* --- to the leader and back --- */

void
command_wait_batch(struct command *command, uint64_t batch)
{
    struct node *n = command->node;
    command->batch = batch;
    command->lead_count = replica_lead_count(n->replica);
    list_push_back(&n->control->waiting, &command->link);
}

static void
forward(struct control *c, struct command *command, uint64_t leader)
{
    struct bytes body = {0};
    command->id = ++c->next_id;
    bytes_put_u64(&body, command->id);
    command_write(command, &body);
    cluster_send_user(c->node->cluster, leader, CONTROL_REQUEST,
                      slice_of(body.data, body.size));
    bytes_fini(&body);
    list_push_back(&c->forwarded, &command->link);
}

static void
run(struct control *c, struct command *command)
{
    struct node *n = c->node;
    struct replica_status status;
    enum command_place place = command_place(command);
    replica_get_status(n->replica, &status);
    if (place == COMMAND_HERE || status.is_serving)
        command_run(command);
    else if (status.log.leader != 0 && status.log.leader != n->config->node_id)
        forward(c, command, status.log.leader);
    else if (place == COMMAND_AT_LEADER_IF_ANY)
        command_run(command);
    else
        command_fail(command, EXIT_NO_LEADER,
                     "there is no leader now: a majority of nodes must be up");
}

void
control_ask_leader(struct node *n,
                   const char *line,
                   void (*done_cb)(void *ctx, struct command *command),
                   void *done_ctx)
{
    struct command *command = command_new(n);
    command->done_cb = done_cb;
    command->done_ctx = done_ctx;
    if (command_read(command, slice_from_text(line)) != ST_OK)
        command_fail(command, EXIT_USAGE, "the request cannot be read");
    else
        run(n->control, command);
}

static void
asked_done_cb(void *ctx, struct command *command)
{
    struct asked *asked = ctx;
    struct bytes body = {0};
    if (asked->node->cluster == NULL) { /* stopping: its caller's deadline answers */
        mem_free(asked);
        return;
    }
    bytes_put_u64(&body, asked->id);
    bytes_put_u8(&body, (uint8_t)command->exit);
    bytes_put_block(&body, slice_of(command->json.data, command->json.size));
    bytes_put_block(&body, slice_of(command->text.data, command->text.size));
    cluster_send_user(asked->node->cluster, asked->peer, CONTROL_REPLY,
                      slice_of(body.data, body.size));
    bytes_fini(&body);
    mem_free(asked);
}

static enum status
take_reply(struct control *c, struct slice body)
{
    struct reader r = reader_of(body);
    uint64_t id = read_u64(&r);
    uint8_t exit = read_u8(&r);
    struct slice json = read_block(&r, LIMIT_CONTROL_LINE_BYTES);
    struct slice text = read_block(&r, LIMIT_CONTROL_LINE_BYTES);
    if (!reader_done(&r))
        return ST_INVALID;
    LIST_FOREACH (node, &c->forwarded) {
        struct command *command = CONTAINER_OF(node, struct command, link);
        if (command->id != id)
            continue;
        command->exit = (enum control_exit)exit;
        bytes_put_slice(&command->json, json);
        bytes_put_slice(&command->text, text);
        command_done(command);
        break;
    }
    return ST_OK; /* one that came after its deadline is no offence */
}

enum status
control_frame(struct control *c, uint64_t peer, uint8_t kind, struct slice body)
{
    if (c == NULL)
        return ST_OK; /* not yet open */
    if (kind == CONTROL_REPLY)
        return take_reply(c, body);
    if (kind != CONTROL_REQUEST || body.size < 8)
        return ST_INVALID;
    struct command *command = command_new(c->node);
    struct asked *asked = mem_calloc(1, sizeof *asked);
    *asked = (struct asked){.node = c->node, .peer = peer, .id = get_u64(body.data)};
    command->done_cb = asked_done_cb;
    command->done_ctx = asked;
    struct replica_status status;
    replica_get_status(c->node->replica, &status);
    if (command_read(command, slice_of(body.data + 8, body.size - 8)) != ST_OK)
        command_fail(command, EXIT_USAGE, "the request cannot be read");
    else if (!status.is_serving) /* never passed on twice */
        command_fail(command, EXIT_NO_LEADER, "the leader has just changed: try again");
    else
        command_run(command);
    return ST_OK;
}

/* --- clients of the socket --- */

static void
client_free_when_done(struct client *client)
{
    if (!client->is_closed || client->is_busy)
        return;
    bytes_fini(&client->line);
    bytes_fini(&client->reply);
    bytes_fini(&client->next);
    mem_free(client);
}

static void
client_closed_cb(uv_handle_t *handle)
{
    struct client *client = handle->data;
    client->is_closed = true;
    client_free_when_done(client);
}

static void
client_close(struct client *client)
{
    if (client->is_closing)
        return;
    client->is_closing = true;
    list_remove(&client->link);
    client->control->client_count--;
    control_stream_free(client->stream);
    client->stream = NULL;
    uv_close((uv_handle_t *)&client->pipe, client_closed_cb);
}

static void try_next(struct client *client);
static void written_cb(uv_write_t *write, int status);

/* Writes line, which it takes, as soon as it can. */
static void
client_write(struct client *client, struct bytes *line)
{
    bytes_put_u8(line, '\n');
    if (client->is_writing) {
        bytes_put(&client->next, line->data, line->size);
        bytes_fini(line);
        return;
    }
    bytes_fini(&client->reply);
    client->reply = *line;
    *line = (struct bytes){0};
    uv_buf_t buf =
        uv_buf_init((char *)client->reply.data, (unsigned)client->reply.size);
    client->write.data = client;
    client->is_writing = true;
    if (uv_write(&client->write, (uv_stream_t *)&client->pipe, &buf, 1, written_cb) !=
        0)
        client_close(client);
}

/* The stream has ended: a last line says that it was whole, or the end comes now. */
static void
streamed_cb(void *ctx, enum status st)
{
    struct client *client = ctx;
    struct bytes line = {0};
    client->stream = NULL;
    if (st != ST_OK) {
        client_close(client);
        return;
    }
    bytes_put_text(&line, "{\"exit\":0,\"json\":{\"whole\":true},\"text\":\"\"}");
    client_write(client, &line);
}

static void
written_cb(uv_write_t *write, int status)
{
    struct client *client = write->data;
    client->is_writing = false;
    if (status != 0) {
        client_close(client);
    } else if (client->next.size > 0) {
        struct bytes next = client->next;
        client->next = (struct bytes){0};
        next.size--; /* its end is put again */
        client_write(client, &next);
    } else if (client->stream != NULL && !client->is_busy) {
        control_stream_start(client->stream, (uv_stream_t *)&client->pipe, streamed_cb,
                             client);
    } else {
        try_next(client);
    }
}

/* How far a long command has come. */
static void
client_progress_cb(void *ctx, struct slice json)
{
    struct client *client = ctx;
    struct bytes line = {0};
    struct json_writer w;
    if (client->is_closing || client->is_writing)
        return; /* a client that does not read needs none */
    json_write_begin(&w, &line);
    json_object_begin(&w, NULL);
    json_put_raw(&w, "progress", json);
    json_object_end(&w);
    client_write(client, &line);
}

static void
client_done_cb(void *ctx, struct command *command)
{
    struct client *client = ctx;
    struct bytes line = {0};
    struct json_writer w;
    client->is_busy = false;
    if (client->is_closing) {
        client_free_when_done(client);
        return;
    }
    json_write_begin(&w, &line);
    json_object_begin(&w, NULL);
    json_put_u64(&w, "exit", command->exit);
    json_put_raw(&w, "json",
                 command->json.size == 0
                     ? slice_from_text("{}")
                     : slice_of(command->json.data, command->json.size));
    json_put_text(&w, "text", slice_of(command->text.data, command->text.size));
    if (command->stream != NULL)
        json_put_u64(&w, "stream", control_stream_bytes(command->stream));
    json_object_end(&w);
    client->stream = command->stream;
    command->stream = NULL;
    client_write(client, &line);
}

static void
run_line(struct client *client, struct slice line)
{
    struct command *command = command_new(client->control->node);
    command->done_cb = client_done_cb;
    command->progress_cb = client_progress_cb;
    command->done_ctx = client;
    client->is_busy = true;
    if (command_read(command, line) != ST_OK)
        command_fail(command, EXIT_USAGE,
                     "a line {\"argv\":[\"noun\",\"verb\"]} is wanted");
    else
        run(client->control, command);
}

/* The next whole line, once the reply to the one before is written. */
static void
try_next(struct client *client)
{
    struct bytes *line = &client->line;
    if (client->is_closing || client->is_busy || client->is_writing ||
        client->stream != NULL || line->size == 0)
        return;
    uint8_t *end = memchr(line->data, '\n', line->size);
    if (end == NULL)
        return;
    size_t size = (size_t)(end - line->data);
    struct bytes rest = {0};
    bytes_put(&rest, end + 1, line->size - size - 1);
    struct bytes mine = *line;
    *line = rest;
    run_line(client, slice_of(mine.data, size));
    bytes_fini(&mine);
}

static void
alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct client *client = handle->data;
    (void)suggested;
    *buf = uv_buf_init(client->buffer, sizeof client->buffer);
}

static void
read_cb(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    struct client *client = stream->data;
    if (size < 0) {
        client_close(client);
        return;
    }
    bytes_put(&client->line, buf->base, (size_t)size);
    if (client->line.size > LIMIT_CONTROL_LINE_BYTES)
        client_close(client);
    else
        try_next(client);
}

static void
accept_cb(uv_stream_t *listener, int status)
{
    struct control *c = listener->data;
    if (status != 0)
        return;
    struct client *client = mem_calloc(1, sizeof *client);
    client->control = c;
    (void)uv_pipe_init(&c->node->loop, &client->pipe, 0);
    client->pipe.data = client;
    list_push_back(&c->clients, &client->link);
    c->client_count++;
    if (uv_accept(listener, (uv_stream_t *)&client->pipe) != 0 ||
        c->client_count > LIMIT_CONTROL_CLIENTS ||
        uv_read_start((uv_stream_t *)&client->pipe, alloc_cb, read_cb) != 0)
        client_close(client);
}

/* --- life --- */

enum status
control_open(struct node *n, struct control **ret_control)
{
    struct control *c = mem_calloc(1, sizeof *c);
    const char *path = n->config->control_socket;
    c->node = n;
    list_init(&c->clients);
    list_init(&c->waiting);
    list_init(&c->forwarded);
    (void)uv_pipe_init(&n->loop, &c->listener, 0);
    c->listener.data = c;
    (void)unlink(path); /* the data directory's lock says that nobody else has it */
    mode_t old = umask(0117);
    int error = uv_pipe_bind(&c->listener, path);
    umask(old);
    if (error == 0)
        error = uv_listen((uv_stream_t *)&c->listener, 16, accept_cb);
    if (error != 0) {
        log_event(LOG_ERROR, "control.refused", "socket=%s what=%s", log_quote(path),
                  log_quote(uv_strerror(error)));
        uv_close((uv_handle_t *)&c->listener, NULL);
        (void)uv_run(&n->loop, UV_RUN_NOWAIT);
        mem_free(c);
        return ST_IO;
    }
    *ret_control = c;
    return ST_OK;
}

static void
fail_all(struct list *commands)
{
    struct list_node *node;
    while ((node = list_first(commands)) != NULL)
        command_fail(CONTAINER_OF(node, struct command, link), EXIT_FAILED,
                     "the node is stopping");
}

static void
listener_closed_cb(uv_handle_t *handle)
{
    mem_free(handle->data);
}

void
control_close(struct control *c)
{
    backup_stop(c->node);
    fail_all(&c->waiting);
    fail_all(&c->forwarded);
    LIST_FOREACH_SAFE (node, &c->clients) {
        client_close(CONTAINER_OF(node, struct client, link));
    }
    (void)unlink(c->node->config->control_socket);
    c->node->control = NULL;
    uv_close((uv_handle_t *)&c->listener, listener_closed_cb);
}

/* Answers, or goes on with the next step. */
static void
batch_is_there(struct command *command)
{
    if (command->then_cb == NULL) {
        command_done(command);
        return;
    }
    list_remove(&command->link);
    command->then_cb(command);
}

void
control_turn(struct control *c, uint64_t now_ms)
{
    struct list *lists[2] = {&c->waiting, &c->forwarded};
    LIST_FOREACH_SAFE (node, &c->clients) {
        struct client *client = CONTAINER_OF(node, struct client, link);
        if (client->stream != NULL && control_stream_is_stuck(client->stream, now_ms))
            client_close(client);
    }
    backup_turn(c->node, now_ms);
    for (size_t i = 0; i < 2; i++) {
        LIST_FOREACH_SAFE (node, lists[i]) {
            struct command *command = CONTAINER_OF(node, struct command, link);
            enum status st = ST_AGAIN;
            if (i == 0)
                st = replica_batch_status(c->node->replica, command->lead_count,
                                          command->batch);
            if (st == ST_OK)
                batch_is_there(command);
            else if (st == ST_CLOSED)
                command_fail(
                    command, EXIT_NO_LEADER,
                    "leadership was lost meanwhile: whether it happened is not "
                    "known; look and try again");
            else if (now_ms >= command->deadline_ms)
                command_fail(command, EXIT_NO_LEADER,
                             "no answer from a majority within %d s",
                             CONTROL_DEADLINE_MS / 1000);
        }
    }
}
