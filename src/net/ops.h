/* Ops: the HTTP endpoint for those who watch and run a node: metrics, health, status.
 *
 * Transport only: a thread of its own with libevent's HTTP server, so that nothing a
 * client of it does can slow the core or the network threads. What a page says is the
 * caller's: pages are a table of functions. A page that needs what the core thread
 * knows asks it for a snapshot and waits LIMIT_OPS_CORE_MS at most; all who wait share
 * one snapshot, and each page is made once of it.
 *
 * GET and HEAD; 405 for other methods, 404 for other paths, which are compared as they
 * came. Each connection has one request, a bounded head and body, LIMIT_OPS_LIFE_MS in
 * all, and there are LIMIT_OPS_CONNECTIONS; one more ends the oldest. */
#ifndef HF_NET_OPS_H
#define HF_NET_OPS_H

#include "base/bytes.h"
#include "base/mailbox.h"

struct ops;

/* What the core thread gives; the caller's structure begins with it. */
struct ops_snapshot {
    struct mail mail;
};

struct ops_page {
    const char *path; /* "/metrics" */
    const char *type; /* of its content */
    bool needs_core;
    /* Ops thread. Appends the body and returns the HTTP status code. snapshot is NULL
     * when it is not needed, or when the core did not give one. */
    int (*render_cb)(void *ctx, const struct ops_snapshot *snapshot, struct bytes *out);
};

struct ops_options {
    const char *address; /* "127.0.0.1:9463" */
    const struct ops_page *pages;
    size_t page_count;
    /* Ops thread: wakes the core, which then calls ops_answer(). False: it cannot
     * answer now. */
    bool (*ask_cb)(void *ctx);
    void (*free_cb)(struct ops_snapshot *snapshot); /* ops or core thread */
    void *ctx;
};

/* Listens and starts the thread. Logs and returns what failed (ST_EXISTS: a port in
 * use, ST_INVALID: the address); nothing is left then. */
enum status ops_open(const struct ops_options *options, struct ops **ret_ops) MUST_USE;
/* Joins the thread; whoever waits is told that there is no answer. NULL is fine. */
void ops_close(struct ops *o);
uint16_t ops_port(const struct ops *o);

/* Core thread, once a turn: is a snapshot asked for? Then ops_answer() must follow. */
bool ops_is_asked(struct ops *o);
void ops_answer(struct ops *o, struct ops_snapshot *snapshot); /* takes it */

#endif
