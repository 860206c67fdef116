/* Operating: what is decided about many messages, or about somebody else's session, by
 * an operator (holdfastctl) or an administrator. */
#ifndef HF_BROKER_OPERATE_H
#define HF_BROKER_OPERATE_H

#include "broker/parcel.h"

struct broker;
struct part;

/* Which messages of a queue: of those behind after and up to last, by id, the ones that
 * fit. All zero but places: all of them there. */
struct bulk {
    bool is_redrive; /* places is SWEEP_DEAD; else a purge */
    uint8_t places;  /* queue/sweep.h */
    uint8_t reasons;
    bool has_after;
    bool has_last;
    struct uuid after;
    struct uuid last;
    uint64_t before_ms; /* dead ones: died before */
    struct slice key;
    uint32_t most; /* at most so many; 0: no limit of one's own */
};

struct bulk_result {
    uint32_t count;   /* done, or that would be done */
    bool has_more;    /* it ended before last: go on behind seen */
    struct uuid seen; /* the last one that was looked at */
    struct uuid last; /* where to end: bulk.last, or the greatest id there is now */
    uint64_t batch;   /* what the result rests on */
};

/* One step, in one record, so it happens whole or not at all: at most
 * LIMIT_SWEEP_MESSAGES are looked at. is_dry: only looks. ST_NOTLEADER, ST_NOTFOUND (no
 * such queue), ST_VERSION (the cluster's level is below HF_LEVEL_SWEEPS), ST_FULL (no
 * room, for a redrive). */
enum status broker_bulk(struct broker *b,
                        struct slice name,
                        const struct bulk *bulk,
                        bool is_dry,
                        struct bulk_result *ret_result) MUST_USE;
/* The same of a part, for administrators. */
enum status bulk_run(struct broker *b,
                     struct part *part,
                     const struct bulk *bulk,
                     bool is_dry,
                     struct bulk_result *ret_result) MUST_USE;

/* Ends a session, saved or not, with its connection; what it held goes to others.
 * ST_NOTLEADER, ST_NOTFOUND (no such queue or session). */
enum status broker_end_session(struct broker *b,
                               struct slice name,
                               uint64_t number,
                               uint64_t *ret_batch) MUST_USE;
/* Closes the connections that are logged in as a role; sessions are saved by the usual
 * rule. Gives how many. Call behind broker_set_login(), with its batch. */
uint32_t broker_close_role(struct broker *b,
                           struct slice name,
                           enum login_role role,
                           uint64_t batch);
/* Whether the session has a connection, on the leader. */
bool broker_session_is_live(const struct session *x);
/* Connections logged in as a role, of both types. */
uint64_t broker_logged_in(const struct queue *q, enum login_role role);

#endif
