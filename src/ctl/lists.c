/* Lists of a node: queues, members, sessions, logins: as tables that fit the terminal.
 */
#include "ctl/answer.h"
#include "ctl/commands.h"
#include "ctl/control_client.h"
#include "ctl/terminal.h"

#include <string.h>
#include <unistd.h>

enum cell {
    CELL_TEXT,
    CELL_NUMBER, /* "-": it is not there */
    CELL_YES,    /* a boolean */
    CELL_TIME,   /* milliseconds since 1970 */
};

struct column {
    const char *head;
    const char *key;
    enum cell kind;
};

#define COLUMNS_MAX 8

struct list {
    const char *words[2];
    const char *array; /* in the node's answer */
    struct column columns[COLUMNS_MAX];
    size_t count;
};

static const struct list QUEUES = {{"queue", "list"},
                                   "queues",
                                   {{"name", "queue", CELL_TEXT},
                                    {"tier", "tier", CELL_TEXT},
                                    {"messages", "messages", CELL_NUMBER},
                                    {"held", "unacknowledged", CELL_NUMBER},
                                    {"dead", "dead_letter", CELL_NUMBER},
                                    {"publishers", "publishers", CELL_NUMBER},
                                    {"subscribers", "subscribers", CELL_NUMBER},
                                    {"bytes", "memory_bytes", CELL_NUMBER}},
                                   8};
static const struct list MEMBERS = {{"cluster", "members"},
                                    "members",
                                    {{"node", "id", CELL_NUMBER},
                                     {"role", "role", CELL_TEXT},
                                     {"reached", "connected", CELL_YES},
                                     {"lag", "lag", CELL_NUMBER},
                                     {"address", "address", CELL_TEXT}},
                                    5};
static const struct list SESSIONS = {{"session", "list"},
                                     "sessions",
                                     {{"queue", "queue", CELL_TEXT},
                                      {"session", "session", CELL_NUMBER},
                                      {"state", "state", CELL_TEXT},
                                      {"since (UTC)", "since_ms", CELL_TIME},
                                      {"holds", "held", CELL_NUMBER},
                                      {"capacity", "capacity", CELL_NUMBER}},
                                     6};
static const struct list LOGINS = {{"login", "list"},
                                   "logins",
                                   {{"queue", "queue", CELL_TEXT},
                                    {"role", "role", CELL_TEXT},
                                    {"username", "username", CELL_TEXT},
                                    {"connections", "connections", CELL_NUMBER}},
                                   4};

static void
put_cell(struct grid *g, const struct json_object *row, const struct column *c)
{
    char time[TERMINAL_TIME_BYTES];
    uint64_t number = answer_u64(row, c->key);
    switch (c->kind) {
    case CELL_TEXT:
        grid_put(g, answer_text(row, c->key));
        break;
    case CELL_NUMBER:
        if (json_find(row, c->key) != NULL)
            grid_put_u64(g, number);
        else
            grid_put_text(g, "-");
        break;
    case CELL_YES:
        grid_put_text(g, answer_bool(row, c->key) ? "yes" : "NO");
        break;
    case CELL_TIME:
        terminal_time(number / 1000, time);
        grid_put_text(g, time);
        break;
    }
}

/* The node's own text when there are no rows. */
static void
make_table(const struct list *l, struct control_answer *a)
{
    struct json_object whole;
    struct json_object row;
    struct slice element;
    struct grid g;
    uint32_t right_mask = 0;
    json_object_init(&whole);
    json_object_init(&row);
    for (size_t i = 0; i < l->count; i++)
        right_mask |= l->columns[i].kind == CELL_NUMBER ? 1u << i : 0;
    grid_init(&g, l->count, right_mask);
    for (size_t i = 0; i < l->count; i++)
        grid_put_text(&g, l->columns[i].head);
    (void)json_parse(&whole, slice_of(a->json.data, a->json.size));
    struct slice rest = answer_array(&whole, l->array);
    while (answer_next(&rest, &element)) /* bound: the array */
        if (json_parse(&row, element) == JSON_IS_OBJECT)
            for (size_t i = 0; i < l->count; i++)
                put_cell(&g, &row, &l->columns[i]);
    if (g.cells > l->count) {
        bytes_clear(&a->text);
        grid_write(&g, terminal_width(STDOUT_FILENO), &a->text);
        struct slice note = answer_text(&whole, "note"); /* plain text */
        if (note.size > 0)
            bytes_printf(&a->text, "\n%.*s", (int)note.size, (const char *)note.data);
    }
    grid_fini(&g);
    json_object_fini(&row);
    json_object_fini(&whole);
}

static enum ctl_exit
run_list(const struct options *o, const struct list *l)
{
    struct control_answer answer;
    enum ctl_exit code = control_ask(o, 2, l->words, &answer);
    if (code != CTL_DONE)
        return code;
    if (!o->is_json && answer.exit == CTL_DONE)
        make_table(l, &answer);
    code = control_print(o, &answer);
    control_answer_fini(&answer);
    return code;
}

enum ctl_exit
ctl_queue_list(const struct options *o, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return run_list(o, &QUEUES);
}

enum ctl_exit
ctl_cluster_members(const struct options *o, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return run_list(o, &MEMBERS);
}

enum ctl_exit
ctl_session_list(const struct options *o, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return run_list(o, &SESSIONS);
}

enum ctl_exit
ctl_login_list(const struct options *o, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return run_list(o, &LOGINS);
}
