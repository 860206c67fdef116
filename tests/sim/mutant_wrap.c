/* The mutants of the broker and the queue. The linker puts the functions below between
 * the parts of the real code (--wrap, files.mk): a call of NAME comes to __wrap_NAME,
 * and __real_NAME is the real one. Without a mutant each passes on what it is given. */
#include "broker/batch.h"
#include "broker/clock.h"
#include "broker/effects.h"
#include "broker/inside.h"
#include "mutant.h"
#include "queue/admin.h"
#include "queue/image.h"
#include "queue/journal_notes.h"
#include "queue/place.h"

#include <string.h>

/* --- broker --- */

bool
__real_broker_take_batch(struct broker *b, uint64_t now_ms, struct batch *ret_batch);
bool
__wrap_broker_take_batch(struct broker *b, uint64_t now_ms, struct batch *ret_batch);

bool
__wrap_broker_take_batch(struct broker *b, uint64_t now_ms, struct batch *ret_batch)
{
    bool is_there = __real_broker_take_batch(b, now_ms, ret_batch);
    if (is_there && mutant_breaks(BROKEN_FLAG))
        ret_batch->is_sync = false;
    return is_there;
}

void __real_reply_id(struct broker *b,
                     struct client *c,
                     struct request *r,
                     const struct uuid *id,
                     uint64_t tag);
void __wrap_reply_id(struct broker *b,
                     struct client *c,
                     struct request *r,
                     const struct uuid *id,
                     uint64_t tag);

void
__wrap_reply_id(struct broker *b,
                struct client *c,
                struct request *r,
                const struct uuid *id,
                uint64_t tag)
{
    __real_reply_id(b, c, r, id, mutant_breaks(BROKEN_EARLY) ? TAG_NONE : tag);
}

uint64_t __real_batch_barrier(struct broker *b);
uint64_t __wrap_batch_barrier(struct broker *b);

/* A frozen leader still waits: that is another mutant. */
uint64_t
__wrap_batch_barrier(struct broker *b)
{
    if (mutant_breaks(BROKEN_READ) && !b->is_held)
        return TAG_NONE;
    return __real_batch_barrier(b);
}

void __real_clock_tick(struct clock *c, uint64_t now_ms, uint64_t wall_ms);
void __wrap_clock_tick(struct clock *c, uint64_t now_ms, uint64_t wall_ms);

void
__wrap_clock_tick(struct clock *c, uint64_t now_ms, uint64_t wall_ms)
{
    if (mutant_breaks(BROKEN_CLOCK) && wall_ms > c->time_ms)
        c->time_ms = wall_ms;
    __real_clock_tick(c, now_ms, wall_ms);
}

/* --- queue --- */

struct note *__real_journal_note(struct state *s, enum note_kind kind);
struct note *__wrap_journal_note(struct state *s, enum note_kind kind);

struct note *
__wrap_journal_note(struct state *s, enum note_kind kind)
{
    if (mutant_breaks(BROKEN_UNDO) && kind == NOTE_SESSION)
        return NULL;
    return __real_journal_note(s, kind);
}

void __real_state_apply(struct state *s, uint64_t index, struct slice entry);
void __wrap_state_apply(struct state *s, uint64_t index, struct slice entry);

/* An entry that is applied again some entries later, as far as that says nothing: a
 * session that was saved is saved once more. On one node at a time. */
void
__wrap_state_apply(struct state *s, uint64_t index, struct slice entry)
{
    static const struct state *whose;
    static struct record again;
    static uint64_t stamp_ms;
    static uint64_t due;
    struct entry_reader reader;
    struct record record;
    __real_state_apply(s, index, entry);
    if (!mutant_breaks(BROKEN_TWICE) || s->journal != NULL ||
        entry_open(&reader, entry) != ST_OK)
        return;
    const struct queue *q = whose == s ? state_queue(s, again.queue) : NULL;
    if (q != NULL && index >= due) {
        if (queue_session_by_number(q, again.session.session) != NULL)
            state_apply_record(s, &again, stamp_ms);
        whose = NULL;
    }
    while (whose == NULL && entry_next(&reader, &record) == ST_OK)
        if (record.type == RECORD_SESSION_SAVE) {
            whose = s;
            again = record;
            stamp_ms = reader.stamp_ms;
            due = index + 20;
        }
}

/* The first message that a session holds for which a connection may come back. */
static void
drop_a_hold(struct state *s, uint64_t now_ms)
{
    LIST_FOREACH (node, &s->queues) {
        struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        for (struct tree_node *t = tree_first(&q->line); t != NULL; t = tree_next(t)) {
            const struct session *x = CONTAINER_OF(t, struct session, in_line);
            const struct list_node *first = list_first(&x->held);
            if (first == NULL)
                continue;
            struct message *m = CONTAINER_OF(first, struct message, in_held);
            message_release(s, m, m->order, now_ms);
            return;
        }
    }
}

void __real_state_epoch(struct state *s, uint64_t leader, uint64_t now_ms);
void __wrap_state_epoch(struct state *s, uint64_t leader, uint64_t now_ms);

void
__wrap_state_epoch(struct state *s, uint64_t leader, uint64_t now_ms)
{
    uint64_t floor_ms = s->epoch_floor_ms;
    if (mutant_breaks(BROKEN_EPOCH)) {
        s->epoch_leader = leader;
        s->epoch_floor_ms = s->stamp_ms;
        return;
    }
    __real_state_epoch(s, leader, now_ms);
    if (mutant_breaks(BROKEN_FLOOR))
        s->epoch_floor_ms = floor_ms;
    if (mutant_breaks(BROKEN_HOLD))
        drop_a_hold(s, now_ms);
}

struct message *__real_queue_publish(struct state *s,
                                     struct queue *q,
                                     const struct record_publish *fields,
                                     struct blob *body_and_key,
                                     uint8_t key_size);
struct message *__wrap_queue_publish(struct state *s,
                                     struct queue *q,
                                     const struct record_publish *fields,
                                     struct blob *body_and_key,
                                     uint8_t key_size);

struct message *
__wrap_queue_publish(struct state *s,
                     struct queue *q,
                     const struct record_publish *fields,
                     struct blob *body_and_key,
                     uint8_t key_size)
{
    struct message *m = __real_queue_publish(s, q, fields, body_and_key, key_size);
    if (mutant_breaks(BROKEN_DELAY) && m->delay_secs > 0) {
        struct message_spot spot = message_spot(m);
        spot.ready_ms -= 300;
        place_message(m, &spot);
    }
    return m;
}

void __real_message_to_dlq(struct state *s,
                           struct message *m,
                           enum dead_reason reason,
                           uint64_t now_ms);
void __wrap_message_to_dlq(struct state *s,
                           struct message *m,
                           enum dead_reason reason,
                           uint64_t now_ms);

void
__wrap_message_to_dlq(struct state *s,
                      struct message *m,
                      enum dead_reason reason,
                      uint64_t now_ms)
{
    if (mutant_breaks(BROKEN_NACK) && reason == DEAD_NACK)
        message_remove(s, m);
    else
        __real_message_to_dlq(s, m, reason, now_ms);
}

void __real_session_end(struct state *s,
                        struct session *x,
                        uint64_t first_order,
                        uint64_t now_ms);
void __wrap_session_end(struct state *s,
                        struct session *x,
                        uint64_t first_order,
                        uint64_t now_ms);

/* A durable one: those of durability 0 are not on every node. */
void
__wrap_session_end(struct state *s,
                   struct session *x,
                   uint64_t first_order,
                   uint64_t now_ms)
{
    if (mutant_breaks(BROKEN_END)) {
        LIST_FOREACH_SAFE (node, &x->held) {
            struct message *m = CONTAINER_OF(node, struct message, in_held);
            if (m->durability == 0)
                continue;
            message_remove(s, m);
            break;
        }
    }
    __real_session_end(s, x, first_order, now_ms);
}

enum status __real_image_loader_finish(struct image_loader *l,
                                       struct state **ret_state);
enum status __wrap_image_loader_finish(struct image_loader *l,
                                       struct state **ret_state);

/* The digest in the image was right: the loader is what is wrong. */
enum status
__wrap_image_loader_finish(struct image_loader *l, struct state **ret_state)
{
    enum status st = __real_image_loader_finish(l, ret_state);
    bool is_hole = mutant_breaks(BROKEN_IMAGE);
    if (st != ST_OK || (!is_hole && !mutant_breaks(BROKEN_BODY)))
        return st;
    LIST_FOREACH (node, &(*ret_state)->queues) {
        struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        struct tree_node *first = tree_first(&q->messages);
        if (first == NULL)
            continue;
        struct message *m = CONTAINER_OF(first, struct message, in_ids);
        if (is_hole && m->place == PLACE_WAITING)
            message_remove(*ret_state, m);
        else if (!is_hole && m->body->size > 20)
            m->body->data[20] ^= 1;
    }
    return st;
}
