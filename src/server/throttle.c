/* Throttle: see the header. A bucket is kept as the time when it will be empty, so that
 * nothing has to be done while it leaks (the generic cell rate algorithm). */
#include "server/throttle.h"

#include "base/mem.h"

#define FREE_MS ((uint64_t)THROTTLE_FREE * THROTTLE_LEAK_MS)

struct throttle *
throttle_new(void)
{
    return mem_calloc(1, sizeof(struct throttle));
}

void
throttle_free(struct throttle *t)
{
    mem_free(t);
}

uint64_t
throttle_failed(struct throttle *t, uint64_t key, uint64_t now_ms)
{
    uint64_t *empty = &t->empty_ms[key & (THROTTLE_SLOTS - 1)];
    uint64_t most = now_ms + FREE_MS + THROTTLE_MOST_MS;
    *empty = (*empty > now_ms ? *empty : now_ms) + THROTTLE_LEAK_MS;
    if (*empty > most) /* so that it is forgotten soon */
        *empty = most;
    t->last_ms[key & (THROTTLE_SLOTS - 1)] = now_ms;
    return *empty > now_ms + FREE_MS ? *empty - now_ms - FREE_MS : 0;
}

bool
throttle_is_noisy(const struct throttle *t, uint64_t key, uint64_t now_ms)
{
    uint64_t last = t->last_ms[key & (THROTTLE_SLOTS - 1)];
    return last != 0 && now_ms < last + THROTTLE_NOISY_MS;
}
