/* Tests of queue/sweep.h: one record about many messages. */
#include "queue/sweep.h"

#include "queue/level.h"
#include "rig.h"
#include "suites.h"

#include <string.h>

#define MESSAGES 10

static struct rig rig;
static struct queue *q;
static struct message *m[MESSAGES];

static void
setup(void)
{
    struct record record = {.type = RECORD_LEVEL, .level = HF_LEVEL_SWEEPS};
    rig_init(&rig, 6);
    rig_begin(&rig);
    rig_do(&rig, &record);
    q = rig_queue(&rig, "q", 10);
    for (int i = 0; i < MESSAGES; i++)
        m[i] = rig_publish(&rig, q, i == 4 ? 0 : 1, "x");
    rig_end(&rig);
    rig_commit(&rig, 1);
    rig_begin(&rig);
}

static void
teardown(void)
{
    rig_fini(&rig);
}

/* All but the one of durability 0; the nacked ones have even numbers. On a alone. */
static void
bury_all(void)
{
    for (int i = 0; i < MESSAGES; i++) {
        if (i == 4)
            continue;
        if (i % 2 == 0)
            rig_assign(&rig, m[i], rig_session(&rig, q, 1));
        message_to_dlq(rig.a, m[i], i % 2 == 0 ? DEAD_NACK : DEAD_MOVED,
                       10000 + (uint64_t)i);
    }
}

static struct record
sweep_of(enum record_type type, uint8_t places)
{
    struct record record;
    memset(&record, 0, sizeof record);
    record.type = type;
    record.queue = q->number;
    record.sweep.places = places;
    record.sweep.is_redrive = type == RECORD_REDRIVE_SOME;
    record.sweep.order = q->next_order;
    memset(&record.sweep.last, 0xff, sizeof record.sweep.last);
    return record;
}

static uint32_t
found(const struct record_sweep *fields)
{
    struct sweep sweep;
    uint32_t count = 0;
    sweep_begin(&sweep, q, fields);
    while (sweep_next(&sweep) != NULL)
        count++;
    return count;
}

START_TEST(a_redrive_puts_them_behind_the_others_in_the_order_of_their_ids)
{
    bury_all();
    struct record record = sweep_of(RECORD_REDRIVE_SOME, SWEEP_DEAD);
    record.sweep.count = 9;
    uint64_t first = q->next_order;
    state_apply_record(rig.a, &record, 20000);
    ck_assert_uint_eq(q->counts.dead, 0);
    for (uint64_t i = 0, at = 0; i < MESSAGES; i++) {
        if (i == 4)
            continue;
        ck_assert_int_eq(m[i]->place, PLACE_WAITING);
        ck_assert_uint_eq(m[i]->order, first + at++);
        ck_assert_uint_eq(m[i]->ready_ms, 20000);
        ck_assert_uint_eq(m[i]->deliveries, 0);
    }
    ck_assert_ptr_null(state_check(rig.a));
}
END_TEST

START_TEST(reason_time_key_and_ids_choose)
{
    bury_all();
    struct record record = sweep_of(RECORD_REDRIVE_SOME, SWEEP_DEAD);
    record.sweep.reasons = 1u << DEAD_NACK;
    ck_assert_uint_eq(found(&record.sweep), 4);
    record.sweep.before_ms = 10006;
    ck_assert_uint_eq(found(&record.sweep), 2);
    record.sweep.reasons = 0;
    ck_assert_uint_eq(found(&record.sweep), 5);
    record.sweep.first = m[1]->id;
    ck_assert_uint_eq(found(&record.sweep), 4);
    record.sweep.last = m[3]->id;
    ck_assert_uint_eq(found(&record.sweep), 3);
    record.sweep.key = slice_from_text("other");
    ck_assert_uint_eq(found(&record.sweep), 0);
}
END_TEST

START_TEST(a_damaged_one_is_not_redriven)
{
    bury_all();
    m[2]->is_damaged = true;
    struct record record = sweep_of(RECORD_REDRIVE_SOME, SWEEP_DEAD);
    ck_assert_uint_eq(found(&record.sweep), 8);
    record = sweep_of(RECORD_PURGE, SWEEP_DEAD);
    ck_assert_uint_eq(found(&record.sweep), 9);
    m[2]->is_damaged = false;
}
END_TEST

START_TEST(a_purge_takes_the_places_it_names_and_followers_agree)
{
    struct session *x = rig_session(&rig, q, 5);
    rig_assign(&rig, m[0], x);
    rig_assign(&rig, m[1], x);
    struct record record = sweep_of(RECORD_PURGE, SWEEP_WAITING);
    record.sweep.count = 7; /* durable ones */
    rig_do(&rig, &record);
    ck_assert_uint_eq(q->counts.messages, 3); /* held, and the one of durability 0 */
    rig_end(&rig);
    rig_commit(&rig, 1);
    ck_assert_uint_eq(state_digest(rig.a), state_digest(rig.b));
    rig_begin(&rig);
    uint64_t before = state_digest(rig.a);
    record = sweep_of(RECORD_PURGE, SWEEP_WAITING | SWEEP_HELD);
    record.sweep.count = 2;
    rig_do(&rig, &record);
    ck_assert_uint_eq(x->held_count, 0);
    rig_rollback(&rig);
    ck_assert_uint_eq(state_digest(rig.a), before);
    ck_assert_uint_eq(x->held_count, 2);
    rig_begin(&rig);
}
END_TEST

START_TEST(a_node_that_finds_others_stops)
{
    bury_all();
    struct record record = sweep_of(RECORD_REDRIVE_SOME, SWEEP_DEAD);
    record.sweep.count = 8;
    state_apply_record(rig.a, &record, 20000);
}
END_TEST

/* A sweep with one byte of its fields changed. */
static enum status
read_sweep_with(enum record_type type, size_t offset, uint8_t value)
{
    struct bytes out = {0};
    struct entry_reader reader;
    struct record record = rig_sample(type);
    entry_begin(&out, 5);
    entry_add(&out, &record);
    out.data[RECORD_HEADER_BYTES + 5 + offset] = value;
    ck_assert_int_eq(entry_open(&reader, slice_of(out.data, out.size)), ST_OK);
    enum status status = entry_next(&reader, &record);
    bytes_fini(&out);
    return status;
}

START_TEST(a_sweep_that_no_leader_writes_is_refused)
{
    ck_assert_int_eq(read_sweep_with(RECORD_PURGE, 40, SWEEP_DEAD), ST_OK);
    ck_assert_int_eq(read_sweep_with(RECORD_PURGE, 40, 0), ST_CORRUPT);
    ck_assert_int_eq(read_sweep_with(RECORD_PURGE, 40, SWEEP_DEAD | SWEEP_WAITING),
                     ST_CORRUPT);
    ck_assert_int_eq(read_sweep_with(RECORD_PURGE, 40, SWEEP_WAITING), ST_CORRUPT);
    ck_assert_int_eq(read_sweep_with(RECORD_PURGE, 41, 1u << DEAD_REASONS), ST_CORRUPT);
    ck_assert_int_eq(read_sweep_with(RECORD_PURGE, 36, 0), ST_CORRUPT); /* count */
    ck_assert_int_eq(read_sweep_with(RECORD_PURGE, 39, 1), ST_CORRUPT);
    ck_assert_int_eq(read_sweep_with(RECORD_PURGE, 20, 0), ST_CORRUPT); /* last */
    ck_assert_int_eq(read_sweep_with(RECORD_PURGE, 49, 1), ST_CORRUPT); /* time */
    ck_assert_int_eq(read_sweep_with(RECORD_REDRIVE_SOME, 58, 0x40), ST_CORRUPT);
    ck_assert_int_eq(read_sweep_with(RECORD_REDRIVE_SOME, 40, SWEEP_HELD), ST_CORRUPT);
}
END_TEST

Suite *
suite_sweep(void)
{
    Suite *suite = suite_create("sweep");
    TCase *tc = tcase_create("sweep");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_redrive_puts_them_behind_the_others_in_the_order_of_their_ids);
    tcase_add_test(tc, reason_time_key_and_ids_choose);
    tcase_add_test(tc, a_damaged_one_is_not_redriven);
    tcase_add_test(tc, a_purge_takes_the_places_it_names_and_followers_agree);
    tcase_add_test_raise_signal(tc, a_node_that_finds_others_stops, 6);
    tcase_add_test(tc, a_sweep_that_no_leader_writes_is_refused);
    suite_add_tcase(suite, tc);
    return suite;
}
