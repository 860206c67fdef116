/* Batches: see the header. The ring's slot of the open batch always exists, so that
 * effects can be hung there before its first record. */
#include "broker/batch.h"

#include "base/mem.h"
#include "broker/inside.h"
#include "queue/journal.h"

#include <assert.h>
#include <string.h>

#define RING_FIRST   16
#define JOURNAL_KEY  ((uint64_t)1 << 63)
#define OPEN_MOST_MS 1000 /* ids of a batch stay near its stamp (LIMIT_ID_AHEAD_MS) */

void
batches_init(struct batches *s)
{
    *s = (struct batches){
        .ring = mem_calloc(RING_FIRST, sizeof *s->ring),
        .capacity = RING_FIRST,
        .first = 1,
        .to_submit = 1,
        .to_take = 1,
        .open = 1,
    };
}

void
batches_fini(struct batches *s)
{
    batches_drop(s);
    bytes_fini(&s->bytes);
    mem_free(s->ring);
    s->ring = NULL;
}

struct flight *
batch_flight(const struct batches *s, uint64_t number)
{
    assert(number >= s->first && number <= s->open);
    return &s->ring[number & (s->capacity - 1)];
}

void
batches_drop(struct batches *s)
{
    for (uint64_t number = s->first; number <= s->open; number++) {
        struct flight *flight = batch_flight(s, number);
        parcel_chain_free(&flight->effects);
        blob_put(flight->entry);
        *flight = (struct flight){0};
    }
    s->open++; /* what was open will not be committed under its number */
    s->first = s->to_submit = s->to_take = s->open;
    *batch_flight(s, s->open) = (struct flight){0}; /* that of an older batch */
    s->closed_bytes = 0;
    bytes_clear(&s->bytes);
}

static void
grow(struct batches *s)
{
    size_t capacity = s->capacity * 2;
    struct flight *ring = mem_calloc(capacity, sizeof *ring);
    for (uint64_t number = s->first; number < s->open; number++)
        ring[number & (capacity - 1)] = *batch_flight(s, number);
    mem_free(s->ring);
    s->ring = ring;
    s->capacity = capacity;
}

/* The journal's mark moves applied, which is a log index and not yet known. */
static void
mark_journal(struct state *s, uint64_t number, uint64_t stamp_ms)
{
    uint64_t applied = s->applied;
    journal_mark(s, JOURNAL_KEY | number, stamp_ms);
    s->applied = applied;
}

static void
close_open(struct broker *b)
{
    struct batches *s = &b->batches;
    assert(s->bytes.size > 0);
    struct flight *flight = batch_flight(s, s->open);
    flight->entry = blob_copy(slice_of(s->bytes.data, s->bytes.size));
    s->closed_bytes += s->bytes.size;
    bytes_clear(&s->bytes);
    mark_journal(b->state, s->open, flight->stamp_ms);
    s->open++;
    if (s->open - s->first >= s->capacity)
        grow(s);
    *batch_flight(s, s->open) = (struct flight){0};
}

static uint64_t
begin(struct broker *b, bool is_sync, bool must_close)
{
    struct batches *s = &b->batches;
    struct flight *flight = batch_flight(s, s->open);
    if (s->bytes.size > 0 && (must_close || (is_sync && !flight->is_sync))) {
        close_open(b);
        flight = batch_flight(s, s->open);
    }
    if (s->bytes.size == 0) {
        bool is_company_near = b->clock.mono_ms - s->company_ms <= BATCH_HOLD_MS;
        s->hold_until_ms = is_company_near ? b->clock.mono_ms + BATCH_HOLD_MS : 0;
        flight->stamp_ms = b->clock.time_ms;
        entry_begin(&s->bytes, flight->stamp_ms);
        entry_set_behind(&s->bytes, b->clock.behind_secs);
        b->state->behind_secs = b->clock.behind_secs;
    }
    if (is_sync && !flight->is_sync) {
        flight->is_sync = true;
        entry_set_sync(&s->bytes);
    }
    return flight->stamp_ms;
}

uint64_t
batch_begin(struct broker *b, bool is_sync)
{
    const struct batches *s = &b->batches;
    uint64_t stamp_ms = batch_flight(s, s->open)->stamp_ms;
    bool must_close = s->bytes.size >= LIMIT_ENTRY_CLOSE_BYTES ||
                      b->clock.time_ms > stamp_ms + OPEN_MOST_MS;
    return begin(b, is_sync, must_close);
}

uint64_t
batch_begin_now(struct broker *b, bool is_sync)
{
    const struct batches *s = &b->batches;
    uint64_t stamp_ms = batch_flight(s, s->open)->stamp_ms;
    bool must_close =
        s->bytes.size >= LIMIT_ENTRY_CLOSE_BYTES || b->clock.time_ms > stamp_ms;
    return begin(b, is_sync, must_close);
}

void
batch_add(struct broker *b, struct part *part, const struct record *record)
{
    struct batches *s = &b->batches;
    struct flight *flight = batch_flight(s, s->open);
    struct bytes *bytes = &s->bytes;
    assert(bytes->size >= RECORD_HEADER_BYTES); /* begun */
    size_t before = bytes->size;
    entry_add(bytes, record);
    assert(bytes->size <= LIMIT_ENTRY_BYTES);
    if (part != NULL)
        part->written += bytes->size - before;
    if (record->type == RECORD_ACK || record->type == RECORD_NACK)
        return;
    flight->is_urgent = true;
    if (flight->is_sync)
        s->company_ms = b->clock.mono_ms;
}

/* A whole struct record is large; only what its type reads is set. */
void
batch_add_message(struct broker *b,
                  struct part *part,
                  enum record_type type,
                  const struct record_message *fields)
{
    struct record record;
    record.type = type;
    record.queue = part->queue->number;
    record.message = *fields;
    batch_add(b, part, &record);
}

void
batch_add_session(struct broker *b,
                  struct part *part,
                  enum record_type type,
                  const struct record_session *fields)
{
    struct record record;
    record.type = type;
    record.queue = part->queue->number;
    record.session = *fields;
    batch_add(b, part, &record);
}

void
batch_set_config(struct broker *b)
{
    assert(b->batches.bytes.size > 0);
    batch_flight(&b->batches, b->batches.open)->is_config = true;
}

uint64_t
batch_open_number(const struct broker *b)
{
    return b->batches.open;
}

uint64_t
batch_read_tag(const struct broker *b)
{
    return b->batches.bytes.size > 0 ? b->batches.open : b->batches.open - 1;
}

uint64_t
batch_barrier(struct broker *b)
{
    if (b->batches.bytes.size == 0) {
        batch_begin(b, false);
        struct record record;
        record.type = RECORD_NOOP;
        record.queue = 0;
        batch_add(b, NULL, &record);
    }
    batch_flight(&b->batches, b->batches.open)->is_urgent = true;
    return b->batches.open;
}

uint64_t
batch_held_until(const struct broker *b)
{
    const struct batches *s = &b->batches;
    const struct flight *flight = batch_flight(s, s->open);
    return s->bytes.size > 0 && flight->is_sync && !flight->is_urgent ? s->hold_until_ms
                                                                      : 0;
}

bool
batch_is_idle(const struct broker *b)
{
    return b->batches.first == b->batches.open && b->batches.bytes.size == 0;
}

bool
broker_take_batch(struct broker *b, uint64_t now_ms, struct batch *ret_batch)
{
    struct batches *s = &b->batches;
    if (!b->is_leading)
        return false;
    if (s->to_take == s->open && s->bytes.size > 0 && now_ms >= batch_held_until(b))
        close_open(b);
    if (s->to_take == s->open)
        return false;
    struct flight *flight = batch_flight(s, s->to_take);
    *ret_batch = (struct batch){
        .number = s->to_take,
        .entry = flight->entry,
        .is_sync = flight->is_sync,
    };
    s->closed_bytes -= flight->entry->size;
    flight->entry = NULL;
    s->to_take++;
    return true;
}

static void
commit_first(struct broker *b)
{
    struct batches *s = &b->batches;
    struct flight *flight = batch_flight(s, s->first);
    journal_commit(b->state, JOURNAL_KEY | s->first);
    s->committed_ms = flight->stamp_ms;
    b->config_version += flight->is_config;
    parcel_chain_move(&b->out, &flight->effects);
    s->first++;
}

static void
commit_up_to(struct broker *b, uint64_t index)
{
    const struct batches *s = &b->batches;
    while (s->first < s->to_submit && batch_flight(s, s->first)->index <= index)
        commit_first(b);
    if (index > b->committed_index)
        b->committed_index = index;
    if (index > b->state->applied)
        b->state->applied = index;
}

void
broker_submitted(struct broker *b, uint64_t number, uint64_t index)
{
    struct batches *s = &b->batches;
    if (!b->is_leading || number < s->to_submit)
        return; /* of a term that has ended */
    assert(number == s->to_submit && number < s->to_take);
    assert(s->first == s->to_submit || index > batch_flight(s, number - 1)->index);
    batch_flight(s, number)->index = index;
    s->to_submit++;
    if (index > b->state->applied)
        b->state->applied = index;
    /* A log of one node may have committed it inside the submit. */
    commit_up_to(b, b->committed_index);
}

void
broker_committed(struct broker *b, uint64_t index)
{
    if (b->is_leading)
        commit_up_to(b, index);
}

uint64_t
broker_committed_batch(const struct broker *b)
{
    return b->batches.first - 1;
}

size_t
broker_open_bytes(const struct broker *b)
{
    return b->batches.closed_bytes + b->batches.bytes.size;
}
