/* Agreement: a node that has applied something else than the others is noticed while
 * all run, and who is wrong ends, be it the leader. */
#include "server/agreement.h"

#include "base/bytes.h"
#include "raft/rlog_chain.h"
#include "suites.h"
#include "tests/unit/server/three.h"

#include <string.h>

#define LONG_MS (AGREEMENT_UNCLEAR_MS + 5000)

static struct three t;

/* What its disk has of an entry that all have committed is not what they have. */
static void
diverge(struct one *n)
{
    ck_assert_uint_gt(n->disk.count, 2);
    n->disk.records[1].entry.crc ^= (uint32_t)n->id;
    one_reopen(n);
}

static void
write_an_entry(void)
{
    (void)broker_barrier(replica_broker(three_leader(&t)->replica));
    three_run(&t, 200);
}

static struct one *
settle(void)
{
    three_start(&t);
    struct one *leader = three_leader(&t);
    three_run(&t, 1000);
    write_an_entry();
    for (int i = 0; i < NODES; i++)
        t.nodes[i].may_fail = true;
    return leader;
}

static unsigned
failures(void)
{
    unsigned count = 0;
    for (int i = 0; i < NODES; i++)
        count += t.nodes[i].has_failed;
    return count;
}

static struct replica_status
status_of(const struct one *n)
{
    struct replica_status s;
    replica_get_status(n->replica, &s);
    return s;
}

START_TEST(nodes_that_agree_go_on_and_know_it)
{
    (void)settle();
    three_run(&t, LONG_MS);
    write_an_entry();
    three_run(&t, 2 * AGREEMENT_EVERY_MS);
    ck_assert_uint_eq(failures(), 0);
    for (int i = 0; i < NODES; i++) {
        ck_assert_uint_eq(replica_agreed_index(t.nodes[i].replica),
                          status_of(&t.nodes[i]).log.applied_index);
        ck_assert_uint_eq(status_of(&t.nodes[i]).differences_total, 0);
    }
    three_end(&t);
}
END_TEST

START_TEST(a_follower_that_a_majority_contradicts_ends)
{
    struct one *leader = settle();
    struct one *wrong = &t.nodes[leader->id % NODES];
    t.only = leader->id;
    diverge(wrong);
    three_run(&t, 5000);
    ck_assert_uint_eq(failures(), 1);
    ck_assert(wrong->has_failed && wrong->why == ST_CONFLICT);
    ck_assert(leader->is_serving);
    ck_assert_uint_eq(leader->differences, 1); /* it is said once, and counted */
    ck_assert_uint_eq(status_of(leader).differences_total, 1);
    three_end(&t);
}
END_TEST

START_TEST(a_leader_that_its_followers_contradict_ends)
{
    struct one *wrong = settle();
    t.only = wrong->id; /* it is elected again */
    diverge(wrong);
    ck_assert_ptr_eq(three_leader(&t), wrong);
    t.only = 0;
    for (int ms = 0; ms < 5000 && failures() == 0; ms++)
        three_run(&t, 1);
    ck_assert(wrong->has_failed && wrong->why == ST_CONFLICT);
    for (int i = 0; i < NODES; i++) /* as its process is gone */
        if (&t.nodes[i] != wrong)
            replica_peer_down(t.nodes[i].replica, wrong->id, true, t.now_ms);
    ck_assert_ptr_ne(three_leader(&t), wrong);
    three_run(&t, LONG_MS);
    ck_assert_uint_eq(failures(), 1);
    three_end(&t);
}
END_TEST

/* Two of three are up, and nobody can say which one is right. */
START_TEST(a_follower_ends_when_nobody_can_say_who_is_right)
{
    struct one *leader = settle();
    struct one *away = &t.nodes[leader->id % NODES];
    struct one *other = &t.nodes[(leader->id + 1) % NODES];
    t.only = leader->id;
    away->has_failed = true;
    replica_peer_down(leader->replica, away->id, true, t.now_ms);
    diverge(other);
    replica_peer_down(other->replica, away->id, true, t.now_ms);
    three_run(&t, AGREEMENT_UNCLEAR_MS - 3000);
    ck_assert_uint_eq(leader->differences, 1);
    ck_assert(!other->has_failed);
    three_run(&t, 5000);
    ck_assert(other->has_failed && other->why == ST_CORRUPT);
    ck_assert(!leader->has_failed);
    three_end(&t);
}
END_TEST

/* All three differ: none of them may throw away what it has. */
START_TEST(nothing_is_thrown_away_when_all_differ)
{
    struct one *leader = settle();
    t.only = leader->id;
    diverge(&t.nodes[0]);
    diverge(&t.nodes[1]);
    diverge(&t.nodes[2]);
    three_run(&t, LONG_MS);
    ck_assert_uint_ge(failures(), 2);
    for (int i = 0; i < NODES; i++)
        ck_assert(!t.nodes[i].has_failed || t.nodes[i].why == ST_CORRUPT);
    three_end(&t);
}
END_TEST

START_TEST(the_chains_of_the_newest_entries_are_kept)
{
    struct one *leader = settle();
    const struct rlog *log = replica_rlog(leader->replica);
    uint64_t chain;
    uint64_t first;
    ck_assert(rlog_chain_at(log, 0, &first) && first == 0);
    for (int i = 0; i < RLOG_CHAINS; i++) {
        (void)broker_barrier(replica_broker(leader->replica));
        three_run(&t, 3);
    }
    uint64_t applied = rlog_applied(log);
    ck_assert_uint_gt(applied, RLOG_CHAINS);
    ck_assert(!rlog_chain_at(log, applied - RLOG_CHAINS, &chain));
    ck_assert(rlog_chain_at(log, applied - RLOG_CHAINS + 1, &first));
    ck_assert(!rlog_chain_at(log, applied + 1, &chain));
    ck_assert(rlog_chain_at(log, applied, &chain));
    ck_assert(chain == status_of(leader).log.chain && chain != first);
    three_end(&t);
}
END_TEST

START_TEST(a_frame_is_the_bytes_of_its_table)
{
    struct agreement a = {0};
    uint8_t body[AGREEMENT_FRAME_BYTES];
    (void)settle();
    const struct one *n = &t.nodes[0];
    struct replica_status s = status_of(n);
    agreement_put(&a, replica_rlog(n->replica), body);
    ck_assert_uint_eq(get_u64(body), 1);
    ck_assert_uint_eq(get_u64(body + 8), s.log.applied_index);
    ck_assert_uint_eq(get_u64(body + 16), s.log.chain);
    ck_assert_uint_eq(get_u64(body + 24), 0);
    three_end(&t);
}
END_TEST

START_TEST(a_frame_that_is_not_ours_is_refused)
{
    struct agreement a = {0};
    uint8_t body[AGREEMENT_FRAME_BYTES] = {1};
    agreement_up(&a, 2);
    ck_assert_int_eq(agreement_hear(&a, 2, slice_of(body, sizeof body)), ST_OK);
    ck_assert_int_eq(agreement_hear(&a, 2, slice_of(body, 31)), ST_INVALID);
    for (size_t i = 0; i < 8; i++) {
        body[i] ^= 2;
        ck_assert_int_eq(agreement_hear(&a, 2, slice_of(body, sizeof body)),
                         ST_INVALID);
        body[i] ^= 2;
    }
    body[24] = 1; /* a majority further than itself */
    ck_assert_int_eq(agreement_hear(&a, 2, slice_of(body, sizeof body)), ST_INVALID);
    body[8] = 1;
    ck_assert_int_eq(agreement_hear(&a, 2, slice_of(body, sizeof body)), ST_OK);
    body[15] = 0x40;
    ck_assert_int_eq(agreement_hear(&a, 2, slice_of(body, sizeof body)), ST_INVALID);
}
END_TEST

Suite *
agreement_suite(void)
{
    Suite *s = suite_create("agreement");
    TCase *c = tcase_create("agreement");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, nodes_that_agree_go_on_and_know_it);
    tcase_add_test(c, a_follower_that_a_majority_contradicts_ends);
    tcase_add_test(c, a_leader_that_its_followers_contradict_ends);
    tcase_add_test(c, a_follower_ends_when_nobody_can_say_who_is_right);
    tcase_add_test(c, nothing_is_thrown_away_when_all_differ);
    tcase_add_test(c, the_chains_of_the_newest_entries_are_kept);
    tcase_add_test(c, a_frame_is_the_bytes_of_its_table);
    tcase_add_test(c, a_frame_that_is_not_ours_is_refused);
    suite_add_tcase(s, c);
    return s;
}
