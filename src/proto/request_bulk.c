/* Administrator: redrive, purge and history, which the manual does not have (they are
 * in holdfast-protocol(7)). A redrive is of one message, by "id", or of many, by
 * "count"; a purge is of many. Many are chosen by place, reason, age and publisher key.
 */
#include "base/limits.h"
#include "proto/fields.h"

#include <string.h>

#define OLDER_MOST_SECS (100 * 366 * 86400LL)

static bool
is_text(struct request_parser *p, const struct json_member *m, const char *text)
{
    struct slice found;
    return field_text(p, m, 16, &found) && slice_equal(found, slice_from_text(text));
}

static void
read_reason(struct request_parser *p, struct admin_bulk *bulk, uint16_t *code)
{
    static const struct {
        const char *name;
        enum dead_reason reason;
    } reasons[] = {
        {"nack", DEAD_NACK}, {"moved", DEAD_MOVED}, {"damaged", DEAD_DAMAGED}};
    const struct json_member *m = json_find(&p->object, "reason");
    if (m == NULL)
        return;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (is_text(p, m, reasons[i].name))
            bulk->reasons = (uint8_t)(1u << reasons[i].reason);
    if (bulk->reasons == 0)
        code_add(code, CODE_FILTER);
}

static void
read_filters(struct request_parser *p, struct admin_bulk *bulk, uint16_t *code)
{
    const struct json_member *key = json_find(&p->object, "publisherkey");
    const struct json_member *older = json_find(&p->object, "older");
    const struct json_member *dry = json_find(&p->object, "dryrun");
    struct slice text;
    read_reason(p, bulk, code);
    if (key != NULL) {
        if (field_text(p, key, sizeof bulk->key, &text) && text.size > 0) {
            memcpy(bulk->key, text.data, text.size);
            bulk->key_size = (uint8_t)text.size;
        } else {
            code_add(code, CODE_FILTER);
        }
    }
    if (older != NULL && !field_whole(older, 1, OLDER_MOST_SECS, &bulk->older_secs))
        code_add(code, CODE_FILTER);
    if (dry != NULL && !field_bool(dry, &bulk->is_dry))
        code_add(code, CODE_FILTER);
    if (bulk->place != BULK_DLQ && (bulk->reasons != 0 || bulk->older_secs != 0))
        code_add(code, CODE_FILTER); /* of dead letters only */
}

static void
read_many(struct request_parser *p, struct request *r, uint16_t *code)
{
    struct admin_fields *f = r->admin;
    const struct json_member *count = json_find(&p->object, "count");
    const struct json_member *after = json_find(&p->object, "after");
    f->bulk.has_after = after != NULL && field_id(p, after, &f->bulk.after);
    if (after != NULL && !f->bulk.has_after)
        code_add(code, CODE_AFTER);
    if (!field_whole(count, 1, LIMIT_SWEEP_MESSAGES, &f->count)) {
        code_add(code, CODE_COUNT);
        r->reply.number = count != NULL && count->type == JSON_NUMBER;
    }
    read_filters(p, &f->bulk, code);
}

bool
request_read_redrive(struct request_parser *p, struct request *r, uint16_t *code)
{
    const struct json_member *id = json_find(&p->object, "id");
    r->admin->bulk.place = BULK_DLQ;
    r->admin->bulk.is_one = id != NULL;
    if (id != NULL)
        r->admin->has_id = field_id(p, id, &r->admin->id);
    else
        read_many(p, r, code);
    return true;
}

bool
request_read_purge(struct request_parser *p, struct request *r, uint16_t *code)
{
    static const char *const names[] = {
        [BULK_WAITING] = "waiting", [BULK_ALL] = "all", [BULK_DLQ] = "dlq"};
    const struct json_member *place = json_find(&p->object, "place");
    bool is_good = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!is_text(p, place, names[i]))
            continue;
        r->admin->bulk.place = (enum bulk_place)i;
        is_good = true;
    }
    if (!is_good)
        code_add(code, CODE_PLACE);
    read_many(p, r, code);
    return true;
}
