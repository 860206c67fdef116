/* Fuzz target of queue/image_loader: a snapshot's image.
 *
 *   0  u8   bit 0: checksums of bodies are put right; bit 1: a trailer is put behind
 *           it, with the right counts and digest; the rest: size of a piece, less one
 *   1  ...  the image
 *
 * Besides not crashing: in pieces or whole is the same; what loads keeps the invariants
 * of queue/state.h, has rows in time order, and its own image loads as the same and is
 * the same again; a new leader and the end of every queue are fine with it. And no more
 * memory is held than a multiple of what came. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "queue/digest.h"
#include "queue/history.h"
#include "queue/image.h"
#include "queue/image_format.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define BODY_CRC_AT  72
#define KEY_SIZE_AT  76
#define MEMORY_TIMES 64u
#define MEMORY_PLUS  (64u << 10)

uint64_t __real_digest_join(uint64_t frame, uint64_t messages);
uint64_t __wrap_digest_join(uint64_t frame, uint64_t messages);

/* The trailer that was put behind the image says 0, and so does the loader. */
static bool is_digest_given;

uint64_t
__wrap_digest_join(uint64_t frame, uint64_t messages)
{
    return is_digest_given ? 0 : __real_digest_join(frame, messages);
}

static void
fix_message(uint8_t *fields, size_t size)
{
    size_t key_size = get_u32(fields + KEY_SIZE_AT);
    if (key_size > size - IMAGE_MESSAGE_HEAD_BYTES)
        return;
    put_u32(fields + BODY_CRC_AT, crc32c(0, fields + IMAGE_MESSAGE_HEAD_BYTES,
                                         size - IMAGE_MESSAGE_HEAD_BYTES - key_size));
}

static void
put_trailer(struct bytes *image, const struct image_counts *counts)
{
    bytes_put_u8(image, IMAGE_TRAILER);
    bytes_put_u32(image, 5 * 8);
    bytes_put_u64(image, counts->queues);
    bytes_put_u64(image, counts->sessions);
    bytes_put_u64(image, counts->blocks);
    bytes_put_u64(image, counts->messages);
    bytes_put_u64(image, 0);
}

/* Walks the frames; what lies behind the last whole one goes when a trailer comes. */
static void
fix_image(struct bytes *image, bool with_bodies, bool with_trailer)
{
    struct image_counts counts = {0};
    size_t at = IMAGE_HEADER_BYTES;
    while (at + IMAGE_FRAME_HEAD_BYTES <= image->size) {
        size_t fields = at + IMAGE_FRAME_HEAD_BYTES;
        size_t size = get_u32(image->data + at + 1);
        if (size > image->size - fields)
            break;
        uint8_t type = image->data[at];
        counts.queues += type == IMAGE_QUEUE;
        counts.sessions += type == IMAGE_SESSION;
        counts.blocks += type == IMAGE_HISTORY;
        counts.messages += type == IMAGE_MESSAGE;
        if (with_bodies && type == IMAGE_MESSAGE && size >= IMAGE_MESSAGE_HEAD_BYTES)
            fix_message(image->data + fields, size);
        at = fields + size;
    }
    if (with_trailer && at <= image->size) {
        image->size = at;
        put_trailer(image, &counts);
    }
}

static enum status
load(struct slice image, size_t piece_size, struct state **ret_state)
{
    size_t before = allocated_bytes();
    struct image_loader *loader = image_loader_new();
    enum status fed = ST_OK;
    for (size_t at = 0; at < image.size && fed == ST_OK; at += piece_size) {
        size_t left = image.size - at;
        size_t count = left < piece_size ? left : piece_size;
        uint8_t *piece = mem_alloc(count); /* exact, for the address sanitizer */
        memcpy(piece, image.data + at, count);
        fed = image_loader_feed(loader, slice_of(piece, count));
        if (fed != ST_OK)
            require(image_loader_feed(loader, slice_of(piece, count)) == fed);
        mem_free(piece);
    }
    require(allocated_bytes() <= before + MEMORY_TIMES * image.size + MEMORY_PLUS);
    enum status status = image_loader_finish(loader, ret_state);
    require(fed == ST_OK || status == fed);
    require(status == ST_OK || status == ST_CORRUPT || status == ST_VERSION);
    require((status == ST_OK) == (*ret_state != NULL));
    return status;
}

static void
take_image(struct state *s, struct bytes *out)
{
    struct image *image = image_begin(s);
    struct blob *piece;
    bytes_clear(out);
    image_step(image, UINT32_MAX);
    while ((piece = image_next(image)) != NULL) {
        bytes_put_slice(out, blob_slice(piece));
        blob_put(piece);
    }
    require(image_is_done(image));
    image_end(image);
}

static void
row_cb(void *ctx, const struct history_row *row)
{
    uint64_t *last_secs = ctx;
    require(row->at_secs >= *last_secs);
    *last_secs = row->at_secs;
}

static void
check_history(const struct history *h)
{
    uint64_t last_secs = 0;
    uint64_t last_day = UINT64_MAX;
    for (size_t i = 0; i < history_block_count(h); i++) {
        struct bytes block = {0};
        history_block_encode(h, i, &block);
        uint64_t day = get_u64(block.data);
        if (day != last_day)
            history_day(h, day, row_cb, &last_secs);
        last_day = day;
        bytes_fini(&block);
    }
}

/* Nothing that loads may stop the node later: a new leader, then each queue's end. */
static void
check_life(struct state *s)
{
    struct record record = {.type = RECORD_EPOCH, .leader = 1};
    state_apply_record(s, &record, s->stamp_ms);
    require(state_check(s) == NULL);
    record.type = RECORD_QUEUE_DELETE;
    while (!list_is_empty(&s->queues)) {
        record.queue =
            CONTAINER_OF(list_first(&s->queues), struct queue, in_state)->number;
        state_apply_record(s, &record, s->stamp_ms);
    }
    require(state_check(s) == NULL && s->queue_count == 0);
}

static void
check_state(struct state *s)
{
    struct bytes first = {0};
    struct bytes second = {0};
    struct state *again = NULL;
    uint64_t digest = state_digest(s);
    require(state_check(s) == NULL);
    LIST_FOREACH (node, &s->queues) {
        check_history(CONTAINER_OF(node, struct queue, in_state)->stats);
        check_history(CONTAINER_OF(node, struct queue, in_state)->usage);
    }
    take_image(s, &first);
    struct slice bytes = slice_of(first.data, first.size);
    require(load(bytes, first.size, &again) == ST_OK);
    require(state_check(again) == NULL && state_digest(again) == digest);
    require(again->applied == s->applied);
    take_image(again, &second);
    require(slice_equal(bytes, slice_of(second.data, second.size)));
    state_free(again);
    bytes_fini(&first);
    bytes_fini(&second);
    check_life(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct bytes image = {0};
    struct state *whole = NULL;
    struct state *cut = NULL;
    bytes_put(&image, data + 1, size - 1);
    is_digest_given = (data[0] & 2) != 0;
    fix_image(&image, (data[0] & 1) != 0, is_digest_given);
    struct slice bytes = slice_of(image.data, image.size);
    enum status status = load(bytes, image.size, &whole);
    require(load(bytes, (size_t)(data[0] >> 2) + 1, &cut) == status);
    is_digest_given = false;
    if (status == ST_OK) {
        require(state_digest(whole) == state_digest(cut));
        check_state(whole);
    }
    state_free(whole);
    state_free(cut);
    bytes_fini(&image);
    return 0;
}
