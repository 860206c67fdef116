/* Known logins: see known_logins.h. */
#include "server/known_logins.h"

#include "base/mem.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define HEAD_BYTES 36

struct peer_logins {
    uint64_t peer; /* 0: free */
    uint8_t key[KNOWN_LOGIN_BYTES];
    uint8_t slots[KNOWN_LOGINS_MAX][KNOWN_LOGIN_BYTES];
};

struct known_logins {
    struct peer_logins *peers[LIMIT_PEERS];
};

struct known_logins *
known_logins_new(void)
{
    return mem_calloc(1, sizeof(struct known_logins));
}

void
known_logins_free(struct known_logins *k)
{
    if (k == NULL)
        return;
    for (size_t i = 0; i < LIMIT_PEERS; i++) {
        if (k->peers[i] != NULL)
            OPENSSL_cleanse(k->peers[i], sizeof *k->peers[i]);
        mem_free(k->peers[i]);
    }
    mem_free(k);
}

void
known_logins_put(struct bytes *out,
                 const uint8_t key[KNOWN_LOGIN_BYTES],
                 const uint8_t (*hmacs)[KNOWN_LOGIN_BYTES],
                 uint32_t count)
{
    bytes_put(out, key, KNOWN_LOGIN_BYTES);
    bytes_put_u32(out, count);
    bytes_put(out, hmacs, (size_t)count * KNOWN_LOGIN_BYTES);
}

/* NULL: there are too many (nodes that are long gone). */
static struct peer_logins *
find_or_add(struct known_logins *k, uint64_t peer)
{
    for (size_t i = 0; i < LIMIT_PEERS; i++) {
        if (k->peers[i] != NULL && k->peers[i]->peer == peer)
            return k->peers[i];
        if (k->peers[i] == NULL) {
            k->peers[i] = mem_calloc(1, sizeof *k->peers[i]);
            k->peers[i]->peer = peer;
            return k->peers[i];
        }
    }
    return NULL;
}

static size_t
slot_of(const uint8_t *hmac)
{
    return get_u64(hmac) % KNOWN_LOGINS_MAX;
}

enum status
known_logins_learn(struct known_logins *k, uint64_t peer, struct slice body)
{
    if (body.size < HEAD_BYTES)
        return ST_INVALID;
    uint32_t count = get_u32(body.data + KNOWN_LOGIN_BYTES);
    if (count > KNOWN_LOGINS_MAX ||
        body.size != HEAD_BYTES + (size_t)count * KNOWN_LOGIN_BYTES)
        return ST_INVALID;
    struct peer_logins *p = find_or_add(k, peer);
    if (p == NULL)
        return ST_OK;
    if (CRYPTO_memcmp(p->key, body.data, KNOWN_LOGIN_BYTES) != 0) {
        memcpy(p->key, body.data, KNOWN_LOGIN_BYTES);
        memset(p->slots, 0, sizeof p->slots);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *hmac = body.data + HEAD_BYTES + (size_t)i * KNOWN_LOGIN_BYTES;
        memcpy(p->slots[slot_of(hmac)], hmac, KNOWN_LOGIN_BYTES);
    }
    return ST_OK;
}

bool
known_logins_have(const struct known_logins *k, struct slice text)
{
    for (size_t i = 0; i < LIMIT_PEERS && k->peers[i] != NULL; i++) {
        const struct peer_logins *p = k->peers[i];
        uint8_t hmac[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        if (HMAC(EVP_sha256(), p->key, sizeof p->key, text.data, text.size, hmac,
                 &size) != NULL &&
            CRYPTO_memcmp(p->slots[slot_of(hmac)], hmac, KNOWN_LOGIN_BYTES) == 0)
            return true;
    }
    return false;
}
