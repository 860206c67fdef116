/* Tests of batches: sizes, numbers, indexes, and what a lost leadership leaves. */
#include "tests/unit/broker/suites.h"
#include "tests/unit/broker/world.h"

#include "broker/inside.h"

#include <string.h>

static struct world w;

static void
setup(void)
{
    struct queue_spec spec;
    world_init(&w, 1);
    world_lead(&w);
    world_spec(&spec, "demo");
    world_create(&w, &spec);
    world_log_in(&w, world_login(&w, 1, ROLE_PUBLISHER), true);
    world_drain(&w);
}

static void
teardown(void)
{
    ck_assert_ptr_null(world_check(&w));
    world_fini(&w);
}

static void
publish(size_t size, uint8_t durability)
{
    struct request *r = world_request(PARCEL_PUBLISH, 1);
    r->publish.body = blob_new(size);
    memset(r->publish.body->data, 'x', size);
    r->publish.type = 1;
    r->publish.durability = durability;
    world_send(&w, r);
}

START_TEST(a_batch_closes_at_its_size)
{
    for (int i = 0; i < 40; i++)
        publish(100000, 1);
    bool is_sync;
    unsigned count = 0;
    const struct world_entry *entry;
    for (; (entry = world_take(&w, &is_sync)) != NULL; count++)
        ck_assert_uint_lt(entry->blob->size, LIMIT_ENTRY_CLOSE_BYTES + 200000);
    unsigned each = (LIMIT_ENTRY_CLOSE_BYTES + 99999) / 100000;
    ck_assert_uint_eq(count, (40 + each - 1) / each);
    ck_assert_uint_eq(broker_open_bytes(w.b), 0);
    world_commit(&w);
    ck_assert_uint_eq(world_drain(&w), 40);
}
END_TEST

START_TEST(one_message_may_be_six_mebibytes)
{
    publish(LIMIT_ENTRY_CLOSE_BYTES - 1000, 1);
    publish(6u << 20, 1);
    publish(10, 1);
    bool is_sync;
    ck_assert_uint_gt(world_take(&w, &is_sync)->blob->size,
                      (6u << 20) + LIMIT_ENTRY_CLOSE_BYTES - 1000);
    ck_assert_uint_lt(world_take(&w, &is_sync)->blob->size, 1000);
    world_commit(&w);
    ck_assert_uint_eq(world_drain(&w), 3);
}
END_TEST

START_TEST(open_bytes_count_what_nobody_took)
{
    publish(1000, 1);
    size_t open = broker_open_bytes(w.b);
    ck_assert_uint_gt(open, 1000);
    publish(1000, 2);
    ck_assert_uint_gt(broker_open_bytes(w.b), open + 1000);
    bool is_sync;
    world_take(&w, &is_sync);
    ck_assert(!is_sync);
    world_take(&w, &is_sync);
    ck_assert(is_sync);
    ck_assert_uint_eq(broker_open_bytes(w.b), 0);
    world_commit(&w);
    world_drain(&w);
}
END_TEST

START_TEST(a_batch_that_waits_too_long_takes_no_more)
{
    publish(10, 1);
    world_tick(&w, 1000);
    publish(10, 1);
    world_tick(&w, 1);
    publish(10, 1);
    struct batch batch;
    ck_assert(broker_take_batch(w.b, UINT64_MAX, &batch));
    struct entry_reader reader;
    ck_assert_int_eq(entry_open(&reader, blob_slice(batch.entry)), ST_OK);
    ck_assert_uint_eq(reader.left, 2);
    blob_put(batch.entry);
    ck_assert(broker_take_batch(w.b, UINT64_MAX, &batch));
    blob_put(batch.entry);
    ck_assert(!broker_take_batch(w.b, UINT64_MAX, &batch));
    world_stop(&w); /* never submitted */
    world_lead(&w);
}
END_TEST

START_TEST(indexes_may_have_gaps_and_applied_follows_them)
{
    ck_assert(broker_is_settled(w.b));
    publish(10, 1);
    ck_assert(!broker_is_settled(w.b));
    bool is_sync;
    w.index += 5; /* barriers of the log */
    world_take(&w, &is_sync);
    ck_assert(broker_is_settled(w.b));
    ck_assert_uint_eq(w.state->applied, w.index);
    broker_committed(w.b, w.index - 1); /* a barrier: nothing of ours */
    ck_assert_uint_eq(world_drain(&w), 0);
    world_commit(&w);
    ck_assert_uint_eq(world_drain(&w), 1);
    broker_committed(w.b, w.index + 3);
    ck_assert_uint_eq(w.state->applied, w.index + 3);
    w.index += 3;
    state_skip(w.other, w.index);
}
END_TEST

START_TEST(a_stop_goes_back_to_the_last_committed_index)
{
    publish(10, 1);
    world_commit(&w);
    uint64_t committed = w.state->applied;
    uint64_t stamp_ms = w.state->stamp_ms;
    world_tick(&w, 50);
    publish(10, 1);
    bool is_sync;
    world_take(&w, &is_sync);
    world_tick(&w, 50);
    publish(10, 2);
    world_take(&w, &is_sync);
    publish(10, 1); /* still open */
    world_stop(&w);
    ck_assert_uint_eq(w.state->applied, committed);
    ck_assert_uint_eq(w.state->stamp_ms, stamp_ms);
    ck_assert_uint_eq(state_digest(w.state), state_digest(w.other));
    ck_assert_uint_eq(world_drain(&w), 0);
    ck_assert(!broker_is_leading(w.b));
    ck_assert_uint_eq(broker_deadline(w.b), UINT64_MAX);
    ck_assert_uint_eq(broker_barrier(w.b), 0);
    world_lead(&w);
    ck_assert_uint_eq(world_queue(&w)->counts.messages, 1);
}
END_TEST

START_TEST(numbers_go_on_over_terms_and_old_ones_are_ignored)
{
    publish(10, 1);
    struct batch old;
    ck_assert(broker_take_batch(w.b, UINT64_MAX, &old));
    blob_put(old.entry);
    world_stop(&w);
    world_lead(&w);
    broker_submitted(w.b, old.number, w.index + 1); /* late news */
    uint64_t number = broker_barrier(w.b);
    ck_assert_uint_gt(number, old.number);
    ck_assert_uint_eq(broker_barrier(w.b), number);
    world_commit(&w);
}
END_TEST

START_TEST(many_batches_in_flight)
{
    bool is_sync;
    for (int i = 0; i < 100; i++) {
        publish(10, (uint8_t)(1 + i % 2));
        ck_assert_ptr_nonnull(world_take(&w, &is_sync));
    }
    ck_assert_uint_eq(world_drain(&w), 0);
    for (int i = 0; i < 100; i++) {
        ck_assert(world_commit_one(&w));
        ck_assert_uint_eq(world_drain(&w), 1);
    }
}
END_TEST

START_TEST(a_commit_may_come_before_the_submit_returns)
{
    publish(10, 2);
    struct batch batch;
    ck_assert(broker_take_batch(w.b, UINT64_MAX, &batch));
    w.index++;
    state_apply(w.other, w.index, blob_slice(batch.entry));
    blob_put(batch.entry);
    broker_committed(w.b, w.index);
    ck_assert_uint_eq(world_drain(&w), 0);
    broker_submitted(w.b, batch.number, w.index);
    ck_assert_uint_eq(world_drain(&w), 1);
    ck_assert_uint_eq(broker_committed_batch(w.b), batch.number);
}
END_TEST

START_TEST(the_configuration_version_moves_with_the_commit)
{
    uint64_t version = broker_config_version(w.b);
    struct record_settings_set set = {.count = 1};
    set.items[0].id = SETTING_MAX_WS_MSG_LEN;
    set.items[0].value = 2048;
    uint64_t number;
    struct slice name = slice_from_text("demo");
    ck_assert_int_eq(broker_set_settings(w.b, name, &set, &number), ST_OK);
    ck_assert_uint_eq(broker_config_version(w.b), version);
    world_commit(&w);
    ck_assert_uint_eq(broker_config_version(w.b), version + 1);
    set.items[0].value = 1;
    ck_assert_int_eq(broker_set_settings(w.b, name, &set, &number), ST_RANGE);
    name = slice_from_text("none");
    ck_assert_int_eq(broker_set_settings(w.b, name, &set, &number), ST_NOTFOUND);
}
END_TEST

START_TEST(what_a_lost_term_left_in_the_ring_is_gone)
{
    bool is_sync = false;
    for (int i = 0; i < 40; i++) {
        publish(10, 2);
        world_commit(&w);
    }
    world_stop(&w);
    world_lead(&w);
    world_log_in(&w, world_login(&w, 1, ROLE_PUBLISHER), true);
    publish(10, 1);
    ck_assert_ptr_nonnull(world_take(&w, &is_sync));
    ck_assert(!is_sync);
    world_commit(&w);
    world_drain(&w);
}
END_TEST

static void
subscribe(void)
{
    struct request *r = world_login(&w, 2, ROLE_SUBSCRIBER);
    r->login->has_capacity = true;
    r->login->capacity = 10;
    world_log_in(&w, r, true);
    world_commit(&w);
}

/* The next message that is delivered, published now. */
static struct uuid
receive(uint8_t durability)
{
    struct mail_chain chain = {0};
    struct uuid id = {0};
    struct parcel *p;
    bool is_there = false;
    publish(10, durability);
    world_commit(&w);
    broker_take_parcels(w.b, &chain);
    while ((p = world_parcel(&w, &chain)) != NULL) {
        if (p->kind == PARCEL_DELIVERY) {
            id = ((const struct delivery *)p)->id;
            is_there = true;
        }
        parcel_free(p);
    }
    ck_assert(is_there);
    return id;
}

static void
ack(struct uuid id)
{
    struct request *r = world_request(PARCEL_SETTLE, 2);
    r->settle.has_id = true;
    r->settle.id = id;
    r->settle.is_ack = true;
    world_send(&w, r);
}

static bool
take_at(uint64_t now_ms)
{
    struct batch batch;
    if (!broker_take_batch(w.b, now_ms, &batch))
        return false;
    w.flights[w.flight_count++] =
        (struct world_entry){batch.entry, ++w.index, batch.number};
    broker_submitted(w.b, batch.number, w.index);
    return true;
}

/* A publisher with one message in flight is about to send its next. */
START_TEST(a_synced_ack_waits_for_a_publish_that_is_likely)
{
    subscribe();
    ack(receive(2));
    ck_assert(!take_at(w.now_ms));
    ck_assert(!broker_is_settled(w.b));
    ck_assert_uint_eq(broker_deadline(w.b), w.now_ms + BATCH_HOLD_MS);
    publish(10, 2);
    ck_assert(take_at(w.now_ms)); /* one entry for both */
    ck_assert(!take_at(UINT64_MAX));
    world_commit(&w);
    world_drain(&w);
}
END_TEST

START_TEST(a_synced_ack_waits_for_a_moment_only)
{
    subscribe();
    ack(receive(2));
    world_tick(&w, BATCH_HOLD_MS - 1);
    ck_assert(!take_at(w.now_ms));
    world_tick(&w, 1);
    ck_assert(take_at(w.now_ms));
    world_commit(&w);
    ck_assert_uint_eq(world_drain(&w), 1);
}
END_TEST

START_TEST(an_ack_that_has_no_reason_to_wait_does_not)
{
    subscribe();
    /* Nobody has published for a while. */
    struct uuid id = receive(2);
    world_tick(&w, BATCH_HOLD_MS + 1);
    ack(id);
    ck_assert(take_at(w.now_ms));
    /* It need not be synced. */
    ack(receive(1));
    ck_assert(take_at(w.now_ms));
    /* Somebody waits for what else is in the batch. */
    ack(receive(2));
    ck_assert_uint_ne(broker_barrier(w.b), 0);
    ck_assert(take_at(w.now_ms));
    world_commit(&w);
    world_drain(&w);
}
END_TEST

Suite *
suite_batch(void)
{
    Suite *suite = suite_create("batch");
    TCase *tc = tcase_create("batch");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_batch_closes_at_its_size);
    tcase_add_test(tc, one_message_may_be_six_mebibytes);
    tcase_add_test(tc, open_bytes_count_what_nobody_took);
    tcase_add_test(tc, a_batch_that_waits_too_long_takes_no_more);
    tcase_add_test(tc, indexes_may_have_gaps_and_applied_follows_them);
    tcase_add_test(tc, a_stop_goes_back_to_the_last_committed_index);
    tcase_add_test(tc, numbers_go_on_over_terms_and_old_ones_are_ignored);
    tcase_add_test(tc, many_batches_in_flight);
    tcase_add_test(tc, a_commit_may_come_before_the_submit_returns);
    tcase_add_test(tc, the_configuration_version_moves_with_the_commit);
    tcase_add_test(tc, what_a_lost_term_left_in_the_ring_is_gone);
    tcase_add_test(tc, a_synced_ack_waits_for_a_publish_that_is_likely);
    tcase_add_test(tc, a_synced_ack_waits_for_a_moment_only);
    tcase_add_test(tc, an_ack_that_has_no_reason_to_wait_does_not);
    suite_add_tcase(suite, tc);
    return suite;
}
