/* Rig: a real net with a core that is made up: a thread that takes core_box, answers
 * requests at once (or holds them), and writes down what it is told. */
#ifndef TEST_NET_RIG_H
#define TEST_NET_RIG_H

#include "net/net.h"

#include <check.h>
#include <pthread.h>

#define RIG_QUEUE    7
#define RIG_CLOSED   8192
#define RIG_WAIT_MS  10000
#define RIG_KEY_BYTE 0x42 /* of which its relay key is made */

struct rig_closed {
    uint64_t conn;
    uint64_t frames_sent;
    uint64_t bytes_sent;
};

struct rig_options {
    uint64_t node;        /* 0 = 1 */
    unsigned threads;     /* 0 = 1 */
    enum net_route route; /* what it begins with, set when is_routed */
    bool is_waiting;      /* no route: NET_WAIT */
    bool without_queue;
    struct net_queue queue; /* fields that are 0 get defaults */
    const char *allowed_origins;
};

struct rig {
    struct net *net;
    char dir[64]; /* certificate and key */
    uint16_t port;
    struct mailbox core_box;
    int bell;
    pthread_t thread;

    pthread_mutex_t lock; /* all below, and the net_ calls of the core's thread */
    pthread_cond_t changed;
    bool is_stopping;
    bool is_holding; /* requests other than logins are kept */
    bool holds_logins;
    struct mail_chain held;
    uint64_t held_count;
    uint64_t logins;
    uint64_t requests;            /* without logins */
    uint64_t request_bytes_total; /* of bodies */
    uint64_t last_conn;           /* of the last login */
    uint8_t last_source[LOGIN_SOURCE_BYTES];
    uint64_t reports; /* PROGRESS */
    struct signal last_report;
    struct rig_closed closed[RIG_CLOSED];
    uint64_t closed_count;
};

void rig_open(struct rig *r, const struct rig_options *options); /* NULL: defaults */
void rig_close(struct rig *r);
void rig_serve(struct rig *r);
/* To the node of another rig; key_byte is what its relay key is made of. */
void
rig_relay_to(struct rig *r, uint64_t leader, const char *address, uint8_t key_byte);
void rig_no_route(struct rig *r);
void rig_set_queue(struct rig *r, const struct net_queue *queue);
/* Answers what was held, and no longer holds. */
void rig_release(struct rig *r);
/* Answers what was held, and goes on holding; returns how many were answered so far. */
uint64_t rig_release_and_hold(struct rig *r);
void rig_hold(struct rig *r);
void rig_hold_logins(struct rig *r);
/* count deliveries of size bytes to a connection, in one flush. */
void rig_deliver(struct rig *r, uint64_t conn, size_t count, size_t size);
void rig_close_conn(struct rig *r, uint64_t conn); /* PARCEL_CLOSE */

/* Conditions to await. */
void rig_await_logins(struct rig *r, uint64_t count);
void rig_await_requests(struct rig *r, uint64_t count);
void rig_await_closed(struct rig *r, uint64_t count);
void rig_await_held(struct rig *r, uint64_t count);
struct rig_closed rig_closed_of(struct rig *r,
                                uint64_t conn); /* exactly one, asserted */
uint64_t rig_last_conn(struct rig *r);
uint64_t rig_read(struct rig *r, const uint64_t *value); /* one of r's numbers */
struct signal rig_last_report(struct rig *r);
struct net_counts rig_counts(struct rig *r);

uint64_t test_now_ms(void);
void test_nap(void); /* a millisecond, between two looks at a condition */

#define AWAIT(condition)                                                               \
    do {                                                                               \
        uint64_t until_ = test_now_ms() + RIG_WAIT_MS;                                 \
        while (!(condition)) {                                                         \
            ck_assert_msg(test_now_ms() < until_, "never: " #condition);               \
            test_nap();                                                                \
        }                                                                              \
    } while (0)

#endif
