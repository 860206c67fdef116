/* Verbs of sessions, but for the end of one, which is about messages (message.c).
 *
 *              open                 save
 *      (none) ------> connected -----------> saved -+
 *        ^                |  ^                |  ^  | save: its time starts anew
 *        |       end      |  |     resume     |  +--+
 *        +----------------+  +----------------+
 *        |                                    |
 *        +------------------------------------+ end
 *
 * Sessions are small and few: an image holds them from its beginning, so only the
 * journal has to be told. */
#include "queue/state.h"

#include "base/limits.h"
#include "base/mem.h"
#include "queue/journal_notes.h"
#include "queue/place.h"

#include <assert.h>

struct session *
session_open(struct state *s,
             struct queue *q,
             uint64_t number,
             const struct uuid *id,
             uint32_t capacity)
{
    assert(number >= q->next_session && "session numbers only grow");
    assert(queue_session(q, id) == NULL && "this session id is taken");
    assert(capacity > 0 && capacity <= LIMIT_CAPACITY);
    struct session *x = mem_calloc(1, sizeof *x);
    x->queue = q;
    x->id = *id;
    x->number = number;
    x->capacity = capacity;
    x->next_held = 1;
    list_init(&x->held);
    struct note *note = journal_note(s, NOTE_SESSION_NEW);
    if (note != NULL) {
        note->session_new.session = x;
        note->session_new.old_next = q->next_session;
    }
    q->next_session = number + 1;
    place_session(x);
    return x;
}

static void
change(struct state *s, struct session *x, const struct session_fields *fields)
{
    struct note *note = journal_note(s, NOTE_SESSION);
    if (note != NULL) {
        note->session.session = x;
        note->session.old = session_fields(x);
    }
    session_set_fields(x, fields);
}

void
session_resume(struct state *s,
               struct session *x,
               const struct uuid *id,
               uint32_t capacity)
{
    assert(x->is_saved && "only a saved session can be resumed");
    assert(queue_session(x->queue, id) == NULL && "this session id is taken");
    assert(capacity > 0 && capacity <= LIMIT_CAPACITY);
    struct session_fields fields = session_fields(x);
    fields.prev_id = x->id;
    fields.has_prev = true;
    fields.id = *id;
    fields.capacity = capacity;
    fields.is_saved = false;
    fields.saved_ms = 0;
    change(s, x, &fields);
}

void
session_forget_prev(struct session *x)
{
    if (x->has_prev && !x->is_prev_forgotten)
        session_unlink_prev(x);
}

void
session_set_capacity(struct state *s, struct session *x, uint32_t capacity)
{
    assert(capacity > 0 && capacity <= LIMIT_CAPACITY);
    struct session_fields fields = session_fields(x);
    fields.capacity = capacity;
    change(s, x, &fields);
}

void
session_save(struct state *s, struct session *x, uint64_t now_ms)
{
    struct session_fields fields = session_fields(x);
    fields.is_saved = true;
    fields.saved_ms = now_ms;
    change(s, x, &fields);
}

void
session_received(struct state *s, struct session *x)
{
    if (x->has_received)
        return;
    struct session_fields fields = session_fields(x);
    fields.has_received = true;
    change(s, x, &fields);
}
