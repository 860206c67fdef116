/* Raft on the cluster wire: frame kinds, and their bodies to and from bytes.
 *
 * A frame's body is a fixed head and, for some kinds, payload bytes behind it. The
 * bytes are tabled in man/holdfast-files.5. The decoder trusts nothing (raft-notes
 * 5.2): what it lets through satisfies every assertion that the Raft library makes
 * about one message by itself; what depends on our state is checked in
 * raft/rlog_receive.c. Pure. */
#ifndef HF_RAFT_WIRE_H
#define HF_RAFT_WIRE_H

#include "raft/rlog_disk.h"

#include <raft.h>

/* Kinds 1..31 of cluster frames (cluster/cluster.h). */
enum rlog_frame_kind {
    RLOG_FRAME_APPEND = 1, /* AppendEntries; payloads of the entries follow */
    RLOG_FRAME_APPEND_RESULT = 2,
    RLOG_FRAME_VOTE = 3, /* RequestVote, also of a pre-vote */
    RLOG_FRAME_VOTE_RESULT = 4,
    RLOG_FRAME_TIMEOUT_NOW = 5,
    RLOG_FRAME_POSITION = 6,       /* restart gate: last term and index of the sender */
    RLOG_FRAME_SNAPSHOT_OFFER = 7, /* leader: meta of the snapshot it wants to send */
    RLOG_FRAME_SNAPSHOT_CHUNK = 8, /* bytes of the image follow */
    RLOG_FRAME_SNAPSHOT_ACK = 9,   /* follower: written up to here; or give up */
};

#define RLOG_WIRE_ENTRIES_MAX 1024                /* entries of one frame */
#define RLOG_WIRE_INDEX_MAX   (UINT64_C(1) << 62) /* of terms, indexes and sizes */
#define RLOG_WIRE_HEAD_MAX    (48 + RLOG_WIRE_ENTRIES_MAX * 24)
#define RLOG_META_BYTES_MAX   (56 + 16 + RLOG_MEMBERS_MAX * (8 + 128 + 1))

/* What a follower says about its disk, flags. */
#define RLOG_WIRE_FULL 1u
#define RLOG_WIRE_SLOW 2u

struct rlog_position {
    uint64_t last_term;
    uint64_t last_index;
    bool is_gated;
    bool is_answer;
};

struct rlog_chunk {
    uint64_t term;  /* the leader's */
    uint64_t index; /* of the snapshot */
    uint64_t snapshot_term;
    uint64_t offset;
    uint32_t size;
    uint32_t crc;
    uint32_t at; /* where its bytes are in the frame; set by the decoder */
};

enum rlog_snapshot_answer {
    RLOG_SNAPSHOT_GO_ON = 0, /* from next on */
    RLOG_SNAPSHOT_GIVE_UP = 1,
    RLOG_SNAPSHOT_DONE = 2,
};

struct rlog_snapshot_ack {
    uint64_t index;
    uint64_t snapshot_term;
    uint64_t next; /* offset that is expected next */
    enum rlog_snapshot_answer answer;
};

/* Encoders append to out. The message's pointers are not looked at. */
void rlog_wire_put_append(struct bytes *out,
                          const struct raft_append_entries *m,
                          uint64_t stamp_ms,
                          const struct rlog_entry *entries,
                          uint32_t count);
void rlog_wire_put_append_result(struct bytes *out,
                                 const struct raft_append_entries_result *m,
                                 uint64_t stamp_ms,
                                 uint8_t disk);
void rlog_wire_put_vote(struct bytes *out, const struct raft_request_vote *m);
void rlog_wire_put_vote_result(struct bytes *out,
                               const struct raft_request_vote_result *m);
void rlog_wire_put_timeout_now(struct bytes *out, const struct raft_timeout_now *m);
void rlog_wire_put_position(struct bytes *out, const struct rlog_position *p);
void rlog_wire_put_offer(struct bytes *out,
                         uint64_t term,
                         const struct rlog_snapshot_meta *meta);
void rlog_wire_put_chunk(struct bytes *out, const struct rlog_chunk *c);
void rlog_wire_put_snapshot_ack(struct bytes *out, const struct rlog_snapshot_ack *a);

/* Decoders: ST_OK, or ST_INVALID for anything that is not exactly one well-formed body.
 *
 * Append: entries (room for RLOG_WIRE_ENTRIES_MAX) refer to frame without a reference
 * of their own; their payload checksums are verified. m->entries is left NULL. */
enum status rlog_wire_get_append(struct blob *frame,
                                 struct raft_append_entries *m,
                                 uint64_t *ret_stamp_ms,
                                 struct rlog_entry *entries) MUST_USE;
enum status rlog_wire_get_append_result(struct slice body,
                                        struct raft_append_entries_result *m,
                                        uint64_t *ret_stamp_ms,
                                        uint8_t *ret_disk) MUST_USE;
enum status rlog_wire_get_vote(struct slice body, struct raft_request_vote *m) MUST_USE;
enum status rlog_wire_get_vote_result(struct slice body,
                                      struct raft_request_vote_result *m) MUST_USE;
enum status rlog_wire_get_timeout_now(struct slice body,
                                      struct raft_timeout_now *m) MUST_USE;
enum status rlog_wire_get_position(struct slice body, struct rlog_position *p) MUST_USE;
enum status rlog_wire_get_offer(struct slice body,
                                uint64_t *ret_term,
                                struct rlog_snapshot_meta *meta) MUST_USE;
enum status rlog_wire_get_chunk(struct slice body, struct rlog_chunk *c) MUST_USE;
enum status rlog_wire_get_snapshot_ack(struct slice body,
                                       struct rlog_snapshot_ack *a) MUST_USE;

/* Snapshot meta, on the wire and in snapshot files. */
void rlog_meta_put(struct bytes *out, const struct rlog_snapshot_meta *meta);
enum status rlog_meta_get(struct reader *r, struct rlog_snapshot_meta *meta) MUST_USE;

#endif
