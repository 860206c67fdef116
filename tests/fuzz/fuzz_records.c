/* Fuzz target of queue/record_decode, queue/salvage and queue/apply: entries of the
 * log.
 *
 *   0  u8   bit 0: checksums of publish records are put right; bit 1: of bodies too
 *   1  ...  an entry
 *
 * Besides not crashing: what is decoded encodes to the same bytes, and of a whole entry
 * with one byte changed the salvage says whether that was in a body. Then the decoded
 * records are bent to fit (records_fit.h) and applied, a NOOP ending each entry, to a
 * leader and to a follower: both keep the invariants of queue/state.h and stay equal, a
 * rollback is as if nothing had been, what is passed on makes no difference to what is
 * replicated, and an image of the end loads as that. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "queue/image.h"
#include "queue/journal.h"
#include "queue/salvage.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/records_fit.h"

#include <string.h>

#define RECORD_HEAD    5 /* type, size */
#define PUBLISH_KEY_AT 56
#define STEP_MS        7
#define RECORDS_MAX    256

struct run {
    struct fit leader; /* has the journal */
    struct fit follower;
    struct journal *journal;
    struct bytes entry;
    uint64_t index;
    uint64_t stamp_ms;
    uint64_t digest; /* of both, before the entry */
    bool is_heir;    /* the entry has an EPOCH of the follower's own */
};

static void
fix_publish(uint8_t *fields, size_t size, bool with_body)
{
    size_t key_size = fields[42];
    size_t body_size = get_u32(fields + 44);
    if (size < PUBLISH_KEY_AT + key_size)
        return;
    if (with_body && size - PUBLISH_KEY_AT - key_size == body_size)
        put_u32(fields + 48, crc32c(0, fields + PUBLISH_KEY_AT + key_size, body_size));
    uint32_t crc = crc32c(0, fields, 52);
    put_u32(fields + 52, crc32c(crc, fields + PUBLISH_KEY_AT, key_size));
}

static void
fix_entry(uint8_t *entry, size_t size, bool with_bodies)
{
    size_t at = RECORD_HEADER_BYTES;
    while (at + RECORD_HEAD <= size) {
        size_t fields = at + RECORD_HEAD;
        size_t left = size - fields;
        size_t count = get_u32(entry + at + 1);
        if (count > left)
            break;
        if (entry[at] == RECORD_PUBLISH && count >= PUBLISH_KEY_AT)
            fix_publish(entry + fields, count, with_bodies);
        at = fields + count;
    }
}

static bool
lies_within(struct slice part, struct slice whole)
{
    return part.size == 0 ||
           (part.data >= whole.data && part.data + part.size <= slice_end(whole));
}

/* Decodes it all; when it is an entry, the same bytes come out again. True when it is
 * one, and all bodies are whole. */
static bool
check_decoding(struct slice entry)
{
    struct entry_reader reader;
    struct record record;
    struct bytes again = {0};
    bool can_encode = true;
    enum status status = entry_open(&reader, entry);
    if (status == ST_OK) {
        entry_begin(&again, reader.stamp_ms);
        entry_set_behind(&again, reader.behind_secs);
    }
    if (status == ST_OK && reader.is_sync)
        entry_set_sync(&again);
    while (status == ST_OK && (status = entry_next(&reader, &record)) == ST_OK) {
        if (record.type == RECORD_PUBLISH) {
            const struct record_publish *p = &record.publish;
            require(lies_within(p->key, entry) && lies_within(p->body, entry));
            can_encode = can_encode && record_publish_is_whole(p);
        }
        if (can_encode)
            entry_add(&again, &record);
    }
    require(status == ST_NOTFOUND || status == ST_CORRUPT || status == ST_VERSION);
    if (status == ST_NOTFOUND && can_encode)
        require(slice_equal(slice_of(again.data, again.size), entry));
    bytes_fini(&again);
    return status == ST_NOTFOUND && can_encode;
}

/* Whether the byte is one of a publish record's body. */
static bool
is_in_body(struct slice entry, size_t at)
{
    struct entry_reader reader;
    struct record record;
    require(entry_open(&reader, entry) == ST_OK);
    while (entry_next(&reader, &record) == ST_OK) {
        const uint8_t *body = record.publish.body.data;
        if (record.type == RECORD_PUBLISH && entry.data + at >= body &&
            entry.data + at < body + record.publish.body.size)
            return true;
    }
    return false;
}

/* Damages one byte of a whole entry. */
static void
check_salvage(uint8_t *entry, size_t size, size_t at)
{
    struct slice s = slice_of(entry, size);
    uint32_t crc = crc32c(0, entry, size);
    bool is_body = is_in_body(s, at);
    require(!entry_has_damaged_bodies(s, crc));
    entry[at] ^= 0x20;
    require(entry_has_damaged_bodies(s, crc) == is_body);
    require(!entry_has_damaged_bodies(s, crc ^ 1));
    entry[at] ^= 0x20;
}

static void
begin_entry(struct run *run)
{
    run->stamp_ms += STEP_MS;
    run->index += 2;
    bytes_clear(&run->entry);
    entry_begin(&run->entry, run->stamp_ms);
}

static void
check_state(const struct state *s, uint64_t digest)
{
    require(state_check(s) == NULL);
    require(state_digest(s) == digest);
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

/* What was passed on is for the next EPOCH, when that is the follower's own, and for
 * nobody else. */
static void
check_volatile(struct run *run)
{
    struct state *s = run->follower.state;
    require(run->is_heir || s->has_passed_on || !has_volatile(s));
    if (!s->has_passed_on)
        state_drop_volatile(s); /* as a leader that loses its leadership */
    check_state(s, run->digest);
    run->is_heir = false;
}

/* The leader has done what is in the entry. It takes it back, and then does it again as
 * the follower does, from the bytes. */
static void
end_entry(struct run *run)
{
    struct state *leader = run->leader.state;
    struct slice entry = slice_of(run->entry.data, run->entry.size);
    uint64_t applied = leader->applied;
    journal_mark(leader, run->index, run->stamp_ms);
    uint64_t digest = state_digest(leader);
    check_state(leader, digest);
    journal_rollback(leader);
    check_state(leader, run->digest);
    require(leader->applied == applied);
    state_apply(leader, run->index, entry);
    check_state(leader, digest);
    journal_commit(leader, run->index);
    require(journal_is_empty(run->journal));
    state_apply(run->follower.state, run->index, entry);
    check_state(run->follower.state, digest);
    run->digest = digest;
    check_volatile(run);
}

static bool
is_volatile(const struct state *s, const struct uuid *id)
{
    LIST_FOREACH (node, &s->queues) {
        const struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        const struct message *m = queue_message(q, id);
        if (m != NULL && m->durability == 0)
            return true;
    }
    return false;
}

/* A leader passes on what only it has: a PUBLISH of durability 0, and its ASSIGN. */
static bool
is_passed_on(const struct run *run, const struct record *record)
{
    struct record_message bent = record->message;
    if (record->type == RECORD_PUBLISH)
        return record->publish.durability == 0;
    if (record->type != RECORD_ASSIGN || !run->follower.state->has_passed_on)
        return false;
    fit_bend_id(&bent.id);
    return is_volatile(run->follower.state, &bent.id);
}

/* In an entry of its own: the leader that wrote it has it already. */
static void
pass_on(struct run *run, struct record *record)
{
    struct state *leader = run->leader.state;
    end_entry(run);
    begin_entry(run);
    if (fit_record(&run->follower, record))
        entry_add(&run->entry, record);
    struct slice entry = slice_of(run->entry.data, run->entry.size);
    state_apply(run->follower.state, run->index, entry);
    journal_mark(leader, run->index, run->stamp_ms);
    journal_commit(leader, run->index);
    run->digest = state_digest(leader);
    check_state(run->follower.state, run->digest);
    begin_entry(run);
}

static void
check_image(struct state *s, uint64_t digest)
{
    struct image_loader *loader = image_loader_new();
    struct state *loaded = NULL;
    struct image *image = image_begin(s);
    struct blob *piece;
    image_step(image, UINT32_MAX);
    while ((piece = image_next(image)) != NULL) {
        require(image_loader_feed(loader, blob_slice(piece)) == ST_OK);
        blob_put(piece);
    }
    require(image_is_done(image));
    image_end(image);
    require(image_loader_finish(loader, &loaded) == ST_OK);
    check_state(loaded, digest);
    state_free(loaded);
}

static void
apply_record(struct run *run, struct record *record)
{
    if (record->type == RECORD_NOOP) {
        end_entry(run);
        begin_entry(run);
    } else if (is_passed_on(run, record)) {
        pass_on(run, record);
    } else if (fit_record(&run->leader, record)) {
        entry_add(&run->entry, record);
        state_apply_record(run->leader.state, record, run->stamp_ms);
        if (record->type == RECORD_EPOCH && record->leader % 2 == 1) {
            state_inherit(run->follower.state);
            run->is_heir = true;
        }
    }
}

static void
check_applying(struct slice entry)
{
    struct entry_reader reader;
    struct record record;
    if (entry_open(&reader, entry) != ST_OK ||
        reader.stamp_ms + STEP_MS * (3 * RECORDS_MAX) >= RECORD_TIME_LIMIT)
        return;
    struct run run = {.stamp_ms = reader.stamp_ms};
    run.leader.state = state_new();
    run.follower.state = state_new();
    run.journal = journal_new();
    run.leader.state->journal = run.journal;
    run.digest = state_digest(run.follower.state);
    begin_entry(&run);
    for (int i = 0; i < RECORDS_MAX && entry_next(&reader, &record) == ST_OK; i++)
        apply_record(&run, &record);
    end_entry(&run);
    check_image(run.follower.state, run.digest);
    state_free(run.leader.state);
    state_free(run.follower.state);
    journal_free(run.journal);
    bytes_fini(&run.entry);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t before = allocated_bytes();
    uint8_t *copy = mem_alloc(size - 1); /* exact, for the address sanitizer */
    memcpy(copy, data + 1, size - 1);
    if ((data[0] & 1) != 0)
        fix_entry(copy, size - 1, (data[0] & 2) != 0);
    if (check_decoding(slice_of(copy, size - 1))) {
        check_salvage(copy, size - 1, data[size - 1] % (size - 1));
        check_salvage(copy, size - 1, size - 2);
    }
    check_applying(slice_of(copy, size - 1));
    mem_free(copy);
    require(allocated_bytes() <= before);
    return 0;
}
