/* Tests of base/map: the hash against a plain SipHash, the map against an array. */
#include "base/map.h"

#include "base/list.h"
#include "suites.h"

#include <signal.h>

#define KEYS 5000

/* SipHash-c-d as the paper has it, byte by byte. */
static uint64_t
plain_siphash(int c, int d, const uint64_t key[2], const uint8_t *data, size_t size)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                     key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
    uint64_t word = 0;
    size_t padded = size / 8 * 8 + 8;
    for (size_t i = 0; i < padded + (size_t)d; i++) {
        int rounds = 0;
        if (i < padded) {
            uint64_t byte = i < size ? data[i] : i == padded - 1 ? size & 255 : 0;
            word |= byte << (8 * (i % 8));
            if (i % 8 == 7) {
                v[3] ^= word;
                rounds = c;
            }
        } else {
            v[2] ^= i == padded ? 0xff : 0;
            rounds = 1;
        }
        for (int r = 0; r < rounds; r++) {
#define ROTATE(x, b) ((x) << (b) | (x) >> (64 - (b)))
            v[0] += v[1], v[1] = ROTATE(v[1], 13) ^ v[0], v[0] = ROTATE(v[0], 32);
            v[2] += v[3], v[3] = ROTATE(v[3], 16) ^ v[2];
            v[0] += v[3], v[3] = ROTATE(v[3], 21) ^ v[0];
            v[2] += v[1], v[1] = ROTATE(v[1], 17) ^ v[2], v[2] = ROTATE(v[2], 32);
        }
        if (i < padded && i % 8 == 7) {
            v[0] ^= word;
            word = 0;
        }
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

START_TEST(the_hash_is_siphash_1_3)
{
    const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    uint8_t data[64];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)i;
    /* The paper's own vector, appendix A, shows that the plain one is right. */
    ck_assert_uint_eq(plain_siphash(2, 4, key, data, 15), 0xa129ca6149be45e5u);
    map_seed(key[0], key[1]);
    for (size_t size = 0; size <= sizeof(data); size++)
        ck_assert_uint_eq(map_hash(data, size), plain_siphash(1, 3, key, data, size));
    ck_assert_uint_eq(map_hash_u64(0x0706050403020100u), map_hash(data, 8));
}
END_TEST

START_TEST(the_seed_changes_every_hash)
{
    uint64_t a = map_hash("0123456789abcdef", 16);
    uint64_t b = map_hash_u64(7);
    map_seed(1, 2);
    ck_assert_uint_ne(map_hash("0123456789abcdef", 16), a);
    ck_assert_uint_ne(map_hash_u64(7), b);
}
END_TEST

struct item {
    struct map_node node;
    uint64_t key;
    bool is_in;
};

static bool
match_cb(const void *key, const struct map_node *node)
{
    return CONTAINER_OF(node, const struct item, node)->key == *(const uint64_t *)key;
}

/* Hashes of 12 bits collide often; others are the real ones. */
static uint64_t
hash_of(uint64_t key, bool is_poor)
{
    return is_poor ? map_hash_u64(key) & 0xfff : map_hash_u64(key);
}

static void
change_at_random(bool is_poor, uint64_t seed)
{
    struct map m;
    struct item *items = calloc(KEYS, sizeof(*items));
    size_t count = 0;
    map_init(&m);
    for (int i = 0; i < 60000; i++) {
        /* Growing first, then up and down. */
        uint64_t key = i < KEYS ? (uint64_t)i : random_below(&seed, KEYS);
        struct item *item = &items[key];
        uint64_t hash = hash_of(key, is_poor);
        struct map_node *found = map_find(&m, hash, &key, match_cb);
        ck_assert_ptr_eq(found, item->is_in ? &item->node : NULL);
        item->key = key;
        if (item->is_in)
            map_remove(&m, &item->node);
        else
            map_insert(&m, &item->node, hash);
        item->is_in = !item->is_in;
        count = item->is_in ? count + 1 : count - 1;
        ck_assert_uint_eq(m.count, count);
    }
    for (uint64_t key = 0; key < KEYS; key++)
        ck_assert_ptr_eq(map_find(&m, hash_of(key, is_poor), &key, match_cb),
                         items[key].is_in ? &items[key].node : NULL);
    for (struct map_node *n = map_any(&m); n != NULL; n = map_any(&m)) {
        struct item *item = CONTAINER_OF(n, struct item, node);
        ck_assert(item->is_in);
        item->is_in = false;
        map_remove(&m, n);
    }
    for (size_t i = 0; i < KEYS; i++)
        ck_assert(!items[i].is_in);
    ck_assert_uint_eq(m.count, 0);
    map_fini(&m);
    free(items);
}

START_TEST(random_changes_agree_with_a_model)
{
    change_at_random(false, 1);
}
END_TEST

START_TEST(nodes_with_one_hash_are_told_apart)
{
    change_at_random(true, 2);
}
END_TEST

START_TEST(all_are_found_at_every_step_of_growing)
{
    struct map m;
    struct item *items = calloc(KEYS, sizeof(*items));
    map_init(&m);
    bool was_growing = false;
    for (uint64_t key = 0; key < KEYS; key++) {
        items[key].key = key;
        map_insert(&m, &items[key].node, map_hash_u64(key));
        was_growing = was_growing || m.old != NULL;
        for (uint64_t i = key % 37; i <= key; i += 37)
            ck_assert_ptr_eq(map_find(&m, map_hash_u64(i), &i, match_cb),
                             &items[i].node);
    }
    ck_assert(was_growing);
    ck_assert_uint_ge(m.mask + 1, m.count);
    map_fini(&m);
    free(items);
}
END_TEST

/* Takes apart a map that was left at every possible point of its growth. */
START_TEST(a_half_grown_map_can_be_taken_apart)
{
    struct item *items = calloc(200, sizeof(*items));
    for (size_t size = 0; size < 200; size++) {
        struct map m;
        size_t taken = 0;
        map_init(&m);
        for (size_t i = 0; i < size; i++)
            map_insert(&m, &items[i].node, map_hash_u64(i));
        while (m.count > 0) {
            struct map_node *n = map_any(&m);
            ck_assert_ptr_nonnull(n);
            map_remove(&m, n);
            taken++;
            if (taken == size / 2) { /* and one comes back in between */
                map_insert(&m, n, n->hash);
                map_remove(&m, n);
            }
        }
        ck_assert_uint_eq(taken, size);
        ck_assert_ptr_null(map_any(&m));
        map_fini(&m);
    }
    free(items);
}
END_TEST

START_TEST(any_sees_what_came_in_before_the_last_one)
{
    struct map m;
    struct item a = {0}, b = {0};
    map_init(&m);
    map_insert(&m, &a.node, 9); /* hashes are buckets here */
    ck_assert_ptr_eq(map_any(&m), &a.node);
    map_insert(&m, &b.node, 2);
    map_remove(&m, &a.node);
    ck_assert_ptr_eq(map_any(&m), &b.node);
    map_remove(&m, &b.node);
    ck_assert_ptr_null(map_any(&m));
    map_fini(&m);
}
END_TEST

/* In one go, whether it was empty, full or half grown. */
START_TEST(a_map_with_room_reserved_has_what_it_had)
{
    for (size_t before = 0; before < 70; before++) {
        struct map m;
        struct item items[300];
        map_init(&m);
        for (uint64_t key = 0; key < 300; key++) {
            if (key == before) {
                map_reserve(&m, 250);
                ck_assert_ptr_null(m.old);
                map_reserve(&m, 10); /* never less */
                ck_assert_uint_eq(m.mask, 255);
            }
            items[key].key = key;
            map_insert(&m, &items[key].node, hash_of(key, key % 2 == 0));
            ck_assert(key < before || key >= 256 || m.mask == 255);
        }
        for (uint64_t key = 0; key < 300; key++)
            ck_assert_ptr_eq(map_find(&m, hash_of(key, key % 2 == 0), &key, match_cb),
                             &items[key].node);
        for (struct map_node *n = map_any(&m); n != NULL; n = map_any(&m))
            map_remove(&m, n);
        ck_assert_uint_eq(m.count, 0);
        map_fini(&m);
    }
}
END_TEST

START_TEST(an_empty_map_has_nothing)
{
    struct map m;
    uint64_t key = 1;
    map_init(&m);
    ck_assert_ptr_null(map_find(&m, 1, &key, match_cb));
    ck_assert_ptr_null(map_any(&m));
    map_fini(&m);
    map_fini(&m);
}
END_TEST

START_TEST(removing_what_is_not_in_is_a_bug)
{
    struct map m;
    struct item a = {0}, b = {0};
    map_init(&m);
    map_insert(&m, &a.node, 1);
    map_remove(&m, &b.node);
}
END_TEST

Suite *
suite_map(void)
{
    const TTest *const tests[] = {
        the_hash_is_siphash_1_3,
        the_seed_changes_every_hash,
        random_changes_agree_with_a_model,
        nodes_with_one_hash_are_told_apart,
        all_are_found_at_every_step_of_growing,
        a_half_grown_map_can_be_taken_apart,
        any_sees_what_came_in_before_the_last_one,
        a_map_with_room_reserved_has_what_it_had,
        an_empty_map_has_nothing,
    };
    Suite *suite = suite_of("map", tests, COUNT_OF(tests));
    TCase *bugs = tcase_create("map bugs");
    tcase_add_test_raise_signal(bugs, removing_what_is_not_in_is_a_bug, SIGABRT);
    suite_add_tcase(suite, bugs);
    return suite;
}
