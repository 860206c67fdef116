/* Histogram: see histogram.h. The bounds suit a local disk and a local network: 0.1 ms
 * to 10 s, by steps of about two. */
#include "base/histogram.h"

#include <assert.h>

static const uint64_t BOUNDS_US[HISTOGRAM_BOUNDS] = {
    100,   250,    500,    1000,   2500,    5000,    10000,   20000,
    50000, 100000, 250000, 500000, 1000000, 2500000, 10000000};

uint64_t
histogram_bound_us(size_t i)
{
    assert(i < HISTOGRAM_BOUNDS);
    return BOUNDS_US[i];
}

void
histogram_observe(struct histogram *h, uint64_t us)
{
    size_t i = 0;
    while (i < HISTOGRAM_BOUNDS && us > BOUNDS_US[i])
        i++;
    h->counts[i]++;
    h->sum_us += us;
}

uint64_t
histogram_count(const struct histogram *h)
{
    uint64_t count = 0;
    for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
        count += h->counts[i];
    return count;
}
