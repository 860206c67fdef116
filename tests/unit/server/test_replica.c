/* Replicas over elections, outages and hand-overs: time, and what is in memory. */
#include "server/replica.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/members.h"
#include "raft/wire.h"
#include "suites.h"
#include "tests/unit/server/three.h"

#include <stdlib.h>
#include <string.h>

/* A peer that has heard of a later term, as after the crash of its machine. */
static void
depose(struct three *t, struct one *leader)
{
    struct rlog_status status;
    struct bytes body = {0};
    rlog_get_status(replica_rlog(leader->replica), &status);
    const struct raft_append_entries_result m = {.version = 2, .term = status.term + 1};
    rlog_wire_put_append_result(&body, &m, t->now_ms, 0);
    struct blob *frame = blob_copy(slice_of(body.data, body.size));
    ck_assert_int_eq(rlog_receive(replica_rlog(leader->replica), leader->id % 3 + 1,
                                  RLOG_FRAME_APPEND_RESULT, frame, t->now_ms),
                     ST_OK);
    ck_assert(!leader->is_serving);
    blob_put(frame);
    bytes_fini(&body);
}

/* Cluster time is what every delay and every session limit runs on: however often the
 * leadership ends, also when the same node gets it again, it never runs ahead. */
START_TEST(cluster_time_never_runs_ahead_over_elections)
{
    struct three t;
    unsigned again = 0;
    three_start(&t);
    uint64_t before = 0;
    for (int round = 0; round < 40; round++) {
        struct one *leader = three_leader(&t);
        again += leader->id == before;
        before = leader->id;
        t.only = 0;
        uint64_t true_ms = three_wall(&t);
        uint64_t stamp_ms = replica_state(leader->replica)->stamp_ms;
        ck_assert_uint_le(stamp_ms, true_ms + 5);
        ck_assert_uint_ge(stamp_ms, true_ms - 2000 - 5000);
        three_run(&t, 9000);
        (void)broker_barrier(
            replica_broker(leader->replica)); /* an entry, with a stamp */
        three_run(&t, 1000);
        depose(&t, leader);
        t.only = round % 2 == 0 ? leader->id : 0;
    }
    ck_assert_uint_ge(again, 20);
    three_end(&t);
}
END_TEST

/* A follower's loop may have slept for long when an entry comes: the entry is of now.
 */
START_TEST(an_entry_is_of_the_time_at_which_it_came)
{
    struct three t;
    three_start(&t);
    struct one *old = three_leader(&t);
    struct one *next = &t.nodes[old->id % NODES];
    for (int i = 0; i < 400; i++, t.now_ms++) { /* the leader's loop alone turns */
        if (i == 200)
            (void)broker_barrier(replica_broker(old->replica));
        replica_tick(old->replica, t.now_ms, one_wall(old));
        replica_end_turn(old->replica, t.now_ms);
        memdisk_deliver(&old->disk, replica_rlog(old->replica), t.now_ms);
        three_deliver(&t);
    }
    uint64_t stamp_ms = replica_state(next->replica)->stamp_ms;
    t.only = next->id;
    depose(&t, old);
    for (int ms = 0; ms < 5000 && !next->is_serving; ms++)
        three_run(&t, 1);
    ck_assert(next->is_serving && stamp_ms > 0);
    uint64_t true_ms = three_wall(&t);
    ck_assert_uint_le(replica_state(next->replica)->stamp_ms, true_ms);
    three_end(&t);
}
END_TEST

static void
reopen_all_after(struct three *t, uint64_t outage_ms)
{
    three_run(t, 100);
    t->now_ms += outage_ms;
    for (int i = 0; i < NODES; i++)
        one_reopen(&t->nodes[i]);
    three_drop_frames(t); /* of the old ones, and of who was opened before its peers */
    for (int i = 0; i < NODES; i++)
        t->nodes[i].is_serving = false;
}

static uint64_t
cluster_time(const struct one *leader)
{
    return broker_cluster_time_ms(replica_broker(leader->replica));
}

/* One clock that is a day ahead moves nothing. */
START_TEST(an_outage_of_the_whole_cluster_counts)
{
    struct three t;
    three_start(&t);
    (void)three_leader(&t);
    three_run(&t, 3000);
    t.nodes[_i % NODES].skew_ms = _i < NODES ? 86400000 : -86400000;
    for (int round = 1; round <= 3; round++) {
        reopen_all_after(&t, 3600000);
        const struct one *leader = three_leader(&t);
        ck_assert_uint_le(cluster_time(leader), three_wall(&t) + 5);
        ck_assert_uint_ge(cluster_time(leader), three_wall(&t) - 2000);
        three_run(&t, 3000);
    }
    three_end(&t);
}
END_TEST

/* All clocks are set a minute ahead, while delays are running. */
START_TEST(what_the_clocks_were_ahead_before_an_outage_stays)
{
    struct three t;
    three_start(&t);
    (void)three_leader(&t);
    three_run(&t, 3000);
    for (int i = 0; i < NODES; i++)
        t.nodes[i].skew_ms = 60000;
    three_run(&t, 3000);
    for (int round = 1; round <= 3; round++) {
        reopen_all_after(&t, 600000);
        const struct one *leader = three_leader(&t);
        ck_assert_uint_le(cluster_time(leader), three_wall(&t) + 50);
        ck_assert_uint_ge(cluster_time(leader), three_wall(&t) - 4000);
        three_run(&t, 3000);
    }
    three_end(&t);
}
END_TEST

/* The leader's own time comes with each second, not only with an entry. */
START_TEST(a_node_that_was_restarted_knows_the_time_of_a_quiet_cluster)
{
    struct three t;
    three_start(&t);
    struct one *old = three_leader(&t);
    for (int i = 0; i < NODES; i++)
        t.nodes[i].skew_ms = 60000;
    three_run(&t, 600000);
    struct one *next = &t.nodes[old->id % NODES];
    one_reopen(next);
    three_run(&t, 3000);
    t.only = next->id;
    depose(&t, old);
    for (int ms = 0; ms < 5000 && !next->is_serving; ms++)
        three_run(&t, 1);
    ck_assert(next->is_serving);
    ck_assert_uint_le(cluster_time(next), three_wall(&t) + 400);
    ck_assert_uint_ge(cluster_time(next), three_wall(&t) - 100);
    three_end(&t);
}
END_TEST

static uint64_t
messages_at(const struct one *n)
{
    const struct queue *q =
        state_queue_by_name(replica_state(n->replica), slice_from_text("q"));
    return q->counts.messages;
}

/* A leader with one message, which is in its memory only. */
static struct one *
leader_with_message(struct three *t)
{
    struct queue_spec spec = {.name = slice_from_text("q")};
    uint64_t batch = 0;
    struct one *leader = three_leader(t);
    settings_defaults(TIER_STANDARD, (uint64_t)1 << 30, spec.settings);
    ck_assert_int_eq(
        broker_create_queue(replica_broker(leader->replica), &spec, &batch), ST_OK);
    three_run(t, 300);
    struct state *s = replica_state(leader->replica);
    const struct record_publish publish = {.id = uuid7_make(WALL_MS, 1, 2),
                                           .received_ms = s->stamp_ms,
                                           .type = 1,
                                           .body_crc = crc32c(0, "x", 1)};
    queue_publish(s, state_queue_by_name(s, spec.name), &publish,
                  blob_copy(slice_from_text("x")), 0);
    for (int i = 0; i < NODES; i++)
        ck_assert_uint_eq(messages_at(&t->nodes[i]), &t->nodes[i] == leader);
    return leader;
}

START_TEST(what_is_in_memory_goes_to_the_next_leader_when_it_is_handed_over)
{
    struct three t;
    three_start(&t);
    struct one *old = leader_with_message(&t);
    struct one *next = &t.nodes[old->id % NODES];
    ck_assert_int_eq(replica_transfer(old->replica, next->id, t.now_ms), ST_OK);
    ck_assert(!replica_takes_requests(old->replica));
    ck_assert_int_eq(replica_transfer(old->replica, 0, t.now_ms), ST_AGAIN);
    three_run(&t, 500);
    ck_assert_ptr_eq(three_leader(&t), next);
    for (int i = 0; i < NODES; i++)
        ck_assert_uint_eq(messages_at(&t.nodes[i]), &t.nodes[i] == next);
    three_end(&t);
}
END_TEST

/* The target is never told: the old leader goes on. */
START_TEST(what_was_passed_on_for_nothing_is_forgotten)
{
    struct three t;
    three_start(&t);
    struct one *leader = leader_with_message(&t);
    struct one *other = &t.nodes[leader->id % NODES];
    t.is_mute = true;
    ck_assert_int_eq(replica_transfer(leader->replica, other->id, t.now_ms), ST_OK);
    three_run(&t, 200);
    ck_assert_uint_eq(messages_at(other), 1);
    three_run(&t, 5000);
    ck_assert(leader->is_serving && replica_takes_requests(leader->replica));
    ck_assert_uint_eq(messages_at(leader), 1);
    ck_assert_uint_eq(messages_at(other), 0);
    three_end(&t);
}
END_TEST

/* All were stopped in the middle of it: then it is lost, as the manual says. */
START_TEST(what_was_passed_on_is_lost_when_it_comes_from_the_disk)
{
    struct three t;
    three_start(&t);
    struct one *leader = leader_with_message(&t);
    struct one *other = &t.nodes[leader->id % NODES];
    t.is_mute = true;
    ck_assert_int_eq(replica_transfer(leader->replica, other->id, t.now_ms), ST_OK);
    three_run(&t, 200);
    ck_assert_uint_eq(messages_at(other), 1);
    t.only = other->id;
    if (_i == 1)
        for (int i = 0; i < NODES; i++)
            one_reopen(&t.nodes[i]);
    else
        one_reopen(leader);
    three_run(&t, 5000);
    ck_assert_ptr_eq(three_leader(&t), other);
    ck_assert_uint_eq(messages_at(other), _i == 1 ? 0 : 1);
    three_end(&t);
}
END_TEST

Suite *
replica_suite(void)
{
    Suite *s = suite_create("replica");
    TCase *t = tcase_create("three");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, cluster_time_never_runs_ahead_over_elections);
    tcase_add_test(t, an_entry_is_of_the_time_at_which_it_came);
    tcase_add_loop_test(t, an_outage_of_the_whole_cluster_counts, 0, 2 * NODES);
    tcase_add_test(t, what_the_clocks_were_ahead_before_an_outage_stays);
    tcase_add_test(t, a_node_that_was_restarted_knows_the_time_of_a_quiet_cluster);
    tcase_add_test(t, what_is_in_memory_goes_to_the_next_leader_when_it_is_handed_over);
    tcase_add_test(t, what_was_passed_on_for_nothing_is_forgotten);
    tcase_add_loop_test(t, what_was_passed_on_is_lost_when_it_comes_from_the_disk, 0,
                        2);
    suite_add_tcase(s, t);
    return s;
}
