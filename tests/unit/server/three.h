/* Three replicas in one process: frames go from one to the other at once, disks are in
 * memory and complete at every step, a step is one millisecond. */
#ifndef HF_TESTS_SERVER_THREE_H
#define HF_TESTS_SERVER_THREE_H

#include "server/replica.h"
#include "tests/unit/raft/memdisk.h"

#define NODES    3
#define WALL_MS  UINT64_C(1794233033000)
#define START_MS 1000

struct three;

struct one {
    struct three *three;
    uint64_t id;
    struct memdisk disk;
    struct replica *replica;
    int64_t skew_ms; /* of its wall clock */
    bool is_serving;
    bool may_fail;   /* a fatal error stops the node and not the test */
    bool has_failed; /* it takes part in nothing any more */
    enum status why;
    unsigned differences; /* events chain.differs */
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

/* The wall clocks: the right one, and a node's. */
uint64_t three_wall(const struct three *t);
uint64_t one_wall(const struct one *n);
void one_open(struct one *n);   /* a node starts on what its disk has */
void one_reopen(struct one *n); /* a killed process comes back */
void three_start(struct three *t);
void three_end(struct three *t);
/* Frames that are on their way arrive, or vanish. */
void three_deliver(struct three *t);
void three_drop_frames(struct three *t);
void three_run(struct three *t, uint64_t ms);
/* Runs until one serves. */
struct one *three_leader(struct three *t);

#endif
