/* Admin: what comes as lines of csv: lists of messages, counters, statistics, usage. */
#include "base/text.h"
#include "ctl/admin.h"
#include "ctl/terminal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE_MAX      1600 /* messages of one reply */
#define COUNT_DEFAULT 100
#define ID_BYTES      36
#define YEAR_BYTES    5 /* "2026-": left out, so that a line has 80 columns */
#define CELLS_MAX     GRID_COLUMNS_MAX

/* How a csv is shown: the names of its columns in the document, in order, and their
 * heads in the table. */
struct columns {
    const char *member; /* of the rows in the document */
    size_t count;
    uint32_t text_mask;     /* bit i: column i is text; all else are numbers */
    uint32_t time_mask;     /* seconds since 1970: a date and time in the table */
    uint32_t duration_mask; /* seconds */
    const char *names[CELLS_MAX];
    const char *heads[CELLS_MAX];
};

static const struct columns MESSAGES = {
    "messages",
    6,
    1u << 0,
    1u << 5,
    1u << 2,
    {"id", "len", "delay", "durability", "type", "recdat"},
    {"id", "bytes", "delay", "dur", "type", "received (UTC)"}};
static const struct columns COUNTERS = {
    "records",
    10,
    0,
    1u << 0,
    0,
    {"time", "messages", "publishers", "subscribers", "saved_sessions",
     "administrators", "unacknowledged", "dead_letter", "delayed", "durable"},
    {"time (UTC)", "messages", "pubs", "subs", "saved", "adms", "held", "dead", "delay",
     "durable"}};
static const struct columns USAGE = {"records",
                                     9,
                                     1u << 6 | 1u << 7,
                                     1u << 0,
                                     0,
                                     {"time", "sent_bytes", "received_bytes",
                                      "written_bytes", "read_bytes", "held_bytes",
                                      "instance_type", "region", "ipv4"},
                                     {"time (UTC)", "sent", "received", "written",
                                      "read", "held", "type", "region", "ipv4"}};

/* A list that is being made: rows as JSON and as a table. */
struct listing {
    const struct columns *columns;
    struct bytes json;
    struct json_writer w;
    struct grid grid;
    uint64_t rows;
};

static void
listing_begin(struct listing *l, const struct columns *columns)
{
    *l = (struct listing){.columns = columns};
    grid_init(&l->grid, columns->count, ~(columns->text_mask | columns->time_mask));
    for (size_t i = 0; i < columns->count; i++)
        grid_put_text(&l->grid, columns->heads[i]);
    json_write_begin(&l->w, &l->json);
    json_object_begin(&l->w, NULL);
    json_array_begin(&l->w, columns->member);
}

static void
listing_end(struct listing *l, const struct options *o, enum ctl_exit code)
{
    struct bytes text = {0};
    json_array_end(&l->w);
    json_object_end(&l->w);
    if (code == CTL_DONE) {
        grid_write(&l->grid, terminal_width(STDOUT_FILENO), &text);
        ctl_answer(o, slice_of(l->json.data, l->json.size),
                   slice_of(text.data, text.size));
    }
    grid_fini(&l->grid);
    bytes_fini(&l->json);
    bytes_fini(&text);
}

static void
put_cell(struct listing *l, size_t column, struct slice cell)
{
    char text[TERMINAL_TIME_BYTES];
    uint32_t bit = 1u << column;
    int64_t secs = 0;
    bool is_whole = json_plain_integer(cell, &secs) == ST_OK && secs >= 0;
    if (is_whole && secs > 0 && (l->columns->time_mask & bit) != 0) {
        terminal_time((uint64_t)secs, text);
        grid_put_text(&l->grid, text + YEAR_BYTES);
        return;
    }
    if (is_whole && (l->columns->duration_mask & bit) != 0) {
        terminal_duration((uint64_t)secs, text);
        grid_put_text(&l->grid, text);
        return;
    }
    grid_put(&l->grid, cell);
}

/* One line; cells that are missing are empty. */
static void
listing_put(struct listing *l, struct slice line)
{
    const uint8_t *at = line.data;
    const uint8_t *end = slice_end(line);
    json_object_begin(&l->w, NULL);
    for (size_t i = 0; i < l->columns->count; i++) {
        const uint8_t *comma = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
        const uint8_t *stop = comma != NULL ? comma : end;
        struct slice cell = slice_of(at, (size_t)(stop - at));
        bool is_number = cell.size > 0 && json_number_size(cell) == cell.size &&
                         (l->columns->text_mask & 1u << i) == 0;
        if (is_number)
            json_put_raw(&l->w, l->columns->names[i], cell);
        else
            json_put_text(&l->w, l->columns->names[i], cell);
        put_cell(l, i, cell);
        at = comma != NULL ? comma + 1 : end;
    }
    json_object_end(&l->w);
    l->rows++;
}

/* The csv of a reply, line by line. Returns the lines; ret_last is the last's id. */
static size_t
take_csv(struct listing *l, const struct json_object *fields, char *ret_last)
{
    const struct json_member *csv = json_find(fields, "csv");
    struct bytes text = {0};
    size_t count = 0;
    if (csv == NULL || json_unescape(csv->value, &text) != ST_OK)
        bytes_clear(&text);
    for (size_t at = 0; at < text.size;) { /* bound: the csv */
        const uint8_t *end = memchr(text.data + at, '\n', text.size - at);
        size_t size = end != NULL ? (size_t)(end - text.data) - at : text.size - at;
        listing_put(l, slice_of(text.data + at, size));
        if (ret_last != NULL && size > ID_BYTES) {
            memcpy(ret_last, text.data + at, ID_BYTES);
            ret_last[ID_BYTES] = '\0';
        }
        at += size + 1;
        count++;
    }
    bytes_fini(&text);
    return count;
}

/* One page: cmd with after or before. */
static enum ctl_exit
ask_page(struct admin *a, const char *cmd, bool is_before, const char *edge, uint64_t n)
{
    struct bytes request = {0};
    struct json_writer w;
    json_write_begin(&w, &request);
    json_object_begin(&w, NULL);
    json_put_string(&w, "cmd", cmd);
    json_put_string(&w, is_before ? "before" : "after", edge);
    json_put_u64(&w, "count", n);
    json_object_end(&w);
    enum ctl_exit code = admin_ask(a, slice_of(request.data, request.size));
    bytes_fini(&request);
    return code;
}

/* --count messages behind --after (all: from the begin), in pages; or the one page that
 * ends at --before. */
static enum ctl_exit
list_messages(const struct options *o, const char *cmd)
{
    struct admin a;
    struct listing l;
    char last[ID_BYTES + 1] = "";
    bool is_before = o->before != NULL;
    uint64_t left = o->count != 0 ? o->count : COUNT_DEFAULT;
    const char *edge = is_before ? o->before : o->after != NULL ? o->after : "";
    if (o->before != NULL && o->after != NULL)
        return ctl_fail(o, CTL_USAGE, "--after or --before, not both");
    if (is_before && left > PAGE_MAX)
        return ctl_fail(o, CTL_USAGE, "--before goes with --count up to %d", PAGE_MAX);
    enum ctl_exit code = admin_check_id(o, edge[0] != '\0' ? edge : NULL);
    if (code != CTL_DONE)
        return code;
    code = admin_begin(&a, o);
    listing_begin(&l, &MESSAGES);
    while (code == CTL_DONE && left > 0) { /* bound: --count */
        uint64_t wanted = left < PAGE_MAX ? left : PAGE_MAX;
        code = ask_page(&a, cmd, is_before, edge, wanted);
        uint64_t got = code == CTL_DONE ? take_csv(&l, &a.fields, last) : 0;
        if (got < wanted || last[0] == '\0')
            break;
        left -= got;
        edge = last;
    }
    listing_end(&l, o, code);
    admin_end(&a);
    return code;
}

enum ctl_exit
ctl_msg_list(const struct options *o, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return list_messages(o, "getmsgs");
}

enum ctl_exit
ctl_dlq_list(const struct options *o, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return list_messages(o, "getdlqmsgs");
}

/* The live counters: one object, without a time. */
static void
print_live(const struct options *o, const struct json_object *fields)
{
    const struct json_member *csv = json_find(fields, "csv");
    struct bytes json = {0};
    struct bytes text = {0};
    struct json_writer w;
    const uint8_t *at = csv != NULL ? csv->value.data : NULL;
    const uint8_t *end = csv != NULL ? slice_end(csv->value) : NULL;
    json_write_begin(&w, &json);
    json_object_begin(&w, NULL);
    for (size_t i = 1; i < COUNTERS.count && at < end; i++) {
        const uint8_t *comma = memchr(at, ',', (size_t)(end - at));
        const uint8_t *stop = comma != NULL ? comma : end;
        struct slice cell = slice_of(at, (size_t)(stop - at));
        if (json_number_size(cell) == cell.size && cell.size > 0)
            json_put_raw(&w, COUNTERS.names[i], cell);
        bytes_printf(&text, "%s%-16s %.*s", text.size > 0 ? "\n" : "",
                     COUNTERS.names[i], (int)cell.size, (const char *)cell.data);
        at = comma != NULL ? comma + 1 : end;
    }
    json_object_end(&w);
    ctl_answer(o, slice_of(json.data, json.size), slice_of(text.data, text.size));
    bytes_fini(&json);
    bytes_fini(&text);
}

enum ctl_exit
ctl_stats_live(const struct options *o, int argc, char **argv)
{
    struct admin a;
    (void)argc;
    (void)argv;
    enum ctl_exit code = admin_begin(&a, o);
    if (code == CTL_DONE)
        code = admin_ask(&a, slice_from_text("{\"cmd\":\"getlivestats\"}"));
    if (code == CTL_DONE)
        print_live(o, &a.fields);
    admin_end(&a);
    return code;
}

/* YYYY-MM-DD, or today in UTC. */
static bool
read_day(const char *text, unsigned *ret_year, unsigned *ret_month, unsigned *ret_day)
{
    struct tm day;
    time_t now = time(NULL);
    if (text == NULL) {
        if (gmtime_r(&now, &day) == NULL)
            return false;
        *ret_year = (unsigned)day.tm_year + 1900;
        *ret_month = (unsigned)day.tm_mon + 1;
        *ret_day = (unsigned)day.tm_mday;
        return true;
    }
    if (strlen(text) != 10 || text[4] != '-' || text[7] != '-')
        return false;
    for (size_t i = 0; i < 10; i++)
        if (i != 4 && i != 7 && (text[i] < '0' || text[i] > '9'))
            return false;
    return sscanf(text, "%4u-%2u-%2u", ret_year, ret_month, ret_day) == 3;
}

static enum ctl_exit
run_day(const struct options *o,
        const char *date,
        const char *head,
        bool flag,
        const struct columns *columns)
{
    struct admin a;
    struct listing l;
    struct bytes request = {0};
    unsigned year = 0, month = 0, day = 0;
    if (!read_day(date, &year, &month, &day))
        return ctl_fail(o, CTL_USAGE, "'%s' is no day: YYYY-MM-DD is wanted", date);
    bytes_printf(&request, "{%s:%s,\"year\":%u,\"month\":%u,\"day\":%u}", head,
                 flag ? "true" : "false", year, month, day);
    enum ctl_exit code = admin_begin(&a, o);
    if (code == CTL_DONE)
        code = admin_ask(&a, slice_of(request.data, request.size));
    listing_begin(&l, columns);
    if (code == CTL_DONE)
        (void)take_csv(&l, &a.fields, NULL);
    listing_end(&l, o, code);
    admin_end(&a);
    bytes_fini(&request);
    return code;
}

enum ctl_exit
ctl_stats_day(const struct options *o, int argc, char **argv)
{
    return run_day(o, argc > 0 ? argv[0] : NULL, "\"cmd\":\"getstats\",\"average\"",
                   o->is_average, &COUNTERS);
}

enum ctl_exit
ctl_usage_day(const struct options *o, int argc, char **argv)
{
    return run_day(o, argc > 0 ? argv[0] : NULL, "\"cmd\":\"getusage\",\"totals\"",
                   o->is_totals, &USAGE);
}
