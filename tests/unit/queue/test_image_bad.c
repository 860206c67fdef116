/* Tests of the image loader on what is no image: it refuses, and never crashes. */
#include "queue/image.h"

#include "base/mem.h"
#include "queue/image_format.h"
#include "queue/level.h"
#include "rig.h"
#include "suites.h"

#include <stdlib.h>

static struct bytes image_bytes;

/* A small image with something of every kind. */
static void
set_up(uint32_t level)
{
    struct rig rig;
    struct record record = {.type = RECORD_LEVEL, .level = level};
    rig_init(&rig, 31);
    rig_begin(&rig);
    rig_do(&rig, &record);
    rig_end(&rig);
    rig_commit(&rig, 1);
    for (int i = 0; i < 6; i++) {
        rig_begin(&rig);
        for (int j = 0; j < 25; j++)
            rig_act(&rig);
        rig_end(&rig);
        rig_commit(&rig, 1);
    }
    rig_begin(&rig);
    struct queue *q = CONTAINER_OF(list_first(&rig.a->queues), struct queue, in_state);
    struct session *x = rig_session(&rig, q, 5);
    for (int i = 0; i < 3; i++)
        rig_assign(&rig, rig_publish(&rig, q, 1, "held"), x);
    message_to_dlq(rig.a, rig_publish(&rig, q, 1, "dead"), DEAD_MOVED, rig.now_ms);
    ck_assert_uint_eq(rig.a->level, level);
    struct image *image = image_begin(rig.a);
    struct blob *piece;
    image_step(image, UINT32_MAX);
    while ((piece = image_next(image)) != NULL) {
        bytes_put_slice(&image_bytes, blob_slice(piece));
        blob_put(piece);
    }
    image_end(image);
    rig_fini(&rig);
}

static void
setup(void)
{
    set_up(HF_LEVEL_FIRST);
}

static void
setup_now(void)
{
    set_up(HF_LEVEL_NOW);
}

static void
teardown(void)
{
    bytes_fini(&image_bytes);
}

static enum status
load(struct slice bytes)
{
    struct state *loaded = NULL;
    struct image_loader *l = image_loader_new();
    enum status fed = image_loader_feed(l, bytes);
    enum status status = image_loader_finish(l, &loaded);
    ck_assert(fed == ST_OK || fed == status);
    if (status == ST_OK) {
        ck_assert_ptr_null(state_check(loaded));
        state_free(loaded);
    } else {
        ck_assert_ptr_null(loaded);
    }
    return status;
}

START_TEST(the_whole_image_is_fine)
{
    ck_assert_int_eq(load(slice_of(image_bytes.data, image_bytes.size)), ST_OK);
}
END_TEST

START_TEST(every_truncation_is_corrupt)
{
    for (size_t size = 0; size < image_bytes.size; size++) {
        uint8_t *copy = malloc(size + 1);
        for (size_t i = 0; i < size; i++)
            copy[i] = image_bytes.data[i];
        ck_assert_int_eq(load(slice_of(copy, size)), ST_CORRUPT);
        free(copy);
    }
}
END_TEST

START_TEST(bytes_behind_the_trailer_are_corrupt)
{
    bytes_put_u8(&image_bytes, 0);
    ck_assert_int_eq(load(slice_of(image_bytes.data, image_bytes.size)), ST_CORRUPT);
}
END_TEST

/* Fields that the digest leaves out: applied (header), next_order (queues). A flip
 * there may load; the snapshot store's checksum finds it. */
static bool
may_load(size_t at)
{
    if ((at >= 16 && at < 24) || at == 10 || at == 11) /* applied, behind */
        return true;
    size_t frame = IMAGE_HEADER_BYTES;
    while (frame + IMAGE_FRAME_HEAD_BYTES <= image_bytes.size) {
        size_t fields = frame + IMAGE_FRAME_HEAD_BYTES;
        size_t order = fields + 8u + image_bytes.data[fields + 5] + 8u;
        if (image_bytes.data[frame] == IMAGE_QUEUE && at >= order && at < order + 8)
            return true;
        if (image_bytes.data[frame] == IMAGE_SESSION && at >= fields + 49 &&
            at < fields + 57)
            return true; /* saved_ms of one that is not saved */
        frame = fields + get_u32(image_bytes.data + frame + 1);
    }
    return false;
}

START_TEST(every_flipped_bit_is_refused)
{
    for (size_t bit = 0; bit < image_bytes.size * 8; bit++) {
        bool excused = may_load(bit / 8);
        image_bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        enum status status = load(slice_of(image_bytes.data, image_bytes.size));
        image_bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_msg(status != ST_OK || excused, "bit %zu of byte %zu", bit % 8,
                      bit / 8);
        ck_assert(status == ST_OK || status == ST_CORRUPT || status == ST_VERSION);
    }
}
END_TEST

START_TEST(an_unknown_version_is_refused_as_such)
{
    image_bytes.data[IMAGE_MAGIC_BYTES] = IMAGE_VERSION + 1;
    ck_assert_int_eq(load(slice_of(image_bytes.data, image_bytes.size)), ST_VERSION);
}
END_TEST

START_TEST(a_frame_that_comes_twice_is_refused)
{
    size_t frame = IMAGE_HEADER_BYTES;
    while (frame < image_bytes.size) {
        size_t size = IMAGE_FRAME_HEAD_BYTES + get_u32(image_bytes.data + frame + 1);
        struct bytes twice = {0};
        bytes_put(&twice, image_bytes.data, frame + size);
        bytes_put(&twice, image_bytes.data + frame, image_bytes.size - frame);
        ck_assert_int_eq(load(slice_of(twice.data, twice.size)), ST_CORRUPT);
        bytes_fini(&twice);
        frame += size;
    }
}
END_TEST

START_TEST(rubbish_never_crashes)
{
    struct rig rig;
    rig_init(&rig, (uint64_t)_i);
    for (int i = 0; i < 2000; i++) {
        struct bytes copy = {0};
        bytes_put(&copy, image_bytes.data, image_bytes.size);
        for (uint64_t left = 1 + rig_random(&rig, 6); left > 0; left--) {
            size_t at = rig_random(&rig, copy.size);
            copy.data[at] = (uint8_t)rig_random(&rig, 256);
        }
        (void)load(slice_of(copy.data, copy.size));
        bytes_fini(&copy);
    }
    rig_fini(&rig);
}
END_TEST

START_TEST(a_failed_allocation_is_reported)
{
    for (uint64_t nth = 1;; nth++) {
        struct state *loaded = NULL;
        struct image_loader *l = image_loader_new();
        mem_fail_at(nth);
        enum status fed =
            image_loader_feed(l, slice_of(image_bytes.data, image_bytes.size));
        mem_fail_at(0);
        enum status status = image_loader_finish(l, &loaded);
        ck_assert_int_eq(status, fed);
        if (status == ST_OK) {
            state_free(loaded);
            ck_assert_uint_gt(nth, 10);
            break;
        }
        ck_assert_int_eq(status, ST_NOMEM);
    }
}
END_TEST

static TCase *
image_case(const char *name, SFun setup_cb)
{
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 240);
    tcase_add_checked_fixture(tc, setup_cb, teardown);
    tcase_add_test(tc, the_whole_image_is_fine);
    tcase_add_test(tc, every_truncation_is_corrupt);
    tcase_add_test(tc, bytes_behind_the_trailer_are_corrupt);
    tcase_add_test(tc, every_flipped_bit_is_refused);
    tcase_add_test(tc, an_unknown_version_is_refused_as_such);
    tcase_add_test(tc, a_frame_that_comes_twice_is_refused);
    tcase_add_loop_test(tc, rubbish_never_crashes, 0, 3);
    tcase_add_test(tc, a_failed_allocation_is_reported);
    return tc;
}

Suite *
suite_image_bad(void)
{
    Suite *suite = suite_create("image_bad");
    suite_add_tcase(suite, image_case("first_level", setup));
    suite_add_tcase(suite, image_case("present_level", setup_now));
    return suite;
}
