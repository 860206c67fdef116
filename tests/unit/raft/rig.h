/* A few nodes of the replicated log in one process, without clock or network: frames
 * wait in a queue, time moves when the test says so. */
#ifndef HF_TESTS_RIG_H
#define HF_TESTS_RIG_H

#include "raft/guard.h"
#include "raft/wire.h"
#include "tests/unit/raft/memdisk.h"

#define RIG_NODES   5
#define RIG_APPLIED 70000

struct rig;

struct rig_node {
    struct rig *rig;
    uint64_t id;
    struct memdisk disk;
    struct rlog *r;   /* NULL = down */
    uint64_t applied; /* of its state machine */
    uint64_t state;   /* digest of what was applied */
    uint64_t restores;
    enum rlog_role role;
    uint64_t term;
    uint64_t leader;
    unsigned elections; /* times it became leader */
    enum status fatal;
    char fatal_text[128];
    bool is_disk_stopped;   /* completions do not come */
    bool is_rejoining;      /* at its next start */
    bool is_slow_restore;   /* restoring goes on until rlog_restored() */
    size_t image_bytes;     /* padding of its snapshots */
    unsigned apply_submits; /* submits from apply_cb that are left */
    uint64_t applied_terms[RIG_APPLIED];
};

struct rig_frame {
    struct rig_frame *next;
    uint64_t from;
    uint64_t to;
    uint8_t kind;
    uint64_t due_ms;
    struct blob *body;
};

struct rig {
    unsigned count;
    uint64_t now_ms;
    struct rig_node nodes[RIG_NODES + 1]; /* by id */
    struct rig_frame *first;
    struct rig_frame **last;
    bool cut[RIG_NODES + 1][RIG_NODES + 1]; /* from, to: frames vanish */
    uint64_t delay_ms;
    uint64_t grace_ms;
    uint64_t frames_sent[32];
    uint64_t bytes_sent;
    /* Sees each frame when it is sent; false drops it. */
    bool (*watch)(struct rig *rig, struct rig_frame *frame);
    void *watch_ctx;
};

struct rig *rig_new(unsigned count);
void rig_free(struct rig *rig);
void rig_members(unsigned count, struct rlog_members *ret_members);
/* Starts a node on what its disk has; links to the others come up. */
enum status rig_start(struct rig *rig, uint64_t id, bool is_crashed);
/* Its process dies: what was appended stays (or, crashed: what was synced). The others
 * see a reset when is_seen. */
void rig_stop(struct rig *rig, uint64_t id, bool is_crashed, bool is_seen);
void rig_run(struct rig *rig, uint64_t ms);
/* Runs until there is one leader that all that are up follow; fails the test after
 * limit_ms. */
struct rig_node *rig_leader(struct rig *rig, uint64_t limit_ms);
/* Runs until all that are up applied the same, and at least index. */
void rig_converge(struct rig *rig, uint64_t index, uint64_t limit_ms);
enum status
rig_submit(struct rig_node *n, size_t size, bool is_sync, uint64_t *ret_index);
void rig_snapshot(struct rig *rig, struct rig_node *n);
void rig_cut(struct rig *rig, uint64_t id, bool is_cut);
struct rlog_status rig_status(struct rig_node *n);
void rig_drop_frames(struct rig *rig);
/* Hands a frame made by hand to a node, at once. */
enum status rig_inject(struct rig_node *n,
                       uint64_t from,
                       enum rlog_frame_kind kind,
                       const struct bytes *body);

#endif
