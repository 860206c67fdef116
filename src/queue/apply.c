/* apply(): a committed entry becomes state. The same on every node.
 *
 * The leader checked everything before it wrote the record, so what does not fit here
 * is a fork or a bug, and the node stops (an assertion names what was wrong) rather
 * than go on with a state of its own. */
#include "queue/state.h"

#include "base/mem.h"
#include "queue/admin.h"
#include "queue/journal.h"
#include "queue/level.h"
#include "queue/sweep.h"

#include <assert.h>
#include <string.h>

static struct message *
need_message(const struct queue *q, const struct uuid *id)
{
    struct message *m = queue_message(q, id);
    assert(m != NULL && "the entry does not fit the state: no such message");
    return m;
}

static struct session *
need_session(const struct queue *q, uint64_t number)
{
    struct session *x = queue_session_by_number(q, number);
    assert(x != NULL && "the entry does not fit the state: no such session");
    return x;
}

static void
apply_publish(struct state *s, struct queue *q, const struct record_publish *publish)
{
    if (publish->durability == 0) {
        assert(s->journal == NULL && "a leader does not pass on to itself");
        s->has_passed_on = true;
    }
    struct blob *blob = blob_new(publish->body.size + publish->key.size);
    if (publish->body.size > 0)
        memcpy(blob->data, publish->body.data, publish->body.size);
    if (publish->key.size > 0)
        memcpy(blob->data + publish->body.size, publish->key.data, publish->key.size);
    struct message *m = queue_publish(s, q, publish, blob, (uint8_t)publish->key.size);
    /* Only from a log that a lone node salvaged (queue/salvage.h). It goes on as the
     * log says, so that what was acknowledged later is gone. */
    if (!record_publish_is_whole(publish))
        m->is_damaged = s->has_damaged = true;
}

static void
apply_message(struct state *s,
              struct queue *q,
              const struct record *record,
              uint64_t now_ms)
{
    const struct record_message *fields = &record->message;
    struct message *m = need_message(q, &fields->id);
    enum record_type type = record->type;
    if (type == RECORD_ASSIGN) {
        message_assign(s, m, need_session(q, fields->session), now_ms);
    } else if (type == RECORD_ACK) {
        assert(m->place == PLACE_HELD &&
               "the entry does not fit: an ack of one not held");
        message_remove(s, m);
    } else if (type == RECORD_NACK) {
        assert(m->place == PLACE_HELD &&
               "the entry does not fit: a nack of one not held");
        message_to_dlq(s, m, DEAD_NACK, now_ms);
    } else if (type == RECORD_DELETE) {
        assert(m->place != PLACE_DEAD &&
               "the entry does not fit: a delete of a dead one");
        message_remove(s, m);
    } else if (type == RECORD_MOVE_TO_DLQ) {
        message_to_dlq(s, m, DEAD_MOVED, now_ms);
    } else if (type == RECORD_DLQ_DELETE) {
        assert(m->place == PLACE_DEAD && "the entry does not fit: not in the DLQ");
        message_remove(s, m);
    } else if (type == RECORD_RELEASE) {
        assert(m->place == PLACE_HELD &&
               "the entry does not fit: a release of one not held");
        message_release(s, m, fields->order, now_ms);
    } else {
        assert(type == RECORD_REDRIVE);
        assert(m->place == PLACE_DEAD &&
               "the entry does not fit: a redrive of one not dead");
        message_release(s, m, fields->order, now_ms);
    }
}

static void
apply_session(struct state *s,
              struct queue *q,
              const struct record *record,
              uint64_t now_ms)
{
    const struct record_session *fields = &record->session;
    enum record_type type = record->type;
    if (type == RECORD_SESSION_OPEN) {
        session_open(s, q, fields->session, &fields->id, fields->capacity);
        return;
    }
    struct session *x = need_session(q, fields->session);
    if (type == RECORD_SESSION_RESUME) {
        session_resume(s, x, &fields->id, fields->capacity);
    } else if (type == RECORD_SESSION_CAPACITY) {
        session_set_capacity(s, x, fields->capacity);
    } else if (type == RECORD_SESSION_SAVE) {
        session_save(s, x, now_ms);
    } else if (type == RECORD_SESSION_END) {
        session_end(s, x, fields->order, now_ms);
    } else if (type == RECORD_SESSION_CLOSE) {
        session_close(s, x, fields->order, now_ms);
    } else {
        assert(type == RECORD_SESSION_RECEIVED);
        session_received(s, x);
    }
}

static void
apply_in_queue(struct state *s,
               struct queue *q,
               const struct record *record,
               uint64_t now_ms)
{
    switch (record->type) {
    case RECORD_QUEUE_DELETE:
        queue_delete(s, q);
        break;
    case RECORD_LOGIN_SET:
        queue_set_login(s, q, &record->login);
        break;
    case RECORD_SETTINGS_SET:
        queue_set_settings(s, q, &record->settings);
        break;
    case RECORD_PUBLISH:
        apply_publish(s, q, &record->publish);
        break;
    case RECORD_ASSIGN:
    case RECORD_ACK:
    case RECORD_NACK:
    case RECORD_DELETE:
    case RECORD_MOVE_TO_DLQ:
    case RECORD_DLQ_DELETE:
    case RECORD_RELEASE:
    case RECORD_REDRIVE:
        apply_message(s, q, record, now_ms);
        break;
    case RECORD_SESSION_OPEN:
    case RECORD_SESSION_RESUME:
    case RECORD_SESSION_CAPACITY:
    case RECORD_SESSION_SAVE:
    case RECORD_SESSION_END:
    case RECORD_SESSION_RECEIVED:
    case RECORD_SESSION_CLOSE:
        apply_session(s, q, record, now_ms);
        break;
    case RECORD_REDRIVE_SOME:
        queue_redrive_some(s, q, &record->sweep, now_ms);
        break;
    case RECORD_PURGE:
        queue_purge(s, q, &record->sweep);
        break;
    case RECORD_STATS_ROW:
        queue_add_stats(s, q, &record->stats);
        break;
    case RECORD_USAGE_ROW:
        queue_add_usage(s, q, &record->usage);
        break;
    case RECORD_HISTORY_TRIM:
        queue_trim(s, q, record->trim_usage != 0, record->before_day);
        break;
    case RECORD_NOOP:
    case RECORD_EPOCH:
    case RECORD_LEVEL:
    case RECORD_QUEUE_CREATE:
    case RECORD_TYPE_COUNT:
        assert(record->type == RECORD_TYPE_COUNT + 1 && "not a record of a queue");
    }
}

/* Whether what was passed on is still good behind this record: it is more of it, or
 * the EPOCH that it is for. Any other says that the leader went on, or that another
 * node took over. */
static bool
is_passing_on(const struct state *s, const struct record *record)
{
    if (record->type == RECORD_EPOCH)
        return s->is_heir;
    if (record->type == RECORD_PUBLISH)
        return record->publish.durability == 0;
    if (record->type != RECORD_ASSIGN)
        return false;
    const struct queue *q = state_queue(s, record->queue);
    const struct message *m = q == NULL ? NULL : queue_message(q, &record->message.id);
    return m != NULL && m->durability == 0;
}

void
state_inherit(struct state *s)
{
    s->is_heir = true;
}

void
state_apply_record(struct state *s, const struct record *record, uint64_t stamp_ms)
{
    if (s->has_passed_on && !is_passing_on(s, record)) {
        state_drop_volatile(s);
        s->has_passed_on = false;
    }
    if (record->type == RECORD_NOOP)
        return;
    if (record->type == RECORD_EPOCH) {
        s->has_passed_on = s->is_heir = false;
        state_epoch(s, record->leader, stamp_ms);
        return;
    }
    if (record->type == RECORD_LEVEL) {
        state_raise_level(s, record->level);
        return;
    }
    if (record->type == RECORD_QUEUE_CREATE) {
        queue_create(s, record->queue, &record->create, stamp_ms);
        return;
    }
    struct queue *q = state_queue(s, record->queue);
    assert(q != NULL && "the entry does not fit the state: no such queue");
    apply_in_queue(s, q, record, stamp_ms);
}

/* Under a journal every move of applied is a mark. */
static void
advance(struct state *s, uint64_t index, uint64_t stamp_ms)
{
    if (s->journal != NULL) {
        journal_mark(s, index, stamp_ms);
        return;
    }
    s->applied = index;
    s->stamp_ms = stamp_ms;
}

bool
state_is_readable(const struct state *s)
{
    return s->level <= HF_LEVEL_NOW;
}

void
state_apply(struct state *s, uint64_t index, struct slice entry)
{
    struct entry_reader reader;
    struct record record;
    enum status status = entry_open(&reader, entry);
    assert(status == ST_OK && "a committed entry cannot be read");
    assert(index > s->applied && reader.stamp_ms >= s->stamp_ms);
    while (state_is_readable(s) && (status = entry_next(&reader, &record)) == ST_OK)
        state_apply_record(s, &record, reader.stamp_ms);
    if (!state_is_readable(s))
        return;
    assert(status != ST_VERSION &&
           "a record is of a kind that only a newer version of the program knows");
    assert(status == ST_NOTFOUND && "a record of a committed entry cannot be read");
    s->behind_secs = reader.behind_secs;
    advance(s, index, reader.stamp_ms);
}

void
state_skip(struct state *s, uint64_t index)
{
    if (index > s->applied)
        advance(s, index, s->stamp_ms);
}
