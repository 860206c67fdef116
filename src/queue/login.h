/* Login: who may use a queue, as it is kept and replicated. scrypt itself is the
 * server's business; here are only the stored values and their bytes (record_decode.c,
 * record.c). */
#ifndef HF_QUEUE_LOGIN_H
#define HF_QUEUE_LOGIN_H

#include "base/bytes.h"

enum login_role { ROLE_PUBLISHER, ROLE_SUBSCRIBER, ROLE_ADMIN, ROLE_COUNT };

#define LOGIN_SALT_BYTES 16
#define LOGIN_HASH_BYTES 32

/* A login as it is kept: scrypt of the password. */
struct login_secret {
    uint8_t username_size;
    char username[128];
    uint8_t salt[LOGIN_SALT_BYTES];
    uint8_t hash[LOGIN_HASH_BYTES];
    uint32_t n; /* scrypt cost */
    uint16_t r;
    uint16_t p;
};

/* A login in its stored form, used by records and images alike. */
void login_secret_encode(struct bytes *out, const struct login_secret *login);
/* Sets the reader bad when it is malformed. */
void login_secret_decode(struct reader *r, struct login_secret *ret_login);

#endif
