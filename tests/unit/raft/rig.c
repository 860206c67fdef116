#include "tests/unit/raft/rig.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "base/mem.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
rig_members(unsigned count, struct rlog_members *ret_members)
{
    memset(ret_members, 0, sizeof *ret_members);
    ret_members->count = count;
    for (unsigned i = 0; i < count; i++) {
        ret_members->members[i].id = i + 1;
        ret_members->members[i].is_voter = true;
        snprintf(ret_members->members[i].address, 128, "node%u:7000", i + 1);
    }
}

struct rig *
rig_new(unsigned count)
{
    struct rig *rig = mem_calloc(1, sizeof *rig);
    struct rlog_members members;
    rig_members(count, &members);
    rig->count = count;
    rig->now_ms = 1000;
    rig->last = &rig->first;
    rig->grace_ms = 30000;
    for (unsigned i = 1; i <= count; i++) {
        rig->nodes[i].rig = rig;
        rig->nodes[i].id = i;
        rig->nodes[i].image_bytes = 100;
        memdisk_init(&rig->nodes[i].disk, &members);
    }
    return rig;
}

void
rig_drop_frames(struct rig *rig)
{
    struct rig_frame *f;
    while ((f = rig->first) != NULL) {
        rig->first = f->next;
        blob_put(f->body);
        mem_free(f);
    }
    rig->last = &rig->first;
}

void
rig_free(struct rig *rig)
{
    rig_drop_frames(rig);
    for (unsigned i = 1; i <= rig->count; i++) {
        rlog_close(rig->nodes[i].r);
        memdisk_fini(&rig->nodes[i].disk);
    }
    mem_free(rig);
}

static void
send_cb(void *ctx, uint64_t peer, const struct rlog_frame *frame)
{
    struct rig_node *n = ctx;
    struct rig *rig = n->rig;
    struct bytes body = {0};
    bytes_put_slice(&body, frame->head);
    for (uint32_t i = 0; i < frame->count; i++)
        bytes_put_slice(&body, rlog_payload(&frame->entries[i]));
    ck_assert_uint_le(body.size, LIMIT_FRAME_BYTES);
    struct rig_frame *f = mem_calloc(1, sizeof *f);
    f->from = n->id;
    f->to = peer;
    f->kind = frame->kind;
    f->due_ms = rig->now_ms + rig->delay_ms;
    f->body = blob_copy(slice_of(body.data, body.size));
    rig->frames_sent[f->kind & 31]++;
    rig->bytes_sent += body.size;
    bytes_fini(&body);
    if (peer > rig->count || rig->cut[n->id][peer] ||
        (rig->watch != NULL && !rig->watch(rig, f))) {
        blob_put(f->body);
        mem_free(f);
        return;
    }
    *rig->last = f;
    rig->last = &f->next;
}

static uint64_t
mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * UINT64_C(0x9E3779B97F4A7C15) ^ (b + UINT64_C(0x7F4A7C159E3779B9));
    z = (z ^ (z >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return z ^ (z >> 32);
}

static void
apply_cb(void *ctx, const struct rlog_entry *e)
{
    struct rig_node *n = ctx;
    struct slice p = rlog_payload(e);
    struct rlog_status s = rig_status(n);
    ck_assert(n->role == s.role && n->term == s.term); /* told before */
    ck_assert_uint_eq(e->index, n->applied + 1);
    ck_assert_uint_eq(crc32c(0, p.data, p.size), e->crc);
    n->applied = e->index;
    n->state = mix(mix(n->state, e->index), e->crc);
    if (e->index < RIG_APPLIED)
        n->applied_terms[e->index] = e->term;
    if (n->apply_submits > 0 && n->r != NULL) {
        uint64_t index;
        if (rlog_submit(n->r, blob_copy(slice_of("again", 5)), false, &index) == ST_OK)
            n->apply_submits--;
    }
}

static void
role_cb(void *ctx, enum rlog_role role, uint64_t term, uint64_t leader)
{
    struct rig_node *n = ctx;
    if (role == RLOG_LEADER && n->role != RLOG_LEADER)
        n->elections++;
    n->role = role;
    n->term = term;
    n->leader = leader;
}

static enum status
restore_cb(void *ctx, uint64_t index, uint64_t term)
{
    struct rig_node *n = ctx;
    struct bytes image = {0};
    (void)term;
    for (;;) {
        struct blob *piece;
        enum status st = rlog_snapshot_read(n->r, image.size, 4096, &piece);
        ck_assert_int_eq(st, ST_OK);
        size_t size = piece->size;
        bytes_put_slice(&image, blob_slice(piece));
        blob_put(piece);
        if (size == 0)
            break;
    }
    ck_assert_uint_ge(image.size, 16);
    n->applied = get_u64(image.data);
    n->state = get_u64(image.data + 8);
    ck_assert_uint_eq(n->applied, index);
    n->restores++;
    bytes_fini(&image);
    return n->is_slow_restore ? ST_AGAIN : ST_OK;
}

static void
fatal_cb(void *ctx, enum status why, const char *what)
{
    struct rig_node *n = ctx;
    n->fatal = why;
    snprintf(n->fatal_text, sizeof n->fatal_text, "%s", what);
}

static void
link_change(struct rig *rig, uint64_t id, bool is_up, bool is_refused)
{
    for (unsigned i = 1; i <= rig->count; i++) {
        struct rig_node *o = &rig->nodes[i];
        if (i == id || o->r == NULL)
            continue;
        if (is_up) {
            rlog_peer_up(o->r, id, rig->now_ms);
            rlog_peer_up(rig->nodes[id].r, i, rig->now_ms);
        } else {
            rlog_peer_down(o->r, id, is_refused, rig->now_ms);
        }
    }
}

enum status
rig_start(struct rig *rig, uint64_t id, bool is_crashed)
{
    struct rig_node *n = &rig->nodes[id];
    struct rlog_options options = {
        .id = id,
        .election_ms = 1000,
        .heartbeat_ms = 100,
        .sync_ms = 50,
        .grace_ms = rig->grace_ms,
        .seed = id * 1234567,
        .is_crashed = is_crashed,
        .is_rejoining = n->is_rejoining,
    };
    struct rlog_callbacks callbacks = {send_cb,    apply_cb, role_cb,
                                       restore_cb, fatal_cb, n};
    n->applied = 0;
    n->state = 0;
    n->role = RLOG_FOLLOWER;
    n->fatal = ST_OK;
    memdisk_open(&n->disk);
    enum status st = rlog_open(&options, &n->disk.disk, &callbacks, rig->now_ms, &n->r);
    if (st == ST_OK)
        link_change(rig, id, true, false);
    return st;
}

void
rig_stop(struct rig *rig, uint64_t id, bool is_crashed, bool is_seen)
{
    struct rig_node *n = &rig->nodes[id];
    struct rig_frame **at = &rig->first;
    rlog_close(n->r);
    n->r = NULL;
    if (is_crashed)
        memdisk_crash(&n->disk);
    else
        memdisk_kill(&n->disk);
    while (*at != NULL) {
        struct rig_frame *f = *at;
        if (f->to != id && f->from != id) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        blob_put(f->body);
        mem_free(f);
    }
    rig->last = at;
    if (is_seen)
        link_change(rig, id, false, true);
}

static void
deliver(struct rig *rig)
{
    while (rig->first != NULL && rig->first->due_ms <= rig->now_ms) {
        struct rig_frame *f = rig->first;
        rig->first = f->next;
        if (rig->first == NULL)
            rig->last = &rig->first;
        struct rig_node *n = &rig->nodes[f->to];
        if (n->r != NULL && !rig->cut[f->from][f->to]) {
            enum status st = rlog_receive(n->r, f->from, f->kind, f->body, rig->now_ms);
            if (n->fatal == ST_OK)
                ck_assert_int_eq(st, ST_OK);
        }
        blob_put(f->body);
        mem_free(f);
    }
}

void
rig_run(struct rig *rig, uint64_t ms)
{
    for (uint64_t t = 0; t < ms; t++) {
        rig->now_ms++;
        deliver(rig);
        for (unsigned i = 1; i <= rig->count; i++) {
            struct rig_node *n = &rig->nodes[i];
            if (n->r == NULL)
                continue;
            if (!n->is_disk_stopped)
                memdisk_deliver(&n->disk, n->r, rig->now_ms);
            if (rlog_deadline(n->r) <= rig->now_ms)
                rlog_tick(n->r, rig->now_ms);
            /* G8: never two ticks due in one millisecond without progress */
        }
        deliver(rig);
    }
}

struct rig_node *
rig_leader(struct rig *rig, uint64_t limit_ms)
{
    for (uint64_t t = 0; t <= limit_ms; t++) {
        struct rig_node *leader = NULL;
        bool agreed = true;
        for (unsigned i = 1; i <= rig->count; i++)
            if (rig->nodes[i].r != NULL && rig->nodes[i].role == RLOG_LEADER &&
                (leader == NULL || leader->term < rig->nodes[i].term))
                leader = &rig->nodes[i];
        for (unsigned i = 1; leader != NULL && i <= rig->count; i++)
            if (rig->nodes[i].r != NULL && rig->nodes[i].fatal == ST_OK &&
                !rig->cut[i][leader->id] && !rig->cut[leader->id][i] &&
                rig->nodes[i].leader != leader->id)
                agreed = false;
        if (leader != NULL && agreed)
            return leader;
        rig_run(rig, 1);
    }
    ck_abort_msg("no leader after %llu ms", (unsigned long long)limit_ms);
    return NULL;
}

void
rig_converge(struct rig *rig, uint64_t index, uint64_t limit_ms)
{
    for (uint64_t t = 0; t <= limit_ms; t++) {
        struct rig_node *first = NULL;
        bool same = true;
        for (unsigned i = 1; i <= rig->count; i++) {
            struct rig_node *n = &rig->nodes[i];
            if (n->r == NULL)
                continue;
            if (first == NULL)
                first = n;
            struct rlog_status a = rig_status(first);
            struct rlog_status b = rig_status(n);
            if (n->applied < index || n->applied != first->applied ||
                n->applied != b.last_index)
                same = false;
            else
                ck_assert(n->state == first->state && a.chain == b.chain);
        }
        if (same)
            return;
        rig_run(rig, 1);
    }
    for (unsigned i = 1; i <= rig->count; i++)
        if (rig->nodes[i].r != NULL) {
            struct rlog_status s = rig_status(&rig->nodes[i]);
            printf("node %u role %d term %llu log %llu..%llu stored %llu commit %llu "
                   "applied %llu snapshot %llu gated %d fatal %d %s\n",
                   i, (int)s.role, (unsigned long long)s.term,
                   (unsigned long long)s.first_index, (unsigned long long)s.last_index,
                   (unsigned long long)s.stored_index,
                   (unsigned long long)s.commit_index,
                   (unsigned long long)s.applied_index,
                   (unsigned long long)s.snapshot_index, s.is_gated,
                   (int)rig->nodes[i].fatal, rig->nodes[i].fatal_text);
        }
    ck_abort_msg("no convergence after %llu ms", (unsigned long long)limit_ms);
}

enum status
rig_submit(struct rig_node *n, size_t size, bool is_sync, uint64_t *ret_index)
{
    struct blob *b = blob_new(size);
    memset(b->data, 'x', size);
    if (size >= 8)
        put_u64(b->data, n->rig->now_ms * 1000 + n->id);
    uint64_t index;
    enum status st = rlog_submit(n->r, b, is_sync, &index);
    if (st == ST_OK && ret_index != NULL)
        *ret_index = index;
    return st;
}

void
rig_snapshot(struct rig *rig, struct rig_node *n)
{
    uint64_t index;
    (void)rig;
    ck_assert_int_eq(rlog_snapshot_begin(n->r, &index), ST_OK);
    ck_assert_uint_eq(index, n->applied);
    struct blob *b = blob_new(16 + n->image_bytes);
    memset(b->data, 'i', b->size);
    put_u64(b->data, n->applied);
    put_u64(b->data + 8, n->state);
    rlog_snapshot_write(n->r, b);
    rlog_snapshot_finish(n->r);
}

void
rig_cut(struct rig *rig, uint64_t id, bool is_cut)
{
    for (unsigned i = 1; i <= rig->count; i++)
        if (i != id)
            rig->cut[i][id] = rig->cut[id][i] = is_cut;
}

struct rlog_status
rig_status(struct rig_node *n)
{
    struct rlog_status s;
    rlog_get_status(n->r, &s);
    return s;
}

enum status
rig_inject(struct rig_node *n,
           uint64_t from,
           enum rlog_frame_kind kind,
           const struct bytes *body)
{
    struct blob *b = blob_copy(slice_of(body->data, body->size));
    enum status st = rlog_receive(n->r, from, (uint8_t)kind, b, n->rig->now_ms);
    blob_put(b);
    return st;
}
