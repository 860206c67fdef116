/* Auth: passwords, verified off the core thread.
 *
 * Two workers compute scrypt. Attempts wait fairly (server/attempts.h): addresses take
 * turns, those that did not fail lately come first, and equal attempts wait for one
 * computation. The answer to a failure is kept back the longer the more its address
 * or its name failed (server/throttle.h); nobody is locked out, and a right password is
 * answered at once. A verified login is remembered as an HMAC-SHA-256 under a key of
 * this process (never the password), so that a thousand clients that come back cost
 * one scrypt a role, and none after a failover: the nodes tell each other. Unknown
 * names cost the same work. Changing a login forgets it: the stored hash is part of
 * what is remembered. */
#ifndef HF_SERVER_AUTH_H
#define HF_SERVER_AUTH_H

#include "broker/broker.h"

#define AUTH_WAITING_MOST LIMIT_PENDING_LOGINS /* more, and some are told AUTH_BUSY */

struct auth;

struct auth_options {
    void (*bell_cb)(void *ctx); /* from a worker: results are there to take */
    /* Core thread, from the calls below: a connection still wants its answer. NULL: all
     * do. */
    bool (*is_wanted_cb)(void *ctx, uint64_t conn);
    void *ctx;
};

enum status auth_open(const struct auth_options *options,
                      struct auth **ret_auth) MUST_USE;
void auth_close(struct auth *a);

enum auth_outcome {
    AUTH_GOOD,
    AUTH_BAD,
    AUTH_BUSY, /* not checked: too many wait */
    AUTH_WAIT, /* the result comes by auth_take() */
};

/* Core thread. AUTH_GOOD: remembered, known at once; else AUTH_WAIT. Copies what it
 * needs. now_ms: monotonic, above 0. */
enum auth_outcome
auth_check(struct auth *a, const struct verify *verify, uint64_t now_ms);

struct auth_result {
    uint64_t conn;
    enum auth_outcome outcome; /* not AUTH_WAIT */
};

/* Core thread: one result that is due; false when there is none. Also keeps the workers
 * busy: call it when the bell rang and at auth_deadline(). */
bool auth_take(struct auth *a, uint64_t now_ms, struct auth_result *ret_result);
/* When the next answer that is kept back is due; UINT64_MAX: there is none. */
uint64_t auth_deadline(const struct auth *a);

/* What this node has verified, for the others (server/known_logins.h): what is new
 * since the last call (false: nothing), all of it, and what another one says. */
bool auth_put_news(struct auth *a, struct bytes *out);
void auth_put_known(const struct auth *a, struct bytes *out);
enum status auth_learn(struct auth *a, uint64_t peer, struct slice body) MUST_USE;

/* Fills salt, hash and costs for a new password (about 0.1 s; any thread). Returns
 * ST_NOMEM or ST_OK. */
enum status auth_make_secret(struct slice username,
                             struct slice password,
                             struct login_secret *ret_secret) MUST_USE;
/* scrypt of a password with a secret's salt and costs. ST_NOMEM. Any thread. */
enum status auth_derive(const struct login_secret *secret,
                        struct slice password,
                        uint8_t out[LOGIN_HASH_BYTES]) MUST_USE;
/* A generated password: 32 characters, 160 random bits. */
void auth_make_password(char out[33]);

#endif
