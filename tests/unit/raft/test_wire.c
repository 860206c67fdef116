/* Frames and members: there and back, and nothing else gets through. */
#include "tests/unit/raft/suites.h"

#include "base/crc32c.h"
#include "base/limits.h"
#include "raft/members.h"
#include "raft/wire.h"
#include "tests/unit/raft/rig.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct rlog_entry out[RLOG_WIRE_ENTRIES_MAX];

static struct blob *
an_append(uint32_t count)
{
    static struct rlog_entry entries[RLOG_WIRE_ENTRIES_MAX];
    struct bytes body = {0};
    struct raft_append_entries m = {
        .term = 9, .prev_log_index = 4, .prev_log_term = 3, .leader_commit = 5};
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (struct rlog_entry){.term = 3 + i / 2,
                                         .type = RLOG_COMMAND,
                                         .is_sync = i % 2 == 1,
                                         .size = i * 3,
                                         .crc = crc32c(0, "0123456789", i * 3)};
    rlog_wire_put_append(&body, &m, 77, entries, count);
    for (uint32_t i = 0; i < count; i++)
        bytes_put(&body, "0123456789", i * 3);
    struct blob *b = blob_copy(slice_of(body.data, body.size));
    bytes_fini(&body);
    return b;
}

START_TEST(append_entries_come_back_and_refer_to_the_frame)
{
    struct raft_append_entries m;
    uint64_t stamp;
    struct blob *b = an_append(4);
    ck_assert_int_eq(rlog_wire_get_append(b, &m, &stamp, out), ST_OK);
    ck_assert(m.term == 9 && m.prev_log_index == 4 && m.prev_log_term == 3 &&
              m.leader_commit == 5 && m.n_entries == 4 && stamp == 77);
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(out[i].index, 5 + i);
        ck_assert_uint_eq(out[i].term, 3 + i / 2);
        ck_assert(out[i].is_sync == (i % 2 == 1));
        ck_assert(slice_equal(rlog_payload(&out[i]), slice_of("0123456789", i * 3)));
        ck_assert_ptr_eq(out[i].blob, i == 0 ? NULL : b);
    }
    ck_assert_uint_eq(atomic_load(&b->refs), 1);
    blob_put(b);
}
END_TEST

START_TEST(a_frame_of_any_other_length_is_refused)
{
    struct raft_append_entries m;
    uint64_t stamp;
    struct blob *b = an_append(4);
    for (uint32_t size = 0; size <= b->size + 9; size++) {
        struct blob *c = blob_new(size);
        memset(c->data, 0, size);
        memcpy(c->data, b->data, size < b->size ? size : b->size);
        ck_assert_int_eq(rlog_wire_get_append(c, &m, &stamp, out),
                         size == b->size ? ST_OK : ST_INVALID);
        blob_put(c);
    }
    blob_put(b);
}
END_TEST

/* Every single byte changed to some others: refused, or still within all bounds. */
START_TEST(what_a_changed_byte_lets_through_is_still_sound)
{
    struct raft_append_entries m;
    uint64_t stamp;
    struct blob *b = an_append(4);
    unsigned passed = 0;
    for (uint32_t at = 0; at < b->size; at++)
        for (unsigned change = 1; change < 256; change = change * 2 + 1) {
            struct blob *c = blob_copy(blob_slice(b));
            c->data[at] ^= (uint8_t)change;
            if (rlog_wire_get_append(c, &m, &stamp, out) == ST_OK) {
                passed++;
                ck_assert(m.term > 0 && m.term < RLOG_WIRE_INDEX_MAX);
                ck_assert((m.prev_log_index == 0) == (m.prev_log_term == 0));
                uint64_t term = m.prev_log_term;
                for (uint32_t i = 0; i < m.n_entries; i++) {
                    ck_assert(out[i].term >= term && out[i].term <= m.term &&
                              out[i].term > 0);
                    ck_assert(out[i].size == 0 ||
                              out[i].offset + out[i].size <= c->size);
                    term = out[i].term;
                }
            }
            blob_put(c);
        }
    /* Terms, indexes, commit and stamp may change; sizes, sums, payloads not. */
    ck_assert_uint_gt(passed, 0);
    blob_put(b);
}
END_TEST

static void
put_one(struct bytes *body, const struct rlog_entry *e, const void *payload)
{
    struct raft_append_entries m = {.term = 5, .prev_log_index = 1, .prev_log_term = 1};
    bytes_clear(body);
    rlog_wire_put_append(body, &m, 0, e, 1);
    bytes_put(body, payload, e->size);
}

static enum status
get_one(const struct bytes *body)
{
    struct raft_append_entries m;
    uint64_t stamp;
    struct blob *b = blob_copy(slice_of(body->data, body->size));
    enum status st = rlog_wire_get_append(b, &m, &stamp, out);
    blob_put(b);
    return st;
}

START_TEST(entries_that_the_library_would_assert_on_are_refused)
{
    struct bytes body = {0};
    struct rlog_entry e = {.term = 5, .type = RLOG_BARRIER, .is_sync = true};
    put_one(&body, &e, "");
    ck_assert_int_eq(get_one(&body), ST_OK);
    e.is_sync = false; /* a barrier counts when synced */
    put_one(&body, &e, "");
    ck_assert_int_eq(get_one(&body), ST_INVALID);
    e = (struct rlog_entry){.term = 6, .type = RLOG_COMMAND}; /* above the message's */
    put_one(&body, &e, "");
    ck_assert_int_eq(get_one(&body), ST_INVALID);
    e.term = 0;
    put_one(&body, &e, "");
    ck_assert_int_eq(get_one(&body), ST_INVALID);
    /* A change whose payload is not one: the library would read past its end. */
    e = (struct rlog_entry){
        .term = 5, .type = RLOG_CHANGE, .is_sync = true, .size = 16};
    uint8_t bad[16] = {1, 200};
    e.crc = crc32c(0, bad, sizeof bad);
    put_one(&body, &e, bad);
    ck_assert_int_eq(get_one(&body), ST_INVALID);
    bytes_fini(&body);
}
END_TEST

START_TEST(the_small_frames_come_back)
{
    struct bytes b = {0};
    uint64_t stamp;
    uint8_t disk;
    struct raft_append_entries_result ar = {2, 7, 0, 90, 1, 2}, ar2;
    rlog_wire_put_append_result(&b, &ar, 55, RLOG_WIRE_SLOW);
    ck_assert_int_eq(
        rlog_wire_get_append_result(slice_of(b.data, b.size), &ar2, &stamp, &disk),
        ST_OK);
    ck_assert(ar2.term == 7 && ar2.last_log_index == 90 && ar2.features == 1 &&
              ar2.capacity == 2 && stamp == 55 && disk == RLOG_WIRE_SLOW);
    b.data[1] = 4; /* not a flag */
    ck_assert_int_eq(
        rlog_wire_get_append_result(slice_of(b.data, b.size), &ar2, &stamp, &disk),
        ST_INVALID);
    bytes_clear(&b);
    struct raft_request_vote v = {2, 7, 3, 90, 6, true, true}, v2;
    rlog_wire_put_vote(&b, &v);
    ck_assert_int_eq(rlog_wire_get_vote(slice_of(b.data, b.size), &v2), ST_OK);
    ck_assert(v2.term == 7 && v2.candidate_id == 3 && v2.last_log_index == 90 &&
              v2.last_log_term == 6 && v2.disrupt_leader && v2.pre_vote);
    bytes_clear(&b);
    struct raft_request_vote_result vr = {2, 7, true, false, 1, 4}, vr2;
    rlog_wire_put_vote_result(&b, &vr);
    ck_assert_int_eq(rlog_wire_get_vote_result(slice_of(b.data, b.size), &vr2), ST_OK);
    ck_assert(vr2.term == 7 && vr2.vote_granted && !vr2.pre_vote && vr2.features == 1 &&
              vr2.capacity == 4);
    bytes_clear(&b);
    struct raft_timeout_now t = {0, 7, 90, 6}, t2;
    rlog_wire_put_timeout_now(&b, &t);
    ck_assert_int_eq(rlog_wire_get_timeout_now(slice_of(b.data, b.size), &t2), ST_OK);
    ck_assert(t2.term == 7 && t2.last_log_index == 90 && t2.last_log_term == 6);
    bytes_clear(&b);
    struct rlog_position p = {3, 90, true, false}, p2;
    rlog_wire_put_position(&b, &p);
    ck_assert_int_eq(rlog_wire_get_position(slice_of(b.data, b.size), &p2), ST_OK);
    ck_assert(p2.last_term == 3 && p2.last_index == 90 && p2.is_gated && !p2.is_answer);
    bytes_clear(&b);
    struct rlog_snapshot_ack a = {90, 3, 1 << 20, RLOG_SNAPSHOT_DONE}, a2;
    rlog_wire_put_snapshot_ack(&b, &a);
    ck_assert_int_eq(rlog_wire_get_snapshot_ack(slice_of(b.data, b.size), &a2), ST_OK);
    ck_assert(a2.index == 90 && a2.next == 1 << 20 && a2.answer == RLOG_SNAPSHOT_DONE);
    bytes_fini(&b);
}
END_TEST

START_TEST(snapshot_frames_come_back_and_are_checked)
{
    struct bytes b = {0};
    struct rlog_snapshot_meta m = {.index = 90,
                                   .term = 3,
                                   .chain = 1234567,
                                   .members_index = 1,
                                   .size_bytes = 99999,
                                   .crc = 42};
    struct rlog_snapshot_meta m2;
    uint64_t term;
    rig_members(3, &m.members);
    rlog_wire_put_offer(&b, 7, &m);
    ck_assert_int_eq(rlog_wire_get_offer(slice_of(b.data, b.size), &term, &m2), ST_OK);
    ck_assert(term == 7 && m2.index == 90 && m2.chain == 1234567 && m2.crc == 42 &&
              m2.size_bytes == 99999 && rlog_members_equal(&m.members, &m2.members));
    for (size_t size = 0; size < b.size; size++)
        ck_assert_int_eq(rlog_wire_get_offer(slice_of(b.data, size), &term, &m2),
                         ST_INVALID);
    bytes_clear(&b);
    struct rlog_chunk c = {.term = 7, .index = 90, .snapshot_term = 3, .offset = 4};
    c.size = 5;
    c.crc = crc32c(0, "hello", 5);
    rlog_wire_put_chunk(&b, &c);
    bytes_put(&b, "hello", 5);
    struct rlog_chunk c2;
    ck_assert_int_eq(rlog_wire_get_chunk(slice_of(b.data, b.size), &c2), ST_OK);
    ck_assert(c2.offset == 4 && memcmp(b.data + c2.at, "hello", 5) == 0);
    b.data[b.size - 1] ^= 1;
    ck_assert_int_eq(rlog_wire_get_chunk(slice_of(b.data, b.size), &c2), ST_INVALID);
    bytes_fini(&b);
}
END_TEST

START_TEST(members_are_encoded_as_the_library_does)
{
    struct rlog_members m;
    struct rlog_members back;
    struct raft_configuration configuration;
    struct raft_buffer buffer;
    struct bytes b = {0};
    for (unsigned count = 1; count <= RLOG_MEMBERS_MAX; count++) {
        rig_members(count, &m);
        m.members[count - 1].is_voter = count % 2 == 0;
        bytes_clear(&b);
        rlog_members_encode(&m, &b);
        rlog_members_to_raft(&m, &configuration);
        ck_assert_int_eq(raft_configuration_encode(&configuration, &buffer), 0);
        ck_assert_uint_eq(buffer.len, b.size);
        ck_assert_mem_eq(buffer.base, b.data, b.size);
        raft_free(buffer.base);
        raft_configuration_close(&configuration);
        ck_assert_int_eq(rlog_members_decode(slice_of(b.data, b.size), &back), ST_OK);
        ck_assert(rlog_members_equal(&m, &back));
        for (size_t size = 0; size < b.size; size++)
            ck_assert_int_eq(rlog_members_decode(slice_of(b.data, size), &back),
                             ST_INVALID);
    }
    bytes_fini(&b);
}
END_TEST

START_TEST(members_that_are_not_right_are_refused)
{
    struct rlog_members m;
    rig_members(3, &m);
    ck_assert_int_eq(rlog_members_check(&m), ST_OK);
    m.members[1].id = m.members[0].id;
    ck_assert_int_eq(rlog_members_check(&m), ST_INVALID);
    rig_members(3, &m);
    m.members[2].id = 1;
    ck_assert_int_eq(rlog_members_check(&m), ST_INVALID); /* not ascending */
    rig_members(3, &m);
    m.members[1].address[0] = 0;
    ck_assert_int_eq(rlog_members_check(&m), ST_INVALID);
    rig_members(3, &m);
    memcpy(m.members[1].address, m.members[0].address, 128);
    ck_assert_int_eq(rlog_members_check(&m), ST_INVALID);
    m.count = 0;
    ck_assert_int_eq(rlog_members_check(&m), ST_INVALID);
    rig_members(3, &m);
    m.members[0].id = 9;
    rlog_members_sort(&m);
    ck_assert_uint_eq(m.members[2].id, 9);
    ck_assert_int_eq(rlog_members_check(&m), ST_OK);
}
END_TEST

/* Noise as every kind of frame: refused or harmless, never more. */
START_TEST(noise_does_no_harm)
{
    struct rig *rig = rig_new(3);
    uint64_t x = 88172645463325252u;
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_int_eq(rig_start(rig, i, false), ST_OK);
    rig_leader(rig, 5000);
    for (int round = 0; round < 200000; round++) {
        struct blob *b = blob_new((size_t)(x % 90));
        for (uint32_t i = 0; i < b->size; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            b->data[i] = x % 3 == 0 ? (uint8_t)(x >> 20) : 0;
        }
        uint8_t kind = (uint8_t)(x % 12);
        enum status st = rlog_receive(rig->nodes[1].r, 2 + x % 2, kind, b, rig->now_ms);
        ck_assert(st == ST_OK || st == ST_INVALID);
        blob_put(b);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    ck_assert_int_eq(rig->nodes[1].fatal, ST_OK);
    rig_free(rig);
}
END_TEST

Suite *
suite_wire(void)
{
    Suite *s = suite_create("wire");
    TCase *t = tcase_create("frames");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, append_entries_come_back_and_refer_to_the_frame);
    tcase_add_test(t, a_frame_of_any_other_length_is_refused);
    tcase_add_test(t, what_a_changed_byte_lets_through_is_still_sound);
    tcase_add_test(t, entries_that_the_library_would_assert_on_are_refused);
    tcase_add_test(t, the_small_frames_come_back);
    tcase_add_test(t, snapshot_frames_come_back_and_are_checked);
    tcase_add_test(t, members_are_encoded_as_the_library_does);
    tcase_add_test(t, members_that_are_not_right_are_refused);
    tcase_add_test(t, noise_does_no_harm);
    suite_add_tcase(s, t);
    return s;
}
