/* Auth: making passwords and what is stored of them. */
#include "server/auth.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#define SCRYPT_N      32768
#define SCRYPT_R      8
#define SCRYPT_P      1
#define SCRYPT_MEMORY (64u << 20)

enum status
auth_derive(const struct login_secret *secret,
            struct slice password,
            uint8_t out[LOGIN_HASH_BYTES])
{
    if (EVP_PBE_scrypt((const char *)password.data, password.size, secret->salt,
                       LOGIN_SALT_BYTES, secret->n, secret->r, secret->p, SCRYPT_MEMORY,
                       out, LOGIN_HASH_BYTES) != 1)
        return ST_NOMEM;
    return ST_OK;
}

enum status
auth_make_secret(struct slice username,
                 struct slice password,
                 struct login_secret *ret_secret)
{
    struct login_secret s = {.n = SCRYPT_N, .r = SCRYPT_R, .p = SCRYPT_P};
    assert(username.size <= sizeof s.username);
    s.username_size = (uint8_t)username.size;
    memcpy(s.username, username.data, username.size);
    if (RAND_bytes(s.salt, sizeof s.salt) != 1 ||
        auth_derive(&s, password, s.hash) != ST_OK)
        return ST_NOMEM;
    *ret_secret = s;
    return ST_OK;
}

void
auth_make_password(char out[33])
{
    static const char alphabet[] = "abcdefghijkmnpqrstuvwxyz23456789"; /* 32 of them */
    uint8_t random[32];
    if (RAND_bytes(random, sizeof random) != 1)
        abort(); /* no randomness: no passwords */
    for (size_t i = 0; i < 32; i++)
        out[i] = alphabet[random[i] & 31];
    out[32] = '\0';
}
