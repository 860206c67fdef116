/* Throttle: failed logins, counted by where they come from and by whose name they use.
 *
 * It says how long the answer to a failure is kept back, never that somebody may not
 * try: there is no lock-out. Each count is a bucket that leaks one failure each
 * THROTTLE_LEAK_MS; up to THROTTLE_FREE are free, then the answers come at the pace of
 * the leak, at most THROTTLE_MOST_MS late. Pure; one thread. */
#ifndef HF_SERVER_THROTTLE_H
#define HF_SERVER_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#define THROTTLE_LEAK_MS  100
#define THROTTLE_FREE     50
#define THROTTLE_MOST_MS  2000
#define THROTTLE_NOISY_MS 30000
#define THROTTLE_SLOTS    4096 /* a power of two */

/* Two that share a slot are counted together: it makes their failures a little slower,
 * and the table needs no upkeep. */
struct throttle {
    uint64_t empty_ms[THROTTLE_SLOTS]; /* when the bucket has leaked all */
    uint64_t last_ms[THROTTLE_SLOTS];  /* of the last failure; 0 = none */
};

struct throttle *throttle_new(void);
void throttle_free(struct throttle *t); /* NULL is fine */
/* A login failed at now_ms (above 0, never going back); key is a keyed hash of what is
 * counted. Returns for how long after it came the answer is to be kept back. */
uint64_t throttle_failed(struct throttle *t, uint64_t key, uint64_t now_ms);
/* It has failed within the last THROTTLE_NOISY_MS. */
bool throttle_is_noisy(const struct throttle *t, uint64_t key, uint64_t now_ms);

#endif
