/* Histogram: how long something took, in fixed buckets. Plain numbers of one thread,
 * copied whole to whoever shows them. Pure. */
#ifndef HF_BASE_HISTOGRAM_H
#define HF_BASE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BOUNDS 15

struct histogram {
    /* Not yet added up: [i] counts what is above bound i - 1 and at most bound i, the
     * last one what is above all. */
    uint64_t counts[HISTOGRAM_BOUNDS + 1];
    uint64_t sum_us;
};

/* Bound i in microseconds: 100 us to 10 s. */
uint64_t histogram_bound_us(size_t i);
void histogram_observe(struct histogram *h, uint64_t us);
uint64_t histogram_count(const struct histogram *h);

#endif
