/* Image: writing.
 *
 * A cursor goes through the queues there were at the beginning, in each through the
 * messages by id and then through the dead letters by id. It remembers the last id and
 * not a node, so anything may happen between two steps. What the cursor has not reached
 * and is about to change comes through image_touch() first. A message that is in the
 * image, or that is newer than it, carries the image's mark: nothing is written twice,
 * and a dead letter that was waiting a moment ago is passed over. Queues of the image
 * carry it too: one that a rollback brings back was not there at the beginning.
 *
 * Bytes go straight into blobs of LIMIT_SNAPSHOT_CHUNK: no second copy, and a frame may
 * cross from one piece to the next. */
#include "queue/image.h"

#include "base/limits.h"
#include "base/mem.h"
#include "queue/digest.h"
#include "queue/history.h"
#include "queue/image_format.h"
#include "queue/level.h"
#include "queue/place.h"
#include "queue/trail.h"

#include <assert.h>
#include <string.h>

struct piece {
    struct list_node in_ready;
    struct blob *blob;
};

struct image {
    struct state *state;
    uint64_t index;
    uint64_t frame_digest;
    uint64_t messages_digest;
    struct queue **queues; /* pinned, by number */
    uint32_t queue_count;
    uint32_t at_queue;
    bool is_in_dead;  /* the cursor is in the dead letters of at_queue */
    bool has_last;    /* last_id was visited in this tree */
    bool is_complete; /* the trailer is written */
    struct uuid last_id;
    struct image_counts counts;
    struct list ready; /* full pieces */
    struct blob *filling;
    uint32_t filled;
    struct bytes scratch; /* the frame being made */
};

static void
push_filling(struct image *image)
{
    struct piece *piece = mem_calloc(1, sizeof *piece);
    piece->blob = image->filling;
    piece->blob->size = image->filled;
    list_push_back(&image->ready, &piece->in_ready);
    image->filling = NULL;
    image->filled = 0;
}

static void
write_bytes(struct image *image, const void *data, size_t size)
{
    const uint8_t *from = data;
    while (size > 0) {
        if (image->filling == NULL)
            image->filling = blob_new(LIMIT_SNAPSHOT_CHUNK);
        size_t room = LIMIT_SNAPSHOT_CHUNK - image->filled;
        size_t part = size < room ? size : room;
        memcpy(image->filling->data + image->filled, from, part);
        image->filled += (uint32_t)part;
        from += part;
        size -= part;
        if (image->filled == LIMIT_SNAPSHOT_CHUNK)
            push_filling(image);
    }
}

/* What scratch holds, and then tail, as one frame. */
static void
write_frame(struct image *image, enum image_frame type, struct slice tail)
{
    uint8_t head[IMAGE_FRAME_HEAD_BYTES];
    head[0] = (uint8_t)type;
    put_u32(head + 1, (uint32_t)(image->scratch.size + tail.size));
    write_bytes(image, head, sizeof head);
    write_bytes(image, image->scratch.data, image->scratch.size);
    write_bytes(image, tail.data, tail.size);
    bytes_clear(&image->scratch);
}

static void
write_message(struct image *image, struct message *m)
{
    struct bytes *b = &image->scratch;
    assert(m->durability > 0 && m->place != PLACE_NONE);
    bytes_put_u32(b, m->queue->number);
    bytes_put(b, m->id.b, UUID_SIZE);
    bytes_put_u8(b, (uint8_t)m->place);
    bytes_put_u8(b, m->is_damaged            ? DEAD_DAMAGED
                    : m->place == PLACE_DEAD ? m->dead_reason
                                             : 0);
    bytes_put_u8(b, m->type);
    bytes_put_u8(b, m->durability);
    bytes_put_u64(b, m->order);
    bytes_put_u64(b, m->ready_ms);
    bytes_put_u64(b, m->received_ms);
    bytes_put_u64(b, m->place == PLACE_WAITING ? 0 : m->held_order);
    bytes_put_u64(b, m->place == PLACE_HELD ? m->holder->number : 0);
    bytes_put_u32(b, m->delay_secs);
    bytes_put_u32(b, m->deliveries);
    bytes_put_u32(b, m->body_crc);
    bytes_put_u32(b, m->key_size);
    assert(b->size == IMAGE_MESSAGE_HEAD_BYTES);
    write_frame(image, IMAGE_MESSAGE, blob_slice(m->body));
    if (m->trail != NULL) {
        trail_encode(b, m->trail);
        write_frame(image, IMAGE_TRAIL, slice_of(NULL, 0));
    }
    image->messages_digest += digest_message(m);
    image->counts.messages++;
    m->image_mark = image->state->image_mark;
}

static void
write_session(struct image *image, const struct session *x)
{
    struct bytes *b = &image->scratch;
    bytes_put_u32(b, x->queue->number);
    bytes_put_u64(b, x->number);
    bytes_put(b, x->id.b, UUID_SIZE);
    bytes_put(b, x->prev_id.b, UUID_SIZE);
    bytes_put_u8(b, (uint8_t)(x->has_prev | x->is_saved << 1 | x->has_received << 2));
    bytes_put_u32(b, x->capacity);
    bytes_put_u64(b, x->saved_ms);
    bytes_put_u64(b, x->next_held);
    write_frame(image, IMAGE_SESSION, slice_of(NULL, 0));
    image->counts.sessions++;
}

static void
write_history(struct image *image, const struct queue *q, bool is_usage)
{
    const struct history *history = is_usage ? q->usage : q->stats;
    size_t count = history_block_count(history);
    for (size_t i = 0; i < count; i++) {
        bytes_put_u32(&image->scratch, q->number);
        bytes_put_u8(&image->scratch, is_usage);
        history_block_encode(history, i, &image->scratch);
        write_frame(image, IMAGE_HISTORY, slice_of(NULL, 0));
        image->counts.blocks++;
    }
}

static void
write_queue(struct image *image, const struct queue *q)
{
    struct bytes *b = &image->scratch;
    size_t name_size = strlen(q->name);
    bytes_put_u32(b, q->number);
    bytes_put_u8(b, (uint8_t)q->tier);
    bytes_put_u8(b, (uint8_t)name_size);
    bytes_put_u16(b, SETTING_COUNT);
    bytes_put(b, q->name, name_size);
    bytes_put_u64(b, q->created_ms);
    bytes_put_u64(b, q->next_order);
    bytes_put_u64(b, q->next_session);
    for (int i = 0; i < SETTING_COUNT; i++)
        bytes_put_u64(b, q->settings[i]);
    for (int i = 0; i < ROLE_COUNT; i++)
        login_secret_encode(b, &q->logins[i]);
    write_frame(image, IMAGE_QUEUE, slice_of(NULL, 0));
    image->counts.queues++;
    for (struct tree_node *n = tree_first(&q->line); n != NULL; n = tree_next(n))
        write_session(image, CONTAINER_OF(n, struct session, in_line));
    write_history(image, q, false);
    write_history(image, q, true);
}

static void
write_header(struct image *image, const struct state *s)
{
    struct bytes *b = &image->scratch;
    bytes_put(b, IMAGE_MAGIC, IMAGE_MAGIC_BYTES);
    bool is_first = s->level == HF_LEVEL_FIRST;
    bytes_put_u16(b, is_first ? IMAGE_VERSION_FIRST : IMAGE_VERSION);
    bytes_put_u16(b, s->behind_secs);
    bytes_put_u32(b, s->next_queue);
    bytes_put_u64(b, s->applied);
    bytes_put_u64(b, s->stamp_ms);
    bytes_put_u64(b, s->epoch_leader);
    bytes_put_u64(b, s->epoch_floor_ms);
    assert(b->size == IMAGE_HEADER_BYTES);
    write_bytes(image, b->data, b->size);
    bytes_clear(b);
    if (is_first)
        return;
    bytes_put_u32(b, s->level);
    write_frame(image, IMAGE_LEVEL, slice_of(NULL, 0));
}

static void
write_trailer(struct image *image)
{
    struct bytes *b = &image->scratch;
    bytes_put_u64(b, image->counts.queues);
    bytes_put_u64(b, image->counts.sessions);
    bytes_put_u64(b, image->counts.blocks);
    bytes_put_u64(b, image->counts.messages);
    bytes_put_u64(b, digest_join(image->frame_digest, image->messages_digest));
    write_frame(image, IMAGE_TRAILER, slice_of(NULL, 0));
    if (image->filled > 0)
        push_filling(image);
    image->is_complete = true;
}

struct image *
image_begin(struct state *s)
{
    assert(s->image == NULL && "one image at a time");
    struct image *image = mem_calloc(1, sizeof *image);
    image->state = s;
    image->index = s->applied;
    image->frame_digest = digest_frame(s);
    image->queues = mem_calloc(s->queue_count, sizeof(struct queue *));
    list_init(&image->ready);
    s->image = image;
    s->image_mark++;
    write_header(image, s);
    LIST_FOREACH (node, &s->queues) {
        struct queue *q = CONTAINER_OF(node, struct queue, in_state);
        image->queues[image->queue_count++] = q;
        q->pins++;
        q->image_mark = s->image_mark;
        write_queue(image, q);
    }
    return image;
}

void
image_touch(struct image *image, struct message *m)
{
    uint32_t mark = image->state->image_mark;
    if (m->durability > 0 && m->place != PLACE_NONE && m->image_mark != mark &&
        m->queue->image_mark == mark)
        write_message(image, m);
}

static int
compare_id(const void *key, const struct tree_node *node)
{
    return uuid_compare(key, &CONTAINER_OF(node, struct message, in_ids)->id);
}

/* Where the cursor goes on in the tree it is in; NULL at the end of the tree. */
static struct tree_node *
find_next(const struct image *image)
{
    const struct queue *q = image->queues[image->at_queue];
    const struct tree *ids = image->is_in_dead ? &q->dead : &q->messages;
    if (!image->has_last)
        return tree_first(ids);
    return tree_lower(ids, &image->last_id, true, compare_id);
}

/* The next tree, and behind the last one the trailer. */
static void
turn_over(struct image *image)
{
    image->has_last = false;
    image->is_in_dead = !image->is_in_dead;
    if (!image->is_in_dead)
        image->at_queue++;
}

void
image_step(struct image *image, uint32_t objects)
{
    while (objects > 0 && image->at_queue < image->queue_count) {
        struct tree_node *next = find_next(image);
        if (next == NULL) {
            turn_over(image);
            continue;
        }
        while (next != NULL && objects > 0) {
            struct message *m = CONTAINER_OF(next, struct message, in_ids);
            uint32_t weight = 1 + m->body->size / IMAGE_OBJECT_BYTES;
            objects -= weight < objects ? weight : objects;
            next = tree_next(next);
            image->last_id = m->id;
            image->has_last = true;
            image_touch(image, m);
        }
    }
    if (image->at_queue == image->queue_count && !image->is_complete)
        write_trailer(image);
}

uint64_t
image_index(const struct image *image)
{
    return image->index;
}

struct blob *
image_next(struct image *image)
{
    struct list_node *node = list_pop_front(&image->ready);
    if (node == NULL)
        return NULL;
    struct piece *piece = CONTAINER_OF(node, struct piece, in_ready);
    struct blob *blob = piece->blob;
    mem_free(piece);
    return blob;
}

bool
image_is_done(const struct image *image)
{
    return image->is_complete && list_is_empty(&image->ready);
}

void
image_end(struct image *image)
{
    if (image == NULL)
        return;
    struct blob *blob;
    while ((blob = image_next(image)) != NULL)
        blob_put(blob);
    blob_put(image->filling);
    image->state->image = NULL;
    for (uint32_t i = 0; i < image->queue_count; i++)
        queue_unpin(image->state, image->queues[i]);
    mem_free(image->queues);
    bytes_fini(&image->scratch);
    mem_free(image);
}
