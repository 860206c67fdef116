/* Clients, inside: what publishers, subscribers and administrators share. */
#ifndef HF_SIM_CLIENT_H
#define HF_SIM_CLIENT_H

#include "checker.h"
#include "conn.h"
#include "sim.h"

#define CLIENT_OPS 16 /* outstanding at most */

enum client_kind {
    CLIENT_PUBLISHER,
    CLIENT_SUBSCRIBER,
    CLIENT_ADMIN,
    CLIENT_COPY_PUBLISHER,
    CLIENT_COPY_SUBSCRIBER,
};

enum op_kind {
    OP_LOGIN,
    OP_PUBLISH, /* also one in a login */
    OP_SETTLE,
    OP_CAPACITY,
    OP_LOGOUT,
    OP_ADMIN,
    OP_COPY, /* a publish to the copy queue */
};

/* One request, until its reply. Its number is the request's context. */
struct op {
    uint64_t number;
    enum op_kind kind;
    bool is_told;   /* the checker has seen its reply leave */
    bool is_ack;    /* SETTLE */
    bool was_held;  /* SETTLE: by all that we know the session held it */
    bool is_resume; /* LOGIN */
    bool is_replay;
    enum admin_command command;
    uint32_t capacity;
    uint32_t value; /* setcfg */
    struct known *message;
    uint64_t sent_us;
};

/* A copy queue's message: the publisher's connection, the how manyth on it. */
struct copy_mark {
    uint64_t conn;
    uint64_t number;
};

struct redrive {
    struct known *message; /* NULL: none under way */
    uint32_t node;
    uint32_t incarnation;
    uint64_t lead;
    uint64_t batch;
};

struct sim_client {
    uint32_t id;
    enum client_kind kind;
    bool is_open;  /* logged in */
    bool is_gone;  /* has left for good */
    bool is_fresh; /* subscriber: has logged in anew since publishing stopped */
    uint32_t window;
    struct sim_conn *conn; /* NULL: away */
    struct op ops[CLIENT_OPS];
    uint64_t first_op; /* outstanding are first_op to next_op - 1 */
    uint64_t next_op;
    uint64_t wake_number;
    uint64_t patience_us;
    struct chain *chain; /* subscriber: its session, NULL = none */
    uint64_t resume_us;  /* not before */
    uint64_t give_up_us;
    uint64_t leave_us;
    struct redrive redrive; /* administrator */
    uint64_t copy_number;   /* copy publisher: published on this connection */
    uint64_t copies_conn;   /* copy subscriber: copies is about this connection */
    struct copy_mark copies[SIM_CLIENTS_MAX]; /* by client: the last that was sent */
};

/* client.c */
struct op *client_op(struct sim_client *c, uint64_t number); /* outstanding, or NULL */
bool client_has_room(const struct sim_client *c);
/* A new op; there is room. */
struct op *client_begin(struct sim *s, struct sim_client *c, enum op_kind kind);
/* A request with the op's number as its context. */
struct request *
client_request(const struct sim_client *c, const struct op *op, enum parcel_kind kind);
void client_send(struct sim *s, struct sim_client *c, struct request *r);
/* A connection with a login request to fill in and send; false: refused, try later. */
bool client_connect(struct sim *s,
                    struct sim_client *c,
                    enum op_kind kind,
                    enum login_role role,
                    struct request **ret_request);
/* Lets go of its connection (NULL is fine); what is outstanding is unknown. */
void client_drop(struct sim *s, struct sim_client *c);
void client_wake_in(struct sim *s, struct sim_client *c, uint64_t us);
/* The oldest request has waited too long. */
bool client_is_impatient(const struct sim *s, const struct sim_client *c);

/* client_publish.c */
void publisher_wake(struct sim *s, struct sim_client *c);
/* Fills in a publish with a new message. */
void client_fill_publish(struct sim *s, struct op *op, struct publish_fields *fields);

/* client_admin.c */
void admin_wake(struct sim *s, struct sim_client *c);

/* client_redrive.c: for an administrator, now and then */
void client_redrive(struct sim *s, struct sim_client *c);

/* client_copy.c */
void copy_wake(struct sim *s, struct sim_client *c);
/* Checks: a delivery leaves for a subscriber; a reply does for a publisher. */
void copy_emitted(struct sim *s, const struct sim_conn *conn, const struct delivery *d);
void copy_told(struct sim *s, const struct sim_conn *conn, const struct reply *reply);

/* client_subscribe.c */
void subscriber_wake(struct sim *s, struct sim_client *c);
void subscriber_reply(struct sim *s,
                      struct sim_client *c,
                      const struct op *op,
                      const struct request *r);
void subscriber_got(struct sim *s, struct sim_client *c, const struct delivery *d);
void subscriber_settle_time(struct sim *s, struct sim_client *c, uint64_t key);
/* Its connection is gone. */
void subscriber_away(struct sim *s, struct sim_client *c);

/* EVENT_CLIENT: what its number says. */
#define CLIENT_SETTLES (UINT64_C(1) << 62) /* | key of the message */

#endif
