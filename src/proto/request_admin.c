/* Administrator: the commands (manual, "Administrators"), one reader a command. */
#include "proto/fields.h"

#include <string.h>

#define SUBSCRIBE_LEAST 30
#define SUBSCRIBE_MOST  900
#define YEAR_LEAST      1970
#define YEAR_MOST       9999

/* Fills r->admin and adds what is wrong to *code. False: out of memory. */
typedef bool
read_command_cb(struct request_parser *p, struct request *r, uint16_t *code);

static bool
read_nothing(struct request_parser *p, struct request *r, uint16_t *code)
{
    (void)p;
    (void)r;
    (void)code;
    return true;
}

static bool
read_livestats(struct request_parser *p, struct request *r, uint16_t *code)
{
    struct admin_fields *f = r->admin;
    const struct json_member *m = json_find(&p->object, "subscribe");
    if (m == NULL)
        return true;
    f->has_subscribe = true;
    if (!field_whole(m, 0, SUBSCRIBE_MOST, &f->subscribe_secs) ||
        (f->subscribe_secs != 0 && f->subscribe_secs < SUBSCRIBE_LEAST))
        code_add(code, CODE_SUBSCRIBE);
    return true;
}

static bool
is_leap(uint32_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static uint32_t
month_days(uint32_t year, uint32_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1u : 0u);
}

/* Days from 1 January 1970, in the Gregorian calendar. */
static uint64_t
days_since_1970(uint32_t year, uint32_t month, uint32_t day)
{
    uint64_t before = year - 1;
    uint64_t days = before * 365 + before / 4 - before / 100 + before / 400 - 719162;
    for (uint32_t m = 1; m < month; m++)
        days += month_days(year, m);
    return days + day - 1;
}

static void
read_date(struct request_parser *p, struct admin_fields *f, uint16_t *code)
{
    uint32_t year = 0, month = 0, day = 0;
    bool has_year =
        field_whole(json_find(&p->object, "year"), YEAR_LEAST, YEAR_MOST, &year);
    bool has_month = field_whole(json_find(&p->object, "month"), 1, 12, &month);
    /* A day that only some months have is judged when year and month are known. */
    uint32_t days = has_year && has_month ? month_days(year, month) : 31;
    bool has_day = field_whole(json_find(&p->object, "day"), 1, days, &day);
    if (!has_year)
        code_add(code, CODE_YEAR);
    if (!has_month)
        code_add(code, CODE_MONTH);
    if (!has_day)
        code_add(code, CODE_DAY);
    f->has_date = has_year && has_month && has_day;
    if (f->has_date)
        f->day = days_since_1970(year, month, day);
}

static bool
read_history(struct request_parser *p, struct request *r, uint16_t *code)
{
    struct admin_fields *f = r->admin;
    const struct json_member *flag =
        json_find(&p->object, f->command == ADMIN_GETSTATS ? "average" : "totals");
    read_date(p, f, code);
    if (!field_bool(flag, &f->flag)) {
        code_add(code, CODE_FLAG);
        r->reply.number = flag != NULL;
    }
    return true;
}

static bool
read_page(struct request_parser *p, struct request *r, uint16_t *code)
{
    struct admin_fields *f = r->admin;
    const struct json_member *after = json_find(&p->object, "after");
    const struct json_member *before = json_find(&p->object, "before");
    const struct json_member *count = json_find(&p->object, "count");
    if ((after != NULL) == (before != NULL)) {
        code_add(code, CODE_PAGE);
    } else {
        const struct json_member *edge = before != NULL ? before : after;
        f->is_before = before != NULL;
        f->is_open = edge->type == JSON_STRING && edge->value.size == 0;
        f->has_id = field_id(p, edge, &f->id);
        if (!f->is_open && !f->has_id)
            code_add(code, f->is_before ? CODE_BEFORE : CODE_AFTER);
    }
    if (!field_whole(count, 1, LIMIT_LIST_COUNT, &f->count)) {
        code_add(code, CODE_COUNT);
        r->reply.number = count != NULL && count->type == JSON_NUMBER;
    }
    return true;
}

static bool
read_message(struct request_parser *p, struct request *r, uint16_t *code)
{
    (void)code; /* the broker answers 301 when there is no id */
    r->admin->has_id = field_id(p, json_find(&p->object, "id"), &r->admin->id);
    return true;
}

static bool
read_addmsg(struct request_parser *p, struct request *r, uint16_t *code)
{
    return publish_read(p, QUEUE_DISTRIBUTE, &r->admin->publish, code);
}

/* One member of a setcfg. The reply names the first setting of the lowest code. */
static void
read_setting(const struct json_member *m, struct request *r, uint16_t *code)
{
    struct record_settings_set *set = &r->admin->settings;
    enum setting_id id = setting_find(m->key);
    uint16_t found = 0;
    int64_t value = 0;
    if (id == SETTING_COUNT) { /* messages-memory-used is read, but is no setting */
        if (slice_equal(m->key, slice_from_text("messages-memory-used")))
            found = CODE_READ_ONLY;
        else
            return;
    } else if (!setting_info(id)->is_writable) {
        found = CODE_READ_ONLY;
    } else if (m->type != JSON_NUMBER ||
               json_plain_integer(m->value, &value) != ST_OK || value < 0 ||
               (uint64_t)value < setting_info(id)->least ||
               (uint64_t)value > setting_info(id)->most) {
        found = CODE_SETTING;
    }
    if (found == 0) {
        set->items[set->count].id = id;
        set->items[set->count].value = (uint64_t)value;
        set->count++;
        return;
    }
    if (*code == 0 || found < *code) {
        *code = found;
        r->reply.setting = id;
    }
}

static bool
read_setcfg(struct request_parser *p, struct request *r, uint16_t *code)
{
    for (size_t i = 0; i < p->object.count; i++)
        read_setting(&p->object.members[i], r, code);
    if (r->admin->settings.count == 0)
        code_add(code, CODE_NO_SETTING);
    return true;
}

static const struct command {
    const char *name;
    read_command_cb *read_cb;
} commands[] = {
    [ADMIN_GETLIVESTATS] = {"getlivestats", read_livestats},
    [ADMIN_GETSTATS] = {"getstats", read_history},
    [ADMIN_GETUSAGE] = {"getusage", read_history},
    [ADMIN_GETMSGS] = {"getmsgs", read_page},
    [ADMIN_GETMSG] = {"getmsg", read_message},
    [ADMIN_ADDMSG] = {"addmsg", read_addmsg},
    [ADMIN_DELMSG] = {"delmsg", read_message},
    [ADMIN_MOVETODLQ] = {"movetodlq", read_message},
    [ADMIN_GETDLQMSGS] = {"getdlqmsgs", read_page},
    [ADMIN_GETDLQMSG] = {"getdlqmsg", read_message},
    [ADMIN_DELDLQMSG] = {"deldlqmsg", read_message},
    [ADMIN_GETCFG] = {"getcfg", read_nothing},
    [ADMIN_SETCFG] = {"setcfg", read_setcfg},
    [ADMIN_REDRIVE] = {"redrive", request_read_redrive},
    [ADMIN_PURGE] = {"purge", request_read_purge},
    [ADMIN_HISTORY] = {"history", read_message},
};

#define COMMAND_COUNT    (sizeof(commands) / sizeof(commands[0]))
#define COMMAND_NAME_MAX 16

/* COMMAND_COUNT when there is no such command. */
static size_t
find_command(struct request_parser *p)
{
    struct slice name;
    size_t i = COMMAND_COUNT;
    if (field_text(p, json_find(&p->object, "cmd"), COMMAND_NAME_MAX, &name))
        for (i = 0; i < COMMAND_COUNT; i++)
            if (slice_equal(name, slice_from_text(commands[i].name)))
                break;
    return i;
}

/* p->object is empty for JSON that is no object. */
static struct request *
parse_command(struct request_parser *p, const struct speaker *speaker)
{
    uint16_t code = 0;
    struct slice context = field_context(json_find(&p->object, "context"), &code);
    size_t command = find_command(p);
    if (command == COMMAND_COUNT) {
        code_add(&code, CODE_COMMAND);
        return request_refused(speaker->conn, context, code, false);
    }
    struct request *r = request_new(PARCEL_ADMIN, speaker->conn, context);
    if (r == NULL)
        return NULL;
    r->admin->command = (enum admin_command)command;
    if (!commands[command].read_cb(p, r, &code)) {
        parcel_free(&r->parcel);
        return NULL;
    }
    r->code = code;
    return r;
}

struct request *
request_parse_admin(struct request_parser *p,
                    const struct speaker *speaker,
                    bool is_text,
                    struct slice payload)
{
    enum json_outcome outcome =
        is_text ? json_parse(&p->object, payload) : JSON_NOT_JSON;
    switch (outcome) {
    case JSON_IS_OBJECT:
    case JSON_IS_OTHER:
        return parse_command(p, speaker);
    case JSON_NOT_JSON:
    case JSON_DUPLICATE:
    case JSON_TOO_DEEP:
        break;
    }
    return request_refused(speaker->conn, slice_of(NULL, 0), CODE_JSON, true);
}
