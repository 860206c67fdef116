/* Attempts: passwords that wait for a worker, fairly.
 *
 * Those of one source (an address) wait in line; the sources take turns. Calm sources,
 * which have not failed lately, do not wait for noisy ones: the caller asks for one or
 * the other kind. When there are too many, the newest of the noisy source that has the
 * most goes, so that no source can fill the place of others. Core thread only. */
#ifndef HF_SERVER_ATTEMPTS_H
#define HF_SERVER_ATTEMPTS_H

#include "base/list.h"
#include "base/map.h"
#include "broker/broker.h"

#define ATTEMPT_DIGEST_BYTES 32

/* One computation and the connections that wait for it. */
struct attempt {
    struct list_node link;
    uint8_t digest[ATTEMPT_DIGEST_BYTES]; /* equal: the same question */
    uint8_t source[LOGIN_SOURCE_BYTES];
    struct login_secret secret;
    uint8_t username_size;
    uint8_t password_size;
    char username[LIMIT_USERNAME_BYTES];
    char password[LIMIT_PASSWORD_BYTES];
    uint64_t source_key; /* for the throttle */
    uint64_t name_key;
    uint64_t since_ms; /* it came */
    uint64_t *conns;
    size_t conn_count;
    size_t conn_capacity;
    bool was_noisy;
    bool is_good; /* the worker's */
};

/* Copies what it needs of verify. */
struct attempt *attempt_new(const struct verify *verify,
                            const uint8_t digest[ATTEMPT_DIGEST_BYTES]) MUST_USE;
void attempt_add(struct attempt *t, uint64_t conn);
/* Wipes the password. NULL is fine. */
void attempt_free(struct attempt *t);

struct attempts {
    struct map sources;
    struct list calm; /* sources, in turn */
    struct list noisy;
    size_t count; /* connections that wait */
    size_t most;  /* of them */
};

void attempts_init(struct attempts *a, size_t most);
void attempts_fini(struct attempts *a);
/* The one of this source with that digest, or NULL. */
struct attempt *attempts_find(struct attempts *a,
                              const uint8_t source[LOGIN_SOURCE_BYTES],
                              const uint8_t digest[ATTEMPT_DIGEST_BYTES]) MUST_USE;
/* Another connection for one that waits (attempts_find()). */
void attempts_join(struct attempts *a, struct attempt *t, uint64_t conn);
/* Puts t at the end of its source's line; takes it. */
void attempts_put(struct attempts *a, struct attempt *t, bool is_noisy);
/* The next of a calm or of a noisy source; the caller owns it. NULL: there is none. */
struct attempt *attempts_take(struct attempts *a, bool is_noisy) MUST_USE;
/* The source has failed: if it waits, it waits among the noisy ones. */
void attempts_mark_noisy(struct attempts *a, const uint8_t source[LOGIN_SOURCE_BYTES]);
/* When more connections wait than may: the one that has to go; the caller owns it. */
struct attempt *attempts_evict(struct attempts *a) MUST_USE;

#endif
