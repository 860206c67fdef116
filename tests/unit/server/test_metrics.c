/* Tests of server/metrics: what is watched, and what is said of a snapshot. */
#include "server/certificates.h"
#include "server/metrics.h"
#include "suites.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000u /* in ns */

static const struct rlog_status LEADER = {
    .role = RLOG_LEADER, .leader = 1, .term = 2, .last_index = 10, .commit_index = 10};

START_TEST(an_entry_is_timed_from_its_submit_to_its_commit)
{
    struct watch w = {.last_index = 10};
    struct rlog_status log = LEADER;
    log.last_index = 12; /* two entries of one turn */
    watch_turn(&w, &log, 100 * MS);
    log.commit_index = 11;
    watch_turn(&w, &log, 103 * MS);
    ck_assert_uint_eq(histogram_count(&w.commits), 0);
    log.commit_index = 12;
    watch_turn(&w, &log, 107 * MS);
    ck_assert_uint_eq(histogram_count(&w.commits), 1);
    ck_assert_uint_eq(w.commits.sum_us, 7000);
}
END_TEST

START_TEST(what_a_lost_leader_submitted_is_not_timed)
{
    struct watch w = {.last_index = 10};
    struct rlog_status log = LEADER;
    log.last_index = 11;
    watch_turn(&w, &log, 100 * MS);
    log.role = RLOG_FOLLOWER;
    watch_turn(&w, &log, 110 * MS);
    log.role = RLOG_LEADER;
    log.commit_index = 11;
    watch_turn(&w, &log, 120 * MS);
    ck_assert_uint_eq(histogram_count(&w.commits), 0);
}
END_TEST

START_TEST(more_than_can_be_watched_is_passed_over)
{
    struct watch w = {.last_index = 10};
    struct rlog_status log = LEADER;
    for (uint64_t i = 1; i <= 2 * WATCH_SAMPLES; i++) {
        log.last_index = 10 + i;
        watch_turn(&w, &log, i * MS);
    }
    log.commit_index = log.last_index;
    watch_turn(&w, &log, 10000 * MS);
    ck_assert_uint_eq(histogram_count(&w.commits), WATCH_SAMPLES);
    ck_assert_uint_eq(w.count, 0);
}
END_TEST

START_TEST(leaders_are_counted_when_they_change)
{
    struct watch w = {.first = 0};
    struct rlog_status log = {.leader = 0, .term = 1};
    watch_turn(&w, &log, 0);
    log = (struct rlog_status){.leader = 2, .term = 1};
    watch_turn(&w, &log, 0); /* the first one that is known */
    ck_assert_uint_eq(w.leader_changes_total, 0);
    log.leader = 0;
    watch_turn(&w, &log, 0);
    log = (struct rlog_status){.leader = 2, .term = 1};
    watch_turn(&w, &log, 0); /* it is back */
    ck_assert_uint_eq(w.leader_changes_total, 0);
    log = (struct rlog_status){.leader = 3, .term = 2};
    watch_turn(&w, &log, 0);
    log = (struct rlog_status){.leader = 3, .term = 5};
    watch_turn(&w, &log, 0); /* elected again */
    ck_assert_uint_eq(w.leader_changes_total, 2);
}
END_TEST

/* --- a snapshot --- */

static struct metrics *
make(void)
{
    struct metrics *m = mem_calloc(1, sizeof *m + 2 * sizeof(struct metrics_queue));
    m->node_id = 1;
    m->replica.log = LEADER;
    m->replica.is_serving = true;
    m->replica.log.peer_count = 1;
    m->replica.log.peers[0] =
        (struct rlog_peer_status){.id = 2, .is_connected = true, .match_index = 7};
    m->refusals[210 - BROKER_CODE_FIRST] = 4;
    m->queue_count = 2;
    memcpy(m->queues[0].name, "demo", sizeof "demo");
    memcpy(m->queues[1].name, "other", sizeof "other");
    m->queues[0].waiting = 5;
    m->queues[0].counts.dead = 3;
    m->queues[0].counts.dead_for[DEAD_MOVED] = 3;
    m->queues[0].totals.acked = 9;
    m->queues[0].backlog_age_ms = 61500;
    m->queues[0].connections[1][ROLE_SUBSCRIBER] = 6;
    return m;
}

static bool
says(const struct metrics *m, const char *line)
{
    struct bytes out = {0};
    struct process_status process = {.resident_bytes = 4096, .start_ms = 1500};
    metrics_text(m, &process, &out);
    bytes_put_u8(&out, '\0');
    const char *at = strstr((const char *)out.data, line);
    bool is_whole = at != NULL && (at == (const char *)out.data || at[-1] == '\n') &&
                    at[strlen(line)] == '\n';
    bytes_fini(&out);
    return is_whole;
}

START_TEST(a_leader_tells_of_its_queues)
{
    struct metrics *m = make();
    ck_assert(says(m, "holdfast_queue_messages{queue=\"demo\",state=\"waiting\"} 5"));
    ck_assert(says(m, "holdfast_queue_messages{queue=\"demo\",state=\"dead\"} 3"));
    ck_assert(
        says(m, "holdfast_queue_dead_letters{queue=\"demo\",reason=\"moved\"} 3"));
    ck_assert(says(m, "holdfast_queue_acked_total{queue=\"demo\"} 9"));
    ck_assert(says(m, "holdfast_queue_backlog_age_seconds{queue=\"demo\"} 61.500"));
    ck_assert(says(m, "holdfast_queue_connections{queue=\"demo\",role=\"subscriber\","
                      "type=\"copy\"} 6"));
    ck_assert(says(m, "holdfast_queue_messages{queue=\"other\",state=\"held\"} 0"));
    ck_assert(says(m, "holdfast_requests_refused_total{code=\"210\"} 4"));
    ck_assert(says(m, "holdfast_raft_peer_lag_entries{peer=\"2\"} 3"));
    ck_assert(says(m, "holdfast_raft_role{role=\"leader\"} 1"));
    ck_assert(says(m, "process_resident_memory_bytes 4096"));
    ck_assert(says(m, "process_start_time_seconds 1.500"));
    metrics_free(m);
}
END_TEST

START_TEST(a_follower_tells_of_what_it_did_itself)
{
    struct metrics *m = make();
    m->replica.log.role = RLOG_FOLLOWER;
    ck_assert(!says(m, "holdfast_queue_messages{queue=\"demo\",state=\"waiting\"} 5"));
    ck_assert(!says(m, "holdfast_raft_peer_lag_entries{peer=\"2\"} 3"));
    ck_assert(says(m, "holdfast_raft_peer_up{peer=\"2\"} 1"));
    ck_assert(says(m, "holdfast_queue_acked_total{queue=\"demo\"} 9"));
    ck_assert(says(m, "holdfast_raft_role{role=\"follower\"} 1"));
    metrics_free(m);
}
END_TEST

START_TEST(the_status_is_one_object)
{
    struct metrics *m = make();
    struct bytes out = {0};
    struct json_object object;
    json_object_init(&object);
    metrics_json(m, &out);
    ck_assert_int_eq(json_parse(&object, slice_of(out.data, out.size)), JSON_IS_OBJECT);
    ck_assert(
        slice_equal(json_find(&object, "role")->value, slice_from_text("leader")));
    ck_assert_int_eq(json_find(&object, "ready")->type, JSON_TRUE);
    ck_assert_ptr_null(json_find(&object, "not_ready"));
    json_object_fini(&object);
    bytes_fini(&out);
    metrics_free(m);
}
END_TEST

START_TEST(ready_is_who_can_serve_or_relay)
{
    struct metrics *m = make();
    ck_assert_ptr_null(metrics_not_ready(m));
    m->replica.is_serving = false;
    ck_assert_ptr_nonnull(metrics_not_ready(m));
    m->replica.log.role = RLOG_FOLLOWER;
    ck_assert_ptr_nonnull(metrics_not_ready(m)); /* where the leader is, is not known */
    m->is_relaying = true;
    ck_assert_ptr_null(metrics_not_ready(m));
    m->replica.log.is_gated = true;
    ck_assert_ptr_nonnull(metrics_not_ready(m));
    m->replica.log.is_gated = false;
    m->replica.log.leader = 0;
    ck_assert_str_eq(metrics_not_ready(m), "no leader is known");
    m->replica.log.leader = 1;
    m->is_stopping = true;
    ck_assert_ptr_nonnull(metrics_not_ready(m));
    metrics_free(m);
}
END_TEST

START_TEST(days_are_rounded_down)
{
    const int64_t day = 86400;
    ck_assert_int_eq(certificate_days(14 * day, 0), 14);
    ck_assert_int_eq(certificate_days(14 * day - 1, 0), 13);
    ck_assert_int_eq(certificate_days(5, 5), 0);
    ck_assert_int_eq(certificate_days(5, 6), -1);
    ck_assert_int_eq(certificate_days(0, day), -1);
    ck_assert_int_eq(certificate_days(0, day + 1), -2);
}
END_TEST

START_TEST(this_process_is_seen_by_the_kernel)
{
    struct process_status s;
    process_read(&s);
    ck_assert_uint_gt(s.resident_bytes, 0);
    ck_assert_uint_ge(s.virtual_bytes, s.resident_bytes);
    ck_assert_uint_ge(s.open_fds, 1);
    ck_assert_uint_ge(s.max_fds, s.open_fds);
    ck_assert_uint_ge(s.threads, 1);
    ck_assert_uint_gt(s.start_ms, 1500000000000);
}
END_TEST

Suite *
metrics_suite(void)
{
    Suite *s = suite_create("metrics");
    TCase *c = tcase_create("metrics");
    tcase_add_test(c, an_entry_is_timed_from_its_submit_to_its_commit);
    tcase_add_test(c, what_a_lost_leader_submitted_is_not_timed);
    tcase_add_test(c, more_than_can_be_watched_is_passed_over);
    tcase_add_test(c, leaders_are_counted_when_they_change);
    tcase_add_test(c, a_leader_tells_of_its_queues);
    tcase_add_test(c, a_follower_tells_of_what_it_did_itself);
    tcase_add_test(c, the_status_is_one_object);
    tcase_add_test(c, ready_is_who_can_serve_or_relay);
    tcase_add_test(c, days_are_rounded_down);
    tcase_add_test(c, this_process_is_seen_by_the_kernel);
    suite_add_tcase(s, c);
    return s;
}
