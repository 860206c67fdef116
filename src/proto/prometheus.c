/* Prometheus: see prometheus.h. Base units: seconds and bytes; numbers are whole or
 * have a fixed count of decimals, so nothing here depends on a locale. */
#include "proto/prometheus.h"

#include <assert.h>
#include <string.h>

#define US_PER_SECOND 1000000
#define MS_PER_SECOND 1000

static const char *
type_name(enum prom_type type)
{
    switch (type) {
    case PROM_COUNTER:
        return "counter";
    case PROM_GAUGE:
        return "gauge";
    case PROM_HISTOGRAM:
        return "histogram";
    }
    return "untyped";
}

void
prom_init(struct prom *p, struct bytes *out)
{
    *p = (struct prom){.out = out};
}

void
prom_family(struct prom *p, const char *name, enum prom_type type, const char *help)
{
    p->name = name;
    bytes_printf(p->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                 type_name(type));
}

void
prom_begin(struct prom *p)
{
    assert(p->name != NULL);
    bytes_put_text(p->out, p->name);
    p->has_labels = false;
}

static void
begin_label(struct prom *p, const char *key)
{
    bytes_put_text(p->out, p->has_labels ? "," : "{");
    bytes_put_text(p->out, key);
    bytes_put_text(p->out, "=\"");
    p->has_labels = true;
}

void
prom_label(struct prom *p, const char *key, const char *value)
{
    begin_label(p, key);
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '\\' || *c == '"')
            bytes_put_u8(p->out, '\\');
        bytes_put_u8(p->out, *c == '\n' ? '\\' : (uint8_t)*c);
        if (*c == '\n')
            bytes_put_u8(p->out, 'n');
    }
    bytes_put_u8(p->out, '"');
}

void
prom_label_u64(struct prom *p, const char *key, uint64_t value)
{
    begin_label(p, key);
    bytes_put_decimal(p->out, value);
    bytes_put_u8(p->out, '"');
}

static void
end_labels(struct prom *p)
{
    bytes_put_text(p->out, p->has_labels ? "} " : " ");
}

void
prom_u64(struct prom *p, uint64_t value)
{
    end_labels(p);
    bytes_put_decimal(p->out, value);
    bytes_put_u8(p->out, '\n');
}

void
prom_i64(struct prom *p, int64_t value)
{
    end_labels(p);
    bytes_printf(p->out, "%lld\n", (long long)value);
}

void
prom_seconds_of_ms(struct prom *p, uint64_t ms)
{
    end_labels(p);
    bytes_printf(p->out, "%llu.%03u\n", (unsigned long long)(ms / MS_PER_SECOND),
                 (unsigned)(ms % MS_PER_SECOND));
}

void
prom_seconds_of_us(struct prom *p, uint64_t us)
{
    end_labels(p);
    bytes_printf(p->out, "%llu.%06u\n", (unsigned long long)(us / US_PER_SECOND),
                 (unsigned)(us % US_PER_SECOND));
}

void
prom_single(struct prom *p,
            const char *name,
            enum prom_type type,
            const char *help,
            uint64_t value)
{
    prom_family(p, name, type, help);
    prom_begin(p);
    prom_u64(p, value);
}

/* "0.0001", "2.5", "10": the shortest text, which is the label of the bucket. */
static void
put_bound(struct bytes *out, uint64_t us)
{
    bytes_put_decimal(out, us / US_PER_SECOND);
    uint64_t rest = us % US_PER_SECOND;
    if (rest > 0)
        bytes_put_u8(out, '.');
    for (uint64_t unit = US_PER_SECOND / 10; rest > 0; unit /= 10) {
        bytes_put_u8(out, (uint8_t)('0' + rest / unit));
        rest %= unit;
    }
}

void
prom_histogram(struct prom *p, const struct histogram *h)
{
    uint64_t sum = 0;
    assert(p->name != NULL);
    for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++) {
        sum += h->counts[i];
        bytes_printf(p->out, "%s_bucket{le=\"", p->name);
        if (i < HISTOGRAM_BOUNDS)
            put_bound(p->out, histogram_bound_us(i));
        else
            bytes_put_text(p->out, "+Inf");
        bytes_printf(p->out, "\"} %llu\n", (unsigned long long)sum);
    }
    p->has_labels = false;
    bytes_printf(p->out, "%s_sum", p->name);
    prom_seconds_of_us(p, h->sum_us);
    bytes_printf(p->out, "%s_count", p->name);
    prom_u64(p, sum);
}
