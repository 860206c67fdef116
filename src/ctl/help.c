/* Help: from the table. */
#include "base/json.h"
#include "ctl/commands.h"
#include "ctl/table.h"

#include <string.h>

#define COLUMN 36 /* where the second column begins */

/* "queue create NAME" of a row. */
static void
put_command(struct bytes *out, const struct ctl_command *c)
{
    bytes_put_text(out, c->noun);
    if (c->verb != NULL)
        bytes_printf(out, " %s", c->verb);
    if (c->arguments[0] != '\0')
        bytes_printf(out, " %s", c->arguments);
}

/* Blanks up to the second column, of what was begun at begin. */
static void
put_padding(struct bytes *out, size_t begin)
{
    size_t size = out->size - begin;
    if (size + 2 > COLUMN) {
        bytes_put_u8(out, '\n');
        size = 0;
    }
    while (size++ < COLUMN) /* bound: COLUMN */
        bytes_put_u8(out, ' ');
}

static void
put_row(struct bytes *out, const struct ctl_command *c)
{
    size_t begin = out->size;
    bytes_put_text(out, "  ");
    put_command(out, c);
    put_padding(out, begin);
    bytes_printf(out, "%s\n", c->help);
}

static void
put_option(struct bytes *out, const struct option_info *info, const char *help)
{
    size_t begin = out->size;
    bytes_printf(out, "  --%s", info->name);
    if (info->value != NULL)
        bytes_printf(out, " %s", info->value);
    put_padding(out, begin);
    bytes_printf(out, "%s\n", help != NULL ? help : info->help);
}

static void
put_options(struct bytes *out, const struct ctl_command *c)
{
    uint64_t set = table_options(c);
    for (int i = 0; i < OPTION_IDS; i++)
        if ((set & UINT64_C(1) << i) != 0)
            put_option(out, option_info((enum option_id)i),
                       i == OPTION_COUNT    ? c->count_help
                       : i == OPTION_FILTER ? c->filter_help
                                            : NULL);
}

static const char *
where(const struct ctl_command *c)
{
    static const char *const ways[8] = {
        [ON_MACHINE] = "On this machine.",
        [ON_SOCKET] = "Over the control socket of a node (--socket).",
        [ON_MACHINE | ON_SOCKET] = "On this machine and over the control socket of its "
                                   "node (--socket).",
        [ON_WSS] = "As a client of a queue (--url or --context).",
        [ON_SOCKET | ON_WSS] = "Over the control socket of a node (--socket), or as a "
                               "client of a queue\n(--url or --context).",
    };
    return ways[c->ways & 7] != NULL ? ways[c->ways & 7] : "";
}

static const char *
right(const struct ctl_command *c)
{
    switch (c->right) {
    case RIGHT_ANY:
        return "For whoever may read the files.";
    case RIGHT_NODE:
        return "For root and the group of the socket.";
    case RIGHT_LOGIN:
        return "With a login of the queue.";
    case RIGHT_ADMIN:
        return (c->ways & ON_SOCKET) != 0
                   ? "For root and the group of the socket, or with the "
                     "administrator's login."
                   : "With the administrator's login of the queue.";
    }
    return "";
}

static void
put_one(struct bytes *out, const struct ctl_command *c)
{
    bytes_put_text(out, "usage: holdfastctl ");
    put_command(out, c);
    bytes_printf(out, " [OPTION...]\n\n  %s\n\n%s\n%s\n\n", c->help, where(c),
                 right(c));
    put_options(out, c);
}

static void
put_noun(struct bytes *out, const struct ctl_noun *n)
{
    bytes_printf(out, "%s: %s\n\n", n->noun, n->help);
    for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++)
        if (strcmp(c->noun, n->noun) == 0)
            put_row(out, c);
    bytes_printf(out, "\nholdfastctl help %s VERB has the options.\n", n->noun);
}

static void
put_all(struct bytes *out)
{
    bytes_put_text(out, "usage: holdfastctl NOUN VERB [ARGUMENT...] [OPTION...]\n");
    for (const struct ctl_noun *n = table_nouns(); n->noun != NULL; n++) {
        bytes_printf(out, "\n%s: %s\n", n->noun, n->help);
        for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++)
            if (strcmp(c->noun, n->noun) == 0)
                put_row(out, c);
    }
    bytes_put_text(out, "\nEvery command takes --json and --help, which has its other "
                        "options.\n");
}

/* A row for programs. */
static void
put_row_json(struct json_writer *w, const struct ctl_command *c)
{
    uint64_t set = table_options(c);
    json_object_begin(w, NULL);
    json_put_string(w, "noun", c->noun);
    if (c->verb != NULL)
        json_put_string(w, "verb", c->verb);
    json_put_string(w, "arguments", c->arguments);
    json_put_string(w, "help", c->help);
    json_put_bool(w, "machine", (c->ways & ON_MACHINE) != 0);
    json_put_bool(w, "socket", (c->ways & ON_SOCKET) != 0);
    json_put_bool(w, "wss", (c->ways & ON_WSS) != 0);
    json_put_bool(w, "stream", c->is_stream);
    json_array_begin(w, "options");
    for (int i = 0; i < OPTION_IDS; i++)
        if ((set & UINT64_C(1) << i) != 0)
            json_put_string(w, NULL, option_info((enum option_id)i)->name);
    json_array_end(w);
    json_object_end(w);
}

/* The rows that were asked for: all, those of a noun, or one. */
static void
put_json(struct bytes *out,
         struct slice text,
         const struct ctl_command *one,
         const struct ctl_noun *n)
{
    struct json_writer w;
    json_write_begin(&w, out);
    json_object_begin(&w, NULL);
    json_put_text(&w, "help", text);
    json_array_begin(&w, "commands");
    for (const struct ctl_command *c = table_commands(); c->noun != NULL; c++)
        if (one != NULL ? c == one : n == NULL || strcmp(c->noun, n->noun) == 0)
            put_row_json(&w, c);
    json_array_end(&w);
    json_object_end(&w);
}

static const struct ctl_noun *
find_noun(const char *name)
{
    for (const struct ctl_noun *n = table_nouns(); n->noun != NULL; n++)
        if (strcmp(n->noun, name) == 0)
            return n;
    return NULL;
}

enum ctl_exit
ctl_help(const struct options *o, int argc, char **argv)
{
    struct bytes text = {0};
    struct bytes json = {0};
    int used = 0;
    const struct ctl_command *c = table_find(argc, argv, &used);
    const struct ctl_noun *n = argc > 0 ? find_noun(argv[0]) : NULL;
    bool is_alone = n != NULL && c != NULL && c->verb == NULL && c[1].noun != NULL &&
                    strcmp(c[1].noun, n->noun) == 0;
    if (argc > 0 && (n == NULL || (c == NULL && argc > 1)))
        return ctl_fail(o, CTL_USAGE,
                        "there is no command '%s%s%s': see holdfastctl help", argv[0],
                        argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
    if (argc == 0)
        put_all(&text);
    else if (c == NULL)
        put_noun(&text, n);
    else
        put_one(&text, c);
    if (is_alone && used == 1) { /* "backup" has verbs beside itself */
        bytes_put_u8(&text, '\n');
        put_noun(&text, n);
    }
    put_json(&json, slice_of(text.data, text.size), c, n);
    ctl_answer(o, slice_of(json.data, json.size), slice_of(text.data, text.size - 1));
    bytes_fini(&text);
    bytes_fini(&json);
    return CTL_DONE;
}
