/* Verbs that only records use: queues, logins, settings, history, epochs.
 *
 * The epoch rule (manual, "Resume after a drop", for a queue that restarts): every
 * connection was lost, so in each queue, in line order,
 *   - a session that was saved already has its time limit start anew;
 *   - one that holds a durable message is saved;
 *   - one that holds none but has received one is saved while fewer than max-tasks are;
 *   - any other ends.
 * Only what is replicated is asked, so every node does the same. */
#include "queue/admin.h"

#include "base/limits.h"
#include "base/mem.h"
#include "queue/history.h"
#include "queue/journal_notes.h"
#include "queue/place.h"

#include <assert.h>
#include <string.h>

struct queue *
queue_create(struct state *s,
             uint32_t number,
             const struct record_queue_create *create,
             uint64_t now_ms)
{
    assert(number >= s->next_queue && "queue numbers only grow");
    assert(create->name.size > 0 && create->name.size <= LIMIT_QUEUE_NAME_BYTES);
    assert(state_queue_by_name(s, create->name) == NULL && "this queue exists");
    struct queue *q = queue_new(number);
    q->tier = create->tier;
    memcpy(q->name, create->name.data, create->name.size);
    q->created_ms = now_ms;
    memcpy(q->settings, create->settings, sizeof q->settings);
    memcpy(q->logins, create->logins, sizeof q->logins);
    struct note *note = journal_note(s, NOTE_QUEUE_NEW);
    if (note != NULL) {
        note->queue.queue = q;
        note->queue.old_next = s->next_queue;
    }
    s->next_queue = number + 1;
    place_queue(s, q);
    return q;
}

void
queue_delete(struct state *s, struct queue *q)
{
    queue_drop_volatile(s, q);
    struct note *note = journal_note(s, NOTE_QUEUE_GONE);
    unplace_queue(s, q);
    if (note != NULL)
        note->queue.queue = q; /* and its pin */
    else
        queue_unpin(s, q);
}

void
queue_set_login(struct state *s, struct queue *q, const struct record_login_set *set)
{
    struct login_secret *login = &q->logins[set->role];
    struct note *note = journal_note(s, NOTE_LOGIN);
    if (note != NULL) {
        note->login.queue = q;
        note->login.role = set->role;
        note->login.old = mem_alloc(sizeof *login);
        *note->login.old = *login;
    }
    *login = set->login;
    s->directory_version++;
}

void
queue_set_settings(struct state *s,
                   struct queue *q,
                   const struct record_settings_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        enum setting_id id = set->items[i].id;
        struct note *note = journal_note(s, NOTE_SETTING);
        if (note != NULL) {
            note->setting.queue = q;
            note->setting.id = id;
            note->setting.old = q->settings[id];
        }
        q->settings[id] = set->items[i].value;
    }
    s->directory_version++;
}

static void
add_row(struct state *s, struct history *history, const struct history_row *row)
{
    struct note *note = journal_note(s, NOTE_ROW);
    if (note != NULL)
        note->history.history = history;
    history_add(history, row);
}

void
queue_add_stats(struct state *s, struct queue *q, const struct record_stats_row *row)
{
    struct history_row kept = {.at_secs = row->at_secs};
    memcpy(kept.columns, row->columns, sizeof row->columns);
    add_row(s, q->stats, &kept);
}

void
queue_add_usage(struct state *s, struct queue *q, const struct record_usage_row *row)
{
    struct history_row kept = {.at_secs = row->at_secs};
    memcpy(kept.columns, row->columns, sizeof row->columns);
    kept.columns[USAGE_COLUMNS] = row->has_ipv4;
    add_row(s, q->usage, &kept);
}

void
queue_trim(struct state *s, struct queue *q, bool is_usage, uint64_t before_day)
{
    struct history *history = is_usage ? q->usage : q->stats;
    struct note *note = journal_note(s, NOTE_TRIM);
    struct history *cut = history_cut(history, before_day);
    if (note != NULL) {
        note->history.history = history;
        note->history.cut = cut;
    } else {
        history_free(cut);
    }
}

static bool
holds_durable(const struct session *x)
{
    LIST_FOREACH (node, &x->held) {
        if (CONTAINER_OF(node, struct message, in_held)->durability > 0)
            return true;
    }
    return false;
}

void
state_raise_level(struct state *s, uint32_t level)
{
    if (level <= s->level)
        return;
    struct note *note = journal_note(s, NOTE_LEVEL);
    if (note != NULL)
        note->level.old = s->level;
    s->level = level;
}

static void
epoch_session(struct state *s, struct session *x, uint64_t now_ms)
{
    struct queue *q = x->queue;
    bool has_room = q->counts.saved_sessions < q->settings[SETTING_MAX_TASKS];
    if (x->has_prev && x->is_prev_forgotten)
        session_link_prev(x);
    if (x->is_saved || holds_durable(x) || (x->has_received && has_room))
        session_save(s, x, now_ms);
    else
        session_end(s, x, q->next_order, now_ms); /* nothing durable gets an order */
}

void
state_epoch(struct state *s, uint64_t leader, uint64_t now_ms)
{
    struct note *note = journal_note(s, NOTE_EPOCH);
    if (note != NULL) {
        note->epoch.old_leader = s->epoch_leader;
        note->epoch.old_floor_ms = s->epoch_floor_ms;
    }
    s->epoch_leader = leader;
    s->epoch_floor_ms = s->stamp_ms;
    LIST_FOREACH (node, &s->queues) {
        struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        struct tree_node *next = tree_first(&q->line);
        while (next != NULL) {
            struct session *x = CONTAINER_OF(next, struct session, in_line);
            next = tree_next(next);
            epoch_session(s, x, now_ms);
        }
    }
}
