/* Tests of queue/salvage.h, and of what becomes of messages with damaged bodies. */
#include "queue/salvage.h"

#include "base/crc32c.h"
#include "queue/image.h"
#include "rig.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

#define STAMP 1800000000000u

static struct bytes entry;
static uint32_t crc;
static struct state *state;
static struct queue *q;
static struct uuid ids[2];

static void
apply(struct bytes *bytes)
{
    state_apply(state, state->applied + 1, slice_of(bytes->data, bytes->size));
    bytes_fini(bytes);
}

static void
apply_one(struct record record)
{
    struct bytes bytes = {0};
    record.queue = q->number;
    entry_begin(&bytes, state->stamp_ms);
    entry_add(&bytes, &record);
    apply(&bytes);
}

static void
put_publish(struct bytes *out, int i, const char *body)
{
    struct record r = {.type = RECORD_PUBLISH, .queue = q->number};
    ids[i].b[15] = (uint8_t)(i + 1);
    r.publish = (struct record_publish){
        .id = ids[i],
        .order = q->next_order + (uint64_t)i,
        .received_ms = STAMP,
        .type = 1,
        .durability = 2,
        .key = slice_from_text(i == 0 ? "key" : ""),
        .body = slice_from_text(body),
        .body_crc = crc32c(0, body, strlen(body)),
    };
    entry_add(out, &r);
}

/* A state with a queue; an entry with two messages and other records around them. */
static void
setup(void)
{
    struct bytes bytes = {0};
    struct record noop = {.type = RECORD_NOOP};
    struct record create = rig_sample(RECORD_QUEUE_CREATE);
    struct record open = rig_sample(RECORD_SESSION_OPEN);
    state = state_new();
    create.queue = 1;
    entry_begin(&bytes, STAMP);
    entry_add(&bytes, &create);
    apply(&bytes);
    q = CONTAINER_OF(list_first(&state->queues), struct queue, in_state);
    open.queue = q->number;
    entry_begin(&entry, STAMP);
    entry_add(&entry, &noop);
    put_publish(&entry, 0, "the first body");
    entry_add(&entry, &open);
    put_publish(&entry, 1, "another one, which is longer than the first");
    entry_add(&entry, &noop);
    crc = crc32c(0, entry.data, entry.size);
}

static void
teardown(void)
{
    bytes_fini(&entry);
    state_free(state);
}

static bool
is_salvaged(void)
{
    return entry_has_damaged_bodies(slice_of(entry.data, entry.size), crc);
}

static size_t
find(const char *text)
{
    uint8_t *at = memmem(entry.data, entry.size, text, strlen(text));
    ck_assert_ptr_nonnull(at);
    return (size_t)(at - entry.data);
}

/* 0, or the number of the body that the byte is of. */
static int
body_of(size_t at)
{
    static const char *const bodies[] = {"he first body", "other one, which is longer"};
    for (int i = 0; i < 2; i++) {
        size_t from = find(bodies[i]) - (i == 0 ? 1 : 2);
        size_t size = i == 0 ? 14 : 43;
        if (at >= from && at < from + size)
            return i + 1;
    }
    return 0;
}

START_TEST(one_flipped_bit_is_salvaged_exactly_when_it_is_in_a_body)
{
    int salvaged = 0;
    struct bytes whole = {0};
    bytes_put(&whole, entry.data, entry.size);
    ck_assert(!is_salvaged()); /* nothing is damaged */
    for (size_t at = 0; at < entry.size; at++)
        for (int bit = 0; bit < 8; bit++) {
            bool is_body = body_of(at) != 0;
            entry.data[at] ^= (uint8_t)(1 << bit);
            ck_assert_msg(is_salvaged() == is_body, "byte %zu bit %d", at, bit);
            memcpy(entry.data, whole.data, whole.size);
            salvaged += is_body;
        }
    ck_assert_int_eq(salvaged, 8 * (14 + 43));
    bytes_fini(&whole);
}
END_TEST

START_TEST(bodies_may_be_damaged_in_any_way_but_with_anything_else_it_is_refused)
{
    memset(entry.data + find("the first"), 0, 14);
    memset(entry.data + find("another"), 0xee, 43);
    ck_assert(is_salvaged());
    entry.data[entry.size - 1] ^= 1;
    ck_assert(!is_salvaged());
    entry.data[entry.size - 1] ^= 1;
    ck_assert(is_salvaged());
    crc ^= 1;
    ck_assert(!is_salvaged());
    crc ^= 1;
    for (size_t size = 0; size < entry.size; size++)
        ck_assert(!entry_has_damaged_bodies(slice_of(entry.data, size), crc));
}
END_TEST

/* The first of the two messages is damaged. */
static struct message *
damaged(void)
{
    entry.data[find("the first")] ^= 0x20;
    ck_assert(is_salvaged());
    state_apply(state, state->applied + 1, slice_of(entry.data, entry.size));
    struct message *m = queue_message(q, &ids[0]);
    ck_assert(m->is_damaged && state->has_damaged);
    ck_assert(!queue_message(q, &ids[1])->is_damaged);
    return m;
}

START_TEST(a_damaged_message_goes_on_as_the_log_says)
{
    struct message *m = damaged();
    uint64_t session = rig_sample(RECORD_SESSION_OPEN).session.session;
    ck_assert_int_eq(m->place, PLACE_WAITING);
    apply_one((struct record){.type = RECORD_ASSIGN,
                              .message = {.id = ids[0], .session = session}});
    ck_assert_int_eq(m->place, PLACE_HELD);
    apply_one((struct record){.type = RECORD_ACK, .message = {.id = ids[0]}});
    ck_assert_ptr_null(queue_message(q, &ids[0]));
    ck_assert_ptr_null(state_check(state));
}
END_TEST

START_TEST(however_it_dies_it_is_dead_as_damaged_with_its_bytes)
{
    struct message *m = damaged();
    apply_one((struct record){.type = RECORD_MOVE_TO_DLQ, .message = {.id = ids[0]}});
    ck_assert_int_eq(m->place, PLACE_DEAD);
    ck_assert_int_eq(m->dead_reason, DEAD_DAMAGED);
    ck_assert(slice_equal(message_body(m), slice_from_text("The first body")));
    ck_assert(slice_equal(message_key(m), slice_from_text("key")));
}
END_TEST

static struct state *
through_an_image(void)
{
    struct image *image = image_begin(state);
    struct image_loader *l = image_loader_new();
    struct state *loaded = NULL;
    struct blob *piece;
    image_step(image, UINT32_MAX);
    while ((piece = image_next(image)) != NULL) {
        ck_assert_int_eq(image_loader_feed(l, blob_slice(piece)), ST_OK);
        blob_put(piece);
    }
    image_end(image);
    ck_assert_int_eq(image_loader_finish(l, &loaded), ST_OK);
    return loaded;
}

START_TEST(an_image_has_damaged_messages_dead_and_alive)
{
    for (int round = 0; round < 2; round++) {
        struct message *m = round == 0 ? damaged() : queue_message(q, &ids[0]);
        struct state *loaded = through_an_image();
        struct queue *copy = state_queue(loaded, q->number);
        struct message *other = queue_message(copy, &ids[0]);
        ck_assert_uint_eq(state_digest(loaded), state_digest(state));
        ck_assert(loaded->has_damaged && other->is_damaged);
        ck_assert_int_eq(other->place, m->place);
        ck_assert_int_eq(other->dead_reason, round == 0 ? 0 : DEAD_DAMAGED);
        ck_assert(slice_equal(message_body(other), message_body(m)));
        ck_assert(!queue_message(copy, &ids[1])->is_damaged);
        ck_assert_ptr_null(state_check(loaded));
        state_free(loaded);
        if (round == 0)
            apply_one(
                (struct record){.type = RECORD_MOVE_TO_DLQ, .message = {.id = ids[0]}});
    }
}
END_TEST

Suite *
suite_salvage(void)
{
    Suite *s = suite_create("salvage");
    TCase *t = tcase_create("entry");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, one_flipped_bit_is_salvaged_exactly_when_it_is_in_a_body);
    tcase_add_test(
        t, bodies_may_be_damaged_in_any_way_but_with_anything_else_it_is_refused);
    tcase_add_test(t, a_damaged_message_goes_on_as_the_log_says);
    tcase_add_test(t, however_it_dies_it_is_dead_as_damaged_with_its_bytes);
    tcase_add_test(t, an_image_has_damaged_messages_dead_and_alive);
    suite_add_tcase(s, t);
    return s;
}
