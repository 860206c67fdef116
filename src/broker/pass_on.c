/* Passing on: what a leader that hands over does with its messages of durability 0.
 *
 * They are in no record but these, and these are written only when leadership moves on
 * purpose: a death of the leader still loses them (manual, "Durability"). The next
 * leader has them as they are, with their ids, and who holds them; one that was given
 * back waits again where it first was, for its return has no record. */
#include "base/limits.h"
#include "broker/inside.h"

#include <assert.h>

struct passing {
    struct broker *b;
    uint64_t room_bytes;
    uint64_t left_behind;
};

static void
pass_message(struct passing *p, struct part *part, const struct message *m)
{
    uint64_t cost = message_cost_bytes(m);
    if (m->durability > 0)
        return;
    if (cost > p->room_bytes) {
        p->room_bytes = 0; /* nothing newer goes instead */
        p->left_behind++;
        return;
    }
    p->room_bytes -= cost;
    batch_begin(p->b, false);
    struct record record;
    record.type = RECORD_PUBLISH;
    record.queue = part->queue->number;
    record.publish = (struct record_publish){
        .id = m->id,
        .order = m->order,
        .received_ms = m->received_ms,
        .delay_secs = m->delay_secs,
        .type = m->type,
        .key = message_key(m),
        .body = message_body(m),
        .body_crc = m->body_crc,
    };
    batch_add(p->b, part, &record);
    if (m->place != PLACE_HELD)
        return;
    struct record_message fields = {.id = m->id, .session = m->holder->number};
    batch_add_message(p->b, part, RECORD_ASSIGN, &fields);
}

/* What is held comes in the order of each session's list, so that a replay does too. */
static void
pass_queue(struct passing *p, struct queue *q)
{
    struct part *part = part_of(q);
    struct tree_node *n;
    for (n = tree_first(&q->line); n != NULL; n = tree_next(n)) {
        const struct session *x = CONTAINER_OF(n, struct session, in_line);
        LIST_FOREACH (node, &x->held)
            pass_message(p, part, CONTAINER_OF(node, struct message, in_held));
    }
    for (n = tree_first(&q->waiting); n != NULL; n = tree_next(n))
        pass_message(p, part, CONTAINER_OF(n, struct message, in_waiting));
}

uint64_t
broker_pass_on(struct broker *b)
{
    struct passing passing = {.b = b, .room_bytes = LIMIT_PASS_ON_BYTES};
    assert(b->is_leading);
    LIST_FOREACH (node, &b->state->queues) {
        struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        if (q->counts.messages > q->counts.durable)
            pass_queue(&passing, q);
    }
    return passing.left_behind;
}

/* Not a barrier: the record must come behind what is passed on, in one batch too. */
void
broker_keep(struct broker *b)
{
    assert(b->is_leading);
    batch_begin(b, false);
    struct record record;
    record.type = RECORD_NOOP;
    record.queue = 0;
    batch_add(b, NULL, &record);
    b->volatile_tag = batch_open_number(b);
}
