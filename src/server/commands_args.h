/* Arguments: what stands behind noun and verb of a command that is about a queue. Words
 * and options in any order, as holdfastctl passes them on. For src/server/commands*.c
 * alone. */
#ifndef HF_SERVER_COMMANDS_ARGS_H
#define HF_SERVER_COMMANDS_ARGS_H

#include "base/json.h"
#include "server/commands.h"

enum command_option {
    COMMAND_QUEUE = 1,  /* --queue NAME */
    COMMAND_ALL = 2,    /* --all */
    COMMAND_COUNT = 4,  /* --count N */
    COMMAND_FILTER = 8, /* --filter NAME=VALUE[,NAME=VALUE]... */
    COMMAND_DRY = 16,   /* --dry-run */
    COMMAND_CLOSE = 32, /* --close */
};

struct command_args {
    const char *word; /* the only word, or NULL */
    const char *queue;
    const char *filter;
    uint32_t count; /* 0: not given */
    bool is_all;
    bool is_dry;
    bool is_close;
};

/* options: of enum command_option, those that the command has. Pointers are into argv.
 * False: the command has failed (EXIT_USAGE) and is gone. */
bool command_read_args(struct command *command,
                       unsigned options,
                       struct command_args *ret_args) MUST_USE;
/* The queue that is named, or the only one there is. NULL: the command has failed and
 * is gone. */
const struct queue *command_find_queue(struct command *command,
                                       const struct command_args *args) MUST_USE;
/* Answers with a list named so: what put_cb adds to it for each queue, or for the one
 * of --queue. */
typedef void
command_put_cb(struct command *command, struct json_writer *w, const struct queue *q);
void command_list(struct command *command, const char *name, command_put_cb *put_cb);
/* Fails for a status that the broker gave. */
void
command_fail_status(struct command *command, enum status st, const char *not_found);

/* False: it is no UUID. */
bool command_read_id(const char *text, struct uuid *ret_id);
/* The digits of a number that is not 0. */
bool command_read_number(const char *text, uint64_t *ret_number);
/* Milliseconds since 1970 as "2026-11-30T12:00:00.123Z". */
#define COMMAND_TIME_BYTES 32
void command_time(uint64_t ms, char ret_text[COMMAND_TIME_BYTES]);

#endif
