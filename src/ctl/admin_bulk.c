/* Admin: redrive, purge and history over wss: what the node does in one command over
 * its control socket is asked for here in steps, each of one reply. */
#include "base/limits.h"
#include "base/text.h"
#include "ctl/admin.h"
#include "ctl/answer.h"
#include "ctl/control_client.h"
#include "ctl/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Of many messages, from --all, --count, --filter and --dry-run. */
struct bulk {
    const struct options *o;
    const char *cmd;     /* "redrive", "purge" */
    const char *place;   /* of a purge */
    const char *done;    /* "redriven", "purged" */
    struct bytes filter; /* members, each with a comma ahead */
    uint64_t left;       /* 0: all */
    uint64_t count;
    uint64_t records;
};

/* NAME=VALUE of a filter as a member of the request. */
static bool
put_filter(struct bulk *b, struct slice pair)
{
    const uint8_t *equals = memchr(pair.data, '=', pair.size);
    if (equals == NULL || equals + 1 == slice_end(pair) || !utf8_is_valid(pair))
        return false;
    struct slice name = slice_of(pair.data, (size_t)(equals - pair.data));
    struct slice value = slice_of(equals + 1, pair.size - name.size - 1);
    if (slice_equal(name, slice_from_text("older"))) {
        int64_t secs;
        if (json_plain_integer(value, &secs) != ST_OK)
            return false;
        bytes_printf(&b->filter, ",\"older\":%lld", (long long)secs);
        return true;
    }
    if (slice_equal(name, slice_from_text("key")))
        bytes_put_text(&b->filter, ",\"publisherkey\":\"");
    else if (slice_equal(name, slice_from_text("reason")))
        bytes_put_text(&b->filter, ",\"reason\":\"");
    else
        return false;
    json_escape(&b->filter, value);
    bytes_put_u8(&b->filter, '"');
    return true;
}

static enum ctl_exit
put_filters(struct bulk *b)
{
    const char *at = b->o->filter;
    if (b->o->is_dry_run)
        bytes_put_text(&b->filter, ",\"dryrun\":true");
    while (at != NULL) { /* bound: the filter */
        size_t size = strcspn(at, ",");
        if (!put_filter(b, slice_of(at, size)))
            return ctl_fail(b->o, CTL_USAGE,
                            "--filter takes key=PUBLISHERKEY, and of dead letters "
                            "reason=nack|moved|damaged and older=SECS");
        at = at[size] == ',' ? at + size + 1 : NULL;
    }
    return CTL_DONE;
}

/* One step, behind last unless that is empty. */
static enum ctl_exit
ask_step(struct bulk *b, struct admin *a, const char *last)
{
    struct bytes request = {0};
    uint64_t most =
        b->left != 0 && b->left < LIMIT_SWEEP_MESSAGES ? b->left : LIMIT_SWEEP_MESSAGES;
    bytes_printf(&request, "{\"cmd\":\"%s\",\"count\":%llu", b->cmd,
                 (unsigned long long)most);
    if (b->place != NULL)
        bytes_printf(&request, ",\"place\":\"%s\"", b->place);
    if (last[0] != '\0')
        bytes_printf(&request, ",\"after\":\"%s\"", last);
    bytes_put_slice(&request, slice_of(b->filter.data, b->filter.size));
    bytes_put_u8(&request, '}');
    enum ctl_exit code = admin_ask(a, slice_of(request.data, request.size));
    bytes_fini(&request);
    return code;
}

static void
answer(const struct bulk *b)
{
    struct bytes json = {0};
    struct bytes text = {0};
    struct json_writer w;
    json_write_begin(&w, &json);
    json_object_begin(&w, NULL);
    json_put_u64(&w, b->done, b->count);
    json_put_u64(&w, "records", b->records);
    json_put_bool(&w, "dry_run", b->o->is_dry_run);
    json_object_end(&w);
    bytes_printf(&text, "%s%s: %llu message%s", b->o->is_dry_run ? "would be " : "",
                 b->done, (unsigned long long)b->count, b->count == 1 ? "" : "s");
    ctl_answer(b->o, slice_of(json.data, json.size), slice_of(text.data, text.size));
    bytes_fini(&json);
    bytes_fini(&text);
}

static enum ctl_exit
run_steps(struct bulk *b, struct admin *a)
{
    char last[37] = "";
    struct progress progress;
    enum ctl_exit code = CTL_DONE;
    bool has_more = true;
    ctl_progress_begin(&progress, b->cmd, PROGRESS_COUNT);
    while (code == CTL_DONE && has_more) { /* bound: the messages of the queue */
        code = ask_step(b, a, last);
        if (code != CTL_DONE)
            break;
        uint64_t count = answer_u64(&a->fields, "count");
        struct slice seen = answer_text(&a->fields, "last");
        has_more = answer_bool(&a->fields, "more") && seen.size == sizeof last - 1;
        if (has_more) {
            memcpy(last, seen.data, seen.size);
            last[seen.size] = '\0';
        }
        b->count += count;
        b->records += count > 0;
        if (b->left != 0) {
            has_more = has_more && count < b->left;
            b->left -= count < b->left ? count : b->left;
        }
        ctl_progress_update(&progress, b->count, b->o->count);
    }
    ctl_progress_end(&progress);
    return code;
}

static enum ctl_exit
count_bulk(struct bulk *b)
{
    struct admin a;
    b->left = b->o->count;
    enum ctl_exit code = put_filters(b);
    if (code == CTL_DONE) {
        code = admin_begin(&a, b->o);
        if (code == CTL_DONE)
            code = run_steps(b, &a);
        admin_end(&a);
    }
    bytes_fini(&b->filter);
    return code;
}

static enum ctl_exit
run_bulk(struct bulk *b)
{
    enum ctl_exit code = count_bulk(b);
    if (code == CTL_DONE)
        answer(b);
    return code;
}

/* The queue is that of the login. */
static enum ctl_exit
refuse_queue(const struct options *o)
{
    if (o->queue == NULL)
        return CTL_DONE;
    return ctl_fail(o, CTL_USAGE, "--queue goes with --socket: a login has one queue");
}

/* With --dry-run it is looked at instead. */
static enum ctl_exit
redrive_one(struct bulk *b, const char *id)
{
    struct admin a;
    struct bytes request = {0};
    struct json_writer w;
    enum ctl_exit code = admin_check_id(b->o, id);
    if (code != CTL_DONE)
        return code;
    json_write_begin(&w, &request);
    json_object_begin(&w, NULL);
    json_put_string(&w, "cmd", b->o->is_dry_run ? "getdlqmsg" : "redrive");
    json_put_string(&w, "id", id);
    json_object_end(&w);
    code = admin_begin(&a, b->o);
    if (code == CTL_DONE)
        code = admin_ask(&a, slice_of(request.data, request.size));
    b->count = 1;
    b->records = b->o->is_dry_run ? 0 : 1;
    if (code == CTL_DONE)
        answer(b);
    admin_end(&a);
    bytes_fini(&request);
    return code;
}

enum ctl_exit
ctl_dlq_redrive(const struct options *o, int argc, char **argv)
{
    struct bulk b = {.o = o, .cmd = "redrive", .done = "redriven"};
    bool has_count = (o->given & OPT(COUNT)) != 0;
    enum ctl_exit code = refuse_queue(o);
    if (code != CTL_DONE)
        return code;
    if ((argc > 0) + o->is_all + has_count != 1 || (argc > 0 && o->filter != NULL))
        return ctl_fail(
            o, CTL_USAGE,
            "one of ID, --all and --count is wanted; --filter goes with the "
            "latter two");
    return argc == 0 ? run_bulk(&b) : redrive_one(&b, argv[0]);
}

enum ctl_exit
ctl_dlq_purge(const struct options *o, int argc, char **argv)
{
    struct bulk b = {.o = o, .cmd = "purge", .place = "dlq", .done = "purged"};
    (void)argc;
    (void)argv;
    enum ctl_exit code = refuse_queue(o);
    return code == CTL_DONE ? run_bulk(&b) : code;
}

enum ctl_exit
ctl_msg_purge(const struct options *o, int argc, char **argv)
{
    struct bulk b = {.o = o, .cmd = "purge", .done = "purged"};
    (void)argc;
    (void)argv;
    b.place = o->is_all ? "all" : "waiting";
    enum ctl_exit code = refuse_queue(o);
    return code == CTL_DONE ? run_bulk(&b) : code;
}

/* --- the question ahead of a purge --- */

/* How many a purge would be, of the queue that is named. */
static enum ctl_exit
count_here(const struct options *o,
           const char *noun,
           uint64_t *ret_count,
           struct bytes *name)
{
    const char *words[] = {noun, "purge"};
    struct control_answer a;
    struct json_object parsed;
    enum ctl_exit code = control_ask(o, 2, words, &a);
    if (code != CTL_DONE)
        return code;
    json_object_init(&parsed);
    if (a.exit != CTL_DONE) {
        code = control_print(o, &a);
    } else if (json_parse(&parsed, slice_of(a.json.data, a.json.size)) ==
               JSON_IS_OBJECT) {
        *ret_count = answer_u64(&parsed, "purged");
        bytes_put_text(name, "the queue ");
        bytes_put_slice(name, answer_text(&parsed, "queue"));
    }
    json_object_fini(&parsed);
    control_answer_fini(&a);
    return code;
}

static enum ctl_exit
count_there(const struct options *o,
            const char *place,
            uint64_t *ret_count,
            struct bytes *name)
{
    struct bulk b = {.o = o, .cmd = "purge", .place = place};
    enum ctl_exit code = refuse_queue(o);
    if (code == CTL_DONE)
        code = count_bulk(&b);
    *ret_count = b.count;
    if (o->context != NULL)
        bytes_printf(name, "the queue of the context %s", o->context);
    else
        bytes_printf(name, "the queue at %s", o->host != NULL ? o->host : o->url);
    return code;
}

static enum ctl_exit
ask_purge(const struct options *o,
          bool is_wss,
          const char *noun,
          const char *place,
          const char *what,
          struct bytes *ret_question)
{
    struct options dry = *o;
    struct bytes name = {0};
    uint64_t count = 0;
    dry.is_dry_run = true;
    dry.given |= OPT(DRY_RUN);
    enum ctl_exit code = is_wss ? count_there(&dry, place, &count, &name)
                                : count_here(&dry, noun, &count, &name);
    if (code == CTL_DONE)
        bytes_printf(ret_question, "Delete %llu %s%s of %.*s?",
                     (unsigned long long)count, what, count == 1 ? "" : "s",
                     (int)name.size, (const char *)name.data);
    bytes_fini(&name);
    return code;
}

enum ctl_exit
ctl_msg_purge_question(const struct options *o, bool is_wss, struct bytes *ret_question)
{
    return ask_purge(o, is_wss, "msg", o->is_all ? "all" : "waiting",
                     o->is_all ? "waiting or held message" : "waiting message",
                     ret_question);
}

enum ctl_exit
ctl_dlq_purge_question(const struct options *o, bool is_wss, struct bytes *ret_question)
{
    return ask_purge(o, is_wss, "dlq", "dlq", "dead letter", ret_question);
}

/* --- history --- */

/* The next of a line's cells; *rest is moved behind it. */
static struct slice
next_cell(struct slice *rest)
{
    const uint8_t *comma = rest->size > 0 ? memchr(rest->data, ',', rest->size) : NULL;
    struct slice cell =
        comma != NULL ? slice_of(rest->data, (size_t)(comma - rest->data)) : *rest;
    size_t used = cell.size + (comma != NULL);
    *rest = slice_of(used > 0 ? rest->data + used : rest->data, rest->size - used);
    return cell;
}

static void
put_time(struct slice ms_text, struct bytes *out)
{
    int64_t ms = 0;
    struct tm t;
    char text[32] = "-";
    if (json_plain_integer(ms_text, &ms) == ST_OK) {
        time_t secs = (time_t)(ms / 1000);
        if (gmtime_r(&secs, &t) != NULL)
            (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
        size_t size = strlen(text);
        (void)snprintf(text + size, sizeof text - size, ".%03dZ", (int)(ms % 1000));
    }
    bytes_printf(out, "\n%-24s  ", text);
}

/* time, event, reason, session: those that are not known are empty. */
static void
put_event(struct slice line, struct json_writer *w, struct bytes *text)
{
    struct slice at = next_cell(&line);
    struct slice event = next_cell(&line);
    struct slice reason = next_cell(&line);
    struct slice session = next_cell(&line);
    json_object_begin(w, NULL);
    if (at.size > 0)
        json_put_raw(w, "at_ms", at);
    json_put_text(w, "event", event);
    if (reason.size > 0)
        json_put_text(w, "reason", reason);
    if (session.size > 0)
        json_put_raw(w, "session", session);
    json_object_end(w);
    put_time(at, text);
    bytes_put_slice(text, event);
    if (reason.size > 0)
        bytes_printf(text, " (%.*s)", (int)reason.size, (const char *)reason.data);
    if (session.size > 0)
        bytes_printf(text, ", session %.*s", (int)session.size,
                     (const char *)session.data);
}

static void
print_history(const struct admin *a)
{
    struct slice id = answer_text(&a->fields, "id");
    struct slice place = answer_text(&a->fields, "place");
    struct bytes csv = {0};
    struct bytes json = {0};
    struct bytes text = {0};
    struct json_writer w;
    json_write_begin(&w, &json);
    json_object_begin(&w, NULL);
    json_put_text(&w, "id", id);
    json_put_text(&w, "place", place);
    json_put_u64(&w, "deliveries", answer_u64(&a->fields, "deliveries"));
    json_put_u64(&w, "dropped", answer_u64(&a->fields, "dropped"));
    json_array_begin(&w, "events");
    bytes_printf(&text, "message %.*s: %.*s, deliveries %llu", (int)id.size,
                 (const char *)id.data, (int)place.size, (const char *)place.data,
                 (unsigned long long)answer_u64(&a->fields, "deliveries"));
    if (json_unescape(answer_text(&a->fields, "csv"), &csv) != ST_OK)
        bytes_clear(&csv);
    for (size_t at = 0; at < csv.size;) { /* bound: the csv */
        const uint8_t *end = memchr(csv.data + at, '\n', csv.size - at);
        size_t size = end != NULL ? (size_t)(end - csv.data) - at : csv.size - at;
        put_event(slice_of(csv.data + at, size), &w, &text);
        at += size + 1;
    }
    json_array_end(&w);
    json_object_end(&w);
    ctl_answer(a->options, slice_of(json.data, json.size),
               slice_of(text.data, text.size));
    bytes_fini(&csv);
    bytes_fini(&json);
    bytes_fini(&text);
}

enum ctl_exit
ctl_msg_history(const struct options *o, int argc, char **argv)
{
    struct admin a;
    struct bytes request = {0};
    struct json_writer w;
    (void)argc;
    enum ctl_exit code = refuse_queue(o);
    if (code == CTL_DONE)
        code = admin_check_id(o, argv[0]);
    if (code != CTL_DONE)
        return code;
    json_write_begin(&w, &request);
    json_object_begin(&w, NULL);
    json_put_string(&w, "cmd", "history");
    json_put_string(&w, "id", argv[0]);
    json_object_end(&w);
    code = admin_begin(&a, o);
    if (code == CTL_DONE)
        code = admin_ask(&a, slice_of(request.data, request.size));
    if (code == CTL_DONE)
        print_history(&a);
    admin_end(&a);
    bytes_fini(&request);
    return code;
}
