/* Tests of queue/image.h: an image taken while the state goes on changing. */
#include "queue/image.h"

#include "base/limits.h"
#include "rig.h"
#include "suites.h"

#include <stdlib.h>
#include <string.h>

/* Feeds bytes in pieces of a size. */
static enum status
load(struct slice bytes, size_t piece_size, struct state **ret_state)
{
    struct image_loader *l = image_loader_new();
    image_loader_expect(l, bytes.size);
    while (bytes.size > 0) {
        size_t part = bytes.size < piece_size ? bytes.size : piece_size;
        if (image_loader_feed(l, slice_of(bytes.data, part)) != ST_OK)
            break;
        bytes = slice_of(bytes.data + part, bytes.size - part);
    }
    return image_loader_finish(l, ret_state);
}

static void
drain(struct image *image, struct bytes *out)
{
    struct blob *piece;
    while ((piece = image_next(image)) != NULL) {
        bytes_put_slice(out, blob_slice(piece));
        blob_put(piece);
    }
}

static void
turn(struct rig *rig)
{
    rig_begin(rig);
    for (uint64_t left = rig_random(rig, 20); left > 0; left--)
        rig_act(rig);
    rig_end(rig);
    rig_commit(rig, rig->in_flight_count);
}

/* A turn that may be committed late, or never. */
static void
loose_turn(struct rig *rig)
{
    if (rig->in_flight_count == RIG_IN_FLIGHT_MAX)
        rig_commit(rig, rig->in_flight_count);
    rig_begin(rig);
    for (uint64_t left = rig_random(rig, 20); left > 0; left--)
        rig_act(rig);
    if (rig_random(rig, 8) == 0)
        rig_rollback(rig);
    else
        rig_end(rig);
}

START_TEST(an_image_is_the_state_at_its_beginning)
{
    struct rig rig;
    struct bytes out = {0};
    struct state *loaded = NULL;
    rig_init(&rig, (uint64_t)_i + 1000);
    for (int i = 0; i < 150; i++)
        turn(&rig);
    for (int round = 0; round < 5; round++) {
        bytes_clear(&out);
        uint64_t digest = state_digest(rig.a);
        uint64_t applied = rig.a->applied;
        uint16_t behind_secs = (uint16_t)(0x0102 + round);
        rig.a->behind_secs = behind_secs;
        struct image *image = image_begin(rig.a);
        ck_assert_uint_eq(image_index(image), applied);
        while (!image_is_done(image)) {
            loose_turn(&rig);
            image_step(image, (uint32_t)rig_random(&rig, 20));
            drain(image, &out);
        }
        image_end(image);
        ck_assert_int_eq(
            load(slice_of(out.data, out.size), 1 + rig_random(&rig, 5000), &loaded),
            ST_OK);
        const char *fault = state_check(loaded);
        ck_assert_msg(fault == NULL, "%s", fault);
        ck_assert_uint_eq(state_digest(loaded), digest);
        ck_assert_uint_eq(loaded->applied, applied);
        ck_assert_uint_eq(loaded->behind_secs, behind_secs);
        state_free(loaded);
    }
    rig_rollback(&rig);
    ck_assert_uint_eq(state_digest(rig.a), state_digest(rig.b));
    bytes_fini(&out);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_follower_goes_on_from_an_image)
{
    struct rig rig;
    struct bytes out = {0};
    rig_init(&rig, (uint64_t)_i + 2000);
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 60; i++)
            turn(&rig);
        struct image *image = image_begin(rig.a);
        image_step(image, UINT32_MAX);
        bytes_clear(&out);
        drain(image, &out);
        ck_assert(image_is_done(image));
        image_end(image);
        state_free(rig.b);
        rig.b = NULL;
        ck_assert_int_eq(load(slice_of(out.data, out.size), SIZE_MAX, &rig.b), ST_OK);
        ck_assert_uint_eq(rig.b->next_queue, rig.a->next_queue);
    }
    for (int i = 0; i < 60; i++)
        turn(&rig);
    ck_assert_uint_eq(state_digest(rig.a), state_digest(rig.b));
    bytes_fini(&out);
    rig_fini(&rig);
}
END_TEST

START_TEST(an_image_can_be_ended_at_any_time)
{
    struct rig rig;
    rig_init(&rig, 5);
    for (int i = 0; i < 50; i++)
        turn(&rig);
    for (uint32_t steps = 0; steps < 30; steps++) {
        struct image *image = image_begin(rig.a);
        image_step(image, steps);
        turn(&rig);
        image_end(image);
        ck_assert_ptr_null(rig.a->image);
    }
    ck_assert_ptr_null(state_check(rig.a));
    rig_fini(&rig);
}
END_TEST

START_TEST(a_queue_deleted_under_an_image_is_in_it)
{
    struct rig rig;
    struct bytes out = {0};
    struct state *loaded = NULL;
    rig_init(&rig, 6);
    rig_begin(&rig);
    struct queue *q = rig_queue(&rig, "q", 10);
    for (int i = 0; i < 20; i++)
        rig_publish(&rig, q, (uint8_t)(i % 3), "x");
    rig_end(&rig);
    rig_commit(&rig, 1);
    uint64_t digest = state_digest(rig.a);
    struct image *image = image_begin(rig.a);
    image_step(image, 3);
    rig_begin(&rig);
    struct record record = {.type = RECORD_QUEUE_DELETE, .queue = q->number};
    rig_do(&rig, &record);
    rig_end(&rig);
    rig_commit(&rig, 1);
    image_step(image, UINT32_MAX);
    drain(image, &out);
    image_end(image);
    ck_assert_int_eq(load(slice_of(out.data, out.size), 7, &loaded), ST_OK);
    ck_assert_uint_eq(state_digest(loaded), digest);
    ck_assert_uint_eq(state_queue(loaded, 1)->counts.messages, 13);
    state_free(loaded);
    bytes_fini(&out);
    rig_fini(&rig);
}
END_TEST

START_TEST(a_queue_that_a_rollback_brings_back_is_not_in_a_later_image)
{
    struct rig rig;
    struct bytes out = {0};
    struct state *loaded = NULL;
    rig_init(&rig, 8);
    rig_begin(&rig);
    struct queue *q = rig_queue(&rig, "q", 10);
    struct message *m = rig_publish(&rig, q, 1, "x");
    rig_end(&rig);
    rig_commit(&rig, 1);
    rig_begin(&rig);
    struct record record = {.type = RECORD_QUEUE_DELETE, .queue = q->number};
    rig_do(&rig, &record);
    rig_end(&rig);
    uint64_t digest = state_digest(rig.a);
    struct image *image = image_begin(rig.a);
    rig_rollback(&rig);
    message_remove(rig.a, m); /* must not come into the image */
    image_step(image, 10);
    drain(image, &out);
    image_end(image);
    ck_assert_int_eq(load(slice_of(out.data, out.size), 9, &loaded), ST_OK);
    ck_assert_uint_eq(state_digest(loaded), digest);
    ck_assert_uint_eq(loaded->queue_count, 0);
    state_free(loaded);
    bytes_fini(&out);
    rig_fini(&rig);
}
END_TEST

START_TEST(large_bodies_cross_pieces)
{
    struct rig rig;
    struct bytes out = {0};
    struct state *loaded = NULL;
    char *body = malloc(600001);
    memset(body, 'b', 600000);
    body[600000] = 0;
    rig_init(&rig, 7);
    rig_begin(&rig);
    struct queue *q = rig_queue(&rig, "q", 10);
    for (int i = 0; i < 5; i++)
        rig_publish(&rig, q, 1, body);
    rig_end(&rig);
    rig_commit(&rig, 1);
    struct image *image = image_begin(rig.a);
    image_step(image, 2);
    struct blob *piece = image_next(image);
    ck_assert_ptr_nonnull(piece);
    ck_assert_uint_eq(piece->size, LIMIT_SNAPSHOT_CHUNK);
    bytes_put_slice(&out, blob_slice(piece));
    blob_put(piece);
    /* A step of few objects takes one such body, and not a hundred. */
    image_step(image, 100);
    ck_assert(!image_is_done(image));
    for (int i = 0; i < 4 && !image_is_done(image); i++) {
        image_step(image, 100);
        drain(image, &out);
    }
    ck_assert(image_is_done(image));
    image_end(image);
    ck_assert_int_eq(load(slice_of(out.data, out.size), 100000, &loaded), ST_OK);
    ck_assert_uint_eq(state_digest(loaded), state_digest(rig.a));
    state_free(loaded);
    bytes_fini(&out);
    rig_fini(&rig);
    free(body);
}
END_TEST

START_TEST(an_empty_state_has_an_image)
{
    struct state *s = state_new();
    struct state *loaded = NULL;
    struct bytes out = {0};
    struct image *image = image_begin(s);
    ck_assert(!image_is_done(image));
    image_step(image, 1);
    drain(image, &out);
    ck_assert(image_is_done(image));
    image_end(image);
    ck_assert_int_eq(load(slice_of(out.data, out.size), 1, &loaded), ST_OK);
    ck_assert_uint_eq(state_digest(loaded), state_digest(s));
    state_free(loaded);
    state_free(s);
    bytes_fini(&out);
}
END_TEST

/* The hint of the size may be right, wrong or missing. */
START_TEST(thousands_of_messages_are_loaded_and_taken_apart_in_steps)
{
    struct rig rig;
    struct bytes out = {0};
    rig_init(&rig, 8);
    rig_begin(&rig);
    struct queue *q[2] = {rig_queue(&rig, "small", 10), rig_queue(&rig, "large", 10)};
    for (int i = 0; i < 5000; i++)
        rig_publish(&rig, q[i % 10 != 0], 1, "0123456789");
    rig_end(&rig);
    rig_commit(&rig, 1);
    struct image *image = image_begin(rig.a);
    image_step(image, UINT32_MAX);
    drain(image, &out);
    image_end(image);
    const uint64_t hints[] = {out.size, 0, 1, out.size / 2, UINT64_MAX};
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        struct state *loaded = NULL;
        struct image_loader *l = image_loader_new();
        image_loader_expect(l, hints[i]);
        for (size_t at = 0; at < out.size; at += 1000)
            ck_assert_int_eq(
                image_loader_feed(l, slice_of(out.data + at, out.size - at < 1000
                                                                 ? out.size - at
                                                                 : 1000)),
                ST_OK);
        ck_assert_int_eq(image_loader_finish(l, &loaded), ST_OK);
        ck_assert_uint_eq(state_digest(loaded), state_digest(rig.a));
        ck_assert_ptr_null(state_check(loaded));
        int steps = 1;
        while (!state_take_apart(loaded, 700)) {
            ck_assert_ptr_null(state_check(loaded));
            steps++;
        }
        ck_assert_int_eq(steps, 5000 / 700 + 1);
    }
    bytes_fini(&out);
    rig_fini(&rig);
}
END_TEST

Suite *
suite_image(void)
{
    Suite *suite = suite_create("image");
    TCase *tc = tcase_create("image");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, an_image_is_the_state_at_its_beginning, 0, 20);
    tcase_add_loop_test(tc, a_follower_goes_on_from_an_image, 0, 10);
    tcase_add_test(tc, an_image_can_be_ended_at_any_time);
    tcase_add_test(tc, a_queue_deleted_under_an_image_is_in_it);
    tcase_add_test(tc, a_queue_that_a_rollback_brings_back_is_not_in_a_later_image);
    tcase_add_test(tc, large_bodies_cross_pieces);
    tcase_add_test(tc, thousands_of_messages_are_loaded_and_taken_apart_in_steps);
    tcase_add_test(tc, an_empty_state_has_an_image);
    suite_add_tcase(suite, tc);
    return suite;
}
