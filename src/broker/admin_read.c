/* What administrators read: see the header. Pages come from the trees that are ordered
 * by id, so a page costs its own length, wherever it begins. */
#include "broker/admin_read.h"

#include "base/mem.h"
#include "broker/inside.h"
#include "broker/stats.h"

#include <assert.h>

#define CODE_NO_MEMORY 501

static bool
is_of_dlq(enum admin_command command)
{
    return command == ADMIN_GETDLQMSGS || command == ADMIN_GETDLQMSG ||
           command == ADMIN_DELDLQMSG;
}

struct message *
admin_find_message(const struct part *part, const struct admin_fields *fields)
{
    if (!fields->has_id)
        return NULL;
    struct message *m = queue_message(part->queue, &fields->id);
    if (m == NULL || (m->place == PLACE_DEAD) != is_of_dlq(fields->command))
        return NULL;
    assert(m->place != PLACE_NONE);
    return m;
}

static struct message_view
view_of(const struct message *m)
{
    return (struct message_view){
        .id = m->id,
        .received_ms = m->received_ms,
        .body_size = m->body_size,
        .delay_secs = m->delay_secs,
        .key_size = m->key_size,
        .type = m->type,
        .durability = m->durability,
        .is_damaged = m->place == PLACE_DEAD && m->dead_reason == DEAD_DAMAGED,
    };
}

unsigned
admin_read_message(struct message *m, struct request *r)
{
    struct message_view *view = mem_try_alloc(sizeof *view);
    if (view == NULL)
        return CODE_NO_MEMORY;
    *view = view_of(m);
    view->body = blob_get(m->body);
    r->reply.shape = REPLY_MESSAGE;
    r->reply.id = m->id;
    r->reply.rows = view;
    r->reply.row_count = 1;
    return 0;
}

unsigned
admin_read_story(const struct part *part, uint64_t now_ms, struct request *r)
{
    const struct message *m =
        r->admin->has_id ? queue_message(part->queue, &r->admin->id) : NULL;
    if (m == NULL)
        return 301;
    struct message_story *story = mem_try_alloc(sizeof *story);
    if (story == NULL)
        return CODE_NO_MEMORY;
    message_story(m, now_ms, story);
    r->reply.shape = REPLY_STORY;
    r->reply.story = story;
    return 0;
}

static int
compare_id(const void *key, const struct tree_node *node)
{
    return uuid_compare(key, &CONTAINER_OF(node, struct message, in_ids)->id);
}

/* The first message of the page. */
static struct tree_node *
page_begin(const struct tree *tree, const struct admin_fields *fields)
{
    if (!fields->is_before)
        return fields->is_open ? tree_first(tree)
                               : tree_lower(tree, &fields->id, true, compare_id);
    struct tree_node *node =
        fields->is_open ? NULL : tree_lower(tree, &fields->id, false, compare_id);
    node = node == NULL ? tree_last(tree) : tree_prev(node);
    for (uint32_t i = 1; node != NULL && i < fields->count; i++) {
        struct tree_node *before = tree_prev(node);
        if (before == NULL)
            break;
        node = before;
    }
    return node;
}

/* A page of before ends in front of its id. */
static bool
is_in_page(const struct tree_node *node, const struct admin_fields *fields)
{
    return node != NULL &&
           (!fields->is_before || fields->is_open || compare_id(&fields->id, node) > 0);
}

unsigned
admin_read_list(const struct part *part, struct request *r)
{
    const struct admin_fields *fields = r->admin;
    const struct queue *q = part->queue;
    const struct tree *tree = is_of_dlq(fields->command) ? &q->dead : &q->messages;
    uint32_t most = fields->count < LIMIT_LIST_COUNT ? fields->count : LIMIT_LIST_COUNT;
    if (most > tree->count)
        most = (uint32_t)tree->count;
    r->reply.shape = REPLY_LIST;
    if (most == 0)
        return 0;
    struct message_view *rows = mem_try_calloc(most, sizeof *rows);
    if (rows == NULL)
        return CODE_NO_MEMORY;
    uint32_t count = 0;
    struct tree_node *node = page_begin(tree, fields);
    for (; count < most && is_in_page(node, fields); node = tree_next(node))
        rows[count++] = view_of(CONTAINER_OF(node, struct message, in_ids));
    r->reply.rows = rows;
    r->reply.row_count = count;
    return 0;
}

unsigned
admin_read_config(const struct part *part, struct request *r)
{
    const struct queue *q = part->queue;
    uint64_t *config = mem_try_calloc(SETTING_COUNT + 1, sizeof *config);
    if (config == NULL)
        return CODE_NO_MEMORY;
    for (unsigned id = 0; id < SETTING_COUNT; id++)
        config[id] = q->settings[id];
    config[SETTING_COUNT] = q->counts.memory_bytes;
    r->reply.shape = REPLY_CONFIG;
    r->reply.config = config;
    return 0;
}

unsigned
admin_check_day(const struct part *part, struct request *r)
{
    uint64_t created_ms = part->queue->created_ms;
    if (!r->admin->has_date || r->admin->day >= created_ms / STATS_DAY_MS)
        return 0;
    r->reply.number = created_ms;
    return 407;
}

unsigned
admin_read_history(const struct part *part, struct request *r)
{
    bool is_usage = r->admin->command == ADMIN_GETUSAGE;
    struct history_view *rows = NULL;
    uint32_t count = 0;
    enum status status = stats_read(part, is_usage, r->admin->day, &rows, &count);
    if (status != ST_OK)
        return CODE_NO_MEMORY;
    if (r->admin->flag && count > 0) {
        rows[0] = stats_summary(rows, count, is_usage);
        rows[0].at_secs = r->admin->day * (STATS_DAY_MS / 1000);
        count = 1;
    }
    r->reply.shape = is_usage ? REPLY_USAGE : REPLY_STATS;
    r->reply.history = rows;
    r->reply.row_count = count;
    return 0;
}
