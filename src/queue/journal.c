/* Journal: the notes in a ring that grows.
 *
 * Verbs add at the new end, a commit takes from the old end, a rollback from the new
 * end: so a ring. It holds what at most a few entries in flight have changed. What is
 * done with a note is in rollback.c; here is only where notes are kept.
 *
 * Base: applied and stamp_ms of the state before the oldest note. It is read when a
 * note comes into an empty ring, and moves on with each mark that is committed. */
#include "queue/journal.h"

#include "base/mem.h"
#include "queue/journal_notes.h"

#include <assert.h>
#include <string.h>

#define RING_LEAST 256u

struct journal {
    struct note *ring;
    size_t capacity; /* a power of two, or 0 */
    size_t first;
    size_t count;
    uint64_t base_index;
    uint64_t base_stamp_ms;
};

struct journal *
journal_new(void)
{
    return mem_calloc(1, sizeof(struct journal));
}

void
journal_free(struct journal *j)
{
    if (j == NULL)
        return;
    assert(j->count == 0);
    mem_free(j->ring);
    mem_free(j);
}

bool
journal_is_empty(const struct journal *j)
{
    return j->count == 0;
}

static struct note *
at(const struct journal *j, size_t position)
{
    assert(position < j->count);
    return &j->ring[(j->first + position) & (j->capacity - 1)];
}

static void
grow(struct journal *j)
{
    size_t capacity = j->capacity == 0 ? RING_LEAST : j->capacity * 2;
    struct note *ring = mem_alloc(capacity * sizeof *ring);
    for (size_t i = 0; i < j->count; i++)
        ring[i] = *at(j, i);
    mem_free(j->ring);
    j->ring = ring;
    j->capacity = capacity;
    j->first = 0;
}

struct note *
journal_note(struct state *s, enum note_kind kind)
{
    struct journal *j = s->journal;
    if (j == NULL)
        return NULL;
    if (j->count == 0)
        journal_set_base(j, s->applied, s->stamp_ms);
    if (j->count == j->capacity)
        grow(j);
    j->count++;
    struct note *note = at(j, j->count - 1);
    memset(note, 0, sizeof *note);
    note->kind = kind;
    return note;
}

struct note *
journal_oldest(struct journal *j)
{
    return j->count == 0 ? NULL : at(j, 0);
}

struct note *
journal_newest(struct journal *j)
{
    return j->count == 0 ? NULL : at(j, j->count - 1);
}

void
journal_drop_oldest(struct journal *j)
{
    assert(j->count > 0);
    j->first = (j->first + 1) & (j->capacity - 1);
    j->count--;
}

void
journal_drop_newest(struct journal *j)
{
    assert(j->count > 0);
    j->count--;
}

size_t
journal_committed(const struct journal *j, uint64_t index)
{
    size_t committed = 0;
    for (size_t i = 0; i < j->count; i++) {
        const struct note *note = at(j, i);
        if (note->kind != NOTE_MARK)
            continue;
        if (note->mark.index > index)
            break;
        committed = i + 1;
    }
    return committed;
}

void
journal_base(const struct journal *j, uint64_t *ret_index, uint64_t *ret_stamp_ms)
{
    *ret_index = j->base_index;
    *ret_stamp_ms = j->base_stamp_ms;
}

void
journal_set_base(struct journal *j, uint64_t index, uint64_t stamp_ms)
{
    j->base_index = index;
    j->base_stamp_ms = stamp_ms;
}

void
journal_mark(struct state *s, uint64_t index, uint64_t stamp_ms)
{
    assert(s->journal != NULL);
    assert(index >= s->applied && stamp_ms >= s->stamp_ms);
    struct note *newest = journal_newest(s->journal);
    bool is_marked = newest != NULL && newest->kind == NOTE_MARK &&
                     newest->mark.index == index && newest->mark.stamp_ms == stamp_ms;
    if (is_marked)
        return;
    struct note *note = journal_note(s, NOTE_MARK);
    note->mark.index = index;
    note->mark.stamp_ms = stamp_ms;
    s->applied = index;
    s->stamp_ms = stamp_ms;
}
