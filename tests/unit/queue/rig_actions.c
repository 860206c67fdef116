/* Rig: random actions of a leader, in proportions that keep queues small and sessions
 * busy, so that every verb meets every place. */
#include "queue/level.h"
#include "queue/sweep.h"
#include "rig.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define MAX_TASKS 3
#define WALK_MAX  40

/* A node some steps from one end of a tree; NULL when it is empty. */
static struct tree_node *
pick_node(struct rig *rig, const struct tree *tree)
{
    struct tree_node *node = tree_first(tree);
    uint64_t steps = tree->count == 0 ? 0 : rig_random(rig, tree->count);
    for (steps %= WALK_MAX; steps > 0 && node != NULL; steps--)
        node = tree_next(node);
    return node;
}

static struct session *
pick_session(struct rig *rig, const struct queue *q)
{
    struct tree_node *node = pick_node(rig, &q->line);
    return node == NULL ? NULL : CONTAINER_OF(node, struct session, in_line);
}

static struct message *
pick_message(struct rig *rig, const struct tree *ids)
{
    struct tree_node *node = pick_node(rig, ids);
    return node == NULL ? NULL : CONTAINER_OF(node, struct message, in_ids);
}

static struct message *
pick_held(struct rig *rig, const struct queue *q)
{
    struct session *x = pick_session(rig, q);
    if (x == NULL || x->held_count == 0)
        return NULL;
    struct list_node *node = list_first(&x->held);
    for (uint64_t steps = rig_random(rig, x->held_count); steps > 0; steps--)
        node = node->next;
    return CONTAINER_OF(node, struct message, in_held);
}

static struct queue *
pick_queue(struct rig *rig)
{
    struct state *s = rig->a;
    if (s->queue_count == 0)
        return NULL;
    struct list_node *node = list_first(&s->queues);
    for (uint64_t steps = rig_random(rig, s->queue_count); steps > 0; steps--)
        node = node->next;
    return CONTAINER_OF(node, struct queue, in_state);
}

static void
log_message(struct rig *rig,
            enum record_type type,
            const struct message *m,
            uint64_t order)
{
    struct record record = {.type = type, .queue = m->queue->number};
    record.message.id = m->id;
    record.message.order = order;
    if (m->durability > 0)
        rig_log(rig, &record);
}

static void
act_publish(struct rig *rig, struct queue *q)
{
    char body[64];
    (void)snprintf(body, sizeof body, "%0*llu", (int)rig_random(rig, 40),
                   (unsigned long long)rig->next_id);
    rig_publish(rig, q, (uint8_t)rig_random(rig, 3), body);
}

static void
act_assign(struct rig *rig, struct queue *q)
{
    struct session *x = pick_session(rig, q);
    struct tree_node *node = pick_node(rig, &q->waiting);
    if (x != NULL && node != NULL && x->held_count < x->capacity)
        rig_assign(rig, CONTAINER_OF(node, struct message, in_waiting), x);
}

static void
act_held(struct rig *rig, struct queue *q)
{
    struct message *m = pick_held(rig, q);
    if (m == NULL)
        return;
    uint64_t choice = rig_random(rig, 4);
    if (choice < 2) {
        log_message(rig, RECORD_ACK, m, 0);
        message_remove(rig->a, m);
    } else if (choice == 2 && m->durability > 0) {
        log_message(rig, RECORD_NACK, m, 0);
        message_to_dlq(rig->a, m, DEAD_NACK, rig->now_ms);
    } else {
        uint64_t order = q->next_order;
        log_message(rig, RECORD_RELEASE, m, order);
        message_release(rig->a, m, order, rig->now_ms);
    }
}

static void
act_delete(struct rig *rig, struct queue *q)
{
    struct message *m = pick_message(rig, &q->messages);
    if (m == NULL)
        return;
    if (m->durability > 0 && rig_random(rig, 2) == 0) {
        log_message(rig, RECORD_MOVE_TO_DLQ, m, 0);
        message_to_dlq(rig->a, m, DEAD_MOVED, rig->now_ms);
        return;
    }
    log_message(rig, RECORD_DELETE, m, 0);
    message_remove(rig->a, m);
}

static void
act_dead(struct rig *rig, struct queue *q)
{
    struct message *m = pick_message(rig, &q->dead);
    if (m == NULL)
        return;
    if (rig_random(rig, 2) == 0) {
        log_message(rig, RECORD_DLQ_DELETE, m, 0);
        message_remove(rig->a, m);
        return;
    }
    uint64_t order = q->next_order;
    log_message(rig, RECORD_REDRIVE, m, order);
    message_release(rig->a, m, order, rig->now_ms);
}

static void
act_session(struct rig *rig, struct queue *q)
{
    struct session *x = pick_session(rig, q);
    struct record record = {.queue = q->number};
    if (x == NULL || (q->line.count < 6 && rig_random(rig, 3) == 0)) {
        rig_session(rig, q, 1 + (uint32_t)rig_random(rig, 5));
        return;
    }
    record.session.session = x->number;
    record.session.capacity = 1 + (uint32_t)rig_random(rig, 5);
    uint64_t choice = rig_random(rig, 5);
    if (choice == 0) {
        bool is_close = rig->a->level > HF_LEVEL_FIRST && rig_random(rig, 2) == 0;
        record.type = is_close ? RECORD_SESSION_CLOSE : RECORD_SESSION_END;
        record.session.order = q->next_order;
        rig_log(rig, &record);
        if (is_close)
            session_close(rig->a, x, record.session.order, rig->now_ms);
        else
            session_end(rig->a, x, record.session.order, rig->now_ms);
    } else if (choice == 1 && x->is_saved) {
        record.type = RECORD_SESSION_RESUME;
        record.session.id = rig_id(rig);
        rig_log(rig, &record);
        session_resume(rig->a, x, &record.session.id, record.session.capacity);
        if (rig_random(rig, 2) == 0)
            session_forget_prev(x);
    } else if (choice == 2) {
        record.type = RECORD_SESSION_CAPACITY;
        rig_log(rig, &record);
        session_set_capacity(rig->a, x, record.session.capacity);
    } else if (choice == 3) {
        record.type = RECORD_SESSION_RECEIVED;
        rig_log(rig, &record);
        session_received(rig->a, x);
    } else {
        record.type = RECORD_SESSION_SAVE;
        rig_log(rig, &record);
        session_save(rig->a, x, rig->now_ms);
    }
}

static void
act_admin(struct rig *rig, struct queue *q)
{
    static const enum record_type types[] = {RECORD_LOGIN_SET, RECORD_SETTINGS_SET,
                                             RECORD_STATS_ROW, RECORD_USAGE_ROW,
                                             RECORD_HISTORY_TRIM};
    struct record record = rig_sample(types[rig_random(rig, 5)]);
    record.queue = q->number;
    if (record.type == RECORD_LOGIN_SET)
        record.login.login.n = (uint32_t)rig_random(rig, 1000);
    if (record.type == RECORD_SETTINGS_SET)
        record.settings.items[0].value = 1024 + rig_random(rig, 1000);
    if (record.type == RECORD_STATS_ROW) {
        record.stats.at_secs = rig->now_ms / 1000 * 50; /* many days pass */
        record.stats.columns[0] = rig_random(rig, 1000);
    }
    if (record.type == RECORD_USAGE_ROW)
        record.usage.at_secs = rig->now_ms / 1000 * 50;
    if (record.type == RECORD_HISTORY_TRIM) {
        record.trim_usage = (uint8_t)rig_random(rig, 2);
        record.before_day = rig->now_ms / 1000 * 50 / 86400 - rig_random(rig, 3);
    }
    rig_do(rig, &record);
}

/* Queues come and go, and leaders too. */
static void
act_rare(struct rig *rig, struct queue *q)
{
    char name[32];
    struct record record = {.type = RECORD_EPOCH, .leader = 1 + rig_random(rig, 3)};
    uint64_t choice = rig_random(rig, 4);
    if (choice == 0 && rig->a->queue_count < 3) {
        (void)snprintf(name, sizeof name, "q%u", rig->a->next_queue);
        rig_queue(rig, name, MAX_TASKS);
    } else if (choice == 1 && rig->a->queue_count > 1) {
        record.type = RECORD_QUEUE_DELETE;
        record.queue = q->number;
        rig_do(rig, &record);
    } else if (choice == 2) {
        record.type = RECORD_LEVEL;
        record.level = 1 + (uint32_t)rig_random(rig, HF_LEVEL_NOW);
        rig_do(rig, &record);
    } else {
        rig_do(rig, &record);
    }
}

/* Of the durable ones between two ids: what every node finds. */
static uint32_t
count_sweep(const struct queue *q, const struct record_sweep *fields)
{
    struct sweep sweep;
    const struct message *m;
    uint32_t count = 0;
    sweep_begin(&sweep, q, fields);
    while ((m = sweep_next(&sweep)) != NULL)
        count += m->durability > 0;
    return count;
}

static void
act_sweep(struct rig *rig, struct queue *q)
{
    static const uint8_t places[] = {SWEEP_DEAD, SWEEP_DEAD, SWEEP_WAITING, SWEEP_HELD,
                                     SWEEP_WAITING | SWEEP_HELD};
    struct record record;
    memset(&record, 0, sizeof record);
    struct record_sweep *fields = &record.sweep;
    fields->places = places[rig_random(rig, 5)];
    fields->is_redrive = fields->places == SWEEP_DEAD && rig_random(rig, 2) == 0;
    record.type = fields->is_redrive ? RECORD_REDRIVE_SOME : RECORD_PURGE;
    record.queue = q->number;
    struct message *from =
        pick_message(rig, fields->places == SWEEP_DEAD ? &q->dead : &q->messages);
    if (from == NULL)
        return;
    if (rig_random(rig, 2) == 0)
        fields->first = from->id;
    memset(&fields->last, 0xff, sizeof fields->last);
    if (rig_random(rig, 2) == 0)
        fields->last = from->id;
    if (fields->places == SWEEP_DEAD) {
        fields->reasons = (uint8_t)rig_random(rig, 8);
        fields->before_ms = rig_random(rig, 2) * rig->now_ms;
    }
    if (fields->is_redrive)
        fields->order = q->next_order;
    fields->count = count_sweep(q, fields);
    if (fields->count > 0)
        rig_do(rig, &record);
}

void
rig_act(struct rig *rig)
{
    struct queue *q = pick_queue(rig);
    if (q == NULL) {
        rig_queue(rig, "first", MAX_TASKS);
        return;
    }
    uint64_t choice = rig_random(rig, 200);
    if (choice < 70)
        act_publish(rig, q);
    else if (choice < 120)
        act_assign(rig, q);
    else if (choice < 155)
        act_held(rig, q);
    else if (choice < 165)
        act_delete(rig, q);
    else if (choice < 172)
        act_dead(rig, q);
    else if (choice < 174 && rig->a->level >= HF_LEVEL_SWEEPS)
        act_sweep(rig, q);
    else if (choice < 190)
        act_session(rig, q);
    else if (choice < 198)
        act_admin(rig, q);
    else
        act_rare(rig, q);
}
