/* Three replicas in one process: frames go from one to the other at once, disks are in
 * memory and complete at every step, a step is one millisecond. */
#include "server/replica.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/members.h"
#include "raft/wire.h"
#include "suites.h"
#include "tests/unit/raft/memdisk.h"

#include <stdlib.h>
#include <string.h>

#define NODES    3
#define WALL_MS  UINT64_C(1794233033000)
#define START_MS 1000

struct three;

struct one {
    struct three *three;
    uint64_t id;
    struct memdisk disk;
    struct replica *replica;
    bool is_serving;
};

struct sent {
    struct sent *next;
    uint64_t from;
    uint64_t to;
    uint8_t kind;
    struct blob *body;
};

struct three {
    uint64_t now_ms;
    uint64_t only; /* nobody else can be elected; 0 = anybody */
    bool is_mute;  /* no leader tells its target to take over */
    struct one nodes[NODES];
    struct sent *first;
    struct sent **last;
};

static void
send_cb(void *ctx, uint64_t peer, const struct rlog_frame *frame)
{
    struct one *n = ctx;
    struct bytes body = {0};
    if (frame->kind == RLOG_FRAME_VOTE && n->three->only != 0 &&
        n->three->only != n->id)
        return;
    if (frame->kind == RLOG_FRAME_TIMEOUT_NOW && n->three->is_mute)
        return;
    bytes_put_slice(&body, frame->head);
    for (uint32_t i = 0; i < frame->count; i++)
        bytes_put_slice(&body, rlog_payload(&frame->entries[i]));
    struct sent *s = mem_calloc(1, sizeof *s);
    s->from = n->id;
    s->to = peer;
    s->kind = frame->kind;
    s->body = blob_copy(slice_of(body.data, body.size));
    bytes_fini(&body);
    *n->three->last = s;
    n->three->last = &s->next;
}

static void
route_cb(void *ctx, bool is_serving, uint64_t leader)
{
    struct one *n = ctx;
    (void)leader;
    n->is_serving = is_serving;
}

static void
fatal_cb(void *ctx, enum status why, const char *what)
{
    (void)ctx;
    ck_abort_msg("%s: %s", status_name(why), what);
}

static void
event_cb(void *ctx, const char *event, const char *fields)
{
    (void)ctx;
    (void)event;
    (void)fields;
}

static void
open_one(struct one *n)
{
    const struct replica_options options = {
        .rlog = {.id = n->id,
                 .election_ms = 1000,
                 .heartbeat_ms = 100,
                 .sync_ms = 50,
                 .grace_ms = 30000,
                 .seed = n->id},
        .broker = {.seed = n->id, .machine_memory_bytes = 1 << 30},
    };
    const struct replica_callbacks callbacks = {.send_cb = send_cb,
                                                .route_cb = route_cb,
                                                .fatal_cb = fatal_cb,
                                                .event_cb = event_cb,
                                                .ctx = n};
    ck_assert_int_eq(replica_open(&options, &n->disk.disk, &callbacks, n->three->now_ms,
                                  WALL_MS, &n->replica),
                     ST_OK);
}

static void
three_start(struct three *t)
{
    struct rlog_members members = {.count = NODES};
    memset(t, 0, sizeof *t);
    t->now_ms = START_MS;
    t->last = &t->first;
    for (uint32_t i = 0; i < NODES; i++)
        members.members[i] = (struct rlog_member){.id = i + 1, .is_voter = true};
    for (uint32_t i = 0; i < NODES; i++)
        (void)snprintf(members.members[i].address, sizeof members.members[i].address,
                       "node%u", i + 1);
    for (uint32_t i = 0; i < NODES; i++) {
        struct one *n = &t->nodes[i];
        n->three = t;
        n->id = i + 1;
        memdisk_init(&n->disk, &members);
        memdisk_open(&n->disk);
        open_one(n);
    }
    for (uint32_t i = 0; i < NODES; i++)
        for (uint64_t peer = 1; peer <= NODES; peer++)
            if (peer != t->nodes[i].id)
                rlog_peer_up(replica_rlog(t->nodes[i].replica), peer, t->now_ms);
}

static void
deliver_frames(struct three *t)
{
    while (t->first != NULL) {
        struct sent *s = t->first;
        t->first = s->next;
        if (t->first == NULL)
            t->last = &t->first;
        struct one *to = &t->nodes[s->to - 1];
        ck_assert_int_eq(rlog_receive(replica_rlog(to->replica), s->from, s->kind,
                                      s->body, t->now_ms),
                         ST_OK);
        memdisk_deliver(&to->disk, replica_rlog(to->replica), t->now_ms);
        blob_put(s->body);
        mem_free(s);
    }
}

static void
three_run(struct three *t, uint64_t ms)
{
    for (uint64_t end = t->now_ms + ms; t->now_ms < end; t->now_ms++) {
        for (int i = 0; i < NODES; i++) {
            struct one *n = &t->nodes[i];
            struct mail_chain out = {0};
            replica_tick(n->replica, t->now_ms, WALL_MS + t->now_ms - START_MS);
            replica_end_turn(n->replica, t->now_ms);
            memdisk_deliver(&n->disk, replica_rlog(n->replica), t->now_ms);
            replica_take_parcels(n->replica, t->now_ms, &out);
            ck_assert_ptr_null(out.first); /* nobody is connected */
        }
        deliver_frames(t);
    }
}

static struct one *
three_leader(struct three *t)
{
    for (int ms = 0; ms < 10000; ms++) {
        for (int i = 0; i < NODES; i++)
            if (t->nodes[i].is_serving)
                return &t->nodes[i];
        three_run(t, 1);
    }
    ck_abort_msg("no leader");
    return NULL;
}

static void
three_end(struct three *t)
{
    deliver_frames(t);
    for (int i = 0; i < NODES; i++) {
        replica_close(t->nodes[i].replica);
        memdisk_fini(&t->nodes[i].disk);
    }
    while (t->first != NULL) {
        struct sent *s = t->first;
        t->first = s->next;
        blob_put(s->body);
        mem_free(s);
    }
}

/* A peer that has heard of a later term, as after the crash of its machine. */
static void
depose(struct three *t, struct one *leader)
{
    struct rlog_status status;
    struct bytes body = {0};
    rlog_get_status(replica_rlog(leader->replica), &status);
    const struct raft_append_entries_result m = {.version = 2, .term = status.term + 1};
    rlog_wire_put_append_result(&body, &m, t->now_ms);
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
        uint64_t true_ms = WALL_MS + t.now_ms - START_MS;
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

/* A killed process comes back. */
static void
reopen(struct one *n)
{
    replica_close(n->replica);
    n->is_serving = false;
    memdisk_kill(&n->disk);
    memdisk_open(&n->disk);
    open_one(n);
    for (uint64_t peer = 1; peer <= NODES; peer++) {
        if (peer == n->id)
            continue;
        rlog_peer_up(replica_rlog(n->replica), peer, n->three->now_ms);
        rlog_peer_down(replica_rlog(n->three->nodes[peer - 1].replica), n->id, false,
                       n->three->now_ms);
        rlog_peer_up(replica_rlog(n->three->nodes[peer - 1].replica), n->id,
                     n->three->now_ms);
    }
}

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
            reopen(&t.nodes[i]);
    else
        reopen(leader);
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
    tcase_add_test(t, what_is_in_memory_goes_to_the_next_leader_when_it_is_handed_over);
    tcase_add_test(t, what_was_passed_on_for_nothing_is_forgotten);
    tcase_add_loop_test(t, what_was_passed_on_is_lost_when_it_comes_from_the_disk, 0,
                        2);
    suite_add_tcase(s, t);
    return s;
}
