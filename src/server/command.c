/* Command: one question to a node, from its words to its answer. */
#include "server/command.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "server/control_stream.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct command *
command_new(struct node *n)
{
    struct command *command = mem_calloc(1, sizeof *command);
    command->node = n;
    command->deadline_ms = node_now_ms() + CONTROL_DEADLINE_MS;
    return command;
}

static void
command_free(struct command *command)
{
    for (size_t i = 0; i < command->argc; i++)
        mem_free(command->argv[i]);
    bytes_fini(&command->json);
    bytes_fini(&command->text);
    control_stream_free(command->stream);
    mem_free(command->job);
    mem_free(command);
}

void
command_done(struct command *command)
{
    if (list_is_linked(&command->link))
        list_remove(&command->link);
    command->done_cb(command->done_ctx, command);
    command_free(command);
}

void
command_fail(struct command *command, enum control_exit exit, const char *format, ...)
{
    char text[512];
    struct json_writer w;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    command->exit = exit;
    bytes_clear(&command->json);
    bytes_clear(&command->text);
    json_write_begin(&w, &command->json);
    json_object_begin(&w, NULL);
    json_put_string(&w, "error", text);
    json_put_u64(&w, "exit", exit);
    json_object_end(&w);
    bytes_put_text(&command->text, text);
    command_done(command);
}

/* Reads the strings of a JSON array, already known to be well formed. */
static enum status
read_argv(struct command *command, struct slice array)
{
    const uint8_t *at = array.data;
    const uint8_t *end = at + array.size;
    while (at < end) { /* bound: the text */
        if (*at++ != '"')
            continue;
        const uint8_t *begin = at;
        while (at < end && *at != '"')
            at += *at == '\\' ? 2 : 1;
        struct bytes text = {0};
        if (at >= end || command->argc == CONTROL_ARGS_MAX ||
            json_unescape(slice_of(begin, (size_t)(at - begin)), &text) != ST_OK) {
            bytes_fini(&text);
            return ST_INVALID;
        }
        at++;
        bytes_put_u8(&text, 0);
        command->argv[command->argc++] = (char *)text.data; /* takes it */
    }
    return command->argc > 0 ? ST_OK : ST_INVALID;
}

enum status
command_read(struct command *command, struct slice line)
{
    struct json_object *o = mem_calloc(1, sizeof *o);
    enum status st = ST_INVALID;
    json_object_init(o);
    if (utf8_is_valid(line) && json_parse(o, line) == JSON_IS_OBJECT) {
        const struct json_member *m = json_find(o, "argv");
        if (m != NULL && m->type == JSON_ARRAY)
            st = read_argv(command, m->value);
    }
    json_object_fini(o);
    mem_free(o);
    return st;
}

void
command_write(const struct command *command, struct bytes *out)
{
    struct json_writer w;
    json_write_begin(&w, out);
    json_object_begin(&w, NULL);
    json_array_begin(&w, "argv");
    for (size_t i = 0; i < command->argc; i++)
        json_put_string(&w, NULL, command->argv[i]);
    json_array_end(&w);
    json_object_end(&w);
}
