/* Tests of queue/level.h: nothing new is written below the level that it needs. */
#include "queue/level.h"

#include "queue/image.h"
#include "queue/image_format.h"
#include "rig.h"
#include "suites.h"

#include <stdio.h>

static void
raise_level(struct rig *rig, uint32_t level)
{
    struct record record = {.type = RECORD_LEVEL, .level = level};
    rig_begin(rig);
    rig_do(rig, &record);
    rig_end(rig);
}

static void
take_image(struct state *s, struct bytes *out)
{
    struct image *image = image_begin(s);
    struct blob *piece;
    image_step(image, UINT32_MAX);
    while ((piece = image_next(image)) != NULL) {
        bytes_put_slice(out, blob_slice(piece));
        blob_put(piece);
    }
    image_end(image);
}

static enum status
load(const struct bytes *image, struct state **ret_state)
{
    struct image_loader *l = image_loader_new();
    enum status st = image_loader_feed(l, slice_of(image->data, image->size));
    if (st == ST_VERSION)
        ck_assert_ptr_nonnull(strstr(image_loader_needs(l), "newer version"));
    return image_loader_finish(l, ret_state);
}

START_TEST(a_level_only_rises_and_is_taken_back_with_its_entry)
{
    struct rig rig;
    rig_init(&rig, 1);
    ck_assert_uint_eq(rig.a->level, HF_LEVEL_FIRST);
    uint64_t before = state_digest(rig.a);
    raise_level(&rig, 2);
    ck_assert_uint_eq(rig.a->level, 2);
    ck_assert_uint_ne(state_digest(rig.a), before);
    rig_rollback(&rig);
    ck_assert_uint_eq(rig.a->level, HF_LEVEL_FIRST);
    ck_assert_uint_eq(state_digest(rig.a), before);
    raise_level(&rig, 2);
    raise_level(&rig, 1);
    rig_commit(&rig, 2);
    ck_assert_uint_eq(rig.a->level, 2);
    ck_assert_uint_eq(rig.b->level, 2);
    ck_assert_uint_eq(state_digest(rig.a), state_digest(rig.b));
    rig_fini(&rig);
}
END_TEST

START_TEST(an_image_of_the_first_level_is_of_the_first_version)
{
    struct rig rig;
    struct bytes image = {0};
    rig_init(&rig, 2);
    take_image(rig.a, &image);
    ck_assert_uint_eq(get_u16(image.data + IMAGE_MAGIC_BYTES), IMAGE_VERSION_FIRST);
    ck_assert_uint_eq(image.data[IMAGE_HEADER_BYTES], IMAGE_TRAILER);
    bytes_fini(&image);
    rig_fini(&rig);
}
END_TEST

START_TEST(an_image_of_a_higher_level_says_which)
{
    struct rig rig;
    struct bytes image = {0};
    struct state *loaded = NULL;
    rig_init(&rig, 3);
    raise_level(&rig, 2);
    rig_commit(&rig, 1);
    take_image(rig.a, &image);
    ck_assert_uint_eq(get_u16(image.data + IMAGE_MAGIC_BYTES), IMAGE_VERSION);
    ck_assert_int_eq(load(&image, &loaded), ST_OK);
    ck_assert_uint_eq(loaded->level, 2);
    ck_assert_uint_eq(state_digest(loaded), state_digest(rig.a));
    state_free(loaded);
    uint8_t *level = image.data + IMAGE_HEADER_BYTES + IMAGE_FRAME_HEAD_BYTES;
    put_u32(level, HF_LEVEL_NOW + 1);
    ck_assert_int_eq(load(&image, &loaded), ST_VERSION);
    put_u32(level, HF_LEVEL_FIRST);
    ck_assert_int_eq(load(&image, &loaded), ST_CORRUPT);
    put_u32(level, 2);
    put_u16(image.data + IMAGE_MAGIC_BYTES, IMAGE_VERSION + 1);
    ck_assert_int_eq(load(&image, &loaded), ST_VERSION);
    bytes_fini(&image);
    rig_fini(&rig);
}
END_TEST

START_TEST(nothing_is_applied_behind_a_level_that_is_not_known)
{
    struct state *s = state_new();
    struct bytes entry = {0};
    struct record record = {.type = RECORD_LEVEL, .level = HF_LEVEL_NOW};
    entry_begin(&entry, 1000);
    entry_add(&entry, &record);
    put_u32(entry.data + entry.size - 4, HF_LEVEL_NOW + 1);
    record = (struct record){.type = RECORD_EPOCH, .leader = 3};
    entry_add(&entry, &record);
    state_apply(s, 1, slice_of(entry.data, entry.size));
    ck_assert(!state_is_readable(s));
    ck_assert_uint_eq(s->epoch_leader, 0);
    ck_assert_uint_eq(s->applied, 0);
    state_apply(s, 2, slice_of(entry.data, entry.size));
    ck_assert_uint_eq(s->epoch_leader, 0);
    char text[LEVEL_TEXT_BYTES];
    level_describe("level", s->level, HF_LEVEL_NOW, text);
    ck_assert_str_eq(text, "level 3 is needed and this program knows up to 2: "
                           "run a newer version of holdfastd on this node");
    state_free(s);
    bytes_fini(&entry);
}
END_TEST

Suite *
suite_level(void)
{
    Suite *suite = suite_create("level");
    TCase *tc = tcase_create("level");
    tcase_add_test(tc, a_level_only_rises_and_is_taken_back_with_its_entry);
    tcase_add_test(tc, an_image_of_the_first_level_is_of_the_first_version);
    tcase_add_test(tc, an_image_of_a_higher_level_says_which);
    tcase_add_test(tc, nothing_is_applied_behind_a_level_that_is_not_known);
    suite_add_tcase(suite, tc);
    return suite;
}
