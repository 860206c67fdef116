#include "tests/unit/server/three.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "raft/members.h"
#include "raft/wire.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

uint64_t
three_wall(const struct three *t)
{
    return WALL_MS + t->now_ms - START_MS;
}

uint64_t
one_wall(const struct one *n)
{
    return three_wall(n->three) + (uint64_t)n->skew_ms;
}

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
    struct one *n = ctx;
    if (!n->may_fail || n->has_failed)
        ck_abort_msg("node %u: %s: %s", (unsigned)n->id, status_name(why), what);
    n->has_failed = true;
    n->is_serving = false;
    n->why = why;
}

static void
event_cb(void *ctx, const char *event, const char *fields)
{
    struct one *n = ctx;
    (void)fields;
    n->differences += strcmp(event, "chain.differs") == 0;
}

void
one_open(struct one *n)
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
                                  one_wall(n), &n->replica),
                     ST_OK);
}

void
one_reopen(struct one *n)
{
    replica_close(n->replica);
    n->is_serving = n->has_failed = false;
    memdisk_kill(&n->disk);
    memdisk_open(&n->disk);
    one_open(n);
    for (uint64_t peer = 1; peer <= NODES; peer++) {
        if (peer == n->id)
            continue;
        replica_peer_up(n->replica, peer, n->three->now_ms);
        replica_peer_down(n->three->nodes[peer - 1].replica, n->id, false,
                          n->three->now_ms);
        replica_peer_up(n->three->nodes[peer - 1].replica, n->id, n->three->now_ms);
    }
}

void
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
        one_open(n);
    }
    for (uint32_t i = 0; i < NODES; i++)
        for (uint64_t peer = 1; peer <= NODES; peer++)
            if (peer != t->nodes[i].id)
                replica_peer_up(t->nodes[i].replica, peer, t->now_ms);
}

void
three_deliver(struct three *t)
{
    while (t->first != NULL) {
        struct sent *s = t->first;
        t->first = s->next;
        if (t->first == NULL)
            t->last = &t->first;
        struct one *to = &t->nodes[s->to - 1];
        if (!to->has_failed && !t->nodes[s->from - 1].has_failed) {
            ck_assert_int_eq(
                replica_receive(to->replica, s->from, s->kind, s->body, t->now_ms),
                ST_OK);
            memdisk_deliver(&to->disk, replica_rlog(to->replica), t->now_ms);
        }
        blob_put(s->body);
        mem_free(s);
    }
}

void
three_run(struct three *t, uint64_t ms)
{
    for (uint64_t end = t->now_ms + ms; t->now_ms < end; t->now_ms++) {
        for (int i = 0; i < NODES; i++) {
            struct one *n = &t->nodes[i];
            struct mail_chain out = {0};
            if (n->has_failed)
                continue;
            replica_tick(n->replica, t->now_ms, one_wall(n));
            replica_end_turn(n->replica, t->now_ms);
            memdisk_deliver(&n->disk, replica_rlog(n->replica), t->now_ms);
            replica_take_parcels(n->replica, t->now_ms, &out);
            ck_assert_ptr_null(out.first); /* nobody is connected */
        }
        three_deliver(t);
    }
}

struct one *
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

void
three_drop_frames(struct three *t)
{
    while (t->first != NULL) {
        struct sent *s = t->first;
        t->first = s->next;
        blob_put(s->body);
        mem_free(s);
    }
    t->last = &t->first;
}

void
three_end(struct three *t)
{
    three_deliver(t);
    for (int i = 0; i < NODES; i++) {
        replica_close(t->nodes[i].replica);
        memdisk_fini(&t->nodes[i].disk);
    }
    three_drop_frames(t);
}
