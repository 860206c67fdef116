/* Control: the socket that holdfastctl talks to.
 *
 * A line of JSON in, {"argv":["queue","list"]}, a line out,
 * {"exit":0,"json":{...},"text":"..."}. Of a command that takes long, lines
 * {"progress":{...}} may come before. Where the answer says "stream":BYTES, so many
 * bytes follow it, and then a last line like an answer, with {"whole":true}: without
 * it, the stream was not whole (control_stream.h). Commands that only the leader can do
 * are passed to it over the cluster link (frames CONTROL_REQUEST and CONTROL_REPLY) and
 * answered by a deadline. Core thread only. */
#ifndef HF_SERVER_CONTROL_H
#define HF_SERVER_CONTROL_H

#include "server/exit.h"
#include "server/node.h"

struct control_stream;

#define CONTROL_REQUEST (CLUSTER_FRAME_USER + 0)
#define CONTROL_REPLY   (CLUSTER_FRAME_USER + 1)

#define CONTROL_DEADLINE_MS 10000
#define CONTROL_ARGS_MAX    64

/* A command on its way. Who runs it fills json (an object) and text, sets exit, and
 * calls command_done() once. */
struct command {
    struct list_node link; /* commands that wait for a batch */
    struct node *node;
    size_t argc;
    char *argv[CONTROL_ARGS_MAX]; /* owned */
    struct bytes json;
    struct bytes text;
    enum control_exit exit;
    uint64_t deadline_ms;
    uint64_t id;         /* of a forwarded one */
    uint64_t lead_count; /* waits for this batch of this leadership */
    uint64_t batch;
    void (*then_cb)(struct command *command); /* when it is committed; NULL: done */
    void *job;                     /* of who runs it; freed with the command */
    struct control_stream *stream; /* what follows the answer; owned; NULL: nothing */
    void (*done_cb)(void *ctx, struct command *command);
    void (*progress_cb)(void *ctx, struct slice json); /* or NULL */
    void *done_ctx;
};

enum status control_open(struct node *n, struct control **ret_control) MUST_USE;
void control_close(struct control *c); /* the loop must run once more */
/* Commands that wait for a batch or a deadline; once a turn. */
void control_turn(struct control *c, uint64_t now_ms);
/* A frame of another node's control. */
enum status control_frame(struct control *c,
                          uint64_t peer,
                          uint8_t kind,
                          struct slice body) MUST_USE;

/* For src/server/commands*.c */
void command_done(struct command *command);
void
command_fail(struct command *command, enum control_exit exit, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Asks the leader, this node or another: done_cb gets what it answered, by the
 * deadline. line: {"argv":[...]}. */
void control_ask_leader(struct node *n,
                        const char *line,
                        void (*done_cb)(void *ctx, struct command *command),
                        void *done_ctx);
/* Answers when the batch is committed, or says that leadership was lost. */
void command_wait_batch(struct command *command, uint64_t batch);

/* commands_backup.c: once a turn; and at the end. */
void backup_turn(struct node *n, uint64_t now_ms);
void backup_stop(struct node *n);

/* Runs a command on this node (commands.c). */
void command_run(struct command *command);

#endif
