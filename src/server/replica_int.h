/* Replica: what its files share. For src/server/replica*.c alone. */
#ifndef HF_SERVER_REPLICA_INT_H
#define HF_SERVER_REPLICA_INT_H

#include "server/agreement.h"
#include "server/handover.h"
#include "server/imaging.h"
#include "server/replica.h"
#include "server/timekeeper.h"

enum phase {
    PHASE_FOLLOWING,
    PHASE_CLAIMING, /* elected; waits until everything before is applied */
    PHASE_CLAIMED,  /* EPOCH is submitted */
    PHASE_LEADING,
};

/* A snapshot that becomes the state (replica_restore.c). */
struct restore {
    struct state *old; /* the one before, being taken apart; or NULL */
    uint64_t next_ms;  /* not before */
    bool is_open;      /* the node has started: in steps from now on */
    uint64_t total;    /* snapshots of others, since then */
};

struct replica {
    struct rlog *rlog;
    struct state *state;
    struct broker *broker;
    struct imaging imaging;
    struct restore restore;
    struct handover handover;
    struct timekeeper time;
    struct agreement agreement;
    struct replica_callbacks callbacks;
    uint64_t id;
    uint64_t election_ms;
    uint64_t now_ms;
    uint64_t own_wall_ms; /* at now_ms */
    uint64_t last_turn_ms;
    uint64_t term;
    uint64_t leader;
    uint64_t last_applied; /* by the log */
    uint64_t last_submitted;
    uint64_t lead_term;       /* it leads, or led last */
    uint64_t epoch_index;     /* CLAIMED: of our EPOCH */
    uint64_t opened_index;    /* the log's last when it was opened */
    uint64_t passed_on_index; /* of the last entry with what another leader passed on */
    uint64_t lead_count;
    uint64_t thaw_batch;  /* frozen: committed, it ends */
    struct batch waiting; /* taken from the broker, refused for the moment */
    bool has_waiting;
    uint64_t move_at_ms;  /* not before: leadership to a better disk */
    uint64_t image_floor; /* a snapshot of this or later is asked for; 0: none */
    uint64_t images_failed;
    uint64_t image_again_ms;
    uint64_t image_retry_ms; /* not before: after one without room */
    bool has_own_term;       /* an entry of the present term is applied */
    bool is_frozen;
    bool is_disowned;      /* by the others; its end was told */
    bool is_image_watched; /* begun; whether it was stored is not known */
    enum phase phase;
    enum rlog_role role;
};

/* A line for the log. */
void replica_event(struct replica *r, const char *name, uint64_t number);
/* struct rlog_callbacks.restore_cb; a step of it, when it is due; and when that is. */
enum status replica_restore_cb(void *ctx, uint64_t index, uint64_t term);
void replica_go_on_restoring(struct replica *r);
uint64_t replica_restore_deadline(const struct replica *r);
/* replica_disk.c: each turn; instead of imaging_is_due(). */
#define REPLICA_FIRST_MOVE_MS 2000 /* a new leader stays at least so long */
void replica_watch_disk(struct replica *r);
bool replica_is_image_due(const struct replica *r);
/* The members' wall clock, and cluster time, by what is known now. */
uint64_t replica_wall_ms(const struct replica *r);
/* The wall, if what is in doubt of it is late: what `behind` is reckoned from. */
uint64_t replica_latest_wall_ms(const struct replica *r);
uint64_t replica_cluster_ms(const struct replica *r);
/* The time to all peers, when it is due. */
void replica_tell_time(struct replica *r);
/* The end of a turn: what was applied to all peers, when it is due, and what came of
 * comparing it. */
void replica_watch_agreement(struct replica *r);

#endif
