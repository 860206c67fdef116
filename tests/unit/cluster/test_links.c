/* Three clusters in one process: links come up, carry frames, break and come back. */
#include "test_cluster.h"

#include "base/limits.h"
#include "base/mem.h"
#include "rig.h"

#include <stdlib.h>
#include <string.h>

static struct rig rig;

static void
setup(void)
{
    rig_init(&rig);
}

static void
teardown(void)
{
    rig_fini(&rig);
}

static void
start_all(void)
{
    for (unsigned id = 1; id <= RIG_NODES; id++)
        rig_start(&rig, id);
    ck_assert(rig_connect(&rig, 1, 2));
    ck_assert(rig_connect(&rig, 1, 3));
    ck_assert(rig_connect(&rig, 2, 3));
}

/* --- frames with a known content --- */

struct stream {
    struct rig_node *to;
    const size_t *sizes;
    size_t count;
    size_t arrived;
};

/* The content of byte position of frame number: differs between frames. */
static uint8_t
content(size_t number, size_t position)
{
    return (uint8_t)((position * 31) ^ (position >> 8) ^ (number * 7));
}

static struct blob *
make_payload(size_t number, size_t size)
{
    struct blob *b = blob_new(size);
    for (size_t i = 0; i < size; i++)
        b->data[i] = content(number, i);
    return b;
}

static void
check_frame(struct rig_node *n, uint64_t peer, uint8_t kind, struct blob *body)
{
    struct stream *s = n->ctx;
    ck_assert_uint_eq(peer, 1);
    ck_assert_uint_lt(s->arrived, s->count);
    ck_assert_uint_eq(kind, s->arrived % 2 == 0 ? 64 : 7);
    ck_assert_uint_eq(body->size, s->sizes[s->arrived]);
    for (size_t i = 0; i < body->size; i++) {
        if (body->data[i] != content(s->arrived, i))
            ck_abort_msg("frame %zu differs at %zu", s->arrived, i);
    }
    s->arrived++;
}

static bool
has_all(void *ctx)
{
    const struct stream *s = ctx;
    return s->arrived == s->count;
}

/* Odd frames go as head and two entries, even ones as a user's. */
static void
send_numbered(struct cluster *c, size_t number, size_t size)
{
    struct blob *b = make_payload(number, size);
    if (number % 2 == 0) {
        cluster_send_user(c, 2, 64, blob_slice(b));
        blob_put(b);
        return;
    }
    uint32_t head = size < 40 ? (uint32_t)size : 40;
    uint32_t rest = (uint32_t)size - head;
    struct rlog_entry entries[3] = {
        {.blob = b, .offset = head, .size = rest / 3},
        {.blob = NULL, .offset = 0, .size = 0},
        {.blob = b, .offset = head + rest / 3, .size = rest - rest / 3},
    };
    struct rlog_frame frame = {7, slice_of(b->data, head), entries, 3};
    cluster_send(c, 2, &frame);
    blob_put(b);
}

START_TEST(frames_of_all_sizes_arrive_in_order_and_intact)
{
    static const size_t sizes[] = {
        0,
        1,
        11,
        12,
        100,
        2047,
        2048,
        2049,
        0,
        4096,
        16371,
        16372,
        16384,
        16385,
        40000,
        65536,
        3,
        100000,
        262144,
        262143,
        1000000,
        1 << 20,
        3000000,
        5,
        77777,
        1,
        0,
        8 << 20,
        8 << 20,
        17,
        LIMIT_FRAME_BYTES,
        0,
    };
    struct stream s = {&rig.nodes[2], sizes, sizeof sizes / sizeof sizes[0], 0};
    start_all();
    rig.nodes[2].frame_cb = check_frame;
    rig.nodes[2].ctx = &s;
    for (size_t i = 0; i < s.count; i++)
        send_numbered(rig.nodes[1].cluster, i, sizes[i]);
    ck_assert(rig_run(&rig, 20000, has_all, &s));
    ck_assert_uint_eq(rig.nodes[3].frames, 0);
}
END_TEST

START_TEST(thousands_of_small_frames_arrive_in_order)
{
    enum { COUNT = 20000 };
    size_t *sizes = calloc(COUNT, sizeof *sizes);
    struct stream s = {&rig.nodes[2], sizes, COUNT, 0};
    start_all();
    rig.nodes[2].frame_cb = check_frame;
    rig.nodes[2].ctx = &s;
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = (i * 7919) % (i % 64 == 0 ? 5000 : 200);
        send_numbered(rig.nodes[1].cluster, i, sizes[i]);
        if (i % 1000 == 0)
            cluster_flush(rig.nodes[1].cluster);
    }
    ck_assert(rig_run(&rig, 20000, has_all, &s));
    free(sizes);
}
END_TEST

START_TEST(peers_learn_address_and_relay_key_of_each_other)
{
    start_all();
    struct cluster_peer_info info;
    ck_assert_int_eq(cluster_peer(rig.nodes[1].cluster, 3, &info), ST_OK);
    ck_assert_str_eq(info.client_address, "client-3:443");
    ck_assert_mem_eq(info.relay_key, cluster_relay_key(rig.nodes[3].cluster), 32);
    ck_assert_mem_ne(info.relay_key, cluster_relay_key(rig.nodes[1].cluster), 32);
    ck_assert_uint_eq(info.version, 1);
    ck_assert_int_eq(cluster_peer(rig.nodes[1].cluster, 1, &info), ST_NOTFOUND);
    ck_assert_int_eq(cluster_peer(rig.nodes[1].cluster, 4, &info), ST_NOTFOUND);
}
END_TEST

static bool
is_down_everywhere(void *ctx)
{
    (void)ctx;
    return rig.nodes[1].downs[3] == 1 && rig.nodes[2].downs[3] == 1;
}

START_TEST(a_stopped_peer_is_reported_refused)
{
    start_all();
    rig_stop(&rig, 3);
    ck_assert(rig_run(&rig, 1000, is_down_everywhere, NULL));
    ck_assert(rig.nodes[1].was_refused[3]);
    ck_assert(rig.nodes[2].was_refused[3]);
    /* Once: later dials that are refused are no news. */
    rig_idle(&rig, 300);
    ck_assert_uint_eq(rig.nodes[1].downs[3], 1);
    ck_assert(rig_is_up(&rig, 1, 2) && rig_is_up(&rig, 2, 1));
}
END_TEST

START_TEST(a_restarted_peer_is_found_again_with_a_new_key)
{
    start_all();
    uint8_t old_key[32];
    memcpy(old_key, cluster_relay_key(rig.nodes[3].cluster), sizeof old_key);
    for (int round = 1; round <= 3; round++) {
        rig_stop(&rig, 3);
        ck_assert(rig_run(&rig, 1000, is_down_everywhere, NULL));
        rig_start(&rig, 3);
        ck_assert(rig_connect(&rig, 1, 3));
        ck_assert(rig_connect(&rig, 2, 3));
        ck_assert_uint_eq(rig.nodes[1].ups[3], 2);
        rig.nodes[1].ups[3] = rig.nodes[2].ups[3] = 1;
        rig.nodes[1].downs[3] = rig.nodes[2].downs[3] = 0;
    }
    struct cluster_peer_info info;
    ck_assert_int_eq(cluster_peer(rig.nodes[1].cluster, 3, &info), ST_OK);
    ck_assert_mem_ne(info.relay_key, old_key, 32);
    ck_assert_mem_eq(info.relay_key, cluster_relay_key(rig.nodes[3].cluster), 32);
}
END_TEST

static bool
is_down_then_up(void *ctx)
{
    (void)ctx;
    return rig.nodes[1].downs[2] >= 1 && rig_is_up(&rig, 1, 2);
}

START_TEST(a_refused_frame_closes_the_connection_and_is_not_a_dead_process)
{
    start_all();
    rig.nodes[2].answer = ST_INVALID;
    cluster_send_user(rig.nodes[1].cluster, 2, 64, slice_from_text("bad"));
    ck_assert(rig_run(&rig, 2000, is_down_then_up, NULL));
    ck_assert(!rig.nodes[1].was_refused[2]);
    rig.nodes[2].answer = ST_OK;
    ck_assert_uint_eq(rig.nodes[2].frames, 1);
}
END_TEST

START_TEST(a_storm_of_refused_frames_is_slowed_down)
{
    start_all();
    rig.nodes[2].answer = ST_INVALID;
    uint64_t end = rig_now_ns() + 1500000000u;
    while (rig_now_ns() < end) {
        cluster_send_user(rig.nodes[1].cluster, 2, 64, slice_from_text("bad"));
        rig_idle(&rig, 1);
    }
    /* Four at once, then waits of 50 ms and doubling. */
    ck_assert_uint_lt(rig.nodes[1].ups[2], 16);
    ck_assert_uint_gt(rig.nodes[1].ups[2], 4);
}
END_TEST

/* --- the bound of the queue --- */

struct tally {
    uint64_t arrived;
    uint64_t last;
    bool is_wrong;
};

static void
count_frame(struct rig_node *n, uint64_t peer, uint8_t kind, struct blob *body)
{
    struct tally *t = n->ctx;
    (void)peer, (void)kind;
    uint64_t number = get_u64(body->data);
    if (body->size != (1u << 20) || number <= t->last ||
        body->data[body->size - 1] != 0x5a)
        t->is_wrong = true;
    t->last = number;
    t->arrived++;
}

static bool
is_marker_there(void *ctx)
{
    const struct tally *t = ctx;
    return t->last == 1000;
}

START_TEST(a_full_queue_drops_whole_frames_only)
{
    struct tally t = {0};
    start_all();
    rig.nodes[2].frame_cb = count_frame;
    rig.nodes[2].ctx = &t;
    /* Without the loop running nothing is read: 200 MiB do not fit. */
    for (uint64_t i = 1; i <= 200; i++) {
        struct blob *b = blob_new(1u << 20);
        memset(b->data, 0x5a, b->size);
        put_u64(b->data, i);
        struct rlog_entry entry = {.blob = b, .size = b->size};
        struct rlog_frame frame = {7, slice_of("", 0), &entry, 1};
        cluster_send(rig.nodes[1].cluster, 2, &frame);
        cluster_flush(rig.nodes[1].cluster);
        blob_put(b);
    }
    rig_idle(&rig, 300);
    struct blob *b = blob_new(1u << 20);
    memset(b->data, 0x5a, b->size);
    put_u64(b->data, 1000);
    cluster_send_user(rig.nodes[1].cluster, 2, 64, blob_slice(b));
    blob_put(b);
    ck_assert(rig_run(&rig, 20000, is_marker_there, &t));
    ck_assert(!t.is_wrong);
    ck_assert_uint_ge(t.arrived, (LIMIT_PEER_QUEUE_BYTES >> 20) - 2);
    ck_assert_uint_lt(t.arrived, 120);
    ck_assert_uint_eq(rig.nodes[1].downs[2], 0);
}
END_TEST

START_TEST(failed_allocations_cost_a_connection_and_heal)
{
    rig_start(&rig, 1);
    for (uint64_t nth = 1; nth <= 12; nth++) {
        mem_fail_at(nth);
        rig_start(&rig, 2);
        /* A retry may fail as well: twice the wait. */
        ck_assert_msg(rig_connect(&rig, 1, 2) || rig_connect(&rig, 1, 2),
                      "failure at %llu", (unsigned long long)nth);
        cluster_send_user(rig.nodes[1].cluster, 2, 64, slice_from_text("x"));
        rig_idle(&rig, 5);
        mem_fail_at(0);
        rig_stop(&rig, 2);
    }
}
END_TEST

START_TEST(sending_to_nobody_does_nothing)
{
    rig_start(&rig, 1);
    cluster_send_user(rig.nodes[1].cluster, 2, 64, slice_from_text("x"));
    cluster_send_user(rig.nodes[1].cluster, 77, 64, slice_from_text("x"));
    cluster_flush(rig.nodes[1].cluster);
    rig_idle(&rig, 20);
}
END_TEST

START_TEST(a_port_in_use_is_told)
{
    rig_start(&rig, 1);
    struct cluster_options options = rig_options(&rig, 2);
    char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%u", rig.nodes[1].port);
    options.listen_address = address;
    ck_assert_int_eq(rig_start_with(&rig, &options), ST_EXISTS);
    options.listen_address = "no port";
    ck_assert_int_eq(rig_start_with(&rig, &options), ST_INVALID);
}
END_TEST

Suite *
links_suite(void)
{
    Suite *suite = suite_create("links");
    TCase *tcase = tcase_create("links");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, frames_of_all_sizes_arrive_in_order_and_intact);
    tcase_add_test(tcase, thousands_of_small_frames_arrive_in_order);
    tcase_add_test(tcase, peers_learn_address_and_relay_key_of_each_other);
    tcase_add_test(tcase, a_stopped_peer_is_reported_refused);
    tcase_add_test(tcase, a_restarted_peer_is_found_again_with_a_new_key);
    tcase_add_test(tcase,
                   a_refused_frame_closes_the_connection_and_is_not_a_dead_process);
    tcase_add_test(tcase, a_storm_of_refused_frames_is_slowed_down);
    tcase_add_test(tcase, a_full_queue_drops_whole_frames_only);
    tcase_add_test(tcase, failed_allocations_cost_a_connection_and_heal);
    tcase_add_test(tcase, sending_to_nobody_does_nothing);
    tcase_add_test(tcase, a_port_in_use_is_told);
    suite_add_tcase(suite, tcase);
    return suite;
}
