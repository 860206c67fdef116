/* Plan: what goes wrong in a run, as a list that can be read, cut down and run again.
 *
 * A fault has a time, or waits from that time on for something to happen (a trigger).
 * As text, faults separated by commas:
 *
 *   TIME[/TRIGGER[*NTH][+DELAY]] KIND WHO[>PEER] [LENGTH [VALUE]]
 *
 *   1500 kill leader 300            the leader's process is gone for 300 ms
 *   2000 cut n1>n3 800              nothing passes from node 1 to node 3
 *   900/chunk*3+2 crash peer 50     2 ms after the third chunk of a snapshot was sent
 *                                   since 900: its receiver's machine crashes
 *
 * Times are in ms. WHO: n1 to n5; leader; f1, f2 .. (members behind the leader, by id);
 * m0, m1 .. (the same around the node that `mark` remembered); it and peer (of the
 * trigger); all; - for nobody. */
#ifndef HF_SIM_PLAN_H
#define HF_SIM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLAN_FAULTS_MAX 400

enum fault_kind {
    FAULT_KILL,     /* who's process dies; it starts again after length */
    FAULT_CRASH,    /* who's machine does: what was not synced may be lost or torn */
    FAULT_FLIP,     /* it is stopped, and a bit of its data flips: comes back blank */
    FAULT_EIO,      /* who's next sync fails; it is down for length */
    FAULT_PAUSE,    /* who's process stands still for length */
    FAULT_ISOLATE,  /* nothing passes to and from who */
    FAULT_MUTE,     /* nothing passes from who */
    FAULT_DEAF,     /* nothing passes to who */
    FAULT_CUT,      /* nothing passes from who to peer */
    FAULT_FLAP,     /* who is isolated every other value ms */
    FAULT_UNCUT,    /* all cuts end */
    FAULT_LOSS,     /* value per mille of all frames are lost */
    FAULT_SLOW,     /* value per mille come up to 200 ms late */
    FAULT_TWICE,    /* value per mille come twice */
    FAULT_SHUFFLE,  /* value per mille overtake others */
    FAULT_STALL,    /* who's disk does nothing for length */
    FAULT_SLUGGISH, /* who's syncs take value ms each */
    FAULT_FULL,     /* who's disk has no room for length */
    FAULT_JUMP,     /* who's wall clock is value ms off */
    FAULT_TRANSFER, /* the leader hands over to who */
    FAULT_CLIENTS,  /* value connections of clients go dead */
    FAULT_MARK,     /* remembers who */
    FAULT_GROW,     /* an operator adds a node: stand-by, caught up, voter */
    FAULT_SHRINK,   /* an operator removes who, at once or as a stand-by first */
    FAULT_REPLACE,  /* the one, then the other */
    FAULT_KIND_COUNT,
};

enum trigger {
    TRIGGER_NONE,
    TRIGGER_START,      /* it starts */
    TRIGGER_GATE,       /* its restart gate opens */
    TRIGGER_VOTE,       /* it votes for peer */
    TRIGGER_ELECTED,    /* it is elected */
    TRIGGER_SERVING,    /* it serves clients */
    TRIGGER_OFFER,      /* it offers peer a snapshot */
    TRIGGER_CHUNK,      /* it sends peer a chunk of one */
    TRIGGER_INSTALLING, /* it puts a received snapshot in force */
    TRIGGER_INSTALLED,  /* and has */
    TRIGGER_STORED,     /* a snapshot of its own is stored */
    TRIGGER_CHANGE,     /* it, the leader, proposes new members */
    TRIGGER_CHANGED,    /* new members reach it */
    TRIGGER_TRUNCATE,   /* it replaces entries of its log */
    TRIGGER_COUNT,
};

enum who_kind {
    WHO_NOBODY,
    WHO_NODE, /* number: its id */
    WHO_LEADER,
    WHO_FOLLOWER, /* number: from 1 */
    WHO_MARKED,   /* number: from 0 */
    WHO_IT,
    WHO_PEER,
    WHO_ALL,
};

struct who {
    enum who_kind kind;
    uint32_t number;
};

struct fault {
    uint64_t at_ms;
    enum trigger trigger;
    uint32_t nth;
    uint32_t delay_ms;
    enum fault_kind kind;
    struct who who;
    struct who peer;
    uint64_t length_ms;
    int64_t value;
};

struct plan {
    uint32_t count;
    struct fault faults[PLAN_FAULTS_MAX];
};

/* What a plan is made for. */
struct plan_options {
    uint64_t seed;
    uint64_t duration_ms;
    uint64_t nodes;
    bool has_members; /* nodes come and go */
    bool is_chaos;
};

const char *fault_name(enum fault_kind kind);
/* The seed's own. */
void plan_make(const struct plan_options *options, struct plan *ret_plan);
/* False: it is not one; *ret_wrong says where it goes wrong. */
bool plan_parse(const char *text, struct plan *ret_plan, const char **ret_wrong);
/* Cut off when it is longer than size. */
void fault_print(const struct fault *f, char *out, size_t size);
/* Allocated; to be freed with mem_free(). */
char *plan_print(const struct plan *plan);

#endif
