/* Administrators: see the header. Whatever an administrator is told, a refusal too,
 * rests on an entry of its own (batch_barrier), so that it is never stale. */
#include "broker/admin.h"

#include "base/mem.h"
#include "broker/admin_bulk.h"
#include "broker/admin_read.h"
#include "broker/delay.h"
#include "broker/dispatch.h"
#include "broker/effects.h"
#include "broker/inside.h"
#include "broker/publish.h"
#include "broker/session.h"
#include "broker/stats.h"
#include "broker/timer.h"

#include <assert.h>
#include <string.h>

/* The parser's code unless the broker's is lower. */
static unsigned
lowest(const struct request *r, unsigned code)
{
    if (r->code == 0 || code == 0)
        return r->code + code;
    return r->code < code ? r->code : code;
}

static void
refuse(struct broker *b, struct client *c, struct request *r, unsigned code)
{
    reply_refuse(b, c, r, code, batch_barrier(b));
}

void
admin_notify(struct broker *b,
             struct client *c,
             const struct uuid *id,
             bool is_moved,
             uint64_t tag)
{
    struct notice *notice = mem_calloc(1, sizeof *notice);
    notice->parcel.conn = c->id;
    notice->parcel.kind = PARCEL_NOTICE;
    notice->id = *id;
    notice->is_moved = is_moved;
    effect_post(b, c, &notice->parcel, tag);
}

/* Deletes the message (from the DLQ too) or moves it there. */
static uint64_t
take(struct broker *b, struct part *part, struct message *m, enum admin_command command)
{
    struct queue_totals *totals = &part->queue->totals;
    if (command == ADMIN_MOVETODLQ)
        totals->dead_for[m->is_damaged ? DEAD_DAMAGED : DEAD_MOVED]++;
    else
        totals->deleted++;
    if (m->durability == 0) {
        message_remove(b->state, m);
        return TAG_NONE;
    }
    uint64_t stamp_ms = batch_begin(b, m->durability == 2);
    struct record_message fields = {.id = m->id};
    enum record_type type = RECORD_DELETE;
    if (command == ADMIN_MOVETODLQ) {
        type = RECORD_MOVE_TO_DLQ;
        message_to_dlq(b->state, m, DEAD_MOVED, stamp_ms);
    } else {
        if (command == ADMIN_DELDLQMSG)
            type = RECORD_DLQ_DELETE;
        message_remove(b->state, m);
    }
    batch_add_message(b, part, type, &fields);
    return batch_open_number(b);
}

void
admin_bury_damaged(struct broker *b, struct part *part)
{
    struct tree_node *next = tree_first(&part->queue->messages);
    while (next != NULL) { /* bound: the queue's messages */
        struct message *m = CONTAINER_OF(next, struct message, in_ids);
        next = tree_next(next);
        if (!m->is_damaged)
            continue;
        delay_message_leaves(part, m);
        if (m->place == PLACE_HELD)
            seat_message_leaves(seat_of(m->holder), m);
        take(b, part, m, ADMIN_MOVETODLQ);
    }
}

struct client *
admin_who_knows(const struct message *m)
{
    const struct seat *seat = m->place == PLACE_HELD ? seat_of(m->holder) : NULL;
    bool is_known = seat != NULL && seat->client != NULL &&
                    seat->client->phase == CLIENT_OPEN &&
                    (m->sent_mark != 0 || m->was_sent);
    return is_known ? seat->client : NULL;
}

static void
take_message(struct broker *b, struct client *c, struct request *r)
{
    struct part *part = c->part;
    enum admin_command command = r->admin->command;
    struct message *m = admin_find_message(part, r->admin);
    unsigned code = m == NULL ? 301 : 0;
    if (m != NULL && command == ADMIN_MOVETODLQ && m->durability == 0)
        code = 413;
    code = lowest(r, code);
    if (code != 0) {
        refuse(b, c, r, code);
        return;
    }
    struct seat *seat = m->place == PLACE_HELD ? seat_of(m->holder) : NULL;
    struct client *knows = admin_who_knows(m);
    struct uuid id = m->id;
    delay_message_leaves(part, m);
    if (seat != NULL)
        seat_message_leaves(seat, m);
    uint64_t tag = take(b, part, m, command);
    if (knows != NULL)
        admin_notify(b, knows, &id, command == ADMIN_MOVETODLQ, tag);
    reply_ok(b, c, r, REPLY_STATUS, tag == TAG_NONE ? batch_barrier(b) : tag);
    if (seat != NULL)
        seat_update(b, seat);
    dispatch(b, part);
}

static void
add_message(struct broker *b, struct client *c, struct request *r)
{
    struct publish_fields *fields = &r->admin->publish;
    unsigned code = r->code;
    if (code == 0)
        code = fields->body == NULL ? 206 : publish_check(b, c->part, c->type, fields);
    if (code != 0) {
        refuse(b, c, r, code);
        return;
    }
    publish_accept(b, c, r, fields);
}

/* Only what the parser could not have let through. */
static unsigned
check_settings(struct request *r)
{
    const struct record_settings_set *set = &r->admin->settings;
    if (set->count == 0 || set->count > SETTING_COUNT)
        return 416;
    for (uint32_t i = 0; i < set->count; i++) {
        if ((unsigned)set->items[i].id >= SETTING_COUNT)
            return 416;
        const struct setting_info *info = setting_info(set->items[i].id);
        r->reply.setting = set->items[i].id;
        if (!info->is_writable)
            return 415;
        if (set->items[i].value < info->least || set->items[i].value > info->most)
            return 414;
    }
    return 0;
}

void
admin_settings_changed(struct broker *b, struct part *part)
{
    part->trimmed_day[0] = part->trimmed_day[1] = 0;
    stats_schedule(b, part);
    sessions_schedule(b, part);
}

static void
set_config(struct broker *b, struct client *c, struct request *r)
{
    unsigned code = r->code != 0 ? r->code : check_settings(r);
    if (code != 0) {
        refuse(b, c, r, code);
        return;
    }
    struct record record;
    record.type = RECORD_SETTINGS_SET;
    record.queue = c->part->queue->number;
    record.settings = r->admin->settings;
    uint64_t stamp_ms = batch_begin(b, true);
    state_apply_record(b->state, &record, stamp_ms);
    batch_add(b, c->part, &record);
    batch_set_config(b);
    admin_settings_changed(b, c->part);
    reply_ok(b, c, r, REPLY_STATUS, batch_open_number(b));
}

static void
live_stats(struct broker *b, struct client *c, struct request *r)
{
    const struct admin_fields *fields = r->admin;
    unsigned code = r->code;
    bool is_active = c->push_ms > 0;
    if (code == 0 && fields->has_subscribe && fields->subscribe_secs > 0 && is_active)
        code = 402;
    if (code == 0 && fields->has_subscribe && fields->subscribe_secs == 0 && !is_active)
        code = 403;
    if (code != 0) {
        refuse(b, c, r, code);
        return;
    }
    if (fields->has_subscribe) {
        c->push_ms = (uint64_t)1000 * fields->subscribe_secs;
        if (c->push_ms > 0)
            timer_set(b, &c->push, b->clock.time_ms + c->push_ms);
        else
            timer_cancel(b, &c->push);
    }
    part_live(c->part, r->reply.live);
    reply_ok(b, c, r, REPLY_LIVESTATS, batch_barrier(b));
}

void
admin_push(struct broker *b, struct client *c)
{
    assert(c->push_ms > 0);
    struct push *push = mem_calloc(1, sizeof *push);
    push->parcel.conn = c->id;
    push->parcel.kind = PARCEL_PUSH;
    part_live(c->part, push->live);
    effect_post(b, c, &push->parcel, batch_read_tag(b));
    timer_set(b, &c->push, b->clock.time_ms + c->push_ms);
}

/* Commands that read: the reply is filled in or the code is given. */
static unsigned
read_command(const struct broker *b, struct client *c, struct request *r)
{
    const struct part *part = c->part;
    enum admin_command command = r->admin->command;
    if (command == ADMIN_GETSTATS || command == ADMIN_GETUSAGE) {
        unsigned code = lowest(r, admin_check_day(part, r));
        return code != 0 ? code : admin_read_history(part, r);
    }
    if (command == ADMIN_GETMSG || command == ADMIN_GETDLQMSG) {
        struct message *m = admin_find_message(part, r->admin);
        unsigned code = lowest(r, m == NULL ? 301 : 0);
        return code != 0 ? code : admin_read_message(m, r);
    }
    if (command == ADMIN_HISTORY) {
        unsigned code = admin_read_story(part, b->clock.time_ms, r);
        return lowest(r, code);
    }
    if (r->code != 0)
        return r->code;
    return command == ADMIN_GETCFG ? admin_read_config(part, r)
                                   : admin_read_list(part, r);
}

void
admin_handle(struct broker *b, struct client *c, struct request *r)
{
    switch (r->admin->command) {
    case ADMIN_GETLIVESTATS:
        live_stats(b, c, r);
        return;
    case ADMIN_ADDMSG:
        add_message(b, c, r);
        return;
    case ADMIN_SETCFG:
        set_config(b, c, r);
        return;
    case ADMIN_DELMSG:
    case ADMIN_MOVETODLQ:
    case ADMIN_DELDLQMSG:
        take_message(b, c, r);
        return;
    case ADMIN_REDRIVE:
    case ADMIN_PURGE:
        admin_bulk(b, c, r);
        return;
    case ADMIN_HISTORY:
    case ADMIN_GETSTATS:
    case ADMIN_GETUSAGE:
    case ADMIN_GETMSGS:
    case ADMIN_GETMSG:
    case ADMIN_GETDLQMSGS:
    case ADMIN_GETDLQMSG:
    case ADMIN_GETCFG:
        break;
    }
    unsigned code = read_command(b, c, r);
    if (code != 0)
        refuse(b, c, r, code);
    else
        reply_ok(b, c, r, r->reply.shape, batch_barrier(b));
}
