/* Events: see events.h. A line is words; words with "=" are options. */
#include "tests/trace/events.h"

#include "base/mem.h"
#include "broker/operate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 16

struct words {
    char text[512];
    char *words[WORDS_MAX];
    size_t count;
};

void
stage_init(struct stage *stage)
{
    world_init(&stage->world, 7);
    stage->out = (struct bytes){0};
    show_init(&stage->show, &stage->out);
    stage->is_broken = false;
}

void
stage_fini(struct stage *stage)
{
    world_fini(&stage->world);
    bytes_fini(&stage->out);
}

static void
complain(struct stage *stage, const char *what, const char *detail)
{
    stage->is_broken = true;
    bytes_printf(&stage->out, "> BROKEN %s: %s\n", what, detail);
}

static void
split(struct words *words, const char *line)
{
    snprintf(words->text, sizeof words->text, "%s", line);
    words->count = 0;
    char *rest = words->text;
    char *word;
    while ((word = strsep(&rest, " ")) != NULL && words->count < WORDS_MAX) {
        if (*word != '\0')
            words->words[words->count++] = word;
    }
}

static const char *
word(const struct words *words, size_t index)
{
    return index < words->count ? words->words[index] : "";
}

/* The value of an option; "" for a word alone; NULL when it is not there. */
static const char *
option(const struct words *words, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 1; i < words->count; i++) {
        const char *text = words->words[i];
        if (strncmp(text, name, size) == 0 && (text[size] == '=' || text[size] == '\0'))
            return text[size] == '=' ? text + size + 1 : "";
    }
    return NULL;
}

static uint64_t
number(const struct words *words, const char *name, uint64_t other)
{
    const char *value = option(words, name);
    return value == NULL ? other : strtoull(value, NULL, 10);
}

static uint64_t
conn_of(const struct words *words)
{
    return strtoull(word(words, 1), NULL, 10);
}

static void
fill_publish(const struct words *words, struct publish_fields *fields)
{
    const char *body = option(words, "body");
    const char *key = option(words, "key");
    size_t size = number(words, "size", 0);
    fields->type = 1;
    fields->durability = (uint8_t)number(words, "durability", 1);
    fields->delay_secs = (uint32_t)number(words, "delay", 0);
    fields->key_size = key == NULL ? 0 : (uint8_t)strlen(key);
    if (size > 0) {
        fields->body = blob_new(size);
        memset(fields->body->data, 'x', size);
    } else if (body != NULL) {
        fields->body = world_body(body, key);
    }
}

static void
on_login(struct stage *stage, const struct words *words)
{
    struct world *w = &stage->world;
    const char *role = word(words, 2);
    struct request *r = world_login(w, conn_of(words), ROLE_PUBLISHER);
    if (strcmp(role, "subscriber") == 0)
        r->login->role = ROLE_SUBSCRIBER;
    if (strcmp(role, "admin") == 0)
        r->login->role = ROLE_ADMIN;
    r->code = (uint16_t)number(words, "code", 0);
    r->login->type = option(words, "copy") != NULL ? QUEUE_COPY : QUEUE_DISTRIBUTE;
    r->login->has_capacity = option(words, "capacity") != NULL;
    r->login->capacity = (uint32_t)number(words, "capacity", 0);
    const char *session = option(words, "session");
    r->login->has_session = session != NULL;
    if (session != NULL)
        r->login->has_session_id =
            name_find(&stage->show.sessions, session, &r->login->session);
    r->login->replay = option(words, "replay") != NULL;
    fill_publish(words, &r->login->publish);
    if (option(words, "slow") != NULL)
        world_send(w, r);
    else
        world_log_in(w, r, option(words, "bad") == NULL);
}

static void
on_verified(struct stage *stage, const struct words *words)
{
    struct world *w = &stage->world;
    struct verify verify;
    while (broker_take_verify(w->b, &verify))
        ;
    broker_verified(w->b, conn_of(words), strcmp(word(words, 2), "good") == 0);
}

static void
on_publish(struct stage *stage, const struct words *words)
{
    struct request *r = world_request(PARCEL_PUBLISH, conn_of(words));
    fill_publish(words, &r->publish);
    r->code = (uint16_t)number(words, "code", 0);
    uint64_t times = number(words, "times", 1);
    struct blob *body = r->publish.body;
    for (; times > 1; times--) {
        struct request *one = world_request(PARCEL_PUBLISH, conn_of(words));
        one->publish = r->publish;
        one->publish.body = blob_get(body);
        world_send(&stage->world, one);
    }
    world_send(&stage->world, r);
}

static void
on_settle(struct stage *stage, const struct words *words)
{
    struct request *r = world_request(PARCEL_SETTLE, conn_of(words));
    r->code = (uint16_t)number(words, "code", 0);
    r->settle.is_ack = strcmp(word(words, 0), "ack") == 0;
    r->settle.has_id = name_find(&stage->show.messages, word(words, 2), &r->settle.id);
    world_send(&stage->world, r);
}

static void
on_simple(struct stage *stage, const struct words *words)
{
    const char *kind = word(words, 0);
    struct request *r;
    if (strcmp(kind, "capacity") == 0) {
        r = world_request(PARCEL_CAPACITY, conn_of(words));
        r->capacity = (uint32_t)strtoul(word(words, 2), NULL, 10);
    } else if (strcmp(kind, "logout") == 0) {
        r = world_request(PARCEL_LOGOUT, conn_of(words));
    } else {
        r = world_request(PARCEL_REFUSED, conn_of(words));
        r->ends = option(words, "ends") != NULL;
    }
    r->code = (uint16_t)number(words, "code", 0);
    world_send(&stage->world, r);
}

static bool
fill_settings(const struct words *words, size_t from, struct record_settings_set *set)
{
    for (size_t i = from; i < words->count; i++) {
        const char *equals = strchr(words->words[i], '=');
        if (equals == NULL)
            return false;
        size_t size = (size_t)(equals - words->words[i]);
        set->items[set->count].id = setting_find(slice_of(words->words[i], size));
        set->items[set->count].value = strtoull(equals + 1, NULL, 10);
        if (set->items[set->count++].id == SETTING_COUNT)
            return false;
    }
    return true;
}

static bool
find_command(const char *name, enum admin_command *ret_command)
{
    static const char *const names[] = {
        "getlivestats", "getstats",  "getusage",   "getmsgs",   "getmsg",    "addmsg",
        "delmsg",       "movetodlq", "getdlqmsgs", "getdlqmsg", "deldlqmsg", "getcfg",
        "setcfg",       "redrive",   "purge",      "history",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            *ret_command = (enum admin_command)i;
            return true;
        }
    }
    return false;
}

static void
fill_bulk(const struct words *words, struct admin_fields *fields)
{
    const char *place = option(words, "place");
    fields->bulk.is_one = option(words, "id") != NULL;
    fields->bulk.place = BULK_DLQ;
    fields->bulk.is_dry = option(words, "dry") != NULL;
    fields->bulk.has_after = option(words, "after") != NULL && fields->has_id;
    fields->bulk.after = fields->id;
    fields->bulk.older_secs = (uint32_t)number(words, "older", 0);
    fields->bulk.reasons = (uint8_t)number(words, "reasons", 0);
    if (place != NULL && strcmp(place, "dlq") != 0)
        fields->bulk.place = strcmp(place, "all") == 0 ? BULK_ALL : BULK_WAITING;
}

static void
on_admin(struct stage *stage, const struct words *words)
{
    struct request *r = world_request(PARCEL_ADMIN, conn_of(words));
    struct admin_fields *fields = r->admin;
    r->code = (uint16_t)number(words, "code", 0);
    if (!find_command(word(words, 2), &fields->command))
        complain(stage, "no such command", word(words, 2));
    fields->has_subscribe = option(words, "subscribe") != NULL;
    fields->subscribe_secs = (uint32_t)number(words, "subscribe", 0);
    fields->flag = option(words, "one") != NULL;
    fields->has_date = option(words, "day") != NULL;
    fields->day = WORLD_WALL_MS / 86400000u + number(words, "day", 0);
    fields->count = (uint32_t)number(words, "count", 100);
    const char *before = option(words, "before");
    const char *at = before != NULL ? before : option(words, "after");
    const char *id = at != NULL ? at : option(words, "id");
    fields->is_before = before != NULL;
    fields->is_open = at == NULL || *at == '\0';
    fields->has_id = id != NULL && name_find(&stage->show.messages, id, &fields->id);
    fill_publish(words, &fields->publish);
    fill_bulk(words, fields);
    if (fields->command == ADMIN_SETCFG && !fill_settings(words, 3, &fields->settings))
        complain(stage, "no such setting", word(words, 3));
    world_send(&stage->world, r);
}

static void
on_signal(struct stage *stage, const struct words *words)
{
    uint64_t conn = conn_of(words);
    bool is_close = strcmp(word(words, 0), "close") == 0;
    struct signal *signal =
        world_signal(is_close ? PARCEL_CLOSED : PARCEL_PROGRESS, conn);
    const struct world_conn *sent = &stage->world.conns[conn % WORLD_CONNS];
    signal->frames_sent = number(words, "sent", is_close ? sent->frames : 0);
    signal->bytes_sent = number(words, "bytes", 0);
    if (option(words, "all") != NULL)
        *signal = (struct signal){signal->parcel, sent->frames, sent->bytes};
    broker_handle(stage->world.b, &signal->parcel);
}

static void
on_create(struct stage *stage, const struct words *words)
{
    struct queue_spec spec;
    struct record_settings_set set = {0};
    world_spec(&spec, word(words, 1));
    if (!fill_settings(words, 2, &set))
        complain(stage, "no such setting", word(words, 2));
    for (uint32_t i = 0; i < set.count; i++)
        spec.settings[set.items[i].id] = set.items[i].value;
    uint64_t batch;
    enum status status = broker_create_queue(stage->world.b, &spec, &batch);
    if (status != ST_OK)
        bytes_printf(&stage->out, "> refused: %s\n", status_name(status));
}

static void
on_operator(struct stage *stage, const struct words *words)
{
    struct slice name = slice_from_text(word(words, 1));
    uint64_t batch;
    enum status status;
    struct uuid id = {{0}};
    if (strcmp(word(words, 0), "level") == 0) {
        status = broker_raise_level(
            stage->world.b, (uint32_t)strtoul(word(words, 1), NULL, 10), &batch);
    } else if (strcmp(word(words, 0), "end-session") == 0) {
        status = broker_end_session(stage->world.b, name,
                                    strtoull(word(words, 2), NULL, 10), &batch);
    } else if (strcmp(word(words, 0), "delete") == 0) {
        status = broker_delete_queue(stage->world.b, name, &batch);
    } else {
        name_find(&stage->show.messages, word(words, 2), &id);
        status = broker_redrive(stage->world.b, name, &id, &batch);
    }
    if (status != ST_OK)
        bytes_printf(&stage->out, "> refused: %s\n", status_name(status));
}

static bool
take_one(struct stage *stage)
{
    bool is_sync;
    const struct world_entry *entry = world_take(&stage->world, &is_sync);
    if (entry != NULL)
        show_entry(&stage->show, blob_slice(entry->blob));
    return entry != NULL;
}

static void
on_log(struct stage *stage, const struct words *words)
{
    struct world *w = &stage->world;
    const char *what = word(words, 0);
    if (strcmp(what, "commit-one") == 0) {
        world_commit_one(w);
        return;
    }
    while (take_one(stage))
        ;
    while (strcmp(what, "commit") == 0 && world_commit_one(w))
        ;
}

static void
on_world(struct stage *stage, const struct words *words)
{
    struct world *w = &stage->world;
    const char *what = word(words, 0);
    if (strcmp(what, "lead") == 0)
        world_lead(w);
    else if (strcmp(what, "stop-leading") == 0)
        world_stop(w);
    else if (strcmp(what, "fail-over") == 0)
        world_fail_over(w);
    else if (strcmp(what, "hand-over") == 0)
        world_hand_over(w);
    else if (strcmp(what, "pass-on") == 0)
        (void)broker_pass_on(w->b);
    else if (strcmp(what, "keep") == 0)
        broker_keep(w->b);
    else if (strcmp(what, "hold") == 0)
        broker_hold(w->b, true);
    else if (strcmp(what, "unhold") == 0)
        broker_hold(w->b, false);
    else
        broker_barrier(w->b);
}

/* "+500ms", "+3s". */
static void
on_tick(struct stage *stage, const struct words *words)
{
    char *unit;
    uint64_t ms = strtoull(word(words, 1), &unit, 10);
    if (strcmp(unit, "s") == 0)
        ms *= 1000;
    else if (strcmp(unit, "ms") != 0)
        complain(stage, "no such time", word(words, 1));
    world_tick(&stage->world, ms);
}

static void
on_live(struct stage *stage, const struct words *words)
{
    (void)words;
    struct queue_live live;
    broker_queue_live(stage->world.b, world_queue(&stage->world), &live);
    bytes_put_text(&stage->out, "> live ");
    for (int i = 0; i < STATS_COLUMNS; i++)
        bytes_printf(&stage->out, "%s%" PRIu64, i == 0 ? "" : ",", live.columns[i]);
    bytes_put_text(&stage->out, "\n");
}

static const struct {
    const char *name;
    void (*run)(struct stage *stage, const struct words *words);
} events[] = {
    {"login", on_login},        {"verified", on_verified}, {"publish", on_publish},
    {"ack", on_settle},         {"nack", on_settle},       {"capacity", on_simple},
    {"logout", on_simple},      {"refused", on_simple},    {"admin", on_admin},
    {"close", on_signal},       {"progress", on_signal},   {"create", on_create},
    {"delete", on_operator},    {"redrive", on_operator},  {"take", on_log},
    {"commit", on_log},         {"commit-one", on_log},    {"lead", on_world},
    {"stop-leading", on_world}, {"fail-over", on_world},   {"hand-over", on_world},
    {"pass-on", on_world},      {"keep", on_world},        {"hold", on_world},
    {"unhold", on_world},       {"barrier", on_world},     {"tick", on_tick},
    {"live", on_live},          {"level", on_operator},    {"end-session", on_operator},
};

static void
show_parcels(struct stage *stage)
{
    struct mail_chain chain = {NULL, NULL};
    struct parcel *parcel;
    while ((parcel = world_parcel(&stage->world, &chain)) != NULL) {
        show_parcel(&stage->show, parcel);
        parcel_free(parcel);
    }
}

void
stage_event(struct stage *stage, const char *line)
{
    struct words words;
    split(&words, line);
    bytes_clear(&stage->out);
    size_t i = 0;
    size_t count = sizeof events / sizeof events[0];
    while (i < count && strcmp(events[i].name, word(&words, 0)) != 0)
        i++;
    if (i == count) {
        complain(stage, "no such event", line);
        return;
    }
    events[i].run(stage, &words);
    show_parcels(stage);
    const char *fault = world_check(&stage->world);
    if (fault != NULL)
        complain(stage, "check", fault);
}
