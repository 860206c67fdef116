/* What becomes of the journal's notes: a commit forgets them and frees what is gone for
 * good, a rollback puts back what they say, newest first. */
#include "queue/journal.h"

#include "base/mem.h"
#include "queue/history.h"
#include "queue/image.h"
#include "queue/journal_notes.h"
#include "queue/place.h"

#include <assert.h>

/* The change stands. */
static void
forget(struct state *s, const struct note *note)
{
    switch (note->kind) {
    case NOTE_MARK:
        journal_set_base(s->journal, note->mark.index, note->mark.stamp_ms);
        break;
    case NOTE_MESSAGE:
        if (note->message.is_gone)
            message_free(s, note->message.message);
        break;
    case NOTE_SESSION_GONE:
        mem_free(note->session.session);
        break;
    case NOTE_QUEUE_GONE:
        queue_unpin(s, note->queue.queue);
        break;
    case NOTE_LOGIN:
        mem_free(note->login.old);
        break;
    case NOTE_TRIM:
        history_free(note->history.cut);
        break;
    case NOTE_SESSION:
    case NOTE_SESSION_NEW:
    case NOTE_QUEUE_NEW:
    case NOTE_SETTING:
    case NOTE_ROW:
    case NOTE_EPOCH:
    case NOTE_LEVEL:
    case NOTE_TRAIL:
        break;
    }
}

static void
undo_message(struct state *s, struct message *m, const struct message_spot *old)
{
    if (s->image != NULL)
        image_touch(s->image, m);
    if (m->place == PLACE_NONE)
        m->image_mark = s->image_mark; /* gone when the image began, or in it already */
    if (m->place == PLACE_HELD)
        m->holder->next_held = m->held_order;
    place_message(m, old);
    if (old->place == PLACE_NONE)
        message_free(s, m);
}

static void
undo_session_new(struct session *x, uint64_t old_next)
{
    unplace_session(x);
    x->queue->next_session = old_next;
    mem_free(x);
}

static void
undo_queue_new(struct state *s, struct queue *q, uint32_t old_next)
{
    unplace_queue(s, q);
    s->next_queue = old_next;
    queue_unpin(s, q);
}

static void
undo_queue_gone(struct state *s, struct queue *q)
{
    place_queue(s, q);
    queue_unpin(s, q); /* the journal's */
}

static void
undo(struct state *s, const struct note *note)
{
    switch (note->kind) {
    case NOTE_MARK:
        break;
    case NOTE_MESSAGE:
        undo_message(s, note->message.message, &note->message.old);
        break;
    case NOTE_SESSION:
        session_set_fields(note->session.session, &note->session.old);
        break;
    case NOTE_SESSION_NEW:
        undo_session_new(note->session_new.session, note->session_new.old_next);
        break;
    case NOTE_SESSION_GONE:
        place_session(note->session.session);
        break;
    case NOTE_QUEUE_NEW:
        undo_queue_new(s, note->queue.queue, note->queue.old_next);
        break;
    case NOTE_QUEUE_GONE:
        undo_queue_gone(s, note->queue.queue);
        break;
    case NOTE_LOGIN:
        note->login.queue->logins[note->login.role] = *note->login.old;
        mem_free(note->login.old);
        s->directory_version++;
        break;
    case NOTE_SETTING:
        note->setting.queue->settings[note->setting.id] = note->setting.old;
        s->directory_version++;
        break;
    case NOTE_ROW:
        history_remove_last(note->history.history);
        break;
    case NOTE_TRIM:
        history_uncut(note->history.history, note->history.cut);
        break;
    case NOTE_EPOCH:
        s->epoch_leader = note->epoch.old_leader;
        s->epoch_floor_ms = note->epoch.old_floor_ms;
        break;
    case NOTE_LEVEL:
        s->level = note->level.old;
        break;
    case NOTE_TRAIL:
        if (s->image != NULL)
            image_touch(s->image, note->trail.message);
        trail_undo(note->trail.message,
                   note->trail.has_lost ? &note->trail.lost : NULL);
        break;
    }
}

void
journal_commit(struct state *s, uint64_t index)
{
    assert(s->journal != NULL);
    for (size_t left = journal_committed(s->journal, index); left > 0; left--) {
        struct note note = *journal_oldest(s->journal);
        journal_drop_oldest(s->journal);
        forget(s, &note);
    }
}

static bool
has_volatile(const struct state *s)
{
    LIST_FOREACH (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        if (q->counts.messages != q->counts.durable)
            return true;
    }
    return false;
}

void
journal_rollback(struct state *s)
{
    struct journal *j = s->journal;
    assert(j != NULL);
    assert(!has_volatile(s) && "messages of durability 0 are dropped first");
    if (journal_is_empty(j))
        return;
    struct note *newest;
    while ((newest = journal_newest(j)) != NULL) {
        struct note note = *newest;
        journal_drop_newest(j);
        undo(s, &note);
    }
    journal_base(j, &s->applied, &s->stamp_ms);
}
