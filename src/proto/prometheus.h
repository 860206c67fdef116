/* Prometheus: the text exposition format 0.0.4, written line by line. Pure.
 *
 *   # HELP name text
 *   # TYPE name counter
 *   name{label="value"} 1
 *
 * All samples of a family stand together, behind its head: prom_family() first, then
 * each sample from prom_begin() to the call that ends it. */
#ifndef HF_PROTO_PROMETHEUS_H
#define HF_PROTO_PROMETHEUS_H

#include "base/bytes.h"
#include "base/histogram.h"

#define PROM_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum prom_type {
    PROM_COUNTER,
    PROM_GAUGE,
    PROM_HISTOGRAM,
};

struct prom {
    struct bytes *out; /* borrowed */
    const char *name;  /* of the family; borrowed */
    bool has_labels;   /* the sample under way */
};

void prom_init(struct prom *p, struct bytes *out);
/* name: [a-z_]+; a counter's ends in _total. help is one line. */
void
prom_family(struct prom *p, const char *name, enum prom_type type, const char *help);

/* A sample of the family. */
void prom_begin(struct prom *p);
/* A label of it; value may hold anything and is escaped. */
void prom_label(struct prom *p, const char *key, const char *value);
void prom_label_u64(struct prom *p, const char *key, uint64_t value);
/* Its value, which ends it. */
void prom_u64(struct prom *p, uint64_t value);
void prom_i64(struct prom *p, int64_t value);
void prom_seconds_of_ms(struct prom *p, uint64_t ms);
void prom_seconds_of_us(struct prom *p, uint64_t us);

/* A family of one sample without labels. */
void prom_single(struct prom *p,
                 const char *name,
                 enum prom_type type,
                 const char *help,
                 uint64_t value);
/* The samples of a histogram family, without labels of its own. */
void prom_histogram(struct prom *p, const struct histogram *h);

#endif
