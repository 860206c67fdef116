/* Image: reading. What is read may be anything: nothing here asserts on it.
 *
 * Bytes come in pieces of any size. A frame that lies whole in a piece is decoded
 * there; one that crosses into the next is gathered in pending first. Each object is
 * checked against all that came before it (its queue, its holder, no second one like
 * it), so the state keeps its invariants at every moment and can be thrown away at any.
 * The digest at the end covers what such checks cannot see, and each body has its CRC.
 */
#include "queue/image.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "queue/digest.h"
#include "queue/history.h"
#include "queue/image_format.h"
#include "queue/image_spot.h"
#include "queue/level.h"
#include "queue/place.h"
#include "queue/trail.h"

#include <assert.h>
#include <string.h>

/* The map of a queue's ids that is full becomes so many times larger at once, but no
 * larger than what is left can need. */
#define MAP_GROWTH    16
#define MAP_LEAST_IDS 1024

struct image_loader {
    struct state *state;
    uint64_t expected_bytes; /* of the image; 0 = not known */
    uint64_t fed_bytes;
    uint64_t message_bytes; /* of all message frames so far */
    enum status status;     /* the first failure, which stays */
    bool has_header;
    bool needs_level; /* its frame comes next */
    bool has_trailer;
    struct bytes pending; /* the beginning of a unit: the header or a frame */
    struct queue *queue;  /* the last one that was read */
    struct image_counts counts;
    uint64_t messages_digest;
    struct message *last;          /* the one in the frame before, or NULL at first */
    const struct queue *newest_of; /* the queue of newest_id, or NULL */
    struct uuid newest_id;
    char needs[LEVEL_TEXT_BYTES]; /* to read what this program cannot */
};

struct image_loader *
image_loader_new(void)
{
    struct image_loader *l = mem_calloc(1, sizeof *l);
    l->state = state_new();
    return l;
}

void
image_loader_expect(struct image_loader *l, uint64_t size_bytes)
{
    l->expected_bytes = size_bytes;
}

void
image_loader_free(struct image_loader *l)
{
    if (l == NULL)
        return;
    state_free(l->state);
    bytes_fini(&l->pending);
    mem_free(l);
}

static enum status
load_header(struct image_loader *l, struct slice unit)
{
    struct state *s = l->state;
    struct reader r = reader_of(unit);
    struct slice magic = read_slice(&r, IMAGE_MAGIC_BYTES);
    uint16_t version = read_u16(&r);
    uint16_t behind_secs = read_u16(&r);
    if (r.bad || memcmp(magic.data, IMAGE_MAGIC, IMAGE_MAGIC_BYTES) != 0)
        return ST_CORRUPT;
    if (version < IMAGE_VERSION_FIRST)
        return ST_CORRUPT;
    if (version > IMAGE_VERSION) {
        level_describe("image version", version, IMAGE_VERSION, l->needs);
        return ST_VERSION;
    }
    l->needs_level = version != IMAGE_VERSION_FIRST;
    s->behind_secs = behind_secs;
    s->next_queue = read_u32(&r);
    s->applied = read_u64(&r);
    s->stamp_ms = read_u64(&r);
    s->epoch_leader = read_u64(&r);
    s->epoch_floor_ms = read_u64(&r);
    if (!reader_done(&r) || s->next_queue == 0 || s->stamp_ms >= RECORD_TIME_LIMIT ||
        s->epoch_floor_ms > s->stamp_ms)
        return ST_CORRUPT;
    l->has_header = true;
    return ST_OK;
}

static enum status
load_level(struct image_loader *l, struct reader *r)
{
    uint32_t level = read_u32(r);
    if (!reader_done(r) || !l->needs_level || level <= HF_LEVEL_FIRST)
        return ST_CORRUPT;
    if (level > HF_LEVEL_NOW) {
        level_describe("level", level, HF_LEVEL_NOW, l->needs);
        return ST_VERSION;
    }
    l->state->level = level;
    l->needs_level = false;
    return ST_OK;
}

static enum status
read_queue_body(struct reader *r, struct queue *q)
{
    uint8_t tier = read_u8(r);
    uint8_t name_size = read_u8(r);
    uint16_t settings = read_u16(r);
    if (r->bad || tier > TIER_DEV || name_size == 0 ||
        name_size > LIMIT_QUEUE_NAME_BYTES)
        return ST_CORRUPT;
    if (settings != SETTING_COUNT)
        return ST_VERSION;
    q->tier = (enum queue_tier)tier;
    read_copy(r, q->name, name_size);
    q->created_ms = read_u64(r);
    q->next_order = read_u64(r);
    q->next_session = read_u64(r);
    for (int i = 0; i < SETTING_COUNT; i++)
        q->settings[i] = read_u64(r);
    for (int i = 0; i < ROLE_COUNT; i++)
        login_secret_decode(r, &q->logins[i]);
    bool is_good = reader_done(r) && strlen(q->name) == name_size &&
                   q->created_ms < RECORD_TIME_LIMIT &&
                   q->next_order <= 2 * RECORD_NUMBER_LIMIT &&
                   q->next_session <= RECORD_NUMBER_LIMIT;
    return is_good ? ST_OK : ST_CORRUPT;
}

static enum status
load_queue(struct image_loader *l, struct reader *r)
{
    struct state *s = l->state;
    uint32_t number = read_u32(r);
    uint32_t last = l->queue == NULL ? 0 : l->queue->number;
    if (r->bad || number <= last || number >= s->next_queue || l->counts.messages > 0 ||
        s->queue_count >= LIMIT_QUEUES)
        return ST_CORRUPT;
    struct queue *q = queue_new(number);
    enum status status = read_queue_body(r, q);
    if (status == ST_OK && state_queue_by_name(s, slice_from_text(q->name)) != NULL)
        status = ST_CORRUPT;
    if (status != ST_OK) {
        q->pins = 1;
        queue_unpin(s, q);
        return status;
    }
    place_queue(s, q);
    l->queue = q;
    l->counts.queues++;
    return ST_OK;
}

static bool
session_is_good(const struct queue *q, const struct session *x, uint8_t flags)
{
    return x->number < q->next_session && flags < 8 && x->capacity > 0 &&
           x->capacity <= LIMIT_CAPACITY && x->saved_ms < RECORD_TIME_LIMIT &&
           x->next_held > 0 && x->next_held <= RECORD_NUMBER_LIMIT &&
           (x->has_prev || uuid_is_zero(&x->prev_id)) &&
           queue_session_by_number(q, x->number) == NULL &&
           queue_session(q, &x->id) == NULL &&
           (!x->has_prev || (uuid_compare(&x->id, &x->prev_id) != 0 &&
                             queue_session(q, &x->prev_id) == NULL));
}

static enum status
load_session(struct image_loader *l, struct reader *r)
{
    struct queue *q = l->queue;
    uint32_t number = read_u32(r);
    if (q == NULL || number != q->number || l->counts.messages > 0)
        return ST_CORRUPT;
    struct session *x = mem_calloc(1, sizeof *x);
    list_init(&x->held);
    x->queue = q;
    x->number = read_u64(r);
    read_copy(r, x->id.b, UUID_SIZE);
    read_copy(r, x->prev_id.b, UUID_SIZE);
    uint8_t flags = read_u8(r);
    x->has_prev = (flags & 1) != 0;
    x->is_saved = (flags & 2) != 0;
    x->has_received = (flags & 4) != 0;
    x->capacity = read_u32(r);
    x->saved_ms = read_u64(r);
    x->next_held = read_u64(r);
    if (!reader_done(r) || !session_is_good(q, x, flags)) {
        mem_free(x);
        return ST_CORRUPT;
    }
    place_session(x);
    l->counts.sessions++;
    return ST_OK;
}

static enum status
load_history(struct image_loader *l, struct reader *r)
{
    struct queue *q = l->queue;
    uint32_t number = read_u32(r);
    uint8_t is_usage = read_u8(r);
    if (r->bad || q == NULL || number != q->number || is_usage > 1)
        return ST_CORRUPT;
    enum status status = history_block_decode(is_usage ? q->usage : q->stats, r);
    if (status == ST_OK && !reader_done(r))
        status = ST_CORRUPT;
    l->counts.blocks += status == ST_OK;
    return status;
}

/* A message frame, decoded. */
struct loaded {
    struct message_spot spot;
    uint32_t queue;
    uint64_t holder;
    uint32_t key_size;
    struct slice body_and_key;
    uint8_t place;
};

static bool
read_message(struct reader *r, struct message *m, struct loaded *in)
{
    in->queue = read_u32(r);
    read_copy(r, m->id.b, UUID_SIZE);
    in->place = read_u8(r);
    in->spot.dead_reason = read_u8(r);
    m->type = read_u8(r);
    m->durability = read_u8(r);
    in->spot.order = read_u64(r);
    in->spot.ready_ms = read_u64(r);
    m->received_ms = read_u64(r);
    in->spot.since = read_u64(r);
    in->holder = read_u64(r);
    m->delay_secs = read_u32(r);
    in->spot.deliveries = read_u32(r);
    m->body_crc = read_u32(r);
    in->key_size = read_u32(r);
    in->body_and_key = read_slice(r, reader_left(r));
    m->is_damaged = in->spot.dead_reason == DEAD_DAMAGED;
    if (m->is_damaged && in->place != PLACE_DEAD)
        in->spot.dead_reason = 0; /* not yet: the next leader moves it */
    return !r->bad && in->place > PLACE_NONE && in->place <= PLACE_DEAD &&
           m->type >= 1 && m->type <= 2 && m->durability >= 1 && m->durability <= 2 &&
           in->spot.ready_ms < 2 * RECORD_TIME_LIMIT &&
           m->received_ms < RECORD_TIME_LIMIT && m->delay_secs <= LIMIT_DELAY_SECS &&
           in->key_size <= LIMIT_KEY_BYTES && in->key_size <= in->body_and_key.size;
}

/* Most come in the order of their ids: one above all before it needs no look. */
static bool
id_is_free(struct image_loader *l, const struct queue *q, const struct message *m)
{
    if (q->by_id.count != 0 &&
        (l->newest_of != q || uuid_compare(&m->id, &l->newest_id) <= 0))
        return queue_message(q, &m->id) == NULL;
    l->newest_of = q;
    l->newest_id = m->id;
    return true;
}

static enum status
fill_message(struct image_loader *l, struct reader *r, struct message *m)
{
    struct loaded in = {0};
    if (!read_message(r, m, &in))
        return ST_CORRUPT;
    struct queue *q = l->queue;
    if (q == NULL || q->number != in.queue)
        q = state_queue(l->state, in.queue);
    if (q == NULL || !id_is_free(l, q, m) ||
        !image_spot_is_good(q, in.place, in.holder, &in.spot))
        return ST_CORRUPT;
    m->body_size = (uint32_t)in.body_and_key.size - in.key_size;
    m->key_size = (uint8_t)in.key_size;
    if (!m->is_damaged && crc32c(0, in.body_and_key.data, m->body_size) != m->body_crc)
        return ST_CORRUPT;
    m->body = blob_try_new(in.body_and_key.size);
    if (m->body == NULL)
        return ST_NOMEM;
    if (in.body_and_key.size > 0)
        memcpy(m->body->data, in.body_and_key.data, in.body_and_key.size);
    m->queue = q;
    if (m->is_damaged)
        l->state->has_damaged = true;
    place_message(m, &in.spot);
    return ST_OK;
}

/* Of the message in the frame before. */
static enum status
load_trail(struct image_loader *l, struct reader *r)
{
    struct message *m = l->last;
    if (m == NULL || m->trail != NULL || l->state->level < HF_LEVEL_TRAILS)
        return ST_CORRUPT;
    uint64_t without = digest_message(m);
    enum status status = trail_decode(r, m);
    if (status == ST_OK)
        l->messages_digest += digest_message(m) - without;
    return status;
}

static void
reserve_ids(struct image_loader *l, struct queue *q)
{
    size_t count = q->by_id.count;
    if (count < MAP_LEAST_IDS || count <= q->by_id.mask || q->by_id.old != NULL ||
        l->expected_bytes <= l->fed_bytes)
        return;
    uint64_t left = l->expected_bytes - l->fed_bytes;
    uint64_t more = left / (l->message_bytes / l->counts.messages) + 1;
    map_reserve(&q->by_id,
                more < MAP_GROWTH * count ? count + (size_t)more : MAP_GROWTH * count);
}

static enum status
load_message(struct image_loader *l, struct reader *r)
{
    struct message *m = message_new(l->state);
    size_t size = reader_left(r);
    enum status status = fill_message(l, r, m);
    if (status != ST_OK) {
        message_free(l->state, m);
        return status;
    }
    l->last = m;
    l->message_bytes += IMAGE_FRAME_HEAD_BYTES + size;
    l->messages_digest += digest_message(m);
    l->counts.messages++;
    reserve_ids(l, m->queue);
    return ST_OK;
}

static enum status
load_trailer(struct image_loader *l, struct reader *r)
{
    struct image_counts counts;
    counts.queues = read_u64(r);
    counts.sessions = read_u64(r);
    counts.blocks = read_u64(r);
    counts.messages = read_u64(r);
    uint64_t digest = read_u64(r);
    if (!reader_done(r) || memcmp(&counts, &l->counts, sizeof counts) != 0 ||
        digest != digest_join(digest_frame(l->state), l->messages_digest))
        return ST_CORRUPT;
    l->has_trailer = true;
    return ST_OK;
}

static enum status
load_frame(struct image_loader *l, struct slice unit)
{
    uint8_t type = unit.data[0];
    struct reader r = reader_of(slice_of(unit.data + IMAGE_FRAME_HEAD_BYTES,
                                         unit.size - IMAGE_FRAME_HEAD_BYTES));
    if (l->has_trailer || type < IMAGE_QUEUE || type > IMAGE_TRAIL ||
        (l->needs_level && type != IMAGE_LEVEL))
        return ST_CORRUPT;
    switch ((enum image_frame)type) {
    case IMAGE_QUEUE:
        return load_queue(l, &r);
    case IMAGE_SESSION:
        return load_session(l, &r);
    case IMAGE_HISTORY:
        return load_history(l, &r);
    case IMAGE_MESSAGE:
        return load_message(l, &r);
    case IMAGE_TRAILER:
        return load_trailer(l, &r);
    case IMAGE_LEVEL:
        return load_level(l, &r);
    case IMAGE_TRAIL:
        return load_trail(l, &r);
    }
    return ST_CORRUPT;
}

/* How many bytes the unit that begins with have takes, as far as one can tell from it;
 * 0: no unit is that long. */
static size_t
unit_size(const struct image_loader *l, struct slice have)
{
    if (!l->has_header)
        return IMAGE_HEADER_BYTES;
    if (have.size < IMAGE_FRAME_HEAD_BYTES)
        return IMAGE_FRAME_HEAD_BYTES;
    uint32_t size = get_u32(have.data + 1);
    return size > IMAGE_FRAME_BYTES_MAX ? 0 : IMAGE_FRAME_HEAD_BYTES + (size_t)size;
}

static enum status
load_unit(struct image_loader *l, struct slice unit)
{
    return l->has_header ? load_frame(l, unit) : load_header(l, unit);
}

/* Takes from the piece what pending lacks, and decodes it when it is whole. */
static enum status
complete_pending(struct image_loader *l, struct slice *piece)
{
    struct slice have = slice_of(l->pending.data, l->pending.size);
    size_t size = unit_size(l, have);
    if (size == 0)
        return ST_CORRUPT;
    if (have.size < size) {
        size_t lacks = size - have.size;
        size_t part = piece->size < lacks ? piece->size : lacks;
        bytes_put(&l->pending, piece->data, part);
        *piece = slice_of(piece->data + part, piece->size - part);
    }
    have = slice_of(l->pending.data, l->pending.size);
    if (have.size < size || unit_size(l, have) != size)
        return ST_OK; /* the piece is used up, or the frame's size is known only now */
    enum status status = load_unit(l, have);
    bytes_clear(&l->pending);
    return status;
}

enum status
image_loader_feed(struct image_loader *l, struct slice piece)
{
    l->fed_bytes += piece.size;
    while (l->status == ST_OK && piece.size > 0) {
        size_t size = unit_size(l, piece);
        if (l->pending.size > 0 || (size > piece.size && size != 0)) {
            l->status = complete_pending(l, &piece);
        } else if (size == 0) {
            l->status = ST_CORRUPT;
        } else {
            l->status = load_unit(l, slice_of(piece.data, size));
            piece = slice_of(piece.data + size, piece.size - size);
        }
    }
    return l->status;
}

const char *
image_loader_needs(const struct image_loader *l)
{
    return l->needs[0] != '\0' ? l->needs : "the image is of a newer version";
}

enum status
image_loader_finish(struct image_loader *l, struct state **ret_state)
{
    enum status status = l->status;
    if (status == ST_OK && (!l->has_trailer || l->pending.size > 0))
        status = ST_CORRUPT;
    if (status == ST_OK) {
        *ret_state = l->state;
        l->state = NULL;
    }
    image_loader_free(l);
    return status;
}
