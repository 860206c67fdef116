/* Trails: see the header. */
#include "queue/trail.h"

#include "base/mem.h"
#include "queue/journal_notes.h"
#include "queue/level.h"

#include <assert.h>
#include <string.h>

#define LEAST_CAPACITY 2

static const struct {
    const char *name;
    const char *reason;
} kinds[TRAIL_KIND_COUNT] = {
    [0] = {"", ""},
    [TRAIL_HELD] = {"held", ""},
    [TRAIL_ENDED] = {"returned", "session-end"},
    [TRAIL_EXPIRED] = {"returned", "timeout"},
    [TRAIL_CLOSED] = {"returned", "session-ended-by-operator"},
    [TRAIL_RELEASED] = {"returned", "released"},
    [TRAIL_NACKED] = {"dead", "nack"},
    [TRAIL_MOVED] = {"dead", "moved"},
    [TRAIL_DAMAGED] = {"dead", "damaged"},
    [TRAIL_REDRIVEN] = {"redriven", ""},
};

const char *
trail_name(uint8_t kind)
{
    assert(kind < TRAIL_KIND_COUNT);
    return kinds[kind].name;
}

const char *
trail_reason(uint8_t kind)
{
    assert(kind < TRAIL_KIND_COUNT);
    return kinds[kind].reason;
}

static size_t
trail_size(uint8_t capacity)
{
    return sizeof(struct trail) + capacity * sizeof(struct trail_event);
}

/* Room for one more event; TRAIL_MOST at most. */
static struct trail *
make_room(struct message *m)
{
    struct trail *t = m->trail;
    if (t == NULL) {
        t = mem_calloc(1, trail_size(LEAST_CAPACITY));
        t->capacity = LEAST_CAPACITY;
    } else if (t->count == t->capacity && t->count < TRAIL_MOST) {
        uint8_t capacity = (uint8_t)(t->capacity * 2);
        struct trail *more = mem_calloc(1, trail_size(capacity));
        memcpy(more, t, trail_size(t->count));
        more->capacity = capacity;
        mem_free(t);
        t = more;
    }
    m->trail = t;
    return t;
}

void
trail_add(struct state *s, struct message *m, const struct trail_event *event)
{
    if (s->level < HF_LEVEL_TRAILS || m->durability == 0)
        return;
    assert(event->kind > 0 && event->kind < TRAIL_KIND_COUNT);
    struct trail *t = make_room(m);
    struct note *note = journal_note(s, NOTE_TRAIL);
    if (note != NULL)
        note->trail.message = m;
    if (t->count == TRAIL_MOST) {
        if (note != NULL) {
            note->trail.lost = t->events[TRAIL_FIRST];
            note->trail.has_lost = true;
        }
        memmove(&t->events[TRAIL_FIRST], &t->events[TRAIL_FIRST + 1],
                (TRAIL_MOST - TRAIL_FIRST - 1) * sizeof t->events[0]);
        t->count--;
        t->dropped++;
    }
    t->events[t->count++] = *event;
}

void
trail_undo(struct message *m, const struct trail_event *lost)
{
    struct trail *t = m->trail;
    assert(t != NULL && t->count > 0);
    t->count--;
    if (lost != NULL) {
        memmove(&t->events[TRAIL_FIRST + 1], &t->events[TRAIL_FIRST],
                (TRAIL_MOST - TRAIL_FIRST - 1) * sizeof t->events[0]);
        t->events[TRAIL_FIRST] = *lost;
        t->count++;
        t->dropped--;
    }
    if (t->count == 0) {
        mem_free(t);
        m->trail = NULL;
    }
}

void
trail_encode(struct bytes *out, const struct trail *trail)
{
    bytes_put_u32(out, trail->dropped);
    bytes_put_u8(out, trail->count);
    for (uint8_t i = 0; i < trail->count; i++) {
        bytes_put_u64(out, trail->events[i].at_ms);
        bytes_put_u64(out, trail->events[i].session);
        bytes_put_u8(out, trail->events[i].kind);
    }
}

enum status
trail_decode(struct reader *r, struct message *m)
{
    uint32_t dropped = read_u32(r);
    uint8_t count = read_u8(r);
    uint8_t capacity = LEAST_CAPACITY;
    if (r->bad || count == 0 || count > TRAIL_MOST ||
        (dropped > 0 && count < TRAIL_MOST))
        return ST_CORRUPT;
    while (capacity < count)
        capacity = (uint8_t)(capacity * 2);
    struct trail *t = mem_try_calloc(1, trail_size(capacity));
    if (t == NULL)
        return ST_NOMEM;
    t->capacity = capacity;
    t->dropped = dropped;
    t->count = count;
    bool is_good = true;
    for (uint8_t i = 0; is_good && i < t->count; i++) {
        struct trail_event *e = &t->events[i];
        e->at_ms = read_u64(r);
        e->session = read_u64(r);
        e->kind = read_u8(r);
        is_good = !r->bad && e->at_ms < RECORD_TIME_LIMIT &&
                  e->session < RECORD_NUMBER_LIMIT && e->kind > 0 &&
                  e->kind < TRAIL_KIND_COUNT;
    }
    if (!is_good || !reader_done(r)) {
        mem_free(t);
        return ST_CORRUPT;
    }
    m->trail = t;
    return ST_OK;
}
