/* A log was salvaged: messages with damaged bodies are waiting, held and delayed when a
 * leader begins. */
#include "tests/unit/broker/suites.h"
#include "tests/unit/broker/world.h"

#include "base/crc32c.h"
#include "broker/inside.h"

#include <string.h>

static struct world w;
static struct uuid ids[4];

/* Applied on both nodes, as from the log. */
static void
apply(struct bytes *entry)
{
    w.index++;
    state_apply(w.state, w.index, slice_of(entry->data, entry->size));
    state_apply(w.other, w.index, slice_of(entry->data, entry->size));
    bytes_fini(entry);
}

static void
apply_publish(int i, uint32_t delay_secs, bool is_damaged)
{
    struct bytes entry = {0};
    struct queue *q = world_queue(&w);
    struct record r = {.type = RECORD_PUBLISH, .queue = q->number};
    ids[i].b[15] = (uint8_t)(i + 1);
    r.publish = (struct record_publish){.id = ids[i],
                                        .order = q->next_order,
                                        .received_ms = w.state->stamp_ms,
                                        .delay_secs = delay_secs,
                                        .type = 1,
                                        .durability = 2,
                                        .body = slice_from_text("body"),
                                        .body_crc = crc32c(0, "body", 4)};
    entry_begin(&entry, w.state->stamp_ms);
    entry_add(&entry, &r);
    entry.data[entry.size - 1] ^= is_damaged ? 1 : 0;
    apply(&entry);
}

static void
apply_hold(int i)
{
    struct bytes entry = {0};
    struct queue *q = world_queue(&w);
    struct record open = {.type = RECORD_SESSION_OPEN, .queue = q->number};
    struct record assign = {.type = RECORD_ASSIGN, .queue = q->number};
    open.session = (struct record_session){.session = q->next_session, .capacity = 5};
    open.session.id.b[0] = 7;
    assign.message =
        (struct record_message){.id = ids[i], .session = open.session.session};
    entry_begin(&entry, w.state->stamp_ms);
    entry_add(&entry, &open);
    entry_add(&entry, &assign);
    apply(&entry);
}

static struct reply *
ask(enum admin_command command, int i, struct request **ret_request)
{
    static struct mail_chain chain;
    struct request *r = world_request(PARCEL_ADMIN, 2);
    r->admin->command = command;
    r->admin->has_id = true;
    r->admin->id = ids[i];
    world_send(&w, r);
    world_commit(&w);
    struct parcel *parcel = world_parcel(&w, &chain);
    ck_assert_ptr_nonnull(parcel);
    *ret_request = (struct request *)(void *)parcel;
    return &(*ret_request)->reply;
}

static void
setup(void)
{
    struct queue_spec spec;
    world_init(&w, 1);
    world_lead(&w);
    world_spec(&spec, "demo");
    world_create(&w, &spec);
    world_commit(&w);
    world_drain(&w);
    world_stop(&w);
    for (int i = 0; i < 4; i++)
        apply_publish(i, i == 2 ? 3600 : 0, i != 3);
    apply_hold(1);
}

START_TEST(a_leader_begins_with_the_damaged_messages_in_the_dlq_on_every_node)
{
    struct request *r;
    world_lead(&w);
    world_commit(&w);
    ck_assert_ptr_null(world_check(&w));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 4; i++) {
            struct state *s = k == 0 ? w.state : w.other;
            struct queue *q = state_queue(s, world_queue(&w)->number);
            const struct message *m = queue_message(q, &ids[i]);
            ck_assert_int_eq(m->place, i < 3 ? PLACE_DEAD : PLACE_WAITING);
            ck_assert_int_eq(m->dead_reason, i < 3 ? DEAD_DAMAGED : 0);
        }
    world_log_in(&w, world_login(&w, 2, ROLE_ADMIN), true);
    world_drain(&w);
    struct reply *reply = ask(ADMIN_GETDLQMSG, 1, &r);
    ck_assert_uint_eq(r->code, 0);
    ck_assert(reply->rows[0].is_damaged);
    ck_assert(slice_equal(blob_slice(reply->rows[0].body), slice_from_text("bodx")));
    parcel_free(&r->parcel);
    ask(ADMIN_DELDLQMSG, 1, &r);
    ck_assert_uint_eq(r->code, 0);
    parcel_free(&r->parcel);
    ck_assert_ptr_null(queue_message(world_queue(&w), &ids[1]));
    ck_assert_ptr_null(world_check(&w));
    world_fini(&w);
}
END_TEST

START_TEST(a_leader_that_falls_before_it_is_committed_leaves_it_to_the_next)
{
    world_lead(&w);
    world_stop(&w);
    ck_assert_int_eq(queue_message(world_queue(&w), &ids[0])->place, PLACE_WAITING);
    ck_assert_int_eq(queue_message(world_queue(&w), &ids[1])->place, PLACE_HELD);
    world_fail_over(&w);
    world_commit(&w);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(queue_message(world_queue(&w), &ids[i])->place, PLACE_DEAD);
    ck_assert_ptr_null(world_check(&w));
    world_fini(&w);
}
END_TEST

START_TEST(a_damaged_dead_letter_does_not_come_back)
{
    uint64_t batch;
    world_lead(&w);
    ck_assert_int_eq(broker_redrive(w.b, slice_from_text("demo"), &ids[0], &batch),
                     ST_CORRUPT);
    world_commit(&w);
    ck_assert_ptr_null(world_check(&w));
    world_fini(&w);
}
END_TEST

Suite *
suite_damaged(void)
{
    Suite *s = suite_create("damaged");
    TCase *t = tcase_create("damaged");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t,
                   a_leader_begins_with_the_damaged_messages_in_the_dlq_on_every_node);
    tcase_add_test(t, a_leader_that_falls_before_it_is_committed_leaves_it_to_the_next);
    tcase_add_test(t, a_damaged_dead_letter_does_not_come_back);
    suite_add_tcase(s, t);
    return s;
}
