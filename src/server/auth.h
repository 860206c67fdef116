/* Auth: passwords, verified off the core thread.
 *
 * Two workers compute scrypt; the queue of attempts is bounded; attempts that are equal
 * wait for one computation. A verified login is remembered as an HMAC-SHA-256 under a
 * key of this process (never the password), so that a thousand clients that come back
 * after a failover cost one scrypt a role. Unknown names cost the same work. Changing a
 * login forgets it: the stored hash is part of what is remembered. */
#ifndef HF_SERVER_AUTH_H
#define HF_SERVER_AUTH_H

#include "broker/broker.h"

struct auth;

/* bell_cb: from a worker, when results are there to take. */
enum status
auth_open(void (*bell_cb)(void *ctx), void *bell_ctx, struct auth **ret_auth) MUST_USE;
void auth_close(struct auth *a);

enum auth_outcome {
    AUTH_GOOD, /* remembered: known at once */
    AUTH_WAIT, /* the result comes by auth_take() */
    AUTH_BUSY, /* too many attempts wait: say no */
};

/* Core thread. Copies what it needs. */
enum auth_outcome auth_check(struct auth *a, const struct verify *verify);

/* Core thread: one result; false when there is none. */
bool auth_take(struct auth *a, uint64_t *ret_conn, bool *ret_good);

/* Fills salt, hash and costs for a new password (about 0.1 s; any thread). Returns
 * ST_NOMEM or ST_OK. */
enum status auth_make_secret(struct slice username,
                             struct slice password,
                             struct login_secret *ret_secret) MUST_USE;
/* A generated password: 32 characters, 160 random bits. */
void auth_make_password(char out[33]);

#endif
