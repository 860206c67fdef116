/* queue list: as a table that fits the terminal. */
#include "ctl/answer.h"
#include "ctl/commands.h"
#include "ctl/control_client.h"
#include "ctl/terminal.h"

#include <unistd.h>

static void
put_rows(struct json_object *whole, struct grid *g)
{
    struct slice rest = answer_array(whole, "queues");
    struct slice element;
    struct json_object q;
    json_object_init(&q);
    while (answer_next(&rest, &element)) { /* bound: the array */
        if (json_parse(&q, element) != JSON_IS_OBJECT)
            continue;
        grid_put(g, answer_text(&q, "queue"));
        grid_put(g, answer_text(&q, "tier"));
        grid_put_u64(g, answer_u64(&q, "messages"));
        grid_put_u64(g, answer_u64(&q, "unacknowledged"));
        grid_put_u64(g, answer_u64(&q, "dead_letter"));
        grid_put_u64(g, answer_u64(&q, "publishers"));
        grid_put_u64(g, answer_u64(&q, "subscribers"));
        grid_put_u64(g, answer_u64(&q, "memory_bytes"));
    }
    json_object_fini(&q);
}

enum ctl_exit
ctl_queue_list(const struct options *o, int argc, char **argv)
{
    static const char *const words[] = {"queue", "list"};
    static const char *const heads[] = {"name", "tier",       "messages",    "held",
                                        "dead", "publishers", "subscribers", "bytes"};
    struct control_answer answer;
    struct json_object whole;
    struct grid g;
    (void)argc;
    (void)argv;
    enum ctl_exit code = control_ask(o, 2, words, &answer);
    if (code != CTL_DONE)
        return code;
    grid_init(&g, 8, 0xfc);
    json_object_init(&whole);
    if (!o->is_json && answer.exit == CTL_DONE &&
        json_parse(&whole, slice_of(answer.json.data, answer.json.size)) ==
            JSON_IS_OBJECT) {
        for (size_t i = 0; i < 8; i++)
            grid_put_text(&g, heads[i]);
        put_rows(&whole, &g);
        bytes_clear(&answer.text);
        if (g.cells > 8)
            grid_write(&g, terminal_width(STDOUT_FILENO), &answer.text);
    }
    code = control_print(o, &answer);
    json_object_fini(&whole);
    grid_fini(&g);
    control_answer_fini(&answer);
    return code;
}
