/* top: queues and nodes, asked for again and again. On a terminal a live view that q
 * ends; else a picture behind the other. With --json a document a look. */
#include "base/mem.h"
#include "ctl/answer.h"
#include "ctl/commands.h"
#include "ctl/control_client.h"
#include "ctl/terminal.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define QUEUES_MAX  512 /* whose rates are known */
#define NAME_BYTES  64
#define KEY_QUIT    'q'
#define HOME_CLEAR  "\033[H"
#define CLEAR_BELOW "\033[J"
#define CLEAR_LINE  "\033[K"
#define OTHER_ON    "\033[?1049h\033[?25l"
#define OTHER_OFF   "\033[?25h\033[?1049l"

/* What a queue's totals were at the last look. */
struct past {
    char name[NAME_BYTES];
    uint64_t received;
    uint64_t acked;
};

struct top {
    const struct options *o;
    struct past *past;
    size_t past_count;
    struct past *next; /* being filled */
    size_t next_count;
    uint64_t past_ms; /* when; 0: there was none */
    uint64_t now_ms;
    bool is_view; /* on a terminal, in its other screen */
    struct control_answer status;
    struct control_answer members;
    struct control_answer queues;
};

static bool
parse(const struct control_answer *a, struct json_object *o)
{
    return a->exit == CTL_DONE &&
           json_parse(o, slice_of(a->json.data, a->json.size)) == JSON_IS_OBJECT;
}

static void
forget(struct top *t)
{
    control_answer_fini(&t->status);
    control_answer_fini(&t->members);
    control_answer_fini(&t->queues);
    t->status = t->members = t->queues = (struct control_answer){.exit = CTL_FAILED};
}

/* The node itself must answer; the rest may have no leader to answer it. */
static enum ctl_exit
look(struct top *t)
{
    static const char *const status[] = {"cluster", "status"};
    static const char *const members[] = {"cluster", "members"};
    static const char *const queues[] = {"queue", "list"};
    struct options plain = *t->o; /* --count is ours, not the node's */
    plain.given = 0;
    forget(t);
    enum ctl_exit code = control_ask(&plain, 2, status, &t->status);
    if (code == CTL_DONE)
        code = control_ask(&plain, 2, members, &t->members);
    if (code == CTL_DONE)
        code = control_ask(&plain, 2, queues, &t->queues);
    t->now_ms = ctl_now_ms();
    return code;
}

/* --- rates --- */

/* What grew since the last look, a second; no number: not known. */
static bool
rate(const struct top *t, uint64_t before, uint64_t now, uint64_t *ret_rate)
{
    uint64_t ms = t->now_ms - t->past_ms;
    if (t->past_ms == 0 || ms == 0 || now < before)
        return false;
    *ret_rate = ((now - before) * 1000 + ms / 2) / ms;
    return true;
}

struct rates {
    bool is_known;
    uint64_t in;
    uint64_t out;
};

static struct rates
rates_of(struct top *t, const struct json_object *q)
{
    struct slice name = answer_text(q, "queue");
    uint64_t received = answer_u64(q, "received_total");
    uint64_t acked = answer_u64(q, "acked_total");
    struct rates r = {.is_known = false};
    if (name.size >= NAME_BYTES)
        return r;
    for (size_t i = 0; i < t->past_count; i++)
        if (slice_equal(name, slice_from_text(t->past[i].name)))
            r.is_known = rate(t, t->past[i].received, received, &r.in) &&
                         rate(t, t->past[i].acked, acked, &r.out);
    if (t->next_count < QUEUES_MAX) {
        struct past *p = &t->next[t->next_count++];
        *p = (struct past){.received = received, .acked = acked};
        if (name.size > 0)
            memcpy(p->name, name.data, name.size);
    }
    return r;
}

static void
turn_past(struct top *t)
{
    struct past *old = t->past;
    t->past = t->next;
    t->past_count = t->next_count;
    t->past_ms = t->now_ms;
    t->next = old;
    t->next_count = 0;
}

/* --- the picture --- */

static void
put_rate(struct grid *g, bool is_known, uint64_t value)
{
    if (is_known)
        grid_put_u64(g, value);
    else
        grid_put_text(g, "-");
}

static void
put_queues(struct top *t, size_t width, struct bytes *out)
{
    static const char *const heads[] = {"queue", "messages", "held",   "dead",
                                        "in/s",  "acked/s",  "clients"};
    struct json_object whole, q;
    struct grid g;
    struct slice element;
    json_object_init(&whole);
    json_object_init(&q);
    grid_init(&g, 7, 0x7e);
    for (size_t i = 0; i < 7; i++)
        grid_put_text(&g, heads[i]);
    bool is_there = parse(&t->queues, &whole);
    struct slice rest = answer_array(&whole, "queues");
    while (is_there && answer_next(&rest, &element)) { /* bound: the array */
        if (json_parse(&q, element) != JSON_IS_OBJECT)
            continue;
        struct rates r = rates_of(t, &q);
        grid_put(&g, answer_text(&q, "queue"));
        grid_put_u64(&g, answer_u64(&q, "messages"));
        grid_put_u64(&g, answer_u64(&q, "unacknowledged"));
        grid_put_u64(&g, answer_u64(&q, "dead_letter"));
        put_rate(&g, r.is_known, r.in);
        put_rate(&g, r.is_known, r.out);
        grid_put_u64(&g, answer_u64(&q, "publishers") + answer_u64(&q, "subscribers"));
    }
    if (is_there)
        grid_write(&g, width, out);
    else
        bytes_printf(out, "queues: %.*s", (int)t->queues.text.size,
                     (const char *)t->queues.text.data);
    grid_fini(&g);
    json_object_fini(&q);
    json_object_fini(&whole);
}

/* "full", "slow" or "good" of a node; empty: this node does not know. */
static const char *
disk_of(const struct json_object *status, uint64_t id)
{
    struct slice rest = answer_array(status, "peers");
    struct slice element;
    struct json_object peer;
    const char *word = "";
    bool is_leader = answer_u64(status, "leader") == answer_u64(status, "node");
    if (id == answer_u64(status, "node"))
        return answer_bool(status, "disk_full")   ? "full"
               : answer_bool(status, "disk_slow") ? "slow"
                                                  : "good";
    json_object_init(&peer);
    while (is_leader && answer_next(&rest, &element)) /* bound: the array */
        if (json_parse(&peer, element) == JSON_IS_OBJECT &&
            answer_u64(&peer, "id") == id)
            word = answer_bool(&peer, "disk_full")   ? "full"
                   : answer_bool(&peer, "disk_slow") ? "slow"
                                                     : "good";
    json_object_fini(&peer);
    return word;
}

static void
put_nodes(const struct top *t,
          const struct json_object *status,
          size_t width,
          struct bytes *out)
{
    static const char *const heads[] = {"node", "role", "up", "lag", "disk", "address"};
    struct json_object whole, m;
    struct grid g;
    struct slice element;
    json_object_init(&whole);
    json_object_init(&m);
    grid_init(&g, 6, 1u << 0 | 1u << 3);
    for (size_t i = 0; i < 6; i++)
        grid_put_text(&g, heads[i]);
    bool is_there = parse(&t->members, &whole);
    struct slice rest = answer_array(&whole, "members");
    while (is_there && answer_next(&rest, &element)) { /* bound: the array */
        if (json_parse(&m, element) != JSON_IS_OBJECT)
            continue;
        uint64_t id = answer_u64(&m, "id");
        grid_put_u64(&g, id);
        grid_put(&g, answer_text(&m, "role"));
        grid_put_text(&g, answer_bool(&m, "connected") ? "yes" : "no");
        put_rate(&g, json_find(&m, "lag") != NULL, answer_u64(&m, "lag"));
        grid_put_text(&g, disk_of(status, id));
        grid_put(&g, answer_text(&m, "address"));
    }
    if (is_there)
        grid_write(&g, width, out);
    else
        bytes_printf(out, "nodes: %.*s", (int)t->members.text.size,
                     (const char *)t->members.text.data);
    grid_fini(&g);
    json_object_fini(&m);
    json_object_fini(&whole);
}

static void
put_picture(struct top *t, size_t width, struct bytes *out)
{
    struct json_object status;
    struct slice role;
    json_object_init(&status);
    (void)parse(&t->status, &status);
    role = answer_text(&status, "role");
    bytes_printf(out, "node %llu (%.*s), leader %llu, term %llu, applied %llu",
                 (unsigned long long)answer_u64(&status, "node"), (int)role.size,
                 (const char *)role.data,
                 (unsigned long long)answer_u64(&status, "leader"),
                 (unsigned long long)answer_u64(&status, "term"),
                 (unsigned long long)answer_u64(&status, "applied_index"));
    if (t->is_view)
        bytes_put_text(out, "; q ends");
    bytes_put_text(out, "\n\n");
    put_nodes(t, &status, width, out);
    bytes_put_text(out, "\n\n");
    put_queues(t, width, out);
    bytes_put_u8(out, '\n');
    json_object_fini(&status);
}

/* The lines that fit, each cleared to its end, so that nothing flickers. */
static void
draw(const struct bytes *picture)
{
    struct winsize size = {0};
    size_t lines = 24;
    size_t at = 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0)
        lines = size.ws_row;
    (void)fputs(HOME_CLEAR, stdout);
    for (size_t i = 0; i + 1 < lines && at < picture->size; i++) {
        const uint8_t *end = memchr(picture->data + at, '\n', picture->size - at);
        size_t stop = end != NULL ? (size_t)(end - picture->data) : picture->size;
        (void)fwrite(picture->data + at, 1, stop - at, stdout);
        (void)fputs(CLEAR_LINE "\r\n", stdout);
        at = stop + 1;
    }
    (void)fputs(CLEAR_BELOW, stdout);
    (void)fflush(stdout);
}

static void
put_answer(struct json_writer *w, const char *key, const struct control_answer *a)
{
    if (a->json.size > 0)
        json_put_raw(w, key, slice_of(a->json.data, a->json.size));
}

static void
show(struct top *t)
{
    struct bytes out = {0};
    struct json_writer w;
    if (t->o->is_json) {
        json_write_begin(&w, &out);
        json_object_begin(&w, NULL);
        put_answer(&w, "status", &t->status);
        put_answer(&w, "members", &t->members);
        put_answer(&w, "queues", &t->queues);
        json_object_end(&w);
        ctl_answer_line(t->o, slice_of(out.data, out.size), slice_of(NULL, 0));
    } else {
        put_picture(t, t->is_view ? terminal_width(STDOUT_FILENO) : 0, &out);
        if (t->is_view)
            draw(&out);
        else
            ctl_answer_line(t->o, slice_of(NULL, 0), slice_of(out.data, out.size));
        turn_past(t);
    }
    bytes_fini(&out);
}

/* --- the terminal --- */

/* A signal that ends us is held back, so that the screen is put back first. */
static void
hold_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static bool
is_signalled(void)
{
    sigset_t set;
    (void)sigpending(&set);
    return sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGTERM) == 1 ||
           sigismember(&set, SIGHUP) == 1;
}

/* Waits until the next look is due; true: q, or a signal. */
static bool
wait_for_quit(const struct top *t, uint64_t due_ms)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    for (;;) { /* bound: due_ms */
        uint64_t now = ctl_now_ms();
        char key;
        if (is_signalled())
            return true;
        if (now >= due_ms)
            return false;
        uint64_t left = due_ms - now < 100 ? due_ms - now : 100;
        if (poll(&p, t->is_view ? 1 : 0, (int)left) <= 0)
            continue;
        ssize_t n = read(STDIN_FILENO, &key, 1);
        if (n <= 0 || key == KEY_QUIT || key == 'Q')
            return true;
    }
}

static enum ctl_exit
run(struct top *t)
{
    uint64_t every_ms = t->o->interval_secs * 1000;
    uint64_t count = t->o->count;
    enum ctl_exit code = CTL_DONE;
    for (uint64_t i = 0; count == 0 || i < count; i++) { /* bound: --count, or q */
        uint64_t begin_ms = ctl_now_ms();
        code = look(t);
        if (code != CTL_DONE)
            return code;
        if (t->status.exit != CTL_DONE)
            return control_print(t->o, &t->status);
        show(t);
        if (i + 1 != count && wait_for_quit(t, begin_ms + every_ms))
            return CTL_DONE;
    }
    return code;
}

enum ctl_exit
ctl_top(const struct options *o, int argc, char **argv)
{
    struct top t = {.o = o};
    struct termios old;
    (void)argc;
    (void)argv;
    t.past = mem_calloc(QUEUES_MAX, sizeof *t.past);
    t.next = mem_calloc(QUEUES_MAX, sizeof *t.next);
    t.is_view = !o->is_json && isatty(STDOUT_FILENO) != 0 &&
                isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &old) == 0;
    hold_signals();
    if (t.is_view) {
        struct termios raw = old;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
        (void)fputs(OTHER_ON, stdout);
    }
    enum ctl_exit code = run(&t);
    if (t.is_view) {
        (void)fputs(OTHER_OFF, stdout);
        (void)fflush(stdout);
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
        if (code != CTL_DONE) /* said on the screen that is gone */
            (void)fprintf(stderr, "holdfastctl: %s\n", o->state->error);
    }
    forget(&t);
    mem_free(t.past);
    mem_free(t.next);
    return code;
}
